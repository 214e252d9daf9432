/*
 * The common part of the adaptive cuckoo filters (Mitzenmacher et al., "Adaptive Cuckoo Filters",
 * 2018; Kopelowitz et al., "Support Optimality and Adaptive Cuckoo Filters", 2021). There are
 * several fingerprint functions. The slot, or selector bits in it, determine which function
 * computed the fingerprint in a slot. Adapting stores the fingerprint of another function for the
 * same key. A key has only a few fingerprints, so a fixed false positive can come back: these kinds
 * are heuristics.
 *
 * The buckets of a key follow from its whole digest, so every kick needs the digest of a stored
 * key. The filter must be bound (besom_bind), and reports every move to the store. In a besom_match
 * the bucket is the slot, and the rank is always 0.
 *
 * The table has as many parts as a key has buckets, one bucket in each part.
 */
#ifndef BESOM_CUCKOO_ACF_H
#define BESOM_CUCKOO_ACF_H

#include "cuckoo/cuckoo_geometry.h"
#include "cuckoo/cuckoo_table.h"
#include "kind.h"

struct acf;

/* The number of the fingerprint function for this slot, if its entry is this one (0: empty). */
typedef unsigned (*acf_function)(const struct acf *a, uint64_t slot, uint64_t entry);

/* What distinguishes the kinds. */
struct acf_policy {
  struct cuckoo_layout layout;
  acf_function function;
  /*
   * Changes the filter so that the slot, which holds the key `stored`, does not match the offender.
   * FULL: impossible; nothing has changed.
   */
  besom_status (*fix)(struct acf *a, besom_digest offender, uint64_t slot, besom_digest stored);
};

/* The struct of all adaptive cuckoo kinds. */
struct acf {
  besom_filter head;
  struct cuckoo_table table;
  const struct acf_policy *policy;
  unsigned selector_bits;
  uint8_t *selectors;    /* one of four bits per bucket, two in a byte; NULL: none */
  uint64_t fingerprints; /* number of different ones: 2^width - 1 */
  besom_reverse reverse; /* if digest_of is NULL, the filter is not bound */
  uint64_t kicks, longest_chain, adapted;
};

static inline struct acf *acf(besom_filter *f) {
  return (struct acf *)f;
}

static inline const struct acf *const_acf(const besom_filter *f) {
  return (const struct acf *)f;
}

/* ---------------------------------------------------------- digests to buckets and fingerprints */

/* The k-th of several pseudo-independent numbers derived from x. */
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

/* The bucket of a key in this part of the table. */
ALWAYS_INLINE uint64_t acf_bucket(const struct acf *a, besom_digest d, unsigned part) {
  uint64_t buckets = a->table.buckets / a->policy->layout.buckets_per_key;
  return part * buckets + fraction_of(derived(d.hi, part), buckets);
}

/* 1 to 2^width - 1. */
ALWAYS_INLINE uint64_t acf_fingerprint(const struct acf *a, besom_digest d, unsigned function) {
  return 1 + fraction_of(derived(d.lo, function), a->fingerprints);
}

/* The entry of a key in a slot, with that fingerprint function. */
ALWAYS_INLINE uint64_t acf_entry(const struct acf *a, besom_digest d, unsigned function) {
  uint64_t selector = a->selector_bits ? function : 0;
  return acf_fingerprint(a, d, function) << a->selector_bits | selector;
}

/* Whether the slot, which is in one of the key's buckets, matches the key. */
ALWAYS_INLINE bool acf_slot_matches(const struct acf *a, uint64_t slot, besom_digest d,
                                    acf_function function) {
  uint64_t entry = slot_get(&a->table, slot);
  return entry >> a->selector_bits == acf_fingerprint(a, d, function(a, slot, entry));
}

/* The part of the table that a slot is in. */
static inline unsigned acf_part(const struct acf *a, uint64_t slot) {
  return (unsigned)(slot / (cuckoo_table_slots(&a->table) / a->policy->layout.buckets_per_key));
}

/* ------------------------------------------------------------- queries; the function is inlined */

ALWAYS_INLINE bool acf_contains(const besom_filter *f, besom_digest d, acf_function function) {
  const struct acf *a = const_acf(f);
  bool found = false;
  for (unsigned part = 0; part < a->policy->layout.buckets_per_key; part++) {
    uint64_t first = acf_bucket(a, d, part) * a->table.slots_per_bucket;
    for (unsigned i = 0; i < a->table.slots_per_bucket; i++)
      found |= acf_slot_matches(a, first + i, d, function);
  }
  return found;
}

ALWAYS_INLINE void acf_fetch_buckets(const struct acf *a, besom_digest d) {
  for (unsigned part = 0; part < a->policy->layout.buckets_per_key; part++)
    __builtin_prefetch(a->table.bits + acf_bucket(a, d, part) * a->table.bucket_bits / 8);
}

ALWAYS_INLINE void acf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap, acf_function function) {
  enum { AHEAD = 16 };
  const struct acf *a = const_acf(f);
  for (size_t i = 0; i < n + AHEAD; i++) {
    if (i < n) acf_fetch_buckets(a, d[i]);
    if (i < AHEAD) continue;
    size_t at = i - AHEAD;
    if (at % 64 == 0) bitmap[at / 64] = 0;
    bitmap[at / 64] |= (uint64_t)acf_contains(f, d[at], function) << at % 64;
  }
}

/* ------------------------------------------------------------------ for the policies */

ALWAYS_INLINE unsigned bucket_selector(const struct acf *a, uint64_t bucket) {
  return a->selectors[bucket / 2] >> 4 * (bucket % 2) & 15;
}

static inline void set_bucket_selector(struct acf *a, uint64_t bucket, unsigned selector) {
  uint8_t *both = &a->selectors[bucket / 2];
  *both = (uint8_t)((*both & 0xf0u >> 4 * (bucket % 2)) | selector << 4 * (bucket % 2));
}

/* The digest of the key in a slot. */
besom_status besom__acf_stored(const struct acf *a, uint64_t slot, besom_digest *d);

/* Tells the store that two slots exchange their keys. */
besom_status besom__acf_exchange(const struct acf *a, uint64_t slot, uint64_t other);

/*
 * Moves the key `stored` from its slot to one of the given buckets, which must be its own. Kicks
 * other keys if necessary. On failure nothing has changed. Errors: FULL, what the store returned.
 */
besom_status besom__acf_move(struct acf *a, uint64_t slot, besom_digest stored,
                             const uint64_t *buckets, unsigned n);

/* ------------------------------------------------------------- the other operations of kind.h */

besom_status besom__acf_create(besom_filter *f, const besom_config *config,
                               const struct acf_policy *policy, unsigned selector_bits);
besom_status besom__acf_create_like(besom_filter *f, const besom_filter *model);
void besom__acf_destroy(besom_filter *f);
/* Always NEEDS_STORE: these kinds insert with insert_at. */
void besom__acf_prefetch(const besom_filter *f, besom_digest d);
besom_status besom__acf_insert(besom_filter *f, besom_digest d);
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
void besom__acf_stats(const besom_filter *f, struct stats_out *out);
const char *besom__acf_validate(const besom_filter *f);
void besom__acf_save(const besom_filter *f, struct sections_out *out);
besom_status besom__acf_load(besom_filter *f, struct sections_in *in,
                             const struct acf_policy *policy);

/* acf-cyclic with buckets of four slots (acf_buckets.c). */
extern const struct acf_policy besom__acf_buckets;

/* The tables of all of them. */
extern const struct change_ops besom__acf_change;
extern const struct adapt_ops besom__acf_reports;
extern const struct store_ops besom__acf_store;

/* All their members but name, summary, create, query and file. */
#define ACF_KIND                                                                             \
  .except = BESOM_CAN_INSERT /* insert is NEEDS_STORE */, .size = sizeof(struct acf),        \
  .refuses_set = true, .create_like = besom__acf_create_like, .destroy = besom__acf_destroy, \
  .stats = besom__acf_stats, .change = &besom__acf_change, .adapt = &besom__acf_reports,     \
  .store = &besom__acf_store

#endif
