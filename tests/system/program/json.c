/* JSON member by member, and counts with separators. */
#define _DEFAULT_SOURCE 1 /* dup, fileno */

#include "json.h"

#include <math.h>
#include <unistd.h>

#include "capture.h"
#include "number_text.h"

extern const char *const program_name; /* of fail.h, whose fail is a macro of cmocka */
const char *const program_name = "json";

static capture captured;
static int real_stdout;

static void begin(void) {
  captured = capture_begin();
  fflush(stdout);
  real_stdout = dup(fileno(stdout));
  dup2(fileno(captured.out), fileno(stdout));
}

static void expect(const char *text) {
  fflush(stdout);
  dup2(real_stdout, fileno(stdout));
  close(real_stdout);
  capture_expect(&captured, text);
}

static void members_are_separated_and_nested(void **state) {
  (void)state;
  json j = {0};
  begin();
  json_open(&j, NULL, '{');
  json_open(&j, "empty", '[');
  json_close(&j);
  json_count(&j, "keys", UINT64_MAX);
  json_open(&j, "layers", '[');
  json_text(&j, NULL, "a\"b\\c\n");
  json_open(&j, NULL, '{');
  json_real(&j, "fpr", 0.25);
  json_close(&j);
  json_close(&j);
  json_real(&j, "unknown", NAN);
  json_text(&j, "none", NULL);
  json_flag(&j, "exact", true);
  json_close(&j);
  expect("{\"empty\":[],\"keys\":18446744073709551615,\"layers\":[\"a\\\"b\\\\c\\u000a\","
         "{\"fpr\":0.25}],\"unknown\":null,\"none\":null,\"exact\":true}\n");
}

static void print_key(json *j, const char *key, size_t len) {
  json_bytes(j, "key", key, len);
}

/* Each sequence that RFC 3629 excludes: overlong, a surrogate, above U+10FFFF, cut short. */
static void bytes_that_are_not_utf8_are_hexadecimal(void **state) {
  (void)state;
  json j = {0};
  begin();
  json_open(&j, NULL, '{');
  print_key(&j, "\xc3\xa9", 2);
  print_key(&j, "\xc0\x80", 2);
  print_key(&j, "\xed\xa0\x80", 3);
  print_key(&j, "\xf4\x90\x80\x80", 4);
  print_key(&j, "a\xe2\x82", 3);
  print_key(&j, "\xf0\x9f\xa7\xb9", 4);
  json_close(&j);
  expect("{\"key\":\"\xc3\xa9\",\"key_hex\":\"c080\",\"key_hex\":\"eda080\","
         "\"key_hex\":\"f4908080\",\"key_hex\":\"61e282\",\"key\":\"\xf0\x9f\xa7\xb9\"}\n");
}

static void thousands_are_separated(void **state) {
  (void)state;
  assert_string_equal(grouped(0).text, "0");
  assert_string_equal(grouped(999).text, "999");
  assert_string_equal(grouped(1000).text, "1,000");
  assert_string_equal(grouped(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_are_separated_and_nested),
      cmocka_unit_test(bytes_that_are_not_utf8_are_hexadecimal),
      cmocka_unit_test(thousands_are_separated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
