/* Part of claim workloads: the FireHose streams. */
#include <stdio.h>
#include <stdlib.h>

#include "claims/workload_checks/checks.h"
#include "fail.h"
#include "random.h"
#include "workloads/firehose_streams.h"

enum { BIT_BINS = 64 };

/*
 * Key i (from 1) has probability c B(i, c + 1), c = 0.5: 1/3 for the first, and each key has (i -
 * 1) / (i + 1/2) times the probability of the one before it.
 */
static bool test_power_law(uint64_t n, report *numbers) {
  uint64_t *seen = allocate(POWER_LAW_KEYS, sizeof *seen);
  double *expected = allocate(POWER_LAW_KEYS, sizeof *expected);
  power_law p = power_law_create(BENCH_SEED);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = power_law_next(&p);
    if (key < 1 || key >= POWER_LAW_KEYS) fail("key %llu is out of range", (unsigned long long)key);
    seen[key]++;
  }
  double probability = 1.0 / 3 / p.cumulative[POWER_LAW_KEYS - 1];
  for (uint64_t key = 1; key < POWER_LAW_KEYS; key++) {
    expected[key] = probability * (double)n;
    probability *= (double)key / ((double)key + 1.5);
  }
  trial t = {
      .generator = "power_law", .s = 0.5, .universe = POWER_LAW_KEYS, .samples = n, .right = true};
  t.fit = fit_bins(seen, expected, POWER_LAW_KEYS);
  power_law_free(&p);
  free(seen);
  free(expected);
  return report_trial(numbers, &t);
}

/*
 * Every key is queried as often as was drawn when it started, and no more; the newer half of all
 * keys less than the older half.
 */
static bool test_active_set(double exponent, uint64_t n, report *numbers) {
  active_set a = active_set_create(BENCH_SEED, exponent);
  uint64_t *queried = allocate(n + ACTIVE_KEYS, sizeof *queried), old = 0, most = a.totals[0];
  for (uint64_t i = 0; i < n; i++) queried[active_set_next(&a)]++;
  bool right = a.started <= n + ACTIVE_KEYS;
  for (uint64_t i = 0; i < a.started; i++) {
    right &= queried[i] <= most;
    if (i < a.started / 2) old += queried[i];
  }
  for (uint64_t i = 0; i < ACTIVE_KEYS; i++)
    right &= queried[a.keys[i].number] == a.keys[i].queried && a.keys[i].queried < a.keys[i].total;
  char remark[32];
  snprintf(remark, sizeof remark, "POW_EXP %g", exponent);
  trial t = {.generator = "active_set",
             .s = -1,
             .universe = a.started,
             .samples = n,
             .right = right && old > n / 2,
             .remark = remark};
  free(queried);
  active_set_free(&a);
  return report_trial(numbers, &t);
}

/* ------------------------------------------------------------------ two levels */

/* What a receiver has of each outer key. */
typedef struct received {
  uint64_t bits, inner;
  uint32_t packets;
} received;

/* Receives a packet. Returns false if it is not the expected next one. */
static bool receive(const two_level *t, received *outer, const packet *p) {
  received *r = &outer[p->outer];
  if (r->packets && r->inner != p->inner) return false;
  r->inner = p->inner;
  if (p->nth != ++r->packets || p->nth > PACKETS_PER_KEY || p->inner >= t->inner.started)
    return false;
  if (p->nth > PACKETS_TO_KNOW) return p->bits == 0;
  r->bits |= (uint64_t)p->bits << (16 * (p->nth - 1));
  return p->nth < PACKETS_TO_KNOW || r->bits == two_level_inner_key(t, p->inner);
}

/*
 * Checks the bits of inner keys, and that each outer key carries its own in the right order, in at
 * most five packets.
 */
static bool test_two_level(double exponent, uint64_t n, report *numbers) {
  two_level two = two_level_create(BENCH_SEED, exponent);
  received *outer = allocate(n + ACTIVE_KEYS, sizeof *outer);
  uint64_t seen[BIT_BINS] = {0}, known = 0;
  trial t = {.generator = "two_level", .s = -1, .samples = n, .right = true};
  for (uint64_t i = 0; i < n; i++) {
    packet p = two_level_next(&two);
    t.right &= receive(&two, outer, &p);
    known += p.nth == PACKETS_TO_KNOW;
  }
  for (uint64_t i = 0; i < two.inner.started; i++)
    seen[random_below(two_level_inner_key(&two, i), BIT_BINS)]++;
  t.universe = two.outer.started;
  t.fit = fit_uniform(seen, BIT_BINS);
  char remark[64];
  snprintf(remark, sizeof remark, "POW_EXP %g; %llu inner keys known", exponent,
           (unsigned long long)known);
  t.remark = remark;
  t.right &= known > 0;
  free(outer);
  two_level_free(&two);
  return report_trial(numbers, &t);
}

bool check_firehose(bool full, report *numbers) {
  bool holds = test_power_law(full ? 30000000 : 1000000, numbers);
  holds &= test_active_set(-0.5, full ? 10000000 : 1000000, numbers);
  holds &= test_active_set(-1.5, 1000000, numbers);
  holds &= test_two_level(-0.5, full ? 10000000 : 1000000, numbers);
  holds &= test_two_level(-1.5, 1000000, numbers);
  return holds;
}
