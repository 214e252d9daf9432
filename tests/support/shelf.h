/*
 * shelf.h - the keys of a filter that moves its fingerprints (a kind that needs a store): a digest for each of its
 * slots, and the means to follow every move. Can be told to fail.
 */
#ifndef BESOM_TESTS_SHELF_H
#define BESOM_TESTS_SHELF_H

#include "besom.h"

typedef struct shelf {
  besom_filter *f;
  besom_digest *digests; /* by bucket */
  bool *taken;           /* is there a key? */
  size_t slots, n;
  uint64_t reads, moves;   /* calls of digest_of, keys moved */
  uint64_t calls, fail_at; /* of both callbacks: this one, from 1, is BESOM_IO */
  bool wrong;              /* asked for a key that is not there, or told to move nothing */
} shelf;

/* Binds an empty filter to an empty shelf. */
besom_status shelf_open(shelf *s, besom_filter *f);

/* The same for a copy of the filter: the keys stay. */
besom_status shelf_rebind(shelf *s, besom_filter *f);

/* Unbinds the filter, which can still be asked. */
void shelf_close(shelf *s);

besom_status shelf_insert(shelf *s, besom_digest d, besom_match *match);
besom_status shelf_remove(shelf *s, besom_match match);

#endif
