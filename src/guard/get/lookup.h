/* Lookup of a key: the matches of the filter, the records of their buckets, and get. */
#ifndef BESOM_GUARD_LOOKUP_H
#define BESOM_GUARD_LOOKUP_H

#include "guard/guard.h"

/* A lookup: the records of the bucket, and the matches of the filter if a record there has another
   key. */
struct lookup {
  besom_guard *guard;
  const besom_bytes *key;
  const struct epoch *epoch; /* the only one that can hold the key */
  besom_digest digest;
  besom_bytes *value; /* receives a copy of the value; NULL if it is not wanted */

  bool matched;         /* the matches are known */
  besom_match *matches; /* n of them, ordered by bucket and rank */
  size_t n;
  size_t next, end;     /* matches of the bucket that is being read: from next up to end */
  size_t false_matches; /* matches[0] up to this belong to other keys, */
  besom_digest *stored; /* with these digests */
  bool found;
  besom_match found_at;

  besom_match few_matches[FEW_MATCHES];
  besom_digest few_stored[FEW_MATCHES];
};

/* The epoch that a key belongs to, and the key's digest there. During a migration the key's old
   bucket decides: below the frontier it is the next epoch, else the current one. */
const struct epoch *besom__guard_epoch_of(const besom_guard *g, const besom_bytes *key,
                                          besom_digest *digest);

/* A lookup of a key that the filter answered yes for. NULL: only its digest is known. end frees
   what it has allocated. */
void besom__lookup_begin(struct lookup *l, besom_guard *g, const struct epoch *epoch,
                         besom_digest digest, const besom_bytes *key);
void besom__lookup_end(struct lookup *l);

/* Reads the bucket lists of the matches once, sets found and, unless found, false_matches, and
   counts the reads. Errors: NO_MEMORY, those of the store. */
besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads);

/* Sets found. Merged: reads the bucket list. Split: reads the table KEYS. */
besom_status besom__lookup_key(struct lookup *l, uint64_t *reads);

/* get of a key that the filter answered yes for: asks the store, adapts, counts. The read lock is
   held. value may be NULL. */
besom_status besom__lookup_get(besom_guard *g, const besom_bytes *key, const struct epoch *epoch,
                               besom_digest digest, besom_bytes *value);

/* Counts n queries that the filter answered no. */
void besom__count_absent(besom_guard *g, size_t n);

/* Asks the filter and, if it answers yes, the store; counts. The read lock is held. *maybe: the
   answer of the filter. */
besom_status besom__guard_ask(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                              bool *maybe);

/* The same, but changes that are not committed are not seen, unless they are this thread's. */
besom_status besom__guard_ask_committed(besom_guard *g, const besom_bytes *key, besom_bytes *value);

#endif
