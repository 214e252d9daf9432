/*
 * The backyard: yards (yard.h) for entries that their own bins have no slot for. A bin b has two of
 * them. If there are n, the first is y = b mod n, and the second y + stride mod n,
 * with a stride that depends on b / n, the layer of b. So number and layer give b again: an entry
 * stores its origin, which is twice the layer, and 1 more in the second yard.
 *
 * A yard is a header like that of a bin, with origins instead of mini-quotients, and the values of
 * its entries, mini_bits and the bits of a remainder each, sorted by origin and then by value.
 *
 * An entry goes to the emptier yard. If both are full, entries of other bins move on to their other
 * yards, in up to three steps. Without that, bins that are filled in ascending order (when filters
 * are built, merged or resized) would fill the yards unevenly.
 */
#ifndef BESOM_PARTITION_BACKYARD_H
#define BESOM_PARTITION_BACKYARD_H

#include "partition/yard.h"

enum { YARD_MOVES = 3 };

/* ------------------------------------------------------------------ addresses */

struct yard_pair {
  uint64_t number[2];
  unsigned origin; /* in the first yard; in the second one it is one more */
};

ALWAYS_INLINE struct yard_pair yards_of(const struct pqf *p, uint64_t bin) {
  uint64_t layer = scaled(bin, p->yards_inverse), first = bin - layer * p->n_yards;
  if (first >= p->n_yards) { /* the inverse is rounded down */
    layer++;
    first -= p->n_yards;
  }
  uint64_t second = first + p->strides[layer];
  if (second >= p->n_yards) second -= p->n_yards;
  return (struct yard_pair){{first, second}, 2 * (unsigned)layer};
}

/* Where an entry of this origin can move to. There it has origin ^ 1. */
ALWAYS_INLINE uint64_t other_yard(const struct pqf *p, uint64_t yard, unsigned origin) {
  uint64_t stride = p->strides[origin / 2],
           other = origin % 2 ? yard + p->n_yards - stride : yard + stride;
  return other < p->n_yards ? other : other - p->n_yards;
}

ALWAYS_INLINE uint8_t *yard_at(const struct pqf *p, uint64_t number) {
  return p->yards + number * YARD_BYTES;
}

/* ------------------------------------------------------------------ the entries of a bin */

ALWAYS_INLINE unsigned yards_count(const struct pqf *p, const struct bin_layout *l, uint64_t bin,
                                   uint64_t value) {
  struct yard_pair pair = yards_of(p, bin);
  unsigned n = 0;
  for (unsigned i = 0; i < 2; i++)
    n += yard_matches(yard_at(p, pair.number[i]), l, pair.origin + i, value);
  return n;
}

/* Moves one entry out of a full yard, in up to `moves` steps. False: nothing has changed. */
static __attribute__((noinline)) bool
yard_make_room(const struct pqf *p, const struct bin_layout *l, uint64_t number, unsigned moves) {
  uint8_t *yard = yard_at(p, number);
  for (unsigned searching = 0; searching < moves; searching++)
    for (unsigned origin = 0; origin < 2u * l->fan; origin++) {
      struct slot_run run = yard_run(yard, l, origin);
      if (run.first == run.end) continue;
      uint64_t to = other_yard(p, number, origin);
      if (yard_count(yard_at(p, to)) >= l->yard_slots &&
          (!searching || !yard_make_room(p, l, to, moves - 1)))
        continue;
      uint64_t value = yard_value(yard, l, run.first);
      yard_remove(yard, l, origin, run.first);
      yard_insert(yard_at(p, to), l, origin ^ 1, value);
      return true;
    }
  return false;
}

/* Adds an entry of this bin. False: both yards are full, and nothing has changed. */
ALWAYS_INLINE bool yards_insert(const struct pqf *p, const struct bin_layout *l, uint64_t bin,
                                uint64_t value) {
  struct yard_pair pair = yards_of(p, bin);
  unsigned counts[2] = {yard_count(yard_at(p, pair.number[0])),
                        yard_count(yard_at(p, pair.number[1]))},
           to = counts[1] < counts[0];
  if (UNLIKELY(counts[to] >= l->yard_slots)) {
    to = !yard_make_room(p, l, pair.number[0], YARD_MOVES);
    if (to && !yard_make_room(p, l, pair.number[1], YARD_MOVES)) return false;
  }
  yard_insert(yard_at(p, pair.number[to]), l, pair.origin + to, value);
  return true;
}

/* Whether one of the bin's entries is left there. */
ALWAYS_INLINE bool yards_have_some(const struct pqf *p, const struct bin_layout *l,
                                   struct yard_pair pair) {
  struct slot_run first = yard_run(yard_at(p, pair.number[0]), l, pair.origin),
                  second = yard_run(yard_at(p, pair.number[1]), l, pair.origin + 1);
  return first.first < first.end || second.first < second.end;
}

#endif
