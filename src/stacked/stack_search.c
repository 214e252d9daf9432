#include "stacked/stack_search.h"

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

/* ------------------------------------------------------------------ equal rates */

#define MIN_LOG_RATE 0.05
#define ITERATIONS 26

/* Stacks that differ in one number: the rate of all layers. */
struct line {
  const struct stack_objective *objective;
  unsigned layers;
  double frequent, share; /* non-members per member; their share of the negative queries */
};

static struct stack stack_at(const struct line *l, double log_rate) {
  return besom__stack_of_equals(l->layers, exp2(-log_rate));
}

static double bits_at(const struct line *l, double log_rate) {
  const struct stack_objective *objective = l->objective;
  return besom__stack_bits_of_equals(l->layers, log_rate, &objective->costs, objective->members,
                                     l->frequent);
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
  struct line l = {.objective = objective, .layers = layers, .share = x->share};
  double log_rate;
  l.frequent = x->frequent / objective->members;
  if (!best_of_line(&l, &log_rate)) return false;
  x->stack = stack_at(&l, log_rate);
  besom__candidate_evaluate(objective, x);
  return true;
}

/* ------------------------------------------------------------------ each rate by itself */

#define UNITS_LOG 3
#define UNITS_PER_COST (1 << UNITS_LOG) /* a position between two entries of the list of costs */
#define LEAST_GAIN 2e-4

/*
 * A stack as positions in the list of costs: one per layer but the last, whose rate follows from
 * the others. It gets what is left of the budget of bits, or the highest rate with which the stack
 * reaches the target. Of kinds with every rate there are 8 positions from entry to entry (1/32 of a
 * bit), of others the entries themselves.
 */
struct position {
  int at[MAX_STACK_LAYERS];
  unsigned layers;
};

/* What follows from the layers so far, as in stack_model.c. */
struct partial_stack {
  double bits;         /* per member, without the overhead of the layers */
  double holds[2];     /* that reach the next layer of members, of non-members; per member */
  double log_holds[2]; /* -log2 of these */
  double passes;       /* probability that a frequent non-member passed all layers of members */
  double reaches, yes; /* that any other non-member passed all; that it has got a yes */
  double rate;         /* of the last one of these layers */
};

/* A search for given frequent non-members, per member, and their share. */
struct rate_search {
  const struct stack_objective *objective;
  double share;
  int units, shift, last;       /* positions per entry, also as a power of 2; the last position */
  double steps[UNITS_PER_COST]; /* the rate of a position, relative to that of its entry */
  struct position best;
  double value; /* of the best; INFINITY if there is none */
  /* the stack that was evaluated last, and what follows from its first i layers */
  struct position evaluated;
  struct partial_stack partial[MAX_STACK_LAYERS];
};

static struct rate_search rate_search_start(const struct stack_objective *objective,
                                            const struct stack_candidate *x) {
  bool whole_bits = objective->costs.whole_bits;
  double frequent = x->frequent / objective->members;
  struct rate_search s = {
      .objective = objective,
      .share = x->share,
      .units = whole_bits ? 1 : UNITS_PER_COST,
      .shift = whole_bits ? 0 : UNITS_LOG,
      .value = INFINITY,
      .partial[0] = {
          .holds = {1, frequent}, .log_holds = {0, -log2(frequent)}, .passes = 1, .reaches = 1}};
  s.last = (int)(objective->costs.n - 1) * s.units;
  for (int i = 0; i < s.units; i++)
    s.steps[i] = exp2((objective->costs.log_rates[0] - objective->costs.log_rates[1]) *
                      ((double)i / (double)s.units));
  return s;
}

static double position_log_rate(const struct rate_search *s, int at) {
  const struct layer_costs *costs = &s->objective->costs;
  int entry = at >> s->shift, part = at & (s->units - 1);
  if (!part) return costs->log_rates[entry];
  return costs->log_rates[entry] +
         (costs->log_rates[entry + 1] - costs->log_rates[entry]) * ((double)part / UNITS_PER_COST);
}

static double position_rate(const struct rate_search *s, int at) {
  return s->objective->costs.rates[at >> s->shift] * s->steps[at & (s->units - 1)];
}

static double position_bits(const struct rate_search *s, int at) {
  const struct layer_costs *costs = &s->objective->costs;
  int entry = at >> s->shift, part = at & (s->units - 1);
  if (!part) return costs->bits[entry];
  return costs->bits[entry] +
         (costs->bits[entry + 1] - costs->bits[entry]) * ((double)part / UNITS_PER_COST);
}

static double partial_keys(const struct rate_search *s, const struct partial_stack *p,
                           unsigned side) {
  const struct stack_objective *o = s->objective;
  if (!o->costs.whole_bits) return p->holds[side];
  return p->holds[side] *
         besom__layer_size_factor_at(&o->costs, p->holds[side], p->log_holds[side], o->members);
}

/* One more layer: the i-th, at this position. */
static struct partial_stack partial_with(const struct rate_search *s, struct partial_stack p,
                                         unsigned i, int at) {
  double rate = p.rate = position_rate(s, at);
  p.bits += partial_keys(s, &p, i % 2) * position_bits(s, at);
  p.holds[1 - i % 2] *= rate;
  p.log_holds[1 - i % 2] += position_log_rate(s, at);
  if (i % 2)
    p.yes += p.reaches * (1 - rate);
  else
    p.passes *= rate;
  p.reaches *= rate;
  return p;
}

/* All layers but the last. Most stacks that are tried have their first layers in common. */
static const struct partial_stack *partial_of(struct rate_search *s, const struct position *x) {
  unsigned i = 0, n = x->layers - 1, known = s->evaluated.layers ? s->evaluated.layers - 1 : 0;
  while (i < n && i < known && s->evaluated.at[i] == x->at[i]) i++;
  for (; i < n; i++) s->partial[i + 1] = partial_with(s, s->partial[i], i, x->at[i]);
  s->evaluated = *x;
  return &s->partial[n];
}

/* The stack that was evaluated last, with this rate of its last layer. */
static struct stack evaluated_stack(const struct rate_search *s, double last_rate) {
  struct stack out = {.layers = s->evaluated.layers};
  for (unsigned i = 0; i + 1 < out.layers; i++) out.rates[i] = s->partial[i + 1].rate;
  out.rates[out.layers - 1] = last_rate;
  return out;
}

static double overhead_of(const struct rate_search *s, unsigned layers) {
  const struct layer_costs *costs = &s->objective->costs;
  return (costs->head_bits + layers * costs->layer_bits) / s->objective->members;
}

/*
 * The rate of the last layer, of so many keys per member, that spends the budget; 0 if what is left
 * of the budget is too small.
 */
static double rate_of_rest(const struct rate_search *s, double left, double keys) {
  const struct layer_costs *costs = &s->objective->costs;
  return left < costs->bits[0] * keys ? 0 : besom__layer_rate(costs, left / keys);
}

/* The highest rate that reaches the target; 0 if none does. */
static double rate_for_target(const struct rate_search *s, const struct partial_stack *p) {
  const struct layer_costs *costs = &s->objective->costs;
  double wanted = (s->objective->fpr - (1 - s->share) * p->yes) /
                  (s->share * p->passes + (1 - s->share) * p->reaches);
  if (!(wanted > 0)) return 0;
  double log_rate = fmax(-log2(wanted), costs->whole_bits ? costs->log_rates[0] : MIN_LOG_RATE);
  if (log_rate > costs->log_rates[costs->n - 1]) return 0;
  for (unsigned i = 0; costs->whole_bits && i < costs->n; i++)
    if (costs->log_rates[i] >= log_rate - 1e-9) return costs->rates[i];
  return exp2(-log_rate);
}

/*
 * What is minimized; INFINITY if no last layer makes the stack feasible. *last: the rate of the
 * last layer.
 */
static double position_value(struct rate_search *s, const struct position *x, double *last) {
  const struct stack_objective *o = s->objective;
  const struct partial_stack *p = partial_of(s, x);
  double keys = partial_keys(s, p, 0), bits = p->bits + overhead_of(s, x->layers);
  double rate = *last =
      o->bits != 0 ? rate_of_rest(s, o->bits * (1 + 1e-12) - bits, keys) : rate_for_target(s, p);
  if (rate == 0) return INFINITY;
  bool limited =
      o->tied || o->limits.worst_fpr > 0 || o->limits.checks > 0 || o->limits.checks_member > 0;
  if (limited) {
    struct stack stack = evaluated_stack(s, rate);
    if (!constraints_hold(o, &stack, s->share)) return INFINITY;
  }
  if (o->tied) return p->yes + p->reaches * rate;
  if (o->bits == 0) return bits + keys * besom__layer_bits_per_key(&o->costs, -log2(rate));
  return s->share * p->passes * rate + (1 - s->share) * (p->yes + p->reaches * rate);
}

static bool position_try(struct rate_search *s, const struct position *x) {
  double last_rate;
  for (unsigned i = 0; i + 1 < x->layers; i++)
    if (x->at[i] < 1 - (s->units == 1) || x->at[i] > s->last) return false;
  double value = position_value(s, x, &last_rate);
  if (!(value < s->value * (1 - LEAST_GAIN))) return false;
  s->value = value;
  s->best = *x;
  return true;
}

/* Moves one or two rates that follow each other by the step, in all directions. */
static bool improve_by(struct rate_search *s, int step) {
  bool improved = false;
  for (unsigned i = 0; i + 1 < s->best.layers; i++)
    for (int first = -1; first <= 1; first++)
      for (int second = -1; second <= 1; second++) {
        struct position x = s->best;
        bool alone = i + 2 >= x.layers;
        if (!first || (alone && second)) continue; /* the second alone has its turn later */
        x.at[i] += first * step;
        if (!alone) x.at[i + 1] += second * step;
        improved |= position_try(s, &x);
      }
  return improved;
}

/* Pattern search from the best so far. */
static void descend_rates(struct rate_search *s) {
  for (int step = 2 * s->units; step >= 1; step /= 2)
    while (improve_by(s, step)) continue;
}

/* Tries a grid of rates for two layers, from the first given one on, with one more after them. */
static void try_rate_grid(struct rate_search *s, struct position x, unsigned first) {
  const double widest[2] = {16, 10}; /* bits; pattern search goes on from there */
  int step = s->units == 1 ? 1 : 3 * s->units, least = s->units == 1 ? 0 : s->units;
  int last[2] = {0, 0};
  for (unsigned i = 0; i < 2; i++)
    while (last[i] < s->last && position_log_rate(s, last[i]) < widest[i]) last[i]++;
  x.layers = first + 3;
  for (x.at[first] = least; x.at[first] <= last[0]; x.at[first] += step)
    for (x.at[first + 1] = least; x.at[first + 1] <= last[1]; x.at[first + 1] += step)
      position_try(s, &x);
}

/* A coarse grid of five layers: the best stack of three may be far from the best of five. */
static void try_five(struct rate_search *s) {
  struct position x = {.layers = 5};
  int bit = s->units == 1 ? 1 : 4 * s->units;
  for (x.at[0] = bit; x.at[0] <= 11 * bit && x.at[0] <= s->last; x.at[0] += 2 * bit)
    for (x.at[1] = bit; x.at[1] <= 7 * bit; x.at[1] += 2 * bit)
      for (x.at[2] = bit; x.at[2] <= 11 * bit; x.at[2] += 2 * bit)
        for (x.at[3] = bit; x.at[3] <= 7 * bit; x.at[3] += 2 * bit) position_try(s, &x);
}

/*
 * With three layers a grid, with more of them the best stack that has two less, whose last layer is
 * replaced by a grid; then pattern search. Stops when two more layers do not help.
 */
static void search_layers(struct rate_search *s, unsigned first, double epsilon) {
  for (unsigned layers = first; layers <= s->objective->limits.layers; layers += 2) {
    struct rate_search more = *s;
    double before = s->value;
    more.value = INFINITY;
    if (layers == 5) try_five(&more);
    try_rate_grid(&more, s->best, layers - 3);
    /* with more layers after it, a layer of non-members may let more members pass */
    for (struct position x = s->best; layers == 5 && x.at[1] > s->units && s->units == 1;) {
      x.at[1]--;
      try_rate_grid(&more, x, 2);
    }
    if (more.value < INFINITY) descend_rates(&more);
    if (more.value < before) *s = more;
    if (before < INFINITY && !(s->value < before * (1 - 1e-3) - epsilon)) break;
  }
}

/* The positions of a stack of this search, near to its rates; the last layer's follows. */
static struct position grid_position_of(const struct rate_search *s, const struct stack *from) {
  struct position x = {.layers = from->layers};
  for (unsigned i = 0; i + 1 < from->layers; i++) {
    double log_rate = -log2(from->rates[i]);
    while (x.at[i] < s->last && position_log_rate(s, x.at[i]) < log_rate - 1e-9) x.at[i]++;
  }
  return x;
}

bool besom__search_rates(const struct stack_objective *objective, double epsilon,
                         const struct stack *start, struct stack_candidate *x) {
  struct rate_search s = rate_search_start(objective, x);
  struct position one = {.layers = 1};
  if (!objective->limits.frequent || objective->limits.layers == 1) position_try(&s, &one);
  struct position from = start ? grid_position_of(&s, start) : one;
  if (from.layers > 1 && position_try(&s, &from))
    descend_rates(&s);
  else if (x->share > 0)
    search_layers(&s, 3, epsilon);
  if (!(s.value < INFINITY)) return false;
  double last_rate;
  position_value(&s, &s.best, &last_rate);
  x->stack = evaluated_stack(&s, last_rate);
  besom__candidate_evaluate(objective, x);
  return true;
}
