/*
 * reference.h - a model of a filter: a multiset of the keys 0 to universe - 1, and functions that
 * compare a filter with it. Keys that share a fingerprint share their copies, so a filter with
 * iterators must agree exactly. Of other filters only the guarantees of besom.h are checked.
 */
#ifndef BESOM_TESTS_REFERENCE_H
#define BESOM_TESTS_REFERENCE_H

#include "besom.h"

/*
 * A fingerprint as one number, quotient * 2^width + remainder. Moving the fingerprint to its
 * alternate bucket does not change it, and growing and shrinking do so only in kinds whose
 * remainders have few widths.
 */
typedef struct address {
  uint64_t hi, lo;
} address;

typedef struct reference {
  size_t universe;
  uint64_t items;   /* keys, copies included */
  uint64_t *copies; /* of each key */
  bool exact;       /* the addresses of the keys are known: a filter must agree exactly */
  bool counts;      /* the filter supports count */
  bool removes;     /* the filter supports remove */
  size_t *class_of; /* for each key the class of keys with its address */
  size_t classes;
  address *addresses; /* of each class, ascending */
  uint64_t *held;     /* copies of all keys of the class */
} reference;

/* For filters like f. Finds the address of each key with an empty filter like f. */
besom_status reference_init(reference *ref, const besom_filter *f, size_t universe);
void reference_close(reference *ref);

/* The key of number i. */
uint64_t reference_key(size_t i);

void reference_insert(reference *ref, size_t i);
void reference_remove(reference *ref, size_t i);

/* An error in the answers of the filter for one key, or NULL. */
const char *reference_check_key(const reference *ref, const besom_filter *f, size_t i);

/* An error in the structure, the number of keys, the answers or the entries; or NULL. */
const char *reference_check(const reference *ref, const besom_filter *f);

/* All entries as addresses, ascending; the caller calls free(). NULL if iterating fails. */
address *stored_addresses(const besom_filter *f, size_t *n);
int compare_addresses(const void *a, const void *b);

#endif
