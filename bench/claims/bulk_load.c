/* Claim bulk-load: how fast a table is written from digests that are sorted already. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "timing.h"
#include "workload.h"

enum { ROUNDS = 5, WIDTH = 8 };

static const double wanted_speed = 100; /* million items a second */
static const double loads[] = {0.90, 0.95};

/* ------------------------------------------------------------------ sorted digests */

typedef struct digest_array {
  besom_digest *digests;
  size_t count, given;
} digest_array;

/* -log of a uniform number: the gap between neighbours among sorted uniform ones, but for the scale. */
static double gap_at(uint64_t i) {
  return -log(((double)random_at(1, i) + 1) * 0x1p-64);
}

/* Uniform digests in ascending order without sorting: the sums of n + 1 exponential gaps, scaled to 1. */
static digest_array make_sorted_digests(size_t n) {
  double all = 0;
  for (size_t i = 0; i <= n; i++) all += gap_at(i);
  digest_array a = {.digests = allocate(n, sizeof *a.digests), .count = n};
  double sum = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < n; i++) {
    sum += gap_at(i);
    uint64_t hi = (uint64_t)(sum / all * 0x1p63) * 2; /* 2^64 itself would not fit */
    if (hi <= previous) hi = previous + 1;
    a.digests[i] = (besom_digest){.hi = hi, .lo = random_at(2, i)};
    previous = hi;
  }
  return a;
}

static besom_status next_digests(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_array *a = ctx;
  size_t left = a->count - a->given;
  if (left == 0) return BESOM_END;
  *n = left < cap ? left : cap;
  memcpy(out, a->digests + a->given, *n * sizeof *out);
  a->given += *n;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ building */

static double build(const besom_config *config, digest_array *a, besom_filter **out) {
  a->given = 0;
  besom_digest_source source = {.next = next_digests, .size_hint = a->count, .ctx = a};
  double start = cpu_seconds();
  besom_status status = besom_build_sorted(config, &source, NULL, out);
  double seconds = cpu_seconds() - start;
  check(status, "building %s from %zu sorted digests", config->kind, a->count);
  return seconds;
}

static size_t count_missing(const besom_filter *f, const digest_array *a) {
  size_t missing = 0;
  for (size_t i = 0; i < a->count; i++) missing += !besom_contains_digest(f, a->digests[i]);
  return missing;
}

/* A fast wrong table is no table: every invariant, the number of items, and every digest. */
static void check_filter(const besom_filter *f, const digest_array *a) {
  const char *reason = "";
  besom_statistics stats;
  besom_status status = besom_validate(f, &reason);
  check(status, "validating a bulk-loaded filter (%s)", reason);
  check(besom_stats(f, &stats), "statistics of a bulk-loaded filter");
  if (stats.items != a->count)
    fail("%s counts %llu items after loading %zu", stats.kind, (unsigned long long)stats.items, a->count);
  size_t missing = count_missing(f, a);
  if (missing) fail("%s lost %zu of %zu digests", stats.kind, missing, a->count);
}

/* Adaptive kinds hold room in reserve, and take less than the highest load by default. */
static bool takes(const besom_config *config, const digest_array *a) {
  besom_filter *f;
  besom_statistics stats;
  check(besom_create(config, &f), "creating %s", config->kind);
  check(besom_stats(f, &stats), "statistics of an empty %s", config->kind);
  besom_free(f);
  return a->count <= stats.capacity;
}

static bool test_kind(const char *kind, uint64_t slots, double load, digest_array *a, report *numbers) {
  besom_config config = {.kind = kind, .slots = slots, .width = WIDTH};
  if (!takes(&config, a)) return true;
  samples seconds = {0};
  for (int round = 0; round < ROUNDS; round++) {
    progress("%s at %.0f %%, round %d of %d", kind, 100 * load, round + 1, ROUNDS);
    besom_filter *f;
    samples_add(&seconds, build(&config, a, &f));
    if (round == 0) check_filter(f, a);
    besom_free(f);
  }
  double speed = 1e-6 * (double)a->count / samples_median(&seconds);
  samples_free(&seconds);
  bool holds = speed >= wanted_speed;
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%llu", (unsigned long long)slots);
  report_cell(numbers, "%.2f", load);
  report_cell(numbers, "%zu", a->count);
  report_cell(numbers, "%.1f", speed);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static bool run(bool full, report *numbers) {
  uint64_t slots = (uint64_t)1 << (full ? 26 : 24);
  bool holds = true;
  for (size_t l = 0; l < sizeof loads / sizeof *loads; l++) {
    progress("making digests");
    digest_array a = make_sorted_digests((size_t)((double)slots * loads[l]));
    const besom_kind_info *kind;
    for (size_t i = 0; (kind = besom_kinds(i)) != NULL; i++)
      if (kind->abilities & BESOM_CAN_BUILD_SORTED) holds &= test_kind(kind->name, slots, loads[l], &a, numbers);
    free(a.digests);
  }
  return holds;
}

static const char *const columns[] = {"kind", "slots", "load", "items", "million_per_second", "holds"};

const claim bulk_load_claim = {
    .name = "bulk-load",
    .source = "besom",
    .statement = "sorted digests are loaded at 100 million a second or more, up to 95 % load",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
