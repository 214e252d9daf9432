/* besom kinds: lists the kinds of filters. */
#include <stdio.h>
#include <string.h>

#include "besom.h"
#include "json.h"
#include "verb.h"

static bool given_json;

static const argument arguments[] = {
    {"--json", NULL, "print one JSON object per line", .flag = &given_json}};

static const command kinds_command = {
    .usage = "kinds [--json]",
    .about = "Lists the kinds of filters and what each can do: insert and remove keys, adapt to "
             "reported false positives, work in front of a store, count copies, merge, grow, hold "
             "a value per key, be exact on a no list, iterate. docs/kinds.md describes them.",
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

static int run(words args) {
  (void)args;
  for (size_t i = 0; besom_kinds(i); i++) {
    if (given_json)
      print_json(besom_kinds(i));
    else
      print_kind(besom_kinds(i));
  }
  return 0;
}

const verb kinds_verb = {"kinds", "list the kinds of filters", &kinds_command, run};
