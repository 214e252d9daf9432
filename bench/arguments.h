/*
 * The command line of a verb: a table that says what may stand there, from which both the parser and
 * --help work.
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The one pointer that is set says what type the argument is, and where its value goes. */
typedef struct argument {
  const char *name;  /* "--slots" */
  const char *value; /* what --help calls the value: "N"; NULL for a flag */
  const char *help;
  bool *flag;
  const char **text;
  uint64_t *count; /* least to most */
  uint64_t *hex;
  double *real; /* least to most */
  double least, most;
} argument;

typedef struct command {
  const char *usage; /* "micro [options]" */
  const char *about;
  const argument *arguments;
  size_t argument_count;
  bool takes_word; /* one word without dashes, as in "run CLAIM" */
} command;

/*
 * Reads argv[1] and on (argv[0] is the verb). Returns the word, NULL if there is none. Does not return
 * when the command line is wrong (usage_error) or asks for --help (printed, exit 0).
 */
const char *arguments_parse(const command *c, int argc, char **argv);

#endif
