/*
 * utaf: the uncompressed telescoping filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). As taf, with
 * a selector of one byte a slot, beside the table. Its blocks keep which slots have one that is not 0.
 */
#include "quotient/selector.h"

static bool beyond(const struct seeker *stored, const struct seeker *offender, unsigned width,
                   note *n) {
  return selected_beyond(stored, offender, width, UINT8_MAX, n);
}

static const struct note_policy policy = {.remainder = selected,
                                          .matches = selected_matches,
                                          .beyond = beyond,
                                          .class_of = selector_class,
                                          .bytes = true,
                                          .moves = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__noted_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__noted_load(f, in, &policy);
}

const struct besom_kind besom__utaf = {
    .info = {"utaf", "telescoping adaptive filter with one byte a selector: faster, larger",
             NOTED_ABILITIES},
    .create = create,
    .contains = besom__noted_contains_by_marks,
    .load = load,
    NOTED_OPERATIONS,
};
