/*
 * Stacked filters of every base have the rate that was planned, and their layers, whatever the seed
 * is: how many keys reach a layer is random.
 */
#include "stacked_seeds.h"

enum { SEEDS = 8 };

static const struct {
  const char *options;
  double bits;
} cases[] = {{"base=bloom,sampled=100", 10.9}, {"base=blocked-bloom,sampled=100", 12},
             {"base=cf,sampled=100", 13.2},    {"base=vacuum,sampled=100", 13.2},
             {"base=qf,sampled=100", 14},      {"base=fuse,sampled=100", 10.3}};

/* With 60 seeds, and 1,000 to a million members: stacked_seeds_long.c. */
static void a_stack_has_the_planned_rate(void **state) {
  (void)state;
  besom_workload *w = workload_of(10000);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_config config = {.kind = "stacked",
                           .options = cases[i].options,
                           .capacity = 10000,
                           .bits_per_key = cases[i].bits};
    besom_stack_plan plan;
    assert_int_equal(besom_plan(&config, 10000, w, NULL, &plan), BESOM_OK);
    if (plan.expected_fpr * PER_MEMBER * 10000 < 400)
      fail_msg("%s: a rate of %g", cases[i].options, plan.expected_fpr);
    assert_planned_rate(config, &plan, SEEDS);
  }
  besom_workload_free(w);
}

/*
 * Three Bloom filters, planned by hand: 1 in 2^5 keys pass the first, and so on. With most absent
 * keys known, a plan must not have a higher rate.
 */
static void a_plan_is_no_worse_than_one_by_hand(void **state) {
  (void)state;
  besom_config config = {.kind = "stacked",
                         .options = "base=bloom,sampled=100",
                         .capacity = 100000,
                         .bits_per_key = 10};
  besom_workload *w = NULL;
  besom_stack_plan plan;
  besom_plan_limits none = {0}, all = {.frequent = 1200000};
  assert_int_equal(besom_workload_create(1 << 28, NULL, &w), BESOM_OK);
  for (uint64_t i = 0; i < 1200000; i++)
    assert_int_equal(besom_workload_add(w, &i, sizeof i, 3), BESOM_OK);
  assert_int_equal(besom_plan(&config, 100000, w, &none, &plan), BESOM_OK);
  assert_true(plan.expected_fpr <= 3.8e-4);
  assert_int_equal(besom_plan(&config, 100000, w, &all, &plan), BESOM_OK);
  assert_true(plan.frequent == 1200000 && plan.expected_fpr <= 3.8e-4);
  besom_workload_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stack_has_the_planned_rate),
      cmocka_unit_test(a_plan_is_no_worse_than_one_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
