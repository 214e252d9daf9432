/*
 * taf: the telescoping adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). A
 * quotient filter in which every fingerprint has a selector. When a false positive is reported, the
 * selectors of all matching fingerprints are raised, so that their remainders become other bits of
 * the digests of their own keys. All selectors of a block are in an arithmetic code of 56 bits. If
 * they do not fit, the block is rebuilt: selectors become 0, and remainders are derived from the
 * stored keys.
 */
#include "papers/telescoping/selector.h"

static bool taf_distinguish(const struct hashed_key *stored, const struct hashed_key *offender,
                            unsigned width, slot_meta *selector) {
  return selector_distinguish(stored, offender, width, MAX_SELECTOR, selector);
}

static bool taf_raise_selector(const struct hashed_key *stored, const struct hashed_key *offender,
                               unsigned width, slot_meta *selector) {
  return selector_raise(stored, offender, width, MAX_SELECTOR, selector);
}

static const struct meta_policy policy = {.remainder = selected_remainder,
                                          .matches = selector_matches,
                                          .distinguish = taf_distinguish,
                                          .class_of = selector_class,
                                          .remainder_varies = true};
static bool raise_published(const struct hashed_key *stored, const struct hashed_key *offender,
                            unsigned width, slot_meta *selector) {
  return selector_raise(stored, offender, width, MAX_PUBLISHED_SELECTOR, selector);
}

static const struct meta_policy published = {.remainder = selected_remainder,
                                             .matches = selector_matches,
                                             .distinguish = raise_published,
                                             .class_of = selector_class,
                                             .remainder_varies = true,
                                             .form = FORM_PUBLISHED};
static const struct meta_policy earlier = {.remainder = selected_remainder,
                                           .matches = selector_matches,
                                           .distinguish = taf_raise_selector,
                                           .class_of = selector_class,
                                           .remainder_varies = true,
                                           .form = FORM_EARLIER};
static const struct meta_forms forms = {&policy, &published, &earlier};

const struct besom_kind besom__taf = {
    .name = "taf",
    .summary =
        "telescoping adaptive filter: changes the selectors of false matches, reads stored keys",
    .policy = &forms,
    .query.contains = besom__meta_filter_contains_by_code,
    META_FILTER_KIND,
};
