#define _DEFAULT_SOURCE 1 /* open_memstream */

#include "map/value_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

static const char names_line[] = "besom map names", files_line[] = "besom map files ";

static bool take_line(const char **text, const char *end, besom_bytes *line) {
  if (*text == end) return false;
  const char *stop = memchr(*text, '\n', (size_t)(end - *text));
  if (!stop) return false;
  *line = (besom_bytes){*text, (size_t)(stop - *text)};
  *text = stop + 1;
  return true;
}

static bool begins_with(besom_bytes line, const char *word) {
  return line.len >= strlen(word) && memcmp(line.data, word, strlen(word)) == 0;
}

value_names value_names_read(const besom_filter *f, const char *path) {
  value_names names = {.kind = VALUE_NUMBERS};
  size_t len;
  const char *text = besom_note(f, &len);
  besom_bytes line;
  if (!(besom_abilities(f) & BESOM_IS_MAPLET))
    fail("%s: a filter without values. A map is made by: besom map build", path);
  if (!text) return names;
  const char *end = text + len;
  if (!take_line(&text, end, &line)) fail("%s: the note was not written by besom map", path);
  if (begins_with(line, files_line)) {
    size_t skip = sizeof files_line - 1, rest = line.len - skip;
    names.kind = VALUE_FILES;
    names.text = allocate(1, rest + 1);
    memcpy(names.text, (const char *)line.data + skip, rest);
    names.key_spec = names.text;
  } else if (begins_with(line, names_line)) {
    names.kind = VALUE_NAMES;
  } else {
    fail("%s: the note was not written by besom map", path);
  }
  names.index = key_index_create();
  while (take_line(&text, end, &line)) key_index_add(names.index, line);
  return names;
}

void value_names_free(value_names *names) {
  if (names->index) key_index_free(names->index);
  free(names->text);
}

void value_names_write(besom_filter *f, const value_names *names) {
  if (names->kind == VALUE_NUMBERS) return;
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  if (!out) fail("no memory for the names");
  if (names->kind == VALUE_FILES)
    fprintf(out, "%s%s\n", files_line, names->key_spec);
  else
    fprintf(out, "%s\n", names_line);
  for (uint32_t i = 0; i < key_index_count(names->index); i++) {
    besom_bytes name = key_index_key(names->index, i);
    fwrite(name.data, 1, name.len, out);
    fputc('\n', out);
  }
  if (fclose(out) != 0) fail("no memory for the names");
  check(besom_set_note(f, text, len), "keeping the names");
  free(text);
}

bool value_is_number(besom_bytes text, uint32_t *number) {
  uint64_t n = 0;
  const char *digits = text.data;
  if (!text.len || text.len > 10) return false;
  for (size_t i = 0; i < text.len; i++) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    n = 10 * n + (uint64_t)(digits[i] - '0');
  }
  if (n > UINT32_MAX || (text.len > 1 && digits[0] == '0')) return false;
  *number = (uint32_t)n;
  return true;
}

bool value_names_number(value_names *names, besom_bytes text, bool add, uint32_t *number) {
  if (names->kind == VALUE_NUMBERS) return value_is_number(text, number);
  if (!add && !key_index_contains(names->index, text)) return false;
  *number = key_index_add(names->index, text);
  return true;
}

besom_bytes value_names_text(const value_names *names, uint64_t value, char digits[VALUE_DIGITS]) {
  if (names->kind != VALUE_NUMBERS && value < key_index_count(names->index))
    return key_index_key(names->index, (uint32_t)value);
  int len = snprintf(digits, VALUE_DIGITS, "%llu", (unsigned long long)value);
  return (besom_bytes){digits, (size_t)len};
}
