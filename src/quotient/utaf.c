/*
 * utaf: the uncompressed telescoping filter (Lee, McCauley, Singh, Stein, "Telescoping Filter",
 * 2021). As taf, but with a selector of one byte per slot, stored outside the blocks. The blocks
 * keep flags of the slots whose selector is not 0.
 */
#include "quotient/selector.h"

static bool distinguish(const struct hashed_key *stored, const struct hashed_key *offender,
                        unsigned width, slot_meta *selector) {
  return selector_distinguish(stored, offender, width, UINT8_MAX, selector);
}

static bool raise_selector(const struct hashed_key *stored, const struct hashed_key *offender,
                           unsigned width, slot_meta *selector) {
  return selector_raise(stored, offender, width, UINT8_MAX, selector);
}

static const struct meta_policy policy = {.remainder = selected_remainder,
                                          .matches = selector_matches,
                                          .distinguish = distinguish,
                                          .class_of = selector_class,
                                          .bytes = true,
                                          .remainder_varies = true};
static const struct meta_policy published = {.remainder = selected_remainder,
                                             .matches = selector_matches,
                                             .distinguish = raise_selector,
                                             .class_of = selector_class,
                                             .bytes = true,
                                             .remainder_varies = true,
                                             .one_match = true};
static const struct meta_forms forms = {&policy, &published};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__meta_filter_create(f, config, &forms);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__meta_filter_load(f, in, &forms);
}

const struct besom_kind besom__utaf = {
    .info = {"utaf", "telescoping adaptive filter with one byte per selector: faster, larger",
             META_FILTER_ABILITIES},
    .create = create,
    .contains = besom__meta_filter_contains_by_flags,
    .load = load,
    META_FILTER_OPERATIONS,
};
