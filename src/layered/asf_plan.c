#include "layered/asf_plan.h"

#include <math.h>

#define SINGLE_RANKS 16 /* the most popular keys are looked at one by one, the others in groups */
#define GROUP_GROWTH 1.25
#define MAX_GROUPS 256 /* enough for 2^64 keys */

/* ------------------------------------------------------------------ popularity */

/* Keys that are asked about equally often, the most popular first. */
struct groups {
  unsigned n;
  double keys[MAX_GROUPS];
  double each[MAX_GROUPS]; /* share of the queries that a key of the group has */
};

/* The integral of x^-skew from 1 to x. */
static double area_to(double skew, double x) {
  double e = (1 - skew) * log(x);
  return fabs(e) > 1e-9 ? log(x) * expm1(e) / e : log(x);
}

static void make_groups(const struct asf_shape *shape, struct groups *g) {
  double total = 0;
  g->n = 0;
  for (double rank = 1, next; rank <= shape->negatives && g->n < MAX_GROUPS; rank = next, g->n++) {
    bool single = rank <= SINGLE_RANKS;
    next = single ? rank + 1 : fmin(ceil(rank * GROUP_GROWTH), floor(shape->negatives) + 1);
    g->keys[g->n] = next - rank;
    double area = area_to(shape->skew, next - 0.5) - area_to(shape->skew, rank - 0.5);
    g->each[g->n] = single ? pow(rank, -shape->skew) : area / (next - rank);
    total += g->keys[g->n] * g->each[g->n];
  }
  for (unsigned i = 0; i < g->n; i++) g->each[i] /= total;
}

/* E[N_f] and E[psi] of the paper: a key with share f is among those seen with probability 1 - (1 - f)^queries. */
static void seen_by(const struct groups *g, double queries, double *keys, double *share) {
  *keys = *share = 0;
  for (unsigned i = 0; i < g->n; i++) {
    double seen = g->each[i] < 1 ? -expm1(queries * log1p(-g->each[i])) : 1;
    *keys += g->keys[i] * seen;
    *share += g->keys[i] * seen * g->each[i];
  }
}

/* The share of the queries that is for the most popular keys. */
static double share_of_first(const struct groups *g, double keys) {
  double share = 0;
  for (unsigned i = 0; i < g->n && keys > 0; keys -= g->keys[i++])
    share += fmin(keys, g->keys[i]) * g->each[i];
  return share;
}

void besom__asf_seen(const struct asf_shape *shape, double queries, double *keys, double *share) {
  struct groups g;
  make_groups(shape, &g);
  seen_by(&g, queries, keys, share);
}

double besom__asf_skew(double negatives, double queries, double keys) {
  double least = 0, most = ASF_MOST_SKEW;
  for (int i = 0; i < 30; i++) {
    struct asf_shape shape = {(least + most) / 2, negatives};
    double seen, share;
    besom__asf_seen(&shape, queries, &seen, &share);
    if (seen > keys) /* the more skewed, the fewer */
      least = shape.skew;
    else
      most = shape.skew;
  }
  return (least + most) / 2;
}

/* ------------------------------------------------------------------ layers */

#define STEPS_SEEN 20
#define STEPS_LEFT 8
#define STEPS_SECOND 10
#define MOST_LEFT 0.7 /* to other layers than the first; a half of it is looked at first */
#define CLOSEST 0.03  /* steps between plans that are told apart */

/* Three numbers tell a plan apart from others; the third layer gets what the two before it leave. */
struct point {
  double seen;   /* what is waited for: 2^-seen of the life, or of all keys */
  double left;   /* the root of the share of all bits that is not the first layer's */
  double second; /* 2^-second is the second layer's rate */
};

struct search {
  const struct asf_wishes *w;
  struct layer_prices prices;
  struct groups groups;
  double total;       /* bits a member */
  bool first_fixed;   /* its size is: then left does not change */
  double seen;        /* the one that the next three are for */
  double queries;     /* until the second layer is full; */
  double keys, share; /* that will have come by then, and their share of the queries */
  struct point at;    /* the best so far, */
  struct asf_plan best;
  double least; /* and its cost */
};

static void look_at_seen(struct search *s, double seen) {
  if (seen == s->seen) return;
  s->seen = seen;
  if (s->w->life > 0) {
    s->queries = s->w->life * exp2(-seen);
    seen_by(&s->groups, s->queries, &s->keys, &s->share);
  } else {
    s->keys = s->w->shape.negatives * exp2(-seen);
    s->share = share_of_first(&s->groups, s->keys);
  }
}

/* The stack at a point. False if there is none. */
static bool plan_at(struct search *s, const struct point *at, struct asf_plan *p) {
  if (at->seen < 0 || at->left < 0 || at->left * at->left > MOST_LEFT || at->second < CLOSEST)
    return false;
  look_at_seen(s, at->seen);
  p->bits = s->total * (1 - at->left * at->left);
  double first = exp2(-besom__layer_log_rate(&s->prices, p->bits)), second = exp2(-at->second);
  p->learn = s->keys * first;
  double rest =
      s->total - p->bits - p->learn / s->w->members * besom__layer_bits(&s->prices, at->second);
  if (rest < 0 || p->learn < 1) return false;
  double third = exp2(-besom__layer_log_rate(&s->prices, rest / second));
  p->stack = (struct stack){ASF_LAYERS, {first, second, third}};
  p->share = s->share;
  p->expected = besom__stack_rate(&p->stack, s->share);
  return true;
}

/* In a life, the time until the second layer is full counts too: the first one answers alone. */
static bool try_point(struct search *s, struct point at) {
  struct asf_plan p;
  if (!plan_at(s, &at, &p)) return false;
  double waiting = s->w->life > 0 ? s->queries / s->w->life : 0;
  double cost = waiting * p.stack.rates[0] + (1 - waiting) * p.expected;
  if (cost >= s->least) return false;
  s->least = cost;
  s->best = p;
  s->at = at;
  return true;
}

static void try_grid(struct search *s, double left) {
  for (int seen = 0; seen < STEPS_SEEN; seen++)
    for (int second = 1; second <= STEPS_SECOND; second++)
      if (s->first_fixed)
        try_point(s, (struct point){seen + 0.5, left, second});
      else
        for (int i = 1; i <= STEPS_LEFT; i++)
          try_point(s, (struct point){seen + 0.5, sqrt(MOST_LEFT / 2) * i / STEPS_LEFT, second});
}

static bool try_beside(struct search *s, struct point by) {
  struct point more = {s->at.seen + by.seen, s->at.left + by.left, s->at.second + by.second};
  struct point less = {s->at.seen - by.seen, s->at.left - by.left, s->at.second - by.second};
  return try_point(s, more) || try_point(s, less);
}

/* From the best of the grid on, each number by itself, in ever smaller steps. */
static void try_closely(struct search *s) {
  for (double step = 0.5; step > CLOSEST; step /= 2)
    for (bool again = true; again;) {
      again = try_beside(s, (struct point){step, 0, 0});
      again = try_beside(s, (struct point){0, 0, step}) || again;
      if (!s->first_fixed) again |= try_beside(s, (struct point){0, 0.1 * step, 0});
    }
}

/* The first layer and no others. */
static struct asf_plan plan_of_one(const struct search *s, double bits) {
  double rate = exp2(-besom__layer_log_rate(&s->prices, bits));
  return (struct asf_plan){
      .stack = besom__stack_of_equals(1, rate), .bits = bits, .expected = rate};
}

struct asf_plan besom__asf_plan(const struct asf_wishes *w) {
  struct search s = {.w = w, .total = w->bits, .first_fixed = w->bits == 0, .seen = -1};
  double left = 0;
  besom__layer_prices(w->kind, w->members, &s.prices);
  if (s.first_fixed) {
    s.total = besom__layer_bits(&s.prices, -log2(w->fpr)) * (1 + w->room);
    left = sqrt(w->room / (1 + w->room));
  }
  struct asf_plan one = plan_of_one(&s, s.total * (1 - left * left));
  s.least = 0.999 * one.expected; /* what is no better than that is not worth it */
  make_groups(&w->shape, &s.groups);
  try_grid(&s, left);
  if (s.best.learn == 0) return one;
  try_closely(&s);
  return s.best;
}
