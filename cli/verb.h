/* A verb of the besom command: what it is called, what may stand behind it, what it does. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "arguments.h"

/* Exit codes, besides 2 (wrong command line) and 3 (bad data, or a file could not be read or written) of fail.h. */
enum { EXIT_YES = 0, EXIT_NO = 1 };

typedef struct verb {
  const char *name, *summary;
  const command *command;
  int (*run)(words words); /* after the command line is read; returns the exit code */
} verb;

/* All of them, in the order in which people see them; NULL at the end. */
extern const verb *const verbs[];

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
