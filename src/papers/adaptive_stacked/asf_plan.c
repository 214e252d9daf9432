#include "papers/adaptive_stacked/asf_plan.h"

#include <math.h>
#include <string.h>

#define SINGLE_RANKS 16 /* the most frequent keys are handled one by one, the others in groups */
#define GROUP_GROWTH 1.25
#define MAX_GROUPS 256 /* enough for 2^64 keys */
#define ENDLESS 0x1p60 /* keys: so many that none is queried twice */

/* ------------------------------------------------------------------ rank-frequency distribution */

/* Groups of keys with about the same frequency, the most frequent first. */
struct groups {
  unsigned n;
  double keys[MAX_GROUPS];
  double each[MAX_GROUPS]; /* share of the queries per key of the group */
  double rest[MAX_GROUPS]; /* log(1 - each), which the search needs many times */
};

/* The integral of x^-skew from 1 to x. */
static double area_to(double skew, double x) {
  double e = (1 - skew) * log(x);
  return fabs(e) > 1e-9 ? log(x) * expm1(e) / e : log(x);
}

static void zipf_groups(const struct rank_workload *workload, struct groups *g) {
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

static void copy_groups(const struct measured_ranks *measured, struct groups *g) {
  g->n = (unsigned)measured->n;
  memcpy(g->keys, measured->keys, sizeof measured->keys);
  memcpy(g->each, measured->each, sizeof measured->each);
}

static void make_groups(const struct rank_workload *workload, struct groups *g) {
  if (workload->measured)
    copy_groups(workload->measured, g);
  else
    zipf_groups(workload, g);
  for (unsigned i = 0; i < g->n; i++) g->rest[i] = g->each[i] < 1 ? log1p(-g->each[i]) : 0;
}

/* The ranks at which groups end grow by a factor, so that all keys of the sample fit. */
void besom__measure_ranks(const struct rank_frequency *frequencies, struct measured_ranks *out) {
  struct rank_walk walk = besom__rank_walk_start(frequencies);
  double growth = pow((double)frequencies->n_keys + 1, 1.0 / (MEASURED_GROUPS - 2));
  *out = (struct measured_ranks){0};
  for (double end = 1; out->n + 1 < MEASURED_GROUPS; end *= growth) {
    double keys = walk.keys, share = walk.share;
    besom__rank_walk_by_keys(&walk, fmax(ceil(end) - keys, 1));
    if (walk.keys == keys) break;
    out->keys[out->n] = walk.keys - keys;
    out->each[out->n++] = fmax(walk.share - share, 0) / (walk.keys - keys);
  }
  /* every query for a key outside of the sample is for another one */
  double unseen = besom__rank_frequency_unseen(frequencies);
  if (unseen > 0) {
    out->keys[out->n] = unseen * ENDLESS;
    out->each[out->n++] = 1 / ENDLESS;
  }
}

bool besom__measured_ranks_valid(const struct measured_ranks *ranks) {
  double sum = 0;
  if (ranks->n == 0 || ranks->n > MEASURED_GROUPS) return false;
  for (uint64_t i = 0; i < ranks->n; i++) {
    if (!(ranks->keys[i] > 0 && ranks->keys[i] <= ENDLESS)) return false;
    if (!(ranks->each[i] >= 0 && ranks->each[i] <= 1) || signbit(ranks->each[i])) return false;
    sum += ranks->keys[i] * ranks->each[i];
  }
  return sum > 0.5 && sum < 1.5;
}

/*
 * E[N_f] and E[psi] of the paper: a key with share f has been queried with probability 1 - (1 -
 * f)^queries.
 */
static void seen_by(const struct groups *g, double queries, double *keys, double *share) {
  *keys = *share = 0;
  for (unsigned i = 0; i < g->n; i++) {
    double seen = g->each[i] < 1 ? -expm1(queries * g->rest[i]) : 1;
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

void besom__asf_seen(const struct rank_workload *workload, double queries, double *keys,
                     double *share) {
  struct groups g;
  make_groups(workload, &g);
  seen_by(&g, queries, keys, share);
}

double besom__asf_skew(double negatives, double queries, double keys) {
  double low = 0, high = ASF_MAX_SKEW;
  for (int i = 0; i < 30; i++) {
    struct rank_workload workload = {.skew = (low + high) / 2, .negatives = negatives};
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
#define MIN_STEP 0.01 /* the smallest step of the search */

/*
 * A key that is queried first after a part of the time is denied after this many times that part:
 * the layers are extended in passes, of which each waits for some reports.
 */
#define LAG 1.2

/* Against an adversary the first layer matters less. */
#define WORST_IF_WIDEST 1.5

/* Layers beyond the third hold what the third could not deny: a small part, at this rate. */
#define DEEPER_PART (1.0 / 32)
#define DEEPER_MIN 16.0
#define DEEPER_LOG_RATE 6.0

double besom__asf_learned(const struct asf_plan *plan, unsigned i) {
  double keys = plan->learn;
  for (; i > 1; i -= 2) keys = fmax(DEEPER_PART * keys, DEEPER_MIN);
  return ceil(keys);
}

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
  double max_first;   /* the highest rate of the first layer */
  double max_left;    /* of the grid */
  bool first_fixed;   /* the size of the first layer is given, so left does not change */
  double seen;        /* the value for which the next fields are computed */
  double queries;     /* until the second layer is full */
  double keys, share; /* keys queried by then, and their share of the queries */
  double undenied;    /* queries by then for keys that are not denied yet */
  struct point at;    /* the best point so far */
  struct asf_plan best;
  double best_value; /* its objective value */
};

static void set_seen(struct search *s, double seen) {
  double early_keys, early_share;
  if (seen == s->seen) return;
  s->seen = seen;
  if (s->objective->lifetime > 0) {
    s->queries = s->objective->lifetime * exp2(-seen);
    seen_by(&s->groups, s->queries, &s->keys, &s->share);
    /* a query for a key that is not denied yet is the first one for it, but for the lag */
    seen_by(&s->groups, s->queries / LAG, &early_keys, &early_share);
    s->undenied = s->objective->published ? s->queries : fmin(LAG * early_keys, s->queries);
  } else {
    s->keys = s->objective->workload.negatives * exp2(-seen);
    s->share = share_of_first(&s->groups, s->keys);
  }
}

/* Bits per member of a layer of so many keys per member. */
static double layer_bits(const struct search *s, double keys, double log_rate) {
  return keys * besom__layer_bits_per_key(&s->costs, log_rate) *
         besom__layer_size_factor(&s->costs, keys, s->objective->members);
}

/* Bits per member of the layers beyond the third. Adds their rates to the stack. */
static double deeper_bits(const struct search *s, struct asf_plan *p, double members) {
  double bits = 0, copies = s->objective->published ? 1 : 2;
  for (unsigned i = 3; i < s->objective->layers; i++) {
    p->stack.rates[i] = exp2(-DEEPER_LOG_RATE);
    p->stack.layers = i + 1;
    if (i % 2) {
      double keys = besom__asf_learned(p, i) / s->objective->members;
      bits += copies * layer_bits(s, keys, DEEPER_LOG_RATE);
      members *= p->stack.rates[i];
    } else {
      bits += layer_bits(s, members, DEEPER_LOG_RATE);
    }
  }
  return bits;
}

/* The plan at a point. False if there is none. */
static bool plan_at(struct search *s, const struct point *at, struct asf_plan *p) {
  double copies = s->objective->published ? 1 : 2;
  if (at->seen < 0 || at->left < 0 || at->left * at->left > MAX_LEFT || at->second < MIN_STEP)
    return false;
  set_seen(s, at->seen);
  p->bits = s->total * (1 - at->left * at->left);
  double first = exp2(-besom__layer_log_rate(&s->costs, p->bits)), second = exp2(-at->second);
  p->learn = s->keys * first;
  if (p->learn < 1 || first > s->max_first) return false;
  p->stack = (struct stack){3, {first, second, 1}};
  double rest = s->total - p->bits - deeper_bits(s, p, second) -
                copies * layer_bits(s, p->learn / s->objective->members, at->second);
  if (rest < 0) return false;
  double factor = besom__layer_size_factor(&s->costs, second, s->objective->members);
  p->stack.rates[2] = exp2(-besom__layer_log_rate(&s->costs, rest / (second * factor)));
  bool limited = s->objective->layers > 3 || s->objective->widest;
  if (limited && p->stack.rates[2] > DEEPER_PART) return false;
  p->share = s->share;
  p->expected_fpr = besom__stack_fpr(&p->stack, s->share);
  return true;
}

/*
 * The objective value of a plan: the false-positive rate over the lifetime. Until the second layer
 * is full, keys that are not denied yet have the rate of the first layer. Layers beyond the third
 * are for an adversary: what they learn was reported too often before, so they do not count.
 */
static double asf_plan_value_of(const struct search *s, const struct asf_plan *p) {
  double lifetime = s->objective->lifetime;
  struct stack three = p->stack;
  three.layers = 3;
  if (s->objective->widest) return -p->learn / p->stack.rates[0];
  double complete = besom__stack_fpr(&three, s->share), denied = s->queries - s->undenied;
  if (lifetime == 0) return complete;
  return (s->undenied * p->stack.rates[0] + denied * besom__stack_fpr_frequent(&three) +
          (lifetime - s->queries) * complete) /
         lifetime;
}

/* Keeps the point if it is the best so far. */
static bool try_point(struct search *s, struct point at) {
  struct asf_plan p;
  if (!plan_at(s, &at, &p)) return false;
  p.value = asf_plan_value_of(s, &p);
  if (p.value >= s->best_value) return false;
  s->best_value = p.value;
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
          try_point(s, (struct point){seen + 0.5, s->max_left * i / STEPS_LEFT, second});
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
      .stack = besom__stack_of_equals(1, rate), .bits = bits, .expected_fpr = rate, .value = rate};
}

struct asf_plan besom__asf_plan(const struct asf_objective *objective) {
  struct search s = {.objective = objective,
                     .total = objective->bits,
                     .max_first = 1,
                     .max_left = sqrt(MAX_LEFT / 2),
                     .first_fixed = objective->bits == 0,
                     .seen = -1};
  double left = 0;
  besom__layer_costs(objective->kind, objective->members, &s.costs);
  if (s.first_fixed) {
    s.total = besom__layer_bits_per_key(&s.costs, -log2(objective->fpr)) * (1 + objective->reserve);
    left = sqrt(objective->reserve / (1 + objective->reserve));
  }
  struct asf_plan one = plan_of_one(&s, s.total * (1 - left * left));
  if (!s.first_fixed && !objective->published) {
    /* with whole bits, the next size of the first layer doubles its rate */
    double worst = s.costs.whole_bits ? 2.1 : objective->widest ? WORST_IF_WIDEST : ASF_WORST;
    s.max_first = worst * one.expected_fpr;
    double least = besom__layer_bits_per_key(&s.costs, -log2(s.max_first));
    s.max_left = sqrt(fmax(1 - least / s.total, 0));
  }
  /* a smaller improvement does not justify more layers */
  s.best_value = objective->widest ? 0 : 0.999 * one.expected_fpr;
  make_groups(&objective->workload, &s.groups);
  try_grid(&s, left);
  if (s.best.learn == 0) return one;
  try_closely(&s);
  return s.best;
}
