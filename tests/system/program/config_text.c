/* What is wrong with a configuration: members are called by the names of options. */
#include "config_text.h"

#include "capture.h"

static const option_name names[] = {
    {"fpr", "--fpr"}, {"capacity", "--capacity"}, {"max_capacity", "--max-capacity"}};

static void expect(const besom_config *config, besom_status status, const char *expected) {
  char text[CONFIG_TEXT_SIZE];
  assert_int_equal(config_text(config, names, sizeof names / sizeof *names, text), status);
  assert_string_equal(text, expected);
}

static void members_are_called_by_their_options(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = 1000, .fpr = 2};
  expect(&config, BESOM_INVALID, "--fpr is 2: above 0 and below 1");
}

/* "capacity" is a part of "max_capacity", but not a word in it. */
static void only_whole_words_are_replaced(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = 1000, .max_capacity = 10};
  expect(&config, BESOM_INVALID, "--max-capacity is below --capacity");
}

static void members_without_an_option_keep_their_names(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .capacity = 1000, .value_bits = 33};
  expect(&config, BESOM_INVALID, "value_bits is 33: 0 to 32");
}

static void words_in_quotes_are_not_replaced(void **state) {
  (void)state;
  besom_config config = {.kind = "fpr", .capacity = 1000};
  char text[CONFIG_TEXT_SIZE];
  assert_int_equal(config_text(&config, names, sizeof names / sizeof *names, text),
                   BESOM_UNKNOWN_KIND);
  assert_non_null(strstr(text, "\"fpr\""));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(members_are_called_by_their_options),
                                     cmocka_unit_test(only_whole_words_are_replaced),
                                     cmocka_unit_test(members_without_an_option_keep_their_names),
                                     cmocka_unit_test(words_in_quotes_are_not_replaced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
