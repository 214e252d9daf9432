/*
 * The command line of a verb: a table that says what may stand there, from which the parser, --help and the
 * manual page all work.
 */
#ifndef PROGRAM_ARGUMENTS_H
#define PROGRAM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arguments without dashes, or the values of one that may be given again and again. */
typedef struct words {
  const char **at;
  size_t n;
} words;

/* The one pointer that is set says what type the argument is, and where its value goes. */
typedef struct argument {
  const char *name;  /* "--slots" */
  const char *value; /* what --help calls the value: "N"; NULL for a flag */
  const char *help;
  bool *flag;
  const char **text;
  words *list;     /* every value it is given */
  uint64_t *count; /* least to most; "10k", "3M", "2G" are numbers, too */
  uint64_t *hex;
  double *real; /* least to most */
  double least, most;
} argument;

typedef struct command {
  const char *usage; /* "micro [options]" */
  const char *about;
  const argument *arguments;
  size_t argument_count;
  size_t least_words, most_words; /* without dashes, as in "run CLAIM" */
  const char *more;               /* behind the arguments: examples; NULL for none */
} command;

/*
 * Reads argv[1] and on (argv[0] is the verb). Returns the words, which live as long as the program; a "-" is one, and
 * so is all behind a "--". Does not return when the command line is wrong (usage_error) or asks for --help
 * (printed, exit 0).
 */
words arguments_parse(const command *c, int argc, char **argv);

/* The manual page of a verb, for man(1), on stdout. */
void arguments_print_manual(const command *c, const char *verb, const char *summary);

#endif
