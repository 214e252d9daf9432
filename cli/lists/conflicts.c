#include "lists/conflicts.h"

#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "fail.h"
#include "files.h"

struct conflicts {
  besom_filter *filter; /* of the no list; its hash makes the digests */
  besom_digest *digests;
  size_t n; /* first those of the no list, then those of both lists: ascending, distinct */
};

static int compare_digests(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static besom_digest digest_of(const conflicts *c, besom_bytes key) {
  return besom_hash(c->filter, key.data, key.len);
}

static besom_digest *find(const conflicts *c, besom_digest digest) {
  return c->n ? bsearch(&digest, c->digests, c->n, sizeof digest, compare_digests) : NULL;
}

/* ------------------------------------------------------------------ finding them */

static void sort_distinct(conflicts *c) {
  size_t kept = 0;
  if (c->n) qsort(c->digests, c->n, sizeof *c->digests, compare_digests);
  for (size_t i = 0; i < c->n; i++)
    if (!kept || compare_digests(&c->digests[kept - 1], &c->digests[i]) < 0)
      c->digests[kept++] = c->digests[i];
  c->n = kept;
}

static uint64_t count_keys(key_reader *keys) {
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t n = 0;
  for (size_t read; (read = keys_batch(keys, batch));) n += read;
  keys_rewind(keys);
  return n;
}

static void read_no_list(conflicts *c, key_reader *no) {
  uint64_t n = count_keys(no);
  besom_config config = {.kind = "blocked-bloom", .capacity = n ? n : 1};
  check(besom_create(&config, &c->filter), "comparing the lists");
  c->digests = allocate(n, sizeof *c->digests);
  besom_bytes batch[KEYS_PER_BATCH];
  for (size_t read; c->n < n && (read = keys_batch(no, batch)); keys_tick(no))
    for (size_t i = 0; i < read && c->n < n; i++) c->digests[c->n++] = digest_of(c, batch[i]);
  keys_rewind(no);
  sort_distinct(c);
  check(besom_insert_many_digest(c->filter, c->digests, c->n, NULL), "comparing the lists");
}

/* Keeps the digests that are in the yes list, too. Most others are answered no by the filter. */
static void keep_common(conflicts *c, key_reader *yes) {
  bool *is_common = allocate(c->n, sizeof *is_common);
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t bitmap[KEYS_PER_BATCH / 64];
  for (size_t read; (read = keys_batch(yes, batch)); keys_tick(yes)) {
    check(besom_contains_many(c->filter, batch, read, bitmap), "comparing the lists");
    for (size_t i = 0; i < read; i++) {
      bool positive = bitmap[i / 64] >> (i % 64) & 1;
      besom_digest *common = positive ? find(c, digest_of(c, batch[i])) : NULL;
      if (common) is_common[common - c->digests] = true;
    }
  }
  keys_rewind(yes);
  size_t kept = 0;
  for (size_t i = 0; i < c->n; i++)
    if (is_common[i]) c->digests[kept++] = c->digests[i];
  c->n = kept;
  free(is_common);
}

conflicts *conflicts_find(key_reader *yes, key_reader *no) {
  conflicts *c = allocate(1, sizeof *c);
  keys_rewind(yes);
  keys_rewind(no);
  bar_begin("comparing the lists", "bytes");
  read_no_list(c, no);
  keep_common(c, yes);
  bar_end();
  return c;
}

conflicts *conflicts_set(key_reader *list) {
  conflicts *c = allocate(1, sizeof *c);
  keys_rewind(list);
  bar_begin("reading the list", "bytes");
  read_no_list(c, list);
  bar_end();
  return c;
}

void conflicts_free(conflicts *c) {
  if (!c) return;
  besom_free(c->filter);
  free(c->digests);
  free(c);
}

uint64_t conflicts_count(const conflicts *c) {
  return c->n;
}

/* ------------------------------------------------------------------ listing them */

static void append(file_bytes *to, const void *data, size_t len) {
  if (!len) return;
  to->data = reallocate(to->data, to->len + len, 1);
  memcpy(to->data + to->len, data, len);
  to->len += len;
}

static void append_key(file_bytes *to, const key_form *form, besom_bytes key) {
  uint8_t len[4] = {(uint8_t)key.len, (uint8_t)(key.len >> 8), (uint8_t)(key.len >> 16),
                    (uint8_t)(key.len >> 24)};
  if (form->length_prefixed) append(to, len, sizeof len);
  append(to, key.data, key.len);
  if (!form->length_prefixed) append(to, form->null ? "" : "\n", 1);
}

void conflicts_list(const conflicts *c, key_reader *no, const key_form *form, const char *what,
                    uint64_t most, const char *path) {
  enum { MOST_BYTES = 200 };
  bool *is_listed = allocate(c->n, sizeof *is_listed); /* a list may have a key twice */
  file_bytes all = {NULL, 0};
  besom_bytes key;
  uint64_t n = 0;
  while ((n < most || path) && keys_next(no, &key)) {
    besom_digest *common = find(c, digest_of(c, key));
    if (!common || is_listed[common - c->digests]) continue;
    is_listed[common - c->digests] = true;
    if (n++ < most)
      fprintf(stderr, "%s: '%.*s' %s\n", keys_position(no),
              (int)(key.len < MOST_BYTES ? key.len : MOST_BYTES), (const char *)key.data, what);
    if (path) append_key(&all, form, key);
  }
  if (path) file_write(path, &all);
  keys_rewind(no);
  free(all.data);
  free(is_listed);
}

bool conflicts_has(const conflicts *c, besom_bytes key) {
  besom_digest digest = digest_of(c, key);
  return besom_contains_digest(c->filter, digest) && find(c, digest);
}

static bool is_conflict(const void *ctx, besom_bytes key) {
  return conflicts_has(ctx, key);
}

void conflicts_exclude(const conflicts *c, key_reader *list) {
  keys_exclude(list, is_conflict, c);
}
