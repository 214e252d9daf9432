/*
 * reference.h - what a filter should hold: a plain multiset of the keys 0 to universe - 1, and the means to
 * compare a filter with it. Keys that share a fingerprint share their copies, so a filter that can be
 * iterated must agree exactly; of the others only what the header promises is asked.
 */
#ifndef BESOM_TESTS_REFERENCE_H
#define BESOM_TESTS_REFERENCE_H

#include "besom.h"

/*
 * A fingerprint as one number, quotient * 2^width + remainder: growing and shrinking do not change it, nor does moving
 * to its alternate bucket.
 */
typedef struct address {
  uint64_t hi, lo;
} address;

typedef struct reference {
  size_t universe;
  uint64_t items;
  uint64_t *copies; /* of each key */
  bool exact;       /* the keys' addresses are known: a filter must agree exactly */
  bool counts;      /* the filter can count */
  bool removes;     /* and remove */
  size_t *class_of; /* for each key the class of keys with its address */
  size_t classes;
  address *addresses; /* of each class, ascending */
  uint64_t *held;     /* copies of all keys of the class */
} reference;

/* For filters like this one. Learns the address of each key by asking an empty filter that is like f. */
besom_status reference_init(reference *ref, const besom_filter *f, size_t universe);
void reference_close(reference *ref);

/* The key that number i stands for. */
uint64_t reference_key(size_t i);

void reference_insert(reference *ref, size_t i);
void reference_remove(reference *ref, size_t i);

/* What is wrong with the filter's answers for one key, or NULL. */
const char *reference_check_key(const reference *ref, const besom_filter *f, size_t i);

/* What is wrong with the filter: structure, number of items, all keys, what iterating gives. Or NULL. */
const char *reference_check(const reference *ref, const besom_filter *f);

/* Everything that iterating gives, as addresses in ascending order; free() them. NULL if it fails. */
address *stored_addresses(const besom_filter *f, size_t *n);
int compare_addresses(const void *a, const void *b);

#endif
