/*
 * Claim threads: an aqf made with BESOM_CONCURRENT, with as many threads as there are processors,
 * beside as many threads on plain filters of their own. Wall time is measured, in many short
 * rounds. Rounds in which a thread lost its processor to other programs do not count.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime, sysconf */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"
#include "harness/timing.h"

enum { WIDTH = 8, MAX_THREADS = 12, MAX_TRIES = 50 };
enum { OPERATIONS = 16384, BATCH_KEYS = 512, WARM_KEYS = 1 << 16 };

static const double load = 0.85, required_beside_writer = 0.85;
static const double required_of_independent = 0.9; /* of the speed of plain filters */
static const double allowed_nanoseconds = 15;      /* per call, above a plain filter */
/* share of a round in which a thread must have had a processor */
static const double undisturbed = 0.97;

/* ------------------------------------------------------------------ threads */

typedef struct gate {
  atomic_uint waiting; /* threads that have not arrived yet */
  atomic_uint working; /* threads that still have work */
} gate;

/* The work of a thread in a round, and its times. `first` is the number of its first key. */
typedef struct part {
  besom_filter *f;
  void (*act)(const struct part *p);
  uint64_t members, first;
  uint64_t keys[OPERATIONS];
  gate *gate;
  double begin, end, cpu;
} part;

static uint64_t new_key(const part *p, uint64_t i) {
  return random_at(BENCH_SEED + 1, p->first + i);
}

static void insert_keys(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i++)
    check(besom_insert_u64(p->f, p->keys[i]), "inserting in a thread");
}

static void insert_batches(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i += BATCH_KEYS)
    check(besom_insert_many_u64(p->f, p->keys + i, BATCH_KEYS, NULL), "inserting in a thread");
}

static void query_keys(const part *p) {
  uint64_t missed = 0;
  for (uint64_t i = 0; i < OPERATIONS; i++)
    missed += !besom_contains_u64(p->f, p->keys[i]) && i % 2;
  if (missed) fail("%llu members were missed", (unsigned long long)missed);
}

static void query_batches(const part *p) {
  uint64_t bitmap[BATCH_KEYS / 64];
  for (uint64_t i = 0; i < OPERATIONS; i += BATCH_KEYS) {
    check(besom_contains_many_u64(p->f, p->keys + i, BATCH_KEYS, bitmap), "querying in a thread");
    for (unsigned j = 0; j < BATCH_KEYS / 64; j++)
      if (~bitmap[j] & UINT64_C(0xAAAAAAAAAAAAAAAA)) fail("members were missed");
  }
}

static bool inserts(const part *p) {
  return p->act == insert_keys || p->act == insert_batches;
}

/* New keys to insert. Every second key to query is a member. */
static void make_keys(part *p) {
  key_stream members = stream_members(BENCH_SEED);
  for (uint64_t i = 0; i < OPERATIONS; i++) {
    p->keys[i] = new_key(p, i);
    if (!inserts(p) && i % 2)
      members.generate(&members, random_below(p->keys[i], p->members), 1, &p->keys[i]);
  }
}

/* Every situation begins with the filter in the cache, as far as it fits. */
static void warm_up(const part *p) {
  uint64_t keys[BATCH_KEYS], bitmap[BATCH_KEYS / 64];
  for (uint64_t i = 0; i < WARM_KEYS; i += BATCH_KEYS) {
    for (uint64_t j = 0; j < BATCH_KEYS; j++) keys[j] = random_at(BENCH_SEED + 2, p->first + i + j);
    check(besom_contains_many_u64(p->f, keys, BATCH_KEYS, bitmap), "querying in a thread");
  }
}

static void remove_keys(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i++) check(besom_remove_u64(p->f, p->keys[i]), "removing");
}

/* Runs as long as other threads work. */
static void change_keys(const part *p) {
  for (uint64_t i = 0; atomic_load_explicit(&p->gate->working, memory_order_relaxed); i++) {
    check(besom_insert_u64(p->f, new_key(p, i)), "inserting beside a reader");
    check(besom_remove_u64(p->f, new_key(p, i)), "removing beside a reader");
  }
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* All threads start together, when all have a processor. */
static void *run_part(void *ctx) {
  part *p = ctx;
  if (p->act != change_keys) {
    make_keys(p);
    warm_up(p);
  }
  atomic_fetch_sub(&p->gate->waiting, 1);
  while (atomic_load(&p->gate->waiting)) continue;
  p->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  p->begin = seconds_of(CLOCK_MONOTONIC);
  p->act(p);
  p->end = seconds_of(CLOCK_MONOTONIC);
  p->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - p->cpu;
  if (p->act != change_keys) atomic_fetch_sub(&p->gate->working, 1);
  if (inserts(p)) remove_keys(p);
  return NULL;
}

/* Runs the parts concurrently. The first `workers` of them end by themselves. */
static void run_round(part *parts, unsigned n, unsigned workers) {
  gate start = {n, workers};
  pthread_t threads[MAX_THREADS];
  for (unsigned i = 0; i < n; i++) {
    parts[i].gate = &start;
    if (pthread_create(&threads[i], NULL, run_part, &parts[i])) fail("cannot create a thread");
  }
  for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

static double seconds_of_part(const part *p) {
  return p->end - p->begin;
}

/* Whether a thread lost its processor, or the threads did not begin together. */
static bool was_disturbed(const part *parts, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    double allowed = (1 - undisturbed) * seconds_of_part(&parts[i]);
    if (parts[i].cpu < seconds_of_part(&parts[i]) - allowed ||
        fabs(parts[i].begin - parts[0].begin) > allowed)
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------ measurements */

typedef struct situation {
  const char *name;
  void (*act)(const part *p);
  unsigned workers;
  bool plain;           /* each worker has a plain filter of its own */
  bool beside_a_writer; /* a further thread changes the filter meanwhile */
} situation;

enum { MAX_SITUATIONS = 64 };

typedef struct schedule {
  situation at[MAX_SITUATIONS];
  samples speeds[MAX_SITUATIONS]; /* of all workers together, in million operations per second */
  unsigned n, filters;            /* filters: how many plain ones */
} schedule;

static void add(schedule *p, situation s) {
  p->at[p->n++] = s;
}

/* 1, 2, 4, 6 ... 12 threads, but not more than there are processors. */
static void add_threads(schedule *p, const char *name, void (*act)(const part *p)) {
  for (unsigned n = 1; n <= p->filters; n += 1 + (n > 1)) {
    add(p, (situation){.name = name, .act = act, .workers = n, .plain = true});
    add(p, (situation){.name = name, .act = act, .workers = n});
  }
}

static schedule make_schedule(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  schedule p = {.n = 0, .filters = processors < MAX_THREADS ? (unsigned)processors : MAX_THREADS};
  if (processors < 2) fail("threads cannot be compared on one processor");
  add_threads(&p, "insert", insert_keys);
  add_threads(&p, "insert_batch", insert_batches);
  add_threads(&p, "query", query_keys);
  add_threads(&p, "query_batch", query_batches);
  add(&p, (situation){.name = "query", .act = query_keys, .workers = 1, .beside_a_writer = true});
  return p;
}

/* The median speed of the situation; 0 if there is none. */
static double speed_of(const schedule *p, const situation *s) {
  for (unsigned i = 0; i < p->n; i++)
    if (p->at[i].act == s->act && p->at[i].workers == s->workers && p->at[i].plain == s->plain &&
        p->at[i].beside_a_writer == s->beside_a_writer)
      return p->speeds[i].count ? samples_median(&p->speeds[i]) : 0;
  return 0;
}

typedef struct filters {
  besom_filter *plain[MAX_THREADS], *concurrent;
  uint64_t members; /* in each */
} filters;

/* Returns false if the round does not count. */
static bool measure(const situation *s, const filters *f, uint64_t round, samples *speeds) {
  static part parts[MAX_THREADS + 1];
  unsigned threads = s->workers + s->beside_a_writer;
  for (unsigned i = 0; i < threads; i++) {
    parts[i].f = s->plain ? f->plain[i] : f->concurrent;
    parts[i].act = i < s->workers ? s->act : change_keys;
    parts[i].members = f->members;
    parts[i].first = (MAX_THREADS * round + i) << 20;
  }
  run_round(parts, threads, s->workers);
  double seconds = 0;
  for (unsigned i = 0; i < s->workers; i++)
    if (seconds_of_part(&parts[i]) > seconds) seconds = seconds_of_part(&parts[i]);
  if (was_disturbed(parts, threads)) return false;
  samples_add(speeds, 1e-6 * OPERATIONS * s->workers / seconds);
  return true;
}

static void create_filters(filters *f, uint64_t slots, unsigned plain) {
  driver d = driver_create();
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "aqf", .slots = slots, .width = WIDTH, .seed = seed};
  key_stream members = stream_members(BENCH_SEED);
  f->members = (uint64_t)(load * (double)slots);
  for (unsigned i = 0; i < plain; i++)
    f->plain[i] = drive_filled(&d, &config, &members, f->members);
  config.flags = BESOM_CONCURRENT;
  f->concurrent = drive_filled(&d, &config, &members, f->members);
  driver_free(&d);
}

static void measure_all(uint64_t slots, uint64_t rounds, schedule *p) {
  filters f;
  create_filters(&f, slots, p->filters);
  for (uint64_t round = 0; round < rounds; round++) {
    progress("round %llu of %llu", (unsigned long long)round + 1, (unsigned long long)rounds);
    for (unsigned i = 0; i < p->n; i++) {
      bool counts = false;
      for (unsigned tries = 0; !counts && tries < MAX_TRIES; tries++)
        counts = measure(&p->at[i], &f, round * MAX_TRIES + tries, &p->speeds[i]);
    }
  }
  check(besom_validate(f.concurrent, NULL), "validating the filter after concurrent changes");
  for (unsigned i = 0; i < p->filters; i++) besom_free(f.plain[i]);
  besom_free(f.concurrent);
}

/* ------------------------------------------------------------------ reporting */

/* What a situation is compared with. Ratios are 0 if they are not known. */
typedef struct comparison {
  double speed;
  double to_one;         /* to one worker alone on such a filter */
  double to_plain;       /* to as many workers on plain filters */
  double ns_above_plain; /* per call and thread */
} comparison;

static comparison compare(const schedule *p, const situation *s) {
  situation one = *s, plain = *s;
  one.workers = 1;
  plain.plain = true;
  one.beside_a_writer = plain.beside_a_writer = false;
  double n = s->workers, now = speed_of(p, s), alone = speed_of(p, &one),
         other = speed_of(p, &plain);
  comparison c = {.speed = now};
  if (now > 0 && alone > 0) c.to_one = now / alone;
  if (now > 0 && other > 0) c.to_plain = now / other;
  if (now > 0 && other > 0) c.ns_above_plain = 1e3 * n / now - 1e3 * n / other;
  return c;
}

static bool holds(const situation *s, const comparison *c) {
  if (s->beside_a_writer) return c->to_one >= required_beside_writer;
  if (s->workers == 1) return c->to_plain > 0 && c->ns_above_plain <= allowed_nanoseconds;
  return c->to_plain >= required_of_independent;
}

/* Inserts into one filter: the most threads, in relation to as many times one thread. */
static void add_scaling(const schedule *p, findings *found) {
  const samples *one = NULL, *most = NULL;
  unsigned threads = 0;
  for (unsigned i = 0; i < p->n; i++) {
    const situation *s = &p->at[i];
    if (s->act != insert_keys || s->plain) continue;
    if (s->workers == 1) one = &p->speeds[i];
    if (s->workers > threads) most = &p->speeds[i], threads = s->workers;
  }
  for (size_t i = 0; i < one->count && i < most->count; i++)
    add_factor(found, "aqf-threads-linear", most->values[i] / one->values[i] / threads);
}

static findings run(bool full, report *numbers) {
  schedule p = make_schedule();
  findings found = {0};
  measure_all(full ? UINT64_C(1) << 26 : UINT64_C(1) << 20, full ? 101 : 51, &p);
  for (unsigned i = 0; i < p.n; i++) {
    const situation *s = &p.at[i];
    comparison c = compare(&p, s);
    report_cell(numbers, "%s%s", s->name, s->beside_a_writer ? " beside a writer" : "");
    report_cell(numbers, "%s", s->plain ? "no" : "yes");
    report_cell(numbers, "%u", s->workers);
    report_cell(numbers, "%.2f", c.speed);
    report_cell(numbers, "%.2f", c.to_one);
    report_cell(numbers, "%.2f", c.to_plain);
    report_cell(numbers, "%.1f", c.ns_above_plain);
    report_cell(numbers, "%zu", p.speeds[i].count);
    report_cell(numbers, "%s", s->plain ? "" : holds(s, &c) ? "yes" : "no");
    if (!s->plain) finding(&found, holds(s, &c));
  }
  add_scaling(&p, &found);
  for (unsigned i = 0; i < p.n; i++) samples_free(&p.speeds[i]);
  return found;
}

static const char *const columns[] = {"operation",          "concurrent",    "threads",
                                      "million_per_second", "to_one_thread", "to_plain",
                                      "ns_above_plain",     "rounds",        "holds"};

static const plot plots[] = {{.title = "Threads that share a filter",
                              .x = "threads",
                              .y = "million_per_second",
                              .series = "operation",
                              .where = "concurrent=yes",
                              .x_label = "threads",
                              .y_label = "million per second, all threads together"},
                             {0}};

const claim threads_claim = {
    .name = "threads",
    .title = "Speed with several threads",
    .source = "adaptiveqf: Figure 4",
    .paper = "With 2^26 slots and 1 to 12 threads the inserts of AQF and QF scale almost "
             "linearly with the number of threads; the AQF is slightly faster.",
    .statement = "n threads on one concurrent filter reach 0.9 of the speed of n threads on plain "
                 "filters of their own, by single calls and by batches; on one thread a call takes "
                 "at most 15 ns more than on a plain filter; a reader beside a writer has 0.85 of "
                 "its speed",
    .differs = "As many threads as the machine has processors, up to 12; 2^20 slots (full: 2^26), "
               "load factor 0.85; batches of 512 keys. Our qf is not thread-safe; plain aqf take "
               "its place, one per thread, which share nothing: so the ratio to them does not "
               "depend on what two processors of the machine have in common.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
