/* besom-bench run: lists the claims, or puts one to the test. */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "claims/claims.h"
#include "fail.h"
#include "verbs.h"

static void list_claims(void) {
  for (size_t i = 0; claims[i]; i++)
    printf("%-12s %s (%s)\n", claims[i]->name, claims[i]->statement, claims[i]->source);
}

static const claim *find_claim(const char *name) {
  for (size_t i = 0; claims[i]; i++)
    if (strcmp(claims[i]->name, name) == 0) return claims[i];
  usage_error("there is no claim '%s'; besom-bench run lists them", name);
}

static void test_claim(const claim *c, bool full, bool csv) {
  report *numbers = report_create(c->columns, c->column_count, csv);
  bool holds = c->run(full, numbers);
  progress_end();
  if (!csv) printf("%s: %s (%s)\n\n", c->name, c->statement, c->source);
  report_finish(numbers);
  if (!csv) printf("\n%s\n", holds ? "holds" : "does not hold");
}

int run_verb(int argc, char **argv) {
  bool full = false, csv = false;
  const argument arguments[] = {
      {"--full", NULL, "at full size: minutes, not seconds", .flag = &full},
      {"--csv", NULL, "print nothing but the numbers, as CSV", .flag = &csv},
  };
  words claim_name = arguments_parse(
      &(command){
          .usage = "run [CLAIM] [options]",
          .about = "Puts a claim to the test: prints its statement, its numbers, and whether it holds.\n"
                   "Without a claim: lists them. The exit code is 0 whether it holds or not.",
          .arguments = arguments,
          .argument_count = sizeof arguments / sizeof *arguments,
          .most_words = 1,
      },
      argc, argv);
  if (claim_name.n)
    test_claim(find_claim(claim_name.at[0]), full, csv);
  else
    list_claims();
  return 0;
}
