/* The plan of an adaptive stacked filter: what it expects to see, and that it is near the best. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layered/asf_plan.h"

#include "layered/stack_plan.h"
#include "support/heap.h"
#include "support/zipf_sampler.h"

/* The numbers of keys and the shares that the plan computes with are those that come. */
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
      struct zipf_workload workload = {skew, N};
      besom__asf_seen(&workload, (double)queries, &expected_keys, &expected_share);
      assert_true(fabs(keys - expected_keys) < 0.03 * expected_keys + 4 * sqrt(expected_keys));
      assert_true(fabs(share - expected_share) < 0.05);
      double back = besom__asf_skew(N, (double)queries, expected_keys);
      if (queries > 100) assert_true(fabs(back - skew) < 0.05);
      free(seen);
      zipf_free(&z);
    }
}

/* Of stacks for what has come after so many queries, in a life or, if it is 0, for ever: the best by brute force. */
static double least_cost(const struct asf_objective *w, const struct layer_costs *costs,
                         double waiting, double keys, double share) {
  double least = 1;
  for (double first = 0.3 * w->bits; first <= w->bits; first += 0.02 * w->bits)
    for (double second = 0.9; second > 0.0005; second *= 0.85) {
      struct stack s = {3, {exp2(-besom__layer_log_rate(costs, first)), second, 0}};
      double left =
          w->bits - first -
          keys * s.rates[0] / w->members * besom__layer_bits_per_key(costs, -log2(second));
      if (left < 0) continue;
      s.rates[2] = exp2(-besom__layer_log_rate(costs, left / second));
      least = fmin(least, waiting * s.rates[0] + (1 - waiting) * besom__stack_fpr(&s, share));
    }
  return least;
}

static const struct besom_kind *bloom(void) {
  return besom__kind_named("bloom");
}

/* No more memory than there is, and no other plan that was looked at by brute force is better by more than 2 %. */
static void plans_are_near_the_best(void **state) {
  (void)state;
  for (double skew = 0.5; skew <= 1.3; skew += 0.25)
    for (double bits = 6; bits <= 14; bits += 4) {
      struct asf_objective w = {.kind = bloom(),
                                .workload = {skew, 1e6},
                                .members = 1e4,
                                .lifetime = 1e6,
                                .bits = bits,
                                .fpr = 0.01,
                                .reserve = 0.05};
      struct asf_plan p = besom__asf_plan(&w);
      struct layer_costs costs;
      assert_true(besom__layer_costs(bloom(), w.members, &costs));
      double keys, share, least = exp2(-besom__layer_log_rate(&costs, bits)),
                          own = p.learn > 0 ? 1 : p.expected_fpr;
      for (double queries = 300; queries < 9e5; queries *= 1.1) {
        besom__asf_seen(&w.workload, queries, &keys, &share);
        least = fmin(least, least_cost(&w, &costs, queries / w.lifetime, keys, share));
      }
      costs.layer_bits = 0;
      double wanted = p.learn / p.stack.rates[0];
      for (double queries = 100; queries < 1e6 && p.learn > 0; queries *= 1.001) {
        besom__asf_seen(&w.workload, queries, &keys, &share);
        if (keys > wanted) {
          double waiting = queries / w.lifetime;
          own = waiting * p.stack.rates[0] + (1 - waiting) * p.expected_fpr;
          break;
        }
      }
      assert_true(besom__stack_bits(&p.stack, &costs, w.members, wanted / w.members) <=
                  bits * 1.000001);
      if (own > 1.02 * least) fail_msg("skew %g, %g bits: %g, not %g", skew, bits, own, least);
    }
}

/* What it will be in the end is what the planner of stacked makes of three layers and the same keys. */
static void final_plans_are_those_of_stacked(void **state) {
  (void)state;
  for (double skew = 0.75; skew <= 1.25; skew += 0.25)
    for (double bits = 8; bits <= 12; bits += 2) {
      struct asf_objective w = {
          .kind = bloom(), .workload = {skew, 1e6}, .members = 1e4, .bits = bits, .fpr = 0.01};
      struct asf_plan p = besom__asf_plan(&w);
      struct stack_objective objective = {.members = w.members, .bits = bits, .limits.layers = 3};
      struct stack_candidate best;
      assert_true(besom__layer_costs(bloom(), w.members, &objective.costs) && p.learn > 0);
      objective.costs.layer_bits = 0;
      assert_true(besom__stack_plan_for(&objective, p.learn / p.stack.rates[0], p.share, &best));
      assert_true(fabs(best.fpr - p.expected_fpr) < 0.02 * best.fpr);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_seen_is_foretold),
      cmocka_unit_test(plans_are_near_the_best),
      cmocka_unit_test(final_plans_are_those_of_stacked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
