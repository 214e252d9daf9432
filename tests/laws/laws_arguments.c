/* NULL and invalid arguments of all public functions: a status, not a crash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "besom_plan.h"
#include "besom_store.h"
#include "filters.h"

/* ------------------------------------------------------------------ the library */

static void every_status_has_a_message(void **state) {
  (void)state;
  for (int i = -3; i < 100; i++) {
    const char *sentence = besom_strerror((besom_status)i);
    assert_non_null(sentence);
    assert_true(strlen(sentence) > 1 && sentence[strlen(sentence) - 1] != '.');
  }
  for (int i = 0; i <= BESOM_NO_CHECKPOINT; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(besom_strerror((besom_status)i), besom_strerror((besom_status)k));
}

static void the_version_is_that_of_the_header(void **state) {
  (void)state;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", BESOM_VERSION_MAJOR, BESOM_VERSION_MINOR,
           BESOM_VERSION_PATCH);
  assert_string_equal(besom_version(), version);
}

static void kinds_have_distinct_names(void **state) {
  (void)state;
  size_t n = 0;
  for (; besom_kinds(n); n++) {
    assert_true(strlen(besom_kinds(n)->name) > 0);
    assert_true(strlen(besom_kinds(n)->summary) > 0);
    for (size_t k = 0; k < n; k++)
      assert_string_not_equal(besom_kinds(n)->name, besom_kinds(k)->name);
  }
  assert_true(n > 0);
  assert_null(besom_kinds(n));
  assert_null(besom_kinds(SIZE_MAX));
}

/* NULL excludes no key. */
static void a_null_filter_answers_yes(void **state) {
  (void)state;
  uint64_t keys[3] = {1, 2, 3}, bitmap[1] = {0};
  besom_digest digests[3] = {{0, 0}};
  besom_bytes strings[3] = {{"a", 1}, {"b", 1}, {"", 0}};
  assert_true(besom_contains(NULL, "a", 1));
  assert_true(besom_contains_u64(NULL, 1));
  assert_true(besom_contains_digest(NULL, digests[0]));
  besom_contains_many(NULL, strings, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  bitmap[0] = 0;
  besom_contains_many_u64(NULL, keys, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  bitmap[0] = 0;
  besom_contains_many_digest(NULL, digests, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  assert_int_equal(besom_hash(NULL, "a", 1).hi, 0);
  assert_int_equal(besom_hash(NULL, "a", 1).lo, 0);
  assert_int_equal(besom_hash_u64(NULL, 1).hi, 0);
  besom_prefetch_digest(NULL, digests[0]);
  besom_prefetch_u64(NULL, 1);
}

/* Functions that change a filter, or read more than an answer, with NULL. */
static void a_null_filter_is_invalid(void **state) {
  (void)state;
  besom_digest digest = {1, 2};
  besom_bytes string = {"a", 1};
  uint64_t n = 0, key = 1;
  size_t done = 9;
  assert_status(BESOM_INVALID, besom_insert(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_insert_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_insert_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_insert_many(NULL, &string, 1, &done));
  assert_status(BESOM_INVALID, besom_insert_many_u64(NULL, &key, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_many_digest(NULL, &digest, 1, &done));
  assert_status(BESOM_INVALID, besom_insert_count(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_remove(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_remove_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_remove_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_count(NULL, "a", 1, &n));
  assert_status(BESOM_INVALID, besom_count_u64(NULL, 1, &n));
  assert_status(BESOM_INVALID, besom_get_value(NULL, "a", 1, &n));
  assert_status(BESOM_INVALID, besom_set_value(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_adapt(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_adapt_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_adapt_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_no_add(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_no_remove(NULL, "a", 1));
  besom_free(NULL);
}

static besom_status write_nowhere(void *ctx, const void *data, size_t len) {
  (void)ctx, (void)data, (void)len;
  return BESOM_OK;
}

/* Whole filters. The laws of tasks have besom_resize, besom_rekey and besom_task_step. */
static void a_null_filter_is_neither_described_nor_saved(void **state) {
  (void)state;
  besom_filter *out = NULL;
  besom_statistics stats;
  besom_counter counter;
  const char *reason;
  besom_sink sink = {.write = write_nowhere};
  assert_status(BESOM_INVALID, besom_create_like(NULL, &out));
  assert_status(BESOM_INVALID, besom_share(NULL));
  assert_status(BESOM_INVALID, besom_merge(NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_stats(NULL, &stats));
  assert_int_equal(besom_counters(NULL, &counter, 1), 0);
  assert_int_equal(besom_counters(NULL, NULL, 0), 0);
  assert_null(besom_layer(NULL, 0));
  assert_int_equal(besom_abilities(NULL), 0);
  assert_status(BESOM_INVALID, besom_validate(NULL, &reason));
  assert_status(BESOM_INVALID, besom_validate(NULL, NULL));
  assert_status(BESOM_INVALID, besom_save(NULL, &sink));
  assert_status(BESOM_INVALID, besom_save_file(NULL, "/nowhere"));
  assert_status(BESOM_INVALID, besom_diff(NULL, NULL, &sink));
  assert_status(BESOM_INVALID, besom_patch(NULL, "abc", 3, &out));
  assert_null(out);
}

static void a_null_filter_has_no_matches(void **state) {
  (void)state;
  besom_digest digest = {1, 2};
  besom_match match = {0, 0};
  besom_entry entry;
  besom_iter iter = {.filter = NULL};
  size_t total = 0;
  assert_status(BESOM_INVALID, besom_bind(NULL, NULL));
  assert_status(BESOM_INVALID, besom_bind_source(NULL, NULL));
  assert_status(BESOM_INVALID, besom_matches(NULL, digest, &match, 1, &total));
  assert_status(BESOM_INVALID, besom_insert_at(NULL, digest, 0, &match));
  assert_status(BESOM_INVALID, besom_remove_at(NULL, &match));
  assert_status(BESOM_INVALID, besom_adapt_at(NULL, digest, &match, digest));
  assert_status(BESOM_INVALID, besom_no_add_at(NULL, digest, &match));
  assert_status(BESOM_INVALID, besom_no_matches(NULL, digest, &match, 1, &total));
  assert_status(BESOM_INVALID, besom_no_remove_at(NULL, &match));
  assert_status(BESOM_INVALID, besom_iter_next(NULL, &entry));
  assert_status(BESOM_INVALID, besom_iter_next(&iter, &entry));
}

static void nothing_is_loaded_from_nothing(void **state) {
  (void)state;
  besom_filter *out = NULL;
  besom_fault fault = {0};
  assert_status(BESOM_INVALID, besom_load(NULL, 100, NULL, &out));
  assert_status(BESOM_CORRUPT, besom_load("", 0, NULL, &out));
  assert_status(BESOM_INVALID, besom_open(NULL, NULL, &out));
  assert_status(BESOM_INVALID, open_file(NULL, BESOM_OPEN_MMAP, &out));
  besom_open_options unknown = {.flags = BESOM_OPEN_MMAP | 1u << 20, .fault = &fault};
  assert_status(BESOM_INVALID, besom_open("/nowhere", &unknown, &out));
  assert_null(fault.what);
  assert_null(out);
}

/* ------------------------------------------------------------------ guards, stores, workloads */

static besom_status visit_nothing(void *ctx, besom_bytes key, besom_bytes value) {
  (void)ctx, (void)key, (void)value;
  return BESOM_OK;
}

static void a_null_guard_is_invalid(void **state) {
  (void)state;
  besom_guard_statistics stats;
  besom_offender offender;
  besom_bytes value = {0}, none = {0};
  bool finished;
  size_t n;
  assert_status(BESOM_INVALID, besom_guard_put(NULL, "a", 1, "b", 1, 0));
  assert_status(BESOM_INVALID, besom_guard_put_u64(NULL, 1, "b", 1, BESOM_PUT_NEW));
  assert_status(BESOM_INVALID, besom_guard_get(NULL, "a", 1, &value));
  assert_status(BESOM_INVALID, besom_guard_get_u64(NULL, 1, NULL));
  assert_status(BESOM_INVALID, besom_guard_delete(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_guard_delete_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_guard_scan(NULL, none, none, visit_nothing, NULL));
  assert_status(BESOM_INVALID, besom_guard_begin(NULL));
  assert_status(BESOM_INVALID, besom_guard_commit(NULL));
  assert_status(BESOM_INVALID, besom_guard_abort(NULL));
  assert_status(BESOM_INVALID, besom_guard_sync(NULL));
  assert_status(BESOM_INVALID, besom_guard_rekey(NULL));
  assert_status(BESOM_INVALID, besom_guard_step(NULL, 1, &finished));
  assert_status(BESOM_INVALID, besom_guard_merge(NULL, NULL));
  assert_status(BESOM_INVALID, besom_guard_stats(NULL, &stats));
  assert_status(BESOM_INVALID, besom_guard_offenders(NULL, &offender, 1, &n));
  assert_null(besom_guard_filter(NULL));
  besom_guard_release(NULL, NULL);
  assert_status(BESOM_OK, besom_guard_close(NULL));
}

static besom_guard *open_guard(const besom_config *filter) {
  besom_guard_config config = {.filter = filter};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_status(BESOM_OK, besom_store_memory(NULL, &store));
  assert_status(BESOM_OK, besom_guard_open(&config, store, &g));
  return g;
}

static void a_guard_checks_its_arguments(void **state) {
  (void)state;
  besom_config filter = {.kind = "aqf", .capacity = 100};
  besom_guard *g = open_guard(&filter);
  besom_bytes none = {0};
  size_t n;
  assert_status(BESOM_INVALID, besom_guard_put(g, NULL, 5, "b", 1, 0));
  assert_status(BESOM_INVALID, besom_guard_put(g, "a", 1, NULL, 1, 0));
  assert_status(BESOM_INVALID, besom_guard_put(g, "a", 1, "b", 1, 1u << 20));
  assert_status(BESOM_INVALID, besom_guard_put(g, "a", BESOM_GUARD_MAX_KEY + 1, "b", 1, 0));
  assert_status(BESOM_INVALID, besom_guard_get(g, NULL, 5, NULL));
  assert_status(BESOM_INVALID, besom_guard_delete(g, NULL, 5));
  assert_status(BESOM_INVALID, besom_guard_scan(g, none, none, NULL, NULL));
  assert_status(BESOM_INVALID, besom_guard_step(g, 0, NULL));
  assert_status(BESOM_INVALID, besom_guard_merge(g, NULL));
  assert_status(BESOM_INVALID, besom_guard_merge(NULL, g));
  assert_status(BESOM_INVALID, besom_guard_commit(g));
  assert_status(BESOM_INVALID, besom_guard_abort(g));
  assert_status(BESOM_INVALID, besom_guard_stats(g, NULL));
  assert_status(BESOM_INVALID, besom_guard_offenders(g, NULL, 1, &n));
  assert_status(BESOM_INVALID, besom_guard_offenders(g, NULL, 0, NULL));
  besom_guard_release(g, NULL);
  assert_status(BESOM_OK, besom_guard_close(g));
}

/* If the guard is not opened the store still belongs to the caller. */
static void a_guard_needs_a_filter_and_a_store(void **state) {
  (void)state;
  besom_config filter = {.kind = "aqf", .capacity = 100};
  besom_guard_config good = {.filter = &filter};
  besom_guard_config bad[] = {{.filter = NULL},
                              {.filter = &filter, .adapt = (besom_adapt_policy)3},
                              {.filter = &filter, .layout = (besom_layout)2},
                              {.filter = &filter, .durability = (besom_durability)3},
                              {.filter = &filter, .grow_at = -1},
                              {.filter = &filter, .rekey_at = -1}};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_status(BESOM_INVALID, besom_store_memory(NULL, NULL));
  assert_status(BESOM_INVALID, besom_store_memory(&(besom_allocator){0}, &store));
  assert_status(BESOM_INVALID, besom_store_ordered(NULL, NULL, NULL, &store));
  assert_non_null(besom_default_allocator());
  assert_status(BESOM_OK, besom_store_memory(NULL, &store));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_status(BESOM_INVALID, besom_guard_open(&bad[i], store, &g));
  assert_status(BESOM_INVALID, besom_guard_open(NULL, store, &g));
  assert_status(BESOM_INVALID, besom_guard_open(&good, NULL, &g));
  assert_status(BESOM_INVALID, besom_guard_open(&good, store, NULL));
  assert_null(g);
  besom_store_close(store);
}

static void a_workload_checks_its_arguments(void **state) {
  (void)state;
  besom_workload *w = NULL;
  besom_workload_statistics stats;
  besom_stack_plan plan;
  besom_config config = {.kind = "stacked", .bits_per_key = 10};
  assert_status(BESOM_INVALID, besom_workload_create(0, NULL, NULL));
  assert_status(BESOM_INVALID, besom_workload_create(4095, NULL, &w));
  assert_status(BESOM_INVALID, besom_workload_create(0, &(besom_allocator){0}, &w));
  assert_status(BESOM_INVALID, besom_workload_add(NULL, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_workload_stats(NULL, &stats));
  assert_status(BESOM_INVALID, besom_plan(&config, 10, NULL, NULL, &plan));
  besom_workload_free(NULL);
  assert_status(BESOM_OK, besom_workload_create(0, NULL, &w));
  assert_status(BESOM_INVALID, besom_workload_add(w, NULL, 5, 1));
  assert_status(BESOM_INVALID, besom_workload_add(w, "a", 1, 0));
  assert_status(BESOM_INVALID, besom_workload_add(w, "a", 1, UINT64_C(1) << 62));
  assert_status(BESOM_OK, besom_workload_add(w, "a", 1, 1));
  assert_status(BESOM_INVALID, besom_workload_stats(w, NULL));
  assert_status(BESOM_INVALID, besom_plan(NULL, 10, w, NULL, &plan));
  assert_status(BESOM_INVALID, besom_plan(&config, 0, w, NULL, &plan));
  assert_status(BESOM_INVALID, besom_plan(&config, 10, w, NULL, NULL));
  besom_plan_limits bad = {.layers = BESOM_PLAN_LAYERS + 2};
  assert_status(BESOM_INVALID, besom_plan(&config, 10, w, &bad, &plan));
  besom_workload_free(w);
}

/* A source of no workload fails when it is read. */
static void the_source_of_no_workload_is_invalid(void **state) {
  (void)state;
  besom_source source = besom_workload_source(NULL);
  besom_bytes key;
  uint64_t weight = 1;
  assert_true(!source.next || source.next(source.ctx, &key, &weight) != BESOM_OK);
}

/* ------------------------------------------------------------------ each kind */

static besom_status no_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  (void)ctx, (void)out, (void)cap, (void)n;
  return BESOM_END;
}

static void an_input_has_one_source_of_members(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0), *out = NULL;
  besom_config config = config_of(s, 10, 0);
  uint64_t key = 1;
  array_source yes;
  source_of_u64(&yes, &key, 1);
  const besom_source hollow = {.next = NULL};
  const besom_digest_source digests = {.next = no_digests}, hollow_digests = {.next = NULL};
  const besom_input bad[] = {{0},
                             {.like = f},
                             {.no = &yes.api},
                             {.yes = &hollow},
                             {.yes = &hollow, .like = f},
                             {.yes = &yes.api, .no = &hollow},
                             {.digests = &hollow_digests},
                             {.digests = &digests, .yes = &yes.api},
                             {.digests = &digests, .no = &yes.api},
                             {.digests = &digests, .like = f, .update = f}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_status(BESOM_INVALID, besom_build(&config, &bad[i], &out));
  const besom_input good = {.yes = &yes.api};
  assert_status(BESOM_INVALID, besom_build(&config, NULL, &out));
  assert_status(BESOM_INVALID, besom_build(NULL, &good, &out));
  assert_status(BESOM_INVALID, besom_build(&config, &good, NULL));
  assert_int_equal(yes.calls, 0);
  assert_null(out);
  besom_free(f);
}

static void missing_pointers_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0), *out = NULL;
  besom_config config = config_of(s, 10, 0);
  besom_sink no_write = {.write = NULL};
  uint64_t key = 1, bitmap[1] = {0};
  besom_bytes bad = {NULL, 5};
  assert_status(BESOM_INVALID, besom_create(&config, NULL));
  assert_status(BESOM_INVALID, besom_create_like(f, NULL));
  assert_status(BESOM_INVALID, besom_contains_many(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many(f, &bad, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many_u64(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many_u64(f, &key, 1, NULL));
  assert_status(BESOM_INVALID, besom_contains_many_digest(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_stats(f, NULL));
  assert_int_equal(besom_counters(f, NULL, 1), 0);
  assert_status(BESOM_OK, besom_validate(f, NULL));
  assert_status(BESOM_INVALID, besom_merge(f, NULL, &out));
  assert_status(BESOM_INVALID, besom_merge(NULL, f, &out));
  assert_status(BESOM_INVALID, besom_merge(f, f, NULL));
  assert_status(BESOM_INVALID, besom_iter_next(&(besom_iter){.filter = f}, NULL));
  assert_status(BESOM_INVALID, besom_save(f, NULL));
  assert_status(BESOM_INVALID, besom_save(f, &no_write));
  assert_status(BESOM_INVALID, besom_save_file(f, NULL));
  assert_status(BESOM_INVALID, besom_load("x", 1, NULL, NULL));
  assert_status(BESOM_INVALID, besom_open("x", NULL, NULL));
  assert_status(BESOM_INVALID, open_file("x", BESOM_OPEN_MMAP, NULL));
  assert_status(BESOM_INVALID, besom_patch(f, "abc", 3, NULL));
  assert_null(out);
  besom_free(f);
}

static void missing_keys_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0);
  unsigned abilities = besom_abilities(f);
  besom_bytes bad[2] = {{"good", 4}, {NULL, 5}};
  uint64_t n = 0;
  besom_hash(f, NULL, 5);
  besom_contains(f, NULL, 5); /* any answer is correct */
  if (abilities & BESOM_CAN_INSERT) {
    assert_status(BESOM_INVALID, besom_insert(f, NULL, 5));
    assert_status(BESOM_INVALID, besom_insert_many(f, NULL, 1, NULL));
    assert_status(BESOM_INVALID, besom_insert_many(f, bad, 2, NULL));
    assert_status(BESOM_INVALID, besom_insert_many_u64(f, NULL, 1, NULL));
    assert_status(BESOM_INVALID, besom_insert_many_digest(f, NULL, 1, NULL));
    assert_status(BESOM_OK, besom_insert_many(f, NULL, 0, NULL)); /* no keys: no error */
  }
  if (abilities & BESOM_CAN_REMOVE) assert_status(BESOM_INVALID, besom_remove(f, NULL, 5));
  if (abilities & BESOM_CAN_ADAPT) assert_status(BESOM_INVALID, besom_adapt(f, NULL, 5));
  if (abilities & BESOM_CAN_COUNT) {
    assert_status(BESOM_INVALID, besom_count(f, NULL, 5, &n));
    assert_status(BESOM_INVALID, besom_count(f, "a", 1, NULL));
    assert_status(BESOM_INVALID, besom_count_u64(f, 1, NULL));
  }
  if (can(s, BESOM_CAN_COUNT | BESOM_CAN_MATCH)) {
    assert_status(BESOM_INVALID, besom_insert_count(f, NULL, 5, 1));
    assert_status(BESOM_INVALID, besom_insert_count(f, "a", 1, 0));
  }
  if (abilities & BESOM_CAN_VALUE) {
    assert_status(BESOM_INVALID, besom_get_value(f, NULL, 5, &n));
    assert_status(BESOM_INVALID, besom_get_value(f, "a", 1, NULL));
    assert_status(BESOM_INVALID, besom_set_value(f, NULL, 5, 0));
  }
  if (abilities & BESOM_CAN_NO_LIST) {
    assert_status(BESOM_INVALID, besom_no_add(f, NULL, 5));
    assert_status(BESOM_INVALID, besom_no_remove(f, NULL, 5));
  }
  besom_free(f);
}

static void missing_matches_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0);
  besom_digest d = {1, 2};
  besom_match match;
  size_t total;
  assert_status(BESOM_INVALID, besom_bind(f, &(besom_reverse){.digest_of = NULL}));
  assert_status(BESOM_INVALID, besom_matches(f, d, NULL, 1, &total));
  assert_status(BESOM_INVALID, besom_matches(f, d, &match, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_at(f, d, 0, NULL));
  assert_status(BESOM_INVALID, besom_remove_at(f, NULL));
  if (!can(s, BESOM_CAN_NO_LIST_AT)) assert_status(BESOM_INVALID, besom_adapt_at(f, d, NULL, d));
  if (can(s, BESOM_CAN_NO_LIST_AT)) {
    assert_status(BESOM_INVALID, besom_no_add_at(f, d, NULL));
    assert_status(BESOM_INVALID, besom_no_matches(f, d, NULL, 1, &total));
    assert_status(BESOM_INVALID, besom_no_matches(f, d, &match, 1, NULL));
    assert_status(BESOM_INVALID, besom_no_remove_at(f, NULL));
  }
  besom_free(f);
}

const law argument_laws[] = {
    LAW(every_status_has_a_message, THE_LIBRARY, 0),
    LAW(the_version_is_that_of_the_header, THE_LIBRARY, 0),
    LAW(kinds_have_distinct_names, THE_LIBRARY, 0),
    LAW(a_null_filter_answers_yes, THE_LIBRARY, 0),
    LAW(a_null_filter_is_invalid, THE_LIBRARY, 0),
    LAW(a_null_filter_is_neither_described_nor_saved, THE_LIBRARY, 0),
    LAW(a_null_filter_has_no_matches, THE_LIBRARY, 0),
    LAW(nothing_is_loaded_from_nothing, THE_LIBRARY, 0),
    LAW(a_null_guard_is_invalid, THE_LIBRARY, 0),
    LAW(a_guard_checks_its_arguments, THE_LIBRARY, 0),
    LAW(a_guard_needs_a_filter_and_a_store, THE_LIBRARY, 0),
    LAW(a_workload_checks_its_arguments, THE_LIBRARY, 0),
    LAW(the_source_of_no_workload_is_invalid, THE_LIBRARY, 0),
    LAW(an_input_has_one_source_of_members, EVERY_KIND, 0),
    LAW(missing_pointers_are_invalid, EVERY_KIND, 0),
    LAW(missing_keys_are_invalid, EVERY_KIND, 0),
    LAW(missing_matches_are_invalid, EVERY_KIND, BESOM_CAN_MATCH),
    {0},
};
