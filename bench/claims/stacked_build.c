/* Claim stacked-build: what building costs, by how many of the frequent non-members the filter knows. 10 bits, Bloom.
 */
#include <stdio.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "scene.h"
#include "timing.h"

static const double bits = 10, most_ns = 400;
static const double shares[] = {0.1, 0.25, 0.5, 1, 2, 4};

static double median_of(const scene *s, const char *options, besom_workload *w, int rounds) {
  samples seconds = {0};
  for (int i = 0; i < rounds; i++) {
    double took;
    besom_free(w ? scene_stacked(s, "bloom", options, bits, BENCH_SEED, w, &took)
                 : scene_base(s, "bloom", bits, BENCH_SEED, &took));
    samples_add(&seconds, took);
  }
  double median = samples_median(&seconds);
  samples_free(&seconds);
  return median;
}

/* The most popular keys, with the counts that a hundred queries for each on average would give. */
static besom_workload *most_popular(const scene *s, uint64_t keys) {
  besom_workload *w;
  uint8_t key[SCENE_KEY_BYTES];
  check(besom_workload_create((uint64_t)1 << 32, NULL, &w), "making a workload");
  for (uint64_t i = 0; i < keys; i++) {
    size_t len = scene_absent(s, i, key);
    uint64_t count = 2 + (uint64_t)(100 * (double)s->universe * scene_probability(s, i + 1));
    check(besom_workload_add(w, key, len, count), "adding to a workload");
  }
  return w;
}

static verdict run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 50000;
  int rounds = full ? 5 : 3;
  scene s = scene_of_zipf(0.75, members, 10 * members);
  double base = median_of(&s, NULL, NULL, rounds);
  findings found = {0};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    uint64_t frequent = (uint64_t)(shares[i] * (double)members);
    char options[64];
    snprintf(options, sizeof options, "frequent=%llu", (unsigned long long)frequent);
    progress("%s", options);
    besom_workload *w = most_popular(&s, frequent);
    double stacked = median_of(&s, options, w, rounds), more = 1e9 * (stacked - base) / (double)(members + frequent);
    besom_workload_free(w);
    report_cell(numbers, "%g", shares[i]);
    report_cell(numbers, "%.1f", 1e9 * base / (double)members);
    report_cell(numbers, "%.1f", 1e9 * stacked / (double)members);
    report_cell(numbers, "%.1f", more);
    finding(&found, more <= most_ns || !full);
  }
  return verdict_of(&found);
}

static const char *const columns[] = {"frequent_per_member", "base_ns", "stacked_ns", "more_ns_per_key"};

const claim stacked_build_claim = {
    .name = "stacked-build",
    .source = "stacked-filters: Figure 5",
    .statement = "building a stacked filter takes at most 400 ns more than its base for each member and each frequent "
                 "non-member, reading the sample and planning included (ns a member)",
    .timed = true,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
