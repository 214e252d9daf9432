/*
 * The fingerprints of a table that match a digest, their match (bucket and rank), and their
 * extension when they match by mistake.
 */
#ifndef BESOM_QUOTIENT_MATCH_H
#define BESOM_QUOTIENT_MATCH_H

#include "besom_reverse.h"
#include "core/hash.h"
#include "quotient/fingerprint/multislot.h"

/* Iterates over the fingerprints that match a digest, in the order of their ranks. */
struct matching {
  const struct qtable *table;
  struct address address;
  uint64_t remainder, next, run_end;
  uint32_t next_rank;
  struct fingerprint fp; /* the current match */
  uint32_t rank; /* its rank among the fingerprints with the remainder; tombstones have none */
};

struct matching besom__matching_start(const struct qtable *t, besom_digest d);
bool besom__next_match(struct matching *m);

/*
 * Iterates over a whole minirun: all fingerprints with this quotient and remainder, including
 * tombstones and tagged ones, with any extension.
 */
struct matching besom__minirun_start(const struct qtable *t, uint64_t quotient, uint64_t remainder);
bool besom__next_of_minirun(struct matching *m);

/*
 * Finds the tombstone with the longest extension among those that are a prefix of the digest.
 * Returns false if there is none.
 */
bool besom__find_tombstone(const struct qtable *t, besom_digest d, struct fingerprint *longest);

/* The rank of the last fingerprint with this remainder. */
uint32_t besom__last_rank(const struct qtable *t, uint64_t quotient, uint64_t remainder);

/* Finds the fingerprint of a match. Returns false if there is none. */
bool besom__locate_match(const struct qtable *t, besom_match match, struct fingerprint *fp);

/* Whether the fingerprint can belong to a key with this address. */
bool besom__fingerprint_is_of_key(const struct qtable *t, const struct fingerprint *fp,
                                  struct address key);

/*
 * Extends the fingerprint of the key `stored` by the fewest bits with which it no longer matches
 * the offender, then to the end of its last slot. Leaves it unchanged if it does not match the
 * offender. Returns INVALID if the fingerprint is not that of `stored`, IS_MEMBER if the two
 * digests are equal, FULL if no extension is long enough.
 */
besom_status besom__fingerprint_extend(const struct qtable *t, const struct fingerprint *fp,
                                       besom_digest offender, besom_digest stored,
                                       struct fingerprint *out);

#endif
