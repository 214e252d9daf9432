/*
 * sidecar_model [--seed S --amount STEPS]: a part of `make soak`.
 *
 * Random transactions of an application with a sidecar, against a table of what it has: commits,
 * aborts, unknown outcomes, forgotten ends, reports, checkpoints, rebuilds, crashes, and databases
 * that go back to an earlier state, as after a power cut. No committed key is ever denied.
 */
#define _DEFAULT_SOURCE 1
#include "sidecar_database.h"
#include "support/part.h"

enum { STEPS = 150, STEP_KEYS = 30, KEYS = 600, KEPT = 4 };

typedef struct run {
  app app;
  random_stream random;
  database *kept[KEPT]; /* earlier states */
  bool is_static;       /* most transactions make the filter stale */
} run;

/* One of eight transactions has no change, and one only deletes. */
static void tell_some(run *r, database *txn) {
  uint64_t first = random_below(&r->random, KEYS - STEP_KEYS), form = random_below(&r->random, 8);
  if (form == 0) return;
  for (uint64_t k = first; k < first + STEP_KEYS; k++)
    if (form > 1 && random_below(&r->random, 2))
      app_put(&r->app, txn, k);
    else
      app_delete(&r->app, txn, k);
}

static void keep_state(run *r) {
  size_t i = 0;
  while (i < KEPT && r->kept[i]) i++;
  if (i == KEPT) i = random_below(&r->random, KEPT);
  db_free(r->kept[i]);
  r->kept[i] = db_copy(r->app.now);
}

/* The commit failed, and the transaction is there after all, or it is not. */
static void end_unknown(run *r, database *txn, bool told) {
  app *a = &r->app;
  if (random_below(&r->random, 2)) keep_state(r);
  if (a->config.log) assert_int_equal(besom_sidecar_log_to(a->s, txn), BESOM_OK);
  if (random_below(&r->random, 2))
    app_become(a, txn);
  else
    db_free(txn);
  if (told) assert_int_equal(besom_sidecar_end(a->s, BESOM_SIDECAR_UNKNOWN), BESOM_OK);
}

static void transact(run *r) {
  app *a = &r->app;
  database *txn = app_begin(a);
  tell_some(r, txn);
  switch (random_below(&r->random, 8)) {
  case 0:
    app_abort(a, txn);
    break;
  case 1:
    end_unknown(r, txn, true);
    break;
  case 2:
    end_unknown(r, txn, false); /* the next begin ends it */
    break;
  default:
    app_commit(a, txn);
  }
}

static void report_some(run *r) {
  app *a = &r->app;
  uint64_t point = besom_sidecar_read_point(a->s);
  database *snapshot = db_copy(a->now);
  if (random_below(&r->random, 2)) transact(r); /* the report comes after another transaction */
  for (uint64_t k = 0; k < KEYS; k += 1 + random_below(&r->random, 5)) {
    besom_u64_key key = key_of(k);
    if (!snapshot->has[k]) besom_sidecar_report(a->s, key.bytes, 8, point);
  }
  db_free(snapshot);
}

/* Restarts, perhaps with the database as it was some time ago. */
static void restart(run *r) {
  app *a = &r->app;
  bool crash = random_below(&r->random, 2), back = random_below(&r->random, 3) == 0;
  if (crash)
    app_crash(a);
  else
    app_close(a);
  if (back && r->kept[0]) {
    size_t i = random_below(&r->random, KEPT);
    if (r->kept[i]) app_become(a, db_copy(r->kept[i]));
  }
  /* Without a log only the stamp tells that the database went back. */
  a->config.stamp = a->config.log ? 0 : random_next(&r->random) | 1;
  assert_int_equal(app_try_open(a), BESOM_OK);
}

static void step(run *r) {
  app *a = &r->app;
  switch (random_below(&r->random, 24)) {
  case 0:
    besom_sidecar_sync(a->s); /* BUSY if an end was forgotten */
    break;
  case 1:
    besom_sidecar_rebuild(a->s);
    break;
  case 8:
  case 9:
  case 10:
  case 11:
    if (r->is_static) besom_sidecar_rebuild(a->s);
    transact(r);
    break;
  case 2:
  case 3:
    restart(r);
    break;
  case 4:
    keep_state(r);
    break;
  case 5:
  case 6:
  case 7:
    report_some(r);
    break;
  default:
    transact(r);
  }
  assert_no_false_negatives(a);
}

/* Without a log only a filter that grows by itself can be used, or one that is built once. */
static void choose_kind(run *r, uint64_t first) {
  bool with_log = first & 1, is_scaling = !with_log || first & 4;
  r->is_static = first & 8;
  r->app.filter.kind = r->is_static ? "ribbon" : is_scaling ? "scaling" : "aqf";
  r->app.filter.options = is_scaling && !r->is_static ? "base=aqf,forget=yes" : "forget=yes";
}

static uint64_t run_episode(uint64_t first) {
  run *r = heap_array(1, sizeof *r);
  *r = (run){.random = {mix64(first)}};
  app_init(&r->app, first & 1);
  choose_kind(r, first);
  r->app.config.keep_removed = first & 2;
  r->app.config.checkpoint_items = 300 + random_below(&r->random, 900);
  app_open(&r->app, BESOM_SIDECAR_NEW);
  for (int i = 0; i < STEPS; i++) step(r);
  app_done(&r->app);
  for (size_t i = 0; i < KEPT; i++) db_free(r->kept[i]);
  free(r);
  return STEPS;
}

static struct { uint64_t seed, amount, steps, runs; } part;

static void no_committed_key_is_denied(void **state) {
  (void)state;
  for (; part.steps < part.amount; part.runs++)
    part.steps += run_episode((part.seed << 24) + part.runs);
}

/* The quick test has all sixteen ways of an episode. */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_committed_key_is_denied)};
  part.seed = part_number(argc, argv, "--seed", 1);
  part.amount = part_number(argc, argv, "--amount", 16 * STEPS);
  part.runs = part_number(argc, argv, "--first", 0);
  if (cmocka_run_group_tests(tests, NULL, NULL)) {
    fprintf(stderr, "only this episode: --seed %llu --amount 1 --first %llu\n",
            (unsigned long long)part.seed, (unsigned long long)part.runs);
    return 1;
  }
  printf("{\"steps\": %llu, \"sidecars\": %llu}\n", (unsigned long long)part.steps,
         (unsigned long long)part.runs);
  return 0;
}
