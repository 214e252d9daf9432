/*
 * The common part of cf and vacuum: partial-key cuckoo hashing (Fan et al., "Cuckoo Filter", 2014).
 * The digest of a key gives a fingerprint and a first bucket of four slots. The alternate bucket
 * follows from the first bucket and the fingerprint alone, and the first from the alternate in the
 * same way. So a fingerprint can be moved without its key.
 *
 * The kinds differ in the function that gives the alternate bucket. It is inlined into queries.
 */
#ifndef BESOM_CUCKOO_PARTIAL_KEY_H
#define BESOM_CUCKOO_PARTIAL_KEY_H

#include "cuckoo/cuckoo_table.h"
#include "filter.h"

enum { MIN_FINGERPRINT = 4, MAX_FINGERPRINT = 32, MAX_COPIES = 2 * MAX_BUCKET_SLOTS };

struct partial_key;

/*
 * The alternate bucket of a fingerprint in this bucket. It never is the same bucket, and the
 * function is its own inverse.
 */
typedef uint64_t (*alternate_bucket)(const struct partial_key *p, uint64_t bucket,
                                     uint64_t fingerprint);

/* The struct of cf and vacuum. */
struct partial_key {
  besom_filter head;
  struct cuckoo_table table;
  alternate_bucket alternate;
  uint64_t fingerprints;       /* number of different ones: 2^width - 1 */
  uint64_t sum_step, sum_mask; /* see alternate_within */
  uint64_t kicks, longest_chain;
};

static inline struct partial_key *partial_key(besom_filter *f) {
  return (struct partial_key *)f;
}

static inline const struct partial_key *const_partial_key(const besom_filter *f) {
  return (const struct partial_key *)f;
}

struct partial_key_location {
  uint64_t fingerprint, bucket, alternate;
};

/* x as a fraction of 2^64, scaled to n: the upper half of the product. */
ALWAYS_INLINE uint64_t scaled(uint64_t x, uint64_t n) {
  return (uint64_t)((unsigned __int128)x * n >> 64);
}

/*
 * The upper half of the digest gives the bucket, the lower half the fingerprint: 1 to 2^width - 1,
 * since 0 is an empty slot.
 */
ALWAYS_INLINE struct partial_key_location
partial_key_locate(const struct partial_key *p, besom_digest d, alternate_bucket alternate) {
  uint64_t fingerprint = 1 + scaled(d.lo, p->fingerprints);
  uint64_t bucket = scaled(d.hi, p->table.buckets);
  return (struct partial_key_location){fingerprint, bucket, alternate(p, bucket, fingerprint)};
}

#define SUM_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/*
 * The alternate bucket among an even number of buckets: h - bucket modulo buckets, where h is an
 * odd number derived from the fingerprint. Even buckets pair with odd ones, so no bucket is its own
 * alternate, and any even number of buckets works. The range of h is divided among the
 * fingerprints, in a scrambled order. If several fingerprints had the same h, all their keys would
 * share the same pairs of buckets; with short fingerprints inserts would then fail.
 */
ALWAYS_INLINE uint64_t alternate_within(const struct partial_key *p, uint64_t bucket,
                                        uint64_t fingerprint, uint64_t buckets) {
  uint64_t mixed = fingerprint * SUM_MULTIPLIER;
  mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
  uint64_t h = 2 * scaled(fingerprint * p->sum_step + (mixed & p->sum_mask), buckets / 2) + 1;
  return h - bucket + (h < bucket ? buckets : 0);
}

/* ------------------------------------------------------------------ queries */

ALWAYS_INLINE bool partial_key_has(const struct partial_key *p, struct partial_key_location at) {
  return buckets_have(&p->table, at.bucket, at.alternate, at.fingerprint);
}

ALWAYS_INLINE void partial_key_fetch(const struct partial_key *p, uint64_t bucket) {
  __builtin_prefetch(p->table.bits + bucket * p->table.bucket_bits / 8);
}

enum { PARTIAL_KEY_AHEAD = 32 };

/* Locates keys and prefetches their buckets some keys ahead. */
ALWAYS_INLINE void partial_key_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                             uint64_t *bitmap, alternate_bucket alternate) {
  const struct partial_key *p = const_partial_key(f);
  struct partial_key_location ahead[PARTIAL_KEY_AHEAD];
  for (size_t i = 0; i < n + PARTIAL_KEY_AHEAD; i++) {
    struct partial_key_location *location = &ahead[i % PARTIAL_KEY_AHEAD];
    if (LIKELY(i >= PARTIAL_KEY_AHEAD)) {
      size_t at = i - PARTIAL_KEY_AHEAD;
      if (at >= n) break;
      if (at % 64 == 0) bitmap[at / 64] = 0;
      bitmap[at / 64] |= (uint64_t)partial_key_has(p, *location) << at % 64;
    }
    if (i < n) {
      *location = partial_key_locate(p, d[i], alternate);
      partial_key_fetch(p, location->bucket);
      partial_key_fetch(p, location->alternate);
    }
  }
}

/* ------------------------------------------------------------ the other operations of filter.h */

besom_status besom__partial_key_create(besom_filter *f, const besom_config *config,
                                       alternate_bucket alternate);
besom_status besom__partial_key_create_like(besom_filter *f, const besom_filter *model);
void besom__partial_key_destroy(besom_filter *f);
besom_status besom__partial_key_insert(besom_filter *f, besom_digest d);
besom_status besom__partial_key_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done);
besom_status besom__partial_key_remove(besom_filter *f, besom_digest d);
besom_status besom__partial_key_count(const besom_filter *f, besom_digest d, uint64_t *n);
besom_status besom__partial_key_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into);
void besom__partial_key_iter_start(const besom_filter *f, besom_iter *iter);
besom_status besom__partial_key_iter_next(const besom_filter *f, besom_iter *iter,
                                          besom_entry *entry);
double besom__partial_key_bits_per_key(double keys, double *fpr);
void besom__partial_key_stats(const besom_filter *f, struct stats_out *out);
const char *besom__partial_key_validate(const besom_filter *f);
void besom__partial_key_save(const besom_filter *f, struct sections_out *out);
besom_status besom__partial_key_load(besom_filter *f, struct sections_in *in,
                                     alternate_bucket alternate);

/* The operations that are the same for both, as members of struct besom_kind. */
#define PARTIAL_KEY_OPERATIONS                                                            \
  .size = sizeof(struct partial_key), .create_like = besom__partial_key_create_like,      \
  .destroy = besom__partial_key_destroy, .bits_per_key = besom__partial_key_bits_per_key, \
  .insert = besom__partial_key_insert, .insert_many = besom__partial_key_insert_many,     \
  .remove = besom__partial_key_remove, .count = besom__partial_key_count,                 \
  .merge = besom__partial_key_merge, .iter_start = besom__partial_key_iter_start,         \
  .iter_next = besom__partial_key_iter_next, .stats = besom__partial_key_stats,           \
  .validate = besom__partial_key_validate, .save = besom__partial_key_save

#endif
