/*
 * Claim threads: an aqf made with BESOM_CONCURRENT, with as many threads as there are processors.
 * Wall time is measured, in many short rounds. Rounds in which a thread lost its processor to other
 * programs do not count.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime, sysconf */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"
#include "harness/timing.h"

enum { WIDTH = 8, MAX_THREADS = 12, OPERATIONS = 4000, MAX_TRIES = 50 };

static const double load = 0.85, required_per_thread = 0.85, required_beside_writer = 0.85;
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
  gate *gate;
  double begin, end, cpu;
} part;

static uint64_t new_key(const part *p, uint64_t i) {
  return random_at(BENCH_SEED + 1, p->first + i);
}

static void insert_keys(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i++)
    check(besom_insert_u64(p->f, new_key(p, i)), "inserting in a thread");
  atomic_fetch_sub(&p->gate->working, 1);
}

static void remove_keys(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i++)
    check(besom_remove_u64(p->f, new_key(p, i)), "removing");
}

/* Every second key is a member. */
static void query_keys(const part *p) {
  key_stream members = stream_members(BENCH_SEED);
  uint64_t missed = 0;
  for (uint64_t i = 0; i < OPERATIONS; i++) {
    uint64_t key = new_key(p, i);
    if (i % 2) members.generate(&members, random_below(key, p->members), 1, &key);
    missed += !besom_contains_u64(p->f, key) && i % 2;
  }
  atomic_fetch_sub(&p->gate->working, 1);
  if (missed) fail("%llu members were missed", (unsigned long long)missed);
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
  atomic_fetch_sub(&p->gate->waiting, 1);
  while (atomic_load(&p->gate->waiting)) continue;
  p->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  p->begin = seconds_of(CLOCK_MONOTONIC);
  p->act(p);
  p->end = seconds_of(CLOCK_MONOTONIC);
  p->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - p->cpu;
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

static bool was_disturbed(const part *parts, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    if (parts[i].cpu < undisturbed * (parts[i].end - parts[i].begin)) return true;
  return false;
}

/* ------------------------------------------------------------------ measurements */

typedef struct situation {
  const char *name;
  bool plain; /* on the filter without the flag */
  void (*act)(const part *p);
  unsigned workers;
  bool beside_a_writer; /* a further thread changes the filter meanwhile */
  /* required speed relative to one worker alone on the shared filter; 0: no requirement */
  double wanted;
} situation;

enum { MAX_SITUATIONS = 24 };

typedef struct schedule {
  situation at[MAX_SITUATIONS];
  samples speeds[MAX_SITUATIONS];
  unsigned n;
} schedule;

static void add(schedule *p, situation s) {
  p->at[p->n++] = s;
}

/* 1, 2, 4, 6 ... 12 threads, but not more than there are processors. */
static void add_threads(schedule *p, const char *name, void (*act)(const part *p),
                        unsigned processors) {
  add(p, (situation){.name = name, .plain = true, .act = act, .workers = 1});
  add(p, (situation){.name = name, .act = act, .workers = 1});
  for (unsigned n = 2; n <= processors && n <= MAX_THREADS; n += 2)
    add(p, (situation){.name = name, .act = act, .workers = n, .wanted = required_per_thread * n});
}

static schedule make_schedule(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  schedule p = {.n = 0};
  if (processors < 2) fail("threads cannot be compared on one processor");
  add_threads(&p, "insert", insert_keys, (unsigned)processors);
  add_threads(&p, "query", query_keys, (unsigned)processors);
  add(&p, (situation){.name = "query beside a writer",
                      .act = query_keys,
                      .workers = 1,
                      .beside_a_writer = true,
                      .wanted = required_beside_writer});
  return p;
}

/* The speed of one thread that does the same alone. */
static double alone(const schedule *p, const situation *s) {
  for (unsigned i = 0; i < p->n; i++)
    if (p->at[i].act == s->act && p->at[i].workers == 1 && !p->at[i].plain &&
        !p->at[i].beside_a_writer)
      return samples_median(&p->speeds[i]);
  return 0;
}

/*
 * Measures the speed of all workers together, in million operations per second. Returns false if
 * the round does not count.
 */
static bool measure(const situation *s, besom_filter *f, uint64_t members, uint64_t round,
                    samples *speeds) {
  part parts[MAX_THREADS];
  unsigned threads = s->workers + s->beside_a_writer;
  for (unsigned i = 0; i < threads; i++)
    parts[i] = (part){.f = f,
                      .act = i < s->workers ? s->act : change_keys,
                      .members = members,
                      .first = (MAX_THREADS * round + i) << 20};
  run_round(parts, threads, s->workers);
  double seconds = 0;
  for (unsigned i = 0; i < s->workers; i++)
    if (parts[i].end - parts[0].begin > seconds) seconds = parts[i].end - parts[0].begin;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->act == insert_keys) remove_keys(&parts[i]);
  if (was_disturbed(parts, threads)) return false;
  samples_add(speeds, 1e-6 * OPERATIONS * s->workers / seconds);
  return true;
}

static void measure_all(uint64_t slots, uint64_t rounds, schedule *p) {
  driver d = driver_create();
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "aqf", .slots = slots, .width = WIDTH, .seed = seed};
  key_stream members = stream_members(BENCH_SEED);
  uint64_t n = (uint64_t)(load * (double)slots);
  besom_filter *plain = drive_filled(&d, &config, &members, n);
  config.flags = BESOM_CONCURRENT;
  besom_filter *f = drive_filled(&d, &config, &members, n);
  for (uint64_t round = 0; round < rounds; round++) {
    progress("round %llu of %llu", (unsigned long long)round + 1, (unsigned long long)rounds);
    for (unsigned i = 0; i < p->n; i++) {
      bool counts = false;
      for (unsigned tries = 0; !counts && tries < MAX_TRIES; tries++)
        counts = measure(&p->at[i], p->at[i].plain ? plain : f, n, round * MAX_TRIES + tries,
                         &p->speeds[i]);
    }
  }
  check(besom_validate(f, NULL), "validating the filter after concurrent changes");
  besom_free(plain);
  besom_free(f);
  driver_free(&d);
}

static findings run(bool full, report *numbers) {
  schedule p = make_schedule();
  findings found = {0};
  measure_all(full ? UINT64_C(1) << 26 : UINT64_C(1) << 20, full ? 101 : 51, &p);
  for (unsigned i = 0; i < p.n; i++) {
    const situation *s = &p.at[i];
    double speed = samples_median(&p.speeds[i]), one = alone(&p, s);
    bool enough = one > 0 && speed >= s->wanted * one;
    report_cell(numbers, "%s", s->name);
    report_cell(numbers, "%s", s->plain ? "no" : "yes");
    report_cell(numbers, "%u", s->workers);
    report_cell(numbers, "%.2f", speed);
    report_cell(numbers, "%.2f", one > 0 ? speed / one : 0);
    report_cell(numbers, "%zu", p.speeds[i].count);
    report_cell(numbers, "%s", s->wanted == 0 ? "" : enough ? "yes" : "no");
    if (s->wanted > 0) finding(&found, enough);
  }
  for (unsigned i = 0; i < p.n; i++) samples_free(&p.speeds[i]);
  return found;
}

static const char *const columns[] = {
    "operation", "concurrent", "threads", "million_per_second", "to_one_thread", "rounds", "holds"};

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
    .source = "adaptiveqf: Figure 4",
    .paper = "With 2^26 slots and 1 to 12 threads the inserts of AQF and QF scale almost "
             "linearly with the number of threads; the AQF is slightly faster.",
    .statement = "n threads insert, or query, at 0.85 n times the speed of one or more; a reader "
                 "beside a writer has 0.85 of its speed",
    .differs = "As many threads as the machine has processors, up to 12; 2^20 slots (full: 2^26), "
               "load factor 0.85. Our qf is not thread-safe; the aqf without the flag takes its "
               "place. Factors above 2 were seen while other programs ran: they may have slowed a "
               "single thread more than two.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
