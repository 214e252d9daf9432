/* Part of claim workloads: uniform keys, Zipf keys, and a changing set. */
#include <stdlib.h>

#include "claims/workload_checks/checks.h"
#include "fail.h"
#include "workloads/key_list.h"
#include "workloads/key_stream.h"

enum {
  SINGLE_RANKS = 64,
  MAX_BINS = SINGLE_RANKS + 40,
  UNIFORM_BINS = 256,
  STREAM_KEYS = 1000,
  CHUNK = 1000
};

static const double exponents[] = {0, 0.5, 0.99, 1, 1.5, 3};
static const uint64_t universes[] = {1, 2, 1000, 10000000, (uint64_t)1 << 40};

static const struct {
  uint64_t members, replaced;
} churns[] = {{1, 0}, {1, 1}, {1000, 1}, {1000, 200}, {1000, 1000}, {50000, 17000}};

/* ------------------------------------------------------------------ ranks */

/* Bins: the first ranks one by one, then each bin has twice as many ranks as the one before. */
static size_t bin_of(uint64_t rank) {
  if (rank <= SINGLE_RANKS) return (size_t)rank - 1;
  return SINGLE_RANKS + (size_t)(63 - __builtin_clzll((rank - 1) / SINGLE_RANKS));
}

static uint64_t bin_end(size_t bin, uint64_t universe) {
  uint64_t end =
      bin < SINGLE_RANKS ? bin + 2 : ((uint64_t)SINGLE_RANKS << (bin - SINGLE_RANKS + 1)) + 1;
  return end <= universe ? end : universe + 1;
}

static fit fit_zipf(const uint64_t *seen, const zipf *z, uint64_t n) {
  double expected[MAX_BINS], all = sum_powers(z->s, 1, z->universe + 1);
  size_t bins = 0;
  for (uint64_t first = 1; first <= z->universe; first = bin_end(bins++, z->universe))
    expected[bins] = (double)n * sum_powers(z->s, first, bin_end(bins, z->universe)) / all;
  return fit_bins(seen, expected, bins);
}

static bool test_zipf(double s, uint64_t universe, uint64_t n, report *numbers) {
  zipf z = zipf_create(s, universe);
  uint64_t seen[MAX_BINS] = {0};
  for (uint64_t i = 0; i < n; i++) {
    uint64_t rank = zipf_rank(&z, random_at(BENCH_SEED, i));
    if (rank < 1 || rank > universe) fail("rank %llu is out of range", (unsigned long long)rank);
    seen[bin_of(rank)]++;
  }
  trial t = {.generator = "zipf", .s = s, .universe = universe, .samples = n, .right = true};
  t.fit = fit_zipf(seen, &z, n);
  return report_trial(numbers, &t);
}

/* ------------------------------------------------------------------ key streams */

/* Distinct keys: checks their uppermost bits. */
static bool test_uniform(const char *name, const key_stream *stream, uint64_t n, report *numbers) {
  uint64_t seen[UNIFORM_BINS] = {0}, keys[CHUNK];
  for (uint64_t done = 0; done < n; done += CHUNK) {
    stream->generate(stream, done, CHUNK, keys);
    for (size_t i = 0; i < CHUNK; i++) seen[random_below(keys[i], UNIFORM_BINS)]++;
  }
  trial t = {.generator = name,
             .s = -1,
             .samples = n,
             .fit = fit_uniform(seen, UNIFORM_BINS),
             .right = true};
  return report_trial(numbers, &t);
}

typedef struct numbered_key {
  uint64_t key, number;
} numbered_key;

static int compare_numbered(const void *a, const void *b) {
  uint64_t x = ((const numbered_key *)a)->key, y = ((const numbered_key *)b)->key;
  return x < y ? -1 : x > y;
}

/*
 * Counts how often a stream gives each of the first keys of another one. Returns false if it gives
 * any other key.
 */
static bool count_keys(const key_stream *stream, const key_stream *of, uint64_t n, uint64_t *seen) {
  numbered_key known[STREAM_KEYS];
  for (uint64_t i = 0; i < STREAM_KEYS; i++) {
    known[i].number = i;
    of->generate(of, i, 1, &known[i].key);
  }
  qsort(known, STREAM_KEYS, sizeof *known, compare_numbered);
  for (uint64_t i = 0; i < n; i++) {
    numbered_key wanted;
    stream->generate(stream, i, 1, &wanted.key);
    const numbered_key *found =
        bsearch(&wanted, known, STREAM_KEYS, sizeof *known, compare_numbered);
    if (!found) return false;
    seen[found->number]++;
  }
  return true;
}

static bool test_repeated(const char *name, double s, const key_stream *stream,
                          const key_stream *of, uint64_t n, report *numbers) {
  uint64_t seen[STREAM_KEYS] = {0};
  double expected[STREAM_KEYS], all = sum_powers(s, 1, STREAM_KEYS + 1);
  trial t = {.generator = name, .s = s, .universe = STREAM_KEYS, .samples = n};
  t.right = count_keys(stream, of, n, seen);
  for (uint64_t i = 0; i < STREAM_KEYS; i++)
    expected[i] = (double)n * sum_powers(s, i + 1, i + 2) / all;
  t.fit = fit_bins(seen, expected, STREAM_KEYS);
  return report_trial(numbers, &t);
}

static bool test_streams(uint64_t n, report *numbers) {
  key_stream members = stream_members(BENCH_SEED), absent = stream_absent(BENCH_SEED);
  key_stream lookups = stream_lookups(BENCH_SEED, STREAM_KEYS);
  key_stream popular = stream_zipf_absent(BENCH_SEED, 1.1, STREAM_KEYS);
  bool holds = test_uniform("members", &members, n, numbers);
  holds &= test_uniform("absent", &absent, n, numbers);
  holds &= test_repeated("lookups", 0, &lookups, &members, n, numbers);
  holds &= test_repeated("zipf_absent", 1.1, &popular, &absent, n, numbers);
  return holds;
}

/* ------------------------------------------------------------------ a changing set */

/* The first n keys of a stream in ascending order. Release them by free(). */
static uint64_t *sorted_keys(const key_stream *stream, uint64_t n) {
  uint64_t *keys = allocate(n + 1, sizeof *keys);
  stream->generate(stream, 0, n, keys);
  qsort(keys, n, sizeof *keys, key_compare);
  return keys;
}

/* How many of the first n keys of a stream are in the sorted set of `size` keys. */
static uint64_t count_in(const key_stream *stream, uint64_t n, const uint64_t *set, uint64_t size) {
  uint64_t *keys = sorted_keys(stream, n), in = 0;
  for (uint64_t i = 0; i < n; i++)
    in += bsearch(&keys[i], set, size, sizeof *set, key_compare) != NULL;
  free(keys);
  return in;
}

/*
 * Keys that leave were in the set and are not any more, keys that join were not and are now, all
 * others stay; absent keys are never in the set.
 */
static bool step_is_right(const churn *c, uint64_t turn) {
  key_stream before = churn_members(c, turn - 1), after = churn_members(c, turn),
             absent = stream_absent(c->seed);
  key_stream leaving = churn_leaving(c, turn), coming = churn_joining(c, turn);
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
  trial t = {.generator = "churn",
             .s = -1,
             .universe = members,
             .samples = TURNS * replaced,
             .right = true};
  for (uint64_t turn = 1; turn <= TURNS; turn++) t.right &= step_is_right(&c, turn);
  return report_trial(numbers, &t);
}

bool check_key_streams(bool full, report *numbers) {
  uint64_t n = full ? 30000000 : 300000;
  bool holds = true;
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
    for (size_t j = 0; j < sizeof universes / sizeof *universes; j++) {
      progress("s = %g, %llu ranks", exponents[i], (unsigned long long)universes[j]);
      holds &= test_zipf(exponents[i], universes[j], n, numbers);
    }
  holds &= test_streams(n, numbers);
  for (size_t i = 0; i < sizeof churns / sizeof *churns; i++)
    holds &= test_churn(churns[i].members, churns[i].replaced, numbers);
  return holds;
}
