/*
 * Claim threads: an aqf made with BESOM_CONCURRENT, with one thread and with two. Time is that of the clock on the
 * wall, in many short rounds; those in which a thread was pushed from its processor by others on a busy machine do
 * not count.
 */
#define _DEFAULT_SOURCE 1 /* clock_gettime */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "besom.h"
#include "claims/claims.h"
#include "drive.h"
#include "fail.h"
#include "timing.h"

enum { WIDTH = 8, MOST_THREADS = 2, OPERATIONS = 4000, MOST_TRIES = 50 };

static const double load = 0.85, wanted_inserting = 1.7, wanted_reading = 0.85;
static const double undisturbed = 0.97; /* share of a round that a thread must have had a processor */

/* ------------------------------------------------------------------ threads */

typedef struct gate {
  atomic_uint waiting; /* threads that are still to come */
  atomic_uint working; /* those that have something to finish */
} gate;

/* What a thread does in a round, and when it did: `first` is the number of its first key. */
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
  for (uint64_t i = 0; i < OPERATIONS; i++) check(besom_insert_u64(p->f, new_key(p, i)), "inserting in a thread");
  atomic_fetch_sub(&p->gate->working, 1);
}

static void remove_keys(const part *p) {
  for (uint64_t i = 0; i < OPERATIONS; i++) check(besom_remove_u64(p->f, new_key(p, i)), "removing");
}

/* Every second one is a member. */
static void ask_keys(const part *p) {
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

/* As long as others work. */
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

/* All start together, when all have a processor. */
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

/* Runs the parts at once; `workers` of them, the first ones, end by themselves. */
static void run_round(part *parts, unsigned n, unsigned workers) {
  gate gate = {n, workers};
  pthread_t threads[MOST_THREADS];
  for (unsigned i = 0; i < n; i++) {
    parts[i].gate = &gate;
    if (pthread_create(&threads[i], NULL, run_part, &parts[i])) fail("no thread to be had");
  }
  for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

static bool was_disturbed(const part *parts, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    if (parts[i].cpu < undisturbed * (parts[i].end - parts[i].begin)) return true;
  return false;
}

/* ------------------------------------------------------------------ what is measured */

typedef struct situation {
  const char *name;
  bool plain; /* on the filter without the flag */
  void (*acts[MOST_THREADS])(const part *p);
  unsigned threads, workers;
  unsigned to;   /* the situation that it is compared with */
  double wanted; /* 0: nothing */
} situation;

static const situation situations[] = {
    {"insert, filter without the flag", true, {insert_keys}, 1, 1, 1, 0},
    {"insert, 1 thread", false, {insert_keys}, 1, 1, 1, 0},
    {"insert, 2 threads", false, {insert_keys, insert_keys}, 2, 2, 1, wanted_inserting},
    {"ask, filter without the flag", true, {ask_keys}, 1, 1, 4, 0},
    {"ask, 1 thread", false, {ask_keys}, 1, 1, 4, 0},
    {"ask, 2 threads", false, {ask_keys, ask_keys}, 2, 2, 4, wanted_inserting},
    {"ask beside a writer", false, {ask_keys, change_keys}, 2, 1, 4, wanted_reading},
};

enum { SITUATIONS = sizeof situations / sizeof *situations };

/* Takes a sample of the speed of the workers together, in million operations a second; false if it does not count. */
static bool measure(const situation *s, besom_filter *f, uint64_t members, uint64_t round, samples *speeds) {
  part parts[MOST_THREADS];
  for (unsigned i = 0; i < s->threads; i++)
    parts[i] = (part){.f = f, .act = s->acts[i], .members = members, .first = (MOST_THREADS * round + i) << 20};
  run_round(parts, s->threads, s->workers);
  double seconds = 0;
  for (unsigned i = 0; i < s->workers; i++)
    if (parts[i].end - parts[0].begin > seconds) seconds = parts[i].end - parts[0].begin;
  for (unsigned i = 0; i < s->threads; i++)
    if (s->acts[i] == insert_keys) remove_keys(&parts[i]);
  if (was_disturbed(parts, s->threads)) return false;
  samples_add(speeds, 1e-6 * OPERATIONS * s->workers / seconds);
  return true;
}

static void measure_all(uint64_t slots, uint64_t rounds, samples *speeds) {
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
    for (unsigned i = 0; i < SITUATIONS; i++) {
      bool counts = false;
      for (unsigned tries = 0; !counts && tries < MOST_TRIES; tries++)
        counts = measure(&situations[i], situations[i].plain ? plain : f, n, round * MOST_TRIES + tries, &speeds[i]);
    }
  }
  check(besom_validate(f, NULL), "validating what threads have made");
  besom_free(plain);
  besom_free(f);
  driver_free(&d);
}

static verdict run(bool full, report *numbers) {
  samples speeds[SITUATIONS] = {{0}};
  findings found = {0};
  measure_all(full ? UINT64_C(1) << 26 : UINT64_C(1) << 20, full ? 101 : 21, speeds);
  for (unsigned i = 0; i < SITUATIONS; i++) {
    const situation *s = &situations[i];
    double speed = samples_median(&speeds[i]), one = samples_median(&speeds[s->to]);
    bool enough = one > 0 && speed >= s->wanted * one;
    report_cell(numbers, "%s", s->name);
    report_cell(numbers, "%.2f", speed);
    report_cell(numbers, "%.2f", one > 0 ? speed / one : 0);
    report_cell(numbers, "%zu", speeds[i].count);
    report_cell(numbers, "%s", s->wanted == 0 ? "" : enough ? "yes" : "no");
    finding(&found, s->wanted == 0 || enough);
  }
  for (unsigned i = 0; i < SITUATIONS; i++) samples_free(&speeds[i]);
  return verdict_of(&found);
}

static const char *const columns[] = {"what", "million_per_second", "to_one_thread", "rounds", "holds"};

const claim threads_claim = {
    .name = "threads",
    .source = "adaptiveqf: Figure 4",
    .statement = "2 threads insert, or ask, 1.7 times as fast as one; a reader beside a writer has 0.85 of its speed",
    .timed = true,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
