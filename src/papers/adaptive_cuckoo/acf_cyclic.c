/*
 * acf-cyclic: the adaptive cuckoo filter with selectors. A key has four buckets of one slot each.
 * The selector bits of a slot are the number of its fingerprint function; adapting takes the next
 * function, cyclically. With bucket_slots=4 a key has two buckets (acf_buckets.c).
 */
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

struct acf_cyclic_values {
  uint64_t selector_bits, bucket_slots;
};

static const struct option_row acf_cyclic_rows[] = {
    OPTION_ROW(acf_cyclic_values, selector_bits, BESOM_OPTION_WORD, .words = "1, 2, 3",
               .standard = "2; none with bucket_slots=4", .meaning = "selector bits per slot"),
    OPTION_WORDS(acf_cyclic_values, bucket_slots, "1, 4",
                 "4: one selector of four bits per bucket, as the program of the AQF paper"),
};

static const char *acf_cyclic_conflict(const void *values) {
  const struct acf_cyclic_values *o = values;
  return o->bucket_slots && o->selector_bits != OPTION_UNSET
             ? "bucket_slots=4 excludes selector_bits"
             : NULL;
}

static besom_status acf_cyclic_create(besom_filter *f, const besom_config *config) {
  struct acf_cyclic_values o;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  if (o.bucket_slots) return besom__acf_create(f, config, &besom__acf_buckets, 0);
  bool chosen = o.selector_bits != OPTION_UNSET; /* the places of 1, 2, 3 are 0, 1, 2 */
  return besom__acf_create(f, config, &policy,
                           chosen ? (unsigned)o.selector_bits + 1 : DEFAULT_SELECTOR_BITS);
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
    .options = {OPTION_ROWS(acf_cyclic_rows), .conflict = acf_cyclic_conflict},
    .create = acf_cyclic_create,
    .query = {.contains = acf_cyclic_contains,
              .contains_many = acf_cyclic_contains_many,
              .prefetch = besom__acf_prefetch},
    .file = &(const struct file_ops){.save = besom__acf_save,
                                     .validate = besom__acf_validate,
                                     .load = acf_cyclic_load},
    ACF_KIND,
};
