/*
 * acf-swapping: the adaptive cuckoo filter without selectors. A key has two buckets of four slots
 * each, and each slot of a bucket has its own fingerprint function. Adapting swaps the key with the
 * matching fingerprint with another slot of its bucket.
 */
#include "papers/adaptive_cuckoo/acf.h"

static inline unsigned acf_swapping_function(const struct acf *a, uint64_t slot, uint64_t entry) {
  (void)a, (void)entry;
  return (unsigned)(slot % MAX_BUCKET_SLOTS);
}

/* The entry of a slot's key in another slot of the bucket; 0 if the slot is empty. */
static besom_status entry_in(const struct acf *a, uint64_t slot, uint64_t other, uint64_t *entry) {
  besom_digest d;
  *entry = 0;
  if (!slot_get(&a->table, slot)) return BESOM_OK;
  besom_status status = besom__acf_stored(a, slot, &d);
  if (status == BESOM_OK) *entry = acf_entry(a, d, acf_swapping_function(a, other, 0));
  return status;
}

/* Swaps with the next slot, cyclically, after which neither key matches the offender. */
static besom_status acf_swapping_fix(struct acf *a, besom_digest offender, uint64_t slot,
                                     besom_digest stored) {
  uint64_t first = slot / MAX_BUCKET_SLOTS * MAX_BUCKET_SLOTS, back;
  for (unsigned i = 1; i < MAX_BUCKET_SLOTS; i++) {
    uint64_t other = first + (slot + i) % MAX_BUCKET_SLOTS,
             there = acf_entry(a, stored, acf_swapping_function(a, other, 0));
    if (there == acf_entry(a, offender, acf_swapping_function(a, other, 0))) continue;
    besom_status status = entry_in(a, other, slot, &back);
    if (status != BESOM_OK) return status;
    if (back == acf_entry(a, offender, acf_swapping_function(a, slot, 0))) continue;
    status = besom__acf_exchange(a, slot, other);
    if (status != BESOM_OK) return status;
    slot_set(&a->table, slot, back);
    slot_set(&a->table, other, there);
    return BESOM_OK;
  }
  return BESOM_FULL;
}

static const struct acf_policy policy = {
    .layout = {.buckets_per_key = 2,
               .slots_per_bucket = MAX_BUCKET_SLOTS,
               .min_width = 4,
               .max_width = 32},
    .function = acf_swapping_function,
    .fix = acf_swapping_fix,
};

static besom_status acf_swapping_create(besom_filter *f, const besom_config *config) {
  besom_status status = besom__options_read(&f->kind->options, config->options, NULL);
  if (status != BESOM_OK) return status;
  return besom__acf_create(f, config, &policy, 0);
}

static bool acf_swapping_contains(const besom_filter *f, besom_digest d) {
  return acf_contains(f, d, acf_swapping_function);
}

static void acf_swapping_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                       uint64_t *bitmap) {
  acf_contains_many(f, d, n, bitmap, acf_swapping_function);
}

static besom_status acf_swapping_load(besom_filter *f, struct sections_in *in) {
  return besom__acf_load(f, in, &policy);
}

const struct besom_kind besom__acf_swapping = {
    .name = "acf-swapping",
    .summary = "adaptive cuckoo filter that swaps slots: needs a store; a fixed false "
               "positive can come back",
    .create = acf_swapping_create,
    .query = {.contains = acf_swapping_contains,
              .contains_many = acf_swapping_contains_many,
              .prefetch = besom__acf_prefetch},
    .file = &(const struct file_ops){.save = besom__acf_save,
                                     .validate = besom__acf_validate,
                                     .load = acf_swapping_load},
    ACF_KIND,
};
