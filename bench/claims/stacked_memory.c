/*
 * Claim stacked-memory: the rate of a stacked filter and of its base kind alone, in the same memory, on address-like
 * names, on FireHose's power law, and on Zipf integers. In full size 2 * 10^5 members and 2 * 10^6 keys that are asked
 * for (the paper's integers: 10^6 and 10^8), with a sample of as many queries as there are keys.
 */
#include <stdlib.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "scene.h"
#include "workload.h"

static const double budgets[] = {6, 8, 10, 12, 14};
static const double exponents[] = {0.5, 0.75, 1, 1.25};

typedef struct rates {
  double base, stacked, foretold, stacked_bits;
} rates;

static double bits_of(const scene *s, const besom_filter *f, double *foretold) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  *foretold = stats.workload_rate;
  return 8 * (double)stats.bytes / (double)s->members;
}

/* The base kind knows no key from another, so its rate is taken over all keys alike, which has less noise. */
static rates measure(const scene *s, const char *base, double bits, int seeds, besom_workload *w) {
  rates r = {0};
  for (int i = 0; i < seeds; i++) {
    uint64_t seed = random_at(BENCH_SEED, (uint64_t)i);
    besom_filter *alone = scene_base(s, base, bits, seed, NULL);
    r.base += scene_rate_of_keys(s, alone) / seeds;
    besom_free(alone);
    besom_filter *stacked = scene_stacked(s, base, NULL, bits, seed, w, NULL);
    r.stacked += scene_rate(s, stacked) / seeds;
    r.stacked_bits = bits_of(s, stacked, &r.foretold);
    besom_free(stacked);
  }
  return r;
}

static bool report_budget(const scene *s, const char *base, double bits, int seeds, besom_workload *w,
                          report *numbers) {
  rates r = measure(s, base, bits, seeds, w);
  bool better = r.stacked <= 1.02 * r.base;
  report_cell(numbers, "%s", s->name);
  if (s->firehose)
    report_cell(numbers, "%s", "");
  else
    report_cell(numbers, "%g", s->popularity.s);
  report_cell(numbers, "%s", base);
  report_cell(numbers, "%g", bits);
  report_cell(numbers, "%.2f", r.stacked_bits);
  report_cell(numbers, "%.3g", r.base);
  report_cell(numbers, "%.3g", r.stacked);
  report_cell(numbers, "%.3g", r.foretold);
  report_cell(numbers, "%.1f", r.base / r.stacked);
  report_cell(numbers, "%s", better ? "yes" : "no");
  return better;
}

/* One sample for the first so many bases. */
static bool report_scene(const scene *s, size_t n_bases, int seeds, report *numbers) {
  static const char *const bases[] = {"bloom", "cf", "qf"};
  besom_workload *w = scene_sample(s, s->firehose ? 10 * s->universe : s->universe);
  bool holds = true;
  for (size_t b = 0; b < n_bases; b++)
    for (size_t i = 0; i<sizeof budgets / sizeof *budgets; i += seeds> 1 ? 1 : 2) {
      progress("%s %g, %s, %g bits", s->name, s->popularity.s, bases[b], budgets[i]);
      holds &= report_budget(s, bases[b], budgets[i], seeds, w, numbers);
    }
  besom_workload_free(w);
  return holds;
}

static verdict run(bool full, report *numbers) {
  uint64_t members = full ? 200000 : 100000, universe = 10 * members;
  int seeds = full ? 2 : 1;
  power_law law = power_law_create(BENCH_SEED);
  scene urls = scene_of_urls(members, universe), firehose = scene_of_firehose(members / 2, &law);
  findings found = {0};
  finding(&found, report_scene(&urls, 1, seeds, numbers));
  finding(&found, report_scene(&firehose, 1, seeds, numbers));
  for (size_t e = full ? 0 : 1; e < sizeof exponents / sizeof *exponents; e += full ? 1 : 2) {
    scene s = scene_of_zipf(exponents[e], members, universe);
    finding(&found, report_scene(&s, 3, seeds, numbers));
  }
  power_law_free(&law);
  return verdict_of(&found);
}

static const char *const columns[] = {"keys",      "exponent", "base",     "bits",  "stacked_bits",
                                      "base_rate", "stacked",  "foretold", "times", "holds"};

const claim stacked_memory_claim = {
    .name = "stacked-memory",
    .source = "stacked-filters: Figure 3, Figure 4",
    .statement = "in the same memory a stacked filter errs no more often than its base kind, at 6 to 14 bits a member",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
