#include "layered/stack_search.h"

#include <math.h>

/* ------------------------------------------------------------------ what is good */

void besom__choice_measure(const struct stack_aim *aim, struct stack_choice *x) {
  x->fpr = besom__stack_rate(&x->stack, x->share);
  x->bits = besom__stack_bits(&x->stack, &aim->prices, aim->members, x->frequent / aim->members);
}

/* The limits alone, and the rate if one is wanted: what a lower rate of any layer makes better. */
static bool exact_enough(const struct stack_aim *aim, const struct stack *s, double share) {
  const besom_plan_limits *limits = &aim->limits;
  if (aim->bits == 0 && besom__stack_rate(s, share) > aim->fpr * (1 + 1e-9)) return false;
  if (limits->worst_fpr > 0 && besom__stack_rate_other(s) > limits->worst_fpr * (1 + 1e-9))
    return false;
  if (limits->checks_member > 0 &&
      besom__stack_checks_member(s) > limits->checks_member * (1 + 1e-9))
    return false;
  return !(limits->checks > 0) || besom__stack_checks(s, share) <= limits->checks * (1 + 1e-9);
}

bool besom__choice_fits(const struct stack_aim *aim, const struct stack_choice *x) {
  return (aim->bits == 0 || x->bits <= aim->bits * (1 + 1e-9)) &&
         exact_enough(aim, &x->stack, x->share);
}

bool besom__choice_better(const struct stack_aim *aim, const struct stack_choice *x,
                          const struct stack_choice *y) {
  return aim->bits == 0 ? x->bits < y->bits : x->fpr < y->fpr;
}

/* ------------------------------------------------------------------ one rate */

#define LEAST_LOG_RATE 0.05
#define HALVINGS 26

/* Stacks that differ in one number: the rate of all layers, or that of the first alone. */
struct line {
  const struct stack_aim *aim;
  struct stack stack;
  double frequent, share; /* for each member; of the queries */
  bool equal;
};

static struct stack stack_at(const struct line *l, double log_rate) {
  if (l->equal) return besom__stack_of_equals(l->stack.layers, exp2(-log_rate));
  struct stack s = l->stack;
  s.rates[0] = exp2(-log_rate);
  return s;
}

static double bits_at(const struct line *l, double log_rate) {
  const struct stack_aim *aim = l->aim;
  if (l->equal)
    return besom__stack_bits_of_equals(l->stack.layers, log_rate, &aim->prices, aim->members,
                                       l->frequent);
  struct stack s = stack_at(l, log_rate);
  return besom__stack_bits(&s, &aim->prices, aim->members, l->frequent);
}

static bool exact_enough_at(const struct line *l, double log_rate) {
  struct stack s = stack_at(l, log_rate);
  return exact_enough(l->aim, &s, l->share);
}

/* The highest rate that is exact enough: the lower, the more exact. */
static double highest_rate(const struct line *l, double most) {
  double low = LEAST_LOG_RATE, high = most;
  if (exact_enough_at(l, low)) return low;
  for (unsigned i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    *(exact_enough_at(l, middle) ? &high : &low) = middle;
  }
  return high;
}

/*
 * Where the size is the least: it falls and then rises (Theorem 2), so the golden section finds what gradient descent
 * would, and needs no step size.
 */
static double least_size(const struct line *l, double low, double high) {
  const double golden = 0.6180339887498949;
  double x = high - golden * (high - low), y = low + golden * (high - low);
  double of_x = bits_at(l, x), of_y = bits_at(l, y);
  for (unsigned i = 0; i < HALVINGS; i++)
    if (of_x <= of_y) {
      high = y, y = x, of_y = of_x;
      x = high - golden * (high - low);
      of_x = bits_at(l, x);
    } else {
      low = x, x = y, of_x = of_y;
      y = low + golden * (high - low);
      of_y = bits_at(l, y);
    }
  double middle = (low + high) / 2;
  return bits_at(l, low) <= bits_at(l, middle) ? low : middle;
}

/* The best point of the line. False if none is good. */
static bool best_of_line(const struct line *l, double *log_rate) {
  const struct layer_prices *prices = &l->aim->prices;
  double most = prices->log_rates[prices->n - 1], budget = l->aim->bits;
  if (!exact_enough_at(l, most)) return false;
  double low = least_size(l, highest_rate(l, most), most);
  *log_rate = low;
  if (budget == 0) return true;
  if (bits_at(l, low) > budget) return false;
  if (bits_at(l, most) <= budget) low = most;
  for (double high = most;
       high - low > 1e-6;) { /* from the least size on it rises: spend the budget */
    double middle = (low + high) / 2;
    *(bits_at(l, middle) <= budget ? &low : &high) = middle;
  }
  *log_rate = low;
  return true;
}

bool besom__search_equals(const struct stack_aim *aim, unsigned layers, struct stack_choice *x) {
  struct line l = {.aim = aim, .stack = {.layers = layers}, .share = x->share, .equal = true};
  double log_rate;
  l.frequent = x->frequent / aim->members;
  if (!best_of_line(&l, &log_rate)) return false;
  x->stack = stack_at(&l, log_rate);
  besom__choice_measure(aim, x);
  return true;
}

/* ------------------------------------------------------------------ each rate by itself */

/* The same stack with another rate in one layer, and in the first what suits it. False if that is no better. */
static bool improve(const struct stack_aim *aim, unsigned layer, double by,
                    struct stack_choice *x) {
  struct line l = {.aim = aim, .stack = x->stack, .share = x->share};
  double log_rate = -log2(x->stack.rates[layer]) + by;
  if (log_rate < LEAST_LOG_RATE || log_rate > aim->prices.log_rates[aim->prices.n - 1])
    return false;
  struct stack_choice other = *x;
  l.frequent = x->frequent / aim->members;
  l.stack.rates[layer] = exp2(-log_rate);
  if (!best_of_line(&l, &log_rate)) return false;
  other.stack = stack_at(&l, log_rate);
  besom__choice_measure(aim, &other);
  if (!besom__choice_fits(aim, &other) || !besom__choice_better(aim, &other, x)) return false;
  *x = other;
  return true;
}

void besom__search_polish(const struct stack_aim *aim, struct stack_choice *x) {
  for (double step = 2; step > 0.03; step /= 2)
    for (bool again = true; again;) {
      again = false;
      for (unsigned layer = 1; layer < x->stack.layers; layer++)
        again |= improve(aim, layer, step, x) || improve(aim, layer, -step, x);
    }
}

/* ------------------------------------------------------------------ whole bits */

#define FRONTIER 32

/* A stack that may be continued, and what follows from its layers so far. */
struct node {
  struct stack stack;
  double bits;
  double members, frequent; /* that reach the next layer of their side, for each member there is */
  double passes;            /* the probability that a frequent non-member is still undecided; */
  double reaches, yes;      /* that any other is, or has got a yes */
};

struct search {
  const struct stack_aim *aim;
  double epsilon, share;
  struct stack_choice best;
  bool found;
  struct node frontier[2][FRONTIER];
  unsigned n[2];
};

static double rate_of(const struct search *s, const struct node *n) {
  return s->share * n->passes + (1 - s->share) * (n->yes + n->reaches);
}

/* What is too little to look for: as told, or else a small part of the best so far. */
static double epsilon_of(const struct search *s) {
  return s->epsilon > 0 || !s->found ? s->epsilon : 0.003 * s->best.fpr;
}

/* What no continuation can fall below. */
static double bound_of(const struct search *s, const struct node *n) {
  return (1 - s->share) * n->yes;
}

/* A layer of members, or of non-members, that has entry number `price` of the list. */
static struct node with_layer(const struct search *s, const struct node *from, unsigned price) {
  const struct layer_prices *prices = &s->aim->prices;
  struct node n = *from;
  double rate = exp2(-prices->log_rates[price]), overhead = prices->layer_bits / s->aim->members;
  if (n.stack.layers % 2) {
    n.bits += n.frequent * prices->bits[price] + overhead;
    n.members *= rate;
    n.yes += n.reaches * (1 - rate);
  } else {
    n.bits += n.members * prices->bits[price] + overhead;
    n.frequent *= rate;
    n.passes *= rate;
  }
  n.reaches *= rate;
  n.stack.rates[n.stack.layers++] = rate;
  return n;
}

/* Whether the node costs too much, or errs too often already, to become something better than the best. */
static bool hopeless(const struct search *s, const struct node *n) {
  const struct stack_aim *aim = s->aim;
  if (aim->limits.worst_fpr > 0 && n->yes > aim->limits.worst_fpr) return true;
  if (aim->bits == 0) return (s->found && n->bits >= s->best.bits) || bound_of(s, n) > aim->fpr;
  return n->bits > aim->bits || (s->found && bound_of(s, n) >= s->best.fpr - epsilon_of(s));
}

/* One layer would know nobody: not if that is wanted. */
static void consider(struct search *s, const struct node *n) {
  if (n->stack.layers == 1 && s->aim->limits.frequent) return;
  struct stack_choice x = {n->stack, s->best.frequent, s->share, rate_of(s, n), n->bits};
  if (!besom__choice_fits(s->aim, &x) || (s->found && !besom__choice_better(s->aim, &x, &s->best)))
    return;
  s->best = x;
  s->found = true;
}

/* Keeps the node to be continued, in the place of the worst one if there are too many. */
static void keep(struct search *s, const struct node *n, unsigned side) {
  unsigned at = s->n[side];
  if (at < FRONTIER) {
    s->n[side]++;
  } else {
    at = 0;
    for (unsigned i = 1; i < FRONTIER; i++)
      if (rate_of(s, &s->frontier[side][i]) > rate_of(s, &s->frontier[side][at])) at = i;
    if (rate_of(s, n) >= rate_of(s, &s->frontier[side][at])) return;
  }
  s->frontier[side][at] = *n;
}

/* Further layers add bits. They are worth a look if there is something left for them to decide. */
static bool may_continue(const struct search *s, const struct node *n) {
  unsigned most = s->aim->limits.layers;
  if (n->stack.layers + 2 > most || s->share == 0) return false;
  return s->aim->bits == 0 ? rate_of(s, n) > s->aim->fpr
                           : rate_of(s, n) - bound_of(s, n) > epsilon_of(s);
}

/*
 * Layers of members with every entry of the list, from the cheapest on. Beyond a rate that decides all but epsilon of
 * the queries a lower one only costs.
 */
static void add_members(struct search *s, const struct node *from, unsigned side) {
  for (unsigned i = 0; i < s->aim->prices.n; i++) {
    struct node n = with_layer(s, from, i);
    if (n.bits > s->aim->bits && s->aim->bits != 0) break;
    if (hopeless(s, &n)) continue;
    consider(s, &n);
    if (may_continue(s, &n)) keep(s, &n, side);
    if (rate_of(s, &n) - bound_of(s, &n) < epsilon_of(s) / 8) break;
  }
}

/* A lower rate of the non-members' layer only saves members in the next: when next to none get there, it is enough. */
static void add_pair(struct search *s, const struct node *from, unsigned side) {
  for (unsigned i = 0; i < s->aim->prices.n; i++) {
    struct node n = with_layer(s, from, i);
    if (!hopeless(s, &n)) add_members(s, &n, side);
    if (n.members < 1e-4) break;
  }
}

/* Breadth first, a pair of layers at a time. */
bool besom__search_whole_bits(const struct stack_aim *aim, double epsilon, struct stack_choice *x) {
  struct search s = {.aim = aim, .epsilon = epsilon, .share = x->share, .best = *x};
  struct node root = {.bits = aim->prices.head_bits / aim->members,
                      .members = 1,
                      .frequent = x->frequent / aim->members,
                      .passes = 1,
                      .reaches = 1};
  add_members(&s, &root, 0);
  for (unsigned side = 0; s.n[side]; side = 1 - side) {
    s.n[1 - side] = 0;
    for (unsigned i = 0; i < s.n[side]; i++)
      if (!hopeless(&s, &s.frontier[side][i])) add_pair(&s, &s.frontier[side][i], 1 - side);
  }
  *x = s.best;
  return s.found;
}
