/* besom-bench: measures the filters of libbesom and tests claims about them. */
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "fail.h"
#include "harness/commands.h"

const char *const program_name = "besom-bench";

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"instructions", "count the instructions of every operation, by callgrind",
     instructions_command},
    {"micro", "measure every operation of filter kinds", micro_command},
    {"run", "test a claim, or list the claims", run_command},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int print_help(void) {
  printf("usage: besom-bench COMMAND [options]\n\n");
  for (int i = 0; i < COMMAND_COUNT; i++)
    printf("  %-12s %s\n", commands[i].name, commands[i].summary);
  printf("\nbesom-bench COMMAND --help prints the options of a command.\nExit codes: 0 "
         "success, 2 wrong command line, 3 failure.\n");
  return 0;
}

static int run(int argc, char **argv) {
  if (argc < 2) usage_error("a command is missing");
  const char *command = argv[1];
  if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) return print_help();
  if (strcmp(command, "--version") == 0) return printf("besom-bench %s\n", besom_version()) < 0;
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(commands[i].name, command) == 0) return commands[i].run(argc - 1, argv + 1);
  usage_error("unknown command '%s'", command);
}

int main(int argc, char **argv) {
  int code = run(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) fail("could not write the results");
  return code;
}
