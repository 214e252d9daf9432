/* A verb of the besom command: its name, its command line and its function. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "arguments.h"
#include "fail.h" /* the exit codes */

typedef struct verb {
  const char *name, *summary;
  const command *command;
  int (*run)(words args); /* called after parsing; returns the exit code */
} verb;

/* All verbs, in the order of --help; NULL-terminated. */
extern const verb *const verbs[];

/* The option of every verb that prints: one JSON object on stdout (json.h) instead of text. */
#define JSON_ARGUMENT(variable) \
  { "--json", NULL, "print one JSON object instead of text", .flag = &(variable) }

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
