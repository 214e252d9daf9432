#define _DEFAULT_SOURCE 1 /* open_memstream */

#include "build_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

/* In quotes if a shell would interpret it. */
static void print_word(FILE *out, const char *word) {
  static const char harmless[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=+@%";
  if (*word && !word[strspn(word, harmless)]) {
    fputs(word, out);
    return;
  }
  fputc('\'', out);
  for (; *word; word++)
    if (*word == '\'')
      fputs("'\\''", out);
    else
      fputc(*word, out);
  fputc('\'', out);
}

static void print_option(FILE *out, const char *name, const char *value) {
  fprintf(out, " %s ", name);
  print_word(out, value);
}

static void print_files(FILE *out, const char *option, words files) {
  for (size_t i = 0; i < files.n; i++) print_option(out, option, files.at[i]);
}

/* The name of the first set without directories and extension. */
static void print_target(FILE *out, words set, const char *extension) {
  const char *path = set.n ? set.at[0] : "-", *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  char target[200];
  int len = (int)strcspn(name, ".");
  if (!len || *name == '-') name = "set", len = 3;
  snprintf(target, sizeof target, "%.*s%s", len < 150 ? len : 150, name, extension);
  fputc(' ', out);
  print_word(out, target);
}

static void print_form(FILE *out, const key_form *form) {
  if (form->format) print_option(out, "--format", form->format);
  if (form->null) fputs(" --null", out);
  if (form->length_prefixed) fputs(" --length-prefixed", out);
  if (form->lowercase) fputs(" --lowercase", out);
  if (form->comments) print_option(out, "--comments", form->comments);
}

/* A size is rounded up, so that a kind of this size exists. */
static void print_size(FILE *out, const build_plan *p) {
  if (p->by_fpr)
    fprintf(out, " --fpr %.4g", p->fpr);
  else
    fprintf(out, " --bits %.2f", ceil(100 * p->bits_per_key) / 100);
  if (p->capacity) fprintf(out, " --capacity %llu", (unsigned long long)p->capacity);
}

/* besom db load reads one file. */
static void print_database(FILE *out, const build_plan *p) {
  if (p->set.n > 1) {
    fputs("cat", out);
    for (size_t i = 0; i < p->set.n; i++) fputc(' ', out), print_word(out, p->set.at[i]);
    fputs(" | ", out);
  }
  fputs("besom db load", out);
  print_target(out, p->set, ".db");
  if (p->set.n == 1) fputc(' ', out), print_word(out, p->set.at[0]);
  if (p->has_tabs) fputs(" --separator ''", out);
  fprintf(out, " --kind %s", p->kind);
  print_size(out, p);
}

/* The no list is the log: those of its keys that are in the set count as yes. */
static void print_build(FILE *out, const build_plan *p) {
  fputs("besom build", out);
  print_target(out, p->set, ".besom");
  print_files(out, "--yes", p->set);
  if (p->adaptation == ADAPTS_FROM_NO_LIST) {
    print_files(out, "--no", p->queries);
    fputs(" --on-conflict yes", out);
  }
  fprintf(out, " --kind %s", p->kind);
  print_size(out, p);
  if (p->hash) fprintf(out, " --hash %s", p->hash);
}

char *build_line(const build_plan *plan) {
  char *line = NULL;
  size_t len;
  FILE *out = open_memstream(&line, &len);
  if (!out) fail("out of memory: a command line");
  if (plan->adaptation == ADAPTS_WITH_STORE)
    print_database(out, plan);
  else
    print_build(out, plan);
  print_form(out, plan->form);
  if (fclose(out) != 0) fail("out of memory: a command line");
  return line;
}
