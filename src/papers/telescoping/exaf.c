/*
 * exaf: the extension adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter",
 * 2021). A quotient filter whose fingerprints are extended bit by bit. When a
 * false positive is reported, every matching fingerprint gets as many bits of its own key as
 * separate it from the reported key. All extensions of a block are in one arithmetic code of 56
 * bits, which a query reads only if a remainder matches. A block whose code is full drops its
 * extensions.
 */
#include "papers/telescoping/extension_bits.h"

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
                                             .form = FORM_PUBLISHED};
static const struct meta_policy earlier = {.remainder = extension_remainder,
                                           .matches = extension_matches,
                                           .distinguish = extension_distinguish,
                                           .class_of = extension_class,
                                           .extensions = true,
                                           .form = FORM_EARLIER};
static const struct meta_forms forms = {&policy, &published, &earlier};

const struct besom_kind besom__exaf = {
    .name = "exaf",
    .summary = "extension adaptive filter: extends fingerprints bit by bit, reads stored keys",
    .policy = &forms,
    .query.contains = besom__meta_filter_contains_by_remainder,
    META_FILTER_KIND,
};
