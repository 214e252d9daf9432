#include "map/table_file.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "lists/input.h"
#include "lists/list_format.h"

enum { FIRST_BYTES = 1 << 16, LONGEST_RECORD = 1 << 28 };

typedef enum separator { LINES, COMMAS, TABS, BLANKS } separator;

struct table_file {
  const char *path, *name; /* name: of the column, until its number is known */
  input_files *in;
  separator separator;
  size_t column; /* from 1 */
  char *buffer;  /* read and not used yet: from start to end */
  size_t start, end, size;
  bool at_end;
  char *copy; /* of the record: taking a field out changes it */
  size_t copy_size;
};

/* Whether the name ends so, perhaps before that of a compression. */
static bool has_suffix(const char *path, const char *suffix) {
  size_t len = strlen(path), more = strlen(suffix);
  if (len > 3 && strcmp(path + len - 3, ".gz") == 0) len -= 3;
  if (len > 4 && strncmp(path + len - 4, ".zst", 4) == 0) len -= 4;
  return len > more && strncmp(path + len - more, suffix, more) == 0;
}

static separator separator_of(const char *path) {
  if (has_suffix(path, ".csv")) return COMMAS;
  return has_suffix(path, ".tsv") || has_suffix(path, ".tab") ? TABS : BLANKS;
}

/* The number of a column; 0 if it is a name. */
static size_t column_number(const char *key) {
  size_t n = strspn(key, "0123456789") == strlen(key) ? (size_t)strtoul(key, NULL, 10) : 0;
  if (!n && key[0] == '0') usage_error("--key %s: columns are counted from 1", key);
  return n;
}

table_file *table_open(const char *path, const char *key) {
  table_file *t = allocate(1, sizeof *t);
  t->path = path;
  t->separator = key ? separator_of(path) : LINES;
  t->column = key ? column_number(key) : 1;
  if (!t->column) t->name = key;
  t->in = input_open((words){&t->path, 1}, true);
  t->size = FIRST_BYTES;
  t->buffer = allocate(1, t->size);
  return t;
}

void table_close(table_file *t) {
  input_close(t->in);
  free(t->buffer);
  free(t->copy);
  free(t);
}

uint64_t table_bytes_read(const table_file *t) {
  return input_bytes_read(t->in);
}

/* ------------------------------------------------------------------ records */

/* Reads more; false at the end of the file. */
static bool read_more(table_file *t) {
  if (t->at_end) return false;
  memmove(t->buffer, t->buffer + t->start, t->end - t->start);
  t->end -= t->start;
  t->start = 0;
  if (t->size - t->end < INPUT_LEAST) {
    if (t->size >= LONGEST_RECORD) fail("%s: a record is longer than 256 MB", t->path);
    t->size *= 2;
    t->buffer = reallocate(t->buffer, t->size, 1);
  }
  size_t n = input_read(t->in, t->buffer + t->end, t->size - t->end);
  t->end += n;
  t->at_end = n == 0;
  return n > 0;
}

/* The next line, or record of CSV, without its line break; false at the end. */
static bool next_record(table_file *t, text_part *record) {
  for (;;) {
    text_part left = {t->buffer + t->start, t->end - t->start};
    size_t len = 0, next = 0, lines;
    csv_status status = CSV_INCOMPLETE;
    if (t->separator == COMMAS) {
      if (left.len || !t->at_end) status = csv_record(left, t->at_end, &len, &next, &lines);
    } else {
      char *stop = left.len ? memchr(left.at, '\n', left.len) : NULL;
      len = stop ? (size_t)(stop - left.at) : left.len;
      next = stop ? len + 1 : len;
      if (len && left.at[len - 1] == '\r') len--;
      if (stop || (t->at_end && left.len)) status = CSV_RECORD;
    }
    if (status == CSV_OPEN_QUOTE) fail("%s: a quote is not closed", t->path);
    if (status == CSV_RECORD && next) {
      *record = (text_part){left.at, len};
      t->start += next;
      return true;
    }
    if (!read_more(t) && t->start == t->end) return false;
  }
}

/* ------------------------------------------------------------------ columns */

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Takes the next field between blanks. */
static bool blank_field(text_part *rest, besom_bytes *field) {
  while (rest->len && is_blank(*rest->at)) rest->at++, rest->len--;
  size_t n = 0;
  while (n < rest->len && !is_blank(rest->at[n])) n++;
  *field = (besom_bytes){rest->at, n};
  rest->at += n;
  rest->len -= n;
  return n > 0;
}

static bool tab_field(text_part *rest, bool *more, besom_bytes *field) {
  if (!*more) return false;
  char *tab = rest->len ? memchr(rest->at, '\t', rest->len) : NULL;
  size_t n = tab ? (size_t)(tab - rest->at) : rest->len;
  *field = (besom_bytes){rest->at, n};
  *more = tab;
  rest->at += n + (tab != NULL);
  rest->len -= n + (tab != NULL);
  return true;
}

static bool take_field(const table_file *t, text_part *rest, bool *more, besom_bytes *field) {
  bool bad = false, found = t->separator == TABS     ? tab_field(rest, more, field)
                            : t->separator == BLANKS ? blank_field(rest, field)
                                                     : csv_field(rest, more, field, &bad);
  if (bad) fail("%s: text follows a closing quote", t->path);
  return found;
}

/* Looks the name of the column up in the first record. */
static void find_column(table_file *t, text_part record) {
  besom_bytes field;
  bool more = true;
  for (size_t i = 1; take_field(t, &record, &more, &field); i++)
    if (field.len == strlen(t->name) && memcmp(field.data, t->name, field.len) == 0) t->column = i;
  if (!t->column) fail("%s: the first record has no column '%s'", t->path, t->name);
}

static bool column_of(const table_file *t, text_part record, besom_bytes *key) {
  bool more = true;
  for (size_t i = 0; i < t->column; i++)
    if (!take_field(t, &record, &more, key)) return false;
  return true;
}

static text_part copy_record(table_file *t, text_part record) {
  if (record.len > t->copy_size || !t->copy) {
    t->copy_size = 2 * record.len + 1;
    t->copy = reallocate(t->copy, t->copy_size, 1);
  }
  memcpy(t->copy, record.at, record.len);
  return (text_part){t->copy, record.len};
}

bool table_next(table_file *t, besom_bytes *key, besom_bytes *record) {
  text_part next;
  while (next_record(t, &next)) {
    if (!t->column) {
      find_column(t, next);
      continue;
    }
    if (!next.len) continue;
    if (record) *record = (besom_bytes){next.at, next.len};
    if (t->separator == LINES) {
      *key = (besom_bytes){next.at, next.len};
      return true;
    }
    if (column_of(t, record ? copy_record(t, next) : next, key) && key->len) return true;
  }
  return false;
}
