/*
 * exaf: the extension adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021; a practical broom
 * filter). A quotient filter whose fingerprints can grow bit by bit: told that a key was a false positive, it lengthens
 * those that matched by just as many bits of their own keys as tell the two apart. All extensions of a block are in
 * one code of 56 bits, which is looked at only when a remainder matches. Full blocks forget their extensions.
 */
#include "quotient/extension_bits.h"

static const struct meta_policy policy = {.remainder = extension_remainder,
                                          .matches = extension_matches,
                                          .distinguish = extension_distinguish,
                                          .class_of = extension_class,
                                          .extensions = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__meta_filter_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__meta_filter_load(f, in, &policy);
}

const struct besom_kind besom__exaf = {
    .info = {"exaf",
             "extension adaptive filter: lengthens fingerprints bit by bit, given the stored keys",
             META_FILTER_ABILITIES},
    .create = create,
    .contains = besom__meta_filter_contains_by_remainder,
    .load = load,
    META_FILTER_OPERATIONS,
};
