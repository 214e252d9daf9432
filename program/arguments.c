#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "fail.h"

/* ------------------------------------------------------------------ --help */

enum { TERMINAL_COLUMNS = 80, OPTION_COLUMN = 24 };

/* Prints a word after a space, or on a new line if it does not fit; returns the new column. */
static size_t print_word(const char *word, size_t len, size_t column, size_t indent) {
  if (column > indent && column + 1 + len >= TERMINAL_COLUMNS) {
    printf("\n%*s", (int)indent, "");
    column = indent;
  }
  printf("%s%.*s", column > indent ? " " : "", (int)len, word);
  return column + len + (column > indent);
}

/* Fills the words of a paragraph into lines that begin at column indent. */
static void print_paragraph(const char *text, size_t len, size_t indent) {
  size_t column = indent;
  for (const char *end = text + len; text < end;) {
    size_t word = strcspn(text, " \n");
    if (word > (size_t)(end - text)) word = (size_t)(end - text);
    if (word) column = print_word(text, word, column, indent);
    text += word + 1;
  }
  printf("\n");
}

void arguments_print_filled(const char *text, size_t indent) {
  print_paragraph(text, strlen(text), indent);
}

/* The length of the lines up to an empty one, or up to one that starts with a space. */
static size_t paragraph_length(const char *text) {
  size_t len = strcspn(text, "\n");
  while (text[len] && text[len + 1] != '\n' && text[len + 1] != ' ')
    len += 1 + strcspn(text + len + 1, "\n");
  return len;
}

/* Fills the paragraphs of a text; prints empty lines and those that start with a space verbatim. */
static void print_about(const char *text) {
  while (*text) {
    bool verbatim = *text == ' ' || *text == '\n';
    size_t len = verbatim ? strcspn(text, "\n") : paragraph_length(text);
    if (verbatim)
      printf("%.*s\n", (int)len, text);
    else
      print_paragraph(text, len, 0);
    text += len + (text[len] == '\n');
  }
}

static void print_option(const argument *a) {
  char left[80];
  int len = snprintf(left, sizeof left, "  %s%s%s", a->name, a->value ? " " : "",
                     a->value ? a->value : "");
  printf("%-*s", OPTION_COLUMN, left);
  if (len >= OPTION_COLUMN) printf("\n%*s", OPTION_COLUMN, "");
  print_paragraph(a->help, strlen(a->help), OPTION_COLUMN);
}

const char *const exit_codes_text =
    "0: success, or yes. 1: no, or key not found. 2: wrong command line. 3: failure: bad data, or "
    "an I/O error. 4: a part of the keys took effect, as the message says. 130: interrupted "
    "(SIGINT); 143: terminated (SIGTERM).";

void arguments_print_help(const command *c) {
  printf("usage: %s %s\n\n", program_name, c->usage);
  print_about(c->about);
  if (c->argument_count) printf("\nOptions:\n");
  for (size_t i = 0; i < c->argument_count; i++) print_option(&c->arguments[i]);
  if (c->exit_status) {
    printf("\nExit codes:\n");
    print_about(c->exit_status);
  }
  if (c->examples) printf("\nExamples:\n%s\n", c->examples);
}

/* ------------------------------------------------------------------ parsing */

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

static uint64_t parse_integer(const argument *a, const char *text, int base) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, base);
  uint64_t unit = base == 10 ? unit_of(end) : !*end;
  bool is_number = isxdigit((unsigned char)*text) && unit && !errno && number <= UINT64_MAX / unit;
  if (!is_number)
    usage_error("%s: '%s' is not %s", a->name, text,
                base == 16 ? "a hexadecimal number" : "a whole number (suffixes: k, M, G)");
  return number * unit;
}

static double parse_real(const argument *a, const char *text) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end) usage_error("%s: '%s' is not a number", a->name, text);
  return number;
}

/* A number, a fraction (1/256) or a percentage (0.4%). */
static double parse_rate(const argument *a, const char *text) {
  char *end;
  double number = strtod(text, &end);
  if (end != text && *end == '/') {
    const char *divisor = end + 1;
    number /= strtod(divisor, &end);
    if (end == divisor) end = (char *)(uintptr_t)divisor - 1;
  } else if (end != text && *end == '%') {
    number /= 100;
    end++;
  }
  if (end == text || *end)
    usage_error("%s: '%s' is not a rate, such as 0.004, 1/256 or 0.4%%", a->name, text);
  return number;
}

static void check_range(const argument *a, const char *text, double number) {
  /* Written as a negation so that it also rejects "nan". */
  if (!(number >= a->least && number <= a->most))
    usage_error("%s: %s is out of range: %.15g to %.15g", a->name, text, a->least, a->most);
}

static void add_word(words *list, const char *word) {
  list->at = reallocate(list->at, list->n + 1, sizeof *list->at);
  list->at[list->n++] = word;
}

static void take_value(const argument *a, const char *text) {
  if (a->text) *a->text = text;
  if (a->list) add_word(a->list, text);
  if (a->hex) *a->hex = parse_integer(a, text, 16);
  if (a->count) {
    *a->count = parse_integer(a, text, 10);
    check_range(a, text, (double)*a->count);
  }
  if (a->real) {
    *a->real = parse_real(a, text);
    check_range(a, text, *a->real);
  }
  if (a->rate) {
    *a->rate = parse_rate(a, text);
    check_range(a, text, *a->rate);
  }
}

/* Finds the option named by --name or --name=value; *value is the text after the =, or NULL. */
static const argument *find_argument(const command *c, const char *text, const char **value) {
  size_t len = strcspn(text, "=");
  *value = text[len] ? text + len + 1 : NULL;
  for (size_t i = 0; i < c->argument_count; i++)
    if (strlen(c->arguments[i].name) == len && memcmp(c->arguments[i].name, text, len) == 0)
      return &c->arguments[i];
  usage_error("unknown option '%s'; before words that start with -, put --", text);
}

/* Parses the option at argv[i]; returns the index of the last argument that belongs to it. */
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
  static words found; /* static: the words stay valid until the program ends */
  bool only_words = false;
  usage_error_verb(argv[0]);
  for (int i = 1; i < argc; i++) {
    bool is_word = only_words || argv[i][0] != '-' || !argv[i][1];
    if (!is_word && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
      arguments_print_help(c);
      exit(0);
    }
    if (is_word && found.n == c->most_words) usage_error("unexpected argument '%s'", argv[i]);
    if (is_word)
      add_word(&found, argv[i]);
    else if (strcmp(argv[i], "--") == 0)
      only_words = true;
    else
      i = take_argument(c, argc, argv, i);
  }
  if (found.n < c->least_words)
    usage_error("missing argument; usage: %s %s", program_name, c->usage);
  return found;
}

/* ------------------------------------------------------------------ manual pages */

enum { MANUAL_COLUMNS = 72 };
static const char manual_date[] = "2026-11-16"; /* of the last change of verbs or options */

/* Escapes what troff would interpret: backslashes, hyphens, and a dot or a quote at the start. */
static void print_escaped(const char *text, size_t len) {
  if (len && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '\\')
      fputs("\\e", stdout);
    else if (text[i] == '-')
      fputs("\\-", stdout);
    else
      putchar(text[i]);
  }
}

static bool ends_sentence(const char *word, size_t len) {
  return len > 1 && word[len - 1] == '.' && word[len - 2] != '.';
}

/* Prints a line that troff fills. A sentence ends its line: that is how troff knows it. */
static void print_filled(const char *text, size_t len) {
  size_t column = 0;
  for (const char *end = text + len; text < end;) {
    size_t word = strcspn(text, " \n");
    if (word > (size_t)(end - text)) word = (size_t)(end - text);
    if (column && column + 1 + word > MANUAL_COLUMNS) column = 0, printf("\n");
    if (column) column++, putchar(' ');
    print_escaped(text, word);
    column += word;
    text += word + 1;
    if (ends_sentence(text - word - 1, word) && text < end) column = 0, printf("\n");
  }
  printf("\n");
}

/* Prints a text; troff fills its lines, except those that start with a space. */
static void print_troff(const char *text) {
  bool filled = true;
  while (*text) {
    size_t len = strcspn(text, "\n");
    bool empty = !len, verbatim = *text == ' ';
    if (!empty && filled == verbatim) {
      filled = !filled;
      printf(filled ? ".fi\n" : ".nf\n");
    }
    if (empty)
      printf(filled ? ".PP\n" : "\n");
    else if (verbatim)
      print_escaped(text, len), printf("\n");
    else
      print_filled(text, len);
    text += len + (text[len] == '\n');
  }
  if (!filled) printf(".fi\n");
}

static void print_upper(const char *text) {
  for (; *text; text++) putchar(toupper((unsigned char)*text));
}

void arguments_print_manual(const command *c, const char *verb, const char *summary) {
  printf(".TH ");
  print_upper(program_name);
  putchar('-');
  print_upper(verb);
  printf(" 1 %s \"%s %s\"\n", manual_date, program_name, besom_version());
  printf(".SH NAME\n%s-%s \\- ", program_name, verb);
  print_troff(summary);
  printf(".SH SYNOPSIS\n.B %s\n", program_name);
  print_troff(c->usage);
  printf(".SH DESCRIPTION\n");
  print_troff(c->about);
  if (c->argument_count) printf(".SH OPTIONS\n");
  for (size_t i = 0; i < c->argument_count; i++) {
    const argument *a = &c->arguments[i];
    printf(a->value ? ".TP\n.BI \"" : ".TP\n.B ");
    print_escaped(a->name, strlen(a->name));
    if (a->value) printf(" \" %s", a->value);
    printf("\n");
    print_troff(a->help);
  }
  if (c->examples) {
    printf(".SH EXAMPLES\n");
    print_troff(c->examples);
  }
  printf(".SH EXIT STATUS\n");
  print_troff(c->exit_status ? c->exit_status : exit_codes_text);
}
