#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

static _Noreturn void print_help(const command *c) {
  printf("usage: besom-bench %s\n\n%s\n", c->usage, c->about);
  if (c->argument_count) printf("\n");
  for (size_t i = 0; i < c->argument_count; i++) {
    const argument *a = &c->arguments[i];
    char left[40];
    snprintf(left, sizeof left, "%s %s", a->name, a->value ? a->value : "");
    printf("  %-16s %s\n", left, a->help);
  }
  exit(0);
}

static uint64_t parse_whole(const argument *a, const char *text, int base) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, base);
  if (!isxdigit((unsigned char)*text) || *end || errno) usage_error("%s: '%s' is not a number", a->name, text);
  return number;
}

static double parse_real(const argument *a, const char *text) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end) usage_error("%s: '%s' is not a number", a->name, text);
  return number;
}

static void check_range(const argument *a, const char *text, double number) {
  /* The negation also catches "nan". */
  if (!(number >= a->least && number <= a->most))
    usage_error("%s: %s is not between %.15g and %.15g", a->name, text, a->least, a->most);
}

static void take_value(const argument *a, const char *text) {
  if (a->text) *a->text = text;
  if (a->hex) *a->hex = parse_whole(a, text, 16);
  if (a->count) {
    *a->count = parse_whole(a, text, 10);
    check_range(a, text, (double)*a->count);
  }
  if (a->real) {
    *a->real = parse_real(a, text);
    check_range(a, text, *a->real);
  }
}

static const argument *find_argument(const command *c, const char *name) {
  for (size_t i = 0; i < c->argument_count; i++)
    if (strcmp(c->arguments[i].name, name) == 0) return &c->arguments[i];
  usage_error("unknown argument '%s'", name);
}

const char *arguments_parse(const command *c, int argc, char **argv) {
  const char *word = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) print_help(c);
    if (argv[i][0] != '-') {
      if (word || !c->takes_word) usage_error("unexpected argument '%s'", argv[i]);
      word = argv[i];
      continue;
    }
    const argument *a = find_argument(c, argv[i]);
    if (a->flag) {
      *a->flag = true;
    } else {
      if (i + 1 == argc) usage_error("%s needs a value", a->name);
      take_value(a, argv[++i]);
    }
  }
  return word;
}
