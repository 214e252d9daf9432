/*
 * besom_abilities tells which calls are UNSUPPORTED. And what a filter tells about itself: counters
 * and layers.
 */
#include <stdio.h>
#include <string.h>

#include "filters.h"

/* UNSUPPORTED if and only if the ability is missing. */
#define assert_support(ability, call) \
  check_support((besom_abilities(f) & (ability)) != 0, (call), #call, __LINE__)
static void check_support(bool supported, besom_status status, const char *call, int line) {
  if ((status != BESOM_UNSUPPORTED) == supported) return;
  print_error("%s\n  returned: %s\n  the ability is %s\n", call, besom_strerror(status),
              supported ? "there" : "missing");
  _fail(__FILE__, line);
}

static void assert_keys_are_supported(besom_filter *f, unsigned inserts) {
  uint64_t key = key_u64(MEMBERS, 0), n = 0;
  assert_support(inserts, besom_insert_u64(f, key));
  assert_support(inserts, besom_insert(f, "a", 1));
  assert_support(inserts, besom_insert_many_u64(f, &key, 1, NULL));
  assert_support(BESOM_CAN_REMOVE, besom_remove_u64(f, key));
  assert_support(BESOM_CAN_COUNT, besom_count_u64(f, key, &n));
  assert_support(BESOM_CAN_COUNT, besom_insert_count(f, "a", 1, 2));
  assert_support(BESOM_CAN_VALUE, besom_get_value(f, "a", 1, &n));
  assert_support(BESOM_CAN_VALUE, besom_set_value(f, "a", 1, 0));
  assert_support(BESOM_CAN_ADAPT, besom_adapt(f, "b", 1));
  assert_support(BESOM_CAN_ADAPT, besom_adapt_u64(f, 1));
  assert_support(BESOM_CAN_ADAPT, besom_adapt_digest(f, (besom_digest){1, 2}));
  assert_support(BESOM_CAN_NO_LIST, besom_no_add(f, "c", 1));
  assert_support(BESOM_CAN_NO_LIST, besom_no_remove(f, "c", 1));
}

static void assert_matches_are_supported(besom_filter *f) {
  besom_digest d = {1, 2};
  besom_match match = {0, 0};
  size_t total = 0;
  bool adapts = !(besom_abilities(f) & BESOM_CAN_NO_LIST_AT);
  assert_support(BESOM_CAN_MATCH, besom_bind(f, NULL));
  assert_support(BESOM_CAN_MATCH, besom_matches(f, d, &match, 1, &total));
  assert_support(BESOM_CAN_MATCH, besom_insert_at(f, d, 0, &match));
  assert_support(adapts ? BESOM_CAN_MATCH : 0, besom_adapt_at(f, (besom_digest){3, 4}, &match, d));
  assert_support(BESOM_CAN_MATCH, besom_remove_at(f, &match));
  assert_support(BESOM_CAN_NO_LIST_AT, besom_no_add_at(f, d, &match));
  assert_support(BESOM_CAN_NO_LIST_AT, besom_no_matches(f, d, &match, 1, &total));
  assert_support(BESOM_CAN_NO_LIST_AT, besom_no_remove_at(f, &match));
}

static void assert_whole_filters_are_supported(besom_filter *f) {
  besom_filter *out = NULL;
  besom_task *task = NULL;
  besom_iter iter = {.filter = f};
  besom_entry entry;
  uint64_t key = 1, slots = stats_of(f).slots;
  array_source yes;
  assert_support(BESOM_CAN_MERGE, besom_merge(f, f, &out));
  besom_free(out);
  assert_support(BESOM_CAN_ITERATE, besom_iter_next(&iter, &entry));
  assert_support(BESOM_CAN_RESIZE, besom_resize(f, 2 * slots, NULL));
  assert_support(BESOM_CAN_RESIZE, besom_resize(f, 4 * slots, &task));
  besom_task_cancel(task);
  task = NULL;
  source_of_u64(&yes, &key, 1);
  assert_support(BESOM_CAN_REKEY, besom_rekey(f, &yes.api, NULL, NULL, &task));
  besom_task_cancel(task);
  assert_support(BESOM_CAN_REKEY, besom_rekey(f, &yes.api, NULL, NULL, NULL));
}

/* Without a store, kinds that need one return NEEDS_STORE. */
static void assert_abilities(const subject *s) {
  besom_filter *f = make_of_members(s, 10, 0);
  unsigned inserts = BESOM_CAN_INSERT | BESOM_INSERTS_LATER;
  assert_keys_are_supported(f, needs_store(s) ? inserts | BESOM_CAN_MATCH : inserts);
  assert_matches_are_supported(f);
  assert_whole_filters_are_supported(f);
  assert_valid(f);
  besom_free(f);
}

static void what_a_filter_cannot_do_is_unsupported(void **state) {
  const subject *s = subject_of(state);
  besom_filter *out = NULL;
  besom_config config = config_of(s, 10, 0);
  assert_abilities(s);
  besom_status status = besom_create(&config, &out);
  assert_int_equal(status == BESOM_UNSUPPORTED, !can(s, BESOM_CAN_INSERT) && can(s, CAN_BUILD));
  besom_free(out);
}

/* Layered kinds with every base. */
static void a_filter_can_do_what_its_base_can(void **state) {
  subject s = *subject_of(state);
  size_t accepted = 0;
  for (size_t i = 0; besom_kinds(i); i++) {
    char options[64];
    snprintf(options, sizeof options, "base=%s", besom_kinds(i)->name);
    s.options = options;
    besom_config config = config_of(&s, 10, 0);
    if (besom_config_check(&config, NULL, 0) != BESOM_OK) continue;
    assert_abilities(&s);
    accepted++;
  }
  if (!accepted) skip();
}

/* What is unsupported changes nothing. */
static void unsupported_calls_change_nothing(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0);
  unsigned abilities = besom_abilities(f);
  uint64_t key = key_u64(MEMBERS, 0);
  memory_sink before;
  save_to(&before, f);
  if (!(abilities & (BESOM_CAN_INSERT | BESOM_INSERTS_LATER))) besom_insert_u64(f, 1);
  if (!(abilities & BESOM_CAN_REMOVE)) besom_remove_u64(f, key);
  if (!(abilities & BESOM_CAN_COUNT)) besom_insert_count(f, "a", 1, 2);
  if (!(abilities & BESOM_CAN_ADAPT)) besom_adapt_u64(f, 1);
  if (!(abilities & BESOM_CAN_VALUE)) set_value_u64(f, key, 0);
  if (!(abilities & BESOM_CAN_NO_LIST)) no_add_u64(f, 1);
  if (!(abilities & BESOM_CAN_RESIZE)) besom_resize(f, 2 * stats_of(f).slots, NULL);
  assert_bytes(f, &before);
  besom_free(f);
}

/* A filter with the default options can do what its kind can. */
static void the_abilities_are_those_of_the_kind(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0);
  assert_int_equal(besom_abilities(f), s->kind->abilities);
  besom_free(f);
}

/* ------------------------------------------------------------------ counters and layers */

static void counters_have_names(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 1000, 0);
  besom_counter all[64], some[64];
  size_t n = besom_counters(f, all, 64);
  assert_true(n <= 64);
  assert_int_equal(besom_counters(f, NULL, 0), n);
  for (size_t cap = 0; cap <= n; cap++) {
    memset(some, 0, sizeof some);
    assert_int_equal(besom_counters(f, some, cap), n);
    for (size_t i = 0; i < cap; i++) {
      assert_string_equal(some[i].name, all[i].name);
      assert_int_equal(some[i].value, all[i].value);
    }
    if (cap < 64) assert_null(some[cap].name);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i; k++) assert_string_not_equal(all[i].name, all[k].name);
  besom_free(f);
}

static void layers_are_filters(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 1000, 0);
  size_t n = 0;
  for (const besom_filter *layer; (layer = besom_layer(f, n)) != NULL; n++) {
    assert_true(n < 1000);
    assert_true(stats_of(layer).slots <= stats_of(f).slots);
    assert_valid(layer);
  }
  assert_null(besom_layer(f, n + 1));
  assert_null(besom_layer(f, SIZE_MAX));
  besom_free(f);
}

const law ability_laws[] = {
    LAW(what_a_filter_cannot_do_is_unsupported, EVERY_SUBJECT, 0),
    LAW(a_filter_can_do_what_its_base_can, EVERY_KIND, 0),
    LAW(unsupported_calls_change_nothing, EVERY_KIND, 0),
    LAW(the_abilities_are_those_of_the_kind, EVERY_KIND, 0),
    LAW(counters_have_names, EVERY_SUBJECT, 0),
    LAW(layers_are_filters, EVERY_KIND, 0),
    {0},
};
