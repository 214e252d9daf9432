/*
 * slot_store.h - an in-memory store for a filter that moves its fingerprints (a kind that needs a
 * store): an array with one digest per slot, which follows every move. Can fail at a chosen call.
 */
#ifndef BESOM_TESTS_SLOT_STORE_H
#define BESOM_TESTS_SLOT_STORE_H

#include "besom_reverse.h"

typedef struct slot_store {
  besom_filter *f;
  besom_digest *digests; /* by bucket */
  bool *taken;           /* does the slot hold a key? */
  size_t slots, n;
  uint64_t reads, moves;   /* calls of digest_of; keys moved */
  uint64_t calls, fail_at; /* calls of both callbacks; the one that returns BESOM_IO, from 1 */
  bool wrong;              /* the filter read or moved a slot that holds no key */
} slot_store;

/* Binds an empty filter to an empty array. */
besom_status slot_store_open(slot_store *s, besom_filter *f);

/* Binds a copy of the filter; the keys stay. */
besom_status slot_store_rebind(slot_store *s, besom_filter *f);

/* Unbinds the filter, which still answers queries. */
void slot_store_close(slot_store *s);

besom_status slot_store_insert(slot_store *s, besom_digest d, besom_match *match);
besom_status slot_store_remove(slot_store *s, besom_match match);

#endif
