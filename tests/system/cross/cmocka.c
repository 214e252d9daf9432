#define _POSIX_C_SOURCE 200809L /* fnmatch */
#include "cmocka.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS, FAILED, SKIPPED };

static jmp_buf end_of_test;
static int runs; /* a test, its setup or its teardown */
static const char *filter;

void cmocka_set_test_filter(const char *pattern) {
  filter = pattern;
}

void print_message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
}

void print_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}

/* ------------------------------------------------------------------ how a test ends */

_Noreturn static void end_test(int how) {
  if (!runs) exit(1);
  longjmp(end_of_test, how);
}

_Noreturn void _skip(const char *file, int line) {
  (void)file, (void)line;
  end_test(SKIPPED);
}

_Noreturn void _fail(const char *file, int line) {
  fprintf(stderr, "%s:%d: error: failure\n", file, line);
  end_test(FAILED);
}

_Noreturn void besom_fail_with(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  _fail(file, line);
}

_Noreturn void besom_fail_numbers(uintmax_t a, const char *relation, uintmax_t b, const char *file,
                                  int line) {
  besom_fail_with(file, line, "%#" PRIxMAX " %s %#" PRIxMAX, a, relation, b);
}

void besom_assert_memory(const void *a, const void *b, size_t n, int equal, const char *file,
                         int line) {
  const unsigned char *x = a, *y = b;
  size_t i = 0;
  while (i < n && x[i] == y[i]) i++;
  if (equal && i < n) besom_fail_with(file, line, "byte %zu: %#x != %#x", i, x[i], y[i]);
  if (!equal && i == n) besom_fail_with(file, line, "%zu bytes are equal", n);
}

void besom_assert_string(const char *a, const char *b, int equal, const char *file, int line) {
  if ((strcmp(a, b) == 0) != equal)
    besom_fail_with(file, line, "\"%s\" %s \"%s\"", a, equal ? "!=" : "==", b);
}

/* ------------------------------------------------------------------ groups of tests */

static int run_test(const struct CMUnitTest *test) {
  void *state = test->initial_state;
  volatile int ended = setjmp(end_of_test);
  runs = 1;
  if (ended == RUNS) {
    if (test->setup_func && test->setup_func(&state)) ended = FAILED;
    if (ended == RUNS) test->test_func(&state);
  }
  int torn_down = setjmp(end_of_test);
  if (torn_down == RUNS && test->teardown_func && test->teardown_func(&state)) torn_down = FAILED;
  runs = 0;
  return ended == RUNS ? torn_down : ended;
}

static int ran(int failed, const char *name) {
  static const char *const words[] = {"OK", "FAILED", "SKIPPED"};
  printf("[ %8s ] %s\n", words[failed], name);
  fflush(stdout);
  return failed == FAILED;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                            CMFixtureFunction setup, CMFixtureFunction teardown) {
  void *state = NULL;
  int failed = 0;
  if (setup && setup(&state)) return 1;
  for (size_t i = 0; i < n; i++) {
    if (filter && fnmatch(filter, tests[i].name, 0)) continue;
    printf("[ RUN      ] %s\n", tests[i].name);
    fflush(stdout);
    failed += ran(run_test(&tests[i]), tests[i].name);
  }
  if (teardown && teardown(&state)) failed++;
  printf("%s: %d of %zu tests failed\n", group, failed, n);
  return failed;
}
