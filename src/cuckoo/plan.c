#include "cuckoo/plan.h"

#include <math.h>

#include "core/memory.h"

/* ------------------------------------------------------------------ sizes */

/*
 * Tables take 96 % of their slots and more before the first key finds no way to an empty one. How much more varies
 * from table to table by the square root of the slots: small ones keep so many free that one in thousands is full
 * early.
 */
static const double highest_load = 0.95, spread = 1.6;

uint64_t besom__cuckoo_capacity(const struct cuckoo_family *family, uint64_t buckets) {
  uint64_t slots = buckets * family->per_bucket;
  if (buckets <= family->places) return slots; /* every key may be anywhere */
  double by_load = highest_load * (double)slots,
         by_spread = (double)slots - spread * sqrt((double)slots);
  return (uint64_t)(by_load < by_spread ? by_load : by_spread);
}

double besom__cuckoo_rate(const struct cuckoo_family *family, double load, unsigned width) {
  double looked_at = family->places * family->per_bucket * load;
  return -expm1(looked_at * log1p(-1 / (ldexp(1, (int)width) - 1)));
}

/* The fewest buckets that take so many keys. */
static uint64_t buckets_for(const struct cuckoo_family *family, uint64_t capacity) {
  double slots = (double)capacity / highest_load;
  uint64_t buckets = (uint64_t)(slots / family->per_bucket) / family->places * family->places;
  if (buckets < family->places) buckets = family->places;
  while (besom__cuckoo_capacity(family, buckets) < capacity) buckets += family->places;
  return buckets;
}

/* The load of a table that is as full as it gets. */
static double load_of(const struct cuckoo_family *family, uint64_t buckets) {
  return (double)besom__cuckoo_capacity(family, buckets) / (double)(buckets * family->per_bucket);
}

/*
 * Where fingerprints tell the places, keys of one fingerprint and one of its places share both, and more than fit there
 * are FULL. With 4 bits nine of them meet in every hundredth table of a million slots; each further bit
 * allows for some hundred times as many slots.
 */
static unsigned least_width(const struct cuckoo_family *family, uint64_t buckets) {
  unsigned log_slots = 64 - leading_zeros(buckets * family->per_bucket);
  if (!family->places_by_fingerprint || log_slots <= 17) return family->min_width;
  return family->min_width + 1 + (log_slots > 24) + (log_slots > 32);
}

/* The narrowest fingerprint that keeps the rate; above max_width if none does. */
static unsigned width_for_rate(const struct cuckoo_family *family, uint64_t buckets, double rate) {
  unsigned width = least_width(family, buckets);
  while (width <= family->max_width &&
         besom__cuckoo_rate(family, load_of(family, buckets), width) > rate)
    width++;
  return width;
}

double besom__cuckoo_price(const struct cuckoo_family *family, double keys, double *rate) {
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  uint64_t buckets = buckets_for(family, (uint64_t)keys);
  unsigned width = width_for_rate(family, buckets, *rate);
  if (width > family->max_width) return 0;
  *rate = besom__cuckoo_rate(family, load_of(family, buckets), width);
  return (double)width * (double)(buckets * family->per_bucket) / keys;
}

/* The widest one in so many bytes; 0 if none is. */
static unsigned width_for_bytes(const struct cuckoo_family *family, uint64_t buckets, double budget,
                                unsigned selector_bits) {
  for (unsigned width = family->max_width; width >= least_width(family, buckets); width--) {
    size_t bytes = besom__ctable_bytes(buckets, family->per_bucket, width + selector_bits);
    if (bytes && (double)bytes <= budget) return width;
  }
  return 0;
}

/* ------------------------------------------------------------------ tables */

besom_status besom__cuckoo_table(besom_filter *f, const struct cuckoo_family *family,
                                 uint64_t buckets, unsigned width, struct ctable *t) {
  size_t bytes = besom__ctable_bytes(buckets, family->per_bucket, width);
  if (!bytes) return BESOM_INVALID;
  void *bits = besom__allocate(&f->allocator, bytes);
  if (!bits) return BESOM_NO_MEMORY;
  besom__ctable_init(t, buckets, family->per_bucket, width, bits);
  return BESOM_OK;
}

besom_status besom__cuckoo_create(besom_filter *f, const struct cuckoo_family *family,
                                  const besom_config *config, unsigned selector_bits,
                                  struct ctable *t) {
  if (config->slots || config->value_bits || config->reserve != 0) return BESOM_INVALID;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double rate = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  uint64_t buckets = buckets_for(family, most);
  double bytes = config->bits * (double)most / 8 - (double)f->kind->size;
  unsigned width = config->bits != 0 ? width_for_bytes(family, buckets, bytes, selector_bits)
                                     : width_for_rate(family, buckets, rate);
  if (width < family->min_width || width > family->max_width) return BESOM_INVALID;
  f->capacity = besom__cuckoo_capacity(family, buckets);
  return besom__cuckoo_table(f, family, buckets, width + selector_bits, t);
}

void besom__cuckoo_stats(const struct cuckoo_family *family, const struct ctable *t, unsigned width,
                         besom_statistics *s) {
  s->slots = ctable_slots(t);
  s->width = width;
  s->bytes += ctable_size(t);
  s->load = (double)s->items / (double)s->slots;
  s->expected_fpr = besom__cuckoo_rate(family, s->load, width);
  s->fpr_at_capacity = besom__cuckoo_rate(family, (double)s->capacity / (double)s->slots, width);
}

/* ------------------------------------------------------------------ files */

void besom__cuckoo_save(const struct ctable *t, unsigned selector_bits, struct sections_out *out) {
  besom__write_u64(&out->parameters, t->buckets);
  besom__write_u32(&out->parameters, t->width - selector_bits);
  besom__write_u32(&out->parameters, selector_bits);
  add_section(out, TAG_BITS, t->bits, ctable_size(t));
}

besom_status besom__cuckoo_load(besom_filter *f, const struct cuckoo_family *family,
                                struct sections_in *in, struct ctable *t, unsigned *selector_bits) {
  uint64_t buckets = besom__read_u64(&in->parameters);
  uint32_t width = besom__read_u32(&in->parameters), selector = besom__read_u32(&in->parameters);
  const struct section *bits = take_section(in, TAG_BITS);
  if (!bits || width < family->min_width || width > family->max_width) return BESOM_CORRUPT;
  if (selector < family->min_selector || selector > family->max_selector) return BESOM_CORRUPT;
  size_t bytes = besom__ctable_bytes(buckets, family->per_bucket, width + selector);
  if (!bytes || bits->len != bytes || buckets % family->places) return BESOM_CORRUPT;
  if (f->capacity != besom__cuckoo_capacity(family, buckets)) return BESOM_CORRUPT;
  *selector_bits = selector;
  if (f->mapping) {
    besom__ctable_init(t, buckets, family->per_bucket, width + selector,
                       (void *)(uintptr_t)bits->data);
    return BESOM_OK;
  }
  besom_status status = besom__cuckoo_table(f, family, buckets, width + selector, t);
  if (status == BESOM_OK) memcpy(t->bits, bits->data, bytes);
  return status;
}
