#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

static _Noreturn void print_help(const command *c) {
  printf("usage: %s %s\n\n%s\n", program_name, c->usage, c->about);
  if (c->argument_count) printf("\n");
  for (size_t i = 0; i < c->argument_count; i++) {
    const argument *a = &c->arguments[i];
    char left[40];
    snprintf(left, sizeof left, "%s %s", a->name, a->value ? a->value : "");
    printf("  %-18s %s\n", left, a->help);
  }
  if (c->more) printf("\n%s\n", c->more);
  exit(0);
}

static uint64_t unit_of(const char *suffix) {
  if (!*suffix) return 1;
  if (suffix[1]) return 0;
  switch (*suffix) {
  case 'k':
    return 1000;
  case 'M':
    return 1000 * 1000;
  case 'G':
    return 1000 * 1000 * 1000;
  default:
    return 0;
  }
}

static uint64_t parse_whole(const argument *a, const char *text, int base) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, base);
  uint64_t unit = base == 10 ? unit_of(end) : !*end;
  bool is_number = isxdigit((unsigned char)*text) && unit && !errno && number <= UINT64_MAX / unit;
  if (!is_number) usage_error("%s: '%s' is not a number", a->name, text);
  return number * unit;
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

static void add_word(words *list, const char *word) {
  list->at = realloc(list->at, (list->n + 1) * sizeof *list->at);
  if (!list->at) fail("no memory for the command line");
  list->at[list->n++] = word;
}

static void take_value(const argument *a, const char *text) {
  if (a->text) *a->text = text;
  if (a->list) add_word(a->list, text);
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

/* The argument that the text names, as --name or --name=value; *value is set to what is behind the =. */
static const argument *find_argument(const command *c, const char *text, const char **value) {
  size_t len = strcspn(text, "=");
  *value = text[len] ? text + len + 1 : NULL;
  for (size_t i = 0; i < c->argument_count; i++)
    if (strlen(c->arguments[i].name) == len && memcmp(c->arguments[i].name, text, len) == 0)
      return &c->arguments[i];
  usage_error("unknown argument '%s'", text);
}

/* Takes the argument at argv[i]; returns the place of the last word that belongs to it. */
static int take_argument(const command *c, int argc, char **argv, int i) {
  const char *value;
  const argument *a = find_argument(c, argv[i], &value);
  if (a->flag) {
    if (value) usage_error("%s takes no value", a->name);
    *a->flag = true;
    return i;
  }
  if (!value && ++i == argc) usage_error("%s needs a value", a->name);
  take_value(a, value ? value : argv[i]);
  return i;
}

words arguments_parse(const command *c, int argc, char **argv) {
  static words
      found; /* they live as long as the program: its verb need not keep them, nor free them */
  bool only_words = false;
  for (int i = 1; i < argc; i++) {
    bool is_word = only_words || argv[i][0] != '-' || !argv[i][1];
    if (!is_word && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) print_help(c);
    if (is_word && found.n == c->most_words) usage_error("unexpected argument '%s'", argv[i]);
    if (is_word)
      add_word(&found, argv[i]);
    else if (strcmp(argv[i], "--") == 0)
      only_words = true;
    else
      i = take_argument(c, argc, argv, i);
  }
  if (found.n < c->least_words) usage_error("something is missing: %s %s", program_name, c->usage);
  return found;
}

/* ------------------------------------------------------------------ manual pages */

/* What begins a line with a dot or a quote would be a request to troff, and a backslash an escape. */
static void print_troff(const char *text) {
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    line_start = *text == '\n';
    if (*text == '\\')
      fputs("\\e", stdout);
    else if (*text == '-')
      fputs("\\-", stdout);
    else
      putchar(*text);
  }
}

static void print_section(const char *title, const char *before, const char *text,
                          const char *after) {
  printf(".SH %s\n%s", title, before);
  print_troff(text);
  printf("\n%s", after);
}

void arguments_print_manual(const command *c, const char *verb, const char *summary) {
  printf(".TH %s-%s 1\n.SH NAME\n%s-%s \\- ", program_name, verb, program_name, verb);
  print_troff(summary);
  printf("\n.SH SYNOPSIS\n.B %s\n", program_name);
  print_troff(c->usage);
  printf("\n");
  print_section("DESCRIPTION", "", c->about, "");
  if (c->argument_count) printf(".SH OPTIONS\n");
  for (size_t i = 0; i < c->argument_count; i++) {
    printf(".TP\n.B ");
    print_troff(c->arguments[i].name);
    if (c->arguments[i].value) printf(" \\fI%s\\fR", c->arguments[i].value);
    printf("\n");
    print_troff(c->arguments[i].help);
    printf("\n");
  }
  if (c->more) print_section("EXAMPLES", ".nf\n", c->more, ".fi\n");
  printf(".SH EXIT STATUS\n0 done, or yes; 1 no, or not found; 2 wrong command line; 3 bad data, "
         "or a file could not "
         "be read or written.\n");
}
