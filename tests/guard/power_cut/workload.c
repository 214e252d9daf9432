#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "support/heap.h"
#include "support/keys.h"

enum {
  STEPS = 160,
  BATCH = 9,
  GROUP = 4096,      /* changes per group commit (BESOM_DURABLE_SYNC) */
  LONG_GROUP = 6000, /* changes without a sync: more than a group */
  MAX_CHANGES = STEPS * BATCH + LONG_GROUP,
};

/* ------------------------------------------------------------------ plans */

static void add_step(struct plan *plan, random_stream *random, enum step_kind kind, uint32_t n) {
  struct step step = {kind, plan->changes_n, n};
  uint32_t first = (uint32_t)random_below(random, WORK_KEYS);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t value = random_below(random, 3) ? 1 + random_next(random) % 1000000 : 0;
    uint32_t key = (first + 7 * i) % WORK_KEYS;
    if (key >= WORK_RECORDS) value = value != 0;
    plan->changes[plan->changes_n++] = (struct change){key, value};
  }
  plan->steps[plan->steps_n++] = step;
}

static enum step_kind random_kind(random_stream *random) {
  static const enum step_kind kinds[] = {STEP_BATCH, STEP_BATCH, STEP_ABORT, STEP_SYNC,
                                         STEP_QUERY, STEP_QUERY, STEP_REKEY, STEP_MIGRATE};
  uint64_t n = sizeof kinds / sizeof *kinds;
  uint64_t i = random_below(random, 3 * n);
  return i < n ? kinds[i] : STEP_CHANGE;
}

static uint32_t changes_of(enum step_kind kind) {
  if (kind == STEP_CHANGE) return 1;
  return kind == STEP_BATCH || kind == STEP_ABORT ? BATCH : 0;
}

struct plan plan_new(uint64_t seed, besom_durability durability) {
  random_stream random = {seed};
  uint32_t group = durability == BESOM_DURABLE_SYNC ? LONG_GROUP : 0;
  struct plan plan = {.steps = heap_array(STEPS + LONG_GROUP, sizeof *plan.steps),
                      .changes = heap_array(MAX_CHANGES, sizeof *plan.changes)};
  for (uint32_t i = 0; i < STEPS; i++) {
    enum step_kind kind = i % 50 == 40 ? STEP_REOPEN : random_kind(&random);
    add_step(&plan, &random, kind, changes_of(kind));
    for (uint32_t j = 0; i == STEPS / 2 && j < group; j++) add_step(&plan, &random, STEP_CHANGE, 1);
  }
  return plan;
}

void plan_free(struct plan *plan) {
  free(plan->steps);
  free(plan->changes);
}

/* ------------------------------------------------------------------ doing the work */

/* Some values are so long that LMDB gives them pages of their own. */
static size_t make_value(uint64_t number, uint8_t *out) {
  size_t len = number % 16 ? 8 + number % 30 : WORK_VALUE;
  memset(out, (int)(number & 255), len);
  memcpy(out, &number, 8);
  return len;
}

besom_status work_open(const struct setup *setup, const char *directory, besom_guard **out) {
  besom_store *store;
  besom_status status = setup->open(directory, &store);
  if (status != BESOM_OK) return status;
  /* A no list must always have room: the plan counts on it. */
  besom_config filter = {.kind = "aqf", .capacity = 40, .fpr = 0.05, .reserve = 0.5};
  besom_guard_config config = {
      .filter = &filter, .layout = setup->layout, .durability = setup->durability, .step_items = 5};
  status = besom_guard_open(&config, store, out);
  if (status != BESOM_OK) besom_store_close(store);
  return status;
}

static besom_u64_key key_of(uint32_t key) {
  return besom_u64(key_u64(key < WORK_RECORDS ? MEMBERS : MORE_MEMBERS, key));
}

static besom_status do_change(besom_guard *g, const struct change *c) {
  uint8_t value[WORK_VALUE];
  besom_u64_key key = key_of(c->key);
  besom_status status;
  if (c->key >= WORK_RECORDS)
    status =
        c->value ? besom_guard_no_put(g, key.bytes, 8) : besom_guard_no_delete(g, key.bytes, 8);
  else if (c->value)
    status = besom_guard_put(g, key.bytes, 8, value, make_value(c->value, value), 0);
  else
    status = besom_guard_delete(g, key.bytes, 8);
  return status == BESOM_NOT_FOUND && !c->value ? BESOM_OK : status;
}

static besom_status do_changes(besom_guard *g, const struct plan *plan, const struct step *step) {
  besom_status status = BESOM_OK;
  for (uint32_t i = 0; i < step->n && status == BESOM_OK; i++)
    status = do_change(g, &plan->changes[step->first + i]);
  return status;
}

static besom_status do_batch(besom_guard *g, const struct plan *plan, const struct step *step) {
  besom_status status = besom_guard_begin(g);
  if (status == BESOM_OK) status = do_changes(g, plan, step);
  if (status != BESOM_OK) return status;
  return step->kind == STEP_BATCH ? besom_guard_commit(g) : besom_guard_abort(g);
}

static besom_status query(besom_guard *g) {
  besom_status status = BESOM_NOT_FOUND;
  for (uint64_t i = 0; i < 60 && status == BESOM_NOT_FOUND; i++)
    status = besom_guard_get_u64(g, key_u64(NEGATIVES, i), NULL);
  return status == BESOM_NOT_FOUND ? BESOM_OK : BESOM_CORRUPT;
}

static besom_status reopen(const struct setup *setup, const char *directory, besom_guard **g) {
  besom_status status = besom_guard_close(*g);
  *g = NULL;
  return status == BESOM_OK ? work_open(setup, directory, g) : status;
}

static besom_status do_step(const struct setup *setup, const struct plan *plan,
                            const struct step *step, const char *directory, besom_guard **g) {
  besom_status status;
  switch (step->kind) {
  case STEP_CHANGE:
    return do_changes(*g, plan, step);
  case STEP_BATCH:
  case STEP_ABORT:
    return do_batch(*g, plan, step);
  case STEP_SYNC:
    return besom_guard_sync(*g);
  case STEP_REOPEN:
    return reopen(setup, directory, g);
  case STEP_REKEY:
    status = besom_guard_rekey(*g);
    return status == BESOM_BUSY ? BESOM_OK : status;
  case STEP_MIGRATE:
    return besom_guard_step(*g, 20, NULL);
  default:
    return query(*g);
  }
}

besom_status work_do(const struct setup *setup, const struct plan *plan, const char *directory) {
  besom_guard *g = NULL;
  besom_status status = work_open(setup, directory, &g), closed;
  for (uint32_t i = 0; i < plan->steps_n && status == BESOM_OK; i++) {
    status = do_step(setup, plan, &plan->steps[i], directory, &g);
    if (status == BESOM_OK) recorder_mark(i + 1);
  }
  closed = besom_guard_close(g);
  return status == BESOM_OK ? closed : status;
}

besom_status work_go_on(besom_guard *g, uint64_t seed, uint64_t values[WORK_KEYS]) {
  random_stream random = {seed};
  besom_status status = BESOM_OK;
  for (uint32_t i = 0; i < 20 && status == BESOM_OK; i++) {
    struct change c = {(uint32_t)random_below(&random, WORK_KEYS), 0};
    c.value = i % 3 ? 1 + random_next(&random) % 1000000 : 0;
    if (c.key >= WORK_RECORDS) c.value = c.value != 0;
    status = do_change(g, &c);
    values[c.key] = c.value;
  }
  return status;
}

/* ------------------------------------------------------------------ checking */

/* False if it cannot be read, or is found as a record. */
static bool read_no_key(besom_guard *g, besom_u64_key key, uint64_t *number) {
  besom_status status = besom_guard_no_has(g, key.bytes, 8);
  *number = status == BESOM_OK;
  if (status != BESOM_OK) return status == BESOM_NOT_FOUND;
  return besom_guard_get(g, key.bytes, 8, NULL) == BESOM_NOT_FOUND;
}

/* False if the value is damaged. */
static bool read_record(besom_guard *g, besom_u64_key key, uint64_t *number) {
  besom_bytes value;
  uint8_t expected[WORK_VALUE];
  *number = 0;
  besom_status status = besom_guard_get(g, key.bytes, 8, &value);
  if (status != BESOM_OK) return status == BESOM_NOT_FOUND;
  if (value.len >= 8) memcpy(number, value.data, 8);
  bool whole =
      value.len == make_value(*number, expected) && !memcmp(value.data, expected, value.len);
  besom_guard_release(g, &value);
  return whole;
}

static bool read_value(besom_guard *g, uint32_t key, uint64_t *number) {
  return key < WORK_RECORDS ? read_record(g, key_of(key), number)
                            : read_no_key(g, key_of(key), number);
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

const char *work_compare(besom_guard *g, const uint64_t values[WORK_KEYS]) {
  uint64_t members = 0, no_keys = 0, shown = 0, is;
  for (uint32_t k = 0; k < WORK_KEYS; k++) {
    if (!read_value(g, k, &is)) return "a key cannot be read, or its value is damaged";
    if (is != values[k]) return "a change is lost, or what was deleted is back";
    *(k < WORK_RECORDS ? &members : &no_keys) += is != 0;
  }
  besom_bytes none = {NULL, 0};
  if (besom_guard_scan(g, none, none, count_one, &shown) != BESOM_OK) return "a scan fails";
  if (shown != members) return "a scan shows other keys than the gets";
  besom_guard_statistics stats;
  if (besom_guard_stats(g, &stats) != BESOM_OK || stats.keys != members)
    return "the filter has another number of keys";
  if (stats.no_keys != no_keys) return "the no list has another number of keys";
  return query(g) == BESOM_OK ? NULL : "an absent key is found, or cannot be read";
}

/* With SYNC a power cut takes back no more changes than a group has. A delete of an absent key is
   no change, nor is a key of the no list that is on it already. */
static uint32_t first_of_last_group(const struct plan *plan, uint32_t safe, uint32_t marked) {
  bool present[WORK_KEYS];
  uint32_t first = marked;
  uint32_t *changes = heap_array(marked + 1, sizeof *changes);
  memset(present, 0, sizeof present);
  for (uint32_t i = 0; i < marked; i++) {
    const struct step *step = &plan->steps[i];
    for (uint32_t j = 0; step->kind != STEP_ABORT && j < step->n; j++) {
      const struct change *c = &plan->changes[step->first + j];
      bool stays = c->key >= WORK_RECORDS && c->value;
      changes[i] += stays ? !present[c->key] : c->value || present[c->key];
      present[c->key] = c->value != 0;
    }
  }
  for (uint32_t n = 0; first > safe && n + changes[first - 1] <= GROUP; first--)
    n += changes[first - 1];
  free(changes);
  return first;
}

/* The first step that a power cut may take back. */
static uint32_t first_unsafe(const struct setup *setup, const struct plan *plan, uint64_t marked) {
  uint32_t safe = 0;
  if (setup->durability == BESOM_DURABLE_PUT) return (uint32_t)marked;
  for (uint32_t i = 0; i < marked; i++) {
    enum step_kind kind = plan->steps[i].kind;
    if (kind == STEP_BATCH || kind == STEP_SYNC || kind == STEP_REOPEN) safe = i + 1;
  }
  return setup->durability == BESOM_DURABLE_SYNC ? first_of_last_group(plan, safe, (uint32_t)marked)
                                                 : safe;
}

/* Applies a step to values. Returns by how much the number of values that are not as in `is` has
   grown. */
static int follow(const struct plan *plan, uint32_t i, const uint64_t *is, uint64_t *values) {
  const struct step *step = &plan->steps[i];
  int more = 0;
  for (uint32_t j = 0; step->kind != STEP_ABORT && j < step->n; j++) {
    const struct change *c = &plan->changes[step->first + j];
    more -= values[c->key] != is[c->key];
    values[c->key] = c->value;
    more += values[c->key] != is[c->key];
  }
  return more;
}

/* The contents must be those after some step: at the earliest the last one that is safe, at the
   latest the one that was running. */
const char *work_check(const struct setup *setup, const struct plan *plan, besom_guard *g,
                       uint64_t marked, uint64_t values[WORK_KEYS]) {
  uint64_t is[WORK_KEYS];
  uint32_t low = first_unsafe(setup, plan, marked), i = 0;
  int wrong = 0;
  memset(values, 0, WORK_KEYS * sizeof *values);
  for (uint32_t k = 0; k < WORK_KEYS; k++) {
    if (!read_value(g, k, &is[k])) return "a key cannot be read, or its value is damaged";
    wrong += is[k] != 0;
  }
  for (; i < low; i++) wrong += follow(plan, i, is, values);
  for (; wrong && i <= marked && i < plan->steps_n; i++) wrong += follow(plan, i, is, values);
  if (wrong) return "the contents are of no moment that the guard promises";
  return work_compare(g, is);
}
