/* The fingerprints of a table that match a digest, their names (bucket and rank), and how to have them match less. */
#ifndef BESOM_QUOTIENT_MATCH_H
#define BESOM_QUOTIENT_MATCH_H

#include "core/address.h"
#include "quotient/multislot.h"

/* The fingerprints that begin a digest, one after the other, in the order of their ranks. */
struct matching {
  const struct qtable *table;
  struct address address;
  uint64_t remainder, next, run_end;
  uint32_t next_rank;
  struct fingerprint fp; /* the match */
  uint32_t rank; /* and its place among those with the remainder; tombstones have none */
};

struct matching besom__matching_start(const struct qtable *t, besom_digest d);
bool besom__next_match(struct matching *m);

/* All those with a remainder, its minirun, whatever they are and go on with. */
struct matching besom__minirun_start(const struct qtable *t, uint64_t quotient, uint64_t remainder);
bool besom__next_of_minirun(struct matching *m);

/* Buckets are numbered by quotient and remainder together, if they have 64 bits or less. */
static inline bool has_buckets(const struct qtable *t) {
  return t->width < 64 && t->slots <= UINT64_MAX >> t->width;
}

static inline uint64_t bucket_of(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  return quotient << t->width | remainder;
}

/* The tombstone with the longest extension that begins the digest; false if there is none. */
bool besom__find_tombstone(const struct qtable *t, besom_digest d,
                           struct fingerprint *longest);

/* The rank that the last fingerprint with this remainder has. */
uint32_t besom__last_rank(const struct qtable *t, uint64_t quotient, uint64_t remainder);

/* The fingerprint of a match; false if there is none. */
bool besom__locate_match(const struct qtable *t, besom_match match, struct fingerprint *fp);

/* Whether the fingerprint can be that of a key with this address. */
bool besom__fingerprint_is_of_key(const struct qtable *t, const struct fingerprint *fp, struct address key);

/*
 * The fingerprint of the key `stored`, lengthened just beyond what it has in common with the offender, and then as far
 * as its last slot reaches; as it is, if it does not match the offender. INVALID if it is not that key's, IS_MEMBER if
 * the two are equal.
 */
besom_status besom__fingerprint_extend(const struct qtable *t, const struct fingerprint *fp,
                               besom_digest offender, besom_digest stored,
                               struct fingerprint *out);

#endif
