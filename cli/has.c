/* besom has: queries keys of the command line, or of standard input. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "files.h"
#include "trust.h"
#include "verb.h"

static struct {
  bool quiet, fail_closed;
  answer_form answers;
  key_form form;
} given;

static const argument arguments[] = {
    {"--quiet", NULL, "print nothing; use the exit code", .flag = &given.quiet},
    {"--fail-closed", NULL,
     "if the filter cannot be read: print the message, and answer yes (exit code 0), so that a "
     "script which blocks what is answered yes blocks",
     .flag = &given.fail_closed},
    {"--json", NULL, "print one JSON object per key", .flag = &given.answers.json},
    KEY_FORM_ARGUMENTS(given.form),
    TRUST_ARGUMENTS,
};

static const command has_command = {
    .usage = "has FILTER [options] [--] [KEY...]",
    .about =
        "Queries keys. Prints, for each key, yes (the key may be in the set) or no (it is "
        "certainly not), a tab and the key. Without KEY it reads the keys from standard input, "
        "which other users of the machine cannot see; use that for secrets. Put -- before keys "
        "that start with -.\n\n"
        "The exit code is 0 if all answers are yes, 1 if one is no, 2 if the command line is "
        "wrong, 3 if it failed. A script that tests only for success takes a failure for a no: "
        "test the code with case, as in the example, or use --fail-closed.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = SIZE_MAX,
    .exit_status = "0: yes to all keys; with --fail-closed, also a failure. 1: no to one of them. "
                   "2: wrong command line. 3: failure: the filter cannot be read, or an I/O error. "
                   "130: interrupted (SIGINT); 143: terminated (SIGTERM).",
    .examples = "  besom has blocked.besom -- \"$name\"\n"
                "  case $? in\n"
                "  0) echo \"$name is blocked\" ;;\n"
                "  1) echo \"$name is not blocked\" ;;\n"
                "  *) echo \"cannot tell\" >&2; exit 1 ;;\n"
                "  esac\n"
                "  besom has blocked.besom --fail-closed --quiet -- \"$name\" && echo blocked\n"
                "  printf '%s\\n' \"$password\" | besom has breached.besom --quiet",
};

static words keys; /* of the command line, in the form that the options ask for */
static size_t answered;

static void print_answers(const besom_bytes *batch, size_t n, const uint64_t *bitmap) {
  given.answers.tag = true;
  if (!given.quiet) answers_print(&given.answers, &given.form, batch, n, bitmap);
}

/* After a failure, with --fail-closed: yes to the keys that have no answer yet. */
static int answer_yes(void) {
  for (uint64_t yes = 1; answered < keys.n; answered++)
    print_answers(&(besom_bytes){keys.at[answered], strlen(keys.at[answered])}, 1, &yes);
  answers_finish(&given.answers, 0, 0);
  return EXIT_YES;
}

static bool query_words(const besom_filter *f) {
  bool all = true;
  for (; answered < keys.n; answered++) {
    besom_bytes key = {keys.at[answered], strlen(keys.at[answered])};
    uint64_t yes = besom_contains(f, key.data, key.len);
    print_answers(&key, 1, &yes);
    all &= yes;
  }
  return all;
}

static bool query_input(const besom_filter *f) {
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t bitmap[KEYS_PER_BATCH / 64];
  bool all = true;
  key_reader *reader = keys_open((words){NULL, 0}, &given.form);
  for (size_t n; (n = keys_batch(reader, batch));) {
    check(besom_contains_many(f, batch, n, bitmap), "querying");
    print_answers(batch, n, bitmap);
    for (size_t i = 0; i < n; i++) all &= bitmap[i / 64] >> (i % 64) & 1;
  }
  if (!keys_count(reader)) fail("no key: neither an argument nor a line of standard input");
  keys_close(reader);
  return all;
}

static int run(words args) {
  keys = (words){args.at + 1, args.n - 1};
  for (size_t i = 0; i < keys.n; i++) keys.at[i] = key_of_word(keys.at[i], &given.form);
  if (given.fail_closed) fail_with(answer_yes);
  besom_filter *f = filter_open(args.at[0]);
  bool all = keys.n ? query_words(f) : query_input(f);
  answers_finish(&given.answers, 0, 0);
  besom_free(f);
  return all ? EXIT_YES : EXIT_NO;
}

const verb has_verb = {"has", "query one or a few keys", &has_command, run};
