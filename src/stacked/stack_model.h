/*
 * Size and false-positive rate of a stack of filters, in closed form (Deeds, Hentschel, Idreos:
 * "Stacked Filters", 2021, section 4). Layers are numbered from 0. Even layers hold members, odd
 * layers hold frequently queried non-members. Layer i holds the keys of its side that pass every
 * layer before it.
 */
#ifndef BESOM_LAYERED_STACK_MODEL_H
#define BESOM_LAYERED_STACK_MODEL_H

#include "besom_plan.h"
#include "kind.h"

#define MAX_STACK_LAYERS BESOM_PLAN_LAYERS

/* An odd number of layers, each with its false-positive rate. */
struct stack {
  unsigned layers;
  double rates[MAX_STACK_LAYERS];
};

/* A stack whose layers all have this false-positive rate. */
struct stack besom__stack_of_equals(unsigned layers, double rate);

/* ------------------------------------------------------------------ false-positive rate */

/* The false-positive rate: for a frequent non-member; for any other, which is the worst case. */
double besom__stack_fpr_frequent(const struct stack *s);
double besom__stack_fpr_other(const struct stack *s);

/* Over negative queries, of which this share is for frequent non-members. */
double besom__stack_fpr(const struct stack *s, double share);

/* ----------------------------------------------------------------- layers per query, on average */

double besom__stack_checks_member(const struct stack *s);
double besom__stack_checks_frequent(const struct stack *s);
double besom__stack_checks_other(const struct stack *s);

/* Over negative queries, of which this share is for frequent non-members. */
double besom__stack_checks(const struct stack *s, double share);

/* ------------------------------------------------------------------ bits per key */

/*
 * Bits per key of the base kind as a function of the false-positive rate, sampled at rates that
 * differ by a factor of 2^(-1/4). Kinds with fingerprints of whole bits have only the listed rates,
 * none in between.
 */
#define MAX_LAYER_COSTS 160

/* Bits, at most, that a layer takes beyond its keys and its head: rounding and alignment. */
#define LAYER_PADDING 1024
#define MAX_HALVINGS 40

struct layer_costs {
  bool whole_bits;
  unsigned n;
  double log_rates[MAX_LAYER_COSTS]; /* -log2 of the rates, ascending; i / 4 if not whole_bits */
  double rates[MAX_LAYER_COSTS];
  double bits[MAX_LAYER_COSTS]; /* bits per key */
  /* bits per key of a set that is 2^i times smaller, relative to this one; 1 if not whole_bits */
  double of_smaller[MAX_HALVINGS];
  double layer_bits; /* fixed overhead per layer */
  double head_bits;  /* fixed overhead of the stack */
};

/*
 * The costs of a kind for sets of about so many keys. False if the kind does not have the operation
 * bits_per_key, or it fails. The caller sets head_bits.
 */
bool besom__layer_costs(const struct besom_kind *kind, double keys, struct layer_costs *costs);

/*
 * Bits per key of a layer with this part of the keys, relative to a layer with all. Tables of small
 * sets are rounded up, so that they take more. How many keys reach a layer is random: kinds with
 * fingerprints of whole bits get room for more, because one bit less per key doubles the rate.
 */
double besom__layer_size_factor(const struct layer_costs *costs, double part, double members);

/* The same; log_part is -log2 of the part. Faster. */
double besom__layer_size_factor_at(const struct layer_costs *costs, double part, double log_part,
                                   double members);

/* Bits per key at a false-positive rate of 2^-log_rate, interpolated linearly between entries. */
double besom__layer_bits_per_key(const struct layer_costs *costs, double log_rate);

/*
 * The inverse: -log2 of the lowest false-positive rate for so many bits per key. If they are too
 * few, that of the highest rate of the list.
 */
double besom__layer_log_rate(const struct layer_costs *costs, double bits);

/* The rate itself. Faster if the kind has fingerprints of whole bits. */
double besom__layer_rate(const struct layer_costs *costs, double bits);

/*
 * Expected bits per key of the whole stack, for so many members and `frequent` frequent non-members
 * per member. A layer that no key reaches still has its fixed overhead.
 */
double besom__stack_bits(const struct stack *s, const struct layer_costs *costs, double members,
                         double frequent);

/* The same for a stack whose layers all have the same rate. Faster. */
double besom__stack_bits_of_equals(unsigned layers, double log_rate,
                                   const struct layer_costs *costs, double members,
                                   double frequent);

#endif
