/*
 * The planner compared with brute force; query frequencies by classes of counts; the limits of a
 * plan.
 */
#include "stacked/stack_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kinds.h"
#include "support/heap.h"
#include "support/keys.h"

static const double members = 1e6;

/* ------------------------------------------------------------------ frequencies */

static void classes_of_counts_ascend(void **state) {
  (void)state;
  unsigned last = 0;
  for (uint64_t count = 1; count < 100000; count++) {
    unsigned class = besom__count_class(count);
    assert_true(class == last || class == last + 1);
    last = class;
  }
  assert_int_equal(besom__count_class(UINT64_MAX), COUNT_CLASSES - 1);
  assert_int_equal(besom__count_class(255), 255);
  assert_int_equal(besom__count_class(256), 256);
}

/* `keys` keys; the k-th is queried top / k^s times. */
static struct rank_frequency *zipf(uint64_t keys, double top, double s) {
  struct rank_frequency *p = heap_array(1, sizeof *p);
  for (uint64_t k = 1; k <= keys; k++)
    besom__rank_frequency_add(p, (uint64_t)round(top / pow((double)k, s)));
  return p;
}

/* Advances by at least one key, until the share has grown by `more`. False if there are no more
   keys. */
static bool walk_by_share(struct rank_walk *walk, double more) {
  if (walk->class == 0) return false;
  for (double wanted = walk->share + more; walk->class > 0 && walk->share < wanted;) {
    struct rank_walk next = *walk;
    besom__rank_walk_by_keys(&next, 1);
    double one = next.share - walk->share, keys = one > 0 ? ceil((wanted - walk->share) / one) : 1;
    besom__rank_walk_by_keys(walk, fmin(keys, walk->left));
  }
  return true;
}

/* By hand: 3 keys once, 2 twice, one 1000 times. */
static void one_is_left_out(void **state) {
  (void)state;
  struct rank_frequency *p = heap_array(1, sizeof *p);
  assert_true(besom__rank_frequency_unseen(p) == 1);
  const uint64_t counts[] = {1, 2, 1, 1000, 1, 2, 0};
  for (size_t i = 0; i < 7; i++) besom__rank_frequency_add(p, counts[i]);
  assert_int_equal(p->n_keys, 6);
  assert_int_equal(p->n_queries, 1007);
  assert_true(fabs(besom__rank_frequency_unseen(p) - 3.0 / 1007) < 1e-12);
  p->lost = 10;
  assert_true(fabs(besom__rank_frequency_unseen(p) - 13.0 / 1017) < 1e-12);
  p->unseen_given = true;
  p->unseen = 0.25;
  struct rank_walk walk = besom__rank_walk_start(p);
  assert_true(walk_by_share(&walk, 1e-9)); /* at least one key */
  assert_true(walk.keys == 1 && fabs(walk.share - 0.75 * 1000 / 1007) < 1e-12);
  besom__rank_walk_by_keys(&walk, 2);
  assert_true(walk.keys == 3 && fabs(walk.share - 0.75 * 1004 / 1007) < 1e-12);
  assert_true(walk_by_share(&walk, 1));
  assert_true(walk.keys == 6 && fabs(walk.share - 0.75) < 1e-12);
  assert_false(walk_by_share(&walk, 1));
  free(p);
}

/*
 * Half a million equally frequent keys, queried 4 times on average: those that were queried 8 times
 * are not more frequent than others.
 */
static void chance_is_not_popularity(void **state) {
  (void)state;
  struct rank_frequency *p = heap_array(1, sizeof *p);
  double keys = 500000, of_count = keys * exp(-4);
  uint64_t sampled = 0;
  for (uint64_t count = 1; count < 30; count++) {
    of_count *= 4.0 / (double)count;
    for (uint64_t i = 0; i < (uint64_t)round(of_count); i++, sampled++)
      besom__rank_frequency_add(p, count);
  }
  struct rank_walk walk = besom__rank_walk_start(p);
  for (unsigned i = 1; i < 20; i++) {
    besom__rank_walk_by_keys(&walk, (double)sampled / 20);
    double wanted = walk.keys / keys;
    if (fabs(walk.share - wanted) > 0.01 + 0.03 * wanted)
      fail_msg("%g of the queries, not %g", walk.share, wanted);
  }
  free(p);
}

/* A walk from the nearest place ends where a walk from the start ends. */
static void a_walk_may_begin_at_a_place(void **state) {
  (void)state;
  struct rank_frequency *p = zipf(30000, 1e5, 1);
  struct rank_places *places = heap_array(1, sizeof *places);
  besom__rank_places(p, places);
  assert_true(places->n > 10 && places->at[places->n - 1].keys == (double)p->n_keys);
  for (double keys = 1; keys < 40000; keys = ceil(1.3 * keys)) {
    struct rank_walk near = besom__rank_walk_to(places, keys), far = besom__rank_walk_start(p);
    besom__rank_walk_by_keys(&far, keys);
    assert_true(near.keys == far.keys && near.class == far.class && near.left == far.left);
    assert_true(fabs(near.share - far.share) < 1e-9);
  }
  free(places);
  free(p);
  p = heap_array(1, sizeof *p); /* no keys at all */
  places = heap_array(1, sizeof *places);
  besom__rank_places(p, places);
  assert_true(besom__rank_walk_to(places, 5).keys == 0);
  free(places);
  free(p);
}

/* ------------------------------------------------------------------ brute force */

static struct stack_objective aim_of(const char *kind, double bits, double rate) {
  struct stack_objective objective = {.members = members, .bits = bits, .fpr = rate};
  assert_true(besom__layer_costs(besom__kind_named(kind), members, &objective.costs));
  objective.costs.head_bits = 5000;
  return objective;
}

static bool fits(const struct stack_objective *objective, const struct stack_candidate *x) {
  return objective->bits != 0 ? x->bits <= objective->bits : x->fpr <= objective->fpr;
}

static double worth(const struct stack_objective *objective, const struct stack_candidate *x) {
  return objective->bits != 0 ? x->fpr : x->bits;
}

static void measure(const struct stack_objective *objective, struct stack_candidate *x) {
  x->fpr = besom__stack_fpr(&x->stack, x->share);
  x->bits = besom__stack_bits(&x->stack, &objective->costs, objective->members,
                              x->frequent / objective->members);
}

/* The log rates to try in each layer. */
typedef struct grid {
  double first[64], further[64];
  unsigned n_first, n_further;
} grid;

/* All stacks of these layers, by recursion from the last layer to the first. */
static void try_all(const struct stack_objective *objective, const grid *g, unsigned layer,
                    struct stack_candidate *x, double *best) {
  const double *tries = layer ? g->further : g->first;
  for (unsigned i = 0; i < (layer ? g->n_further : g->n_first); i++) {
    x->stack.rates[layer] = exp2(-tries[i]);
    if (layer) {
      try_all(objective, g, layer - 1, x, best);
    } else {
      measure(objective, x);
      if (fits(objective, x) && worth(objective, x) < *best) *best = worth(objective, x);
    }
  }
}

static double brute_force(const struct stack_objective *objective, const struct rank_frequency *p,
                          const grid *g, unsigned layers, double step) {
  struct rank_walk walk = besom__rank_walk_start(p);
  double best = INFINITY;
  for (bool more = true; more; more = walk_by_share(&walk, step)) {
    struct stack_candidate x = {
        .stack.layers = walk.keys > 0 ? layers : 1, .frequent = walk.keys, .share = walk.share};
    try_all(objective, g, x.stack.layers - 1, &x, &best);
  }
  return best;
}

static double rate_of_one(const struct stack_objective *objective) {
  double overhead = objective->costs.head_bits + objective->costs.layer_bits;
  return exp2(
      -besom__layer_log_rate(&objective->costs, objective->bits - overhead / objective->members));
}

static void assert_near_brute_force(const struct stack_objective *objective,
                                    const struct rank_frequency *p, double brute) {
  struct stack_candidate plan;
  assert_true(besom__stack_plan(objective, p, &plan));
  struct stack_candidate again = plan;
  measure(objective, &again);
  assert_true(fabs(again.fpr / plan.fpr - 1) < 1e-9 && fabs(again.bits / plan.bits - 1) < 1e-9);
  assert_true(objective->bits == 0 || plan.bits <= objective->bits * 1.000001);
  assert_true(objective->bits != 0 || plan.fpr <= objective->fpr * 1.000001);
  /* plans that differ by less than a ten-thousandth of the rate of one layer count as equal */
  double tie = objective->bits != 0 ? 0.00011 * rate_of_one(objective) : 0;
  if (!(worth(objective, &plan) <= 1.02 * brute + tie))
    fail_msg("%g, by brute force %g", worth(objective, &plan), brute);
}

static const struct {
  double keys, top, s, bits;
} cases[] = {
    {300000, 1e5, 1, 10}, {2000000, 1e6, 1, 8}, {1000000, 3e4, 0.75, 12}, {50000, 1e4, 0.5, 6}};

/*
 * Any rates: a fine grid for the first layer, a coarser one for two others, a still coarser one for
 * four.
 */
static void a_plan_of_any_rates_is_near_the_best(void **state) {
  (void)state;
  grid fine = {.n_first = 0}, coarse = {.n_first = 0};
  for (double x = 3; x < 10; x += 0.2) fine.first[fine.n_first++] = x;
  for (double x = 1; x <= 12; x += 0.75) fine.further[fine.n_further++] = x;
  for (double x = 4; x < 9; x += 0.25) coarse.first[coarse.n_first++] = x;
  for (double x = 1; x <= 9; x += 2) coarse.further[coarse.n_further++] = x;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rank_frequency *p = zipf((uint64_t)cases[i].keys, cases[i].top, cases[i].s);
    struct stack_objective objective = aim_of("bloom", cases[i].bits, 0);
    double brute = fmin(brute_force(&objective, p, &fine, 3, 0.1),
                        brute_force(&objective, p, &coarse, 5, 0.3));
    assert_near_brute_force(&objective, p, brute);
    objective = aim_of("bloom", 0, brute); /* the reverse: the bits for that rate */
    if (i % 2 == 0)
      assert_near_brute_force(&objective, p,
                              fmin(cases[i].bits, brute_force(&objective, p, &fine, 3, 0.2)));
    free(p);
  }
}

/* Whole bits: all widths of three layers, and of five in one case. */
static void a_plan_of_whole_bits_is_near_the_best(void **state) {
  (void)state;
  static const char *const kinds[] = {"cf", "qf"};
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      struct rank_frequency *p = zipf((uint64_t)cases[i].keys, cases[i].top, cases[i].s);
      struct stack_objective objective = aim_of(kinds[k], cases[i].bits + 1, 0);
      grid g = {0}, narrow = {0};
      for (unsigned w = 0; w < 14 && w < objective.costs.n; w++)
        g.first[g.n_first++] = objective.costs.log_rates[w];
      for (unsigned w = 0; w < 12 && w < objective.costs.n; w++)
        g.further[g.n_further++] = objective.costs.log_rates[w];
      for (unsigned w = 0; w < 8; w++)
        narrow.first[narrow.n_first++] = narrow.further[narrow.n_further++] = g.first[w];
      bool five = k == 0 && i == 0;
      double brute = fmin(brute_force(&objective, p, &g, 3, 0.06),
                          five ? brute_force(&objective, p, &narrow, 5, 0.3) : INFINITY);
      if (brute == INFINITY) {
        struct stack_candidate none;
        assert_false(besom__stack_plan(&objective, p, &none));
        free(p);
        continue;
      }
      assert_near_brute_force(&objective, p, brute);
      objective = aim_of(kinds[k], 0, brute * 1.001);
      if (i % 2 == 0)
        assert_near_brute_force(&objective, p, brute_force(&objective, p, &g, 3, 0.05));
      free(p);
    }
}

/* ------------------------------------------------------------------ exhaustive search */

/* With the rest of the budget for the last layer. */
static double with_rest(const struct stack_objective *objective, struct stack_candidate *x) {
  const struct layer_costs *costs = &objective->costs;
  unsigned last = x->stack.layers - 1;
  double reach = 1;
  for (unsigned i = 1; i < last; i += 2) reach *= x->stack.rates[i];
  x->stack.rates[last] = exp2(-costs->log_rates[0]);
  measure(objective, x);
  double keys = reach * besom__layer_size_factor(costs, reach, objective->members);
  if (x->bits > objective->bits) return INFINITY;
  double rest = costs->bits[0] + (objective->bits - x->bits) / keys;
  x->stack.rates[last] = exp2(-besom__layer_log_rate(costs, rest));
  measure(objective, x);
  return x->bits <= objective->bits * 1.000001 &&
                 besom__stack_checks_member(&x->stack) <= objective->limits.checks_member
             ? x->fpr
             : INFINITY;
}

static double exhaustive_from(const struct stack_objective *objective, unsigned layer, double step,
                              struct stack_candidate *x) {
  const struct layer_costs *costs = &objective->costs;
  if (layer + 1 == x->stack.layers) return with_rest(objective, x);
  double best = INFINITY, last = fmin(layer % 2 ? 8 : 13, costs->log_rates[costs->n - 1]);
  for (double at = costs->log_rates[costs->whole_bits ? 0 : 2]; at <= last; at += step) {
    x->stack.rates[layer] = exp2(
        -(costs->whole_bits ? besom__layer_log_rate(costs, besom__layer_bits_per_key(costs, at))
                            : at));
    best = fmin(best, exhaustive_from(objective, layer + 1, step, x));
  }
  return best;
}

/* Stacks of one, three and five layers, for many numbers of frequent keys, up to all of them. */
static double exhaustive(const struct stack_objective *objective, const struct rank_frequency *p) {
  struct stack_candidate one = {.stack.layers = 1};
  double best = with_rest(objective, &one);
  unsigned n = 0;
  for (double keys = (double)p->n_keys; keys > (double)p->n_keys / 3000; keys /= 1.19, n++) {
    struct rank_walk walk = besom__rank_walk_start(p);
    besom__rank_walk_by_keys(&walk, round(keys));
    struct stack_candidate x = {.stack.layers = 3, .frequent = walk.keys, .share = walk.share};
    best = fmin(best, exhaustive_from(objective, 0, objective->costs.whole_bits ? 1 : 0.25, &x));
    x.stack.layers = 5;
    if (n % 8 == 0) best = fmin(best, exhaustive_from(objective, 0, 2, &x));
  }
  return best;
}

/*
 * Absent keys per member, exponent of Zipf's law, bits per member. With BESOM_TEST_ALL_PLANS all
 * 1050 combinations, which takes half a minute.
 */
static void a_plan_is_near_the_best_of_all_stacks(void **state) {
  (void)state;
  static const char *const kinds[] = {"bloom", "fuse", "ribbon", "cf", "vacuum", "qf"};
  static const double ratios[] = {0.5, 2, 6, 12, 24, 30, 40}, exponents[] = {0, 0.25, 0.5, 1, 1.5},
                      bits[] = {6, 8, 10, 12, 14};
  const char *all = getenv("BESOM_TEST_ALL_PLANS");
  unsigned worse = 0;
  for (unsigned i = 0; i < 7 * 5 * 5 * 6; i += all ? 1 : 17) {
    double ratio = ratios[i % 7], s = exponents[i / 7 % 5], budget = bits[i / 35 % 5];
    const char *kind = kinds[i / 175];
    struct stack_objective objective = {
        .members = 20000, .bits = budget, .limits.checks_member = 2.5};
    assert_true(besom__layer_costs(besom__kind_named(kind), 20000, &objective.costs));
    objective.costs.head_bits = 5000;
    struct rank_frequency *p = zipf((uint64_t)(ratio * 20000), 50 * pow(ratio * 20000, s), s);
    struct stack_candidate plan;
    double best = exhaustive(&objective, p);
    bool found = besom__stack_plan(&objective, p, &plan);
    assert_int_equal(found, best < INFINITY);
    if (found && !(plan.fpr <= 1.02 * best + 1.1e-4 * rate_of_one(&objective)))
      print_error("%s, %g keys per member, Zipf %g, %g bits: %g, by exhaustive search %g\n", kind,
                  ratio, s, budget, plan.fpr, best),
          worse++;
    free(p);
  }
  assert_int_equal(worse, 0);
}

/*
 * Every key of the sample occurs often, so no other is expected and many plans have a rate of
 * almost 0. The plan is the one with the lowest rate for other keys: no stack of the grid has a
 * lower one and a rate that is about as low.
 */
static void ties_go_to_the_lower_rate_for_unknown_keys(void **state) {
  (void)state;
  static const char *const kinds[] = {"bloom", "cf", "fuse"};
  static const double most[] = {0.02, 0.06, 0.009}; /* were 0.029, 0.12 and 0.055 */
  struct rank_frequency *p = zipf(1000000, 1e8, 0.5);
  grid g = {.n_first = 0};
  for (double x = 3; x < 10; x++) g.first[g.n_first++] = x;
  for (double x = 1; x <= 16; x++) g.further[g.n_further++] = x;
  for (size_t k = 0; k < 3; k++) {
    struct stack_objective objective = aim_of(kinds[k], 10, 0);
    struct stack_candidate plan;
    assert_true(besom__stack_plan(&objective, p, &plan));
    double other = besom__stack_fpr_other(&plan.stack), lowest = 1;
    if (other > most[k]) fail_msg("%s: %g for other keys", kinds[k], other);
    assert_true(plan.fpr <= 0.00011 * rate_of_one(&objective));
    struct stack_candidate x = plan;
    for (unsigned first = 0; first < g.n_first; first++)
      for (unsigned second = 0; second < g.n_further; second++)
        for (unsigned third = 0; third < g.n_further; third++) {
          x.stack = (struct stack){
              3, {exp2(-g.first[first]), exp2(-g.further[second]), exp2(-g.further[third])}};
          measure(&objective, &x);
          if (fits(&objective, &x) && x.fpr <= plan.fpr)
            lowest = fmin(lowest, besom__stack_fpr_other(&x.stack));
        }
    if (other > 1.02 * lowest) fail_msg("%s: %g, by brute force %g", kinds[k], other, lowest);
  }
  free(p);
}

/* ------------------------------------------------------------------ limits */

static void limits_are_kept(void **state) {
  (void)state;
  static const char *const kinds[] = {"bloom", "cf"};
  struct rank_frequency *p = zipf(1000000, 1e6, 1);
  for (size_t k = 0; k < 2; k++) {
    struct stack_objective objective = aim_of(kinds[k], 9, 0);
    struct stack_candidate free_plan, x;
    assert_true(besom__stack_plan(&objective, p, &free_plan));
    assert_true(free_plan.stack.layers >= 3);
    double worst = besom__stack_fpr_other(&free_plan.stack),
           checks = besom__stack_checks(&free_plan.stack, free_plan.share);
    objective.limits.worst_fpr = worst * 0.9;
    if (besom__stack_plan(&objective, p, &x)) {
      assert_true(besom__stack_fpr_other(&x.stack) <= worst * 0.9 * 1.000001);
      assert_true(x.fpr >= free_plan.fpr * 0.99 && x.bits <= 9.000001);
    }
    objective.limits = (besom_plan_limits){.checks = 1 + (checks - 1) * 0.9};
    if (besom__stack_plan(&objective, p, &x))
      assert_true(besom__stack_checks(&x.stack, x.share) <= objective.limits.checks * 1.000001);
    objective.limits = (besom_plan_limits){.checks_member = 2.02};
    assert_true(besom__stack_plan(&objective, p, &x));
    assert_true(besom__stack_checks_member(&x.stack) <= 2.02 * 1.000001 &&
                x.fpr >= 0.96 * free_plan.fpr);
    objective.limits = (besom_plan_limits){.layers = 3};
    assert_true(besom__stack_plan(&objective, p, &x));
    assert_int_equal(x.stack.layers, 3);
    objective.limits = (besom_plan_limits){.layers = 1};
    assert_true(besom__stack_plan(&objective, p, &x));
    assert_true(x.stack.layers == 1 && x.frequent == 0 && x.fpr > free_plan.fpr);
    objective.limits = (besom_plan_limits){.frequent = 1234};
    assert_true(besom__stack_plan(&objective, p, &x));
    assert_true(x.frequent == 1234 && x.stack.layers >= 3 && x.fpr > free_plan.fpr);
    objective.limits.frequent = 1; /* hardly worth it, but required */
    assert_true(besom__stack_plan(&objective, p, &x) && x.stack.layers >= 3);
    objective.limits = (besom_plan_limits){.equal_rates = true};
    assert_true(besom__stack_plan(&objective, p, &x));
    for (unsigned i = 1; k == 0 && i < x.stack.layers; i++)
      assert_true(x.stack.rates[i] == x.stack.rates[0]);
    objective.limits = (besom_plan_limits){.worst_fpr = 1e-9};
    assert_false(besom__stack_plan(&objective, p, &x));
  }
  free(p);
}

/* No key is frequent, nothing is known, or the set is tiny: one layer. */
static void without_frequent_keys_one_layer_is_enough(void **state) {
  (void)state;
  struct stack_candidate x;
  struct stack_objective objective = aim_of("bloom", 10, 0);
  struct rank_frequency *none = heap_array(1, sizeof *none), *once = zipf(100000, 1, 0),
                        *some = zipf(1000, 1000, 1);
  assert_true(besom__stack_plan(&objective, none, &x));
  assert_int_equal(x.stack.layers, 1);
  assert_true(besom__stack_plan(&objective, once, &x));
  assert_int_equal(x.stack.layers, 1);
  objective.members = 100;
  objective.bits = 60; /* the heads of the layers take more than that */
  assert_true(!besom__stack_plan(&objective, some, &x) || x.stack.layers == 1);
  objective.bits = 0.5;
  assert_false(besom__stack_plan(&objective, some, &x));
  free(none), free(once), free(some);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_counts_ascend),
      cmocka_unit_test(one_is_left_out),
      cmocka_unit_test(chance_is_not_popularity),
      cmocka_unit_test(a_walk_may_begin_at_a_place),
      cmocka_unit_test(a_plan_of_any_rates_is_near_the_best),
      cmocka_unit_test(a_plan_of_whole_bits_is_near_the_best),
      cmocka_unit_test(a_plan_is_near_the_best_of_all_stacks),
      cmocka_unit_test(ties_go_to_the_lower_rate_for_unknown_keys),
      cmocka_unit_test(limits_are_kept),
      cmocka_unit_test(without_frequent_keys_one_layer_is_enough),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
