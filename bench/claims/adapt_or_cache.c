/*
 * Claim adapt-or-cache: on skewed queries a broom filter has fewer false positives than a quotient
 * filter with a cache of the same number of bits. As in the paper, 80 keys are stored, from a
 * universe of 80^4.1, so that an item takes 26 bits and caches of n, 2n and 3n bits hold 3, 6 and 9
 * items.
 */
#include <math.h>

#include "claims/claims.h"
#include "harness/cache_experiment.h"

enum { STORED = 80, UNIVERSE = 63484601 }; /* floor(80^4.1) - 80 */

static const double exponents[] = {0.5, 1.2};
static const int log_rates[] = {-6, -7, -8, -9, -10};
enum { RATES = sizeof log_rates / sizeof *log_rates };

typedef struct effort {
  uint64_t queries, seeds;
} effort;

static const effort quick = {.queries = 100000, .seeds = 3};
static const effort thorough = {.queries = 500000, .seeds = 20};

enum { PLAIN, CAF_N, CAF_2N, CAF_3N, CACHED, DEAMORTIZED, AMORTIZED, PUBLISHED, BUDGET_7, FILTERS };

/*
 * Of 3 bits per slot, one says which slots have an extension and two hold encoded extensions. Of 7
 * bits, six do, 3 of them before encoding.
 */
static const cache_filter filters[FILTERS] = {
    [PLAIN] = {"qf", NULL, 0},
    [CAF_N] = {"qf", NULL, 3},
    [CAF_2N] = {"qf", NULL, 6},
    [CAF_3N] = {"qf", NULL, 9},
    [CACHED] = {"cached", "cache_bits=1280", 0},
    [DEAMORTIZED] = {"broom", NULL, 0},
    [AMORTIZED] = {"broom", "rounds=amortized", 0},
    [PUBLISHED] = {"broom", "form=published", 0, .rekeys = true},
    [BUDGET_7] = {"broom", "rounds=amortized,budget=7", 0},
};

typedef struct outcome {
  double rates[FILTERS]; /* averages */
} outcome;

static void run_all(double exponent, const effort *e, outcome outcomes[RATES]) {
  for (uint64_t i = 0; i < e->seeds; i++) {
    progress("Zipf %.1f: seed %llu of %llu", exponent, (unsigned long long)i + 1,
             (unsigned long long)e->seeds);
    cache_setup g = {.stored = STORED, .seed = random_at(BENCH_SEED, i)};
    queries q = queries_of_zipf(exponent, UNIVERSE, e->queries, g.seed);
    g.queries = &q;
    for (int r = 0; r < RATES; r++) {
      g.log_rate = log_rates[r];
      for (int p = 0; p < FILTERS; p++)
        outcomes[r].rates[p] += cache_experiment_run(&filters[p], &g, NULL) / (double)e->seeds;
    }
    queries_free(&q);
  }
}

static void report_outcome(const outcome *o, double exponent, int log_rate, findings *found,
                           report *numbers) {
  const double *rates = o->rates, broom = rates[PUBLISHED];
  bool fewest = broom < rates[CAF_N] && (exponent < 1 || broom < rates[CAF_3N]);
  /* Caches do not help when few queries are repeated, and help when many are. */
  bool caches =
      exponent < 1 ? rates[CAF_3N] > 0.9 * rates[PLAIN] : rates[CAF_N] <= (1 - 0.52) * rates[PLAIN];
  bool by_18 = broom <= (1 - 0.18) * rates[CAF_3N];
  report_cell(numbers, "%.1f", exponent);
  report_cell(numbers, "%.4g", ldexp(1, log_rate));
  for (int p = 0; p < FILTERS; p++) report_cell(numbers, "%.3g", rates[p]);
  report_cell(numbers, "%s", fewest ? "yes" : "no");
  report_cell(numbers, "%s", caches ? "yes" : "no");
  report_cell(numbers, "%s", by_18 ? "yes" : "no");
  finding(found, fewest);
  finding(found, caches);
  finding(found, by_18);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (size_t s = 0; s < sizeof exponents / sizeof *exponents; s++) {
    outcome outcomes[RATES] = {0};
    run_all(exponents[s], full ? &thorough : &quick, outcomes);
    for (int r = 0; r < RATES; r++)
      report_outcome(&outcomes[r], exponents[s], log_rates[r], &found, numbers);
  }
  return found;
}

static const char *const columns[] = {
    "zipf",           "eps",          "qf",     "caf_n",           "caf_2n",
    "caf_3n",         "cached",       "broom",  "broom_amortized", "broom_published",
    "broom_budget_7", "broom_fewest", "caches", "saves_18_percent"};

static const plot plots[] = {
    {.title = "False positives on Zipf queries",
     .x = "eps",
     .y = "qf,caf_n,caf_2n,caf_3n,broom_published,broom,broom_amortized,broom_budget_7",
     .panels = "zipf",
     .x_label = "configured FPR of the filter",
     .y_label = "false positives per query",
     .log_x = true,
     .log_y = true},
    {0},
};

const claim adapt_or_cache_claim = {
    .name = "adapt-or-cache",
    .title = "Adaptive filters against filters with a cache, on Zipf queries",
    .source = "adapt-or-cache: Figure 1, Figure 2",
    .paper = "On Zipf queries a broom filter has the fewest false positives at every eps from "
             "2^-10 to 2^-6: 18 to 74 % fewer than a quotient filter with a cache of n to 3n "
             "bits, 19 to 95 % fewer than one without a cache. With s = 0.5 caches do not help; "
             "with s = 1.2 they save 52 to 91 %.",
    .statement = "a broom with 3n bits has fewer false positives than a cache of n bits, for s = "
                 "1.2 also than one of 3n bits (broom_fewest), and 18 % fewer than one of 3n bits "
                 "(saves_18_percent); caches save less than a tenth for s = 0.5 and 52 % or more "
                 "for s = 1.2 (caches)",
    .differs =
        "100,000 queries for each of 3 seeds, 8 times (full: 500,000 for 20; the paper does not "
        "state its number). 80 random keys are stored, so that, as in the paper, a cached "
        "item takes 26 bits. broom_published is the variant of the paper",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 8,
    .run = run,
};
