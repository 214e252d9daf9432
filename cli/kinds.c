/* besom kinds: lists the kinds of filters. */
#include <stdio.h>

#include "besom.h"
#include "report.h"
#include "verb.h"

static bool json;

static const argument arguments[] = {
    {"--json", NULL, "print one JSON object per line", .flag = &json}};

static const command kinds_command = {
    .usage = "kinds [--json]",
    .about = "Lists the kinds of filters and the operations that each supports.",
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
  printf("{\"kind\":\"%s\",\"summary\":\"%s\"", kind->name, kind->summary);
  for (size_t i = 0; i < COUNT_OF(abilities); i++)
    printf(",\"%s\":%s", abilities[i].name,
           kind->abilities & abilities[i].ability ? "true" : "false");
  printf("}\n");
}

static void print_table(void) {
  const char *columns[COUNT_OF(abilities) + 2] = {"kind"};
  for (size_t i = 0; i < COUNT_OF(abilities); i++) columns[i + 1] = abilities[i].name;
  columns[COUNT_OF(abilities) + 1] = "summary";
  report *r = report_create(columns, COUNT_OF(columns), false);
  for (size_t i = 0; besom_kinds(i); i++) {
    report_cell(r, "%s", besom_kinds(i)->name);
    for (size_t k = 0; k < COUNT_OF(abilities); k++)
      report_cell(r, "%s", besom_kinds(i)->abilities & abilities[k].ability ? "yes" : "-");
    report_cell(r, "%s", besom_kinds(i)->summary);
  }
  report_finish(r);
}

static int run(words args) {
  (void)args;
  for (size_t i = 0; json && besom_kinds(i); i++) print_json(besom_kinds(i));
  if (!json) print_table();
  return 0;
}

const verb kinds_verb = {"kinds", "list the kinds of filters", &kinds_command, run};
