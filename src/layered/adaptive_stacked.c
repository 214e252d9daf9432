/*
 * adaptive-stacked: a stack of three Bloom filters that learns which keys to deny (Deeds,
 * Hentschel, Idreos: "Stacked Filters", 2021, section 6). The first layer holds the members; at
 * first it answers alone. Reported false positives are inserted into the second layer. When that is
 * full, one pass over the members inserts those that are false positives of the second layer into
 * the third. From then on, a key that passes the first two layers is a member only if the third
 * layer has it.
 *
 * The members come from a source that the caller binds. Each report reads a few thousand of them,
 * so that no call takes long. The layers in use do not change until a new layer is complete. The
 * third layer has every member that passes the second, so there are no false negatives. Without a
 * third layer the second is not queried.
 *
 * The filter counts its answers. If its false-positive rate is 1.5 times the expected one, the
 * frequent keys have changed: it drops the upper layers and learns them again. If that does not
 * help, the rank-frequency distribution differs from the assumed one: it estimates the skew from
 * what it learnt, and plans and builds the whole stack again. If that does not help, either, it
 * accepts the observed rate as the expected one. If the rate is below half of the expected one,
 * learning the same layers again could only make it worse: it builds the plan for the estimated
 * skew if that plan has a still lower rate, else it expects the low rate from then on.
 */
#include <math.h>
#include <stdatomic.h>

#include "core/memory.h"
#include "layered/asf_plan.h"
#include "layered/layer_chain.h"

#define DEFAULT_RESERVE 0.05
#define DEFAULT_SKEW 100        /* hundredths */
#define DEFAULT_NEGATIVES 100.0 /* per member */
#define DEFAULT_LIFETIME 100.0  /* queries per member */
#define MEMBERS_PER_STEP 4096
#define WINDOW 128.0 /* expected false positives per window; their standard deviation is a tenth */
#define TOO_MANY 1.5 /* observed / expected false positives: more is too many */
#define TOO_FEW 0.5  /* less is too few */
#define AS_EXPECTED 1.25 /* less is about as expected */
#define SAME_SKEW 0.1
#define SKEW_STEP 0.25
#define ROOM_FOR_INSERTS 64

enum { FIRST, SECOND, THIRD };

/* The purpose of a pass over the members. */
enum pass { NO_PASS, COUNT_THIRD, FILL_THIRD, FILL_FIRST };

/* What was done about an unexpected false-positive rate, since it was last as expected. */
enum remedy { NOTHING, RELEARNED, REPLANNED }; /* part of the file format */

struct asf {
  besom_filter head;
  struct asf_objective objective;
  struct asf_plan plan;             /* for this objective; learn = 0: one layer only */
  double expected_fpr;              /* with all members inserted: as planned, or as observed */
  besom_filter *layers[ASF_LAYERS]; /* the third only if the second is full */
  uint64_t reports;                 /* while the second layer was filled, repeated ones included */
  enum remedy remedy;

  besom_source members; /* if next is NULL, not bound */
  enum pass pass;
  bool pass_started;
  uint64_t due, passed;      /* members when this pass began; members read by it */
  uint64_t found;            /* members for the third layer among them */
  besom_filter *fresh;       /* the layer that is being filled */
  struct asf_objective next; /* if that is the first layer: its objective */

  _Atomic uint64_t denied; /* negative answers since the window began */
  uint64_t wrong;          /* reported false positives since then */
  double expected_now;     /* the expected rate with the members at that time */
  uint64_t relearned;      /* how often, since the filter was created or loaded */
};

static const struct asf *const_asf(const besom_filter *f) {
  return (const struct asf *)f;
}

static struct asf *asf(besom_filter *f) {
  return (struct asf *)f;
}

/* ------------------------------------------------------------------ queries */

/* The layers that are queried: all three, or the first alone if there is no third. */
static struct layer_chain in_use(const struct asf *a) {
  return (struct layer_chain){.layers = (besom_filter **)(uintptr_t)a->layers,
                              .n = a->layers[THIRD] ? ASF_LAYERS : 1,
                              .max = ASF_LAYERS,
                              .plain_first = true};
}

/*
 * Queries may run concurrently and the filter is const to them. A lost count only makes the
 * observed rate slightly less accurate.
 */
static void count_denied(const struct asf *a, uint64_t n) {
  _Atomic uint64_t *denied = (_Atomic uint64_t *)(uintptr_t)&a->denied;
  atomic_store_explicit(denied, atomic_load_explicit(denied, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

static bool has(const struct asf *a, besom_digest d) {
  const besom_filter *first = a->layers[FIRST];
  struct layer_chain stack = in_use(a);
  return first->kind->contains(first, d) && besom__layer_chain_answer(&stack, 1, d);
}

static bool second_has(const struct asf *a, besom_digest d) {
  return a->layers[SECOND]->kind->contains(a->layers[SECOND], layer_digest(d, SECOND));
}

static bool contains(const besom_filter *f, besom_digest d) {
  bool yes = has(const_asf(f), d);
  if (!yes) count_denied(const_asf(f), 1);
  return yes;
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct asf *a = const_asf(f);
  struct layer_chain stack = in_use(a);
  uint64_t yes = 0;
  besom__layer_chain_answer_many(&stack, d, n, bitmap);
  for (size_t i = 0; i < n; i += 64) yes += popcount(bitmap[i / 64]);
  count_denied(a, n - yes);
}

/* ------------------------------------------------------------------ create and destroy */

static besom_status read_workload(struct asf_objective *objective, const struct option *option) {
  uint64_t number;
  besom_status status = besom__option_number(option, &number);
  if (status != BESOM_OK) return status;
  if (besom__option_is(option, "skew")) {
    objective->workload.skew = (double)number / 100;
    return objective->workload.skew <= ASF_MAX_SKEW ? BESOM_OK : BESOM_BAD_OPTION;
  }
  if (!besom__option_is(option, "negatives") && !besom__option_is(option, "lifetime"))
    return BESOM_BAD_OPTION;
  if (number == 0 || number > MAX_CAPACITY) return BESOM_BAD_OPTION;
  *(besom__option_is(option, "lifetime") ? &objective->lifetime : &objective->workload.negatives) =
      (double)number;
  return BESOM_OK;
}

static besom_status read_options(const char *text, struct asf_objective *objective) {
  struct option option;
  besom_status status;
  bool final = false;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "objective")) {
      final = besom__option_says(&option, "final");
      if (!final && !besom__option_says(&option, "lifetime")) return BESOM_BAD_OPTION;
    } else if ((status = read_workload(objective, &option)) != BESOM_OK) {
      return status == BESOM_INVALID ? BESOM_BAD_OPTION : status;
    }
  }
  if (final) objective->lifetime = 0;
  return status == BESOM_END ? BESOM_OK : status;
}

/*
 * Creates a first layer as planned: with its part of the budget of bits, or with the target rate.
 */
static besom_status make_first(const besom_filter *f, const struct asf_plan *plan,
                               uint64_t capacity, besom_filter **out) {
  const struct asf_objective *objective = &const_asf(f)->objective;
  struct layer_kind base = {.kind = objective->kind};
  besom_config config = {.capacity = capacity};
  double head = 8.0 * (double)objective->kind->size / (double)capacity;
  if (objective->bits != 0)
    config.bits_per_key = plan->bits + head;
  else
    config.fpr = objective->fpr;
  return besom__layer_create(f, &base, &config, out);
}

static void make_plan(struct asf *a, const struct asf_objective *objective) {
  a->objective = *objective;
  a->plan = besom__asf_plan(objective);
  a->expected_fpr = a->plan.expected_fpr;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct asf *a = asf(f);
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double members = (double)most;
  a->objective =
      (struct asf_objective){.kind = besom__kind_named("bloom"),
                             .workload = {DEFAULT_SKEW / 100.0, DEFAULT_NEGATIVES * members},
                             .members = members,
                             .lifetime = DEFAULT_LIFETIME * members,
                             .fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR,
                             .reserve = config->reserve != 0 ? config->reserve : DEFAULT_RESERVE};
  besom_status status = read_options(config->options, &a->objective);
  if (status != BESOM_OK) return status;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  if (config->bits_per_key != 0) {
    double heads = 8.0 * (double)(sizeof *a + ASF_LAYERS * a->objective.kind->size);
    a->objective.bits = config->bits_per_key - heads / members;
    if (!(a->objective.bits > 0)) return BESOM_INVALID;
  }
  make_plan(a, &a->objective);
  f->capacity = most;
  return make_first(f, &a->plan, most, &a->layers[FIRST]);
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  const struct asf *m = const_asf(model);
  make_plan(asf(f), &m->objective);
  return besom_create_like(m->layers[FIRST], &asf(f)->layers[FIRST]);
}

static void end_pass(struct asf *a) {
  besom_free(a->fresh);
  a->fresh = NULL;
  a->pass = NO_PASS;
  a->pass_started = false;
}

static void destroy(besom_filter *f) {
  end_pass(asf(f));
  for (unsigned i = 0; i < ASF_LAYERS; i++) besom_free(asf(f)->layers[i]);
}

static besom_status bind_source(besom_filter *f, const besom_source *members) {
  struct asf *a = asf(f);
  end_pass(a); /* it read other members */
  a->members = members ? *members : (besom_source){0};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ adding and dropping layers */

/* Drops all layers but the first. */
static void drop_learned(struct asf *a) {
  end_pass(a);
  for (unsigned i = SECOND; i < ASF_LAYERS; i++) {
    besom_free(a->layers[i]);
    a->layers[i] = NULL;
  }
  a->reports = 0;
}

/* The rate of the first layer is lower than planned until all members are inserted. */
static double first_rate(const struct asf *a) {
  besom_statistics stats;
  besom_stats(a->layers[FIRST], &stats);
  return fmax(stats.expected_fpr, 0x1p-60);
}

/* The current rate of the first layer, relative to the planned one. */
static double relative_rate(const struct asf *a) {
  return first_rate(a) / a->plan.stack.rates[FIRST];
}

static void begin_window(struct asf *a) {
  atomic_store_explicit(&a->denied, 0, memory_order_relaxed);
  a->wrong = 0;
  a->expected_now = a->expected_fpr * relative_rate(a);
}

static bool second_is_full(const struct asf *a) {
  const besom_filter *second = a->layers[SECOND];
  return second && second->items >= second->capacity;
}

static besom_status make_upper(struct asf *a, unsigned i, double capacity, besom_filter **out) {
  struct layer_kind base = {.kind = a->objective.kind};
  besom_config config = {.capacity = capacity < MAX_CAPACITY ? (uint64_t)capacity : MAX_CAPACITY,
                         .fpr = a->plan.stack.rates[i]};
  return besom__layer_create(&a->head, &base, &config, out);
}

/* Drops the learned layers, and takes the new objective. */
static void adopt(struct asf *a, const struct asf_objective *objective) {
  drop_learned(a);
  make_plan(a, objective);
  a->remedy = REPLANNED;
  a->relearned++;
}

/* The members found, and the proportional part of the members that may still be inserted. */
static double third_capacity(const struct asf *a) {
  double grown = (double)a->head.capacity / fmax((double)a->head.items, 1);
  return (double)a->found * fmin(grown, 8) + ROOM_FOR_INSERTS;
}

/* ------------------------------------------------------------------ passes over the members */

static besom_status add_fresh(struct asf *a, besom_digest d) {
  return a->fresh->kind->insert(a->fresh, d);
}

/* Handles one member of a pass. Errors: FULL. */
static besom_status pass_member(struct asf *a, besom_digest d) {
  if (a->pass == FILL_FIRST) return add_fresh(a, d);
  if (!second_has(a, d)) return BESOM_OK;
  a->found++;
  return a->pass == FILL_THIRD ? add_fresh(a, layer_digest(d, THIRD)) : BESOM_OK;
}

static void begin_pass(struct asf *a, enum pass pass) {
  a->pass = pass;
  a->pass_started = false;
}

/*
 * All members have been read. With fewer members than the filter holds, there would be false
 * negatives.
 */
static besom_status finish_pass(struct asf *a) {
  if (a->passed < a->due) return BESOM_INVALID;
  if (a->pass == COUNT_THIRD) {
    besom_status status = make_upper(a, THIRD, third_capacity(a), &a->fresh);
    if (status == BESOM_OK) begin_pass(a, FILL_THIRD);
    return status;
  }
  if (a->pass == FILL_FIRST) {
    besom_filter *old = a->layers[FIRST];
    a->layers[FIRST] = a->fresh;
    a->fresh = old; /* end_pass frees it */
    a->head.items = a->layers[FIRST]->items;
    adopt(a, &a->next);
  } else {
    a->layers[THIRD] = a->fresh;
    a->fresh = NULL;
    end_pass(a);
  }
  begin_window(a);
  return BESOM_OK;
}

static besom_status start_reading(struct asf *a) {
  besom_status status = a->members.rewind(a->members.ctx);
  if (status != BESOM_OK) return status;
  a->pass_started = true;
  a->due = a->head.items;
  a->passed = a->found = 0;
  return BESOM_OK;
}

/* Reads some more members. On failure the caller ends the pass. */
static besom_status step(struct asf *a) {
  besom_status status = a->pass_started ? BESOM_OK : start_reading(a);
  for (unsigned i = 0; i < MEMBERS_PER_STEP && status == BESOM_OK; i++) {
    besom_bytes key;
    uint64_t weight = 1;
    status = a->members.next(a->members.ctx, &key, &weight);
    if (status == BESOM_END) return finish_pass(a);
    if (status == BESOM_OK && !key.data && key.len) status = BESOM_INVALID;
    if (status != BESOM_OK) break;
    a->passed++;
    status = pass_member(a, hash_bytes(&a->head.hasher, key.data, key.len));
  }
  return status;
}

/*
 * ------------------------------------------------------------------ monitoring the false-positive
 * rate
 */

/*
 * Estimates the skew from the number of reports that filled the second layer. If nothing was
 * learnt, because the plan was for a uniform workload, takes a skew with which something can be
 * learnt; the skew can be estimated after that.
 */
static struct asf_objective objective_from_reports(const struct asf *a) {
  struct asf_objective objective = a->objective;
  if (a->layers[SECOND]) {
    double rate = first_rate(a), learnt = (double)a->layers[SECOND]->items;
    objective.workload.skew =
        besom__asf_skew(objective.workload.negatives, (double)a->reports / rate, learnt / rate);
    return objective;
  }
  while (objective.workload.skew < ASF_MAX_SKEW && besom__asf_plan(&objective).learn == 0)
    objective.workload.skew = fmin(objective.workload.skew + SKEW_STEP, ASF_MAX_SKEW);
  return objective;
}

/* If the plan needs another first layer, the filter goes on unchanged until that is filled. */
static besom_status build_anew(struct asf *a, const struct asf_objective *objective,
                               const struct asf_plan *plan) {
  if (objective->bits == 0 || fabs(plan->bits - a->plan.bits) < 0.01 * objective->bits) {
    adopt(a, objective);
    return BESOM_OK;
  }
  besom_status status = make_first(&a->head, plan, a->head.capacity, &a->fresh);
  if (status != BESOM_OK) return status;
  a->next = *objective;
  begin_pass(a, FILL_FIRST);
  return BESOM_OK;
}

/*
 * Plans with the estimated skew. Accepts the observed rate as the expected one if that was tried
 * before, if the skew is about the same, or if the plan has no lower rate.
 */
static besom_status replan(struct asf *a, double observed) {
  struct asf_objective objective = objective_from_reports(a);
  struct asf_plan plan = besom__asf_plan(&objective);
  bool another = fabs(objective.workload.skew - a->objective.workload.skew) > SAME_SKEW &&
                 (plan.learn > 0 || a->plan.learn > 0);
  if (another && a->remedy != REPLANNED && plan.expected_fpr * relative_rate(a) < observed)
    return build_anew(a, &objective, &plan);
  a->expected_fpr = fmin(observed / relative_rate(a), 1);
  a->remedy = NOTHING;
  return BESOM_OK;
}

static besom_status too_many(struct asf *a, double observed) {
  if (a->plan.learn == 0 || a->remedy != NOTHING) return replan(a, observed);
  drop_learned(a);
  a->remedy = RELEARNED;
  a->relearned++;
  return BESOM_OK;
}

/*
 * Counts one more false positive of a complete stack. Acts as soon as there are too many for a
 * window, or at the end of the window. Members inserted since the window began raise the rate; then
 * a new window begins.
 */
static besom_status check_rate(struct asf *a) {
  if (a->expected_now == 0) begin_window(a);
  double denied = (double)atomic_load_explicit(&a->denied, memory_order_relaxed),
         wrong = (double)a->wrong + 1;
  double due = a->expected_now * (denied + wrong), observed = wrong / (denied + wrong);
  bool many = wrong > TOO_MANY * WINDOW && wrong > TOO_MANY * due,
       few = due >= WINDOW && wrong < TOO_FEW * due;
  bool grown = many && a->expected_fpr * relative_rate(a) > 1.1 * a->expected_now;
  besom_status status = BESOM_OK;
  if (many && !grown)
    status = too_many(a, observed);
  else if (few) /* learning again could only be worse; some of it may be chance */
    status = replan(a, observed * (1 + 2 / sqrt(wrong)));
  else if (due >= WINDOW && wrong < AS_EXPECTED * due)
    a->remedy = NOTHING; /* above that, only chance kept it below TOO_MANY */
  if (status != BESOM_OK) return status;
  a->wrong++;
  if (many || due >= WINDOW) begin_window(a);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ changes */

/* Adds one more key to the second layer. */
static besom_status learn(struct asf *a, besom_digest d) {
  if (!a->layers[SECOND]) {
    besom_status status =
        make_upper(a, SECOND, ceil(a->plan.learn * relative_rate(a)), &a->layers[SECOND]);
    if (status != BESOM_OK) return status;
  }
  besom_filter *second = a->layers[SECOND];
  besom_status status = second->kind->insert(second, layer_digest(d, SECOND));
  if (status == BESOM_OK) a->reports++;
  return status;
}

static besom_status adapt(besom_filter *f, besom_digest d) {
  struct asf *a = asf(f);
  if (!has(a, d)) return BESOM_OK;
  if (!a->members.next) return BESOM_NEEDS_STORE;
  if (a->pass == NO_PASS && (a->layers[THIRD] || a->plan.learn == 0)) return check_rate(a);
  if (a->pass == NO_PASS && !second_is_full(a)) return learn(a, d);
  if (a->pass == NO_PASS) begin_pass(a, COUNT_THIRD);
  besom_status status = step(a);
  if (status == BESOM_OK) return BESOM_OK;
  end_pass(a);
  return status;
}

/*
 * If the layer being filled, or the third layer, has no room for a member, that is not an error:
 * the layer is dropped and learnt again.
 */
static void insert_upper(struct asf *a, besom_digest d) {
  if (a->pass != NO_PASS && a->pass != COUNT_THIRD && pass_member(a, d) != BESOM_OK) end_pass(a);
  if (!a->layers[THIRD] || !second_has(a, d)) return;
  besom_filter *third = a->layers[THIRD];
  if (third->kind->insert(third, layer_digest(d, THIRD)) != BESOM_OK) drop_learned(a);
}

static besom_status insert(besom_filter *f, besom_digest d) {
  struct asf *a = asf(f);
  besom_status status = a->layers[FIRST]->kind->insert(a->layers[FIRST], d);
  f->items = a->layers[FIRST]->items;
  if (status == BESOM_OK) insert_upper(a, d);
  return status;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  struct asf *a = asf(f);
  besom_status status = a->layers[FIRST]->kind->insert_many(a->layers[FIRST], d, n, done);
  f->items = a->layers[FIRST]->items;
  for (size_t i = 0; i < *done; i++) insert_upper(a, d[i]);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* A second layer without a third is not queried, but uses memory. */
static void stats(const besom_filter *f, struct stats_out *out) {
  const struct asf *a = const_asf(f);
  const besom_filter *second = a->layers[SECOND];
  struct layer_chain stack = in_use(a);
  besom__layer_chain_stats(&stack, out);
  besom__add_counter(out, "rebuilds", a->relearned);
  besom__add_counter(out, "exceptions", second ? second->items : 0);
  if (!second) return;
  out->common.reserve_used = (double)second->items / (double)second->capacity;
  if (!a->layers[THIRD]) besom__layer_stats(second, out);
}

static const besom_filter *layer(const besom_filter *f, size_t i) {
  return i < ASF_LAYERS ? const_asf(f)->layers[i] : NULL;
}

static const char *validate(const besom_filter *f) {
  const struct asf *a = const_asf(f);
  for (unsigned i = 0; i < ASF_LAYERS && a->layers[i]; i++) {
    const char *wrong = a->layers[i]->kind->validate(a->layers[i]);
    if (wrong) return wrong;
  }
  if (f->items != a->layers[FIRST]->items || f->capacity != a->layers[FIRST]->capacity)
    return "the numbers of keys differ from those of the first layer";
  return a->layers[THIRD] && !second_is_full(a)
             ? "there is a third layer, but the second is not full"
             : NULL;
}

/* ------------------------------------------------------------------ files */

/* The plan is not saved: it follows from the objective. */
static void save(const besom_filter *f, struct sections_out *out) {
  const struct asf *a = const_asf(f);
  const struct asf_objective *objective = &a->objective;
  bool as_planned = a->expected_fpr == a->plan.expected_fpr;
  const double numbers[] = {objective->workload.skew,
                            objective->workload.negatives,
                            objective->lifetime,
                            objective->bits,
                            objective->fpr,
                            objective->reserve,
                            as_planned ? 0 : a->expected_fpr};
  unsigned layers = 0;
  while (layers < ASF_LAYERS && a->layers[layers]) layers++;
  besom__write_u64(&out->parameters, layers);
  besom__write_u64(&out->parameters, a->remedy);
  besom__write_u64(&out->parameters, a->reports);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    besom__write_double(&out->parameters, numbers[i]);
  for (unsigned i = 0; i < layers; i++) besom__layer_save(a->layers[i], out);
}

/* False for NaN, and for -0, so that zero has one encoding. */
static bool within(double x, double low, double high) {
  return x >= low && x <= high && !signbit(x);
}

static bool objective_in_range(const struct asf_objective *objective) {
  return within(objective->workload.skew, 0, ASF_MAX_SKEW) &&
         within(objective->workload.negatives, 1, 0x1p52) &&
         within(objective->lifetime, 0, 0x1p52) && within(objective->bits, 0, 1024) &&
         within(objective->fpr, 0x1p-1074, 1) && within(objective->reserve, 0x1p-1074, 0.5);
}

static besom_status load_objective(struct asf *a, struct byte_reader *r) {
  struct asf_objective objective = {.kind = besom__kind_named("bloom"),
                                    .members = (double)a->head.capacity};
  double expected_fpr;
  double *const numbers[] = {&objective.workload.skew,
                             &objective.workload.negatives,
                             &objective.lifetime,
                             &objective.bits,
                             &objective.fpr,
                             &objective.reserve,
                             &expected_fpr};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = besom__read_double(r);
  if (a->head.capacity == 0 || !objective_in_range(&objective) || !within(expected_fpr, 0, 1))
    return BESOM_CORRUPT;
  make_plan(a, &objective);
  if (expected_fpr == a->expected_fpr) return BESOM_CORRUPT; /* save would have left it out */
  if (expected_fpr > 0) a->expected_fpr = expected_fpr;
  return BESOM_OK;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct asf *a = asf(f);
  uint64_t layers = besom__read_u64(&in->parameters), done = besom__read_u64(&in->parameters);
  a->reports = besom__read_u64(&in->parameters);
  besom_status status = load_objective(a, &in->parameters);
  if (status != BESOM_OK) return status;
  if (layers == 0 || layers > ASF_LAYERS || done > REPLANNED) return BESOM_CORRUPT;
  a->remedy = (enum remedy)done;
  for (unsigned i = 0; i < layers && status == BESOM_OK; i++) {
    status = besom__layer_load(f, in, &a->layers[i]);
    if (status == BESOM_OK && a->layers[i]->kind != a->objective.kind) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) destroy(f);
  return status;
}

const struct besom_kind besom__adaptive_stacked = {
    .info = {"adaptive-stacked",
             "stack of Bloom filters that learns frequent false positives; needs a source of its "
             "members",
             BESOM_CAN_INSERT | BESOM_CAN_ADAPT},
    .size = sizeof(struct asf),
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .adapt = adapt,
    .bind_source = bind_source,
    .stats = stats,
    .layer = layer,
    .validate = validate,
    .save = save,
    .load = load,
};
