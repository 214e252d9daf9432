/*
 * Claim stacked-memory: the FPR of a stacked filter and of its base kind alone, in the same memory,
 * on synthetic URLs, on the FireHose power law, and on integers with Zipf queries of several
 * exponents.
 */
#include <stdio.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/stacked_setup.h"

static const double budgets[] = {6, 8, 10, 12, 14};
static const double exponents[] = {0.5, 0.75, 1, 1.25};
static const char *const bases[] = {"bloom", "cf", "qf"};
enum {
  BUDGETS = sizeof budgets / sizeof *budgets,
  EXPONENTS = sizeof exponents / sizeof *exponents,
  BASES = sizeof bases / sizeof *bases
};

static const double tolerance = 1.02;
static const double judged_budget = 10, judged_exponent = 0.75; /* of the paper's default */
static const double paper_times = 5; /* fewer false positives than Bloom filters */

/* ------------------------------------------------------------------ numbers */

/* Writes a point of a curve. alone: the FPR of one filter of the base kind, for comparison. */
static void show(const stacked_setup *s, const char *base, const char *curve, double budget,
                 const besom_filter *f, double rate, double alone, report *numbers) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  report_cell(numbers, "%s", s->name);
  report_cell(numbers, "%s", base);
  report_cell(numbers, "%s", curve);
  report_cell(numbers, "%g", budget);
  report_cell(numbers, "%.2f", 8 * (double)stats.bytes / (double)s->members);
  report_cell(numbers, "%.3g", rate);
  report_cell(numbers, "%.3g", stats.workload_fpr > 0 ? stats.workload_fpr : stats.expected_fpr);
  report_cell(numbers, "%.1f", alone / rate);
}

/*
 * The base kind treats all keys alike, so its FPR is taken over all keys with equal weight, which
 * has less noise.
 */
static double test_alone(const stacked_setup *s, const char *base, double bits, report *numbers) {
  besom_filter *f = setup_base(s, base, bits, BENCH_SEED, NULL);
  double rate = setup_fpr_uniform(s, f);
  show(s, base, "alone", bits, f, rate, rate, numbers);
  besom_free(f);
  return rate;
}

/* A filter that knows the more popular half of the keys. */
static double test_stacked(const stacked_setup *s, const char *base, double bits,
                           const char *listed, double alone, report *numbers) {
  char curve[32] = "stacked", options[64];
  snprintf(options, sizeof options, "base=%s,%s", base, listed);
  if (!s->firehose) snprintf(curve, sizeof curve, "stacked %g", s->popularity.s);
  besom_filter *f = setup_filter_known(
      s, (besom_config){.kind = "stacked", .options = options, .bits_per_key = bits}, BENCH_SEED);
  double rate = setup_fpr(s, f);
  show(s, base, curve, bits, f, rate, alone, numbers);
  besom_free(f);
  return rate;
}

/* ------------------------------------------------------------------ setups */

/*
 * Every other budget. A quick run has only the middle one of cf and qf; a full run, whose filters
 * take 15 seconds each, has all of them for Bloom layers over integers only.
 */
static bool is_tested(size_t base, size_t budget, bool full, bool alone) {
  if (full && (base > 0 || alone)) return budgets[budget] == judged_budget;
  return base ? budget == BUDGETS / 2 : budget % 2 == 0;
}

/* Setups with the same members, so that the base kind is measured once for all of them. */
static void test_setups(const stacked_setup *setups, size_t n, size_t n_bases, bool full,
                        findings *found, report *numbers) {
  char listed[EXPONENTS][LISTED_BYTES];
  for (size_t i = 0; i < n; i++) setup_known_option(&setups[i], listed[i]);
  for (size_t b = 0; b < n_bases; b++)
    for (size_t k = 0; k < BUDGETS; k++) {
      if (!is_tested(b, k, full, n == 1)) continue;
      progress("%s, %s, %g bits", setups->name, bases[b], budgets[k]);
      double alone = test_alone(setups, bases[b], budgets[k], numbers);
      for (size_t i = 0; i < n; i++) {
        if (full && b > 0 && setups[i].popularity.s != judged_exponent) continue;
        double rate = test_stacked(&setups[i], bases[b], budgets[k], listed[i], alone, numbers);
        finding(found, rate <= tolerance * alone);
        if (b == 0) finding(found, rate <= alone / paper_times);
      }
    }
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 30000, universe = 100 * members;
  power_law law = power_law_create(BENCH_SEED);
  stacked_setup urls = setup_urls(members, universe),
                firehose = setup_firehose(POWER_LAW_KEYS / 2, &law);
  stacked_setup integers[EXPONENTS];
  findings found = {0};
  for (int i = 0; i < EXPONENTS; i++) integers[i] = setup_zipf(exponents[i], members, universe);
  test_setups(&urls, 1, 1, full, &found, numbers);
  test_setups(&firehose, 1, 1, full, &found, numbers);
  test_setups(integers, EXPONENTS, BASES, full, &found, numbers);
  power_law_free(&law);
  return found;
}

static const char *const columns[] = {"keys",      "base", "curve",         "bits",
                                      "real_bits", "fpr",  "predicted_fpr", "times"};

static const plot plots[] = {{.title = "Bloom filters, alone and stacked (as Figures 3a, e, i)",
                              .x = "bits",
                              .y = "fpr",
                              .series = "curve",
                              .panels = "keys",
                              .where = "base=bloom",
                              .x_label = "bits per member",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {.title = "Kinds of layers, by Zipf exponent (as Figures 3i, 4a, b)",
                              .x = "bits",
                              .y = "fpr",
                              .series = "curve",
                              .panels = "base",
                              .where = "keys=zipf",
                              .x_label = "bits per member",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {0}};

const claim stacked_memory_claim = {
    .name = "stacked-memory",
    .title = "False positives of stacked filters against their size",
    .source = "stacked-filters: Figure 3, Figure 4",
    .paper = "In the same memory stacked filters have a 5 to 100 times lower FPR than one Bloom "
             "filter, on URLs, on FireHose's packets and on integers (3a, e, i); so do stacks "
             "of cuckoo and quotient filters, the more so the more skewed the queries are (4a, "
             "b).",
    .statement =
        "in the same memory a stacked filter has no higher FPR than its base kind, at 6 to "
        "14 bits per member, and a stack of Bloom filters has at least a 5 times lower one",
    .differs = "10^6 members and 10^8 absent keys, as the paper's integers; quick 3 * 10^4 and 3 * "
               "10^6, the same proportion. As in the paper, the more popular half of the absent "
               "keys is known. The URLs are synthetic, queried by Zipf 0.9.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
