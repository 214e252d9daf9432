#include "stacked/stack_model.h"

#include <math.h>

#define COSTS_PER_BIT 4

struct stack besom__stack_of_equals(unsigned layers, double rate) {
  struct stack s = {.layers = layers};
  for (unsigned i = 0; i < layers; i++) s.rates[i] = rate;
  return s;
}

/* ------------------------------------------------------------------ false-positive rate */

/* The layers of non-members hold it. It is a false positive if it passes all layers of members. */
double besom__stack_fpr_frequent(const struct stack *s) {
  double passes = 1;
  for (unsigned i = 0; i < s->layers; i += 2) passes *= s->rates[i];
  return passes;
}

/* A false positive if a layer of non-members is the first to answer no, or if no layer does. */
double besom__stack_fpr_other(const struct stack *s) {
  double yes = 0, reaches = 1;
  for (unsigned i = 0; i < s->layers; i++) {
    if (i % 2) yes += reaches * (1 - s->rates[i]);
    reaches *= s->rates[i];
  }
  return yes + reaches;
}

double besom__stack_fpr(const struct stack *s, double share) {
  return share * besom__stack_fpr_frequent(s) + (1 - share) * besom__stack_fpr_other(s);
}

/* ------------------------------------------------------------------ checks */

/*
 * Layers queried for a key held by the layers of one parity: it passes the others by false
 * positives.
 */
static double checks_of_held(const struct stack *s, unsigned parity) {
  double checks = 0, reaches = 1;
  for (unsigned i = 0; i < s->layers; i++) {
    checks += reaches;
    if (i % 2 != parity) reaches *= s->rates[i];
  }
  return checks;
}

double besom__stack_checks_member(const struct stack *s) {
  return checks_of_held(s, 0);
}

double besom__stack_checks_frequent(const struct stack *s) {
  return checks_of_held(s, 1);
}

double besom__stack_checks_other(const struct stack *s) {
  return checks_of_held(s, 2); /* no layer holds it */
}

double besom__stack_checks(const struct stack *s, double share) {
  return share * besom__stack_checks_frequent(s) + (1 - share) * besom__stack_checks_other(s);
}

/* ------------------------------------------------------------------ sizes */

/* At a rate in the middle of the list: tables grow by the same factor at every width. */
static void size_factors(const struct besom_kind *kind, double keys, struct layer_costs *costs) {
  for (unsigned i = 0; i < MAX_HALVINGS; i++) {
    double rate = 1.0 / 128, own = kind->bits_per_key(keys, &rate), same = 1.0 / 128;
    double smaller = fmax(ceil(ldexp(keys, -(int)i)), 1), bits = kind->bits_per_key(smaller, &same);
    costs->of_smaller[i] = costs->whole_bits && own > 0 && bits > own ? bits / own : 1;
  }
}

/* Room for more keys than expected: two standard deviations. All members are known exactly. */
static double layer_surplus(double part, double members) {
  return part == 1 ? 1 : 1 + 2 / sqrt(fmax(part * members, 1));
}

double besom__layer_size_factor(const struct layer_costs *costs, double part, double members) {
  if (!costs->whole_bits) return 1;
  return besom__layer_size_factor_at(costs, part, -log2(fmax(part, 1 / members)), members);
}

double besom__layer_size_factor_at(const struct layer_costs *costs, double part, double log_part,
                                   double members) {
  double surplus = layer_surplus(part, members);
  if (part >= 1) return surplus;
  if (part * members < 1) log_part = log2(members);
  double at = fmin(log_part, MAX_HALVINGS - 1.001);
  unsigned below = (unsigned)at;
  return surplus * (costs->of_smaller[below] +
                    (at - below) * (costs->of_smaller[below + 1] - costs->of_smaller[below]));
}

bool besom__layer_costs(const struct besom_kind *kind, double keys, struct layer_costs *costs) {
  if (!kind->bits_per_key) return false;
  *costs = (struct layer_costs){.n = 1, .layer_bits = 8.0 * (double)kind->size + LAYER_PADDING};
  for (unsigned i = 1; i < MAX_LAYER_COSTS; i++) {
    double wanted = exp2(-(double)i / COSTS_PER_BIT), rate = wanted,
           bits = kind->bits_per_key(keys, &rate);
    if (!(bits > 0)) break;
    bool another = rate < wanted * (1 - 1e-9);
    if (i == 1 && another) costs->whole_bits = true, costs->n = 0;
    if (costs->whole_bits && costs->n && bits <= costs->bits[costs->n - 1]) continue;
    costs->log_rates[costs->n] = costs->whole_bits ? -log2(rate) : (double)i / COSTS_PER_BIT;
    costs->bits[costs->n++] = bits;
  }
  if (costs->n > 2 && !costs->whole_bits)
    costs->bits[0] = fmax(2 * costs->bits[1] - costs->bits[2], 0);
  for (unsigned i = 0; i < costs->n; i++) costs->rates[i] = exp2(-costs->log_rates[i]);
  size_factors(kind, keys, costs);
  return costs->n > 1;
}

double besom__layer_bits_per_key(const struct layer_costs *costs, double log_rate) {
  if (costs->whole_bits) {
    unsigned i = 0;
    while (i + 1 < costs->n && costs->log_rates[i] < log_rate - 1e-9) i++;
    return costs->bits[i];
  }
  double at = fmin(fmax(log_rate * COSTS_PER_BIT, 0), costs->n - 1);
  unsigned below = (unsigned)fmin(at, costs->n - 2.0);
  return costs->bits[below] + (at - below) * (costs->bits[below + 1] - costs->bits[below]);
}

/* The last entry with at most so many bits; the first one if there is none. */
static unsigned entry_within(const struct layer_costs *costs, double bits) {
  unsigned low = 0, high = costs->n;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    *(costs->bits[middle] <= bits ? &low : &high) = middle;
  }
  return low;
}

/* Whether a layer of so many bits has the rate of this entry, not one between it and the next. */
static bool is_entry(const struct layer_costs *costs, unsigned i, double bits) {
  return costs->whole_bits || i + 1 == costs->n || bits <= costs->bits[i];
}

static double log_rate_after(const struct layer_costs *costs, unsigned i, double bits) {
  double part = (bits - costs->bits[i]) / (costs->bits[i + 1] - costs->bits[i]);
  return costs->log_rates[i] + part * (costs->log_rates[i + 1] - costs->log_rates[i]);
}

double besom__layer_log_rate(const struct layer_costs *costs, double bits) {
  unsigned i = entry_within(costs, bits);
  return is_entry(costs, i, bits) ? costs->log_rates[i] : log_rate_after(costs, i, bits);
}

double besom__layer_rate(const struct layer_costs *costs, double bits) {
  unsigned i = entry_within(costs, bits);
  return is_entry(costs, i, bits) ? costs->rates[i] : exp2(-log_rate_after(costs, i, bits));
}

double besom__stack_bits(const struct stack *s, const struct layer_costs *costs, double members,
                         double frequent) {
  double bits = costs->head_bits / members, holds[2] = {1, frequent};
  for (unsigned i = 0; i < s->layers; i++) {
    bits += holds[i % 2] * besom__layer_size_factor(costs, holds[i % 2], members) *
                besom__layer_bits_per_key(costs, -log2(s->rates[i])) +
            costs->layer_bits / members;
    holds[1 - i % 2] *= s->rates[i];
  }
  return bits;
}

double besom__stack_bits_of_equals(unsigned layers, double log_rate,
                                   const struct layer_costs *costs, double members,
                                   double frequent) {
  double rate = exp2(-log_rate), held = 1, denied = 0;
  for (unsigned i = 1; i < layers; i += 2) { /* geometric sums; faster than calling pow */
    denied = 1 + rate * denied;
    held = 1 + rate * held;
  }
  return besom__layer_bits_per_key(costs, log_rate) * (held + frequent * rate * denied) +
         (costs->head_bits + layers * costs->layer_bits) / members;
}
