/*
 * taf: the telescoping adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). A quotient filter in
 * which every fingerprint has a selector: told that a key was a false positive, it raises the selectors of those that
 * matched, and their remainders become other bits of their own keys' digests. All selectors of a block are in an
 * arithmetic code of 56 bits. If they do not fit, the block begins anew: selectors 0, remainders from the stored keys.
 */
#include "quotient/selector.h"

static bool distinguish(const struct hashed_key *stored, const struct hashed_key *offender, unsigned width,
                   slot_meta *n) {
  return selector_distinguish(stored, offender, width, MAX_SELECTOR, n);
}

static const struct meta_policy policy = {.remainder = selected_remainder,
                                          .matches = selector_matches,
                                          .distinguish = distinguish,
                                          .class_of = selector_class,
                                          .remainder_varies = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__meta_filter_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__meta_filter_load(f, in, &policy);
}

const struct besom_kind besom__taf = {
    .info = {"taf",
             "telescoping adaptive filter: changes fingerprints that lied, given the stored keys",
             META_FILTER_ABILITIES},
    .create = create,
    .contains = besom__meta_filter_contains_by_code,
    .load = load,
    META_FILTER_OPERATIONS,
};
