/*
 * What the worker of the playground calls (worker.js). There is one table and one race at a time.
 * Pointers are offsets in the memory of the module. Keys are bytes, not terminated.
 */
#include "race.h"
#include "table.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* -------------------------------------------------------------- the table */

static table *shown;

EXPORT(playground_table) int playground_table(uint32_t slots, uint32_t width, uint32_t seed) {
  table *fresh = NULL;
  besom_status status = table_create(slots, width, seed, &fresh);
  if (status != BESOM_OK) return status;
  table_free(shown);
  shown = fresh;
  return BESOM_OK;
}

EXPORT(playground_look) int playground_look(const char *key, size_t len, table_answer *out) {
  return table_look(shown, key, len, out);
}

EXPORT(playground_insert) int playground_insert(const char *key, size_t len) {
  return table_insert(shown, key, len);
}

EXPORT(playground_remove) int playground_remove(const char *key, size_t len) {
  return table_remove(shown, key, len);
}

EXPORT(playground_query) int playground_query(const char *key, size_t len) {
  return table_query(shown, key, len);
}

EXPORT(playground_totals) const table_totals *playground_totals(void) {
  static table_totals totals;
  table_total(shown, &totals);
  return &totals;
}

EXPORT(playground_describe)
void playground_describe(table_slot *slots, table_fingerprint *fingerprints) {
  table_describe(shown, slots, fingerprints);
}

EXPORT(playground_record) const char *playground_record(uint32_t i) {
  return table_record(shown, i);
}

/* -------------------------------------------------------------- the race */

static race *running;

EXPORT(playground_race)
int playground_race(double seed, double members, double universe, double skew, double attack,
                    double bits_per_key, double past_queries) {
  race_setup setup = {.seed = (uint64_t)seed,
                      .members = (uint64_t)members,
                      .universe = (uint64_t)universe,
                      .skew = skew,
                      .attack = attack,
                      .bits_per_key = bits_per_key,
                      .past_queries = (uint64_t)past_queries};
  race_free(running); /* before the next one takes its memory */
  running = NULL;
  return race_create(&setup, &running);
}

EXPORT(playground_race_run) void playground_race_run(double queries) {
  if (running) race_run(running, (uint64_t)queries);
}

EXPORT(playground_race_filters) unsigned playground_race_filters(void) {
  return race_filters();
}

EXPORT(playground_race_kind) const char *playground_race_kind(unsigned i) {
  return race_kind(i);
}

EXPORT(playground_race_read) const race_numbers *playground_race_read(unsigned i) {
  static race_numbers numbers;
  numbers = (race_numbers){.status = BESOM_INVALID}; /* the last race could not be made */
  if (running) race_read(running, i, &numbers);
  return &numbers;
}
