/*
 * What cf and vacuum share: cuckoo filters with partial-key placement (Fan et al., "Cuckoo Filter", 2014). A key has a
 * fingerprint and a first bucket of four slots, both from its digest; its other bucket follows from the first one and
 * the fingerprint alone, and the first one from the other in the same way. So a fingerprint can be moved without its
 * key.
 *
 * Kinds differ in where the other bucket is. What queries do is inlined with that function known.
 */
#ifndef BESOM_CUCKOO_PARTIAL_H
#define BESOM_CUCKOO_PARTIAL_H

#include "cuckoo/table.h"
#include "filter.h"

enum { MIN_FINGERPRINT = 4, MAX_FINGERPRINT = 32, MOST_COPIES = 2 * MAX_BUCKET_SLOTS };

struct partial;

/* The other bucket of a fingerprint that is in this one: never the same one, and its own inverse. */
typedef uint64_t (*partial_other)(const struct partial *p, uint64_t bucket, uint64_t fingerprint);

/* The struct of both kinds. */
struct partial {
  besom_filter head;
  struct ctable table;
  partial_other other;
  uint64_t fingerprints;           /* that there are: 2^width - 1 */
  uint64_t share_step, share_mask; /* see mirrored */
  uint64_t kicks, longest_chain;
};

static inline struct partial *partial(besom_filter *f) {
  return (struct partial *)f;
}

static inline const struct partial *const_partial(const besom_filter *f) {
  return (const struct partial *)f;
}

struct partial_place {
  uint64_t fingerprint, bucket, other;
};

/* The upper half of the product: x as a fraction of 2^64, scaled to n. */
ALWAYS_INLINE uint64_t scaled(uint64_t x, uint64_t n) {
  return (uint64_t)((unsigned __int128)x * n >> 64);
}

/* The bucket by the upper half of the digest, the fingerprint (1 to 2^width - 1: 0 is no fingerprint) by the lower. */
ALWAYS_INLINE struct partial_place partial_place(const struct partial *p, besom_digest d,
                                                 partial_other other) {
  uint64_t fingerprint = 1 + scaled(d.lo, p->fingerprints);
  uint64_t bucket = scaled(d.hi, p->table.buckets);
  return (struct partial_place){fingerprint, bucket, other(p, bucket, fingerprint)};
}

#define SHARE_ORDER UINT64_C(0x9e3779b97f4a7c15)

/*
 * The other one of an even number of buckets, by an odd number h that the fingerprint gives: h - bucket modulo the
 * buckets. Even buckets go with odd ones, so that none is its own other one, and any (even) number of them will do.
 * Each fingerprint has a share of the range for its h, in no order: if several had the same h, all keys with these
 * would crowd into the same pairs of buckets, which narrow fingerprints would not survive.
 */
ALWAYS_INLINE uint64_t mirrored(const struct partial *p, uint64_t bucket, uint64_t fingerprint,
                                uint64_t buckets) {
  uint64_t mixed = fingerprint * SHARE_ORDER;
  mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
  uint64_t h = 2 * scaled(fingerprint * p->share_step + (mixed & p->share_mask), buckets / 2) + 1;
  return h - bucket + (h < bucket ? buckets : 0);
}

/* ------------------------------------------------------------------ queries */

ALWAYS_INLINE bool partial_has(const struct partial *p, struct partial_place at) {
  return buckets_have(&p->table, at.bucket, at.other, at.fingerprint);
}

ALWAYS_INLINE void partial_fetch(const struct partial *p, uint64_t bucket) {
  __builtin_prefetch(p->table.bits + bucket * p->table.bucket_bits / 8);
}

enum { PARTIAL_AHEAD = 32 };

/* Places are found and their buckets fetched some keys ahead. */
ALWAYS_INLINE void partial_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                         uint64_t *bitmap, partial_other other) {
  const struct partial *p = const_partial(f);
  struct partial_place ahead[PARTIAL_AHEAD];
  for (size_t i = 0; i < n + PARTIAL_AHEAD; i++) {
    struct partial_place *place = &ahead[i % PARTIAL_AHEAD];
    if (LIKELY(i >= PARTIAL_AHEAD)) {
      size_t at = i - PARTIAL_AHEAD;
      if (at >= n) break;
      if (at % 64 == 0) bitmap[at / 64] = 0;
      bitmap[at / 64] |= (uint64_t)partial_has(p, *place) << at % 64;
    }
    if (i < n) {
      *place = partial_place(p, d[i], other);
      partial_fetch(p, place->bucket);
      partial_fetch(p, place->other);
    }
  }
}

/* ------------------------------------------------------------------ the other operations of filter.h */

besom_status besom__partial_create(besom_filter *f, const besom_config *config,
                                   partial_other other);
besom_status besom__partial_create_like(besom_filter *f, const besom_filter *model);
void besom__partial_destroy(besom_filter *f);
besom_status besom__partial_insert(besom_filter *f, besom_digest d);
besom_status besom__partial_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done);
besom_status besom__partial_remove(besom_filter *f, besom_digest d);
besom_status besom__partial_count(const besom_filter *f, besom_digest d, uint64_t *n);
besom_status besom__partial_merge(const besom_filter *a, const besom_filter *b, besom_filter *into);
void besom__partial_iter_start(besom_iter *iter);
besom_status besom__partial_iter_next(besom_iter *iter, besom_entry *entry);
double besom__partial_price(double keys, double *rate);
void besom__partial_stats(const besom_filter *f, besom_statistics *s);
const char *besom__partial_validate(const besom_filter *f);
void besom__partial_save(const besom_filter *f, struct sections_out *out);
besom_status besom__partial_load(besom_filter *f, struct sections_in *in, partial_other other);

/* What is the same in all of them, as members of struct besom_kind. */
#define PARTIAL_OPERATIONS                                                                       \
  .size = sizeof(struct partial), .create_like = besom__partial_create_like,                     \
  .destroy = besom__partial_destroy, .bits_per_key = besom__partial_price,                              \
  .insert = besom__partial_insert, .insert_many = besom__partial_insert_many,                    \
  .remove = besom__partial_remove, .count = besom__partial_count, .merge = besom__partial_merge, \
  .iter_start = besom__partial_iter_start, .iter_next = besom__partial_iter_next,                \
  .stats = besom__partial_stats, .validate = besom__partial_validate, .save = besom__partial_save

#endif
