/*
 * vacuum: a cuckoo filter whose other bucket is near (Wang et al., "Vacuum Filters", 2019). The lowest bits of a
 * fingerprint choose how near: within a chunk of 32, 128, 512 or 65536 buckets. So half of the pairs share a page and
 * many a line of cache, while the quarter of the fingerprints with the large chunks evens out what the small ones leave
 * unbalanced.
 *
 * Chunks are parts of the table that begin at multiples of their size. What is left over at the end of the table goes
 * to the last one, which has up to twice the size: any (even) number of buckets will do.
 */
#include "cuckoo/partial.h"

static inline uint64_t other(const struct partial *p, uint64_t bucket, uint64_t fingerprint) {
  static const uint8_t log_sizes[4] = {5, 7, 9, 16};
  uint64_t buckets = p->table.buckets, size = UINT64_C(1) << log_sizes[fingerprint % 4];
  uint64_t whole = buckets & ~(size - 1), last = whole ? whole - size : 0;
  uint64_t start = bucket & ~(size - 1);
  bool in_last = start >= last;
  start = in_last ? last : start;
  size = in_last ? buckets - last : size;
  return start + mirrored(p, bucket - start, fingerprint, size);
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

const struct besom_kind besom__vacuum = {
    .info =
        {.name = "vacuum",
         .summary =
             "vacuum filter: a cuckoo filter whose two buckets are near each other; not adaptive",
         .abilities = BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                      BESOM_CAN_ITERATE,
         .max_copies = MOST_COPIES},
    .create = create,
    .contains = contains,
    .contains_many = contains_many,
    .load = load,
    PARTIAL_OPERATIONS,
};
