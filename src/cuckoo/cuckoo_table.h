/*
 * The table of all cuckoo kinds: buckets of slots; a slot holds an entry or is empty. The kinds
 * decide in which buckets an entry can be and what its bits mean.
 *
 * Slots are packed bit by bit, the first slot of the first bucket in the lowest bits. An entry of 0
 * is an empty slot, so all-zero memory is an empty table. SLACK_BYTES follow the last slot, so that
 * any slot can be read as a word.
 */
#ifndef BESOM_CUCKOO_CUCKOO_TABLE_H
#define BESOM_CUCKOO_CUCKOO_TABLE_H

#include "besom.h"
#include "core/bits.h"

enum {
  MAX_BUCKET_SLOTS = 4,
  MAX_ENTRY_BITS = 40,
  MAX_LANE_BITS = 16, /* up to this entry width, an unaligned word holds a bucket of four */
  SLACK_BYTES = 8,
  MAX_BUCKETS_PER_KEY = 4,
  MAX_PATH = 32,
};

struct cuckoo_table {
  uint8_t *bits;
  uint64_t buckets;
  unsigned width;            /* bits per entry */
  unsigned bucket_bits;      /* bits per bucket */
  unsigned slots_per_bucket; /* 1 or 4 */
  uint64_t bucket_bytes;     /* if a bucket has whole bytes; else rounded down */
  /* A bucket of four as lanes of a word: */
  uint64_t lane_ones;  /* the lowest bit of each lane */
  uint64_t minus_ones; /* -lane_ones: adding it takes fewer instructions than subtracting */
  uint64_t lane_tops;  /* the highest bit of each lane */
};

/* The bytes of a table; 0 if there can be no such table. */
uint64_t besom__cuckoo_table_bytes(uint64_t buckets, unsigned slots_per_bucket, unsigned width);

/* Makes a table over zeroed or saved bytes. */
void besom__cuckoo_table_init(struct cuckoo_table *t, uint64_t buckets, unsigned slots_per_bucket,
                              unsigned width, void *bits);

static inline uint64_t cuckoo_table_slots(const struct cuckoo_table *t) {
  return t->buckets * t->slots_per_bucket;
}

static inline size_t cuckoo_table_size(const struct cuckoo_table *t) {
  return (size_t)besom__cuckoo_table_bytes(t->buckets, t->slots_per_bucket, t->width);
}

/* ------------------------------------------------------------------ slots */

ALWAYS_INLINE uint64_t slot_get(const struct cuckoo_table *t, uint64_t slot) {
  uint64_t bit = slot * t->width;
  return load64(t->bits + bit / 8) >> bit % 8 & bits_below(t->width);
}

ALWAYS_INLINE void slot_set(struct cuckoo_table *t, uint64_t slot, uint64_t entry) {
  uint64_t bit = slot * t->width;
  uint64_t word = load64(t->bits + bit / 8), mask = bits_below(t->width) << bit % 8;
  store64(t->bits + bit / 8, (word & ~mask) | entry << bit % 8);
}

/* ------------------------------------------------------------------ buckets of four */

/*
 * The bucket's entries as lanes. The bits above the lanes belong to other buckets. For entries of
 * up to MAX_LANE_BITS bits.
 */
ALWAYS_INLINE uint64_t bucket_lanes(const struct cuckoo_table *t, uint64_t bucket) {
  uint64_t bit = bucket * t->bucket_bits;
  return load64(t->bits + bit / 8) >> bit % 8;
}

/* The top bit of each lane that is 0. */
ALWAYS_INLINE uint64_t zero_lanes(const struct cuckoo_table *t, uint64_t lanes) {
  uint64_t rest = t->lane_tops - t->lane_ones;
  return ~(((lanes & rest) + rest) | lanes) & t->lane_tops;
}

/* The same, but only the lowest set bit is reliable, and whether there is one. Faster. */
ALWAYS_INLINE uint64_t some_zero_lane(const struct cuckoo_table *t, uint64_t lanes) {
  return (lanes + t->minus_ones) & ~lanes & t->lane_tops;
}

/* Whether the entry is in either bucket. */
bool besom__buckets_have(const struct cuckoo_table *t, uint64_t a, uint64_t b, uint64_t entry);

/* ------------------------------------------------------------------ buckets of any size */

/* The first slot of the bucket that holds this entry (0: that is empty), or NO_SLOT. */
#define NO_SLOT UINT64_MAX
uint64_t besom__bucket_find(const struct cuckoo_table *t, uint64_t bucket, uint64_t entry);

/* The number of slots of the bucket that hold this entry. */
unsigned besom__bucket_count(const struct cuckoo_table *t, uint64_t bucket, uint64_t entry);

/* The number of used slots of the table. */
uint64_t besom__cuckoo_table_used(const struct cuckoo_table *t);

/* Whether the bits after the last slot are 0. */
bool besom__cuckoo_table_ends_clean(const struct cuckoo_table *t);

/* ------------------------------------------------------------------ kicks */

/* from returns the other buckets that the entry of a slot can move to. An error ends the search. */
struct cuckoo_moves {
  besom_status (*from)(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n);
  void *ctx;
  unsigned max; /* buckets to search before giving up */
};

/*
 * Moving the entry of slots[i] to slots[i + 1], from the last move to the first, frees slots[0].
 * The last slot is empty.
 */
struct cuckoo_path {
  uint64_t slots[MAX_PATH];
  unsigned moves;
};

/*
 * Finds a shortest path to an empty slot, by breadth-first search from the given buckets. Changes
 * nothing. Errors: FULL (no path within the limit), what moves->from returned.
 */
besom_status besom__cuckoo_find_path(const struct cuckoo_table *t, const uint64_t *starts,
                                     unsigned n, const struct cuckoo_moves *moves,
                                     struct cuckoo_path *path);

#endif
