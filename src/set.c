/*
 * Filters with BESOM_SET: an insert adds only a key that is answered no. A key that is skipped may
 * have been a false positive. Then the fingerprint of another member stands for it, which must
 * never be removed or extended: so a set has no remove and is not bound to stored keys.
 *
 * A yes stays a yes while keys are inserted, so a batch is asked first.
 */
#include "kind.h"

static besom_status set_insert(besom_filter *f, besom_digest d) {
  if (KIND_HAS(f->kind, change, insert_absent)) return f->kind->change->insert_absent(f, d);
  return f->kind->query.contains(f, d) ? BESOM_OK : f->kind->change->insert(f, d);
}

/* An earlier key of the batch may have changed the answer to a later one. */
besom_status besom__set_insert_batch(besom_filter *f, const besom_digest *d, size_t n,
                                     size_t *done) {
  uint64_t known[SET_BATCH / 64];
  f->kind->query.contains_many(f, d, n, known);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK)
    if (!(known[*done / 64] >> (*done % 64) & 1)) status = set_insert(f, d[*done]);
  return status;
}

besom_status besom__set_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                    size_t *done) {
  if (KIND_HAS(f->kind, change, insert_absent_many))
    return f->kind->change->insert_absent_many(f, d, n, done);
  besom_status status = BESOM_OK;
  *done = 0;
  for (size_t some; *done < n && status == BESOM_OK; *done += some) {
    size_t left = n - *done;
    status = besom__set_insert_batch(f, d + *done, left < SET_BATCH ? left : SET_BATCH, &some);
  }
  return status;
}

/* -------------------------------------------------------------- calls on one key */

static besom_status set_insert_key(besom_filter *f, const void *key, size_t len) {
  return set_insert(f, hash_bytes(&f->hasher, key, len));
}

static besom_status set_insert_u64(besom_filter *f, uint64_t key) {
  return set_insert(f, hash_u64(&f->hasher, key));
}

const struct insert_calls besom__set_inserts = {
    .insert = set_insert_key,
    .insert_u64 = set_insert_u64,
    .insert_digest = set_insert,
};

/* -------------------------------------------------------------- making */

void besom__set_settle(besom_filter *f) {
  if (f->is_set && !(besom__own_abilities(f) & (BESOM_CAN_REMOVE | BESOM_CAN_COUNT)))
    f->is_set = false;
}
