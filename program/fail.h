/*
 * Fatal errors of a program: print a message and exit. Exit codes: 2 for a wrong command line, 3
 * for every other failure. A program discards unfinished work, so no function here recovers.
 */
#ifndef PROGRAM_FAIL_H
#define PROGRAM_FAIL_H

#include <stddef.h>

#include "besom.h"

extern const char *const program_name; /* defined beside main */

/* The verb whose --help usage_error refers to; NULL (the default): the help of the program. */
void usage_error_verb(const char *verb);

/* The command line is wrong: the message names the argument. */
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless status is BESOM_OK. The message names the operation; the text of besom_strerror is
 * appended to it. */
void check(besom_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory, never NULL; release it with free. */
void *allocate(size_t count, size_t size);

#endif
