/*
 * cf: the cuckoo filter, with its other bucket anywhere in the table. The measure for vacuum and the adaptive kinds.
 */
#include "cuckoo/partial.h"

static inline uint64_t other(const struct partial *p, uint64_t bucket, uint64_t fingerprint) {
  return mirrored(p, bucket, fingerprint, p->table.buckets);
}

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__partial_create(f, config, other);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__partial_load(f, in, other);
}

static bool contains(const besom_filter *f, besom_digest d) {
  return partial_has(const_partial(f), partial_place(const_partial(f), d, other));
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  partial_contains_many(f, d, n, bitmap, other);
}

const struct besom_kind besom__cf = {
    .info = {.name = "cf",
             .summary =
                 "cuckoo filter: small and fast; counts up to 8, removes, merges; not adaptive",
             .abilities = BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                          BESOM_CAN_ITERATE,
             .max_copies = MOST_COPIES},
    .create = create,
    .contains = contains,
    .contains_many = contains_many,
    .load = load,
    PARTIAL_OPERATIONS,
};
