/* The statistics of a guard as JSON: every member, and keys of any bytes. */
#include "guard_json.h"

#include "capture.h"

static void every_member_has_a_name_and_a_value(void **state) {
  (void)state;
  char text[8192];
  besom_guard_statistics stats = {.queries = 7,
                                  .puts = 60,
                                  .store_bytes = UINT64_MAX,
                                  .migrating = true,
                                  .reserve_used = 0.5,
                                  .current_fpr = 1e-9};
  capture c = capture_begin();
  guard_json_print(c.out, &stats, NULL, 0);
  capture_read(&c, text, sizeof text);
  assert_int_equal(strncmp(text, "{\"queries\":7,", 13), 0);
  assert_non_null(strstr(text, ",\"puts\":60,"));
  assert_non_null(strstr(text, ",\"store_bytes\":18446744073709551615,"));
  assert_non_null(strstr(text, ",\"migrating\":true,"));
  assert_non_null(strstr(text, ",\"reserve_used\":0.5,"));
  assert_non_null(strstr(text, ",\"current_fpr\":1e-09,"));
  assert_non_null(strstr(text, ",\"offenders\":[]}"));
  assert_null(strchr(text, '\n'));
}

/* Every member of the struct is printed once: the numbers of members and of names agree. */
static void no_member_is_missing(void **state) {
  (void)state;
  char text[8192];
  besom_guard_statistics stats = {0};
  enum { WORD = sizeof(uint64_t) };
  size_t members = sizeof stats / WORD, names = 0; /* a flag takes a word, with its padding */
  capture c = capture_begin();
  guard_json_print(c.out, &stats, NULL, 0);
  capture_read(&c, text, sizeof text);
  for (const char *at = text; (at = strstr(at, "\":")); at++) names++;
  assert_int_equal(names, members + 1); /* and "offenders" */
}

static void keys_of_offenders_are_escaped_and_cut(void **state) {
  (void)state;
  char text[8192];
  besom_guard_statistics stats = {0};
  besom_offender offenders[] = {{.count = 9, .error = 2, .len = 5, .key = {'a', '"', '\\', 0, 255}},
                                {.count = 1, .len = 1000}};
  memset(offenders[1].key, 'x', sizeof offenders[1].key);
  capture c = capture_begin();
  guard_json_print(c.out, &stats, offenders, 2);
  capture_read(&c, text, sizeof text);
  assert_non_null(strstr(text, "\"offenders\":[{\"key\":\"a\\u0022\\u005c\\u0000\\u00ff\","
                               "\"length\":5,\"count\":9,\"error\":2},"
                               "{\"key\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"length\":1000,"
                               "\"count\":1,\"error\":0}]}"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_member_has_a_name_and_a_value),
                                     cmocka_unit_test(no_member_is_missing),
                                     cmocka_unit_test(keys_of_offenders_are_escaped_and_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
