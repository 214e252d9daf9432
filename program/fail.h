/*
 * Fatal errors of a program: print a message and exit. A program discards unfinished work, so no
 * function here recovers.
 */
#ifndef PROGRAM_FAIL_H
#define PROGRAM_FAIL_H

#include <stddef.h>

#include "besom.h"

extern const char *const program_name; /* defined beside main */

/* Exit codes. A signal ends a program with 128 plus its number: 130 for SIGINT. */
enum {
  EXIT_YES = 0,    /* success, or yes */
  EXIT_NO = 1,     /* no, or key not found */
  EXIT_USAGE = 2,  /* wrong command line: usage_error */
  EXIT_FAILED = 3, /* bad data, or I/O error: fail, check */
  EXIT_PARTLY = 4  /* a part of the keys took effect, as the message says */
};

/* A program that must answer even after a failure: fail and check call the function, after they
 * have printed their message, and exit with its result. */
void fail_with(int (*last_answer)(void));

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

/* As realloc, but never NULL. */
void *reallocate(void *memory, size_t count, size_t size);

#endif
