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

static void print_object(besom_bytes key, bool yes, bool fixed, const besom_bytes *entry) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_bytes(&j, "key", key.data, key.len);
  json_text(&j, "answer", yes ? "yes" : "no");
  if (yes && entry) json_bytes(&j, "entry", entry->data, entry->len);
  if (fixed) json_text(&j, "by", "local fix");
  json_close(&j);
}

/* Every key after its answer; "by" names the entry of a list of domains, if it is another name, or
 * the fixes of the caller. */
static void print_tagged(const key_form *form, besom_bytes key, bool yes, bool fixed,
                         const besom_bytes *entry) {
  static const besom_bytes by_fix = {"local fix", 9};
  print(yes ? "yes\t" : "no\t", yes ? 4 : 3);
  bool is_other =
      yes && entry && (entry->len != key.len || memcmp(entry->data, key.data, key.len) != 0);
  if (fixed) entry = &by_fix;
  if ((!is_other && !fixed) || form->null || form->length_prefixed) {
    print_key(form, key);
    return;
  }
  print(key.data, key.len);
  print(" by ", 4);
  print_key(form, *entry);
}

uint64_t answers_print(const answer_form *answers, const key_form *form,
                       const answer_batch *batch) {
  uint64_t selected = 0;
  if (answers->count) return count_selected(answers, batch->n, batch->bitmap);
  for (size_t i = 0; i < batch->n; i++) {
    bool yes = batch->bitmap[i / 64] >> (i % 64) & 1, is_selected = yes != answers->invert;
    bool fixed = batch->fixed && batch->fixed[i / 64] >> (i % 64) & 1;
    const besom_bytes *entry = batch->entries ? &batch->entries[i] : NULL;
    selected += is_selected;
    if (!answers->tag && !is_selected) continue;
    if (answers->json)
      print_object(batch->keys[i], yes, fixed, entry);
    else if (answers->tag)
      print_tagged(form, batch->keys[i], yes, fixed, entry);
    else
      print_key(form, batch->keys[i]);
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
