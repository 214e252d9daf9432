/* Arguments of the calls of a sidecar: missing ones are refused, and omitted ones have defaults. */
#include "sidecar_database.h"

static void no_sidecar_is_invalid(void **state) {
  (void)state;
  besom_sidecar_statistics stats;
  besom_bytes key = {"k", 1};
  uint64_t bitmap = 0;
  assert_true(besom_sidecar_may_contain(NULL, "k", 1));
  assert_true(besom_sidecar_may_contain_at(NULL, "k", 1, 7));
  assert_int_equal(besom_sidecar_may_contain_many(NULL, &key, 1, &bitmap), BESOM_INVALID);
  assert_int_equal(besom_sidecar_read_point(NULL), 0);
  assert_int_equal(besom_sidecar_report(NULL, "k", 1, 0), BESOM_INVALID);
  assert_int_equal(besom_sidecar_report_at(NULL, "k", 1, 0, 0), BESOM_INVALID);
  assert_int_equal(besom_sidecar_begin(NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_insert(NULL, "k", 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_remove(NULL, "k", 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_end(NULL, BESOM_SIDECAR_COMMITTED), BESOM_INVALID);
  assert_int_equal(besom_sidecar_log_to(NULL, NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_stamp(NULL, 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_sync(NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_rebuild(NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_stats(NULL, &stats), BESOM_INVALID);
  assert_null(besom_sidecar_filter(NULL));
  assert_null(besom_sidecar_log_ctx(NULL));
}

static void missing_arguments_change_nothing(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  a.now->has[3] = true;
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(besom_sidecar_stats(a.s, NULL), BESOM_INVALID);
  assert_int_equal(besom_sidecar_report(a.s, NULL, 1, besom_sidecar_read_point(a.s)),
                   BESOM_INVALID);
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_OK);
  assert_int_equal(besom_sidecar_insert(a.s, NULL, 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_remove(a.s, NULL, 1), BESOM_INVALID);
  assert_int_equal(besom_sidecar_log_to(a.s, a.now), BESOM_INVALID); /* it has no log */
  assert_int_equal(besom_sidecar_end(a.s, (besom_sidecar_outcome)9), BESOM_INVALID);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
  assert_null(besom_sidecar_log_ctx(a.s));
  assert_int_equal(app_stats(&a).keys, 1);
  assert_true(may_contain(&a, 3));
  app_done(&a);
}

/* The empty key is a key. */
static void a_key_may_be_empty(void **state) {
  (void)state;
  app a;
  app_init(&a, false);
  app_open(&a, BESOM_SIDECAR_NEW);
  assert_int_equal(besom_sidecar_begin(a.s), BESOM_OK);
  assert_int_equal(besom_sidecar_insert(a.s, NULL, 0), BESOM_OK);
  assert_int_equal(besom_sidecar_end(a.s, BESOM_SIDECAR_COMMITTED), BESOM_OK);
  assert_true(besom_sidecar_may_contain(a.s, NULL, 0));
  assert_true(besom_sidecar_may_contain(a.s, "", 0));
  assert_int_equal(besom_sidecar_close(a.s), BESOM_OK);
  a.s = NULL;
  app_done(&a);
}

static void assert_refused(app *a, besom_status status) {
  const char *reason = NULL;
  a->s = NULL;
  assert_int_equal(besom_sidecar_open(&a->config, a->path.text, &reason, &a->s), status);
  assert_non_null(reason);
  assert_null(a->s);
}

static void each_function_of_a_log_is_needed(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  besom_sidecar_log log = a.log;
  a.log.put = NULL;
  assert_refused(&a, BESOM_INVALID);
  a.log = log, a.log.remove = NULL;
  assert_refused(&a, BESOM_INVALID);
  a.log = log, a.log.update = NULL;
  assert_refused(&a, BESOM_INVALID);
  a.log = log, a.log.size = sizeof(size_t) - 1;
  assert_refused(&a, BESOM_INVALID);
  a.log = log, a.log.sync = NULL; /* this one is not */
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 20);
  assert_int_equal(besom_sidecar_sync(a.s), BESOM_OK);
  assert_no_false_negatives(&a);
  app_done(&a);
}

static void a_configuration_is_checked(void **state) {
  (void)state;
  char text[200] = {0};
  memset(text, 'x', sizeof text - 1);
  app a;
  app_init(&a, false);
  besom_config filter = a.filter;
  a.filter.kind = text;
  assert_refused(&a, BESOM_INVALID);
  a.filter = filter, a.filter.options = text;
  assert_refused(&a, BESOM_INVALID);
  a.filter = filter, a.filter.hash = text;
  assert_refused(&a, BESOM_INVALID);
  a.filter = filter, a.filter.hash = "md5";
  assert_refused(&a, BESOM_BAD_OPTION);
  a.filter = filter, a.filter.allocator = &(besom_allocator){0};
  assert_refused(&a, BESOM_INVALID);
  a.filter = filter;
  besom_source keys = a.keys;
  a.keys.rewind = NULL;
  assert_refused(&a, BESOM_INVALID);
  a.keys = keys, a.keys.next = NULL;
  assert_refused(&a, BESOM_INVALID);
  a.keys = keys;
  app_open(&a, BESOM_SIDECAR_NEW);
  app_done(&a);
}

/* Without a configuration of the filter there is one that adapts and grows. */
static void the_filter_has_defaults(void **state) {
  (void)state;
  for (unsigned i = 0; i < 4; i++) {
    app a;
    app_init(&a, true);
    a.filter = (besom_config){.hash = i == 1 ? "sip" : NULL,
                              .kind = i >= 2 ? "aqf" : NULL,
                              .bits_per_key = i == 3 ? 16 : 0,
                              .capacity = i >= 2 ? UNIVERSE : 0};
    if (i == 0) a.config.filter = NULL;
    app_open(&a, BESOM_SIDECAR_NEW);
    put_range(&a, 0, 500);
    assert_no_false_negatives(&a);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    app_done(&a);
  }
}

/* The database has more keys than the slots that the application asks for. */
static void a_filter_with_too_few_slots_grows_while_it_is_built(void **state) {
  (void)state;
  static const char *const options[] = {NULL, "tombstones=yes"};
  for (unsigned i = 0; i < 2; i++) {
    app a;
    app_init(&a, true);
    a.filter = (besom_config){.kind = "aqf", .options = options[i], .slots = 128, .width = 12};
    for (size_t key = 0; key < 1000; key++) a.now->has[key] = true;
    app_open(&a, BESOM_SIDECAR_NEW);
    assert_no_false_negatives(&a);
    put_range(&a, 1000, 1200);
    assert_no_false_negatives(&a);
    app_close(&a);
    app_open(&a, BESOM_SIDECAR_LOADED);
    assert_no_false_negatives(&a);
    app_done(&a);
  }
}

/* Options without a kind are those of the default kind. */
static void options_without_a_kind_are_of_the_default_kind(void **state) {
  (void)state;
  app a;
  app_init(&a, true);
  a.filter = (besom_config){.options = "base=aqf"};
  app_open(&a, BESOM_SIDECAR_NEW);
  put_range(&a, 0, 500);
  assert_no_false_negatives(&a);
  app_done(&a);
  app_init(&a, true);
  a.filter = (besom_config){.options = "colour=red"};
  assert_refused(&a, BESOM_BAD_OPTION);
  app_done(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_sidecar_is_invalid),
      cmocka_unit_test(missing_arguments_change_nothing),
      cmocka_unit_test(a_key_may_be_empty),
      cmocka_unit_test(each_function_of_a_log_is_needed),
      cmocka_unit_test(a_configuration_is_checked),
      cmocka_unit_test(the_filter_has_defaults),
      cmocka_unit_test(a_filter_with_too_few_slots_grows_while_it_is_built),
      cmocka_unit_test(options_without_a_kind_are_of_the_default_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
