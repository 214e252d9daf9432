/*
 * playground-numbers: what the playground shows, computed natively. A test compares both.
 *
 *   playground-numbers race SEED MEMBERS UNIVERSE SKEW ATTACK BITS_PER_KEY PAST QUERIES
 *   playground-numbers table SLOTS WIDTH SEED
 *
 * table reads one operation per line: "insert KEY", "remove KEY" or "query KEY".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "race.h"
#include "table.h"

static int fail(besom_status status) {
  fprintf(stderr, "%s\n", besom_strerror(status));
  return 1;
}

/* -------------------------------------------------------------- race */

static void print_numbers(const race *r, unsigned i) {
  race_numbers numbers;
  race_read(r, i, &numbers);
  const double *n = (const double *)&numbers;
  printf("%s{\"kind\": \"%s\", \"numbers\": [", i ? ",\n " : "[", race_kind(i));
  for (size_t k = 0; k < sizeof numbers / sizeof *n; k++) printf("%s%.17g", k ? ", " : "", n[k]);
  printf("]}");
}

static int print_race(char **argument) {
  race_setup setup = {.seed = strtoull(argument[0], NULL, 10),
                      .members = strtoull(argument[1], NULL, 10),
                      .universe = strtoull(argument[2], NULL, 10),
                      .skew = strtod(argument[3], NULL),
                      .attack = strtod(argument[4], NULL),
                      .bits_per_key = strtod(argument[5], NULL),
                      .past_queries = strtoull(argument[6], NULL, 10)};
  race *r;
  besom_status status = race_create(&setup, &r);
  if (status != BESOM_OK) return fail(status);
  race_run(r, strtoull(argument[7], NULL, 10));
  for (unsigned i = 0; i < race_filters(); i++) print_numbers(r, i);
  printf("]\n");
  race_free(r);
  return 0;
}

/* -------------------------------------------------------------- table */

static void print_integers(const char *name, const void *data, size_t size) {
  const int32_t *n = data;
  printf("\"%s\": [", name);
  for (size_t i = 0; i < size / sizeof *n; i++) printf("%s%d", i ? ", " : "", n[i]);
  printf("]");
}

static int print_table(const table *t) {
  static table_slot slots[TABLE_MAX_SLOTS];
  static table_fingerprint fingerprints[TABLE_MAX_SLOTS];
  table_totals totals;
  table_total(t, &totals);
  if (totals.room > TABLE_MAX_SLOTS) return fail(BESOM_INVALID);
  table_describe(t, slots, fingerprints);
  printf("{");
  print_integers("totals", &totals, sizeof totals);
  printf(",\n ");
  print_integers("slots", slots, (size_t)totals.room * sizeof *slots);
  printf(",\n ");
  print_integers("fingerprints", fingerprints, (size_t)totals.fingerprints * sizeof *fingerprints);
  printf("}\n");
  return 0;
}

static besom_status run_operation(table *t, char *line) {
  line[strcspn(line, "\n")] = 0;
  char *key = strchr(line, ' ');
  if (!key) return BESOM_INVALID;
  *key++ = 0;
  if (strcmp(line, "insert") == 0) return table_insert(t, key, strlen(key));
  if (strcmp(line, "remove") == 0) return table_remove(t, key, strlen(key));
  return table_query(t, key, strlen(key));
}

static int run_table(char **argument) {
  table *t;
  char line[128];
  besom_status status = table_create((uint32_t)strtoul(argument[0], NULL, 10),
                                     (uint32_t)strtoul(argument[1], NULL, 10),
                                     (uint32_t)strtoul(argument[2], NULL, 10), &t);
  if (status != BESOM_OK) return fail(status);
  while (fgets(line, sizeof line, stdin)) run_operation(t, line);
  int code = print_table(t);
  table_free(t);
  return code;
}

int main(int argc, char **argv) {
  if (argc == 10 && strcmp(argv[1], "race") == 0) return print_race(argv + 2);
  if (argc == 5 && strcmp(argv[1], "table") == 0) return run_table(argv + 2);
  fprintf(stderr,
          "usage: %s race SEED MEMBERS UNIVERSE SKEW ATTACK BITS_PER_KEY PAST QUERIES\n"
          "       %s table SLOTS WIDTH SEED <operations\n",
          argv[0], argv[0]);
  return 2;
}
