/*
 * Claim billion: a set that strains one machine. Keys come from a generator and are never all in
 * memory. The filter is built, saved, mapped and queried.
 */
#define _DEFAULT_SOURCE 1 /* mkstemp, getrusage */

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/timing.h"
#include "workloads/key_stream.h"

enum { CHUNK = 4096, QUERIES = 10000000 };

static const double rate = 1.0 / 256;
static const uint64_t build_memory = UINT64_C(1) << 30;
static const double max_memory = 4; /* GB, of the process at any time */

/* ------------------------------------------------------------------ keys from a generator */

typedef struct generator {
  key_stream keys;
  uint64_t n, at;
  uint64_t chunk[CHUNK];
  besom_u64_key key;
} generator;

static uint64_t generate(generator *g) {
  if (g->at % CHUNK == 0) g->keys.generate(&g->keys, g->at, CHUNK, g->chunk);
  return g->chunk[g->at++ % CHUNK];
}

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  generator *g = ctx;
  (void)weight;
  if (g->at == g->n) return BESOM_END;
  g->key = besom_u64(generate(g));
  *key = (besom_bytes){g->key.bytes, sizeof g->key.bytes};
  return BESOM_OK;
}

static bool show(void *ctx, uint64_t done, uint64_t total) {
  (void)ctx;
  if (done % (1 << 22) < 256)
    progress("building: %llu %%", (unsigned long long)(100 * done / (total ? total : 1)));
  return true;
}

/* ------------------------------------------------------------------ stages */

/* Peak memory of the process so far, in GB. */
static double peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / (1 << 20);
}

static void report_stage(report *numbers, const char *stage, uint64_t n, double seconds,
                         const char *remark) {
  report_cell(numbers, "%s", stage);
  report_cell(numbers, "%llu", (unsigned long long)n);
  report_cell(numbers, "%.1f", seconds);
  report_cell(numbers, "%.1f", 1e-6 * (double)n / seconds);
  report_cell(numbers, "%.2f", peak_memory());
  report_cell(numbers, "%s", remark);
}

static besom_filter *build(uint64_t n) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  generator *g = allocate(1, sizeof *g);
  *g = (generator){.keys = stream_members(BENCH_SEED), .n = n};
  besom_config config = {
      .kind = "aqf", .capacity = n, .fpr = rate, .seed = seed, .build_memory = build_memory};
  besom_source source = {.next = next_key, .size_hint = n, .ctx = g};
  besom_progress shown = {.tick = show};
  besom_filter *f;
  check(besom_build(&config, &(besom_input){.yes = &source, .progress = &shown}, &f),
        "building a filter of %llu keys", (unsigned long long)n);
  free(g);
  return f;
}

/*
 * Queries n keys, spread over the first `among` keys of a stream. Returns the number of yes
 * answers.
 */
static uint64_t count_yes(const besom_filter *f, key_stream keys, uint64_t among, uint64_t n) {
  uint64_t chunk[64], bitmap, yes = 0, step = among / (n / 64);
  for (uint64_t i = 0; i < n / 64; i++) {
    keys.generate(&keys, i * step, 64, chunk);
    check(besom_contains_many_u64(f, chunk, 64, &bitmap), "querying");
    for (; bitmap; bitmap &= bitmap - 1) yes++;
  }
  return yes;
}

static bool test_opened(const besom_filter *f, uint64_t n, report *numbers) {
  uint64_t queried = QUERIES / 64 * 64;
  double start = wall_seconds();
  uint64_t found = count_yes(f, stream_members(BENCH_SEED), n, queried);
  report_stage(numbers, "query members", queried, wall_seconds() - start,
               found == queried ? "all found" : "lost some");
  start = wall_seconds();
  uint64_t wrong = count_yes(f, stream_absent(BENCH_SEED), n, queried);
  bool within = (double)wrong <= 1.1 * rate * (double)queried;
  report_stage(numbers, "query absent keys", queried, wall_seconds() - start,
               within ? "within the FPR" : "above the FPR");
  return found == queried && within;
}

static findings run(bool full, report *numbers) {
  uint64_t n = full ? UINT64_C(1000000000) : 20000000;
  char path[] = "besom-billion-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) fail("cannot create a file in this directory");
  close(file);

  double start = wall_seconds();
  besom_filter *f = build(n);
  report_stage(numbers, "build", n, wall_seconds() - start, "");
  start = wall_seconds();
  check(besom_save_file(f, path), "saving to %s", path);
  report_stage(numbers, "save", n, wall_seconds() - start, "");
  besom_free(f);
  start = wall_seconds();
  check(besom_open(path, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &f), "opening %s", path);
  report_stage(numbers, "open and check", n, wall_seconds() - start, "");
  findings found = {0};
  finding(&found, test_opened(f, n, numbers));
  finding(&found, peak_memory() <= max_memory);
  besom_free(f);
  unlink(path);
  return found;
}

static const char *const columns[] = {"stage",   "keys",  "seconds", "million_per_second",
                                      "peak_GB", "remark"};

static const plot plots[] = {{.title = "Speed of each stage",
                              .x = "stage",
                              .y = "million_per_second",
                              .x_label = "stage",
                              .y_label = "million keys per second",
                              .log_y = true,
                              .bars = true},
                             {0}};

const claim billion_claim = {
    .name = "billion",
    .title = "A billion keys",
    .source = "besom",
    .statement = "a billion keys from a generator are built, saved, mapped and queried within 4 GB "
                 "of memory",
    .differs = "10^9 keys only at full size; quick has 2 * 10^7.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
