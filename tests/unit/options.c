/* The options text, taken apart. */
#include "core/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"

static void assert_text(besom_bytes bytes, const char *wanted) {
  assert_int_equal(bytes.len, strlen(wanted));
  assert_memory_equal(bytes.data, wanted, bytes.len);
}

static void assert_next(const char **text, const char *name, const char *value) {
  struct option option;
  assert_int_equal(besom__option_next(text, &option), BESOM_OK);
  assert_text(option.name, name);
  assert_text(option.value, value);
}

static void assert_end(const char *text) {
  struct option option;
  assert_int_equal(besom__option_next(&text, &option), BESOM_END);
}

/* How the whole text ends, from a block of just its size, so that asan sees a read beyond. */
static besom_status verdict(const char *text) {
  char *exact = heap_array(strlen(text) + 1, 1);
  strcpy(exact, text);
  const char *at = exact;
  struct option option;
  besom_status status;
  do status = besom__option_next(&at, &option);
  while (status == BESOM_OK);
  free(exact);
  return status;
}

static void no_text_has_no_options(void **state) {
  (void)state;
  assert_end(NULL);
  assert_end("");
}

static void options_come_in_their_order(void **state) {
  (void)state;
  const char *text = "isa=avx2,heads=no,x=1";
  assert_next(&text, "isa", "avx2");
  assert_next(&text, "heads", "no");
  assert_next(&text, "x", "1");
  assert_end(text);
}

static void only_the_first_equals_sign_divides(void **state) {
  (void)state;
  const char *text = "a==,b=c=d, e = f ";
  assert_next(&text, "a", "=");
  assert_next(&text, "b", "c=d");
  assert_next(&text, " e ", " f "); /* blanks are letters like others */
  assert_end(text);
}

static void what_is_no_name_and_value_is_a_bad_option(void **state) {
  (void)state;
  static const char *const bad[] = {",",      "=",        "a",     "a=",       "=b",
                                    "a=b,",   "a=b,c",    ",a=b",  "a=b,,c=d", "a,b=c",
                                    "a=,b=c", "a=b,=c",   "a=b, ", "a=b,c=",   "=,a=b",
                                    " ",      "a=b,c=d,", "==",    "a=b,,"};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    if (verdict(bad[i]) != BESOM_BAD_OPTION) fail_msg("\"%s\" is taken", bad[i]);
  assert_int_equal(verdict("a=b,c=d"), BESOM_END);
}

static void a_name_is_itself_and_no_part_of_it(void **state) {
  (void)state;
  const char *text = "isa=heads";
  struct option option;
  assert_int_equal(besom__option_next(&text, &option), BESOM_OK);
  assert_true(besom__option_is(&option, "isa"));
  static const char *const others[] = {"", "i", "is", "isas", "isa=", "ISA", "isb", "heads"};
  for (unsigned i = 0; i < 8; i++) assert_false(besom__option_is(&option, others[i]));
}

static void a_flag_has_two_values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    besom_status status;
    bool value;
  } cases[] = {
      {"x=yes", BESOM_OK, true},           {"x=no", BESOM_OK, false},
      {"x=y", BESOM_BAD_OPTION, false},    {"x=n", BESOM_BAD_OPTION, false},
      {"x=1", BESOM_BAD_OPTION, false},    {"x=true", BESOM_BAD_OPTION, false},
      {"x=Yes", BESOM_BAD_OPTION, false},  {"x=yes ", BESOM_BAD_OPTION, false},
      {"x=nope", BESOM_BAD_OPTION, false}, {"x=no,y=1", BESOM_OK, false},
      {"y=no", BESOM_BAD_OPTION, false},   {"f=published", BESOM_OK, true},
      {"f=default", BESOM_OK, false},      {"f=yes", BESOM_BAD_OPTION, false},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *text = cases[i].text;
    struct option option;
    bool value = !cases[i].value;
    assert_int_equal(besom__option_next(&text, &option), BESOM_OK);
    struct flag_option flags[] = {{"x", "yes", "no", &value},
                                  {"f", "published", "default", &value}};
    assert_int_equal(besom__option_flag(&option, flags, 2), cases[i].status);
    if (cases[i].status == BESOM_OK) assert_int_equal(value, cases[i].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_text_has_no_options),
      cmocka_unit_test(options_come_in_their_order),
      cmocka_unit_test(only_the_first_equals_sign_divides),
      cmocka_unit_test(what_is_no_name_and_value_is_a_bad_option),
      cmocka_unit_test(a_name_is_itself_and_no_part_of_it),
      cmocka_unit_test(a_flag_has_two_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
