/*
 * taf: the telescoping adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). A
 * quotient filter in which every fingerprint has a selector. When a false positive is reported, the
 * selectors of all matching fingerprints are raised, so that their remainders become other bits of
 * the digests of their own keys. All selectors of a block are in an arithmetic code of 56 bits. If
 * they do not fit, the block is rebuilt: selectors become 0, and remainders are derived from the
 * stored keys.
 */
#include "quotient/selector.h"

static bool distinguish(const struct hashed_key *stored, const struct hashed_key *offender,
                        unsigned width, slot_meta *selector) {
  return selector_distinguish(stored, offender, width, MAX_SELECTOR, selector);
}

static bool raise_selector(const struct hashed_key *stored, const struct hashed_key *offender,
                           unsigned width, slot_meta *selector) {
  return selector_raise(stored, offender, width, MAX_SELECTOR, selector);
}

static const struct meta_policy policy = {.remainder = selected_remainder,
                                          .matches = selector_matches,
                                          .distinguish = distinguish,
                                          .class_of = selector_class,
                                          .remainder_varies = true};
static const struct meta_policy published = {.remainder = selected_remainder,
                                             .matches = selector_matches,
                                             .distinguish = raise_selector,
                                             .class_of = selector_class,
                                             .remainder_varies = true,
                                             .one_match = true};
static const struct meta_forms forms = {&policy, &published};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__meta_filter_create(f, config, &forms);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__meta_filter_load(f, in, &forms);
}

const struct besom_kind besom__taf = {
    .info =
        {"taf",
         "telescoping adaptive filter: changes the selectors of false matches, reads stored keys",
         META_FILTER_ABILITIES},
    .create = create,
    .contains = besom__meta_filter_contains_by_code,
    .load = load,
    META_FILTER_OPERATIONS,
};
