/*
 * vacuum: a cuckoo filter whose alternate bucket is near (Wang et al., "Vacuum Filters", 2019). The
 * lowest two bits of the fingerprint choose the chunk size: 32, 128, 512 or 65536 buckets. Both
 * buckets are in the same chunk. So half of the pairs share a page and many share a cache line. The
 * quarter of the fingerprints with large chunks balances the load between small chunks.
 *
 * Chunks begin at multiples of their size. The buckets left over at the end of the table belong to
 * the last chunk, which has up to twice the size. So any even number of buckets works.
 */
#include "cuckoo/partial_key.h"

static inline uint64_t alternate(const struct partial_key *p, uint64_t bucket,
                                 uint64_t fingerprint) {
  static const uint8_t log_sizes[4] = {5, 7, 9, 16};
  uint64_t buckets = p->table.buckets, size = UINT64_C(1) << log_sizes[fingerprint % 4];
  uint64_t whole = buckets & ~(size - 1), last = whole ? whole - size : 0;
  uint64_t start = bucket & ~(size - 1);
  bool in_last = start >= last;
  start = in_last ? last : start;
  size = in_last ? buckets - last : size;
  return start + alternate_within(p, bucket - start, fingerprint, size);
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

const struct besom_kind besom__vacuum = {
    .info = {.name = "vacuum",
             .summary = "vacuum filter: a cuckoo filter whose two buckets are near each other; "
                        "not adaptive",
             .abilities = BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                          BESOM_CAN_ITERATE,
             .max_copies = MAX_COPIES},
    .create = create,
    .contains = contains,
    .contains_many = contains_many,
    .load = load,
    PARTIAL_KEY_OPERATIONS,
};
