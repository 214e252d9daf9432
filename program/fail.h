/*
 * How a program gives up. Exit codes: 2 for a wrong command line, 3 for anything that failed. What a program has half
 * done is worth nothing, so nothing here is recovered from.
 */
#ifndef PROGRAM_FAIL_H
#define PROGRAM_FAIL_H

#include <stddef.h>

#include "besom.h"

extern const char *const program_name; /* defined beside main */

/* The command line is wrong: the message names the argument. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless status is BESOM_OK; the message says what was tried, besom_strerror what went wrong. */
void check(besom_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory, never NULL; released by free. */
void *allocate(size_t count, size_t size);

#endif
