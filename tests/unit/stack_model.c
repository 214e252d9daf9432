/* The closed forms of a stack's rates, sizes and checks, compared with a simulation of layers. */
#include "stacked/stack_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kinds.h"
#include "support/heap.h"
#include "support/keys.h"

enum { MEMBERS_N = 100000, FREQUENT_N = 150000, OTHERS_N = 200000 };

/* Whether a key is a false positive of a layer that does not hold it. */
static bool wrong(const struct stack *s, unsigned layer, uint64_t key) {
  return (double)(mix64(key + layer * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53 <
         s->rates[layer];
}

/*
 * The path of a key through a stack built by Algorithm 1: layers of its side hold it if it reaches
 * them.
 */
typedef struct path {
  unsigned asked; /* layers */
  bool yes;
} path;

static path walk(const struct stack *s, uint64_t key, unsigned held_parity) {
  for (unsigned i = 0; i < s->layers; i++)
    if (i % 2 != held_parity && !wrong(s, i, key)) return (path){i + 1, i % 2};
  return (path){s->layers, true};
}

typedef struct tally {
  double n, yes, asked, reach[MAX_STACK_LAYERS];
} tally;

static tally walk_all(const struct stack *s, uint64_t stream, size_t n, unsigned held_parity) {
  tally t = {.n = (double)n};
  for (size_t i = 0; i < n; i++) {
    path p = walk(s, key_u64(stream, i), held_parity);
    t.yes += p.yes;
    t.asked += p.asked;
    for (unsigned layer = 0; layer < p.asked; layer++) t.reach[layer]++;
  }
  return t;
}

/* Within five standard deviations of the expected number of n independent events. */
static void assert_near(double seen, double expected, double n) {
  if (fabs(seen - expected) > 5 * sqrt(expected * fmax(1 - expected / n, 0.01)) + 1)
    fail_msg("%g of %g, not %g", seen, n, expected);
}

/* Sums over layers have some more variance. */
static void assert_asked(const tally *t, double checks) {
  if (fabs(t->asked / t->n - checks) > 0.02 * (checks - 1) + 0.005)
    fail_msg("%g checks, not %g", t->asked / t->n, checks);
}

static const struct stack stacks[] = {
    {1, {0.1}},
    {3, {0.2, 0.3, 0.1}},
    {3, {0.01, 0.5, 0.25}},
    {5, {0.3, 0.2, 0.4, 0.5, 0.1}},
    {7, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
    {9, {0.1, 0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.3}},
};

static void rates_and_checks_are_those_of_a_simulation(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
    const struct stack *s = &stacks[i];
    tally members = walk_all(s, MEMBERS, MEMBERS_N, 0),
          frequent = walk_all(s, OTHER_MEMBERS, FREQUENT_N, 1),
          others = walk_all(s, NEGATIVES, OTHERS_N, 2);
    assert_int_equal(members.yes, MEMBERS_N);
    assert_near(frequent.yes, FREQUENT_N * besom__stack_fpr_frequent(s), FREQUENT_N);
    assert_near(others.yes, OTHERS_N * besom__stack_fpr_other(s), OTHERS_N);
    assert_asked(&members, besom__stack_checks_member(s));
    assert_asked(&frequent, besom__stack_checks_frequent(s));
    assert_asked(&others, besom__stack_checks_other(s));
    double share = 0.3,
           rate = share * frequent.yes / frequent.n + (1 - share) * others.yes / others.n;
    assert_near(rate * OTHERS_N, besom__stack_fpr(s, share) * OTHERS_N, OTHERS_N);
    double checks = share * frequent.asked / frequent.n + (1 - share) * others.asked / others.n;
    assert_true(fabs(checks - besom__stack_checks(s, share)) < 0.03);
  }
}

/* A kind for the test: a key takes log2(1/rate) + 2 bits at any rate. */
static double made_up_price(double keys, double *rate) {
  (void)keys;
  return 2 - log2(*rate);
}

static const struct besom_kind made_up = {.size = 1000, .bits_per_key = made_up_price};

static void sizes_are_those_of_what_reaches_each_layer(void **state) {
  (void)state;
  struct layer_costs costs;
  assert_true(besom__layer_costs(&made_up, MEMBERS_N, &costs));
  costs.head_bits = 12345;
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
    const struct stack *s = &stacks[i];
    tally members = walk_all(s, MEMBERS, MEMBERS_N, 0),
          frequent = walk_all(s, OTHER_MEMBERS, FREQUENT_N, 1);
    double bits = costs.head_bits;
    for (unsigned layer = 0; layer < s->layers; layer++)
      bits += costs.layer_bits +
              (layer % 2 ? frequent : members).reach[layer] * (2 - log2(s->rates[layer]));
    double expected = besom__stack_bits(s, &costs, MEMBERS_N, (double)FREQUENT_N / MEMBERS_N);
    if (fabs(bits / MEMBERS_N - expected) > 0.01 * expected)
      fail_msg("%g bits, not %g", bits / MEMBERS_N, expected);
  }
}

/* The bits that a rate costs give that rate. */
static void bits_and_rates_are_inverse(void **state) {
  (void)state;
  struct layer_costs costs;
  assert_true(besom__layer_costs(&made_up, MEMBERS_N, &costs));
  for (double log_rate = 0.1; log_rate < 39; log_rate += 0.37)
    assert_true(fabs(besom__layer_log_rate(&costs, besom__layer_bits_per_key(&costs, log_rate)) -
                     log_rate) < 1e-9);
  assert_true(besom__layer_log_rate(&costs, 0) == 0);
  assert_true(besom__layer_log_rate(&costs, 1e9) == costs.log_rates[costs.n - 1]);
  assert_true(besom__layer_costs(besom__in_this_build(&besom__qf), MEMBERS_N, &costs) &&
              costs.whole_bits);
  for (unsigned i = 0; i + 1 < costs.n; i++) {
    assert_true(besom__layer_log_rate(&costs, costs.bits[i]) == costs.log_rates[i]);
    assert_true(besom__layer_log_rate(&costs, costs.bits[i + 1] - 1e-9) == costs.log_rates[i]);
  }
}

/* Equations (1), (2) and (3) of the paper, and the form without a loop. */
static void equal_layers_obey_the_short_forms(void **state) {
  (void)state;
  struct layer_costs costs;
  assert_true(besom__layer_costs(&made_up, 1e6, &costs));
  for (unsigned layers = 1; layers <= MAX_STACK_LAYERS; layers += 2)
    for (double a = 0.01; a < 0.6; a *= 2) {
      struct stack s = besom__stack_of_equals(layers, a);
      double psi = 0.4, r = 3, n = layers;
      double short_form = psi * pow(a, (n + 1) / 2) + (1 - psi) * (a + pow(a, n + 1)) / (1 + a);
      assert_true(fabs(besom__stack_fpr(&s, psi) / short_form - 1) < 1e-9);
      double bits = besom__stack_bits(&s, &costs, 1e6, r);
      assert_true(fabs(besom__stack_bits_of_equals(layers, -log2(a), &costs, 1e6, r) / bits - 1) <
                  1e-9);
      double heads = n * costs.layer_bits / 1e6;
      assert_true(bits - heads <= (2 - log2(a)) * (1 / (1 - a) + r * a / (1 - a)) * (1 + 1e-9));
      assert_true(besom__stack_checks_member(&s) <= 2 / (1 - a) * (1 + 1e-9));
      assert_true(besom__stack_checks_frequent(&s) <= (1 + 2 * a) / (1 - a) * (1 + 1e-9));
      assert_true(besom__stack_checks_other(&s) <= 1 / (1 - a) * (1 + 1e-9));
    }
}

/* The bits per key that a kind states are those of a real filter, at the rate that it states. */
static void prices_are_those_of_real_filters(void **state) {
  (void)state;
  static const char *const kinds[] = {"bloom", "blocked-bloom", "qf", "cf", "vacuum"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const struct besom_kind *kind = besom__kind_named(kinds[k]);
    for (double wanted = 0.3; wanted > 1e-5; wanted /= 7) {
      double rate = wanted, bits = kind->bits_per_key(200000, &rate);
      besom_config config = {.kind = kinds[k], .capacity = 200000, .fpr = wanted};
      besom_filter *f = NULL;
      besom_statistics stats;
      assert_int_equal(besom_create(&config, &f), BESOM_OK);
      besom_stats(f, &stats);
      assert_true(fabs(8 * (double)stats.bytes / 200000 / bits - 1) < 0.01);
      assert_true(fabs(stats.fpr_at_capacity / rate - 1) < 0.02);
      assert_true(rate <= wanted);
      besom_free(f);
    }
  }
}

static void kinds_of_whole_bits_have_some_rates_only(void **state) {
  (void)state;
  struct layer_costs costs;
  assert_false(besom__layer_costs(besom__in_this_build(&besom__aqf), 1000, &costs));
  assert_true(besom__layer_costs(besom__in_this_build(&besom__bloom), 1000, &costs));
  assert_false(costs.whole_bits);
  assert_true(fabs(besom__layer_bits_per_key(&costs, 8) - 8 / log(2)) < 0.05);
  static const char *const kinds[] = {"qf", "cf", "fuse"};
  for (size_t k = 0; k < 3; k++) {
    assert_true(besom__layer_costs(besom__kind_named(kinds[k]), 100000, &costs));
    assert_true(costs.whole_bits && costs.n >= 20);
    for (unsigned i = 1; i < costs.n; i++) {
      double step = costs.log_rates[i] - costs.log_rates[i - 1];
      assert_true(step > 0.7 && step < 1.3 && costs.bits[i] > costs.bits[i - 1]);
      assert_true(besom__layer_bits_per_key(&costs, costs.log_rates[i]) == costs.bits[i]);
      assert_true(besom__layer_bits_per_key(&costs, costs.log_rates[i] - 0.01) == costs.bits[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rates_and_checks_are_those_of_a_simulation),
      cmocka_unit_test(bits_and_rates_are_inverse),
      cmocka_unit_test(sizes_are_those_of_what_reaches_each_layer),
      cmocka_unit_test(equal_layers_obey_the_short_forms),
      cmocka_unit_test(prices_are_those_of_real_filters),
      cmocka_unit_test(kinds_of_whole_bits_have_some_rates_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
