/*
 * Updates of static lists: exact on the newest lists after any number of updates, and no false
 * negatives; keys that left the yes list are answered no; patches stay small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { UNIVERSE = 6000, MAX_UPDATES = 16 };

/* On which list each key of the universe is. */
enum place { NOWHERE, YES, NO };
typedef struct lists {
  uint8_t place[UNIVERSE];
} lists;

typedef struct list {
  const lists *of;
  enum place place;
  uint64_t at, key;
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  while (l->at < UNIVERSE && l->of->place[l->at] != l->place) l->at++;
  if (l->at == UNIVERSE) return BESOM_END;
  l->key = little_endian(key_u64(MEMBERS, l->at++));
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

static besom_status rewind_list(void *ctx) {
  ((list *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_source source_of(list *l) {
  return (besom_source){.next = next, .rewind = rewind_list, .ctx = l};
}

static besom_filter *build_in(const besom_allocator *allocator, const char *kind,
                              const char *options, const lists *now) {
  static const uint8_t seed[16] = "updates of lists";
  list yes = {.of = now, .place = YES}, no = {.of = now, .place = NO};
  besom_source from_yes = source_of(&yes), from_no = source_of(&no);
  besom_config config = {
      .kind = kind, .options = options, .fpr = 0.01, .seed = seed, .allocator = allocator};
  bool takes_no = strcmp(kind, "cascade") == 0;
  besom_input input = {.yes = &from_yes, .no = takes_no ? &from_no : NULL};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
  return f;
}

static besom_filter *build(const char *kind, const char *options, const lists *now) {
  return build_in(NULL, kind, options, now);
}

static besom_status update_with(const besom_filter *old, const lists *now, const lists *before,
                                uint64_t merge, const char *options, besom_filter **out) {
  list yes = {.of = now, .place = YES}, no = {.of = now, .place = NO};
  list was = {.of = before, .place = YES};
  besom_source from_yes = source_of(&yes), from_no = source_of(&no), from_was = source_of(&was);
  besom_input input = {.yes = &from_yes,
                       .no = &from_no,
                       .update = old,
                       .was = before ? &from_was : NULL,
                       .merge_updates = merge};
  return besom_build(&(besom_config){.options = options}, &input, out);
}

static besom_status update(const besom_filter *old, const lists *now, const lists *before,
                           uint64_t merge, besom_filter **out) {
  return update_with(old, now, before, merge, NULL, out);
}

static bool has(const besom_filter *f, uint64_t i) {
  return besom_contains_u64(f, key_u64(MEMBERS, i));
}

/* Also by contains_many, and for the keys that have just left the yes list. */
static void assert_exact(const besom_filter *f, const lists *now, const lists *before) {
  static besom_digest digests[UNIVERSE];
  static uint64_t bitmap[UNIVERSE / 64 + 1];
  for (uint64_t i = 0; i < UNIVERSE; i++) {
    digests[i] = besom_hash_u64(f, key_u64(MEMBERS, i));
    bool left = before && before->place[i] == YES && now->place[i] != YES;
    if (now->place[i] == YES) assert_true(has(f, i));
    if (now->place[i] == NO || left) assert_false(has(f, i));
  }
  assert_int_equal(besom_contains_many_digest(f, digests, UNIVERSE, bitmap), BESOM_OK);
  for (uint64_t i = 0; i < UNIVERSE; i++)
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, has(f, i));
}

static lists random_lists(uint64_t stream) {
  lists l;
  for (uint64_t i = 0; i < UNIVERSE; i++) {
    uint64_t x = key_u64(stream, i) % 8;
    l.place[i] = x < 4 ? YES : x < 6 ? NO : NOWHERE;
  }
  return l;
}

/* Moves about one key of `per` to a random list. */
static lists churn(const lists *from, uint64_t stream, uint64_t per) {
  lists l = *from, other = random_lists(stream);
  for (uint64_t i = 0; i < UNIVERSE; i++)
    if (key_u64(stream + 1, i) % per == 0) l.place[i] = other.place[i];
  return l;
}

static besom_filter *patched(const besom_filter *old, const besom_filter *fresh, size_t *size) {
  memory_sink patch;
  besom_filter *made = NULL;
  memory_sink_init(&patch);
  assert_int_equal(besom_diff(old, fresh, &patch.api), BESOM_OK);
  assert_int_equal(besom_patch(old, patch.data, patch.len, &made), BESOM_OK);
  *size = patch.len;
  memory_sink_close(&patch);
  return made;
}

static uint64_t updates_of(const besom_filter *f) {
  besom_counter counters[32];
  size_t n = besom_counters(f, counters, 32);
  for (size_t i = 0; i < n; i++)
    if (strcmp(counters[i].name, "updates") == 0) return counters[i].value;
  return 0;
}

/* Each update comes as a patch, as at a client. Churn from one key in 64 to every key. */
static void stay_exact(const char *kind, const char *options, bool closed) {
  lists now = random_lists(100), before;
  besom_filter *f = build(kind, options, &now), *fresh = NULL;
  size_t size;
  for (uint64_t i = 0; i < MAX_UPDATES; i++) {
    before = now;
    now = churn(&before, 200 + 2 * i, 64 >> i % 7);
    assert_int_equal(update_with(f, &now, &before, 0, closed ? "universe=closed" : NULL, &fresh),
                     BESOM_OK);
    besom_filter *made = patched(f, fresh, &size);
    assert_exact(made, &now, &before);
    assert_int_equal(updates_of(made), i + 1);
    assert_int_equal(besom_validate(made, NULL), BESOM_OK);
    besom_free(f);
    besom_free(fresh);
    f = made;
  }
  fresh = NULL;
  assert_int_equal(update(f, &now, NULL, 0, &fresh), BESOM_FULL);
  assert_int_equal(update(f, &now, NULL, MAX_UPDATES + 1, &fresh), BESOM_INVALID);
  assert_null(fresh);
  besom_free(f);
}

static void updates_of_a_cascade_are_exact(void **state) {
  (void)state;
  stay_exact("cascade", "base=ribbon", false);
  stay_exact("cascade", "base=fuse", false);
}

static void updates_of_a_closed_universe_are_exact(void **state) {
  (void)state;
  stay_exact("cascade", "base=ribbon,universe=closed", true);
  stay_exact("cascade", "base=ribbon,universe=closed", false);
}

static void updates_of_plain_filters_are_exact(void **state) {
  (void)state;
  stay_exact("ribbon", NULL, false);
  stay_exact("fuse", NULL, false);
}

static void merged_updates_are_exact(void **state) {
  (void)state;
  lists first = random_lists(300), now = first, all = first;
  besom_filter *f = build("cascade", "base=ribbon", &now), *fresh = NULL;
  for (uint64_t i = 0; i < 4; i++) {
    now = churn(&now, 400 + 2 * i, 16);
    for (uint64_t k = 0; k < UNIVERSE; k++)
      if (now.place[k] == YES) all.place[k] = YES;
    assert_int_equal(update(f, &now, &all, i / 2, &fresh), BESOM_OK);
    assert_exact(fresh, &now, &all);
    besom_free(f);
    f = fresh;
    fresh = NULL;
  }
  assert_int_equal(updates_of(f), 2);
  besom_free(f);
}

static void an_update_without_changes_adds_none(void **state) {
  (void)state;
  lists now = random_lists(500);
  besom_filter *f = build("cascade", "base=ribbon", &now), *fresh = NULL;
  assert_int_equal(update(f, &now, &now, 0, &fresh), BESOM_OK);
  assert_int_equal(updates_of(fresh), 0);
  assert_exact(fresh, &now, &now);
  besom_free(fresh);
  besom_free(f);
}

/* A report is of the lists as they were: an update carries none of them. */
static void an_update_carries_no_reports(void **state) {
  (void)state;
  lists now = random_lists(5), later = churn(&now, 6, 50);
  besom_filter *f = build("ribbon", NULL, &now), *fresh = NULL;
  uint64_t i = 0, key;
  do key = key_u64(NEGATIVES, i++);
  while (!besom_contains_u64(f, key));
  assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
  assert_false(besom_contains_u64(f, key));
  assert_int_equal(update(f, &later, &now, 0, &fresh), BESOM_OK);
  besom_counter counters[64];
  size_t n = besom_counters(fresh, counters, 64);
  for (size_t k = 0; k < n; k++)
    if (strcmp(counters[k].name, "exceptions") == 0) assert_int_equal(counters[k].value, 0);
  for (uint64_t k = 0; k < UNIVERSE; k++)
    if (later.place[k] == YES) assert_true(has(fresh, k));
  besom_free(fresh);
  besom_free(f);
}

static void a_patch_has_the_size_of_the_change(void **state) {
  (void)state;
  lists before = random_lists(600), now = churn(&before, 700, 100);
  besom_filter *f = build("cascade", "base=ribbon", &before), *fresh = NULL;
  size_t size;
  assert_int_equal(update(f, &now, &before, 0, &fresh), BESOM_OK);
  besom_free(patched(f, fresh, &size));
  assert_true(size < 700); /* 30 keys of the yes list, 15 of the no list */
  besom_free(fresh);
  besom_free(f);
}

/* FPR: every update adds a part of the base's. */
static void absent_keys_stay_rare(void **state) {
  (void)state;
  lists now = random_lists(800), before;
  besom_filter *f = build("cascade", "base=ribbon", &now), *fresh = NULL;
  for (uint64_t i = 0; i < MAX_UPDATES; i++) {
    before = now;
    now = churn(&before, 900 + 2 * i, 20);
    assert_int_equal(update(f, &now, &before, 0, &fresh), BESOM_OK);
    besom_free(f);
    f = fresh;
  }
  enum { SAMPLES = 100000 };
  uint64_t yes = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    yes += besom_contains(f, &key, sizeof key);
  }
  assert_true((double)yes / SAMPLES < 1.8 * 0.01);
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_true(stats.expected_fpr < 1.6 * 0.01);
  besom_free(f);
}

/* ------------------------------------------------------------------ the limits of a file */

typedef struct long_list {
  uint64_t stream, at, key;
} long_list;

enum { LONG = 1 << 20 };

static besom_status next_of_long(void *ctx, besom_bytes *key, uint64_t *weight) {
  long_list *l = ctx;
  (void)weight;
  if (l->at == LONG) return BESOM_END;
  l->key = little_endian(key_u64(l->stream, l->at++));
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

/* 34 Bloom filters: with 16 updates they are more layers than a file may have. */
static besom_filter *deep_cascade(void) {
  long_list yes = {.stream = MORE_MEMBERS}, no = {.stream = NEGATIVES};
  besom_source from_yes = {.next = next_of_long, .ctx = &yes};
  besom_source from_no = {.next = next_of_long, .ctx = &no};
  static const uint8_t seed[16] = {3}; /* of the first 24, the one with the most levels */
  besom_config config = {.kind = "cascade", .capacity = LONG, .fpr = 0.5, .seed = seed};
  besom_filter *f = NULL;
  besom_input input = {.yes = &from_yes, .no = &from_no};
  assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
  return f;
}

/* Every update that succeeds can be shipped; the first that could not be is FULL. */
static void an_update_that_no_file_could_hold_is_full(void **state) {
  (void)state;
  besom_filter *f = deep_cascade(), *fresh = NULL;
  lists now = random_lists(1900);
  besom_status status = BESOM_OK;
  uint64_t n = 0;
  size_t size;
  while ((status = update(f, &now, NULL, 0, &fresh)) == BESOM_OK) {
    besom_filter *made = patched(f, fresh, &size);
    assert_exact(made, &now, NULL);
    assert_int_equal(updates_of(made), ++n);
    besom_free(f);
    besom_free(fresh);
    f = made;
    fresh = NULL;
    now = churn(&now, 2000 + 2 * n, 50);
  }
  assert_int_equal(status, BESOM_FULL);
  assert_null(fresh);
  assert_int_equal(n, 14); /* 64 layers: the base, its 34 levels, and 2 per update are 63 */
  assert_int_equal(update(f, &now, NULL, 1, &fresh), BESOM_OK);
  besom_free(patched(f, fresh, &size));
  assert_exact(fresh, &now, NULL);
  besom_free(fresh);
  besom_free(f);
}

/* Whichever allocation fails, the old filter is as before, and nothing is lost. */
static void an_update_without_memory_changes_nothing(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  lists before = random_lists(1500), now = churn(&before, 1600, 10), later = churn(&now, 1700, 10);
  besom_filter *f = build_in(&memory.api, "cascade", "base=ribbon", &before), *once = NULL;
  assert_int_equal(update(f, &now, &before, 0, &once), BESOM_OK);
  besom_status status = BESOM_NO_MEMORY;
  for (uint64_t i = 1; status == BESOM_NO_MEMORY; i++) {
    besom_filter *twice = NULL;
    memory.calls = 0;
    memory.fail_at = i;
    status = update(once, &later, &now, 0, &twice);
    memory.fail_at = 0;
    if (status == BESOM_OK) assert_exact(twice, &later, &now);
    if (status != BESOM_OK) assert_null(twice);
    besom_free(twice);
  }
  assert_int_equal(status, BESOM_OK);
  assert_exact(once, &now, &before);
  besom_free(f);
  besom_free(once);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static besom_status fail_to_read(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  return l->at > UNIVERSE / 2 ? BESOM_IO : next(ctx, key, weight);
}

static void a_source_that_fails_ends_an_update(void **state) {
  (void)state;
  lists now = random_lists(1800);
  besom_filter *f = build("cascade", "base=ribbon", &now), *fresh = NULL;
  for (unsigned which = 0; which < 3; which++) {
    list yes = {.of = &now, .place = YES}, no = {.of = &now, .place = NO}, was = yes;
    besom_source sources[3] = {source_of(&yes), source_of(&no), source_of(&was)};
    sources[which].next = fail_to_read;
    besom_input input = {.yes = &sources[0], .no = &sources[1], .was = &sources[2], .update = f};
    assert_int_equal(besom_build(NULL, &input, &fresh), BESOM_IO);
    assert_null(fresh);
  }
  assert_exact(f, &now, NULL);
  besom_free(f);
}

/* ------------------------------------------------------------------ golden file */

#define GOLDEN BESOM_SOURCE_DIR "/tests/golden/updated-twice-v1.besom"

/* Two updates of a cascade. */
static besom_filter *make_golden(lists *now) {
  lists first = random_lists(1100), second = churn(&first, 1200, 50);
  besom_filter *f = build("cascade", "base=ribbon", &first), *once = NULL, *twice = NULL;
  assert_int_equal(update(f, &second, &first, 0, &once), BESOM_OK);
  *now = churn(&second, 1300, 50);
  assert_int_equal(update(once, now, &second, 0, &twice), BESOM_OK);
  besom_free(f);
  besom_free(once);
  return twice;
}

static void write_golden(void **state) {
  (void)state;
  lists now;
  besom_filter *f = make_golden(&now);
  assert_int_equal(besom_save_file(f, GOLDEN), BESOM_OK);
  besom_free(f);
}

/* Every later version loads it and answers alike, and makes the same bytes. */
static void the_golden_file_loads(void **state) {
  (void)state;
  lists now;
  besom_filter *made = make_golden(&now), *f = NULL;
  assert_int_equal(besom_open(GOLDEN, NULL, &f), BESOM_OK);
  assert_int_equal(updates_of(f), 2);
  assert_exact(f, &now, NULL);
  memory_sink saved, again;
  memory_sink_init(&saved);
  memory_sink_init(&again);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_save(made, &again.api), BESOM_OK);
  assert_int_equal(saved.len, again.len);
  assert_memory_equal(saved.data, again.data, saved.len);
  memory_sink_close(&saved);
  memory_sink_close(&again);
  besom_free(f);
  besom_free(made);
}

/* Mapped files have no memory of their own to change. */
static void a_mapped_filter_can_be_updated(void **state) {
  (void)state;
  lists now, next_lists;
  besom_filter *made = make_golden(&now), *f = NULL, *fresh = NULL;
  besom_free(made);
  besom_open_options options = {.flags = BESOM_OPEN_MMAP};
  assert_int_equal(besom_open(GOLDEN, &options, &f), BESOM_OK);
  assert_exact(f, &now, NULL);
  next_lists = churn(&now, 1400, 10);
  assert_int_equal(update(f, &next_lists, &now, 0, &fresh), BESOM_OK);
  besom_free(f);
  assert_exact(fresh, &next_lists, &now);
  besom_free(fresh);
}

/* The share of the base's rate that an update may add would be less than any filter has. */
static void a_list_of_the_lowest_rate_can_be_updated(void **state) {
  lists now = random_lists(1), next_lists = churn(&now, 2, 100);
  list yes = {.of = &now, .place = YES};
  besom_source from_yes = source_of(&yes);
  besom_config config = {.kind = "updated", .fpr = 1e-9};
  besom_filter *f = NULL, *fresh = NULL;
  (void)state;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &from_yes}, &f), BESOM_OK);
  assert_int_equal(update(f, &next_lists, &now, 0, &fresh), BESOM_OK);
  assert_exact(fresh, &next_lists, &now);
  besom_free(f);
  besom_free(fresh);
}

static void wrong_input_is_refused(void **state) {
  (void)state;
  lists now = random_lists(1000);
  besom_config config = {.kind = "aqf", .capacity = 10};
  besom_filter *aqf, *fresh = NULL, *f = build("ribbon", NULL, &now);
  assert_int_equal(besom_create(&config, &aqf), BESOM_OK);
  assert_int_equal(update(aqf, &now, &now, 0, &fresh), BESOM_UNSUPPORTED);
  list yes = {.of = &now, .place = YES}, no = yes;
  besom_source from_yes = source_of(&yes), from_no = source_of(&no);
  besom_input both = {.yes = &from_yes, .no = &from_no, .update = f};
  assert_int_equal(besom_build(NULL, &both, &fresh), BESOM_IS_MEMBER);
  assert_int_equal(update_with(f, &now, &now, 0, "universe=flat", &fresh), BESOM_BAD_OPTION);
  besom_input was_only = {.yes = &from_yes, .was = &from_no};
  assert_int_equal(besom_build(&config, &was_only, &fresh), BESOM_INVALID);
  assert_null(fresh);
  besom_free(f);
  besom_free(aqf);
}

int main(int argc, char **argv) {
  const struct CMUnitTest golden[] = {cmocka_unit_test(write_golden)};
  if (argc > 1 && strcmp(argv[1], "--write-golden") == 0)
    return cmocka_run_group_tests(golden, NULL, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(updates_of_a_cascade_are_exact),
      cmocka_unit_test(updates_of_a_closed_universe_are_exact),
      cmocka_unit_test(updates_of_plain_filters_are_exact),
      cmocka_unit_test(merged_updates_are_exact),
      cmocka_unit_test(an_update_without_changes_adds_none),
      cmocka_unit_test(an_update_carries_no_reports),
      cmocka_unit_test(a_patch_has_the_size_of_the_change),
      cmocka_unit_test(absent_keys_stay_rare),
      cmocka_unit_test(an_update_that_no_file_could_hold_is_full),
      cmocka_unit_test(an_update_without_memory_changes_nothing),
      cmocka_unit_test(a_source_that_fails_ends_an_update),
      cmocka_unit_test(the_golden_file_loads),
      cmocka_unit_test(a_mapped_filter_can_be_updated),
      cmocka_unit_test(a_list_of_the_lowest_rate_can_be_updated),
      cmocka_unit_test(wrong_input_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
