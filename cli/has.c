/* besom has: queries keys of the command line. */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "verb.h"

static bool quiet;

static const argument arguments[] = {
    {"--quiet", NULL, "print nothing; use the exit code", .flag = &quiet}};

static const command has_command = {
    .usage = "has FILTER KEY... [--quiet]",
    .about =
        "Queries keys. Prints, for each key, yes (the key may be in the set) or no (it is "
        "certainly not), a tab and the key. The exit code is 0 if all answers are yes, else 1.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .examples = "  besom has blocked.besom example.com && echo blocked",
};

static int run(words args) {
  besom_filter *f = filter_open(args.at[0]);
  bool all = true;
  for (size_t i = 1; i < args.n; i++) {
    bool yes = besom_contains(f, args.at[i], strlen(args.at[i]));
    all &= yes;
    if (!quiet) printf("%s\t%s\n", yes ? "yes" : "no", args.at[i]);
  }
  besom_free(f);
  return all ? EXIT_YES : EXIT_NO;
}

const verb has_verb = {"has", "query one or a few keys", &has_command, run};
