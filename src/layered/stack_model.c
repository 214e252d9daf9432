#include "layered/stack_model.h"

#include <math.h>

#define PRICES_A_BIT 4

struct stack besom__stack_of_equals(unsigned layers, double rate) {
  struct stack s = {.layers = layers};
  for (unsigned i = 0; i < layers; i++) s.rates[i] = rate;
  return s;
}

/* ------------------------------------------------------------------ rates */

/* The layers of its own side let it through; it is a yes if those of the members do, too. */
double besom__stack_rate_frequent(const struct stack *s) {
  double passes = 1;
  for (unsigned i = 0; i < s->layers; i += 2) passes *= s->rates[i];
  return passes;
}

/* A yes where a layer of non-members denies it, or none denies it. */
double besom__stack_rate_other(const struct stack *s) {
  double yes = 0, reaches = 1;
  for (unsigned i = 0; i < s->layers; i++) {
    if (i % 2) yes += reaches * (1 - s->rates[i]);
    reaches *= s->rates[i];
  }
  return yes + reaches;
}

double besom__stack_rate(const struct stack *s, double share) {
  return share * besom__stack_rate_frequent(s) + (1 - share) * besom__stack_rate_other(s);
}

/* ------------------------------------------------------------------ checks */

/* Of a key that layers with one parity hold, all that it reaches: the others let it through by mistake. */
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
  return checks_of_held(s, 2); /* held by none */
}

double besom__stack_checks(const struct stack *s, double share) {
  return share * besom__stack_checks_frequent(s) + (1 - share) * besom__stack_checks_other(s);
}

/* ------------------------------------------------------------------ sizes */

bool besom__layer_prices(const struct besom_kind *kind, double keys, struct layer_prices *prices) {
  if (!kind->bits_per_key) return false;
  *prices = (struct layer_prices){
      .n = 1, .layer_bits = 8.0 * (double)kind->size + 512}; /* and half of what is rounded */
  for (unsigned i = 1; i < MAX_PRICES; i++) {
    double wanted = exp2(-(double)i / PRICES_A_BIT), rate = wanted, bits = kind->bits_per_key(keys, &rate);
    if (!(bits > 0)) break;
    bool another = rate < wanted * (1 - 1e-9);
    if (i == 1 && another) prices->whole_bits = true, prices->n = 0;
    if (prices->whole_bits && prices->n && bits <= prices->bits[prices->n - 1]) continue;
    prices->log_rates[prices->n] = prices->whole_bits ? -log2(rate) : (double)i / PRICES_A_BIT;
    prices->bits[prices->n++] = bits;
  }
  if (prices->n > 2 && !prices->whole_bits)
    prices->bits[0] = fmax(2 * prices->bits[1] - prices->bits[2], 0);
  return prices->n > 1;
}

double besom__layer_bits(const struct layer_prices *prices, double log_rate) {
  if (prices->whole_bits) {
    unsigned i = 0;
    while (i + 1 < prices->n && prices->log_rates[i] < log_rate - 1e-9) i++;
    return prices->bits[i];
  }
  double at = fmin(fmax(log_rate * PRICES_A_BIT, 0), prices->n - 1);
  unsigned below = (unsigned)fmin(at, prices->n - 2.0);
  return prices->bits[below] + (at - below) * (prices->bits[below + 1] - prices->bits[below]);
}

double besom__layer_log_rate(const struct layer_prices *prices, double bits) {
  unsigned low = 0, high = prices->n - 1;
  if (bits <= prices->bits[low]) return prices->log_rates[low];
  if (bits >= prices->bits[high]) return prices->log_rates[high];
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    *(prices->bits[middle] <= bits ? &low : &high) = middle;
  }
  double part = prices->whole_bits
                    ? 0
                    : (bits - prices->bits[low]) / (prices->bits[high] - prices->bits[low]);
  return prices->log_rates[low] + part * (prices->log_rates[high] - prices->log_rates[low]);
}

double besom__stack_bits(const struct stack *s, const struct layer_prices *prices, double members,
                         double frequent) {
  double bits = prices->head_bits / members, holds[2] = {1, frequent};
  for (unsigned i = 0; i < s->layers; i++) {
    bits +=
        holds[i % 2] * besom__layer_bits(prices, -log2(s->rates[i])) + prices->layer_bits / members;
    holds[1 - i % 2] *= s->rates[i];
  }
  return bits;
}

double besom__stack_bits_of_equals(unsigned layers, double log_rate,
                                   const struct layer_prices *prices, double members,
                                   double frequent) {
  double rate = exp2(-log_rate), held = 1, denied = 0;
  for (unsigned i = 1; i < layers;
       i += 2) { /* powers of the rate; a library call for them would cost more */
    denied = 1 + rate * denied;
    held = 1 + rate * held;
  }
  return besom__layer_bits(prices, log_rate) * (held + frequent * rate * denied) +
         (prices->head_bits + layers * prices->layer_bits) / members;
}
