/* The geometry of a table keeps what the caller asked for, and takes no more memory than needed. */
#include "quotient/fingerprint/quotient_geometry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "quotient/fingerprint/multislot.h"
#include "support/keys.h"

enum { PLANS = 20000, HEAD_BYTES = 400 };

#define LARGEST (UINT64_C(1) << 44)

/* Every order of magnitude is equally likely; so is every false-positive rate from 1/2 to 2^-40. */
static uint64_t random_capacity(random_stream *random) {
  unsigned bits = (unsigned)random_below(random, 45);
  return 1 + (random_next(random) & bits_below(bits));
}

static double random_rate(random_stream *random) {
  int bits = (int)random_below(random, 40);
  return ldexp(0.5 + (double)random_below(random, 1000) / 2000, -bits);
}

/* In two statements: an initializer may evaluate in any order. */
static besom_config random_config(random_stream *random) {
  besom_config config = {.capacity = random_capacity(random)};
  config.fpr = random_rate(random);
  return config;
}

/* The smallest table with this capacity, from the definition, by binary search. */
static uint64_t least_slots(uint64_t items) {
  uint64_t low = 1, high = 2 * items;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (besom__quotient_capacity(middle, 0) >= items)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static struct qtable_shape plan(const besom_config *config, bool heads) {
  struct qtable_shape shape = {.heads = heads};
  assert_int_equal(besom__quotient_geometry(config, HEAD_BYTES, 0, &shape), BESOM_OK);
  assert_in_range(shape.width, 1, 64);
  assert_int_equal(shape.heads, heads);
  assert_false(shape.code);
  return shape;
}

static void assert_no_plan(besom_config config) {
  struct qtable_shape shape = {0};
  assert_int_equal(besom__quotient_geometry(&config, HEAD_BYTES, 0, &shape), BESOM_INVALID);
}

/* ------------------------------------------------------------------ capacity and rate */

static void capacity_is_95_percent_but_at_least_one(void **state) {
  (void)state;
  for (uint64_t slots = 2; slots < 10000; slots++)
    assert_int_equal(besom__quotient_capacity(slots, 0), slots * 19 / 20);
  assert_int_equal(besom__quotient_capacity(1, 0), 1);
  assert_int_equal(besom__quotient_capacity(LARGEST, 0),
                   LARGEST / 20 * 19 + LARGEST % 20 * 19 / 20);
}

/* Each item has the fingerprint of an absent key with probability 1 / (slots * 2^width). */
static void the_fpr_is_the_probability_of_an_equal_fingerprint(void **state) {
  (void)state;
  for (unsigned width = 1; width <= 30; width++)
    for (uint64_t slots = 1000; slots < 1000000; slots *= 7)
      for (uint64_t items = 1; items <= slots; items *= 3) {
        double chance = -expm1((double)items * log1p(-ldexp(1 / (double)slots, -(int)width)));
        double rate = besom__quotient_fpr(items, slots, width);
        assert_true(fabs(rate - chance) <= 0.001 * chance);
      }
  assert_true(besom__quotient_fpr(0, 100, 8) == 0);
}

/* ------------------------------------------------------------------ geometry by rate */

static void a_plan_holds_its_capacity_in_the_fewest_slots(void **state) {
  (void)state;
  random_stream random = {1};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_config(&random);
    if (i <= 1000) config.capacity = i ? i : LARGEST;
    struct qtable_shape shape = plan(&config, i % 2);
    assert_true(besom__quotient_capacity(shape.slots, 0) >= config.capacity);
    if (config.capacity > 1) assert_int_equal(shape.slots, least_slots(config.capacity));
    if (config.capacity == 1)
      assert_in_range(shape.slots, 1, 2); /* a single slot would be full at a load factor of 1 */
  }
}

static void a_plan_keeps_its_rate_with_the_shortest_remainders(void **state) {
  (void)state;
  random_stream random = {2};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_config(&random);
    struct qtable_shape shape = plan(&config, false);
    assert_true(besom__quotient_fpr(besom__quotient_capacity(shape.slots, 0), shape.slots,
                                    shape.width) <= config.fpr);
    if (shape.width > 1)
      assert_true(besom__quotient_fpr(config.capacity, shape.slots, shape.width - 1) > config.fpr);
  }
}

static void the_default_rate_is_one_in_256(void **state) {
  (void)state;
  for (uint64_t capacity = 1; capacity < LARGEST; capacity *= 10) {
    struct qtable_shape given =
        plan(&(besom_config){.capacity = capacity, .fpr = 1.0 / 256}, false);
    struct qtable_shape none = plan(&(besom_config){.capacity = capacity}, false);
    assert_int_equal(none.slots, given.slots);
    assert_int_equal(none.width, given.width);
  }
}

static void a_rate_beyond_64_bits_has_no_plan(void **state) {
  (void)state;
  assert_no_plan((besom_config){.capacity = 1000, .fpr = 1e-21});
  assert_no_plan((besom_config){.capacity = 1000, .fpr = 5e-324});
  assert_no_plan((besom_config){.capacity = 1, .max_capacity = LARGEST, .fpr = 1e-8});
  assert_no_plan((besom_config){.slots = 1000, .fpr = 1e-21});
  plan(&(besom_config){.capacity = 1000, .fpr = 1e-19}, false);
}

/* ------------------------------------------------------------------ geometry for growing */

/* How many times the table must be doubled to hold so many items. */
static unsigned doublings_to(uint64_t slots, uint64_t items) {
  unsigned doublings = 0;
  while (besom__quotient_capacity(slots << doublings, 0) < items) doublings++;
  return doublings;
}

static void a_growing_plan_keeps_its_rate_at_max_capacity(void **state) {
  (void)state;
  random_stream random = {3};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_config(&random);
    config.max_capacity = config.capacity << random_below(&random, 20);
    config.max_capacity += random_below(&random, config.max_capacity);
    if (config.max_capacity > LARGEST) config.max_capacity = LARGEST;
    struct qtable_shape shape = plan(&config, true);
    unsigned doublings = doublings_to(shape.slots, config.max_capacity);
    assert_true(besom__quotient_capacity(shape.slots, 0) >= config.capacity);
    assert_true(shape.width > doublings); /* each doubling takes one remainder bit */
    double last =
        besom__quotient_fpr(config.max_capacity, shape.slots << doublings, shape.width - doublings);
    assert_true(last <= config.fpr);
    assert_true(besom__quotient_fpr(config.capacity, shape.slots, shape.width) <= config.fpr);
    /*
     * And takes no more memory than needed: a table less than twice too large, and the shortest
     * remainders.
     */
    assert_true(shape.slots <= 2 * least_slots(config.capacity));
    assert_true((shape.slots << doublings) - least_slots(config.max_capacity) <= UINT64_C(1)
                                                                                     << doublings);
    if (shape.width > doublings + 1)
      assert_true(besom__quotient_fpr(config.max_capacity, shape.slots << doublings,
                                      shape.width - doublings - 1) > config.fpr);
  }
}

static void a_plan_that_need_not_grow_is_like_any_other(void **state) {
  (void)state;
  random_stream random = {4};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_config(&random);
    struct qtable_shape plain = plan(&config, false);
    config.max_capacity = config.capacity;
    struct qtable_shape same = plan(&config, false);
    assert_int_equal(same.slots, plain.slots);
    assert_int_equal(same.width, plain.width);
  }
}

/* ------------------------------------------------------------------ geometry by bits per key */

static bool within_budget(struct qtable_shape shape, const besom_config *config) {
  return 8.0 * (double)(besom__qtable_bytes(&shape) + HEAD_BYTES) <=
         config->bits_per_key * (double)config->capacity;
}

static void a_budget_of_bits_is_kept_and_used_up(void **state) {
  (void)state;
  random_stream random = {5};
  unsigned plans = 0, refusals = 0;
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = {.capacity = random_capacity(&random)};
    config.bits_per_key = (double)(1 + random_below(&random, 800)) / 10;
    struct qtable_shape shape = {.heads = i % 2, .code = i % 3 == 0};
    if (besom__quotient_geometry(&config, HEAD_BYTES, 0, &shape) == BESOM_OK) {
      plans++;
      assert_true(besom__quotient_capacity(shape.slots, 0) >= config.capacity);
      assert_true(within_budget(shape, &config));
      if (shape.width == 64) continue;
      shape.width++;
    } else {
      refusals++;
      shape.slots = least_slots(config.capacity);
      shape.width = 1;
    }
    assert_false(within_budget(shape, &config));
  }
  assert_true(plans > PLANS / 10 && refusals > PLANS / 10); /* else one half of the test is idle */
}

/* The remainder must have the bits that growing to max_capacity takes, and one more. */
static void a_budget_leaves_a_bit_after_growing(void **state) {
  (void)state;
  random_stream random = {6};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = {.capacity = 100000 + random_below(&random, 1000000)};
    config.bits_per_key = (double)(20 + random_below(&random, 400)) / 10;
    config.max_capacity = config.capacity << random_below(&random, 20);
    struct qtable_shape shape = {0};
    if (besom__quotient_geometry(&config, HEAD_BYTES, 0, &shape) != BESOM_OK) continue;
    assert_true(within_budget(shape, &config));
    assert_true(shape.width > doublings_to(shape.slots, config.max_capacity));
  }
}

/* ------------------------------------------------------------------ given geometry */

static void a_given_geometry_is_taken_as_it_is(void **state) {
  (void)state;
  random_stream random = {7};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = {.slots = random_capacity(&random)};
    config.width = 1 + (uint32_t)random_below(&random, 64);
    struct qtable_shape shape = plan(&config, i % 2);
    assert_int_equal(shape.slots, config.slots);
    assert_int_equal(shape.width, config.width);
    config.width = 0;
    config.fpr = random_rate(&random);
    shape = plan(&config, i % 2);
    assert_int_equal(shape.slots, config.slots);
    assert_true(besom__quotient_fpr(besom__quotient_capacity(shape.slots, 0), shape.slots,
                                    shape.width) <= config.fpr);
  }
}

/* ------------------------------------------------------------------ keys with copies */

#define RESERVE 0.05

static besom_config random_repeats(random_stream *random) {
  besom_config config = random_config(random);
  config.capacity = 1 + config.capacity % (LARGEST >> 12);
  config.repeated = (double)(1 + random_below(random, 100)) / 100;
  config.copies = random_below(random, 3) ? 2 + random_below(random, 1000) : 0;
  return config;
}

/* The slots that the keys take, by definition. */
static double slots_taken(const besom_config *config, uint64_t keys, unsigned width) {
  uint64_t copies = config->copies ? config->copies : 2;
  unsigned slots = besom__fingerprint_slots(copies, 0, further_payload(width));
  return (double)keys + config->repeated * (double)keys * (slots - 1);
}

/* All distinct keys fit, with their copies, at the rate; no fewer slots and bits would do. */
static void a_plan_with_copies_holds_its_keys(void **state) {
  (void)state;
  random_stream random = {8};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_repeats(&random);
    struct qtable_shape shape = {.heads = true};
    struct repetition r;
    assert_int_equal(besom__counting_geometry(&config, HEAD_BYTES, RESERVE, true, &shape, &r),
                     BESOM_OK);
    uint64_t room = besom__quotient_capacity(shape.slots, RESERVE),
             keys = besom__keys_within(&r, room, shape.width);
    assert_true(keys >= config.capacity);
    double taken = slots_taken(&config, config.capacity, shape.width),
           all = slots_taken(&config, keys, shape.width);
    assert_true(taken <= (double)room * (1 + 1e-9));
    assert_true(all <= (double)room * (1 + 1e-9));
    assert_true(besom__quotient_fpr(config.capacity, shape.slots, shape.width) <= config.fpr);
    if (shape.width > 3 && config.capacity > 1000)
      assert_true(besom__quotient_fpr(config.capacity, shape.slots, shape.width - 1) >
                  config.fpr * 0.99);
    if (config.capacity > 100000) assert_true((double)room <= 1.001 * taken);
  }
}

static void a_budget_of_bits_is_per_distinct_key(void **state) {
  (void)state;
  random_stream random = {9};
  unsigned plans = 0;
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_repeats(&random);
    config.fpr = 0;
    config.bits_per_key = (double)(10 + random_below(&random, 800)) / 10;
    struct qtable_shape shape = {.heads = true};
    struct repetition r;
    if (besom__counting_geometry(&config, HEAD_BYTES, RESERVE, true, &shape, &r) != BESOM_OK)
      continue;
    plans++;
    assert_true(within_budget(shape, &config));
    uint64_t room = besom__quotient_capacity(shape.slots, RESERVE);
    assert_true(besom__keys_within(&r, room, shape.width) >= config.capacity);
  }
  assert_true(plans > PLANS / 10);
}

static void without_copies_a_slot_is_a_key(void **state) {
  (void)state;
  random_stream random = {10};
  for (unsigned i = 0; i < PLANS; i++) {
    besom_config config = random_config(&random);
    struct qtable_shape plain = plan(&config, true), shape = {.heads = true};
    struct repetition r = {1, 1, true};
    assert_int_equal(besom__counting_geometry(&config, HEAD_BYTES, 0, i % 2, &shape, &r), BESOM_OK);
    assert_int_equal(shape.slots, plain.slots);
    assert_int_equal(shape.width, plain.width);
    assert_int_equal(besom__keys_within(&r, i, shape.width), i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(capacity_is_95_percent_but_at_least_one),
      cmocka_unit_test(the_fpr_is_the_probability_of_an_equal_fingerprint),
      cmocka_unit_test(a_plan_holds_its_capacity_in_the_fewest_slots),
      cmocka_unit_test(a_plan_keeps_its_rate_with_the_shortest_remainders),
      cmocka_unit_test(the_default_rate_is_one_in_256),
      cmocka_unit_test(a_rate_beyond_64_bits_has_no_plan),
      cmocka_unit_test(a_growing_plan_keeps_its_rate_at_max_capacity),
      cmocka_unit_test(a_plan_that_need_not_grow_is_like_any_other),
      cmocka_unit_test(a_budget_of_bits_is_kept_and_used_up),
      cmocka_unit_test(a_budget_leaves_a_bit_after_growing),
      cmocka_unit_test(a_given_geometry_is_taken_as_it_is),
      cmocka_unit_test(a_plan_with_copies_holds_its_keys),
      cmocka_unit_test(a_budget_of_bits_is_per_distinct_key),
      cmocka_unit_test(without_copies_a_slot_is_a_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
