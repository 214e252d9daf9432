/* The besom command: builds, queries and maintains filters in files. */
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "fail.h"
#include "interrupt.h"
#include "verb.h"

const char *const program_name = "besom";

extern const verb build_verb, has_verb, query_verb, fix_verb, add_verb, remove_verb, merge_verb,
    grow_verb, info_verb, verify_verb, diff_verb, patch_verb, sign_verb, update_verb, judge_verb,
    publish_verb, sync_verb, db_verb, redis_verb, map_verb, advise_verb, size_verb, kinds_verb,
    demo_verb;

const verb *const verbs[] = {&build_verb,   &has_verb,   &query_verb, &fix_verb,    &add_verb,
                             &remove_verb,  &merge_verb, &grow_verb,  &info_verb,   &verify_verb,
                             &diff_verb,    &patch_verb, &sign_verb,  &update_verb, &judge_verb,
                             &publish_verb, &sync_verb,  &db_verb,    &redis_verb,  &map_verb,
                             &advise_verb,  &size_verb,  &kinds_verb, &demo_verb,   NULL};

static int print_help(void) {
  printf("usage: besom VERB [arguments]\n\n");
  for (size_t i = 0; verbs[i]; i++) printf("  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
  printf("\nbesom help VERB describes a verb. The file name - is standard input or output.\n"
         "After the argument --, words that start with - are no options.\n\n"
         "Exit codes: 0 success, or yes; 1 no, or key not found; 2 wrong command line;\n"
         "3 bad data, or I/O error; 4 a part of the keys took effect; 130 interrupted.\n");
  return 0;
}

static const verb *find_verb(const char *name) {
  for (size_t i = 0; verbs[i]; i++)
    if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
  usage_error("unknown verb '%s'", name);
}

static int print_verb_help(const char *name) {
  arguments_print_help(find_verb(name)->command);
  return 0;
}

/* Internal options: besom --manual VERB prints a page for man(1), for the build; besom --verbs
 * lists verbs and their options, for shell completion. */
static int print_manual(const char *name) {
  const verb *v = find_verb(name);
  arguments_print_manual(v->command, v->name, v->summary);
  return 0;
}

static int list_verbs(void) {
  for (size_t i = 0; verbs[i]; i++) {
    printf("%s", verbs[i]->name);
    for (size_t k = 0; k < verbs[i]->command->argument_count; k++)
      printf(" %s", verbs[i]->command->arguments[k].name);
    printf("\n");
  }
  return 0;
}

static int run(int argc, char **argv) {
  if (argc < 2) usage_error("missing verb");
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help();
  if (strcmp(name, "help") == 0) return argc > 2 ? print_verb_help(argv[2]) : print_help();
  if (strcmp(name, "--version") == 0) return printf("besom %s\n", besom_version()) < 0;
  if (strcmp(name, "--verbs") == 0) return list_verbs();
  if (strcmp(name, "--manual") == 0 && argc == 3) return print_manual(argv[2]);
  const verb *v = find_verb(name);
  static words given; /* static: verbs may keep pointers into it */
  given = arguments_parse(v->command, argc - 1, argv + 1);
  interrupt_watch();
  return v->run(given);
}

int main(int argc, char **argv) {
  int code = run(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) fail("cannot write to standard output");
  return code;
}
