/*
 * The table of all cuckoo kinds: buckets of some slots, a slot holds an entry of some bits or is empty. No policy
 * lives here: where an entry may be, and what its bits mean, is the kind's business.
 *
 * Slots lie bit by bit one behind the other, the first slot of the first bucket in the lowest bits. An entry of 0 is
 * an empty slot, so all-zero memory is an empty table. Behind the last slot are SLACK_BYTES, so that any slot can be
 * read as a word.
 */
#ifndef BESOM_CUCKOO_TABLE_H
#define BESOM_CUCKOO_TABLE_H

#include "besom.h"
#include "core/bits.h"

enum {
  MAX_BUCKET_SLOTS = 4,
  MAX_ENTRY_BITS = 40,
  LANES_IN_A_WORD =
      16, /* entries of so many bits: a bucket of four is one word, wherever it begins */
  SLACK_BYTES = 8,
  MAX_PLACES = 4, /* buckets that an entry may be in */
  MAX_PATH = 32,
};

struct ctable {
  uint8_t *bits;
  uint64_t buckets;
  uint64_t fours,
      tops; /* a bucket of four as lanes of a word: the lowest and the highest bit of each lane */
  unsigned width;       /* bits of an entry */
  unsigned bucket_bits; /* of all its slots */
  unsigned per_bucket;  /* slots of a bucket: 1 or 4 */
};

/* The bytes of a table; 0 if there cannot be one. */
size_t besom__ctable_bytes(uint64_t buckets, unsigned per_bucket, unsigned width);

/* A table in these zeroed bytes, or in saved ones. */
void besom__ctable_init(struct ctable *t, uint64_t buckets, unsigned per_bucket, unsigned width,
                        void *bits);

static inline uint64_t ctable_slots(const struct ctable *t) {
  return t->buckets * t->per_bucket;
}

static inline size_t ctable_size(const struct ctable *t) {
  return besom__ctable_bytes(t->buckets, t->per_bucket, t->width);
}

/* ------------------------------------------------------------------ slots */

ALWAYS_INLINE uint64_t slot_get(const struct ctable *t, uint64_t slot) {
  uint64_t bit = slot * t->width;
  return load64(t->bits + bit / 8) >> bit % 8 & bits_below(t->width);
}

ALWAYS_INLINE void slot_set(struct ctable *t, uint64_t slot, uint64_t entry) {
  uint64_t bit = slot * t->width;
  uint64_t word = load64(t->bits + bit / 8), mask = bits_below(t->width) << bit % 8;
  store64(t->bits + bit / 8, (word & ~mask) | entry << bit % 8);
}

/* ------------------------------------------------------------------ buckets of four */

/* The bucket's bits as lanes; what is above them is not of this bucket. Entries up to LANES_IN_A_WORD bits. */
ALWAYS_INLINE uint64_t bucket_lanes(const struct ctable *t, uint64_t bucket) {
  uint64_t bit = bucket * t->bucket_bits;
  return load64(t->bits + bit / 8) >> bit % 8;
}

/* The top bit of each lane that is 0: all of them, and no other. */
ALWAYS_INLINE uint64_t zero_lanes(const struct ctable *t, uint64_t lanes) {
  uint64_t rest = t->tops - t->fours;
  return ~(((lanes & rest) + rest) | lanes) & t->tops;
}

/* The same, where only the lowest one of them counts, and whether there is one. */
ALWAYS_INLINE uint64_t some_zero_lane(const struct ctable *t, uint64_t lanes) {
  return (lanes - t->fours) & ~lanes & t->tops;
}

/* The same question for wider entries: not inlined, so that it costs the others nothing. */
bool besom__buckets_have_wide(const struct ctable *t, uint64_t a, uint64_t b, uint64_t entry);

/* Is the entry in either bucket? Both are read at once, and no branch depends on what they hold. */
ALWAYS_INLINE bool buckets_have(const struct ctable *t, uint64_t a, uint64_t b, uint64_t entry) {
  if (UNLIKELY(t->width > LANES_IN_A_WORD)) return besom__buckets_have_wide(t, a, b, entry);
  uint64_t wanted = entry * t->fours;
  uint64_t in_a = some_zero_lane(t, bucket_lanes(t, a) ^ wanted);
  return (in_a | some_zero_lane(t, bucket_lanes(t, b) ^ wanted)) != 0;
}

/* ------------------------------------------------------------------ buckets of any size */

/* The first slot of the bucket that holds this entry (0: that is empty); NO_SLOT if none does. */
#define NO_SLOT UINT64_MAX
uint64_t besom__bucket_find(const struct ctable *t, uint64_t bucket, uint64_t entry);

/* How many slots of the bucket hold this entry. */
unsigned besom__bucket_count(const struct ctable *t, uint64_t bucket, uint64_t entry);

/* How many slots of the table are in use. */
uint64_t besom__ctable_used(const struct ctable *t);

/* Are the bits behind the last slot 0? */
bool besom__ctable_ends_clean(const struct ctable *t);

/* ------------------------------------------------------------------ kicks */

/* Tells the other buckets that the entry of a slot may move to. A status but OK ends the search. */
struct ctable_moves {
  besom_status (*from)(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n);
  void *ctx;
  unsigned most; /* buckets to look at before giving up */
};

/* slots[0] is to be freed by moving its entry to slots[1], that of slots[1] to slots[2], ..., the last is empty. */
struct ctable_path {
  uint64_t slots[MAX_PATH];
  unsigned moves;
};

/*
 * Searches the nearest empty slot, breadth first from the given buckets: a shortest path, and nothing is changed.
 * FULL if there is none within the limit.
 */
besom_status besom__ctable_path(const struct ctable *t, const uint64_t *starts, unsigned n,
                                const struct ctable_moves *moves, struct ctable_path *path);

#endif
