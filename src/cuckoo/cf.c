/*
 * cf: the cuckoo filter. The alternate bucket can be anywhere in the table. The baseline for vacuum
 * and the adaptive cuckoo kinds.
 */
#include "cuckoo/partial_key.h"

static inline uint64_t alternate(const struct partial_key *p, uint64_t bucket,
                                 uint64_t fingerprint) {
  return alternate_within(p, bucket, fingerprint, p->table.buckets);
}

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__partial_key_create(f, config, alternate);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__partial_key_load(f, in, alternate);
}

static bool contains(const besom_filter *f, besom_digest d) {
  return partial_key_has(const_partial_key(f),
                         partial_key_locate(const_partial_key(f), d, alternate));
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  partial_key_contains_many(f, d, n, bitmap, alternate);
}

const struct besom_kind besom__cf = {
    .info = {.name = "cf",
             .summary =
                 "cuckoo filter: small and fast; counts up to 8, removes, merges; not adaptive",
             .abilities = BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                          BESOM_CAN_ITERATE,
             .max_copies = MAX_COPIES},
    .create = create,
    .contains = contains,
    .contains_many = contains_many,
    .load = load,
    PARTIAL_KEY_OPERATIONS,
};
