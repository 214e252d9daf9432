/*
 * Claim guard-latency: how long gets take while a guard migrates. One thread asks; three quarters
 * of its keys are present, so that the median get is one of a present key. Another thread puts
 * keys, some hundred per second, and with each put the guard does a part of the migration. Phases:
 * no migration, growth, rekey, and an adversary, who asks only for absent keys and repeats those
 * that took so long that the store must have been read. The guard rekeys by itself then.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/tested_database.h"
#include "harness/timing.h"
#include "workloads/key_list.h"

typedef enum phase { STEADY, GROWTH, REKEY, ADVERSARY, PHASES } phase;

static const char *const phase_names[PHASES] = {"steady", "growth", "rekey", "adversary"};
static const char *const database_names[] = {"LMDB", "RocksDB"};

/* The bars, relative to the steady phase. */
static const double max_p50 = 1.5, max_p99 = 3, min_throughput = 0.5;

enum { TIMED = 32, COLLECTED = 1 << 16 }; /* the times of 4 gets in 32 are kept */

typedef struct phase_times {
  samples gets, puts, windows; /* seconds; windows: gets per second in each */
  uint64_t rekeys, growths;
  double bits_per_key; /* the most */
} phase_times;

typedef struct experiment {
  tested_database database;
  uint64_t keys;    /* put so far */
  uint64_t absent;  /* asked so far */
  double seconds;   /* least length of a phase */
  double window;    /* length of a window in seconds */
  long pause;       /* of the writer between two puts, in nanoseconds */
  samples reads;    /* times of gets of present keys in the steady phase */
  double read_time; /* the adversary takes gets that take longer for false positives, */
  key_list found;   /* and repeats their keys, */
  uint64_t repeats; /* so often */
  bool stop;        /* tells the writer to end */
  bool migrated;    /* the writer saw that the first migration of the phase has ended */
  phase_times phases[PHASES];
} experiment;

static besom_guard_statistics stats_of(const experiment *e) {
  besom_guard_statistics stats;
  check(besom_guard_stats(e->database.guard, &stats), "statistics of a guard");
  return stats;
}

static uint64_t key_number(key_stream stream, uint64_t i) {
  uint64_t key;
  stream.generate(&stream, i, 1, &key);
  return key;
}

/* ------------------------------------------------------------------ the writer */

typedef struct writer {
  experiment *experiment;
  phase_times *times;
  uint64_t migrations; /* started before the phase */
} writer;

static uint64_t migrations_of(const besom_guard_statistics *s) {
  return s->rekeys + s->growths;
}

static void look(writer *w) {
  experiment *e = w->experiment;
  besom_guard_statistics now = stats_of(e);
  double bits = 8.0 * (double)now.filter_bytes / (double)now.keys;
  if (bits > w->times->bits_per_key) w->times->bits_per_key = bits;
  /* Under attack the next migration may have begun already. */
  uint64_t started = migrations_of(&now) - w->migrations;
  __atomic_store_n(&e->migrated, started > 1 || (started && !now.migrating), __ATOMIC_RELAXED);
}

static void *put_keys(void *arg) {
  writer *w = arg;
  experiment *e = w->experiment;
  while (!__atomic_load_n(&e->stop, __ATOMIC_RELAXED)) {
    double start = wall_seconds();
    tested_database_put(&e->database, key_number(stream_members(BENCH_SEED), e->keys++));
    samples_add(&w->times->puts, wall_seconds() - start);
    look(w);
    nanosleep(&(struct timespec){.tv_nsec = e->pause}, NULL);
  }
  return NULL;
}

/* ------------------------------------------------------------------ the reader */

/* The next key to ask: a member or a fresh absent key; the adversary's are found or fresh. */
static uint64_t next_key(experiment *e, phase p, uint64_t i, uint64_t members) {
  if (p != ADVERSARY && i % 4)
    return key_number(stream_members(BENCH_SEED), random_at(BENCH_SEED, i) % members);
  if (p == ADVERSARY && i % 2 && e->found.count)
    return e->found.keys[e->repeats++ % e->found.count];
  return key_number(stream_absent(BENCH_SEED), e->absent++);
}

/* All phases read the clock as often, so that their throughputs can be compared. */
static void ask(experiment *e, phase p, uint64_t i, uint64_t members, samples *gets) {
  uint64_t key = next_key(e, p, i, members);
  double start = wall_seconds();
  tested_database_get(&e->database, key);
  double time = wall_seconds() - start;
  if (i % TIMED < 4) samples_add(gets, time);
  if (i % TIMED == 1 && p == STEADY) samples_add(&e->reads, time);
  if (p == ADVERSARY && i % 2 == 0 && time > e->read_time && e->found.count < COLLECTED)
    key_list_add(&e->found, key);
}

/* Until a migration has ended. */
static bool goes_on(const experiment *e, phase p, double elapsed) {
  if (elapsed < e->seconds) return true;
  if (p == STEADY || elapsed > 20 * e->seconds) return false;
  return !__atomic_load_n(&e->migrated, __ATOMIC_RELAXED);
}

static void ask_for_a_while(experiment *e, phase p, uint64_t members, phase_times *t) {
  uint64_t in_window = 0;
  double begin = wall_seconds(), window = begin;
  for (uint64_t i = 0;; i++, in_window++) {
    ask(e, p, i, members, &t->gets);
    if (i % 64) continue;
    double now = wall_seconds();
    if (now - window < e->window) continue;
    samples_add(&t->windows, (double)in_window / (now - window));
    window = now;
    in_window = 0;
    progress("%s, %s: %.0f s", database_names[e->database.config.database], phase_names[p],
             now - begin);
    if (!goes_on(e, p, now - begin)) return;
  }
}

/* ------------------------------------------------------------------ phases */

static void put_until_it_grows(experiment *e) {
  uint64_t growths = stats_of(e).growths;
  tested_database_begin(&e->database);
  while (stats_of(e).growths == growths)
    tested_database_put(&e->database, key_number(stream_members(BENCH_SEED), e->keys++));
  tested_database_commit(&e->database);
}

static void finish_migration(const experiment *e) {
  bool finished = false;
  while (!finished) check(besom_guard_step(e->database.guard, 4096, &finished), "a step");
}

static void run_phase(experiment *e, phase p) {
  phase_times *t = &e->phases[p];
  besom_guard_statistics before = stats_of(e);
  if (p == GROWTH) put_until_it_grows(e);
  if (p == REKEY) check(besom_guard_rekey(e->database.guard), "starting to rekey");
  pthread_t thread;
  writer w = {e, t, migrations_of(&before)};
  uint64_t members = e->keys;
  e->stop = e->migrated = false;
  if (pthread_create(&thread, NULL, put_keys, &w)) fail("cannot create a thread");
  ask_for_a_while(e, p, members, t);
  __atomic_store_n(&e->stop, true, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  finish_migration(e);
  besom_guard_statistics after = stats_of(e);
  t->rekeys = after.rekeys - before.rekeys;
  t->growths = after.growths - before.growths;
  if (p == STEADY) e->read_time = samples_median(&e->reads) / 2;
}

/* ------------------------------------------------------------------ the report */

static double least(const samples *s) {
  double result = s->count ? s->values[0] : 0;
  for (size_t i = 1; i < s->count; i++)
    if (s->values[i] < result) result = s->values[i];
  return result;
}

static void report_phase(const experiment *e, phase p, findings *found, report *numbers) {
  const phase_times *t = &e->phases[p], *steady = &e->phases[STEADY];
  double p50 = samples_median(&t->gets), p99 = samples_quantile(&t->gets, 0.99);
  double p50_ratio = p50 / samples_median(&steady->gets);
  double p99_ratio = p99 / samples_quantile(&steady->gets, 0.99);
  double slowest = least(&t->windows) / samples_median(&steady->windows);
  bool holds = p50_ratio <= max_p50 && p99_ratio <= max_p99 && slowest >= min_throughput;
  report_cell(numbers, "%s", database_names[e->database.config.database]);
  report_cell(numbers, "%s", phase_names[p]);
  report_cell(numbers, "%.2f", 1e6 * p50);
  report_cell(numbers, "%.2f", 1e6 * p99);
  report_cell(numbers, "%.2f", p50_ratio);
  report_cell(numbers, "%.2f", p99_ratio);
  report_cell(numbers, "%.0f", samples_median(&t->windows));
  report_cell(numbers, "%.2f", slowest);
  report_cell(numbers, "%.2f", 1e3 * samples_median(&t->puts));
  report_cell(numbers, "%.2f", 1e3 * samples_quantile(&t->puts, 0.99));
  report_cell(numbers, "%llu", (unsigned long long)t->growths);
  report_cell(numbers, "%llu", (unsigned long long)t->rekeys);
  report_cell(numbers, "%.1f", t->bits_per_key);
  report_cell(numbers, "%s", p == STEADY ? "" : holds ? "yes" : "no");
  if (p == STEADY) return;
  finding(found, p50_ratio <= max_p50);
  finding(found, p99_ratio <= max_p99);
  finding(found, slowest >= min_throughput);
}

/* The filter grows for keys only. */
static void judge_growth(const experiment *e, findings *found) {
  finding(found, e->phases[GROWTH].growths == 1);
  finding(found, e->phases[REKEY].growths == 0 && e->phases[REKEY].rekeys >= 1);
  finding(found, e->phases[ADVERSARY].growths == 0 && e->phases[ADVERSARY].rekeys >= 1);
}

static void run_database(database_kind database, bool full, findings *found, report *numbers) {
  uint64_t keys = full ? 250000 : 10000;
  experiment *e = allocate(1, sizeof *e);
  *e = (experiment){
      .seconds = full ? 10 : 1, .window = full ? 1 : 0.25, .pause = 4 * 1000 * 1000, .keys = keys};
  tested_database_open(&e->database, &(database_config){.database = database,
                                                        .kind = "aqf",
                                                        .slots = keys / 8 * 9,
                                                        .live = true,
                                                        .durability = BESOM_DURABLE_PUT});
  progress("filling");
  tested_database_fill(&e->database, 0, keys);
  finish_migration(e);
  for (phase p = STEADY; p < PHASES; p++) run_phase(e, p);
  for (phase p = STEADY; p < PHASES; p++) report_phase(e, p, found, numbers);
  judge_growth(e, found);
  tested_database_close(&e->database);
  for (phase p = STEADY; p < PHASES; p++) {
    samples_free(&e->phases[p].gets);
    samples_free(&e->phases[p].puts);
    samples_free(&e->phases[p].windows);
  }
  samples_free(&e->reads);
  key_list_free(&e->found);
  free(e);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  run_database(LMDB, full, &found, numbers);
  run_database(ROCKSDB, full, &found, numbers);
  return found;
}

static const char *const columns[] = {
    "database",      "phase",           "get_p50_us",     "get_p99_us", "p50_of_steady",
    "p99_of_steady", "gets_per_second", "slowest_window", "put_p50_ms", "put_p99_ms",
    "growths",       "rekeys",          "bits_per_key",   "holds"};

static const plot plots[] = {{.title = "Time of a get",
                              .x = "phase",
                              .y = "get_p50_us,get_p99_us",
                              .panels = "database",
                              .x_label = "phase",
                              .y_label = "microseconds",
                              .log_y = true,
                              .bars = true},
                             {.title = "Throughput of the slowest window",
                              .x = "phase",
                              .y = "slowest_window",
                              .series = "database",
                              .x_label = "phase",
                              .y_label = "gets per second, of the steady phase",
                              .bars = true},
                             {0}};

const claim guard_latency_claim = {
    .name = "guard-latency",
    .title = "Latency of a guard's queries while a writer works",
    .source = "besom",
    .statement = "while a guard grows, rekeys, or is attacked by an adversary who collects false "
                 "positives, the median of a get is at most 1.5 times, and its p99 at most 3 times "
                 "that of the steady state; no window has less than half the throughput; and the "
                 "filter grows for keys only",
    .differs =
        "On disk, every put durable, 4 ms between puts. Three of four gets are for present keys, "
        "those of the adversary only for absent ones. 250,000 keys and windows of a second; quick "
        "10^4 keys and a quarter of a second.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
