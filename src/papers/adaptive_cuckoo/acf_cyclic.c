/*
 * acf-cyclic: the adaptive cuckoo filter with selectors. A key has four buckets of one slot each.
 * The selector bits of a slot are the number of its fingerprint function; adapting takes the next
 * function, cyclically. With bucket_slots=4 a key has two buckets (acf_buckets.c).
 */
#include "core/options.h"
#include "papers/adaptive_cuckoo/acf.h"

enum { DEFAULT_SELECTOR_BITS = 2, MAX_SELECTOR_BITS = 3 };

static inline unsigned acf_cyclic_function(const struct acf *a, uint64_t slot, uint64_t entry) {
  return a->selectors ? bucket_selector(a, slot / MAX_BUCKET_SLOTS)
                      : (unsigned)(entry & bits_below(a->selector_bits));
}

static besom_status acf_cyclic_fix(struct acf *a, besom_digest offender, uint64_t slot,
                                   besom_digest stored) {
  unsigned functions = 1u << a->selector_bits,
           now = acf_cyclic_function(a, slot, slot_get(&a->table, slot));
  for (unsigned i = 1; i < functions; i++) {
    uint64_t entry = acf_entry(a, stored, (now + i) % functions);
    if (entry == acf_entry(a, offender, (now + i) % functions)) continue;
    slot_set(&a->table, slot, entry);
    return BESOM_OK;
  }
  return BESOM_FULL;
}

static const struct acf_policy policy = {
    .layout = {.buckets_per_key = 4,
               .slots_per_bucket = 1,
               .min_width = 3,
               .max_width = 32,
               .min_selector = 1,
               .max_selector = MAX_SELECTOR_BITS},
    .function = acf_cyclic_function,
    .fix = acf_cyclic_fix,
};

/* Options are numbers of one digit; 0: not given. */
struct acf_cyclic_options {
  unsigned selector_bits, bucket_slots;
};

static besom_status acf_cyclic_read_options(const char *text, struct acf_cyclic_options *options) {
  struct option option;
  besom_status status;
  *options = (struct acf_cyclic_options){0};
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    const char *digit = option.value.data;
    unsigned value = option.value.len == 1 ? (unsigned)(*digit - '0') : 0;
    if (besom__option_is(&option, "selector_bits") && value >= 1 && value <= MAX_SELECTOR_BITS)
      options->selector_bits = value;
    else if (besom__option_is(&option, "bucket_slots") && (value == 1 || value == MAX_BUCKET_SLOTS))
      options->bucket_slots = value;
    else
      return BESOM_BAD_OPTION;
  }
  if (status == BESOM_END && options->bucket_slots == MAX_BUCKET_SLOTS && options->selector_bits)
    return BESOM_BAD_OPTION;
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status acf_cyclic_create(besom_filter *f, const besom_config *config) {
  struct acf_cyclic_options options;
  besom_status status = acf_cyclic_read_options(config->options, &options);
  if (status != BESOM_OK) return status;
  if (options.bucket_slots == MAX_BUCKET_SLOTS)
    return besom__acf_create(f, config, &besom__acf_buckets, 0);
  return besom__acf_create(f, config, &policy,
                           options.selector_bits ? options.selector_bits : DEFAULT_SELECTOR_BITS);
}

static bool acf_cyclic_contains(const besom_filter *f, besom_digest d) {
  return acf_contains(f, d, acf_cyclic_function);
}

static void acf_cyclic_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                     uint64_t *bitmap) {
  acf_contains_many(f, d, n, bitmap, acf_cyclic_function);
}

/* Selector bits of 0 mark the form with selectors of buckets. */
static besom_status acf_cyclic_load(besom_filter *f, struct sections_in *in) {
  struct byte_reader parameters = in->parameters;
  besom__read_u64(&parameters);
  besom__read_u32(&parameters);
  bool slots = besom__read_u32(&parameters);
  return besom__acf_load(f, in, slots ? &policy : &besom__acf_buckets);
}

const struct besom_kind besom__acf_cyclic = {
    .name = "acf-cyclic",
    .summary = "adaptive cuckoo filter with selectors: needs a store; a fixed false "
               "positive can come back",
    .create = acf_cyclic_create,
    .query = {.contains = acf_cyclic_contains,
              .contains_many = acf_cyclic_contains_many,
              .prefetch = besom__acf_prefetch},
    .file = &(const struct file_ops){.save = besom__acf_save,
                                     .validate = besom__acf_validate,
                                     .load = acf_cyclic_load},
    ACF_KIND,
};
