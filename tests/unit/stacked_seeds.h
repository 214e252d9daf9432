/*
 * What the tests of the rate of stacked filters share: filters whose absent keys are all known, so
 * that the plan says how many of them are false positives.
 */
#ifndef BESOM_TESTS_STACKED_SEEDS_H
#define BESOM_TESTS_STACKED_SEEDS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "besom_plan.h"
#include "support/keys.h"

enum { PER_MEMBER = 24 }; /* absent keys */

typedef struct key_source {
  uint64_t stream, n, at;
  besom_u64_key key;
} key_source;

static inline besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_source *s = ctx;
  if (s->at == s->n) return BESOM_END;
  *weight = 3;
  s->key = besom_u64(key_u64(s->stream, s->at++));
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

static inline besom_filter *build_stack(const besom_config *config) {
  besom_filter *f = NULL;
  key_source members = {.stream = MEMBERS, .n = config->capacity},
             absent = {.stream = NEGATIVES, .n = PER_MEMBER * config->capacity};
  besom_source yes = {.next = next_key, .ctx = &members}, no = {.next = next_key, .ctx = &absent};
  assert_int_equal(besom_build(config, &(besom_input){.yes = &yes, .no = &no}, &f), BESOM_OK);
  return f;
}

/* The queries: each absent key as often as the others. */
static inline besom_workload *workload_of(uint64_t members) {
  besom_workload *w = NULL;
  assert_int_equal(besom_workload_create(UINT64_C(1) << 31, NULL, &w), BESOM_OK);
  for (uint64_t i = 0; i < PER_MEMBER * members; i++) {
    besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
    assert_int_equal(besom_workload_add(w, key.bytes, sizeof key.bytes, 3), BESOM_OK);
  }
  return w;
}

static inline uint64_t yes_to_absent(const besom_filter *f, uint64_t n) {
  uint64_t yes = 0;
  for (uint64_t i = 0; i < n; i++) yes += besom_contains_u64(f, key_u64(NEGATIVES, i));
  return yes;
}

/*
 * Builds a stack with each of these seeds. Its false positives are at most 1.1 times those of the
 * plan in the geometric mean, 1.5 times with each seed, and it has its layers.
 */
static inline void assert_planned_rate(besom_config config, const besom_stack_plan *plan,
                                       unsigned seeds) {
  uint8_t seed[16] = "a stack";
  double expected = plan->expected_fpr * PER_MEMBER * (double)config.capacity, logs = 0, worst = 0;
  config.seed = seed;
  for (seed[15] = 0; seed[15] < seeds; seed[15]++) {
    besom_filter *f = build_stack(&config);
    double found = (double)yes_to_absent(f, PER_MEMBER * config.capacity) / expected;
    if (found > 1.5 || !besom_layer(f, plan->layers - 1))
      fail_msg("%s, %g bits, %llu members, seed %u: %g times the planned rate %g", config.options,
               config.bits_per_key, (unsigned long long)config.capacity, seed[15], found,
               plan->expected_fpr);
    logs += log(found);
    worst = fmax(worst, found);
    besom_free(f);
  }
  print_message("%u seeds: %.3f times the planned rate, at most %.3f\n", seeds, exp(logs / seeds),
                worst);
  if (logs > seeds * log(1.1))
    fail_msg("%s, %g bits, %llu members: %g times the planned rate", config.options,
             config.bits_per_key, (unsigned long long)config.capacity, exp(logs / seeds));
}

#endif
