#include "layered/asf_plan.h"

#include <math.h>

#define SINGLE_RANKS 16 /* the most frequent keys are handled one by one, the others in groups */
#define GROUP_GROWTH 1.25
#define MAX_GROUPS 256 /* enough for 2^64 keys */

/* ------------------------------------------------------------------ rank-frequency distribution */

/* Groups of keys with about the same frequency, the most frequent first. */
struct groups {
  unsigned n;
  double keys[MAX_GROUPS];
  double each[MAX_GROUPS]; /* share of the queries per key of the group */
};

/* The integral of x^-skew from 1 to x. */
static double area_to(double skew, double x) {
  double e = (1 - skew) * log(x);
  return fabs(e) > 1e-9 ? log(x) * expm1(e) / e : log(x);
}

static void make_groups(const struct zipf_workload *workload, struct groups *g) {
  double total = 0;
  g->n = 0;
  for (double rank = 1, next; rank <= workload->negatives && g->n < MAX_GROUPS;
       rank = next, g->n++) {
    bool single = rank <= SINGLE_RANKS;
    next = single ? rank + 1 : fmin(ceil(rank * GROUP_GROWTH), floor(workload->negatives) + 1);
    g->keys[g->n] = next - rank;
    double area = area_to(workload->skew, next - 0.5) - area_to(workload->skew, rank - 0.5);
    g->each[g->n] = single ? pow(rank, -workload->skew) : area / (next - rank);
    total += g->keys[g->n] * g->each[g->n];
  }
  for (unsigned i = 0; i < g->n; i++) g->each[i] /= total;
}

/*
 * E[N_f] and E[psi] of the paper: a key with share f has been queried with probability 1 - (1 -
 * f)^queries.
 */
static void seen_by(const struct groups *g, double queries, double *keys, double *share) {
  *keys = *share = 0;
  for (unsigned i = 0; i < g->n; i++) {
    double seen = g->each[i] < 1 ? -expm1(queries * log1p(-g->each[i])) : 1;
    *keys += g->keys[i] * seen;
    *share += g->keys[i] * seen * g->each[i];
  }
}

/* The share of the queries for the most frequent keys. */
static double share_of_first(const struct groups *g, double keys) {
  double share = 0;
  for (unsigned i = 0; i < g->n && keys > 0; keys -= g->keys[i++])
    share += fmin(keys, g->keys[i]) * g->each[i];
  return share;
}

void besom__asf_seen(const struct zipf_workload *workload, double queries, double *keys,
                     double *share) {
  struct groups g;
  make_groups(workload, &g);
  seen_by(&g, queries, keys, share);
}

double besom__asf_skew(double negatives, double queries, double keys) {
  double low = 0, high = ASF_MAX_SKEW;
  for (int i = 0; i < 30; i++) {
    struct zipf_workload workload = {(low + high) / 2, negatives};
    double seen, share;
    besom__asf_seen(&workload, queries, &seen, &share);
    if (seen > keys) /* more skew means fewer distinct keys */
      low = workload.skew;
    else
      high = workload.skew;
  }
  return (low + high) / 2;
}

/* ------------------------------------------------------------------ search */

#define STEPS_SEEN 20
#define STEPS_LEFT 8
#define STEPS_SECOND 10
#define MAX_LEFT 0.7  /* for the layers after the first; the grid covers half of it */
#define MIN_STEP 0.03 /* the smallest step of the search */

/*
 * A plan is determined by three numbers. The third layer gets the memory that the first two leave.
 */
struct point {
  /* -log2 of the part of the lifetime, or of all keys, after which the second layer is full */
  double seen;
  double left;   /* square root of the share of all bits for the layers after the first */
  double second; /* -log2 of the rate of the second layer */
};

struct search {
  const struct asf_objective *objective;
  struct layer_costs costs;
  struct groups groups;
  double total;       /* bits per key */
  bool first_fixed;   /* the size of the first layer is given, so left does not change */
  double seen;        /* the value for which the next three fields are computed */
  double queries;     /* until the second layer is full */
  double keys, share; /* keys queried by then, and their share of the queries */
  struct point at;    /* the best point so far */
  struct asf_plan best;
  double best_value; /* its objective value */
};

static void set_seen(struct search *s, double seen) {
  if (seen == s->seen) return;
  s->seen = seen;
  if (s->objective->lifetime > 0) {
    s->queries = s->objective->lifetime * exp2(-seen);
    seen_by(&s->groups, s->queries, &s->keys, &s->share);
  } else {
    s->keys = s->objective->workload.negatives * exp2(-seen);
    s->share = share_of_first(&s->groups, s->keys);
  }
}

/* The plan at a point. False if there is none. */
static bool plan_at(struct search *s, const struct point *at, struct asf_plan *p) {
  if (at->seen < 0 || at->left < 0 || at->left * at->left > MAX_LEFT || at->second < MIN_STEP)
    return false;
  set_seen(s, at->seen);
  p->bits = s->total * (1 - at->left * at->left);
  double first = exp2(-besom__layer_log_rate(&s->costs, p->bits)), second = exp2(-at->second);
  p->learn = s->keys * first;
  double rest = s->total - p->bits -
                p->learn / s->objective->members * besom__layer_bits_per_key(&s->costs, at->second);
  if (rest < 0 || p->learn < 1) return false;
  double third = exp2(-besom__layer_log_rate(&s->costs, rest / second));
  p->stack = (struct stack){ASF_LAYERS, {first, second, third}};
  p->share = s->share;
  p->expected_fpr = besom__stack_fpr(&p->stack, s->share);
  return true;
}

/*
 * The objective value of a point: the false-positive rate over the lifetime. Until the second layer
 * is full, only the first layer answers. Keeps the point if it is the best so far.
 */
static bool try_point(struct search *s, struct point at) {
  struct asf_plan p;
  if (!plan_at(s, &at, &p)) return false;
  double waiting = s->objective->lifetime > 0 ? s->queries / s->objective->lifetime : 0;
  double value = waiting * p.stack.rates[0] + (1 - waiting) * p.expected_fpr;
  if (value >= s->best_value) return false;
  s->best_value = value;
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
          try_point(s, (struct point){seen + 0.5, sqrt(MAX_LEFT / 2) * i / STEPS_LEFT, second});
}

static bool try_beside(struct search *s, struct point by) {
  struct point more = {s->at.seen + by.seen, s->at.left + by.left, s->at.second + by.second};
  struct point less = {s->at.seen - by.seen, s->at.left - by.left, s->at.second - by.second};
  return try_point(s, more) || try_point(s, less);
}

/* Coordinate descent from the best point of the grid, in smaller and smaller steps. */
static void try_closely(struct search *s) {
  for (double step = 0.5; step > MIN_STEP; step /= 2)
    for (bool again = true; again;) {
      again = try_beside(s, (struct point){step, 0, 0});
      again = try_beside(s, (struct point){0, 0, step}) || again;
      if (!s->first_fixed) again |= try_beside(s, (struct point){0, 0.1 * step, 0});
    }
}

/* A plan with only the first layer. */
static struct asf_plan plan_of_one(const struct search *s, double bits) {
  double rate = exp2(-besom__layer_log_rate(&s->costs, bits));
  return (struct asf_plan){
      .stack = besom__stack_of_equals(1, rate), .bits = bits, .expected_fpr = rate};
}

struct asf_plan besom__asf_plan(const struct asf_objective *objective) {
  struct search s = {.objective = objective,
                     .total = objective->bits,
                     .first_fixed = objective->bits == 0,
                     .seen = -1};
  double left = 0;
  besom__layer_costs(objective->kind, objective->members, &s.costs);
  if (s.first_fixed) {
    s.total = besom__layer_bits_per_key(&s.costs, -log2(objective->fpr)) * (1 + objective->reserve);
    left = sqrt(objective->reserve / (1 + objective->reserve));
  }
  struct asf_plan one = plan_of_one(&s, s.total * (1 - left * left));
  s.best_value = 0.999 * one.expected_fpr; /* a smaller improvement does not justify more layers */
  make_groups(&objective->workload, &s.groups);
  try_grid(&s, left);
  if (s.best.learn == 0) return one;
  try_closely(&s);
  return s.best;
}
