/* A verb of the besom command: its name, its command line and its function. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "arguments.h"

/* Exit codes; fail.h adds 2 (wrong command line) and 3 (bad data, or I/O error). */
enum { EXIT_YES = 0, EXIT_NO = 1 };

typedef struct verb {
  const char *name, *summary;
  const command *command;
  int (*run)(words args); /* called after parsing; returns the exit code */
} verb;

/* All verbs, in the order of --help; NULL-terminated. */
extern const verb *const verbs[];

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
