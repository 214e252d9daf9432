/* besom kinds: lists the kinds of filters, or their options. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "json.h"
#include "verb.h"

static struct { bool json, options; } given;

static const argument arguments[] = {
    {"--options", NULL, "list the options of every kind instead", .flag = &given.options},
    {"--json", NULL, "print one JSON object per line", .flag = &given.json},
};

static const command kinds_command = {
    .usage = "kinds [--options] [--json]",
    .about = "Lists the kinds of filters and what each can do: insert and remove keys, adapt to "
             "reported false positives, work in front of a store, count copies, merge, grow, hold "
             "a value per key, be exact on a no list, iterate. docs/kinds.md describes them. "
             "With --options, what --options of besom build takes: for each option of a kind its "
             "values, the default and the meaning; last, the options of every kind.",
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
};

static const struct {
  unsigned ability;
  const char *name;
} abilities[] = {
    {BESOM_CAN_INSERT, "insert"},   {BESOM_CAN_REMOVE, "remove"}, {BESOM_CAN_ADAPT, "adapt"},
    {BESOM_CAN_MATCH, "store"},     {BESOM_CAN_COUNT, "count"},   {BESOM_CAN_MERGE, "merge"},
    {BESOM_CAN_RESIZE, "grow"},     {BESOM_CAN_VALUE, "value"},   {BESOM_CAN_BUILD_NO, "no_list"},
    {BESOM_CAN_ITERATE, "iterate"},
};

static void print_json(const besom_kind_info *kind) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "kind", kind->name);
  json_text(&j, "summary", kind->summary);
  for (size_t i = 0; i < COUNT_OF(abilities); i++)
    json_flag(&j, abilities[i].name, kind->abilities & abilities[i].ability);
  json_close(&j);
}

/* The name; then the summary, and below it what the kind can do. */
static void print_kind(const besom_kind_info *kind) {
  enum { INDENT = 18 };
  char can[256] = "";
  for (size_t i = 0; i < COUNT_OF(abilities); i++)
    if (kind->abilities & abilities[i].ability) {
      strcat(can, *can ? ", " : "can: ");
      strcat(can, abilities[i].name);
    }
  printf("%-*s", INDENT, kind->name);
  arguments_print_filled(kind->summary, INDENT);
  if (!*can) return;
  printf("%*s", INDENT, "");
  arguments_print_filled(can, INDENT);
}

/* -------------------------------------------------------------- options */

enum { VALUES_BYTES = 160 };

/* Large powers of two as such. */
static void print_limit(uint64_t n, char text[32]) {
  int log = 63;
  while (log > 0 && n >> log == 0) log--;
  if (log >= 20 && n == UINT64_C(1) << log)
    snprintf(text, 32, "2^%d", log);
  else
    snprintf(text, 32, "%" PRIu64, n);
}

static const char *values_of(const besom_option_info *o, char text[VALUES_BYTES]) {
  static const char *const forms[] = {
      [BESOM_OPTION_ODD] = ", odd", [BESOM_OPTION_POWER] = ", a power of two"};
  if (o->words) return o->words;
  if (o->type == BESOM_OPTION_KIND) return "any other kind that can insert";
  if (o->type == BESOM_OPTION_TEXT) return "a text";
  char most[32];
  print_limit(o->most, most);
  if (o->most == UINT64_MAX)
    snprintf(text, VALUES_BYTES, "%" PRIu64 " and up", o->least);
  else
    snprintf(text, VALUES_BYTES, "%" PRIu64 " to %s%s", o->least, most,
             o->type == BESOM_OPTION_NUMBER ? "" : forms[o->type]);
  return text;
}

static void print_option_json(const char *kind, const besom_option_info *o, const char *values,
                              const char *standard) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "kind", kind);
  json_text(&j, "option", o->name);
  json_text(&j, "values", values);
  json_text(&j, "default", standard);
  json_text(&j, "meaning", o->meaning);
  json_close(&j);
}

/* kind NULL: those of every kind. */
static void print_options(const char *kind) {
  const besom_option_info *o;
  for (size_t i = 0; (o = besom_kind_option(kind, i)); i++) {
    char text[VALUES_BYTES], first[VALUES_BYTES];
    const char *values = values_of(o, text), *standard = o->standard;
    if (!standard) {
      snprintf(first, sizeof first, "%.*s", (int)strcspn(values, ","), values);
      standard = first;
    }
    if (given.json) {
      print_option_json(kind, o, values, standard);
      continue;
    }
    if (i == 0) printf("%s\n", kind ? kind : "every kind");
    printf("  %s=%s (default: %s)\n    ", o->name, values, standard);
    arguments_print_filled(o->meaning, 4);
  }
}

static int run(words args) {
  (void)args;
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)); i++) {
    if (given.options)
      print_options(kind->name);
    else if (given.json)
      print_json(kind);
    else
      print_kind(kind);
  }
  if (given.options) print_options(NULL);
  return 0;
}

const verb kinds_verb = {"kinds", "list the kinds of filters", &kinds_command, run};
