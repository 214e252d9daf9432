/*
 * exaf: the extension adaptive filter (Lee, McCauley, Singh, Stein, "Telescoping Filter", 2021; a practical broom
 * filter). A quotient filter whose fingerprints can grow bit by bit: told that a key was a false positive, it lengthens
 * those that matched by just as many bits of their own keys as tell the two apart. All extensions of a block are in
 * one code of 56 bits, which is looked at only when a remainder matches. Full blocks forget their extensions.
 */
#include "quotient/noted.h"

/* The bits behind the remainder, the first one uppermost, up to 64 of them. */
static uint64_t bits_behind(const struct seeker *key, unsigned width) {
  return width < 64 ? key->at.rest.hi << width | key->at.rest.lo >> (64 - width) : key->at.rest.lo;
}

static unsigned length_of(note string) {
  return 63 - leading_zeros(string);
}

/* The string of the first bits, 1 to MAX_STRING. */
static note string_of(uint64_t bits, unsigned length) {
  return (note)(UINT64_C(1) << length | bits >> (64 - length));
}

static uint64_t first_remainder(const struct seeker *key, note n, unsigned width) {
  (void)n;
  return remainder_of(key->at, width);
}

static bool matches(const struct seeker *key, uint64_t remainder, note n, unsigned width) {
  if (remainder_of(key->at, width) != remainder) return false;
  return !n || string_of(bits_behind(key, width), length_of(n)) == n;
}

static bool beyond(const struct seeker *stored, const struct seeker *offender, unsigned width, note *n) {
  uint64_t mine = bits_behind(stored, width), other = bits_behind(offender, width);
  unsigned length = leading_zeros(mine ^ other) + 1;
  if (length > MAX_STRING) return false;
  *n = string_of(mine, length);
  return true;
}

static unsigned class_of(note n) {
  return length_of(n) < NOTE_CLASSES ? length_of(n) : NOTE_CLASSES - 1;
}

static const struct note_policy policy = {
    .remainder = first_remainder, .matches = matches, .beyond = beyond, .class_of = class_of, .strings = true};

static besom_status create(besom_filter *f, const besom_config *config) {
  return besom__noted_create(f, config, &policy);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  return besom__noted_load(f, in, &policy);
}

const struct besom_kind besom__exaf = {
    .info = {"exaf", "extension adaptive filter: lengthens fingerprints bit by bit, given the stored keys",
             BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE | BESOM_CAN_ITERATE |
                 BESOM_CAN_GROW | BESOM_CAN_ADAPT | BESOM_CAN_BUILD_SORTED | BESOM_CAN_MATCH | BESOM_CAN_REKEY},
    .size = sizeof(struct noted),
    .create = create,
    .create_like = besom__noted_create_like,
    .destroy = besom__quotient_destroy,
    .contains = besom__noted_contains_by_remainder,
    .contains_many = besom__noted_contains_many,
    .insert = besom__noted_insert,
    .insert_many = besom__noted_insert_many,
    .insert_count = besom__noted_insert_count,
    .remove = besom__noted_remove,
    .count = besom__noted_count,
    .adapt = besom__noted_adapt,
    .bind = besom__noted_bind,
    .matches = besom__noted_matches,
    .insert_at = besom__noted_insert_at,
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
