#include "cuckoo/cuckoo_geometry.h"

#include <math.h>

#include "core/system/memory.h"

/* ------------------------------------------------------------------ sizes */

/*
 * Tables reach a load factor of 96 % and more before an insert finds no path to an empty slot. The
 * number of slots left then varies by the square root of the slots. Small tables keep so many slots
 * free that only one table in thousands is full below its capacity.
 */
static const double max_load_factor = 0.95, spread = 1.6;

uint64_t besom__cuckoo_capacity(const struct cuckoo_layout *layout, uint64_t buckets) {
  uint64_t slots = buckets * layout->slots_per_bucket;
  if (buckets <= layout->buckets_per_key) return slots; /* every key can be in every slot */
  double by_load = max_load_factor * (double)slots,
         by_spread = (double)slots - spread * sqrt((double)slots);
  return (uint64_t)(by_load < by_spread ? by_load : by_spread);
}

double besom__cuckoo_fpr(const struct cuckoo_layout *layout, double load, unsigned width) {
  double looked_at = layout->buckets_per_key * layout->slots_per_bucket * load;
  return -expm1(looked_at * log1p(-1 / (ldexp(1, (int)width) - 1)));
}

/* The fewest buckets with this capacity. */
static uint64_t buckets_for(const struct cuckoo_layout *layout, uint64_t capacity) {
  double slots = (double)capacity / max_load_factor;
  uint64_t buckets = (uint64_t)(slots / layout->slots_per_bucket) / layout->buckets_per_key *
                     layout->buckets_per_key;
  if (buckets < layout->buckets_per_key) buckets = layout->buckets_per_key;
  while (besom__cuckoo_capacity(layout, buckets) < capacity) buckets += layout->buckets_per_key;
  return buckets;
}

/* The load factor at capacity. */
static double load_at_capacity(const struct cuckoo_layout *layout, uint64_t buckets) {
  return (double)besom__cuckoo_capacity(layout, buckets) /
         (double)(buckets * layout->slots_per_bucket);
}

/*
 * With partial-key hashing, keys with the same fingerprint and one bucket in common share both
 * buckets. If there are more of them than slots in both buckets, an insert is FULL. With 4 bits,
 * nine such keys occur in every hundredth table of a million slots. Each further bit allows about a
 * hundred times as many slots.
 */
static unsigned min_width(const struct cuckoo_layout *layout, uint64_t buckets) {
  unsigned log_slots = 64 - leading_zeros(buckets * layout->slots_per_bucket);
  if (!layout->partial_key || log_slots <= 17) return layout->min_width;
  return layout->min_width + 1 + (log_slots > 24) + (log_slots > 32);
}

/*
 * The shortest fingerprint with at most this false-positive rate; above max_width if there is none.
 */
static unsigned width_for_fpr(const struct cuckoo_layout *layout, uint64_t buckets, double fpr) {
  unsigned width = min_width(layout, buckets);
  while (width <= layout->max_width &&
         besom__cuckoo_fpr(layout, load_at_capacity(layout, buckets), width) > fpr)
    width++;
  return width;
}

double besom__cuckoo_bits_per_key(const struct cuckoo_layout *layout, double keys, double *fpr) {
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  uint64_t buckets = buckets_for(layout, (uint64_t)keys);
  unsigned width = width_for_fpr(layout, buckets, *fpr);
  if (width > layout->max_width) return 0;
  *fpr = besom__cuckoo_fpr(layout, load_at_capacity(layout, buckets), width);
  return (double)width * (double)(buckets * layout->slots_per_bucket) / keys;
}

/* The longest fingerprint with which the table fits into so many bytes; 0 if there is none. */
static unsigned width_for_bytes(const struct cuckoo_layout *layout, uint64_t buckets, double budget,
                                unsigned selector_bits) {
  for (unsigned width = layout->max_width; width >= min_width(layout, buckets); width--) {
    uint64_t bytes =
        besom__cuckoo_table_bytes(buckets, layout->slots_per_bucket, width + selector_bits);
    double selectors = ceil((double)buckets * layout->bucket_selector / 8);
    if (bytes && (double)bytes + selectors <= budget) return width;
  }
  return 0;
}

/* ------------------------------------------------------------------ tables */

besom_status besom__cuckoo_table_new(besom_filter *f, const struct cuckoo_layout *layout,
                                     uint64_t buckets, unsigned width, struct cuckoo_table *t) {
  uint64_t bytes = besom__cuckoo_table_bytes(buckets, layout->slots_per_bucket, width);
  if (!bytes) return BESOM_INVALID;
  void *bits = besom__allocate(&f->allocator, bytes);
  if (!bits) return BESOM_NO_MEMORY;
  besom__cuckoo_table_init(t, buckets, layout->slots_per_bucket, width, bits);
  return BESOM_OK;
}

besom_status besom__cuckoo_create(besom_filter *f, const struct cuckoo_layout *layout,
                                  const besom_config *config, unsigned selector_bits,
                                  struct cuckoo_table *t) {
  if (config->slots || config->value_bits) return BESOM_INVALID;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  uint64_t buckets = buckets_for(layout, most);
  double bytes = config->bits_per_key * (double)most / 8 - (double)f->kind->size;
  unsigned width = config->bits_per_key != 0
                       ? width_for_bytes(layout, buckets, bytes, selector_bits)
                       : width_for_fpr(layout, buckets, fpr);
  if (width < layout->min_width || width > layout->max_width) return BESOM_INVALID;
  f->capacity = besom__cuckoo_capacity(layout, buckets);
  return besom__cuckoo_table_new(f, layout, buckets, width + selector_bits, t);
}

void besom__cuckoo_stats(const struct cuckoo_layout *layout, const struct cuckoo_table *t,
                         unsigned width, besom_statistics *s) {
  s->slots = cuckoo_table_slots(t);
  s->width = width;
  s->bytes += cuckoo_table_size(t);
  s->load_factor = (double)s->keys / (double)s->slots;
  s->expected_fpr = besom__cuckoo_fpr(layout, s->load_factor, width);
  s->fpr_at_capacity = besom__cuckoo_fpr(layout, (double)s->capacity / (double)s->slots, width);
}

/* ------------------------------------------------------------------ files */

void besom__cuckoo_save(const struct cuckoo_table *t, unsigned selector_bits,
                        struct sections_out *out) {
  besom__write_u64(&out->parameters, t->buckets);
  besom__write_u32(&out->parameters, t->width - selector_bits);
  besom__write_u32(&out->parameters, selector_bits);
  add_section(out, TAG_BITS, t->bits, cuckoo_table_size(t));
}

besom_status besom__cuckoo_load(besom_filter *f, const struct cuckoo_layout *layout,
                                struct sections_in *in, struct cuckoo_table *t,
                                unsigned *selector_bits) {
  uint64_t buckets = besom__read_u64(&in->parameters);
  uint32_t width = besom__read_u32(&in->parameters), selector = besom__read_u32(&in->parameters);
  const struct section *bits = take_section(in, TAG_BITS);
  if (!bits || width < layout->min_width || width > layout->max_width) return BESOM_CORRUPT;
  if (selector < layout->min_selector || selector > layout->max_selector) return BESOM_CORRUPT;
  uint64_t bytes = besom__cuckoo_table_bytes(buckets, layout->slots_per_bucket, width + selector);
  if (!bytes || bits->len != bytes || buckets % layout->buckets_per_key) return BESOM_CORRUPT;
  if (f->capacity != besom__cuckoo_capacity(layout, buckets)) return BESOM_CORRUPT;
  *selector_bits = selector;
  if (f->mapping) {
    besom__cuckoo_table_init(t, buckets, layout->slots_per_bucket, width + selector,
                             (void *)(uintptr_t)bits->data);
    return BESOM_OK;
  }
  besom_status status = besom__cuckoo_table_new(f, layout, buckets, width + selector, t);
  if (status == BESOM_OK) memcpy(t->bits, bits->data, (size_t)bytes);
  return status;
}
