/*
 * exaf: the extension adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter",
 * 2021). A quotient filter whose fingerprints are extended bit by bit. When a
 * false positive is reported, every matching fingerprint gets as many bits of its own key as
 * separate it from the reported key. All extensions of a block are in one arithmetic code of 56
 * bits, which a query reads only if a remainder matches. A block whose code is full drops its
 * extensions.
 */
#include "quotient/extension_bits.h"

static const struct meta_policy policy = {.remainder = extension_remainder,
                                          .matches = extension_matches,
                                          .distinguish = extension_distinguish,
                                          .class_of = extension_class,
                                          .extensions = true};
static const struct meta_policy published = {.remainder = extension_remainder,
                                             .matches = extension_matches,
                                             .distinguish = extension_distinguish,
                                             .class_of = extension_class,
                                             .extensions = true,
                                             .one_match = true};
static const struct meta_forms forms = {&policy, &published};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__meta_filter_create(f, config, &forms);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__meta_filter_load(f, in, &forms);
}

const struct besom_kind besom__exaf = {
    .info = {"exaf",
             "extension adaptive filter: extends fingerprints bit by bit, reads stored keys",
             META_FILTER_ABILITIES},
    .create = create,
    .contains = besom__meta_filter_contains_by_remainder,
    .load = load,
    META_FILTER_OPERATIONS,
};
