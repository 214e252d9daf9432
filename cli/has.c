/* besom has: one or a few keys. */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "verb.h"

static bool quiet;

static const argument arguments[] = {
    {"--quiet", NULL, "print nothing: the exit code tells", .flag = &quiet}};

static const command has_command = {
    .usage = "has FILTER KEY...",
    .about = "Tells for each key whether it may be in the set: yes, or certainly not: no. The exit "
             "code is 0 if all may\n"
             "be, else 1.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .more = "  besom has blocked.besom example.com && echo blocked",
};

static int run(words words) {
  besom_filter *f = filter_open(words.at[0]);
  bool all = true;
  for (size_t i = 1; i < words.n; i++) {
    bool may_be = besom_contains(f, words.at[i], strlen(words.at[i]));
    all &= may_be;
    if (!quiet) printf("%s\t%s\n", may_be ? "yes" : "no", words.at[i]);
  }
  besom_free(f);
  return all ? EXIT_YES : EXIT_NO;
}

const verb has_verb = {"has", "ask for one or a few keys", &has_command, run};
