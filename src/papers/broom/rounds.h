/*
 * The rounds of a broom filter. A round determines which hash bits its fingerprints are made of. In
 * round 0 they are bits of the digest itself. Every further round has a key of its own and draws
 * other bits from the digest with it. The quotient is always the digest's, so that entries stay in
 * their runs. The remainders of the runs are redrawn one run at a time: runs with quotients below
 * the frontier are in the newest round, the others in the round before.
 */
#ifndef BESOM_QUOTIENT_ROUNDS_H
#define BESOM_QUOTIENT_ROUNDS_H

#include "core/hash.h"

/* What follows when the budget is spent. */
enum round_form {
  ROUNDS_IN_STEPS, /* operations redraw some runs each */
  ROUNDS_AT_ONCE,  /* one operation redraws all runs */
  ROUNDS_BY_REKEY  /* RESERVE_FULL: the caller, or the guard, rekeys the filter */
};

struct rounds {
  uint64_t number;      /* of the newest round; always 0 for kinds without rounds */
  uint64_t frontier;    /* a quotient; the number of slots when all runs are in the newest round */
  besom_digest keys[2]; /* of the newest round and the one before, by number % 2 */
  enum round_form form;
};

/*
 * The address of a key in the given round. No branch for round 0: during round 1 the round of a key
 * is unpredictable.
 */
ALWAYS_INLINE struct address address_in_round(const struct rounds *r, uint64_t number,
                                              besom_digest d, uint64_t slots) {
  struct address a = address_of(d, slots);
  besom_digest key = r->keys[number % 2];
  uint64_t drawn = 0 - (uint64_t)(number != 0);
  uint64_t first = mixed((d.hi ^ key.hi) * UINT64_C(0x9e3779b97f4a7c15) + (d.lo ^ key.lo));
  a.rest.hi ^= (a.rest.hi ^ first) & drawn;
  a.rest.lo ^= (a.rest.lo ^ mixed(first + d.hi)) & drawn;
  return a;
}

/* The address of a key in the round of its run. */
ALWAYS_INLINE struct address address_by_frontier(const struct rounds *r, besom_digest d,
                                                 uint64_t slots) {
  if (LIKELY(!r->number)) return address_of(d, slots);
  return address_in_round(r, r->number - (address_of(d, slots).quotient >= r->frontier), d, slots);
}

#endif
