/*
 * taf: the telescoping adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021). A quotient filter in
 * which every fingerprint has a selector: told that a key was a false positive, it raises the selectors of those that
 * matched, and their remainders become other bits of their own keys' digests. All selectors of a block are in an
 * arithmetic code of 56 bits. If they do not fit, the block begins anew: selectors 0, remainders from the stored keys.
 */
#include "quotient/selector.h"

static bool beyond(const struct seeker *stored, const struct seeker *offender, unsigned width, note *n) {
  return selected_beyond(stored, offender, width, MAX_SELECTOR, n);
}

static const struct note_policy policy = {
    .remainder = selected, .matches = selected_matches, .beyond = beyond, .class_of = selector_class, .moves = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__noted_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__noted_load(f, in, &policy);
}

const struct besom_kind besom__taf = {
    .info = {"taf", "telescoping adaptive filter: changes fingerprints that lied, given the stored keys",
             BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE |
                 BESOM_CAN_GROW | BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_MATCH | BESOM_CAN_REKEY},
    .size = sizeof(struct noted),
    .create = create,
    .create_like = besom__noted_create_like,
    .destroy = besom__quotient_destroy,
    .contains = besom__noted_contains_by_code,
    .contains_many = besom__noted_contains_many,
    .insert = besom__noted_insert,
    .insert_many = besom__noted_insert_many,
    .insert_count = besom__noted_insert_count,
    .remove = besom__noted_remove,
    .count = besom__noted_count,
    .adapt = besom__noted_adapt,
    .bucket_of = besom__noted_bucket_of,
    .bind = besom__noted_bind,
    .matches = besom__noted_matches,
    .insert_at = besom__noted_insert_at,
    .admit = besom__quotient_admit,
    .ready_to_remove = besom__noted_ready_to_remove,
    .remove_at = besom__noted_remove_at,
    .adapt_at = besom__noted_adapt_at,
    .merge = besom__noted_merge,
    .resize_start = besom__noted_resize_start,
    .resize_step = besom__noted_resize_step,
    .append = besom__quotient_append_copies,
    .iter_start = besom__quotient_iter_start,
    .iter_next = besom__noted_iter_next,
    .stats = besom__noted_stats,
    .validate = besom__noted_validate,
    .save = besom__noted_save,
    .load = load,
};
