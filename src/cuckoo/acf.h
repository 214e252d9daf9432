/*
 * What the adaptive cuckoo filters share (Mitzenmacher et al., "Adaptive Cuckoo Filters", 2018; Kopelowitz et al.,
 * "Support Optimality and Adaptive Cuckoo Filters", 2021). There are several fingerprint functions; which of them
 * made the fingerprint in a slot depends on the slot or on selector bits in it. Adapting means to store another
 * function's fingerprint of the same key. Since a key has only a few, what was fixed can come back: these are
 * heuristics.
 *
 * Where a key may be follows from its whole digest, so every kick takes the digest of a stored key. The filter
 * needs to be bound (besom_bind), and tells the store of every move. A store's bucket is a slot, its rank always 0.
 *
 * The table is in as many parts as a key has places, one place in each.
 */
#ifndef BESOM_CUCKOO_ACF_H
#define BESOM_CUCKOO_ACF_H

#include "cuckoo/plan.h"
#include "cuckoo/table.h"
#include "filter.h"

struct acf;

/* The number of the function that makes the fingerprint in this slot, if the bits there are these (0: empty). */
typedef unsigned (*acf_function)(const struct acf *a, uint64_t slot, uint64_t entry);

/* What a kind is, besides that. */
struct acf_policy {
  struct cuckoo_family family;
  acf_function function;
  /* Makes the slot, which holds the key `stored`, match the offender no more. FULL: it cannot; nothing has changed. */
  besom_status (*fix)(struct acf *a, besom_digest offender, uint64_t slot, besom_digest stored);
};

/* The struct of all these kinds. */
struct acf {
  besom_filter head;
  struct ctable table;
  const struct acf_policy *policy;
  unsigned selector_bits;
  uint64_t fingerprints; /* that there are: 2^width - 1 */
  besom_reverse reverse; /* digest_of NULL: not bound */
  uint64_t kicks, longest_chain, adapted;
};

static inline struct acf *acf(besom_filter *f) {
  return (struct acf *)f;
}

static inline const struct acf *const_acf(const besom_filter *f) {
  return (const struct acf *)f;
}

/* ------------------------------------------------------------------ digests to places and fingerprints */

/* The k-th of several numbers that look independent, from one. */
ALWAYS_INLINE uint64_t derived(uint64_t x, unsigned k) {
  x += (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return x ^ x >> 32;
}

/* x as a fraction of 2^64, scaled to n. */
ALWAYS_INLINE uint64_t fraction_of(uint64_t x, uint64_t n) {
  return (uint64_t)((unsigned __int128)x * n >> 64);
}

/* The bucket of a key in the given part of the table. */
ALWAYS_INLINE uint64_t acf_bucket(const struct acf *a, besom_digest d, unsigned part) {
  uint64_t buckets = a->table.buckets / a->policy->family.places;
  return part * buckets + fraction_of(derived(d.hi, part), buckets);
}

/* 1 to 2^width - 1. */
ALWAYS_INLINE uint64_t acf_fingerprint(const struct acf *a, besom_digest d, unsigned function) {
  return 1 + fraction_of(derived(d.lo, function), a->fingerprints);
}

/* The bits that stand for a key in a slot, by that function. */
ALWAYS_INLINE uint64_t acf_entry(const struct acf *a, besom_digest d, unsigned function) {
  uint64_t selector = a->selector_bits ? function : 0;
  return acf_fingerprint(a, d, function) << a->selector_bits | selector;
}

/* Does what is in the slot, one of the key's, match it? */
ALWAYS_INLINE bool acf_slot_matches(const struct acf *a, uint64_t slot, besom_digest d,
                                    acf_function function) {
  uint64_t entry = slot_get(&a->table, slot);
  return entry >> a->selector_bits == acf_fingerprint(a, d, function(a, slot, entry));
}

/* The part of the table that a slot is in. */
static inline unsigned acf_part(const struct acf *a, uint64_t slot) {
  return (unsigned)(slot / (ctable_slots(&a->table) / a->policy->family.places));
}

/* ------------------------------------------------------------------ queries, with the kind's function inlined */

ALWAYS_INLINE bool acf_contains(const besom_filter *f, besom_digest d, acf_function function) {
  const struct acf *a = const_acf(f);
  bool found = false;
  for (unsigned part = 0; part < a->policy->family.places; part++) {
    uint64_t first = acf_bucket(a, d, part) * a->table.per_bucket;
    for (unsigned i = 0; i < a->table.per_bucket; i++)
      found |= acf_slot_matches(a, first + i, d, function);
  }
  return found;
}

ALWAYS_INLINE void acf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap, acf_function function) {
  enum { AHEAD = 16 };
  const struct acf *a = const_acf(f);
  for (size_t i = 0; i < n + AHEAD; i++) {
    for (unsigned part = 0; i < n && part < a->policy->family.places; part++)
      __builtin_prefetch(a->table.bits + acf_bucket(a, d[i], part) * a->table.bucket_bits / 8);
    if (i < AHEAD) continue;
    size_t at = i - AHEAD;
    if (at % 64 == 0) bitmap[at / 64] = 0;
    bitmap[at / 64] |= (uint64_t)acf_contains(f, d[at], function) << at % 64;
  }
}

/* ------------------------------------------------------------------ for the policies */

/* The digest of the key in a slot. */
besom_status besom__acf_stored(const struct acf *a, uint64_t slot, besom_digest *d);

/* Tells the store that two slots exchange what they hold. */
besom_status besom__acf_exchange(const struct acf *a, uint64_t slot, uint64_t other);

/*
 * Moves the key `stored` from its slot to one of its other buckets, which are given, kicking others on if need be.
 * FULL; what the store returned. On failure all is as it was.
 */
besom_status besom__acf_move(struct acf *a, uint64_t slot, besom_digest stored,
                             const uint64_t *buckets, unsigned n);

/* ------------------------------------------------------------------ the other operations of filter.h */

besom_status besom__acf_create(besom_filter *f, const besom_config *config,
                               const struct acf_policy *policy, unsigned selector_bits);
besom_status besom__acf_create_like(besom_filter *f, const besom_filter *model);
void besom__acf_destroy(besom_filter *f);
besom_status besom__acf_insert(besom_filter *f,
                               besom_digest d); /* NEEDS_STORE, as is the next one */
besom_status besom__acf_insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done);
besom_status besom__acf_bind(besom_filter *f, const besom_reverse *reverse);
besom_status besom__acf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total);
besom_status besom__acf_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                  besom_match *match);
besom_status besom__acf_restore_at(besom_filter *f, besom_digest d, besom_match match);
besom_status besom__acf_remove_at(besom_filter *f, besom_match match);
besom_status besom__acf_adapt(besom_filter *f, besom_digest d);
besom_status besom__acf_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                 besom_digest stored);
void besom__acf_stats(const besom_filter *f, besom_statistics *s);
const char *besom__acf_validate(const besom_filter *f);
void besom__acf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__acf_load(besom_filter *f, struct sections_in *in,
                             const struct acf_policy *policy);

/* What is the same in all of them, as members of struct besom_kind. */
#define ACF_OPERATIONS                                                                         \
  .size = sizeof(struct acf), .create_like = besom__acf_create_like,                           \
  .destroy = besom__acf_destroy, .insert = besom__acf_insert,                                  \
  .insert_many = besom__acf_insert_many, .adapt = besom__acf_adapt, .bind = besom__acf_bind,   \
  .matches = besom__acf_matches, .insert_at = besom__acf_insert_at,                            \
  .restore_at = besom__acf_restore_at, .remove_at = besom__acf_remove_at,                      \
  .adapt_at = besom__acf_adapt_at, .stats = besom__acf_stats, .validate = besom__acf_validate, \
  .save = besom__acf_save

#endif
