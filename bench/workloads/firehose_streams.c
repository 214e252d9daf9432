#include "workloads/firehose_streams.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "workloads/key_stream.h"

/* ------------------------------------------------------------------ power law */

static const double concentration = 0.5;

/* Yule-Simon: the probability of a key number up to i is 1 - i B(i, c + 1). */
power_law power_law_create(uint64_t seed) {
  power_law p = {.cumulative = allocate(POWER_LAW_KEYS, sizeof *p.cumulative), .seed = seed};
  for (int i = 1; i < POWER_LAW_KEYS; i++) {
    double log_beta = lgamma(i) + lgamma(concentration + 1) - lgamma(i + concentration + 1);
    p.cumulative[i] = 1 - i * exp(log_beta);
  }
  return p;
}

void power_law_free(power_law *p) {
  free(p->cumulative);
}

/*
 * Returns the first key whose cumulative probability reaches a random number. Numbers beyond the
 * last key are drawn again.
 */
uint64_t power_law_next(power_law *p) {
  double x;
  do x = random_unit(random_at(p->seed, p->drawn++));
  while (x > p->cumulative[POWER_LAW_KEYS - 1]);
  uint64_t below = 0, reaches = POWER_LAW_KEYS - 1;
  while (below < reaches) {
    uint64_t middle = (below + reaches) / 2;
    if (p->cumulative[middle] >= x)
      reaches = middle;
    else
      below = middle + 1;
  }
  return reaches;
}

/* ------------------------------------------------------------------ active set */

enum { QUEUES = 16384, TOTALS = 65536, TREND_POINTS = 1024 };

static const uint32_t none = UINT32_MAX;

static uint64_t draw(active_set *a, uint64_t bound) {
  return random_below(random_at(a->seed, a->drawn++), bound);
}

static void enqueue(active_set *a, uint32_t key, uint32_t queue) {
  a->keys[key].next = none;
  if (a->first[queue] == none)
    a->first[queue] = key;
  else
    a->keys[a->last[queue]].next = key;
  a->last[queue] = key;
}

static void start_key(active_set *a, uint32_t key, uint32_t queue) {
  a->keys[key] = (trending_key){.number = a->started++, .total = a->totals[draw(a, TOTALS)]};
  if (a->keys[key].total > a->max_queries) a->keys[key].total = a->max_queries;
  enqueue(a, key, queue);
}

/* A bell shape: a logistic curve up, and three units later another one down. */
static double trend(int point) {
  double x = 12.0 * point / TREND_POINTS;
  return 1 / (1 + exp(2 - x)) - 1 / (1 + exp(5 - x));
}

/*
 * A key that is rarely queried waits for at most half of the queues; at the peak of its trend it
 * waits for one queue.
 */
static void set_trend(active_set *a) {
  double most = 0;
  for (int i = 0; i < TREND_POINTS; i++) most = fmax(most, trend(i));
  for (int i = 0; i < TREND_POINTS; i++) {
    double ahead = QUEUES / 2 * (most - trend(i)) / most;
    a->ahead[i] = ahead < 1 ? 1 : (uint32_t)ahead;
  }
}

/* A power law: from TOTALS + 1 for one key in TOTALS, down to 1. */
static void set_totals(active_set *a, double exponent) {
  double least = pow(TOTALS, exponent);
  for (int i = 0; i < TOTALS; i++)
    a->totals[i] = (uint32_t)(TOTALS * (pow(i + 1, exponent) - least) / (1 - least)) + 1;
}

static active_set create_active_set(uint64_t seed, double exponent, uint32_t max_queries) {
  active_set a = {.keys = allocate(ACTIVE_KEYS, sizeof *a.keys),
                  .first = allocate(QUEUES, sizeof *a.first),
                  .last = allocate(QUEUES, sizeof *a.last),
                  .totals = allocate(TOTALS, sizeof *a.totals),
                  .ahead = allocate(TREND_POINTS, sizeof *a.ahead),
                  .seed = seed,
                  .max_queries = max_queries};
  set_totals(&a, exponent);
  set_trend(&a);
  for (uint32_t q = 0; q < QUEUES; q++) a.first[q] = none;
  for (uint32_t key = 0; key < ACTIVE_KEYS; key++) start_key(&a, key, (uint32_t)draw(&a, QUEUES));
  return a;
}

active_set active_set_create(uint64_t seed, double exponent) {
  return create_active_set(seed, exponent, UINT32_MAX);
}

void active_set_free(active_set *a) {
  free(a->keys);
  free(a->first);
  free(a->last);
  free(a->totals);
  free(a->ahead);
}

/*
 * Emits the next query. Returns the index of the key among the active ones, its number and how many
 * times it was queried so far.
 */
static uint32_t emit(active_set *a, uint64_t *number, uint32_t *nth) {
  while (a->first[a->now] == none) a->now = (a->now + 1) % QUEUES;
  uint32_t at = a->first[a->now];
  trending_key *key = &a->keys[at];
  *number = key->number;
  *nth = ++key->queried;
  a->first[a->now] = key->next;
  if (key->queried < key->total)
    enqueue(a, at,
            (a->now + a->ahead[(uint64_t)TREND_POINTS * key->queried / key->total]) % QUEUES);
  else
    start_key(a, at, (uint32_t)draw(a, QUEUES));
  return at;
}

uint64_t active_set_next(active_set *a) {
  uint64_t number;
  uint32_t nth;
  emit(a, &number, &nth);
  return number;
}

/* ------------------------------------------------------------------ two levels */

enum { BITS_PER_PACKET = 16 };

two_level two_level_create(uint64_t seed, double exponent) {
  return (two_level){.outer = create_active_set(seed, exponent, PACKETS_PER_KEY),
                     .inner = active_set_create(derive_seed(seed, SEED_LOOKUPS), exponent),
                     .carried = allocate(ACTIVE_KEYS, sizeof(uint64_t)),
                     .seed = seed};
}

void two_level_free(two_level *t) {
  active_set_free(&t->outer);
  active_set_free(&t->inner);
  free(t->carried);
}

packet two_level_next(two_level *t) {
  packet p;
  uint32_t at = emit(&t->outer, &p.outer, &p.nth);
  if (p.nth == 1) t->carried[at] = active_set_next(&t->inner);
  p.inner = t->carried[at];
  uint64_t key = two_level_inner_key(t, p.inner);
  p.bits = p.nth <= PACKETS_TO_KNOW ? (uint16_t)(key >> (BITS_PER_PACKET * (p.nth - 1))) : 0;
  return p;
}

uint64_t two_level_inner_key(const two_level *t, uint64_t number) {
  return random_at(derive_seed(t->seed, SEED_HASHES), number);
}
