/* Changes of single keys and of batches: check the arguments, hash the key, call the kind. */
#include "filter_calls.h"

#define MOST_REPORTS (UINT64_C(1) << 40)

static besom_digest digest_of(struct reader r, const void *key, size_t len) {
  return hash_bytes(&r.filter->hasher, key, len);
}

/* -------------------------------------------------------------- insert */

besom_status besom_insert_count(besom_filter *f, const void *key, size_t len, uint64_t n) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, insert_count, (key || !len) && n > 0);
  return leave(r, r.filter->kind->insert_count(r.filter, digest_of(r, key, len), n));
}

/* Hashes and inserts some keys, no more than a batch. */
static besom_status insert_some(besom_filter *f, struct key_array keys, size_t from, size_t n,
                                size_t *done) {
  besom_digest batch[HASH_BATCH];
  struct reader r;
  *done = 0;
  ENTER_TO_CHANGE(r, f, insert_many, true);
  hash_key_array(&r.filter->hasher, keys, from, n, batch);
  return leave(r, r.filter->kind->insert_many(r.filter, batch, n, done));
}

static besom_status insert_keys(besom_filter *f, struct key_array keys, size_t n, size_t *done) {
  size_t ignored, inserted;
  if (!done) done = &ignored;
  *done = 0;
  if (!key_array_valid(keys, n)) return BESOM_INVALID;
  besom_status status = insert_some(f, keys, 0, n < HASH_BATCH ? n : HASH_BATCH, done);
  for (size_t i = HASH_BATCH; i < n && status == BESOM_OK; i += HASH_BATCH) {
    status = insert_some(f, keys, i, n - i < HASH_BATCH ? n - i : HASH_BATCH, &inserted);
    *done += inserted;
  }
  return status;
}

besom_status besom_insert_many(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct key_array){.bytes = keys}, n, done);
}

besom_status besom_insert_many_u64(besom_filter *f, const uint64_t *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct key_array){.integers = keys}, n, done);
}

besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests, size_t n,
                                      size_t *done) {
  size_t ignored;
  if (!done) done = &ignored;
  *done = 0;
  struct reader r;
  ENTER_TO_CHANGE(r, f, insert_many, digests || !n);
  return leave(r, r.filter->kind->insert_many(r.filter, digests, n, done));
}

/* -------------------------------------------------------------- remove, adapt, values, no list */

besom_status besom_remove(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, remove, key || !len);
  return leave(r, r.filter->kind->remove(r.filter, digest_of(r, key, len)));
}

besom_status besom_remove_digest(besom_filter *f, besom_digest digest) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, remove, true);
  return leave(r, r.filter->kind->remove(r.filter, digest));
}

/* An adaptation that finds no room lacks reserve, whatever its kind calls it. */
static besom_status adapted(besom_status status) {
  return status == BESOM_FULL ? BESOM_RESERVE_FULL : status;
}

besom_status besom_set_reserve(besom_filter *f, uint64_t reports, bool forget) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, set_reserve, reports > 0 && reports <= MOST_REPORTS);
  return leave(r, r.filter->kind->set_reserve(r.filter, reports, forget));
}

besom_status besom_adapt(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, adapt, key || !len);
  return leave(r, adapted(r.filter->kind->adapt(r.filter, digest_of(r, key, len))));
}

besom_status besom_adapt_digest(besom_filter *f, besom_digest digest) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, adapt, true);
  return leave(r, adapted(r.filter->kind->adapt(r.filter, digest)));
}

besom_status besom_set_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, set_value, key || !len);
  return leave(r, r.filter->kind->set_value(r.filter, digest_of(r, key, len), value));
}

besom_status besom_no_add(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, no_add, key || !len);
  return leave(r, adapted(r.filter->kind->no_add(r.filter, digest_of(r, key, len))));
}

besom_status besom_no_remove(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, no_remove, key || !len);
  return leave(r, r.filter->kind->no_remove(r.filter, digest_of(r, key, len)));
}
