/*
 * acf-cuckooing: the adaptive cuckoo filter that moves keys (Kopelowitz et al. 2021). A key has
 * four buckets of one slot each, and each part of the table has its own fingerprint function.
 * Adapting moves the key with the matching fingerprint to another of its buckets.
 */
#include "papers/adaptive_cuckoo/acf.h"

static inline unsigned acf_cuckooing_function(const struct acf *a, uint64_t slot, uint64_t entry) {
  (void)entry;
  return acf_part(a, slot);
}

/* Whether a key would match the offender in this part of the table. */
static bool alike_in(const struct acf *a, besom_digest key, besom_digest offender, unsigned part) {
  return acf_bucket(a, key, part) == acf_bucket(a, offender, part) &&
         acf_fingerprint(a, key, part) == acf_fingerprint(a, offender, part);
}

static besom_status acf_cuckooing_fix(struct acf *a, besom_digest offender, uint64_t slot,
                                      besom_digest stored) {
  uint64_t buckets[MAX_BUCKETS_PER_KEY];
  unsigned n = 0;
  for (unsigned part = 0; part < a->policy->layout.buckets_per_key; part++)
    if (part != acf_part(a, slot) && !alike_in(a, stored, offender, part))
      buckets[n++] = acf_bucket(a, stored, part);
  return n ? besom__acf_move(a, slot, stored, buckets, n) : BESOM_FULL;
}

static const struct acf_policy policy = {
    .layout = {.buckets_per_key = 4, .slots_per_bucket = 1, .min_width = 4, .max_width = 32},
    .function = acf_cuckooing_function,
    .fix = acf_cuckooing_fix,
};

static besom_status acf_cuckooing_create(besom_filter *f, const besom_config *config) {
  besom_status status = besom__options_read(&f->kind->options, config->options, NULL);
  if (status != BESOM_OK) return status;
  return besom__acf_create(f, config, &policy, 0);
}

static bool acf_cuckooing_contains(const besom_filter *f, besom_digest d) {
  return acf_contains(f, d, acf_cuckooing_function);
}

static void acf_cuckooing_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                        uint64_t *bitmap) {
  acf_contains_many(f, d, n, bitmap, acf_cuckooing_function);
}

static besom_status acf_cuckooing_load(besom_filter *f, struct sections_in *in) {
  return besom__acf_load(f, in, &policy);
}

const struct besom_kind besom__acf_cuckooing = {
    .name = "acf-cuckooing",
    .summary = "adaptive cuckoo filter that moves keys: needs a store; a fixed false "
               "positive can come back",
    .create = acf_cuckooing_create,
    .query = {.contains = acf_cuckooing_contains,
              .contains_many = acf_cuckooing_contains_many,
              .prefetch = besom__acf_prefetch},
    .file = &(const struct file_ops){.save = besom__acf_save,
                                     .validate = besom__acf_validate,
                                     .load = acf_cuckooing_load},
    ACF_KIND,
};
