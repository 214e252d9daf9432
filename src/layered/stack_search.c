#include "layered/stack_search.h"

#include <math.h>

/* ------------------------------------------------------------------ the objective */

void besom__candidate_evaluate(const struct stack_objective *objective, struct stack_candidate *x) {
  x->fpr = besom__stack_fpr(&x->stack, x->share);
  x->bits = besom__stack_bits(&x->stack, &objective->costs, objective->members,
                              x->frequent / objective->members);
}

/*
 * Whether the constraints hold, without the budget of bits. A lower rate of any layer helps all of
 * them.
 */
static bool constraints_hold(const struct stack_objective *objective, const struct stack *s,
                             double share) {
  const besom_plan_limits *limits = &objective->limits;
  bool limited = objective->bits == 0 || objective->tied;
  if (limited && besom__stack_fpr(s, share) > objective->fpr * (1 + 1e-9)) return false;
  if (limits->worst_fpr > 0 && besom__stack_fpr_other(s) > limits->worst_fpr * (1 + 1e-9))
    return false;
  if (limits->checks_member > 0 &&
      besom__stack_checks_member(s) > limits->checks_member * (1 + 1e-9))
    return false;
  return !(limits->checks > 0) || besom__stack_checks(s, share) <= limits->checks * (1 + 1e-9);
}

bool besom__candidate_is_feasible(const struct stack_objective *objective,
                                  const struct stack_candidate *x) {
  return (objective->bits == 0 || x->bits <= objective->bits * (1 + 1e-9)) &&
         constraints_hold(objective, &x->stack, x->share);
}

bool besom__candidate_is_better(const struct stack_objective *objective,
                                const struct stack_candidate *x, const struct stack_candidate *y) {
  if (objective->tied) return besom__stack_fpr_other(&x->stack) < besom__stack_fpr_other(&y->stack);
  return objective->bits == 0 ? x->bits < y->bits : x->fpr < y->fpr;
}

/* ------------------------------------------------------------------ one rate */

#define MIN_LOG_RATE 0.05
#define ITERATIONS 26

/* Stacks that differ in one number: the rate of all layers, or that of the first layer. */
struct line {
  const struct stack_objective *objective;
  struct stack stack;
  double frequent, share; /* non-members per member; their share of the negative queries */
  bool equal;
};

static struct stack stack_at(const struct line *l, double log_rate) {
  if (l->equal) return besom__stack_of_equals(l->stack.layers, exp2(-log_rate));
  struct stack s = l->stack;
  s.rates[0] = exp2(-log_rate);
  return s;
}

static double bits_at(const struct line *l, double log_rate) {
  const struct stack_objective *objective = l->objective;
  if (l->equal)
    return besom__stack_bits_of_equals(l->stack.layers, log_rate, &objective->costs,
                                       objective->members, l->frequent);
  struct stack s = stack_at(l, log_rate);
  return besom__stack_bits(&s, &objective->costs, objective->members, l->frequent);
}

static bool constraints_hold_at(const struct line *l, double log_rate) {
  struct stack s = stack_at(l, log_rate);
  return constraints_hold(l->objective, &s, l->share);
}

/* The highest rate that satisfies the constraints, by bisection: lower rates satisfy them, too. */
static double highest_rate(const struct line *l, double most) {
  double low = MIN_LOG_RATE, high = most;
  if (constraints_hold_at(l, low)) return low;
  for (unsigned i = 0; i < ITERATIONS; i++) {
    double middle = (low + high) / 2;
    *(constraints_hold_at(l, middle) ? &high : &low) = middle;
  }
  return high;
}

/*
 * The rate with the smallest size. The size falls and then rises (Theorem 2), so golden-section
 * search finds what gradient descent would, and needs no step size.
 */
static double smallest_size(const struct line *l, double low, double high) {
  const double golden = 0.6180339887498949;
  double x = high - golden * (high - low), y = low + golden * (high - low);
  double of_x = bits_at(l, x), of_y = bits_at(l, y);
  for (unsigned i = 0; i < ITERATIONS; i++)
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

/* The best feasible point of the line. False if there is none. */
static bool best_of_line(const struct line *l, double *log_rate) {
  const struct layer_costs *costs = &l->objective->costs;
  double most = costs->log_rates[costs->n - 1], budget = l->objective->bits;
  if (!constraints_hold_at(l, most)) return false;
  double low = smallest_size(l, highest_rate(l, most), most);
  *log_rate = low;
  if (budget == 0) return true;
  if (bits_at(l, low) > budget) return false;
  if (bits_at(l, most) <= budget) low = most;
  for (double high = most;
       high - low > 1e-6;) { /* from the smallest size on it rises: spend the budget */
    double middle = (low + high) / 2;
    *(bits_at(l, middle) <= budget ? &low : &high) = middle;
  }
  *log_rate = low;
  return true;
}

bool besom__search_equals(const struct stack_objective *objective, unsigned layers,
                          struct stack_candidate *x) {
  struct line l = {
      .objective = objective, .stack = {.layers = layers}, .share = x->share, .equal = true};
  double log_rate;
  l.frequent = x->frequent / objective->members;
  if (!best_of_line(&l, &log_rate)) return false;
  x->stack = stack_at(&l, log_rate);
  besom__candidate_evaluate(objective, x);
  return true;
}

/* ------------------------------------------------------------------ each rate by itself */

bool besom__search_first(const struct stack_objective *objective, struct stack_candidate *x) {
  struct line l = {.objective = objective, .stack = x->stack, .share = x->share};
  struct stack_candidate other = *x;
  double log_rate;
  l.frequent = x->frequent / objective->members;
  if (!best_of_line(&l, &log_rate)) return false;
  other.stack = stack_at(&l, log_rate);
  besom__candidate_evaluate(objective, &other);
  if (!besom__candidate_is_feasible(objective, &other)) return false;
  *x = other;
  return true;
}

/*
 * Changes the rate of one layer, and the rate of the first layer to suit it. False if that is no
 * improvement.
 */
static bool improve(const struct stack_objective *objective, unsigned layer, double by,
                    struct stack_candidate *x) {
  double log_rate = -log2(x->stack.rates[layer]) + by;
  if (log_rate < MIN_LOG_RATE || log_rate > objective->costs.log_rates[objective->costs.n - 1])
    return false;
  struct stack_candidate other = *x;
  other.stack.rates[layer] = exp2(-log_rate);
  if (!besom__search_first(objective, &other) || !besom__candidate_is_better(objective, &other, x))
    return false;
  *x = other;
  return true;
}

void besom__search_polish(const struct stack_objective *objective, struct stack_candidate *x) {
  for (double step = 2; step > 0.03; step /= 2)
    for (bool again = true; again;) {
      again = false;
      for (unsigned layer = 1; layer < x->stack.layers; layer++)
        again |= improve(objective, layer, step, x) || improve(objective, layer, -step, x);
    }
}

/* ------------------------------------------------------------------ whole bits */

#define FRONTIER 32

/* A partial stack that can be continued, and what follows from its layers so far. */
struct node {
  struct stack stack;
  double bits;
  double members, frequent; /* that reach the next layer of their side, per member */
  double passes;            /* probability that a frequent non-member passed all layers */
  double reaches, yes;      /* that any other non-member did; that it has got a yes */
};

struct search {
  const struct stack_objective *objective;
  double epsilon, share;
  struct stack_candidate best;
  bool found;
  struct node frontier[2][FRONTIER];
  double rank[2][FRONTIER];
  unsigned n[2];
};

static double rate_of(const struct search *s, const struct node *n) {
  return s->share * n->passes + (1 - s->share) * (n->yes + n->reaches);
}

/* What the search minimizes within a budget of bits: the rate, or that for other keys. */
static double value_of(const struct search *s, const struct node *n) {
  return s->objective->tied ? n->yes + n->reaches : rate_of(s, n);
}

static double best_value(const struct search *s) {
  return s->objective->tied ? besom__stack_fpr_other(&s->best.stack) : s->best.fpr;
}

/* Smaller improvements are not searched for: as given, or a small part of the best so far. */
static double epsilon_of(const struct search *s) {
  return s->epsilon > 0 || !s->found ? s->epsilon : 0.003 * best_value(s);
}

/* Lower bounds of the false-positive rate of every continuation; of what is minimized. */
static double rate_bound(const struct search *s, const struct node *n) {
  return (1 - s->share) * n->yes;
}

static double bound_of(const struct search *s, const struct node *n) {
  return s->objective->tied ? n->yes : rate_bound(s, n);
}

/* The keys of the next layer, per member; sets that are small cost more (size_factor). */
static double next_keys(const struct search *s, const struct node *from) {
  double keys = from->stack.layers % 2 ? from->frequent : from->members;
  return keys * besom__layer_size_factor(&s->objective->costs, keys, s->objective->members);
}

/* Appends a layer for so many keys, with entry number `cost` of the list. */
static struct node with_layer(const struct search *s, const struct node *from, double keys,
                              unsigned cost) {
  const struct layer_costs *costs = &s->objective->costs;
  struct node n = *from;
  double rate = exp2(-costs->log_rates[cost]), overhead = costs->layer_bits / s->objective->members;
  n.bits += keys * costs->bits[cost] + overhead;
  if (n.stack.layers % 2) {
    n.members *= rate;
    n.yes += n.reaches * (1 - rate);
  } else {
    n.frequent *= rate;
    n.passes *= rate;
  }
  n.reaches *= rate;
  n.stack.rates[n.stack.layers++] = rate;
  return n;
}

/* Whether no continuation of the node can be better than the best so far. */
static bool can_prune(const struct search *s, const struct node *n) {
  const struct stack_objective *objective = s->objective;
  if (objective->limits.worst_fpr > 0 && n->yes > objective->limits.worst_fpr) return true;
  bool limited = objective->bits == 0 || objective->tied;
  if (limited && rate_bound(s, n) > objective->fpr) return true;
  if (objective->bits == 0) return s->found && n->bits >= s->best.bits;
  return n->bits > objective->bits || (s->found && bound_of(s, n) >= best_value(s) - epsilon_of(s));
}

/* A stack of one layer holds no non-members: it is skipped if limits.frequent asks for some. */
static void consider(struct search *s, const struct node *n) {
  if (n->stack.layers == 1 && s->objective->limits.frequent) return;
  struct stack_candidate x = {n->stack, s->best.frequent, s->share, rate_of(s, n), n->bits};
  if (!besom__candidate_is_feasible(s->objective, &x) ||
      (s->found && !besom__candidate_is_better(s->objective, &x, &s->best)))
    return;
  s->best = x;
  s->found = true;
}

/*
 * An estimate of the bits that a tied search needs from here on, so that frequent non-members pass
 * rarely enough: one more pair of layers, the first of which has the best number of bits.
 */
static double bits_to_come(const struct search *s, const struct node *n) {
  double left = (s->objective->fpr - (1 - s->share) * (n->yes + n->reaches)) / s->share;
  double wanted = log2(n->passes / fmax(left, 1e-12)), least = n->members * fmax(wanted, 0);
  for (int bits = 1; bits <= 16 && wanted > 0; bits++)
    least = fmin(least, n->frequent * bits + n->members * exp2(-bits) * wanted);
  return least;
}

/* What a tied search cannot afford comes last. */
static double rank_of(const struct search *s, const struct node *n) {
  if (!s->objective->tied) return rate_of(s, n);
  double excess = n->bits + bits_to_come(s, n) - s->objective->bits;
  return value_of(s, n) + (excess > 0 ? 1 + excess : 0);
}

/* Keeps the node for continuation. If there are too many, it replaces the worst one. */
static void keep(struct search *s, const struct node *n, unsigned side) {
  unsigned at = s->n[side];
  double rank = rank_of(s, n);
  if (at < FRONTIER) {
    s->n[side]++;
  } else {
    at = 0;
    for (unsigned i = 1; i < FRONTIER; i++)
      if (s->rank[side][i] > s->rank[side][at]) at = i;
    if (rank >= s->rank[side][at]) return;
  }
  s->frontier[side][at] = *n;
  s->rank[side][at] = rank;
}

/* Whether further layers can lower what is minimized by more than this. */
static bool is_undecided(const struct search *s, const struct node *n, double epsilon) {
  return value_of(s, n) - bound_of(s, n) > epsilon ||
         (s->objective->tied && rate_of(s, n) > s->objective->fpr);
}

/* Further layers add bits. They can help only if some queries are still undecided. */
static bool may_continue(const struct search *s, const struct node *n) {
  unsigned most = s->objective->limits.layers;
  if (n->stack.layers + 2 > most || s->share == 0) return false;
  return s->objective->bits == 0 ? rate_of(s, n) > s->objective->fpr
                                 : is_undecided(s, n, epsilon_of(s));
}

/*
 * Tries a layer of members with every entry of the list, from the cheapest on. A rate that decides
 * all but epsilon of the queries is low enough.
 */
static void add_members(struct search *s, const struct node *from, unsigned side) {
  double keys = next_keys(s, from);
  for (unsigned i = 0; i < s->objective->costs.n; i++) {
    struct node n = with_layer(s, from, keys, i);
    if (n.bits > s->objective->bits && s->objective->bits != 0) break;
    if (can_prune(s, &n)) continue;
    consider(s, &n);
    if (may_continue(s, &n)) keep(s, &n, side);
    if (!is_undecided(s, &n, epsilon_of(s) / 8)) break;
  }
}

/*
 * A lower rate of the layer of non-members only saves members in the next layer. If almost no
 * member gets there, it is low enough.
 */
static void add_pair(struct search *s, const struct node *from, unsigned side) {
  double keys = next_keys(s, from);
  for (unsigned i = 0; i < s->objective->costs.n; i++) {
    struct node n = with_layer(s, from, keys, i);
    if (!can_prune(s, &n)) add_members(s, &n, side);
    if (n.members < 1e-4) break;
  }
}

/* Breadth-first search, a pair of layers at a time. */
bool besom__search_whole_bits(const struct stack_objective *objective, double epsilon,
                              struct stack_candidate *x) {
  struct search s = {.objective = objective, .epsilon = epsilon, .share = x->share, .best = *x};
  struct node root = {.bits = objective->costs.head_bits / objective->members,
                      .members = 1,
                      .frequent = x->frequent / objective->members,
                      .passes = 1,
                      .reaches = 1};
  add_members(&s, &root, 0);
  for (unsigned side = 0; s.n[side]; side = 1 - side) {
    s.n[1 - side] = 0;
    for (unsigned i = 0; i < s.n[side]; i++)
      if (!can_prune(&s, &s.frontier[side][i])) add_pair(&s, &s.frontier[side][i], 1 - side);
  }
  *x = s.best;
  return s.found;
}
