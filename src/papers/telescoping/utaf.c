/*
 * utaf: the uncompressed telescoping filter (Lee, McCauley, Singh, Stein, "Telescoping Filter",
 * 2021). As taf, but with a selector of one byte per slot, stored outside the blocks. The blocks
 * keep flags of the slots whose selector is not 0.
 */
#include "papers/telescoping/selector.h"

static bool utaf_distinguish(const struct hashed_key *stored, const struct hashed_key *offender,
                             unsigned width, slot_meta *selector) {
  return selector_distinguish(stored, offender, width, UINT8_MAX, selector);
}

static bool utaf_raise_selector(const struct hashed_key *stored, const struct hashed_key *offender,
                                unsigned width, slot_meta *selector) {
  return selector_raise(stored, offender, width, UINT8_MAX, selector);
}

static const struct meta_policy policy = {.remainder = selected_remainder,
                                          .matches = selector_matches,
                                          .distinguish = utaf_distinguish,
                                          .class_of = selector_class,
                                          .bytes = true,
                                          .remainder_varies = true};
static const struct meta_policy published = {.remainder = selected_remainder,
                                             .matches = selector_matches,
                                             .distinguish = utaf_raise_selector,
                                             .class_of = selector_class,
                                             .bytes = true,
                                             .remainder_varies = true,
                                             .form = FORM_EARLIER /* nothing has changed since */};
static const struct meta_forms forms = {&policy, &published, NULL};

const struct besom_kind besom__utaf = {
    .name = "utaf",
    .summary = "telescoping adaptive filter with one byte per selector: faster, larger",
    .policy = &forms,
    .query.contains = besom__meta_filter_contains_by_flags,
    META_FILTER_KIND,
};
