/* Rules that name the group of a key: the same results as POSIX expressions of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <regex.h>

#include "core/system/memory.h"
#include "lists/group_rule.h"
#include "support/keys.h"

static besom_status rule_of(const char *text, struct group_rule *rule) {
  return besom__group_rule_new(rule, &besom__default_allocator, text, strlen(text));
}

static void assert_group(const char *text, const char *key, const char *group) {
  struct group_rule rule;
  assert_int_equal(rule_of(text, &rule), BESOM_OK);
  besom_bytes found = besom__group_rule_match(&rule, key, strlen(key));
  assert_int_equal(found.len, strlen(group));
  if (found.len) assert_memory_equal(found.data, group, found.len);
  besom__group_rule_free(&rule, &besom__default_allocator);
}

static void a_part_of_the_key_is_the_group(void **state) {
  (void)state;
  assert_group("^([^:]*):", "issuer:serial:x", "issuer");
  assert_group("^([^:]*):", "serial", ""); /* no match */
  assert_group("^(.{4})", "abcdefg", "abcd");
  assert_group("^(.{4})", "abc", "");
  assert_group("([^.]*)$", "www.example.org", "org");
  assert_group("\\.([^.]+\\.[^.]+)$", "a.www.example.org", "example.org");
  assert_group("^(.*)/[^/]*$", "a/b/c", "a/b");
  assert_group("^[a-z]+-([0-9]{2,3})", "key-1234", "123");
  assert_group("^[a-z]+-([0-9]{2,3})", "key-1", "");
  assert_group("^x?([]a-]+)", "xa]-b", "a]-");
  assert_group("^(a,{1,2})", "a,,,", "a,,");
  assert_group("([^.]*)$", "", "");
  assert_group("^(a)$", "a", "a");
  assert_group("^(a)$", "ab", "");
}

static void bytes_of_value_0_are_bytes(void **state) {
  (void)state;
  struct group_rule rule;
  assert_int_equal(rule_of("^(.{3})", &rule), BESOM_OK);
  besom_bytes found = besom__group_rule_match(&rule, "\0\n\xff rest", 7);
  assert_int_equal(found.len, 3);
  besom__group_rule_free(&rule, &besom__default_allocator);
}

static void other_expressions_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"",         "^",        "^a",        "(a)",
                                      "^()",      "^(a",      "^a)",       "^(a)(b)",
                                      "^((a))",   "^(a|b)",   "^(a)*",     "^(*)",
                                      "^(a**)",   "^(a{2)",   "^(a{3,2})", "^(a{256})",
                                      "^(a{0})",  "^([a)",    "^([b-a])",  "^([[:alpha:]])",
                                      "^(\\d)",   "^(a\\)",   "^(a)$b",    "^(.*)/",
                                      "^(a*)ab",  "^(a*)b?a", "a(.*b*)$",  "a?(.*)$",
                                      "^(a{,3})", "^([a-[])", "^(a)^b",    "^(a{1}{2})"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct group_rule rule;
    if (rule_of(texts[i], &rule) != BESOM_BAD_OPTION) fail_msg("accepted: %s", texts[i]);
    assert_null(rule.items);
  }
  char many[MAX_RULE_BYTES + 2] = "^(";
  memset(many + 2, 'a', MAX_RULE_ITEMS);
  memcpy(many + 2 + MAX_RULE_ITEMS, ")", 2);
  struct group_rule rule;
  assert_int_equal(rule_of(many, &rule), BESOM_OK);
  besom__group_rule_free(&rule, &besom__default_allocator);
  memcpy(many + 2 + MAX_RULE_ITEMS, "a)", 3);
  assert_int_equal(rule_of(many, &rule), BESOM_BAD_OPTION);
  assert_int_equal(besom__group_rule_new(&rule, &besom__default_allocator, "^(a\0)", 5),
                   BESOM_BAD_OPTION);
}

/* ------------------------------------------------------------------ random expressions */

static uint64_t numbers;

static unsigned below(unsigned n) {
  return (unsigned)(key_u64(MEMBERS, numbers++) % n);
}

static void random_rule(char *out) {
  static const char *const sets[] = {"a", "b", ":", ".", "[ab]", "[^a]", "[^:]", "[^ab]", "\\."};
  static const char *const repeats[] = {"", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"};
  unsigned items = 1 + below(4), from = below(items), to = from + below(items - from);
  bool begin = below(2), end = !begin || below(2);
  strcpy(out, begin ? "^" : "");
  for (unsigned i = 0; i < items; i++) {
    if (i == from) strcat(out, "(");
    strcat(out, sets[below(9)]);
    strcat(out, repeats[below(8)]);
    if (i == to) strcat(out, ")");
  }
  if (end) strcat(out, "$");
}

static void compare_with_posix(const struct group_rule *rule, const regex_t *posix) {
  char key[12];
  size_t len = below(11);
  for (size_t i = 0; i < len; i++) key[i] = "ab:."[below(4)];
  key[len] = 0;
  regmatch_t parts[2] = {{0}};
  size_t expected = 0, start = 0;
  if (regexec(posix, key, 2, parts, 0) == 0) {
    start = (size_t)parts[1].rm_so;
    expected = (size_t)(parts[1].rm_eo - parts[1].rm_so);
  }
  besom_bytes found = besom__group_rule_match(rule, key, len);
  bool same = found.len == expected && (!expected || found.data == key + start);
  if (!same)
    fail_msg("%s of %s: %.*s", group_rule_text(rule), key, (int)found.len,
             (const char *)found.data);
}

static void random_expressions_match_as_in_posix(void **state) {
  (void)state;
  enum { RULES = 3000, KEYS = 20 };
  unsigned accepted = 0;
  for (unsigned i = 0; i < RULES; i++) {
    char text[64];
    struct group_rule rule;
    regex_t posix;
    random_rule(text);
    if (rule_of(text, &rule) != BESOM_OK) continue;
    accepted++;
    assert_int_equal(regcomp(&posix, text, REG_EXTENDED), 0);
    for (unsigned k = 0; k < KEYS; k++) compare_with_posix(&rule, &posix);
    regfree(&posix);
    besom__group_rule_free(&rule, &besom__default_allocator);
  }
  assert_true(accepted > RULES / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_part_of_the_key_is_the_group),
      cmocka_unit_test(bytes_of_value_0_are_bytes),
      cmocka_unit_test(other_expressions_are_refused),
      cmocka_unit_test(random_expressions_match_as_in_posix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
