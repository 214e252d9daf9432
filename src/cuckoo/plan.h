/*
 * From capacity and rate to the geometry of a cuckoo table, and what else all cuckoo kinds do alike around it: making,
 * saving and loading it, and its figures.
 */
#ifndef BESOM_CUCKOO_PLAN_H
#define BESOM_CUCKOO_PLAN_H

#include "cuckoo/table.h"
#include "filter.h"

/* What tells the kinds' tables apart. */
struct cuckoo_family {
  unsigned places; /* buckets that a key may be in; of all buckets there are a multiple of that */
  unsigned per_bucket;                 /* slots of each */
  unsigned min_width, max_width;       /* of fingerprints */
  unsigned min_selector, max_selector; /* bits in a slot beside them */
  bool places_by_fingerprint;          /* else by the whole digest */
};

/* The keys that a table takes: 95 % of its slots, fewer of small ones. */
uint64_t besom__cuckoo_capacity(const struct cuckoo_family *family, uint64_t buckets);

/* The probability that some slot of a key's buckets holds its fingerprint by chance. */
double besom__cuckoo_rate(const struct cuckoo_family *family, double load, unsigned width);

/* besom_kind.bits_per_key of a kind without selector bits. */
double besom__cuckoo_price(const struct cuckoo_family *family, double keys, double *rate);

/*
 * Makes the table that the config wants, with selector_bits in each slot beside the fingerprint, and sets the filter's
 * capacity. INVALID, NO_MEMORY.
 */
besom_status besom__cuckoo_create(besom_filter *f, const struct cuckoo_family *family,
                                  const besom_config *config, unsigned selector_bits,
                                  struct ctable *t);

/* An empty table with the filter's allocator; width is that of an entry. */
besom_status besom__cuckoo_table(besom_filter *f, const struct cuckoo_family *family,
                                 uint64_t buckets, unsigned width, struct ctable *t);

/* Slots, width, bytes, load and rates. */
void besom__cuckoo_stats(const struct cuckoo_family *family, const struct ctable *t, unsigned width,
                         besom_statistics *s);

/* Parameters and bits, and back, checked as far as it takes to be safe. */
void besom__cuckoo_save(const struct ctable *t, unsigned selector_bits, struct sections_out *out);
besom_status besom__cuckoo_load(besom_filter *f, const struct cuckoo_family *family,
                                struct sections_in *in, struct ctable *t, unsigned *selector_bits);

#endif
