/*
 * What the contract tests use of cmocka, for WebAssembly, which has no setjmp: a failure or a skip
 * is an exception of JavaScript that leaves the module (contract.test.mjs).
 */
#ifndef BESOM_WEB_CMOCKA_H
#define BESOM_WEB_CMOCKA_H

#include <stdint.h>
#include <string.h>

#define BESOM_TESTS_IMPORT(name) __attribute__((import_module("tests"), import_name(name)))

BESOM_TESTS_IMPORT("fail")
_Noreturn void web_fail(const char *text, const char *file, int line);
BESOM_TESTS_IMPORT("skip") _Noreturn void web_skip(void);
BESOM_TESTS_IMPORT("run") void web_run(unsigned n); /* calls web_run_one(i) for each i below n */

struct CMUnitTest {
  const char *name;
  void (*test_func)(void **state);
  int (*setup)(void **state);
  int (*teardown)(void **state);
  void *initial_state;
};

#define web_check(holds, text) ((holds) ? (void)0 : web_fail(text, __FILE__, __LINE__))
#define assert_true(x) web_check(x, #x)
#define assert_false(x) web_check(!(x), "not " #x)
#define assert_null(x) web_check(!(x), #x " is NULL")
#define assert_non_null(x) web_check(x, #x " is not NULL")
#define assert_int_equal(a, b) web_check((uint64_t)(a) == (uint64_t)(b), #a " == " #b)
#define assert_int_not_equal(a, b) web_check((uint64_t)(a) != (uint64_t)(b), #a " != " #b)
#define assert_ptr_equal(a, b) web_check((a) == (b), #a " == " #b)
#define assert_string_equal(a, b) web_check(!strcmp(a, b), #a " equals " #b)
#define assert_string_not_equal(a, b) web_check(strcmp(a, b), #a " differs from " #b)
#define assert_memory_equal(a, b, n) web_check(!memcmp(a, b, n), #a " equals " #b)
#define assert_in_range(x, least, most) \
  web_check((uint64_t)(x) >= (uint64_t)(least) && (uint64_t)(x) <= (uint64_t)(most), #x)
#define fail() web_fail("fail", __FILE__, __LINE__)
#define fail_msg(...) web_fail(#__VA_ARGS__, __FILE__, __LINE__)
#define skip() web_skip()
#define print_message(...) ((void)0)
#define print_error(...) ((void)0)
#define _assert_int_equal(a, b, file, line) ((a) == (b) ? (void)0 : web_fail(#a, file, line))
#define _fail(file, line) web_fail("fail", file, line)

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n, void *setup,
                            void *teardown);

#endif
