/*
 * From capacity and false-positive rate to the geometry of a cuckoo table. Also the other
 * operations that all cuckoo kinds share: creating, saving and loading the table, and its
 * statistics.
 */
#ifndef BESOM_CUCKOO_CUCKOO_GEOMETRY_H
#define BESOM_CUCKOO_CUCKOO_GEOMETRY_H

#include "cuckoo/cuckoo_table.h"
#include "kind.h"

/* How the tables of the kinds differ. */
struct cuckoo_layout {
  unsigned buckets_per_key; /* the number of buckets is a multiple of it */
  unsigned slots_per_bucket;
  unsigned min_width, max_width;       /* of fingerprints, in bits */
  unsigned min_selector, max_selector; /* selector bits per slot, beside the fingerprint */
  unsigned bucket_selector;            /* bits of the selector that a kind keeps per bucket, or 0 */
  bool partial_key; /* the fingerprint gives the alternate bucket; else the digest gives all */
};

/* The keys that a table takes: a load factor of 95 %, less for small tables. */
uint64_t besom__cuckoo_capacity(const struct cuckoo_layout *layout, uint64_t buckets);

/* The false-positive rate: the probability that a slot of an absent key's buckets matches it. */
double besom__cuckoo_fpr(const struct cuckoo_layout *layout, double load, unsigned width);

/* The operation bits_per_key of a kind without selector bits (src/kind.h). */
double besom__cuckoo_bits_per_key(const struct cuckoo_layout *layout, double keys, double *fpr);

/*
 * Creates the table that the config asks for, with selector_bits per slot beside the fingerprint,
 * and sets the filter's capacity. Errors: INVALID, NO_MEMORY.
 */
besom_status besom__cuckoo_create(besom_filter *f, const struct cuckoo_layout *layout,
                                  const besom_config *config, unsigned selector_bits,
                                  struct cuckoo_table *t);

/* An empty table from the filter's allocator. width: bits per entry. Errors: INVALID, NO_MEMORY. */
besom_status besom__cuckoo_table_new(besom_filter *f, const struct cuckoo_layout *layout,
                                     uint64_t buckets, unsigned width, struct cuckoo_table *t);

/* Fills in slots, width, bytes, load factor and false-positive rates. */
void besom__cuckoo_stats(const struct cuckoo_layout *layout, const struct cuckoo_table *t,
                         unsigned width, besom_statistics *s);

/*
 * Saves and loads the parameters and the bits. load checks what memory safety needs; validate
 * checks the rest. Errors of load: CORRUPT, NO_MEMORY.
 */
void besom__cuckoo_save(const struct cuckoo_table *t, unsigned selector_bits,
                        struct sections_out *out);
besom_status besom__cuckoo_load(besom_filter *f, const struct cuckoo_layout *layout,
                                struct sections_in *in, struct cuckoo_table *t,
                                unsigned *selector_bits);

#endif
