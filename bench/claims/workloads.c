/* Claim workloads: the made-up queries are distributed as they say. All others rest on this one. */
#include <math.h>
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "firehose.h"
#include "workload.h"

enum { SINGLE_RANKS = 64, MOST_BINS = SINGLE_RANKS + 40 };

static const double exponents[] = {0, 0.5, 0.99, 1, 1.5, 3};
static const uint64_t universes[] = {1, 2, 1000, 10000000, (uint64_t)1 << 40};

static const struct {
  uint64_t members, replaced;
} churns[] = {{1, 0}, {1, 1}, {1000, 1}, {1000, 200}, {1000, 1000}, {50000, 17000}};

/* ------------------------------------------------------------------ what should come out */

/* The sum of k^-s for first <= k < end: term by term, then, when the terms hardly differ, by the integral. */
static double sum_powers(double s, uint64_t first, uint64_t end) {
  const uint64_t exact = 1 << 16;
  double sum = 0;
  uint64_t k = first;
  for (; k < end && k < exact; k++) sum += pow((double)k, -s);
  if (k == end) return sum;
  double a = (double)k - 0.5, b = (double)end - 0.5;
  return sum + (s == 1 ? log(b / a) : (pow(b, 1 - s) - pow(a, 1 - s)) / (1 - s));
}

/* Bins: the first ranks one by one, then each twice as many ranks as the one before. */
static size_t bin_of(uint64_t rank) {
  if (rank <= SINGLE_RANKS) return (size_t)rank - 1;
  return SINGLE_RANKS + (size_t)(63 - __builtin_clzll((rank - 1) / SINGLE_RANKS));
}

static uint64_t bin_end(size_t bin, uint64_t universe) {
  uint64_t end = bin < SINGLE_RANKS ? bin + 2 : ((uint64_t)SINGLE_RANKS << (bin - SINGLE_RANKS + 1)) + 1;
  return end <= universe ? end : universe + 1;
}

/* ------------------------------------------------------------------ what does */

typedef struct fit {
  double chi_square;
  size_t bins;
} fit;

/* Bins too rare for chi-square are thrown together, with a neighbour or at the end. */
static fit compare(const uint64_t *seen, const zipf *z, uint64_t n) {
  const double least = 10;
  fit result = {0};
  double all = sum_powers(z->s, 1, z->universe + 1), expected = 0, observed = 0;
  uint64_t first = 1;
  for (size_t bin = 0; first <= z->universe; bin++) {
    uint64_t end = bin_end(bin, z->universe);
    expected += (double)n * sum_powers(z->s, first, end) / all;
    observed += (double)seen[bin];
    first = end;
    if (expected < least && first <= z->universe) continue;
    result.chi_square += (observed - expected) * (observed - expected) / fmax(expected, 1);
    result.bins++;
    expected = observed = 0;
  }
  return result;
}

static bool test_zipf(double s, uint64_t universe, uint64_t n, report *numbers) {
  zipf z = zipf_create(s, universe);
  uint64_t seen[MOST_BINS] = {0};
  for (uint64_t i = 0; i < n; i++) {
    uint64_t rank = zipf_rank(&z, random_at(BENCH_SEED, i));
    if (rank < 1 || rank > universe) fail("rank %llu is none", (unsigned long long)rank);
    seen[bin_of(rank)]++;
  }
  fit result = compare(seen, &z, n);
  double freedom = (double)result.bins - 1;
  bool holds = result.chi_square <= freedom + 4 * sqrt(2 * freedom) + 1e-6;
  report_cell(numbers, "zipf");
  report_cell(numbers, "%g", s);
  report_cell(numbers, "%llu", (unsigned long long)universe);
  report_cell(numbers, "%llu", (unsigned long long)n);
  report_cell(numbers, "%zu", result.bins);
  report_cell(numbers, "%.1f", result.chi_square);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

/* ------------------------------------------------------------------ a set that changes */

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* The first n keys of a stream in ascending order; free() them. */
static uint64_t *sorted_keys(const key_stream *stream, uint64_t n) {
  uint64_t *keys = allocate(n + 1, sizeof *keys);
  stream->generate(stream, 0, n, keys);
  qsort(keys, n, sizeof *keys, compare_keys);
  return keys;
}

/* How many of the first n keys of a stream are in the set, of which there are so many. */
static uint64_t count_in(const key_stream *stream, uint64_t n, const uint64_t *set, uint64_t size) {
  uint64_t *keys = sorted_keys(stream, n), in = 0;
  for (uint64_t i = 0; i < n; i++) in += bsearch(&keys[i], set, size, sizeof *set, compare_keys) != NULL;
  free(keys);
  return in;
}

/* Who leaves was in the set and is no more, who comes was not and is now, all others stay; absent keys are in no set.
 */
static bool turn_is_right(const churn *c, uint64_t turn) {
  key_stream before = churn_members(c, turn - 1), after = churn_members(c, turn), absent = stream_absent(c->seed);
  key_stream leaving = churn_leaving(c, turn), coming = churn_coming(c, turn);
  uint64_t *old = sorted_keys(&before, c->members), *new = sorted_keys(&after, c->members);
  bool right = count_in(&leaving, c->replaced, old, c->members) == c->replaced &&
               count_in(&leaving, c->replaced, new, c->members) == 0 &&
               count_in(&coming, c->replaced, old, c->members) == 0 &&
               count_in(&coming, c->replaced, new, c->members) == c->replaced &&
               count_in(&after, c->members, old, c->members) == c->members - c->replaced &&
               count_in(&absent, c->members, new, c->members) == 0;
  for (uint64_t i = 1; i < c->members; i++) right &= new[i] != new[i - 1];
  free(old);
  free(new);
  return right;
}

static bool test_churn(uint64_t members, uint64_t replaced, report *numbers) {
  enum { TURNS = 12 };
  churn c = {.seed = BENCH_SEED, .members = members, .replaced = replaced};
  bool holds = true;
  for (uint64_t turn = 1; turn <= TURNS; turn++) holds &= turn_is_right(&c, turn);
  report_cell(numbers, "churn");
  report_cell(numbers, "%s", "");
  report_cell(numbers, "%llu", (unsigned long long)members);
  report_cell(numbers, "%llu", (unsigned long long)(TURNS * replaced));
  report_cell(numbers, "%s", "");
  report_cell(numbers, "%s", "");
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

/* ------------------------------------------------------------------ FireHose */

static void report_stream(report *numbers, const char *name, double exponent, uint64_t universe, uint64_t n, fit result,
                          bool holds) {
  report_cell(numbers, "%s", name);
  report_cell(numbers, "%g", exponent);
  report_cell(numbers, "%llu", (unsigned long long)universe);
  report_cell(numbers, "%llu", (unsigned long long)n);
  report_cell(numbers, "%zu", result.bins);
  report_cell(numbers, "%.1f", result.chi_square);
  report_cell(numbers, "%s", holds ? "yes" : "no");
}

/* Key i (from 1) has probability c B(i, c + 1), c = 0.5: 1/3 for the first, and each one (i - 1) / (i + 1/2) of the one
 * before it. */
static bool test_power_law(uint64_t n, report *numbers) {
  uint64_t seen[MOST_BINS] = {0};
  power_law p = power_law_create(BENCH_SEED);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = power_law_next(&p);
    if (key < 1 || key >= POWER_LAW_KEYS) fail("key %llu is none", (unsigned long long)key);
    seen[bin_of(key)]++;
  }
  double all = p.up_to[POWER_LAW_KEYS - 1], probability = 1.0 / 3;
  fit result = {0};
  for (uint64_t key = 1, bin = 0; key < POWER_LAW_KEYS; bin++) {
    double expected = 0;
    for (uint64_t end = bin_end(bin, POWER_LAW_KEYS - 1); key < end; key++) {
      expected += probability / all * (double)n;
      probability *= (double)key / ((double)key + 1.5);
    }
    double difference = (double)seen[bin] - expected;
    result.chi_square += difference * difference / expected;
    result.bins++;
  }
  power_law_free(&p);
  double freedom = (double)result.bins - 1;
  bool holds = result.chi_square <= freedom + 4 * sqrt(2 * freedom);
  report_stream(numbers, "power_law", 0.5, POWER_LAW_KEYS, n, result, holds);
  return holds;
}

/* Everyone is asked as often as was decided at birth, and no more; the younger half of all keys less than the older. */
static bool test_active_set(double exponent, uint64_t n, report *numbers) {
  active_set a = active_set_create(BENCH_SEED, exponent);
  uint64_t *asked = allocate(n + 131072, sizeof *asked), old = 0, most = a.totals[0];
  for (uint64_t i = 0; i < n; i++) asked[active_set_next(&a)]++;
  bool holds = a.born <= n + 131072;
  for (uint64_t i = 0; i < a.born; i++) {
    holds &= asked[i] <= most;
    if (i < a.born / 2) old += asked[i];
  }
  for (uint64_t i = 0; i < 131072; i++)
    holds &= asked[a.keys[i].number] == a.keys[i].asked && a.keys[i].asked < a.keys[i].total;
  holds &= old > n / 2;
  report_stream(numbers, "active_set", exponent, a.born, n, (fit){0}, holds);
  free(asked);
  active_set_free(&a);
  return holds;
}

/* ------------------------------------------------------------------ the claim */

static verdict run(bool full, report *numbers) {
  findings found = {0};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
    for (size_t j = 0; j < sizeof universes / sizeof *universes; j++) {
      progress("s = %g, %llu ranks", exponents[i], (unsigned long long)universes[j]);
      finding(&found, test_zipf(exponents[i], universes[j], full ? 30000000 : 1000000, numbers));
    }
  for (size_t i = 0; i < sizeof churns / sizeof *churns; i++)
    finding(&found, test_churn(churns[i].members, churns[i].replaced, numbers));
  finding(&found, test_power_law(full ? 30000000 : 1000000, numbers));
  finding(&found, test_active_set(-0.5, full ? 10000000 : 1000000, numbers));
  finding(&found, test_active_set(-1.5, 1000000, numbers));
  return verdict_of(&found);
}

static const char *const columns[] = {"generator", "s", "universe", "samples", "bins", "chi_square", "holds"};

const claim workloads_claim = {
    .name = "workloads",
    .source = "besom",
    .statement = "the Zipf and power-law generators give every rank its exact probability (chi-square within 4 "
                 "standard errors), "
                 "a set that changes loses and gets the keys it says, an active set asks for keys as often as it says",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
