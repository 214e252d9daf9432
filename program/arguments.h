/*
 * The command line of a verb. One table describes its options; the parser, --help and the manual
 * page are all derived from it.
 */
#ifndef PROGRAM_ARGUMENTS_H
#define PROGRAM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arguments without dashes, or all values of an option that may be repeated. */
typedef struct words {
  const char **at;
  size_t n;
} words;

/* Exactly one pointer is set: it determines the type of the option and receives its value. */
typedef struct argument {
  const char *name;  /* "--slots" */
  const char *value; /* the name of the value in --help: "N"; NULL for a flag */
  const char *help;
  bool *flag;
  const char **text;
  words *list;     /* collects the value of every occurrence */
  uint64_t *count; /* least to most; accepts the suffixes k, M and G: "10k", "3M", "2G" */
  uint64_t *hex;
  double *real; /* least to most */
  double *rate; /* least to most; accepts 0.004, 1/256 and 0.4% */
  double least, most;
} argument;

/*
 * about: paragraphs, separated by an empty line. --help fills them to the width of a terminal; a
 * line that starts with a space is printed as it is.
 */
typedef struct command {
  const char *usage; /* "micro [options]" */
  const char *about;
  const argument *arguments;
  size_t argument_count;
  size_t least_words, most_words; /* arguments without dashes, such as CLAIM in "run CLAIM" */
  const char *examples;           /* printed after the options; NULL for none */
  const char *exit_status;        /* what exit codes mean for this verb, if it differs */
} command;

/*
 * Parses argv[1] and the following; argv[0] is the verb. Returns the words, which stay valid until
 * the program ends. "-" is a word, and so is every argument after "--". Does not return if the
 * command line is wrong (usage_error) or contains --help (printed, exit 0).
 */
words arguments_parse(const command *c, int argc, char **argv);

/* Fills the words of a text into lines of a terminal. They begin at the column indent, where the
 * first one must be already. */
void arguments_print_filled(const char *text, size_t indent);

/* Prints what VERB --help prints. */
void arguments_print_help(const command *c);

/* What exit codes mean, for the help of the program and for the manual pages. */
extern const char *const exit_codes_text;

/* Prints the manual page of a verb to stdout, as troff input for man(1). */
void arguments_print_manual(const command *c, const char *verb, const char *summary);

#endif
