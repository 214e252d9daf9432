/*
 * taf: the telescoping adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). A quotient filter in
 * which every fingerprint has a selector: told that a key was a false positive, it raises the selectors of those that
 * matched, and their remainders become other bits of their own keys' digests. All selectors of a block are in an
 * arithmetic code of 56 bits. If they do not fit, the block begins anew: selectors 0, remainders from the stored keys.
 */
#include "quotient/selector.h"

static bool beyond(const struct seeker *stored, const struct seeker *offender, unsigned width,
                   note *n) {
  return selected_beyond(stored, offender, width, MAX_SELECTOR, n);
}

static const struct note_policy policy = {.remainder = selected,
                                          .matches = selected_matches,
                                          .beyond = beyond,
                                          .class_of = selector_class,
                                          .moves = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__noted_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__noted_load(f, in, &policy);
}

const struct besom_kind besom__taf = {
    .info = {"taf",
             "telescoping adaptive filter: changes fingerprints that lied, given the stored keys",
             NOTED_ABILITIES},
    .create = create,
    .contains = besom__noted_contains_by_code,
    .load = load,
    NOTED_OPERATIONS,
};
