#include "layered/asf_plan.h"

#include <math.h>

#define LN2 0.693147180559945309417
#define LEAST_RATE 0x1p-40
#define SINGLE_RANKS 16 /* the most popular keys are looked at one by one, the others in groups */
#define GROUP_GROWTH 1.25
#define MAX_GROUPS 256 /* enough for 2^64 keys */
#define STEPS_SEEN 40
#define STEPS_FIRST 24 /* of the memory that the first layer leaves to the others, */
#define MOST_LEFT 0.5  /* from none to this share of all, in steps that grow */
#define STEPS_SECOND 20

static double bits_at(double rate) {
  return -log2(rate) / LN2;
}

static double rate_at(double bits) {
  return fmax(exp2(-LN2 * bits), LEAST_RATE);
}

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
  for (unsigned i = 0; i < g->n && keys > 0; keys -= g->keys[i++]) share += fmin(keys, g->keys[i]) * g->each[i];
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

double besom__asf_rate(const double rates[ASF_LAYERS], double share) {
  double frequent = rates[0] * rates[2];
  double other = rates[0] * (1 - rates[1] + rates[1] * rates[2]);
  return share * frequent + (1 - share) * other;
}

/* How many queries are waited for (in a life), what is known then, and the memory there is. */
struct search {
  const struct asf_wishes *w;
  double total; /* bits a member */
  double queries, keys, share;
  struct asf_plan best;
  double least; /* what the best one costs */
};

/* The third layer gets what the two others leave. */
static void try_layers(struct search *s, double first_bits, double second_rate) {
  const struct asf_wishes *w = s->w;
  struct asf_plan p = {.bits = first_bits, .share = s->share, .rates = {rate_at(first_bits), second_rate, 0}};
  p.learn = s->keys * p.rates[0];
  double left = s->total - first_bits - p.learn / w->members * bits_at(second_rate);
  if (left < 0 || p.learn < 1) return;
  p.rates[2] = rate_at(left / second_rate);
  p.expected = besom__asf_rate(p.rates, s->share);
  double cost = w->life > 0 ? (s->queries * p.rates[0] + (w->life - s->queries) * p.expected) / w->life : p.expected;
  if (cost >= s->least) return;
  s->least = cost;
  s->best = p;
}

static void try_all_layers(struct search *s) {
  bool first_is_fixed = s->w->bits == 0;
  double first = first_is_fixed ? s->total / (1 + s->w->room) : s->total;
  for (int i = 0; i < (first_is_fixed ? 1 : STEPS_FIRST); i++)
    for (int k = 1; k <= STEPS_SECOND; k++) {
      double left = MOST_LEFT * i * i / (STEPS_FIRST * STEPS_FIRST);
      try_layers(s, first * (1 - left), exp2(-k / 2.0));
    }
}

/* The first layer and no others. */
static struct asf_plan plan_of_one(const struct asf_wishes *w, double total) {
  double bits = w->bits != 0 ? total : total / (1 + w->room);
  return (struct asf_plan){.bits = bits, .rates = {rate_at(bits), 0, 0}, .expected = rate_at(bits)};
}

struct asf_plan besom__asf_plan(const struct asf_wishes *w) {
  struct groups g;
  struct search s = {.w = w, .total = w->bits != 0 ? w->bits : bits_at(w->rate) * (1 + w->room), .least = INFINITY};
  make_groups(&w->shape, &g);
  for (int i = 1; i <= STEPS_SEEN; i++) {
    if (w->life > 0) {
      s.queries = w->life * exp2(-i / 2.0);
      seen_by(&g, s.queries, &s.keys, &s.share);
    } else {
      s.keys = w->shape.negatives * exp2((1 - i) / 1.5);
      s.share = share_of_first(&g, s.keys);
    }
    try_all_layers(&s);
  }
  struct asf_plan one = plan_of_one(w, s.total);
  return s.least < one.expected ? s.best : one;
}
