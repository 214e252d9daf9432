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

struct test_values {
  besom_bytes base, rule;
  uint64_t isa, colour, count, odd, power, chosen;
};

static const struct option_row rows[] = {
    OPTION_ROW(test_values, base, BESOM_OPTION_KIND, .words = "bloom, qf", .meaning = ""),
    OPTION_ISA(test_values),
    OPTION_WORDS(test_values, colour, "red, green, blue", ""),
    OPTION_NUMBER(test_values, count, NUMBER, 2, 20, "7", ""),
    OPTION_NUMBER(test_values, odd, ODD, 1, 9, "3", ""),
    OPTION_NUMBER(test_values, power, POWER, 2, 64, "2", ""),
    OPTION_NUMBER(test_values, chosen, NUMBER, 0, UINT64_MAX, "chosen", ""),
    OPTION_ROW(test_values, rule, BESOM_OPTION_TEXT, .standard = "none", .meaning = ""),
};

static const char *test_conflict(const void *values) {
  const struct test_values *o = values;
  return o->count == 20 && o->odd == 9 ? "count and odd are too much" : NULL;
}

static const struct option_table table = {OPTION_ROWS(rows), .conflict = test_conflict};

static void what_is_not_given_is_the_default(void **state) {
  (void)state;
  struct test_values o;
  memset(&o, 0xff, sizeof o);
  assert_int_equal(besom__options_read(&table, NULL, &o), BESOM_OK);
  assert_text(o.base, "bloom");
  assert_null(o.rule.data);
  assert_int_equal(o.colour, 0);
  assert_int_equal(o.count, 7);
  assert_int_equal(o.odd, 3);
  assert_int_equal(o.power, 2);
  assert_true(o.chosen == OPTION_UNSET);
  assert_int_equal(isa_of_option(o.isa), besom__isa_best());
}

static void values_go_where_their_rows_say(void **state) {
  (void)state;
  struct test_values o;
  const char *text =
      "chosen=0,power=64,odd=9,isa=portable,count=2,base=qf,colour=blue,colour=green,"
      "rule=a,b=c,count=99,";
  assert_int_equal(besom__options_read(&table, text, &o), BESOM_OK);
  assert_text(o.base, "qf");
  assert_text(o.rule, "a,b=c,count=99,");
  assert_int_equal(besom__options_read(&table, "rule=a,forget=1,b,forget=no,max_exceptions=1", &o),
                   BESOM_OK);
  assert_text(o.rule, "a,forget=1,b"); /* but for those about reports, at the end */
  assert_int_equal(besom__options_read(&table, text, &o), BESOM_OK);
  assert_int_equal(o.colour, 1); /* the last one counts */
  assert_int_equal(o.count, 2);
  assert_int_equal(o.odd, 9);
  assert_int_equal(o.power, 64);
  assert_int_equal(o.chosen, 0);
  assert_int_equal(isa_of_option(o.isa), ISA_PORTABLE);
}

/* What the reader says about a text, as besom_config_check would. */
static const char *complaint(const char *text) {
  static char sentence[600];
  struct test_values o;
  struct explanation why = {sentence, sizeof sentence};
  struct option_reader r = {.table = &table, .values = &o, .kind = "test", .why = &why};
  assert_int_equal(besom__options_read_all(&r, text), BESOM_BAD_OPTION);
  assert_int_equal(besom__options_read(&table, text, &o), BESOM_BAD_OPTION);
  return sentence;
}

static void the_sentence_says_which_value_and_what_range(void **state) {
  (void)state;
  static const struct {
    const char *text, *sentence;
  } cases[] = {
      {"count=1", "option \"count=1\" of kind \"test\": count is a number, 2 to 20"},
      {"odd=3,count=21", "option \"count=21\" of kind \"test\": count is a number, 2 to 20"},
      {"count=-3", "option \"count=-3\" of kind \"test\": count is a number, 2 to 20"},
      {"count=99999999999999999999999",
       "option \"count=99999999999999999999999\" of kind \"test\": count is a number, 2 to 20"},
      {"odd=4", "option \"odd=4\" of kind \"test\": odd is an odd number, 1 to 9"},
      {"power=6", "option \"power=6\" of kind \"test\": power is a power of two, 2 to 64"},
      {"chosen=x", "option \"chosen=x\" of kind \"test\": chosen is a number, 0 or more"},
      {"colour=re", "option \"colour=re\" of kind \"test\": colour is one of red, green, blue"},
      {"colour=red, green", "options \"colour=red, green\" is not name=value,name=value"},
      {"base=cf", "option \"base=cf\" of kind \"test\": base is one of bloom, qf"},
      {"isa=abacus", "option \"isa=abacus\" of kind \"test\": isa is what this machine has of "
                     "portable, avx2, avx512"},
      {"colours=red", "option \"colours=red\": kind \"test\" has only base, isa, colour, count, "
                      "odd, power, chosen, rule, max_exceptions, forget, exceptions"},
      {"forget=maybe", "option \"forget=maybe\" of kind \"test\": forget is one of no, yes"},
      {"odd=9,count=20", "options \"odd=9,count=20\": count and odd are too much"},
      {"colour", "options \"colour\" is not name=value,name=value"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(complaint(cases[i].text), cases[i].sentence);
}

static void those_of_reports_are_a_table_apart(void **state) {
  (void)state;
  struct test_values o;
  struct report_values reports;
  struct option_reader r = {.table = &table, .reports = &reports};
  const char *text = "count=5,forget=yes,elsewhere=1,max_exceptions=9,rule=x,exceptions=full";
  assert_int_equal(besom__options_read_all(&r, text), BESOM_OK);
  assert_int_equal(reports.forget, 1);
  assert_int_equal(reports.max_exceptions, 9);
  assert_int_equal(reports.exceptions, 1);
  assert_int_equal(besom__options_read(&table, "forget=yes,count=5", &o), BESOM_OK);
  assert_int_equal(o.count, 5);
  assert_int_equal(besom__options_read(&table, "max_exceptions=0", &o), BESOM_BAD_OPTION);
  assert_int_equal(besom__options_read_all(&r, "exceptions=half"), BESOM_BAD_OPTION);
}

static void other_names_are_for_the_layers(void **state) {
  (void)state;
  const struct option_table passing = {OPTION_ROWS(rows), .passes_on = true},
                            all = {OPTION_ROWS(rows), .passes_on = true, .passes_reports = true};
  struct test_values o;
  char others[24];
  struct option_reader r = {
      .table = &passing, .values = &o, .others = others, .others_size = sizeof others};
  const char *text = "x=1,count=5,forget=no,y=2";
  assert_int_equal(besom__options_read_all(&r, text), BESOM_OK);
  assert_string_equal(others, "x=1,y=2");
  r.table = &all;
  assert_int_equal(besom__options_read_all(&r, text), BESOM_OK);
  assert_string_equal(others, "x=1,forget=no,y=2");
  assert_int_equal(besom__options_read_all(&r, "x=90123456789012345678901"), BESOM_BAD_OPTION);
  assert_int_equal(besom__options_read_all(&r, "x=9012345678901234567890"), BESOM_BAD_OPTION);
  assert_int_equal(besom__options_read_all(&r, "x=901234567890123456789"), BESOM_OK);
  assert_int_equal(strlen(others), sizeof others - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_text_has_no_options),
      cmocka_unit_test(options_come_in_their_order),
      cmocka_unit_test(only_the_first_equals_sign_divides),
      cmocka_unit_test(what_is_no_name_and_value_is_a_bad_option),
      cmocka_unit_test(what_is_not_given_is_the_default),
      cmocka_unit_test(values_go_where_their_rows_say),
      cmocka_unit_test(the_sentence_says_which_value_and_what_range),
      cmocka_unit_test(those_of_reports_are_a_table_apart),
      cmocka_unit_test(other_names_are_for_the_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
