/* The plan of an adaptive stacked filter: the keys it expects, and that it is near the optimum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "papers/adaptive_stacked/asf_plan.h"

#include "kinds.h"
#include "stacked/stack_plan.h"
#include "support/heap.h"
#include "support/zipf_sampler.h"

/* The numbers of keys and the shares that the plan assumes are those of a simulation. */
static void what_is_seen_is_foretold(void **state) {
  (void)state;
  enum { N = 20000 };
  for (double skew = 0; skew < 1.6; skew += 0.5)
    for (size_t queries = 100; queries <= 100000; queries *= 10) {
      zipf_sampler z = zipf_new(skew, N);
      char *seen = heap_array(N, 1);
      double keys = 0, share = 0, expected_keys, expected_share;
      memset(seen, 0, N);
      for (size_t i = 0; i < queries; i++) {
        size_t k = zipf_draw(&z);
        if (seen[k]) continue;
        seen[k] = 1;
        keys++;
        share += pow((double)k + 1, -skew) / z.sums[N - 1];
      }
      struct rank_workload workload = {.skew = skew, .negatives = N};
      besom__asf_seen(&workload, (double)queries, &expected_keys, &expected_share);
      assert_true(fabs(keys - expected_keys) < 0.03 * expected_keys + 4 * sqrt(expected_keys));
      assert_true(fabs(share - expected_share) < 0.05);
      double back = besom__asf_skew(N, (double)queries, expected_keys);
      if (queries > 100) assert_true(fabs(back - skew) < 0.05);
      free(seen);
      zipf_free(&z);
    }
}

static const struct besom_kind *bloom(void) {
  return besom__in_this_build(&besom__bloom);
}

static double rate_of(const struct layer_costs *costs, double bits) {
  return exp2(-besom__layer_log_rate(costs, bits));
}

/* The keys queried until the second layer is full. */
typedef struct period {
  double queries, keys, share, undenied;
} period;

/* In the published form nothing is denied before; else what was queried 1.2 times as long ago. */
static period period_of(const struct asf_objective *w, double queries) {
  period t = {.queries = queries, .undenied = queries};
  double share;
  besom__asf_seen(&w->workload, queries, &t.keys, &t.share);
  if (w->published) return t;
  besom__asf_seen(&w->workload, queries / 1.2, &t.undenied, &share);
  t.undenied = fmin(1.2 * t.undenied, queries);
  return t;
}

/* The false-positive rate over the lifetime. */
static double cost_of(const struct asf_objective *w, const struct stack *s, const period *t) {
  double denied = t->queries - t->undenied;
  return (t->undenied * s->rates[0] + denied * s->rates[0] * s->rates[2] +
          (w->lifetime - t->queries) * besom__stack_fpr(s, t->share)) /
         w->lifetime;
}

/* The least cost of a stack for the keys queried so far, by brute force. */
static double least_cost(const struct asf_objective *w, const struct layer_costs *costs,
                         const period *t) {
  double least = 1, copies = w->published ? 1 : 2;
  for (double first = 0.3 * w->bits; first <= w->bits; first += 0.01 * w->bits)
    for (double second = 0.9; second > 0.0005; second *= 0.85) {
      struct stack s = {3, {rate_of(costs, first), second, 0}};
      double held = t->keys * s.rates[0] / w->members,
             left =
                 w->bits - first - copies * held * besom__layer_bits_per_key(costs, -log2(second));
      if (left < 0 || (!w->published && s.rates[0] > ASF_WORST * rate_of(costs, w->bits))) continue;
      s.rates[2] = rate_of(costs, left / second);
      least = fmin(least, cost_of(w, &s, t));
    }
  return least;
}

/* A plan keeps to its memory, and no plan found by brute force is better by more than 2 %. */
static void assert_near_the_best(const struct asf_objective *w) {
  struct asf_plan p = besom__asf_plan(w);
  struct layer_costs costs;
  assert_true(besom__layer_costs(bloom(), w->members, &costs));
  double least = rate_of(&costs, w->bits), own = p.learn > 0 ? 1 : p.expected_fpr,
         wanted = p.learn / p.stack.rates[0];
  for (double queries = 300; queries < 9e5; queries *= 1.1) {
    period t = period_of(w, queries);
    least = fmin(least, least_cost(w, &costs, &t));
  }
  for (double queries = 100; queries < 1e6 && p.learn > 0 && own == 1; queries *= 1.001) {
    period t = period_of(w, queries);
    if (t.keys > wanted) own = cost_of(w, &p.stack, &t);
  }
  costs.layer_bits = 0;
  double second = p.learn / w->members * besom__layer_bits_per_key(&costs, -log2(p.stack.rates[1]));
  double bits = besom__stack_bits(&p.stack, &costs, w->members, wanted / w->members);
  if (p.learn > 0 && !w->published) bits += second; /* the copy that waits */
  assert_true(bits <= w->bits * 1.000001);
  assert_true(w->published || p.stack.rates[0] <= 1.01 * ASF_WORST * rate_of(&costs, w->bits));
  if (own > 1.02 * least)
    fail_msg("skew %g, %g bits: %g, not %g", w->workload.skew, w->bits, own, least);
}

static void plans_are_near_the_best(void **state) {
  (void)state;
  for (int published = 0; published < 2; published++)
    for (double skew = 0.5; skew <= 1.3; skew += 0.25)
      for (double bits = 6; bits <= 14; bits += 4)
        assert_near_the_best(&(struct asf_objective){.kind = bloom(),
                                                     .workload = {.skew = skew, .negatives = 1e6},
                                                     .published = published,
                                                     .layers = 3,
                                                     .members = 1e4,
                                                     .lifetime = 1e6,
                                                     .bits = bits,
                                                     .fpr = 0.01,
                                                     .reserve = 0.05});
}

/* The final stack is what the planner of stacked computes for three layers and the same keys. */
static void final_plans_are_those_of_stacked(void **state) {
  (void)state;
  for (double skew = 0.75; skew <= 1.25; skew += 0.25)
    for (double bits = 8; bits <= 12; bits += 2) {
      struct asf_objective w = {.kind = bloom(),
                                .workload = {.skew = skew, .negatives = 1e6},
                                .published = true,
                                .layers = 3,
                                .members = 1e4,
                                .bits = bits,
                                .fpr = 0.01};
      struct asf_plan p = besom__asf_plan(&w);
      struct stack_objective objective = {.members = w.members, .bits = bits, .limits.layers = 3};
      struct stack_candidate best;
      assert_true(besom__layer_costs(bloom(), w.members, &objective.costs) && p.learn > 0);
      objective.costs.layer_bits = 0;
      assert_true(besom__stack_plan_for(&objective, p.learn / p.stack.rates[0], p.share, &best));
      assert_true(fabs(best.fpr - p.expected_fpr) < 0.02 * best.fpr);
    }
}

/* More layers: those beyond the third can hold what the third does not deny, and are small. */
static void deeper_layers_hold_the_rest(void **state) {
  (void)state;
  struct asf_objective w = {.kind = bloom(),
                            .workload = {.skew = 1, .negatives = 1e7},
                            .members = 1e6,
                            .lifetime = 1e7,
                            .bits = 10};
  double last = 0;
  for (w.layers = 3; w.layers <= ASF_MAX_LAYERS; w.layers += 2) {
    struct asf_plan p = besom__asf_plan(&w);
    assert_int_equal(p.stack.layers, w.layers);
    double reached = p.learn;
    for (unsigned i = 3; i < w.layers; i += 2) {
      reached *= p.stack.rates[i - 1];
      assert_true(besom__asf_learned(&p, i) >= reached);
    }
    if (last > 0) assert_true(p.value < 1.05 * last);
    last = p.value;
  }
  w.layers = 5;
  struct asf_plan usual = besom__asf_plan(&w);
  w.widest = true;
  struct asf_plan widest = besom__asf_plan(&w);
  assert_true(widest.learn / widest.stack.rates[0] > 1.2 * usual.learn / usual.stack.rates[0]);
}

/* A measured distribution gives about the plan of the distribution that was measured. */
static void a_measured_distribution_is_planned_for(void **state) {
  (void)state;
  enum { KEYS = 100000 };
  for (double skew = 0.75; skew <= 1.25; skew += 0.25) {
    struct rank_frequency *frequencies = heap_array(1, sizeof *frequencies);
    struct measured_ranks measured;
    memset(frequencies, 0, sizeof *frequencies);
    for (uint64_t k = 1; k <= KEYS; k++)
      besom__rank_frequency_add(frequencies, 2 + (uint64_t)(1e7 * pow((double)k, -skew)));
    besom__measure_ranks(frequencies, &measured);
    free(frequencies);
    assert_true(besom__measured_ranks_valid(&measured));
    struct rank_workload by_sample = {.negatives = KEYS, .measured = &measured},
                         by_skew = {.skew = skew, .negatives = KEYS};
    for (double queries = 1000; queries < 1e6; queries *= 10) {
      double keys[2], share[2];
      besom__asf_seen(&by_sample, queries, &keys[0], &share[0]);
      besom__asf_seen(&by_skew, queries, &keys[1], &share[1]);
      assert_true(fabs(keys[0] / keys[1] - 1) < 0.15 && fabs(share[0] - share[1]) < 0.05);
    }
  }
}

/* Of keys that occur once in the sample, no query is expected again. */
static void unseen_keys_are_endless(void **state) {
  (void)state;
  struct rank_frequency *frequencies = heap_array(1, sizeof *frequencies);
  struct measured_ranks measured;
  double keys, share;
  memset(frequencies, 0, sizeof *frequencies);
  for (uint64_t k = 0; k < 1000; k++) besom__rank_frequency_add(frequencies, 1);
  besom__measure_ranks(frequencies, &measured);
  free(frequencies);
  assert_true(besom__measured_ranks_valid(&measured));
  struct rank_workload workload = {.negatives = 1000, .measured = &measured};
  besom__asf_seen(&workload, 1e6, &keys, &share);
  assert_true(fabs(keys - 1e6) < 2000 && share < 0.01);
  measured.each[0] = -1;
  assert_false(besom__measured_ranks_valid(&measured));
  measured.n = 0;
  assert_false(besom__measured_ranks_valid(&measured));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_seen_is_foretold),
      cmocka_unit_test(plans_are_near_the_best),
      cmocka_unit_test(final_plans_are_those_of_stacked),
      cmocka_unit_test(deeper_layers_hold_the_rest),
      cmocka_unit_test(a_measured_distribution_is_planned_for),
      cmocka_unit_test(unseen_keys_are_endless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
