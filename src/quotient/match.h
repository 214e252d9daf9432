/* The fingerprints of a table that match a digest, and their names: bucket and rank. */
#ifndef BESOM_QUOTIENT_MATCH_H
#define BESOM_QUOTIENT_MATCH_H

#include "core/address.h"
#include "quotient/long.h"

/* The fingerprints that begin a digest, one after the other, in the order of their ranks. */
struct matching {
  const struct qtable *table;
  struct address address;
  uint64_t remainder, next, run_end;
  uint32_t next_rank;
  struct long_fingerprint fp; /* the match */
  uint32_t rank;              /* and its place among those with the remainder */
};

struct matching besom__matching_start(const struct qtable *t, besom_digest d);
bool besom__next_match(struct matching *m);

/* Buckets are numbered by quotient and remainder together, if they have 64 bits or less. */
static inline bool has_buckets(const struct qtable *t) {
  return t->width < 64 && t->slots <= UINT64_MAX >> t->width;
}

static inline uint64_t bucket_of(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  return quotient << t->width | remainder;
}

/* The fingerprint of a match; false if there is none. */
bool besom__locate_match(const struct qtable *t, besom_match match, struct long_fingerprint *fp);

#endif
