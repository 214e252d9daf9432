/*
 * Claim selectors: how the selectors of a telescoping filter are distributed when queries repeat.
 *
 * Derivation. Let N absent keys share the quotient of a member y, and let each of them match y with
 * probability e at each selector, independently. If all are queried again and again, the selector
 * of y ends at the first value that none of the N keys matches. So P[v >= k | N] = (1 - (1-e)^N)^k.
 * With c queried keys per quotient N is binomial, nearly Poisson with mean c; to first order in e
 * P[v >= k] = e^k E[N^k], and E[N^2] = c + c^2. Lemma 2 of the paper has c + c^2/2: of two keys
 * that both match y, it counts "A at selector 0, B at selector 1" and not the converse, because it
 * takes the probability that a key matches to be e/n at its first query only. After B has raised
 * the selector, A, which did not match before, can match.
 */
#include <math.h>
#include <stdio.h>

#include "claims/claims.h"
#include "counters.h"
#include "fail.h"
#include "harness/interval.h"
#include "harness/tested_filter.h"

enum { WIDTH = 8, MAX_PASSES = 12, VALUES = 4, JUDGED = 8 };

static const double load = 0.95;
static const int queried_per_slot[] = {2, 4, 8, 16};

typedef struct effort {
  uint64_t slots, seeds, trials;
} effort;

static const effort quick = {.slots = 20000, .seeds = 8, .trials = 40000};
static const effort thorough = {.slots = 200000, .seeds = 20, .trials = 2000000};

/* ------------------------------------------------------------------ what is predicted */

static double choose(double n, int i) {
  double ways = 1;
  for (int k = 0; k < i; k++) ways *= (n - k) / (k + 1);
  return ways;
}

/* Lemma 2 for n quotients and m queried keys: equal for k = 0, else an upper bound. */
static double lemma_2(double n, double m, double e, int k) {
  if (k == 0) return pow(1 - e / n, m);
  double sum = 0;
  for (int i = 1; i <= k; i++) sum += choose(m, i) / pow(n, i);
  return pow(e, k) * (1 - e) * sum;
}

/* Corollary 3: an upper bound. */
static double corollary_3(double c, double e, int k) {
  if (k == 0) return exp(-c * e);
  double sum = 0, term = 1;
  for (int i = 1; i <= k; i++) sum += term *= c / i;
  return pow(e, k) * sum;
}

/* P[v >= k] = E[(1 - (1-e)^N)^k], N binomial: the sum over j of (-1)^j C(k,j) E[(1-e)^(jN)]. */
static double at_least(double n, double m, double e, int k) {
  double sum = 0;
  for (int j = 0; j <= k; j++)
    sum += (j % 2 ? -1 : 1) * choose(k, j) * pow(1 - (1 - pow(1 - e, j)) / n, m);
  return sum;
}

static double derived(double n, double m, double e, int k) {
  return at_least(n, m, e, k) - at_least(n, m, e, k + 1);
}

/* ------------------------------------------------------------------ measuring */

/* Queries the first n absent keys in turn; repeated: until none of them is a false positive. */
static void query_all(tested_filter *tested, uint64_t seed, uint64_t n, bool repeated) {
  key_stream absent = stream_absent(seed);
  uint64_t hits = 1;
  for (int pass = 0; pass < (repeated ? MAX_PASSES : 1) && hits; pass++) {
    hits = 0;
    for (uint64_t i = 0; i < n; i++) {
      uint64_t key;
      absent.generate(&absent, i, 1, &key);
      hits += tested_filter_query(tested, key);
    }
  }
}

static double share_of(const besom_filter *f, int selector, uint64_t keys) {
  char name[16];
  snprintf(name, sizeof name, "selector_%d", selector);
  return (double)counter_of(f, name) / (double)keys;
}

static void run_seed(const char *options, const effort *e, double c, bool repeated, uint64_t number,
                     samples shares[VALUES]) {
  uint8_t hash[16];
  uint64_t seed = random_at(BENCH_SEED, number), members = (uint64_t)(load * (double)e->slots);
  hash_seed(seed, hash);
  besom_config config = {
      .kind = "utaf", .options = options, .slots = e->slots, .width = WIDTH, .seed = hash};
  tested_filter tested = tested_filter_create_guard(&config, seed, members);
  query_all(&tested, seed, (uint64_t)(c * (double)e->slots), repeated);
  for (int k = 0; k < VALUES; k++) samples_add(&shares[k], share_of(tested.filter, k, members));
  tested_filter_free(&tested);
}

/* ------------------------------------------------------------------ counterexamples */

/* One member in a table of one quotient, and a few absent keys that are queried again and again. */
static uint64_t trials_ending_at(int selector, unsigned width, uint64_t keys, uint64_t trials) {
  uint64_t found = 0;
  for (uint64_t t = 0; t < trials; t++) {
    uint8_t hash[16];
    hash_seed(random_at(BENCH_SEED, t), hash);
    besom_config config = {
        .kind = "utaf", .options = "form=published", .slots = 1, .width = width, .seed = hash};
    tested_filter tested = tested_filter_create_guard(&config, BENCH_SEED, 1);
    query_all(&tested, BENCH_SEED, keys, true);
    found += share_of(tested.filter, selector, 1) > 0;
    tested_filter_free(&tested);
  }
  return found;
}

/* ------------------------------------------------------------------ reporting */

typedef struct row {
  const char *form, *queries;
  double n, m, e;
  int k;
  interval measured;
} row;

/* Judges the lemma by the interval; the derivation must be within it or close. */
static void report_row(const row *r, findings *found, report *numbers) {
  double lemma = lemma_2(r->n, r->m, r->e, r->k);
  double corollary = corollary_3(r->m / r->n, r->e, r->k);
  double ours = derived(r->n, r->m, r->e, r->k);
  report_cell(numbers, "%s", r->form);
  report_cell(numbers, "%s", r->queries);
  report_cell(numbers, "%.0f", r->n);
  report_cell(numbers, "%g", r->m / r->n);
  report_cell(numbers, "%.4g", r->e);
  report_cell(numbers, "%d", r->k);
  interval_report(r->measured, numbers);
  report_cell(numbers, "%.4g", lemma);
  report_cell(numbers, "%.4g", corollary);
  report_cell(numbers, "%.4g", ours);
  bool lemma_holds = r->measured.low <= lemma && (r->k || r->measured.high >= lemma);
  bool corollary_holds = r->measured.low <= corollary;
  report_cell(numbers, "%s", lemma_holds ? "yes" : "no");
  report_cell(numbers, "%s", corollary_holds ? "yes" : "no");
  finding(found, lemma_holds);
  finding(found, corollary_holds);
}

/* The bounds divided by the shares of each seed: below 1 if a bound is exceeded. */
static void add_factors(const samples shares[VALUES], const effort *e, findings *found) {
  double n = (double)e->slots, m = JUDGED * n, eps = ldexp(1, -WIDTH);
  for (size_t i = 0; i < shares[0].count; i++) {
    double raised = fmax(shares[2].values[i], 1 / n);
    add_factor(found, "taf-lemma-2-zero", lemma_2(n, m, eps, 0) / shares[0].values[i]);
    add_factor(found, "taf-lemma-2", lemma_2(n, m, eps, 2) / raised);
    add_factor(found, "taf-corollary-3", corollary_3(JUDGED, eps, 2) / raised);
  }
}

static void test_table(const char *options, const effort *e, int c, bool repeated, findings *found,
                       report *numbers) {
  samples shares[VALUES] = {0};
  progress("%s, %d queried keys per slot", options, c);
  for (uint64_t i = 0; i < e->seeds; i++) run_seed(options, e, c, repeated, i, shares);
  if (c == JUDGED && repeated && options[sizeof "form=" - 1] == 'p') add_factors(shares, e, found);
  for (int k = 0; k < VALUES; k++) {
    row r = {.form = options + sizeof "form=" - 1,
             .queries = repeated ? "repeated" : "once",
             .n = (double)e->slots,
             .m = c * (double)e->slots,
             .e = ldexp(1, -WIDTH),
             .k = k,
             .measured = interval_of(&shares[k])};
    report_row(&r, found, numbers);
    samples_free(&shares[k]);
  }
}

/* Two keys contradict Lemma 2; three Corollary 3, but five so clearly that few trials show it. */
static void test_counterexample(uint64_t keys, unsigned width, const effort *e, findings *found,
                                report *numbers) {
  progress("one member, %llu absent keys", (unsigned long long)keys);
  double share = (double)trials_ending_at(2, width, keys, e->trials) / (double)e->trials;
  double error = 1.96 * sqrt(share * (1 - share) / (double)e->trials);
  row r = {.form = "published",
           .queries = "counterexample",
           .n = 1,
           .m = (double)keys,
           .e = ldexp(1, -(int)width),
           .k = 2,
           .measured = {share, share - error, share + error}};
  report_row(&r, found, numbers);
}

static findings run(bool full, report *numbers) {
  const effort *e = full ? &thorough : &quick;
  findings found = {0};
  for (size_t i = 0; i < sizeof queried_per_slot / sizeof *queried_per_slot; i++)
    test_table("form=published", e, queried_per_slot[i], true, &found, numbers);
  test_table("form=published", e, 8, false, &found, numbers);
  test_table("form=default", e, 8, true, &found, numbers);
  test_counterexample(2, 5, e, &found, numbers);
  test_counterexample(5, 6, e, &found, numbers);
  return found;
}

static const char *const columns[] = {
    "form",          "queries",          "quotients",   "keys_per_quotient",
    "eps",           "selector",         "share",       "low",
    "high",          "lemma_2",          "corollary_3", "derived",
    "lemma_2_holds", "corollary_3_holds"};

static const plot plots[] = {{.title = "Selectors after repeated queries",
                              .x = "keys_per_quotient",
                              .y = "share,lemma_2,corollary_3,derived",
                              .panels = "selector",
                              .where = "form=published,queries=repeated",
                              .x_label = "distinct queried keys per quotient (c)",
                              .y_label = "share of the members",
                              .log_x = true,
                              .log_y = true},
                             {0}};

const claim selectors_claim = {
    .name = "selectors",
    .title = "How the selectors of a telescoping filter are distributed",
    .source = "telescoping: Lemma 2, Corollary 3",
    .paper = "If cn distinct keys are queried, each any number of times, a member's selector is 0 "
             "with probability (1 - eps/n)^(cn), and k with probability at most eps^k (1 - eps) "
             "times the sum over i up to k of C(cn, i) / n^i (Lemma 2), which is less than eps^k "
             "times the sum of c^i / i! (Corollary 3).",
    .statement = "the 95 % interval of the share of each selector from 0 to 3 reaches both bounds, "
                 "for 2 to 16 queried keys per quotient, queried once or until no query is a false "
                 "positive, and for one member with two and five absent keys",
    .differs = "utaf, the uncompressed form, because the paper assumes that selectors always fit: "
               "20,000 slots, 8 seeds (full: 200,000 and 20), 8-bit remainders. n is the number "
               "of quotients: the paper has as many members as quotients. `derived` is our own "
               "exact formula for repeated queries.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
