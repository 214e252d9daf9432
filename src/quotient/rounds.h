/*
 * Rounds of a broom filter: what bits of a key its fingerprints are made of. In round 0 they are the digest's own; each
 * further round has a key of its own, and draws others from the digest by it. The quotient is always the digest's, so
 * entries stay in their runs, whose remainders are made anew one run after the other: those of quotients below the
 * frontier are of the newest round, the others of the one before.
 */
#ifndef BESOM_QUOTIENT_ROUNDS_H
#define BESOM_QUOTIENT_ROUNDS_H

#include "core/address.h"

struct rounds {
  uint64_t number;      /* of the newest; 0 of all kinds that have no others */
  uint64_t frontier;    /* a quotient; the number of slots when all runs are of the newest round */
  besom_digest keys[2]; /* of the newest round and the one before, by number % 2 */
  bool amortized;         /* all runs go over in one operation, when the budget is spent */
};

/*
 * The address of a key whose fingerprint is of this round. While round 1 is under way it cannot be guessed which one
 * that is, so there is no branch for round 0.
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

/* The same of the round that its quotient is in. */
ALWAYS_INLINE struct address address_by_frontier(const struct rounds *r, besom_digest d,
                                                 uint64_t slots) {
  if (LIKELY(!r->number)) return address_of(d, slots);
  return address_in_round(r, r->number - (address_of(d, slots).quotient >= r->frontier), d, slots);
}

#endif
