/*
 * Claim zipf: on skewed queries an adaptive filter adapts to the popular keys soon.
 *
 * The FPR of a filter that does not adapt depends on whether its few most popular keys happen to be
 * false positives: with Zipf 1.5 a third of all queries are for one key. Averaged over all hash
 * seeds it equals the FPR over keys queried equally often, which the same filters give with little
 * noise. A few seeds mostly show less (no popular key is a false positive), rarely far more. So the
 * reduction is taken from that average, and the rates of these seeds are reported beside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "harness/fpr_curve.h"
#include "harness/timing.h"

enum { UNIFORM_QUERIES = 1000000, QUERIES = 3000000, FILTERS = 6 };

static const uint64_t universe = 1000000000;
static const double exponent = 1.5, reserve = 0.05;
static const double wanted_reduction = 100, wanted_bits = 0.001, wanted_bits_more = 7;
static const double max_above_others = 1.1; /* smaller differences are due to chance */

static const struct {
  const char *name, *kind;
  adapt_mode mode;
  const char *options; /* NULL for those of peer_config */
} filters[FILTERS] = {{"qf", "qf", ADAPT_NEVER, NULL},
                      {"aqf", "aqf", ADAPT_STORE, "form=published"},
                      {"aqf_exceptions", "aqf", ADAPT_EXCEPTIONS, NULL},
                      {"taf", "taf", ADAPT_STORE, "form=published"},
                      {"acf-cyclic", "acf-cyclic", ADAPT_STORE, NULL},
                      {"taf_default", "taf", ADAPT_STORE, NULL}};
enum { IS_QF = 0, IS_AQF = 1, IS_TAF = 3, IS_ACF = 4 }; /* index in filters */

typedef struct effort {
  uint64_t slots, seeds;
} effort;

static const effort quick = {.slots = 1 << 20, .seeds = 16};
static const effort thorough = {.slots = 1 << 24, .seeds = 12};

typedef struct tally {
  fpr_curve curves[FILTERS];
  uint64_t uniform_hits; /* of qf, each key queried once */
  samples reductions;    /* per seed: FPR of qf / of aqf */
  findings found;
} tally;

static fpr_curve run_queries(int which, uint64_t slots, uint64_t seed, const uint64_t *keys,
                             driver *d, tally *t) {
  uint8_t hash[16];
  hash_seed(seed, hash);
  besom_config config = peer_config(filters[which].kind, slots, PEER_REMAINDER_BITS, hash);
  if (strcmp(config.kind, "aqf") == 0) config.reserve = reserve;
  if (filters[which].options) config.options = filters[which].options;
  key_stream members = stream_members(seed), absent = stream_absent(seed);
  tested_filter tested =
      tested_filter_create_from(filters[which].mode, &config, &members, peer_members(slots), d);
  fpr_curve alone = {0};
  fpr_curve_add(&alone, &tested, config.reserve, keys, QUERIES);
  fpr_curve_merge(&t->curves[which], &alone);
  if (which == IS_QF) {
    uint64_t hits;
    drive_contains(d, tested.filter, &absent, UNIFORM_QUERIES, BATCH, &hits);
    t->uniform_hits += hits;
  }
  tested_filter_free(&tested);
  return alone;
}

/*
 * The factors of one seed. Each filter is compared with the others on the same queries. uniform:
 * the FPR of qf over keys queried equally often.
 */
static void add_seed(const fpr_curve seed[FILTERS], double uniform, tally *t) {
  double aqf = fpr_curve_last_half(&seed[IS_AQF]);
  samples_add(&t->reductions, fpr_curve_last_half(&seed[IS_QF]) / aqf);
  add_factor(&t->found, "aqf-zipf-100", fpr_curve_last_half(&seed[IS_QF]) / aqf);
  add_factor(&t->found, "aqf-zipf-bits",
             wanted_bits / fmax(seed[IS_AQF].extra_bits[CURVE_WINDOWS - 1], 1e-9));
  add_factor(&t->found, "aqf-zipf-7-bits", fmax(log2(uniform / aqf), 1e-3) / wanted_bits_more);
  add_factor(&t->found, "aqf-zipf-below-tqf", fpr_curve_last_half(&seed[IS_TAF]) / aqf);
  add_factor(&t->found, "aqf-zipf-below-acf", fpr_curve_last_half(&seed[IS_ACF]) / aqf);
}

static void run_all_queries(effort e, tally *t) {
  driver d = driver_create();
  uint64_t *keys = allocate(QUERIES, sizeof *keys);
  for (uint64_t i = 0; i < e.seeds; i++) {
    uint64_t seed = random_at(BENCH_SEED, i);
    key_stream popular = stream_zipf_absent(seed, exponent, universe);
    fpr_curve curves[FILTERS];
    uint64_t before = t->uniform_hits;
    popular.generate(&popular, 0, QUERIES, keys);
    for (int which = 0; which < FILTERS; which++) {
      progress("seed %llu of %llu: %s", (unsigned long long)i + 1, (unsigned long long)e.seeds,
               filters[which].name);
      curves[which] = run_queries(which, e.slots, seed, keys, &d, t);
    }
    add_seed(curves, (double)(t->uniform_hits - before) / UNIFORM_QUERIES, t);
  }
  free(keys);
  driver_free(&d);
}

/* ------------------------------------------------------------------ reporting */

/* How far below the average of qf over all seeds. */
static double reduction_of(const fpr_curve *c, double uniform) {
  return uniform / fpr_curve_last_half(c);
}

static void report_window(report *numbers, const char *span, int which, const fpr_curve *c,
                          int first, int end) {
  report_cell(numbers, "%s", span);
  report_cell(numbers, "%s", filters[which].name);
  fpr_curve_report(c, first, end, numbers);
}

static void report_halves(report *numbers, int which, const tally *t, double uniform,
                          const char *holds) {
  const fpr_curve *c = &t->curves[which];
  report_window(numbers, "last_half", which, c, fpr_curve_middle(), CURVE_WINDOWS);
  report_cell(numbers, "%.3g", uniform);
  report_cell(numbers, "%.1f", reduction_of(c, uniform));
  if (which == IS_AQF)
    report_cell(numbers, "%.1f", samples_median(&t->reductions));
  else
    report_cell(numbers, "%s", "");
  report_cell(numbers, "%s", holds);
}

static findings run(bool full, report *numbers) {
  effort e = full ? thorough : quick;
  tally t = {0};
  run_all_queries(e, &t);
  double uniform = (double)t.uniform_hits / ((double)UNIFORM_QUERIES * (double)e.seeds);
  for (int which = 0; which < FILTERS; which++)
    for (int i = 0; i < CURVE_WINDOWS; i++) {
      report_window(numbers, "window", which, &t.curves[which], i, i + 1);
      for (int empty = 0; empty < 4; empty++) report_cell(numbers, "%s", "");
    }
  const fpr_curve *aqf = &t.curves[IS_AQF];
  bool reduced = reduction_of(aqf, uniform) >= wanted_reduction;
  bool small = aqf->extra_bits[CURVE_WINDOWS - 1] / (double)aqf->filters <= wanted_bits;
  finding(&t.found, reduced);
  finding(&t.found, small && aqf->reserve_full == 0);
  for (int other = IS_TAF; other <= IS_ACF; other++)
    finding(&t.found,
            fpr_curve_last_half(aqf) <= max_above_others * fpr_curve_last_half(&t.curves[other]));
  for (int which = 0; which < FILTERS; which++)
    report_halves(numbers, which, &t, uniform,
                  which != IS_AQF    ? "-"
                  : reduced && small ? "yes"
                                     : "no");
  samples_free(&t.reductions);
  return t.found;
}

static const char *const columns[] = {"span",      "filter",           "until_query",
                                      "fpr",       "extra_bits",       "qf_all_seeds",
                                      "reduction", "median_reduction", "holds"};

static const plot plots[] = {{.title = "False positives of Zipf 1.5 queries",
                              .x = "until_query",
                              .y = "fpr",
                              .series = "filter",
                              .where = "span=window",
                              .x_label = "queries",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {.title = "Space used by adaptation",
                              .x = "until_query",
                              .y = "extra_bits",
                              .series = "filter",
                              .where = "span=window",
                              .x_label = "queries",
                              .y_label = "additional bits per key"},
                             {0}};

const claim zipf_claim = {
    .name = "zipf",
    .title = "False positives on Zipf queries",
    .source = "adaptiveqf: Figure 7",
    .paper = "On 3 million queries of Zipf 1.5 over a universe of a billion the FPR of all "
             "three adaptive filters drops at once, by about 100 times in the end, for less "
             "than a thousandth of a bit per item; that of the AQF falls below those of TQF and "
             "ACF later on.",
    .statement = "on Zipf 1.5 the FPR of aqf is 100 times below that of qf over the second half of "
                 "the queries, for at most 0.001 bits per key, and not above those of taf and "
                 "acf-cyclic",
    .differs = "The same queries; tables of 2^20 slots and 16 seeds (full: 2^24 and 12); the paper "
               "does not state its size. aqf and taf have their published forms; aqf_exceptions "
               "and taf_default are drawn beside "
               "them and not judged. The FPR is that of the queries themselves in each "
               "window, not of a second set to which the filter does not adapt; qf is taken at "
               "its average over hash seeds, since the FPR of a single seed is a matter of chance.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
