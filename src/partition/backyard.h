/*
 * The backyard: bins of 64 bytes for entries that their own bins have no slot for. A bin b has two
 * of them, yards here. If there are n, the first is y = b mod n, and the second y + stride mod n,
 * with a stride that depends on b / n, the layer of b. So number and layer give b again: an entry
 * stores its origin, which is twice the layer, and 1 more in the second yard.
 *
 * A yard is a header like that of a bin, with origins instead of mini-quotients, and the values of
 * its entries, mini_bits + 8 * rows bits each, sorted by origin and then by value.
 *
 * An entry goes to the emptier yard. If both are full, entries of other bins move on to their other
 * yards, in up to three steps. Without that, bins that are filled in ascending order (when filters
 * are built, merged or resized) would fill the yards unevenly.
 */
#ifndef BESOM_PARTITION_BACKYARD_H
#define BESOM_PARTITION_BACKYARD_H

#include "partition/bin.h"

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

/* ------------------------------------------------------------------ one yard */

ALWAYS_INLINE unsigned yard_count(const uint8_t *yard) {
  return popcount(load64(yard));
}

ALWAYS_INLINE struct slot_run yard_run(const uint8_t *yard, const struct bin_layout *l,
                                       unsigned origin) {
  struct slot_run run = run_of_header(load64(yard), origin);
  return (struct slot_run){run.first, run.end < l->yard_slots ? run.end : l->yard_slots};
}

ALWAYS_INLINE unsigned yard_entry_bits(const struct bin_layout *l) {
  return l->mini_bits + 8u * l->rows;
}

/* May read beyond the yard, but not beyond the table: bins of the front follow. */
ALWAYS_INLINE uint64_t yard_value(const uint8_t *yard, const struct bin_layout *l, unsigned slot) {
  unsigned bit = 64 + slot * yard_entry_bits(l);
  return load64(yard + bit / 8) >> bit % 8 & bits_below(yard_entry_bits(l));
}

/* Makes room for `bits` bits, 1 to 63, at this one, and sets them. */
ALWAYS_INLINE void yard_insert_bits(uint8_t *yard, unsigned bit, unsigned bits, uint64_t value) {
  unsigned word = bit / 64, within = bit % 64;
  uint8_t *at = yard + 8 * (size_t)word;
  uint64_t x = load64(at), upper = x & bits_from(within);
  for (unsigned i = YARD_BYTES / 8 - 1; i > word + 1; i--)
    store64(yard + 8 * (size_t)i,
            load64(yard + 8 * (size_t)i) << bits | load64(yard + 8 * (size_t)i - 8) >> (64 - bits));
  if (word + 1 < YARD_BYTES / 8)
    store64(at + 8, load64(at + 8) << bits | upper >> (64 - bits) |
                        (within + bits > 64 ? value >> (64 - within) : 0));
  store64(at, (x ^ upper) | upper << bits | value << within);
}

ALWAYS_INLINE void yard_remove_bits(uint8_t *yard, unsigned bit, unsigned bits) {
  unsigned word = bit / 64;
  uint64_t kept = bits_below(bit % 64);
  for (unsigned i = word; i < YARD_BYTES / 8; i++, kept = 0) {
    uint8_t *at = yard + 8 * (size_t)i;
    uint64_t x = load64(at), next = i + 1 < YARD_BYTES / 8 ? load64(at + 8) : 0;
    store64(at, (x & kept) | ((x >> bits | next << (64 - bits)) & ~kept));
  }
}

/* The slots of this origin from the first one on that has the value or a greater one. */
ALWAYS_INLINE struct slot_run yard_slots_from(const uint8_t *yard, const struct bin_layout *l,
                                              unsigned origin, uint64_t value) {
  struct slot_run run = yard_run(yard, l, origin);
  while (run.first < run.end && yard_value(yard, l, run.first) < value) run.first++;
  return run;
}

/* Adds a value to a yard that is not full. */
ALWAYS_INLINE void yard_insert(uint8_t *yard, const struct bin_layout *l, unsigned origin,
                               uint64_t value) {
  unsigned slot = yard_slots_from(yard, l, origin, value).first, bits = yard_entry_bits(l);
  yard_insert_bits(yard, 64 + slot * bits, bits, value);
  store64(yard, header_with(load64(yard), slot + origin));
}

ALWAYS_INLINE void yard_remove(uint8_t *yard, const struct bin_layout *l, unsigned origin,
                               unsigned slot) {
  yard_remove_bits(yard, 64 + slot * yard_entry_bits(l), yard_entry_bits(l));
  store64(yard, header_without(load64(yard), slot + origin));
}

/* Whether one of the n entries from this bit on has the value; n may be more than a word has. */
ALWAYS_INLINE bool yard_word_has(const uint8_t *yard, const struct bin_layout *l, unsigned bit,
                                 unsigned n, uint64_t value) {
  unsigned bits = yard_entry_bits(l), lanes = (64 - 7) / bits;
  uint64_t ones = 0;
  for (unsigned i = 0; i < lanes; i++) ones |= UINT64_C(1) << i * bits;
  uint64_t others = bits_from((n < lanes ? n : lanes) * bits),
           x = (load64(yard + bit / 8) >> bit % 8 ^ value * ones) | others;
  return ((x - ones) & ~x & ones << (bits - 1)) != 0; /* a lane is 0 */
}

/*
 * Whether an entry of this origin has the value. No branch for the entries of two words: else every
 * query that comes here would wait for the yard, and so would the queries after it.
 */
ALWAYS_INLINE bool yard_has(const uint8_t *yard, const struct bin_layout *l, unsigned origin,
                            uint64_t value) {
  unsigned bits = yard_entry_bits(l), lanes = (64 - 7) / bits;
  struct slot_run run = yard_run(yard, l, origin);
  unsigned first = run.first < l->yard_slots ? run.first : l->yard_slots,
           n = run.end > first ? run.end - first : 0, bit = 64 + first * bits;
  bool found = yard_word_has(yard, l, bit, n, value);
  bit = n > lanes ? bit + lanes * bits : bit;
  n = n > lanes ? n - lanes : n;
  found |= yard_word_has(yard, l, bit, n, value);
  for (; UNLIKELY(n > lanes); n -= lanes) {
    bit += lanes * bits;
    found |= yard_word_has(yard, l, bit, n - lanes, value);
  }
  return found;
}

/* How many entries of this origin have the value. */
ALWAYS_INLINE unsigned yard_matches(const uint8_t *yard, const struct bin_layout *l,
                                    unsigned origin, uint64_t value) {
  struct slot_run run = yard_slots_from(yard, l, origin, value);
  unsigned n = 0;
  while (run.first + n < run.end && yard_value(yard, l, run.first + n) == value) n++;
  return n;
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
