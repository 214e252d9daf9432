/* besom-bench: measures the filters of libbesom, and the claims that are made about them. */
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "fail.h"
#include "harness/commands.h"

const char *const program_name = "besom-bench";

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} verbs[] = {
    {"micro", "time of every operation of some kinds of filters", micro_verb},
    {"run", "put a claim to the test, or list the claims there are", run_verb},
};

enum { VERB_COUNT = sizeof verbs / sizeof *verbs };

static int print_help(void) {
  printf("usage: besom-bench VERB [options]\n\n");
  for (int i = 0; i < VERB_COUNT; i++) printf("  %-6s %s\n", verbs[i].name, verbs[i].summary);
  printf("\nbesom-bench VERB --help tells the options of a verb.\n"
         "Exit codes: 0 done, 2 wrong command line, 3 something failed.\n");
  return 0;
}

static int run(int argc, char **argv) {
  if (argc < 2) usage_error("a verb is missing");
  const char *verb = argv[1];
  if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) return print_help();
  if (strcmp(verb, "--version") == 0) return printf("besom-bench %s\n", besom_version()) < 0;
  for (int i = 0; i < VERB_COUNT; i++)
    if (strcmp(verbs[i].name, verb) == 0) return verbs[i].run(argc - 1, argv + 1);
  usage_error("unknown verb '%s'", verb);
}

int main(int argc, char **argv) {
  int code = run(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) fail("could not write the results");
  return code;
}
