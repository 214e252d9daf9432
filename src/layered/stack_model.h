/*
 * What a stack of filters costs and how often it errs, in closed form (Deeds, Hentschel, Idreos: "Stacked Filters",
 * 2021, section 4). Layers count from 0: those with an even number hold members, the others frequently asked
 * non-members. Layer i holds those of its side that every layer before it was wrong about.
 */
#ifndef BESOM_LAYERED_STACK_MODEL_H
#define BESOM_LAYERED_STACK_MODEL_H

#include "filter.h"

#define MAX_STACK_LAYERS BESOM_PLAN_LAYERS

/* An odd number of layers, each with the rate at which it is wrong about a key that it does not hold. */
struct stack {
  unsigned layers;
  double rates[MAX_STACK_LAYERS];
};

/* All layers alike. */
struct stack besom__stack_of_equals(unsigned layers, double rate);

/* ------------------------------------------------------------------ how often it errs */

/* The probability of a yes: for a frequent non-member; for any other, which is the worst case. */
double besom__stack_rate_frequent(const struct stack *s);
double besom__stack_rate_other(const struct stack *s);

/* Over queries for non-members of which this share is for frequent ones. */
double besom__stack_rate(const struct stack *s, double share);

/* ------------------------------------------------------------------ how many layers a query asks, on average */

double besom__stack_checks_member(const struct stack *s);
double besom__stack_checks_frequent(const struct stack *s);
double besom__stack_checks_other(const struct stack *s);

/* Over queries for non-members of which this share is for frequent ones. */
double besom__stack_checks(const struct stack *s, double share);

/* ------------------------------------------------------------------ how large it is */

/*
 * What a key takes in a filter of the base kind, by rate, 2^-1/4 apart. Kinds with fingerprints of whole bits have
 * some rates only: those of the list, and nothing between them.
 */
#define MAX_PRICES 160

struct layer_prices {
  bool whole_bits;
  unsigned n;
  double log_rates
      [MAX_PRICES]; /* -log2 of the rates, ascending; if any rate can be had: i / 4 for entry i */
  double bits[MAX_PRICES]; /* a key */
  double layer_bits;       /* what each layer takes beside its keys */
  double head_bits;        /* and the stack itself, once */
};

/*
 * The prices of a kind for sets of about so many keys. False if the kind cannot tell them (besom_kind.bits_per_key);
 * head_bits is left to the caller.
 */
bool besom__layer_prices(const struct besom_kind *kind, double keys, struct layer_prices *prices);

/* Bits a key at a rate of 2^-log_rate. Between two entries of the list they lie on a line. */
double besom__layer_bits(const struct layer_prices *prices, double log_rate);

/* The other way around: -log2 of the lowest rate for so many bits a key; the highest of the list if they are too few.
 */
double besom__layer_log_rate(const struct layer_prices *prices, double bits);

/*
 * Bits a member of the whole, expected: with so many members, and so many frequent non-members for each. All of a
 * layer that nobody reaches is still there.
 */
double besom__stack_bits(const struct stack *s, const struct layer_prices *prices, double members,
                         double frequent);

/* The same for layers that are all alike, without a loop over them. */
double besom__stack_bits_of_equals(unsigned layers, double log_rate,
                                   const struct layer_prices *prices, double members,
                                   double frequent);

#endif
