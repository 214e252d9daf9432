#include "answers.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "json.h"

/* An output buffer: one stdio call per key would cost as much as the query. */
static struct {
  char bytes[1 << 16];
  size_t len;
} output;

static void flush(void) {
  if (fwrite(output.bytes, 1, output.len, stdout) != output.len)
    fail("cannot write to standard output");
  output.len = 0;
}

static void print(const void *data, size_t len) {
  for (const char *at = data; len;) {
    if (output.len == sizeof output.bytes) flush();
    size_t room = sizeof output.bytes - output.len, piece = len < room ? len : room;
    memcpy(output.bytes + output.len, at, piece);
    output.len += piece;
    at += piece;
    len -= piece;
  }
}

static void print_key(const key_form *form, besom_bytes key) {
  uint8_t len[4] = {(uint8_t)key.len, (uint8_t)(key.len >> 8), (uint8_t)(key.len >> 16),
                    (uint8_t)(key.len >> 24)};
  if (form->length_prefixed) print(len, sizeof len);
  print(key.data, key.len);
  if (!form->length_prefixed) print(form->null ? "\0" : "\n", 1);
}

static uint64_t count_selected(const answer_form *answers, size_t n, const uint64_t *bitmap) {
  uint64_t yes = 0;
  for (size_t i = 0; i < (n + 63) / 64; i++) yes += (unsigned)__builtin_popcountll(bitmap[i]);
  return answers->invert ? n - yes : yes;
}

static void print_object(besom_bytes key, bool yes) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_bytes(&j, "key", key.data, key.len);
  json_text(&j, "answer", yes ? "yes" : "no");
  json_close(&j);
}

uint64_t answers_print(const answer_form *answers, const key_form *form, const besom_bytes *keys,
                       size_t n, const uint64_t *bitmap) {
  uint64_t selected = 0;
  if (answers->count) return count_selected(answers, n, bitmap);
  for (size_t i = 0; i < n; i++) {
    bool yes = bitmap[i / 64] >> (i % 64) & 1, is_selected = yes != answers->invert;
    selected += is_selected;
    if (!answers->tag && !is_selected) continue;
    if (answers->json) {
      print_object(keys[i], yes);
      continue;
    }
    if (answers->tag) print(yes ? "yes\t" : "no\t", yes ? 4 : 3);
    print_key(form, keys[i]);
  }
  return selected;
}

void answers_finish(const answer_form *answers, uint64_t selected, uint64_t keys) {
  flush();
  if (!answers->count) return;
  if (!answers->json) {
    printf("%llu\n", (unsigned long long)selected);
    return;
  }
  json j = {0};
  json_open(&j, NULL, '{');
  json_count(&j, "keys", keys);
  json_count(&j, "selected", selected);
  json_close(&j);
}
