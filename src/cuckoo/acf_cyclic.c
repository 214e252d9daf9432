/*
 * acf-cyclic: the adaptive cuckoo filter with selectors. A key has four buckets of one slot each.
 * The selector bits of a slot are the number of its fingerprint function; adapting takes the next
 * function, cyclically.
 */
#include "core/options.h"
#include "cuckoo/acf.h"

enum { DEFAULT_SELECTOR_BITS = 2, MAX_SELECTOR_BITS = 3 };

static inline unsigned function(const struct acf *a, uint64_t slot, uint64_t entry) {
  (void)slot;
  return (unsigned)(entry & bits_below(a->selector_bits));
}

static besom_status fix(struct acf *a, besom_digest offender, uint64_t slot, besom_digest stored) {
  unsigned functions = 1u << a->selector_bits, now = function(a, slot, slot_get(&a->table, slot));
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
    .function = function,
    .fix = fix,
};

static besom_status read_options(const char *text, unsigned *selector_bits) {
  struct option option;
  besom_status status;
  *selector_bits = DEFAULT_SELECTOR_BITS;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    const char *value = option.value.data;
    if (!besom__option_is(&option, "selector_bits") || option.value.len != 1)
      return BESOM_BAD_OPTION;
    if (*value < '1' || *value > '0' + MAX_SELECTOR_BITS) return BESOM_BAD_OPTION;
    *selector_bits = (unsigned)(*value - '0');
  }
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  unsigned selector_bits;
  besom_status status = read_options(config->options, &selector_bits);
  return status == BESOM_OK ? besom__acf_create(f, config, &policy, selector_bits) : status;
}

static bool contains(const besom_filter *f, besom_digest d) {
  return acf_contains(f, d, function);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  acf_contains_many(f, d, n, bitmap, function);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__acf_load(f, in, &policy);
}

const struct besom_kind besom__acf_cyclic = {
    .info = {.name = "acf-cyclic",
             .summary = "adaptive cuckoo filter with selectors: needs a store; a fixed false "
                        "positive can come back",
             .abilities = BESOM_CAN_ADAPT | BESOM_CAN_MATCH},
    .create = create,
    .contains = contains,
    .contains_many = contains_many,
    .load = load,
    ACF_OPERATIONS,
};
