/* Reports of every kind: what calls say about a reported key, which files have it, its memory. */
#include <stdio.h>
#include <stdlib.h>

#include "filters.h"
#include "support/temp_files.h"

enum { N = 1000, WRONG = 30 };

/* A filter, and false positives of it that were reported. */
typedef struct reported {
  besom_filter *f;
  uint64_t *members, *wrong;
} reported;

static reported reported_new(const subject *s) {
  besom_config config = config_of(s, N, 1.0 / 16);
  reported x = {.members = keys_u64(MEMBERS, N)};
  x.f = make_of_u64(s, &config, x.members, N);
  x.wrong = false_positives_of(x.f, WRONG);
  for (size_t i = 0; i < WRONG; i++) assert_status(BESOM_OK, besom_adapt_u64(x.f, x.wrong[i]));
  assert_int_equal(count_yes(x.f, x.wrong, WRONG), 0);
  return x;
}

static void reported_free(reported *x) {
  besom_free(x->f);
  free(x->members);
  free(x->wrong);
}

/* remove, count, get_value and matches treat a reported key as absent. */
static void a_reported_key_is_absent_for_every_call(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  memory_sink before;
  save_to(&before, x.f);
  for (size_t i = 0; i < WRONG; i++) {
    uint64_t key = x.wrong[i], n = 1;
    besom_digest d = besom_hash_u64(x.f, key);
    besom_match match;
    size_t total = 1;
    assert_false(besom_contains(x.f, &key, sizeof key));
    assert_false(besom_contains_digest(x.f, d));
    if (can(s, BESOM_CAN_COUNT)) {
      assert_status(BESOM_OK, besom_count_u64(x.f, key, &n));
      assert_int_equal(n, 0);
    }
    besom_status removed = besom_remove_u64(x.f, key);
    if (removed != BESOM_UNSUPPORTED) assert_status(BESOM_NOT_FOUND, removed);
    assert_true(besom_get_value(x.f, &key, sizeof key, &n) != BESOM_OK);
    if (!can(s, BESOM_CAN_MATCH)) continue;
    assert_status(BESOM_OK, besom_matches(x.f, d, &match, 1, &total));
    assert_int_equal(total, 0);
  }
  assert_bytes(x.f, &before);
  assert_holds_u64(x.f, x.members, N);
  reported_free(&x);
}

/* A mapped filter takes reports in memory; the file does not change, and save writes them. */
static void a_mapped_filter_takes_reports(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, N, 1.0 / 16), *copy = NULL, *mapped = NULL;
  uint64_t *wrong = false_positives_of(f, WRONG);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "f.besom"), again = temp_dir_file(&dir, "g.besom");
  assert_status(BESOM_OK, besom_save_file(f, path.text));
  assert_status(BESOM_OK, open_file(path.text, BESOM_OPEN_MMAP, &mapped));
  assert_true(besom_abilities(mapped) & BESOM_STORES_EXCEPTIONS);
  for (size_t i = 0; i < WRONG; i++) {
    assert_status(BESOM_OK, besom_adapt_u64(f, wrong[i]));
    assert_status(BESOM_OK, besom_adapt_u64(mapped, wrong[i]));
  }
  assert_int_equal(count_yes(mapped, wrong, WRONG), 0);
  assert_status(BESOM_OK, besom_save_file(mapped, again.text));
  assert_same_bytes(mapped, f);
  besom_free(mapped);
  assert_status(BESOM_OK, besom_open(path.text, NULL, &copy));
  assert_int_equal(count_yes(copy, wrong, WRONG), WRONG);
  replace_filter(&copy, NULL);
  assert_status(BESOM_OK, besom_open(again.text, NULL, &copy));
  assert_int_equal(count_yes(copy, wrong, WRONG), 0);
  assert_same_bytes(copy, f);
  besom_free(copy);
  besom_free(f);
  free(wrong);
  temp_dir_remove(&dir);
}

/* An insert that fails leaves the exception. */
static void a_failed_insert_leaves_the_exception(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < 10 * N && status == BESOM_OK; i++)
    status = besom_insert_u64(x.f, key_u64(MORE_MEMBERS, i));
  size_t refused = 0;
  for (size_t i = 0; i < WRONG && status == BESOM_FULL; i++) {
    bool before = besom_contains_u64(x.f, x.wrong[i]);
    if (besom_insert_u64(x.f, x.wrong[i]) == BESOM_OK) continue;
    assert_int_equal(besom_contains_u64(x.f, x.wrong[i]), before);
    refused += !before;
  }
  assert_true(refused > 0 || !can(s, BESOM_CAN_COUNT)); /* others need no room for a match */
  reported_free(&x);
}

/* Of a batch that fails, the keys behind *done keep their exceptions; those before are members. */
static void a_failed_batch_leaves_the_exceptions_behind_done(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  besom_status status = BESOM_OK;
  bool before[WRONG];
  size_t done = 0;
  for (uint64_t i = 0; i < 10 * N && status == BESOM_OK; i++)
    status = besom_insert_u64(x.f, key_u64(MORE_MEMBERS, i));
  for (size_t i = 0; i < WRONG; i++) before[i] = besom_contains_u64(x.f, x.wrong[i]);
  status = besom_insert_many_u64(x.f, x.wrong, WRONG, &done);
  assert_int_equal(status == BESOM_OK, done == WRONG);
  for (size_t i = 0; i < WRONG; i++)
    assert_int_equal(besom_contains_u64(x.f, x.wrong[i]), i < done || before[i]);
  reported_free(&x);
}

/* A patch for the reported filter's bytes is made of them; a filter with other reports differs. */
static void a_patch_gives_the_exceptions_of_the_new_filter(void **state) {
  const subject *s = subject_of(state);
  besom_filter *plain = make_of_members(s, N, 1.0 / 16), *made = NULL;
  reported x = reported_new(s);
  memory_sink patch;
  memory_sink_init(&patch);
  assert_status(BESOM_OK, besom_diff(plain, x.f, &patch.api));
  assert_status(BESOM_OK, besom_patch(plain, patch.data, patch.len, &made));
  assert_same_bytes(made, x.f);
  replace_filter(&made, NULL);
  assert_status(BESOM_INCOMPATIBLE, besom_patch(x.f, patch.data, patch.len, &made));
  memory_sink_close(&patch);
  memory_sink_init(&patch);
  assert_status(BESOM_OK, besom_diff(x.f, plain, &patch.api));
  assert_status(BESOM_OK, besom_patch(x.f, patch.data, patch.len, &made));
  assert_int_equal(count_yes(made, x.wrong, WRONG), WRONG);
  memory_sink_close(&patch);
  besom_free(made);
  besom_free(plain);
  reported_free(&x);
}

/* A filter built like another one has its limits, and none of its exceptions. */
static void a_filter_built_like_another_has_no_exceptions(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  assert_status(BESOM_OK, besom_set_reserve(x.f, 77, true));
  array_source source;
  source_of_u64(&source, x.members, N);
  besom_filter *like = NULL;
  besom_status status = besom_build(NULL, &(besom_input){.yes = &source.api, .like = x.f}, &like);
  if (status == BESOM_UNSUPPORTED) {
    reported_free(&x);
    skip();
  }
  assert_status(BESOM_OK, status);
  assert_int_equal(counter_of(like, "exceptions"), 0);
  assert_int_equal(counter_of(like, "exception_limit"), 77);
  assert_true(besom_abilities(like) & BESOM_FORGETS);
  besom_free(like);
  reported_free(&x);
}

/* n exceptions take no more than so many bytes, with whole digests or short. */
static void assert_bytes_of(const subject *s, const char *options, uint64_t n, double most) {
  char text[128];
  snprintf(text, sizeof text, "%s%s%s", s->options ? s->options : "", s->options ? "," : "",
           options);
  besom_config config = config_of(s, 10, 0);
  config.options = text;
  config.no_capacity = n;
  uint64_t key = key_u64(MEMBERS, 0);
  besom_filter *f = make_of_u64(s, &config, &key, 1);
  uint64_t empty = stats_of(f).bytes;
  for (uint64_t i = 0; i < n; i++) assert_status(BESOM_OK, no_add_u64(f, key_u64(NEGATIVES, i)));
  double bytes = (double)(stats_of(f).bytes - empty);
  if (bytes > most) fail_msg("%s, %g exceptions: %g bytes", options, (double)n, bytes);
  besom_free(f);
}

static void exceptions_take_little_memory(void **state) {
  const subject *s = subject_of(state);
  assert_bytes_of(s, "exceptions=short", 1, 200);
  assert_bytes_of(s, "exceptions=short", 7, 200);
  assert_bytes_of(s, "exceptions=short", 1000, 14 * 1000);
  assert_bytes_of(s, "exceptions=short", 100000, 110 * 100000 / 8);
  assert_bytes_of(s, "exceptions=full", 1000, 17.1 * 1000);
  assert_bytes_of(s, "exceptions=full", 100000, 132 * 100000 / 8);
}

/* A key that has the same fingerprint as a reported one, but another digest, is not denied. */
static void an_exception_denies_one_key(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  for (size_t i = 0; i < WRONG; i++) {
    besom_digest d = besom_hash_u64(x.f, x.wrong[i]), other = {d.hi, d.lo ^ UINT64_C(1) << 62};
    assert_false(besom_contains_digest(x.f, d));
    assert_true(besom_contains_digest(x.f, other)); /* the first 64 bits have the fingerprint */
  }
  reported_free(&x);
}

/* Flipped bits at the end of the file, where the exceptions are. */
static void damaged_exceptions_are_refused(void **state) {
  const subject *s = subject_of(state);
  reported x = reported_new(s);
  memory_sink saved;
  save_to(&saved, x.f);
  random_stream random = {3};
  size_t from = saved.len > 1200 ? saved.len - 1200 : 0;
  for (size_t i = 0; i < 3000; i++) {
    size_t at = from + (size_t)random_below(&random, saved.len - from);
    uint8_t flip = (uint8_t)(1u << random_below(&random, 8));
    besom_filter *f = NULL;
    saved.data[at] ^= flip;
    assert_true(besom_load(saved.data, saved.len, NULL, &f) != BESOM_OK);
    saved.data[at] ^= flip;
  }
  memory_sink_close(&saved);
  reported_free(&x);
}

#define EXCEPTS BESOM_STORES_EXCEPTIONS

const law report_laws[] = {
    LAW(a_reported_key_is_absent_for_every_call, EVERY_SUBJECT, EXCEPTS | CAN_BUILD),
    LAW(a_mapped_filter_takes_reports, EVERY_SUBJECT, EXCEPTS),
    LAW_UNLESS(a_failed_insert_leaves_the_exception, EVERY_KIND,
               EXCEPTS | CAN_BUILD | BESOM_CAN_INSERT, BESOM_CAN_SCALE),
    LAW_UNLESS(a_failed_batch_leaves_the_exceptions_behind_done, EVERY_KIND,
               EXCEPTS | CAN_BUILD | BESOM_CAN_INSERT, BESOM_CAN_SCALE),
    LAW(a_patch_gives_the_exceptions_of_the_new_filter, EVERY_SUBJECT, EXCEPTS | CAN_BUILD),
    LAW(a_filter_built_like_another_has_no_exceptions, EVERY_KIND, EXCEPTS | CAN_BUILD),
    LAW(exceptions_take_little_memory, EVERY_KIND, EXCEPTS | CAN_BUILD),
    LAW_UNLESS(an_exception_denies_one_key, EVERY_KIND,
               EXCEPTS | CAN_BUILD | BESOM_CAN_COUNT | BESOM_CAN_RESIZE, BESOM_CAN_SCALE),
    LAW(damaged_exceptions_are_refused, EVERY_KIND, EXCEPTS | CAN_BUILD),
    {0},
};
