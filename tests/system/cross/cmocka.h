/*
 * cmocka.h - the part of cmocka that the tests use, for platforms that Debian's libcmocka is not
 * installed for (`make cross`). Names, order of arguments and structs are those of cmocka 1.1. A
 * failed assertion ends its test; the program's exit code is the number of tests that failed.
 */
#ifndef BESOM_CROSS_CMOCKA_H
#define BESOM_CROSS_CMOCKA_H

#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
  const char *name;
  CMUnitTestFunction test_func;
  CMFixtureFunction setup_func;
  CMFixtureFunction teardown_func;
  void *initial_state;
};

#define cmocka_unit_test(f) \
  { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup(f, setup) \
  { #f, f, setup, NULL, NULL }
#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
  _cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

/* Runs the tests whose name matches the filter, if there is one. Returns how many failed. */
int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                            CMFixtureFunction setup, CMFixtureFunction teardown);
void cmocka_set_test_filter(const char *pattern); /* shell wildcards */

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* These three end the running test. */
_Noreturn void _skip(const char *file, int line);
_Noreturn void _fail(const char *file, int line);
_Noreturn void besom_fail_with(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define skip() _skip(__FILE__, __LINE__)
#define fail() _fail(__FILE__, __LINE__)
#define fail_msg(...) besom_fail_with(__FILE__, __LINE__, __VA_ARGS__)

/* The assertions. Integers are compared as uintmax_t, as in cmocka: -1 is not 4294967295. */
#define besom_assert_that(holds, text) \
  ((holds) ? (void)0 : besom_fail_with(__FILE__, __LINE__, "%s", text))
#define assert_true(c) besom_assert_that(c, #c)
#define assert_false(c) besom_assert_that(!(c), "!(" #c ")")
#define assert_non_null(p) besom_assert_that((p) != NULL, #p " != NULL")
#define assert_null(p) besom_assert_that((p) == NULL, #p " == NULL")

#define assert_int_equal(a, b) \
  besom_assert_int_equal((uintmax_t)(a), (uintmax_t)(b), __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
  besom_assert_int_not_equal((uintmax_t)(a), (uintmax_t)(b), __FILE__, __LINE__)
#define assert_ptr_equal(a, b) assert_int_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_ptr_not_equal(a, b) assert_int_not_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_in_range(x, least, most) \
  besom_assert_in_range((uintmax_t)(x), (uintmax_t)(least), (uintmax_t)(most), __FILE__, __LINE__)
#define assert_memory_equal(a, b, n) besom_assert_memory(a, b, n, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, n) besom_assert_memory(a, b, n, 0, __FILE__, __LINE__)
#define assert_string_equal(a, b) besom_assert_string(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) besom_assert_string(a, b, 0, __FILE__, __LINE__)

_Noreturn void besom_fail_numbers(uintmax_t a, const char *relation, uintmax_t b, const char *file,
                                  int line);
void besom_assert_memory(const void *a, const void *b, size_t n, int equal, const char *file,
                         int line);
void besom_assert_string(const char *a, const char *b, int equal, const char *file, int line);

static inline void besom_assert_int_equal(uintmax_t a, uintmax_t b, const char *file, int line) {
  if (a != b) besom_fail_numbers(a, "!=", b, file, line);
}

static inline void besom_assert_int_not_equal(uintmax_t a, uintmax_t b, const char *file,
                                              int line) {
  if (a == b) besom_fail_numbers(a, "==", b, file, line);
}

static inline void besom_assert_in_range(uintmax_t x, uintmax_t least, uintmax_t most,
                                         const char *file, int line) {
  if (x < least) besom_fail_numbers(x, "<", least, file, line);
  if (x > most) besom_fail_numbers(x, ">", most, file, line);
}

#endif
