/*
 * Claim build-threads: besom_build beside inserting in batches, in CPU time; and on two threads
 * beside one, in wall time. The fastest round counts, because other load on the machine can only
 * slow a round down.
 */
#include <pthread.h>
#include <stdlib.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/timing.h"
#include "workloads/key_stream.h"

enum { ROUNDS = 5, WIDTH = 8, BATCH_KEYS = 512, PART_COUNT = 16 };

static const double load = 0.85, wanted_speedup = 1.7;
static const char *const kinds[] = {"qf", "aqf", "pqf", "taf"};

typedef enum method {
  BATCHES,
  BUILD,
  BUILD_BY_TWO,
  PARTS,
  PARTS_BY_TWO,
  ARRAY,
  ARRAY_BY_TWO,
  TWO_BUILDS,
  METHODS
} method;

static const char *const names[METHODS] = {
    "insert in batches",    "build", "build with 2 threads", "parts",
    "parts with 2 threads", "array", "array with 2 threads", "two builds at once"};

/*
 * The share of the time of inserting in batches that a build may take: by sorting, at most 0.8. In
 * a pqf, inserting in batches is as fast, and nothing is claimed.
 */
static double allowed_share(const char *kind) {
  return kind[0] == 't' ? 1 : 0.8;
}

static bool builds_faster(const char *kind) {
  return kind[0] != 'p';
}

/* ------------------------------------------------------------------ builds */

typedef struct build_case {
  besom_config config;
  const uint64_t *keys;
  uint64_t n;
} build_case;

/* Threads that read parts write to neighbours, so each has a cache line of its own. */
typedef struct key_array {
  _Alignas(64) const uint64_t *keys;
  uint64_t n, given;
  besom_u64_key key; /* the last one given */
} key_array;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  key_array *a = ctx;
  if (a->given == a->n) return BESOM_END;
  a->key = besom_u64(a->keys[a->given++]);
  *key = (besom_bytes){.data = a->key.bytes, .len = sizeof a->key.bytes};
  return BESOM_OK;
}

static void build_input(const build_case *c, const besom_input *in, uint32_t threads) {
  besom_config config = c->config;
  config.threads = threads;
  besom_filter *f;
  check(besom_build(&config, in, &f), "building %s", config.kind);
  besom_free(f);
}

static void build(const build_case *c, uint32_t threads) {
  key_array keys = {.keys = c->keys, .n = c->n};
  besom_source source = {.next = next_key, .size_hint = c->n, .ctx = &keys};
  build_input(c, &(besom_input){.yes = &source}, threads);
}

static void build_from_parts(const build_case *c, uint32_t threads) {
  key_array keys[PART_COUNT];
  besom_source parts[PART_COUNT];
  for (uint64_t i = 0; i < PART_COUNT; i++) {
    uint64_t from = c->n * i / PART_COUNT, end = c->n * (i + 1) / PART_COUNT;
    keys[i] = (key_array){.keys = c->keys + from, .n = end - from};
    parts[i] = (besom_source){.next = next_key, .size_hint = end - from, .ctx = &keys[i]};
  }
  build_input(c, &(besom_input){.parts = parts, .n_parts = PART_COUNT}, threads);
}

static void build_from_array(const build_case *c, uint32_t threads) {
  build_input(c, &(besom_input){.keys_u64 = c->keys, .n_keys = (size_t)c->n}, threads);
}

static void insert_in_batches(const build_case *c) {
  besom_filter *f;
  check(besom_create(&c->config, &f), "creating %s", c->config.kind);
  for (uint64_t i = 0; i < c->n; i += BATCH_KEYS)
    check(
        besom_insert_many_u64(f, c->keys + i, c->n - i < BATCH_KEYS ? c->n - i : BATCH_KEYS, NULL),
        "inserting into %s", c->config.kind);
  besom_free(f);
}

static void *build_in_thread(void *ctx) {
  build(ctx, 1);
  return NULL;
}

/* What two processors can do: two builds that share nothing. */
static void build_twice(build_case *c) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, build_in_thread, c)) fail("cannot create a thread");
  build(c, 1);
  pthread_join(thread, NULL);
}

static void run_method(build_case *c, method m) {
  switch (m) {
  case BATCHES:
    insert_in_batches(c);
    break;
  case BUILD:
    build(c, 1);
    break;
  case BUILD_BY_TWO:
    build(c, 2);
    break;
  case PARTS:
  case PARTS_BY_TWO:
    build_from_parts(c, m == PARTS ? 1 : 2);
    break;
  case ARRAY:
  case ARRAY_BY_TWO:
    build_from_array(c, m == ARRAY ? 1 : 2);
    break;
  default:
    build_twice(c);
  }
}

/* ------------------------------------------------------------------ the claim */

typedef struct times {
  double cpu, wall;
} times;

static void keep_best(times *best, times now) {
  if (best->wall == 0 || now.wall < best->wall) best->wall = now.wall;
  if (best->cpu == 0 || now.cpu < best->cpu) best->cpu = now.cpu;
}

/* The same with one thread. */
static method one_thread(method m) {
  return m == BUILD_BY_TWO || m == PARTS_BY_TWO || m == ARRAY_BY_TWO ? m - 1 : BUILD;
}

/* The speed of two threads, in threads, that this machine allows: two builds, twice the keys. */
static bool holds(const char *kind, const times best[METHODS], method m) {
  double possible = 2 * best[BUILD].wall / best[TWO_BUILDS].wall,
         speedup = best[one_thread(m)].wall / best[m].wall;
  if (m == BUILD) return best[BUILD].cpu <= allowed_share(kind) * best[BATCHES].cpu;
  return speedup >= wanted_speedup * (possible < 2 ? possible / 2 : 1);
}

static void test_kind(build_case *c, findings *found, report *numbers) {
  times best[METHODS] = {{0, 0}};
  for (int round = 0; round < ROUNDS; round++)
    for (int m = 0; m < METHODS; m++) {
      progress("%s, round %d of %d: %s", c->config.kind, round + 1, ROUNDS, names[m]);
      times start = {cpu_seconds(), wall_seconds()};
      run_method(c, (method)m);
      keep_best(&best[m], (times){cpu_seconds() - start.cpu, wall_seconds() - start.wall});
    }
  for (int m = 0; m < METHODS; m++) {
    bool wanted = m == BUILD ? builds_faster(c->config.kind)
                             : m == BUILD_BY_TWO || one_thread((method)m) != BUILD;
    uint64_t keys = m == TWO_BUILDS ? 2 * c->n : c->n;
    report_cell(numbers, "%s", c->config.kind);
    report_cell(numbers, "%s", names[m]);
    report_cell(numbers, "%llu", (unsigned long long)c->n);
    report_cell(numbers, "%.1f", 1e9 * best[m].cpu / (double)keys);
    report_cell(numbers, "%.2f", best[m].cpu / best[BATCHES].cpu * (double)c->n / (double)keys);
    report_cell(numbers, "%.1f", 1e9 * best[m].wall / (double)keys);
    report_cell(numbers, "%.2f",
                best[one_thread((method)m)].wall / best[m].wall * (double)keys / (double)c->n);
    report_cell(numbers, "%s",
                !wanted                                  ? ""
                : holds(c->config.kind, best, (method)m) ? "yes"
                                                         : "no");
    if (wanted) finding(found, holds(c->config.kind, best, (method)m));
  }
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  build_case c = {.n = full ? 10000000 : 2000000};
  uint64_t *keys = allocate((size_t)c.n, sizeof *keys);
  key_stream members = stream_members(BENCH_SEED);
  members.generate(&members, 0, (size_t)c.n, keys);
  c.keys = keys;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bool has_bins = kinds[i][0] == 'p'; /* pqf: the capacity that its bins have */
    c.config = has_bins ? (besom_config){.kind = kinds[i], .capacity = c.n}
                        : (besom_config){.kind = kinds[i],
                                         .slots = (uint64_t)((double)c.n / load),
                                         .width = WIDTH};
    test_kind(&c, &found, numbers);
  }
  free(keys);
  return found;
}

static const char *const columns[] = {"kind",           "method",         "keys",
                                      "cpu_ns_per_key", "cpu_to_batches", "wall_ns_per_key",
                                      "speedup",        "holds"};

static const plot plots[] = {{.title = "Building a filter",
                              .x = "method",
                              .y = "cpu_ns_per_key",
                              .series = "kind",
                              .x_label = "",
                              .y_label = "ns per key",
                              .bars = true},
                             {0}};

const claim build_threads_claim = {
    .name = "build-threads",
    .title = "Building a filter with several threads",
    .source = "besom",
    .paper = "",
    .statement = "besom_build takes at most 0.8 of the time of inserting in batches (qf, aqf), "
                 "and never longer (taf); with 2 threads it is 1.7 times as fast as with one, from "
                 "one source, from 16 parts and from an array",
    .differs = "2 million keys (full: 10 million), load factor 0.85. If two builds that share "
               "nothing do not reach twice the speed of one, because other programs run or two "
               "processors share a core, the wanted speedup is smaller by the same factor. The "
               "fastest of 5 rounds counts.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
