/*
 * stacked_rates.c with 60 seeds, all bases, and 1,000 to a million members: the rate of a stack is
 * the planned one. The budget is the largest with at least 400 expected false positives. With
 * arguments, MEMBERS SEEDS, one size with so many seeds: 60 seeds take 2 CPU minutes with 10^5
 * members, and some 20 with 10^6.
 */
#include <stdlib.h>

#include "stacked_seeds.h"

enum { SEEDS = 60, LEAST_EXPECTED = 400 };

static uint64_t given_members;
static unsigned given_seeds;

static const char *const bases[] = {"base=bloom,sampled=100", "base=blocked-bloom,sampled=100",
                                    "base=cf,sampled=100",    "base=vacuum,sampled=100",
                                    "base=qf,sampled=100",    "base=fuse,sampled=100",
                                    "base=ribbon,sampled=100"};

/* The best plan with so many expected false positives. */
static besom_stack_plan largest_budget(besom_config *config, const besom_workload *w) {
  for (config->bits_per_key = 20; config->bits_per_key > 4; config->bits_per_key -= 0.3) {
    besom_stack_plan plan;
    if (besom_plan(config, config->capacity, w, NULL, &plan) == BESOM_OK &&
        plan.expected_fpr * PER_MEMBER * (double)config->capacity >= LEAST_EXPECTED)
      return plan;
  }
  fail_msg("%s: no budget with %d false positives", config->options, LEAST_EXPECTED);
  return (besom_stack_plan){0};
}

static void stacks_have_the_planned_rate(uint64_t members, unsigned seeds) {
  besom_workload *w = workload_of(members);
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    besom_config config = {.kind = "stacked", .options = bases[i], .capacity = members};
    besom_stack_plan plan = largest_budget(&config, w);
    print_message("%llu members, %s, %.1f bits: %u layers, rate %g\n", (unsigned long long)members,
                  bases[i], config.bits_per_key, plan.layers, plan.expected_fpr);
    assert_planned_rate(config, &plan, seeds);
  }
  besom_workload_free(w);
}

static void with_a_thousand_members(void **state) {
  (void)state;
  stacks_have_the_planned_rate(1000, SEEDS);
  stacks_have_the_planned_rate(2000, SEEDS);
}

static void with_ten_thousand_members(void **state) {
  (void)state;
  stacks_have_the_planned_rate(10000, SEEDS);
}

static void with_a_hundred_thousand_members(void **state) {
  (void)state;
  stacks_have_the_planned_rate(100000, SEEDS);
}

static void with_a_million_members(void **state) {
  (void)state;
  stacks_have_the_planned_rate(1000000, SEEDS);
}

/* Small budgets, with which a pair of layers barely fits. */
static void with_small_budgets(void **state) {
  (void)state;
  static const struct {
    const char *options;
    double bits;
  } cases[] = {{"base=cf,sampled=100", 7.4}, {"base=vacuum,sampled=100", 9.2}};
  besom_workload *w = workload_of(180000);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_config config = {.kind = "stacked",
                           .options = cases[i].options,
                           .capacity = 180000,
                           .bits_per_key = cases[i].bits};
    besom_stack_plan plan;
    assert_int_equal(besom_plan(&config, config.capacity, w, NULL, &plan), BESOM_OK);
    assert_true(plan.layers >= 3);
    assert_planned_rate(config, &plan, SEEDS);
  }
  besom_workload_free(w);
}

static void with_the_given_members(void **state) {
  (void)state;
  stacks_have_the_planned_rate(given_members, given_seeds);
}

/* The memory of all layers: what the head of the stack leaves of the budget. */
static double bits_of_layers(const besom_filter *stack, double members) {
  double bits = 0;
  for (size_t i = 0; besom_layer(stack, i); i++) {
    besom_statistics layer;
    assert_int_equal(besom_stats(besom_layer(stack, i), &layer), BESOM_OK);
    bits += 8 * (double)layer.bytes;
  }
  return bits / members;
}

/*
 * A stack of a small set is worth its layers, or there is one layer: it is never worse than its
 * base in the memory of its layers. A small ribbon takes more memory than it is asked for.
 */
static void a_small_set_is_not_worse_than_its_base(void **state) {
  (void)state;
  enum { FEW = 2000 };
  static const char *const kinds[] = {"bloom", "blocked-bloom", "cf", "vacuum", "qf", "fuse"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (double bits = 7; bits <= 14; bits += 1.75) {
      uint8_t seed[16] = "a small set";
      double of_stack = 0, of_base = 0;
      for (seed[15] = 0; seed[15] < SEEDS; seed[15]++) {
        besom_config config = {.kind = "stacked",
                               .options = bases[i],
                               .capacity = FEW,
                               .bits_per_key = bits,
                               .seed = seed};
        besom_filter *stack = build_stack(&config), *base = NULL;
        config.kind = kinds[i];
        config.options = NULL;
        config.bits_per_key = bits_of_layers(stack, FEW) + 0.001;
        key_source members = {.stream = MEMBERS, .n = FEW};
        besom_source yes = {.next = next_key, .ctx = &members};
        besom_status status = besom_build(&config, &(besom_input){.yes = &yes}, &base);
        assert_true(status == BESOM_OK || status == BESOM_INVALID); /* too few bits for a base */
        if (status != BESOM_OK) {
          besom_free(stack);
          break;
        }
        of_stack += (double)yes_to_absent(stack, PER_MEMBER * FEW);
        of_base += (double)yes_to_absent(base, PER_MEMBER * FEW);
        besom_free(stack);
        besom_free(base);
      }
      if (!of_base) continue;
      print_message("%s, %g bits: %.3f times the rate of the base\n", kinds[i], bits,
                    of_stack / of_base);
      if (of_base >= LEAST_EXPECTED && of_stack > 1.1 * of_base)
        fail_msg("%s, %g bits: %g times the rate of the base", kinds[i], bits, of_stack / of_base);
    }
}

int main(int argc, char **argv) {
  const struct CMUnitTest given[] = {cmocka_unit_test(with_the_given_members)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_set_is_not_worse_than_its_base),
      cmocka_unit_test(with_a_thousand_members),
      cmocka_unit_test(with_ten_thousand_members),
      cmocka_unit_test(with_small_budgets),
      cmocka_unit_test(with_a_hundred_thousand_members),
      cmocka_unit_test(with_a_million_members),
  };
  if (argc < 3) return cmocka_run_group_tests(tests, NULL, NULL);
  given_members = strtoull(argv[1], NULL, 10);
  given_seeds = (unsigned)strtoul(argv[2], NULL, 10);
  return cmocka_run_group_tests(given, NULL, NULL);
}
