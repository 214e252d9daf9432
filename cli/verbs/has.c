/* besom has: queries keys of the command line, or of standard input. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "files.h"
#include "lists/domains.h"
#include "publish/asked.h"
#include "signed/trust.h"
#include "verb.h"

static struct {
  bool quiet, fail_closed;
  const char *fixes;
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
    FIXES_ARGUMENT(given.fixes),
    KEY_FORM_ARGUMENTS(given.form),
    TRUST_ARGUMENTS,
};

static const command has_command = {
    .usage = "has FILTER [options] [--] [KEY...]",
    .about =
        "Queries keys. Prints, for each key, yes (the key may be in the set) or no (it is "
        "certainly not), a tab and the key. Without KEY it reads the keys from standard input, "
        "which other users of the machine cannot see; use that for secrets. Put -- before keys "
        "that start with -. Of a list of domains (besom build --domains), a name and its parents "
        "are asked, and \"by\" names the entry that answers it. With --fixes, keys that you "
        "reported are answered no \"by local fix\". FILTER may be a directory: the copy of a "
        "published set (besom sync).\n\n"
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

static void print_answer(besom_bytes key, bool yes, uint64_t fixed, const besom_bytes *entry) {
  uint64_t bitmap = yes;
  given.answers.tag = true;
  if (!given.quiet)
    answers_print(&given.answers, &given.form, &(answer_batch){&key, 1, &bitmap, entry, &fixed});
}

/* After a failure, with --fail-closed: yes to the keys that have no answer yet. */
static int answer_yes(void) {
  for (; answered < keys.n; answered++)
    print_answer((besom_bytes){keys.at[answered], strlen(keys.at[answered])}, true, 0, NULL);
  answers_finish(&given.answers, 0, 0);
  return EXIT_YES;
}

/* Asks one key, and prints the answer. */
static bool ask(asked_target f, besom_bytes key) {
  char name[DOMAIN_BYTES];
  besom_bytes entry = key;
  bool domains = asked_is_domains(f);
  bool yes = domains ? domain_query(f.filter, key, name, &entry) : asked_contains(f, key);
  bool fixed = yes && asked_is_fixed(f, &entry, domains);
  print_answer(key, yes && !fixed, fixed, domains ? &entry : NULL);
  return yes && !fixed;
}

static bool query_words(asked_target f) {
  bool all = true;
  for (; answered < keys.n; answered++)
    all &= ask(f, (besom_bytes){keys.at[answered], strlen(keys.at[answered])});
  return all;
}

static bool query_input(asked_target f) {
  besom_bytes key;
  bool all = true;
  key_reader *reader = keys_open((words){NULL, 0}, &given.form);
  while (keys_next(reader, &key)) all &= ask(f, key);
  if (!keys_count(reader)) fail("no key: neither an argument nor a line of standard input");
  keys_close(reader);
  return all;
}

static int run(words args) {
  keys = (words){args.at + 1, args.n - 1};
  for (size_t i = 0; i < keys.n; i++) keys.at[i] = key_of_word(keys.at[i], &given.form);
  if (given.fail_closed) fail_with(answer_yes);
  asked_target f = asked_open(args.at[0], given.fixes);
  bool all = keys.n ? query_words(f) : query_input(f);
  answers_finish(&given.answers, 0, 0);
  asked_close(f);
  return all ? EXIT_YES : EXIT_NO;
}

const verb has_verb = {"has", "query one or a few keys", &has_command, run};
