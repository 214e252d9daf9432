#include "lists/cascade_plan.h"

#include <math.h>

#include "ribbon/retrieval.h"

/* ------------------------------------------------------------------ a chain of filters */

/*
 * Approximate bits of the levels after the first: each holds half of the keys that reached the one
 * before.
 */
static double later_bits(double rate, double yes, double no, double level_head) {
  double bits = 0;
  for (double held = no * rate, denied = yes; held >= 0.5;) {
    bits += held / log(2) + level_head;
    double next = denied / 2;
    denied = held;
    held = next;
  }
  return bits;
}

/*
 * sqrt(1/2) times the ratio of the keys on both lists makes the whole chain about as small as
 * possible. With a budget of bits, the first level gets what the others leave.
 */
double besom__cascade_first_rate(const besom_config *config, uint64_t yes, uint64_t no,
                                 size_t struct_bytes, const struct besom_kind *base) {
  double n = yes ? (double)yes : 1, head = 8.0 * (double)base->size;
  double wanted = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key == 0) return no ? fmin(wanted, sqrt(0.5) * n / (double)no) : wanted;
  double budget = config->bits_per_key * n - 8.0 * (double)struct_bytes - head;
  for (double own = budget; own > 0; own -= budget / 256) {
    double rate = fmax(exp2(-log(2) * own / n), 0x1p-60);
    if (rate < 1 && own + later_bits(rate, n, (double)no, head) <= budget) return rate;
  }
  return 0;
}

/* ------------------------------------------------------------------ a filter and bits */

#define STEPS_PER_BIT 8 /* of the filter's bits per key, from 0 to */
#define MAX_BITS 32

/* Sets plan.bits; 0 if the kind has no such filter. */
static void cascade_plan_set_bits(struct cascade_plan *plan, double held, double others,
                                  const struct besom_kind *base) {
  double filter = 0, head = 0;
  if (plan->rate < 1) {
    filter = base->bits_per_key(fmax(held, 1), &plan->rate);
    head = 8.0 * (double)base->size;
    plan->bits = 0;
    if (filter == 0) return;
  }
  double left = fmax(held + plan->rate * others, 1);
  double per_bit = besom__retrieval_slots_per_key(left) * (1 + BITS_PER_THRESHOLD);
  plan->bits = held * filter + head + left * per_bit;
}

/*
 * The best filter for one of the lists. Half of the keys on neither list that pass the filter are
 * answered yes, so its rate is at most twice the target. If there is a budget, the lowest rate that
 * fits is the best, else the smallest filter.
 */
static struct cascade_plan best_for(double held, double others, double highest, double budget,
                                    bool holds_no, const struct besom_kind *base) {
  struct cascade_plan best = {0};
  for (int step = 0; step <= STEPS_PER_BIT * MAX_BITS; step++) {
    double rate = exp2(-(double)step / STEPS_PER_BIT);
    struct cascade_plan plan = {fmin(rate, highest), holds_no, 0};
    if (exp2(-(step + 1.0) / STEPS_PER_BIT) > highest) continue;
    cascade_plan_set_bits(&plan, held, others, base);
    if (plan.bits == 0 || (budget > 0 && plan.bits > budget)) continue;
    bool better = budget > 0 ? plan.rate < best.rate : plan.bits < best.bits;
    if (best.rate == 0 || better) best = plan;
  }
  return best;
}

struct cascade_plan besom__cascade_plan(const besom_config *config, uint64_t yes, uint64_t no,
                                        bool closed, size_t struct_bytes,
                                        const struct besom_kind *base) {
  double wanted = config->fpr != 0 ? config->fpr : DEFAULT_FPR, budget = 0;
  bool has_budget = config->bits_per_key != 0;
  if (has_budget)
    budget = fmax(config->bits_per_key * fmax((double)yes, 1) - 8.0 * (double)struct_bytes, 1);
  double highest = closed || has_budget ? 1 : fmin(1, 2 * wanted);
  struct cascade_plan best = best_for((double)yes, (double)no, highest, budget, false, base);
  if (!closed) return best;
  struct cascade_plan other = best_for((double)no, (double)yes, 1, budget, true, base);
  return best.rate == 0 || (other.rate > 0 && other.bits < best.bits) ? other : best;
}
