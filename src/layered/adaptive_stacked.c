/*
 * adaptive-stacked: a stack of three Bloom filters that finds out by itself what it should deny (Deeds, Hentschel,
 * Idreos: "Stacked Filters", 2021, section 6). The first layer holds the members and answers alone at first. Reported
 * false positives go into the second. When that is full, the members are gone over once, and those that the second is
 * wrong about go into the third. From then on a key that the first two hold is a member only if the third has it.
 *
 * The members come from a source that the caller binds, some thousand at a report, so that no call takes long; the
 * layers in use are not touched until a new one is complete. The third layer has every member that the second
 * holds, so no member is ever denied; without a third layer the second has no say.
 *
 * The filter counts its answers. When it errs half as often again as it should, the popular keys have changed: the
 * upper layers are dropped and learnt anew. If that does not help, popularity is not what it was taken for: its
 * skew is estimated from what was learnt, and the whole stack is planned and built anew. If even that does not help,
 * the rate is taken for what it is. When it errs less than half as often as it should, the same layers learnt anew
 * could only be worse: what is planned for the estimated skew is built if it promises still less, else the low rate is
 * what is watched from then on.
 */
#include <math.h>
#include <stdatomic.h>

#include "core/memory.h"
#include "layered/alternating.h"
#include "layered/asf_plan.h"

#define DEFAULT_ADAPT_ROOM 0.05
#define DEFAULT_SKEW 100        /* hundredths */
#define DEFAULT_NEGATIVES 100.0 /* for each member */
#define DEFAULT_LIFE 100.0      /* queries for each member */
#define MEMBERS_A_STEP 4096
#define WINDOW \
  128.0 /* false positives that are expected while the rate is watched: a tenth of them is chance */
#define TOO_MANY 1.5 /* times as many as that, */
#define TOO_FEW 0.5  /* or as few, */
#define AS_MANY 1.25 /* or about as many */
#define SAME_SKEW 0.1
#define SKEW_STEP 0.25
#define ROOM_FOR_INSERTS 64

enum { FIRST, SECOND, THIRD };

/* What the members are gone over for. */
enum pass { NO_PASS, COUNT_THIRD, FILL_THIRD, FILL_FIRST };

/* What was done about a rate that is not as expected, since it was right. */
enum remedy { NOTHING, RELEARNT, REPLANNED }; /* numbers of the file format */

struct asf {
  besom_filter head;
  struct asf_wishes wishes;
  struct asf_plan plan; /* for these; learn = 0: more than one layer is not worth it */
  double expected; /* the rate that is right when all members are in: as planned, or as it is */
  besom_filter *layers[ASF_LAYERS]; /* the third only if the second is full */
  uint64_t reports;                 /* while the second layer was filled: repeated ones, too */
  enum remedy remedy;

  besom_source members; /* without next: not bound */
  enum pass pass;
  bool pass_started;
  uint64_t due, passed;   /* members when this pass began, and those that it has seen */
  uint64_t found;         /* among them those for the third layer */
  besom_filter *fresh;    /* the layer that is filled, */
  struct asf_wishes next; /* and, if it is the first, what for */

  _Atomic uint64_t denied; /* answers since the window began; those wrong, */
  uint64_t wrong;          /* as far as they were reported; */
  double rate_due;         /* and the rate that is right for the members it had then */
  uint64_t relearnt;       /* how often, since it was made or loaded */
};

static const struct asf *const_asf(const besom_filter *f) {
  return (const struct asf *)f;
}

static struct asf *asf(besom_filter *f) {
  return (struct asf *)f;
}

/* ------------------------------------------------------------------ queries */

/* The layers that have a say: until there is a third one, the first alone. */
static struct alternating in_use(const struct asf *a) {
  return (struct alternating){.layers = (besom_filter **)(uintptr_t)a->layers,
                              .n = a->layers[THIRD] ? ASF_LAYERS : 1,
                              .most = ASF_LAYERS,
                              .plain_first = true};
}

/* Questions may run side by side; a lost count costs a little foresight. The filter is const to who asks. */
static void count_denied(const struct asf *a, uint64_t n) {
  _Atomic uint64_t *denied = (_Atomic uint64_t *)(uintptr_t)&a->denied;
  atomic_store_explicit(denied, atomic_load_explicit(denied, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

static bool has(const struct asf *a, besom_digest d) {
  const besom_filter *first = a->layers[FIRST];
  struct alternating stack = in_use(a);
  return first->kind->contains(first, d) && besom__alternating_answer(&stack, 1, d);
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
  struct alternating stack = in_use(a);
  uint64_t yes = 0;
  besom__alternating_answer_many(&stack, d, n, bitmap);
  for (size_t i = 0; i < n; i += 64) yes += popcount(bitmap[i / 64]);
  count_denied(a, n - yes);
}

/* ------------------------------------------------------------------ life */

static besom_status read_shape(struct asf_wishes *w, const struct option *option) {
  uint64_t number;
  besom_status status = besom__option_number(option, &number);
  if (status != BESOM_OK) return status;
  if (besom__option_is(option, "skew")) {
    w->shape.skew = (double)number / 100;
    return w->shape.skew <= ASF_MOST_SKEW ? BESOM_OK : BESOM_BAD_OPTION;
  }
  if (!besom__option_is(option, "negatives") && !besom__option_is(option, "life"))
    return BESOM_BAD_OPTION;
  if (number == 0 || number > MAX_CAPACITY) return BESOM_BAD_OPTION;
  *(besom__option_is(option, "life") ? &w->life : &w->shape.negatives) = (double)number;
  return BESOM_OK;
}

static besom_status read_options(const char *text, struct asf_wishes *w) {
  struct option option;
  besom_status status;
  bool final = false;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    if (besom__option_is(&option, "mode")) {
      final = besom__option_says(&option, "final");
      if (!final && !besom__option_says(&option, "soon")) return BESOM_BAD_OPTION;
    } else if ((status = read_shape(w, &option)) != BESOM_OK) {
      return status == BESOM_INVALID ? BESOM_BAD_OPTION : status;
    }
  }
  if (final) w->life = 0;
  return status == BESOM_END ? BESOM_OK : status;
}

/* A first layer as planned; of a budget it gets its part, else it goes by the rate. */
static besom_status make_first(const besom_filter *f, const struct asf_plan *plan,
                               uint64_t capacity, besom_filter **out) {
  const struct asf_wishes *w = &const_asf(f)->wishes;
  struct inner_kind inner = {.kind = w->kind};
  besom_config config = {.capacity = capacity};
  double head = 8.0 * (double)w->kind->size / (double)capacity;
  if (w->bits != 0)
    config.bits = plan->bits + head;
  else
    config.fpr = w->fpr;
  return besom__inner_create(f, &inner, &config, out);
}

static void make_plan(struct asf *a, const struct asf_wishes *w) {
  a->wishes = *w;
  a->plan = besom__asf_plan(w);
  a->expected = a->plan.expected;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct asf *a = asf(f);
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double members = (double)most;
  a->wishes =
      (struct asf_wishes){.kind = besom__kind_named("bloom"),
                          .shape = {DEFAULT_SKEW / 100.0, DEFAULT_NEGATIVES * members},
                          .members = members,
                          .life = DEFAULT_LIFE * members,
                          .fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR,
                          .room = config->reserve != 0 ? config->reserve : DEFAULT_ADAPT_ROOM};
  besom_status status = read_options(config->options, &a->wishes);
  if (status != BESOM_OK) return status;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  if (config->bits != 0) {
    double heads = 8.0 * (double)(sizeof *a + ASF_LAYERS * a->wishes.kind->size);
    a->wishes.bits = config->bits - heads / members;
    if (!(a->wishes.bits > 0)) return BESOM_INVALID;
  }
  make_plan(a, &a->wishes);
  f->capacity = most;
  return make_first(f, &a->plan, most, &a->layers[FIRST]);
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  const struct asf *m = const_asf(model);
  make_plan(asf(f), &m->wishes);
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
  end_pass(a); /* it went over other members */
  a->members = members ? *members : (besom_source){0};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ layers come and go */

/* Back to one layer. */
static void forget(struct asf *a) {
  end_pass(a);
  for (unsigned i = SECOND; i < ASF_LAYERS; i++) {
    besom_free(a->layers[i]);
    a->layers[i] = NULL;
  }
  a->reports = 0;
}

/* The first layer errs less than planned as long as not all members are in. */
static double first_rate(const struct asf *a) {
  besom_statistics stats;
  besom_stats(a->layers[FIRST], &stats);
  return fmax(stats.expected_fpr, 0x1p-60);
}

/* As many times as right as the first layer is: the rate that is right now. */
static double share_of_rate(const struct asf *a) {
  return first_rate(a) / a->plan.stack.rates[FIRST];
}

static void begin_window(struct asf *a) {
  atomic_store_explicit(&a->denied, 0, memory_order_relaxed);
  a->wrong = 0;
  a->rate_due = a->expected * share_of_rate(a);
}

static bool second_is_full(const struct asf *a) {
  const besom_filter *second = a->layers[SECOND];
  return second && second->items >= second->capacity;
}

static besom_status make_upper(struct asf *a, unsigned i, double capacity, besom_filter **out) {
  struct inner_kind inner = {.kind = a->wishes.kind};
  besom_config config = {.capacity = capacity < MAX_CAPACITY ? (uint64_t)capacity : MAX_CAPACITY,
                         .fpr = a->plan.stack.rates[i]};
  return besom__inner_create(&a->head, &inner, &config, out);
}

/* What was learnt goes with what it was learnt for. */
static void adopt(struct asf *a, const struct asf_wishes *w) {
  forget(a);
  make_plan(a, w);
  a->remedy = REPLANNED;
  a->relearnt++;
}

/* As many as were found, and their part of the members that may still come. */
static double third_capacity(const struct asf *a) {
  double grown = (double)a->head.capacity / fmax((double)a->head.items, 1);
  return (double)a->found * fmin(grown, 8) + ROOM_FOR_INSERTS;
}

/* ------------------------------------------------------------------ going over the members */

static besom_status add_fresh(struct asf *a, besom_digest d) {
  return a->fresh->kind->insert(a->fresh, d);
}

/* What a member means to the pass. FULL: there is no room for it. */
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

/* All members have been seen. A source that gave fewer than there are would cost members. */
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
    a->fresh = old; /* to be freed */
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

/* Some more members. On failure the pass is to be begun again. */
static besom_status step(struct asf *a) {
  besom_status status = a->pass_started ? BESOM_OK : start_reading(a);
  for (unsigned i = 0; i < MEMBERS_A_STEP && status == BESOM_OK; i++) {
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

/* ------------------------------------------------------------------ watching the rate */

/*
 * The skew that explains how many reports it took to fill the second layer. Where there is none, since even queries
 * were planned for, one with which something can be learnt; what is learnt will tell.
 */
static struct asf_wishes wishes_by_reports(const struct asf *a) {
  struct asf_wishes w = a->wishes;
  if (a->layers[SECOND]) {
    double rate = first_rate(a), learnt = (double)a->layers[SECOND]->items;
    w.shape.skew = besom__asf_skew(w.shape.negatives, (double)a->reports / rate, learnt / rate);
    return w;
  }
  while (w.shape.skew < ASF_MOST_SKEW && besom__asf_plan(&w).learn == 0)
    w.shape.skew = fmin(w.shape.skew + SKEW_STEP, ASF_MOST_SKEW);
  return w;
}

/* If the plan wants another first layer, all goes on as it is until that is filled. */
static besom_status build_anew(struct asf *a, const struct asf_wishes *w,
                               const struct asf_plan *plan) {
  if (w->bits == 0 || fabs(plan->bits - a->plan.bits) < 0.01 * w->bits) {
    adopt(a, w);
    return BESOM_OK;
  }
  besom_status status = make_first(&a->head, plan, a->head.capacity, &a->fresh);
  if (status != BESOM_OK) return status;
  a->next = *w;
  begin_pass(a, FILL_FIRST);
  return BESOM_OK;
}

/*
 * Plans by what was seen. If that was tried, or the skew is about what it was taken for, or the plan promises no lower
 * rate, then the rate is taken for what it is.
 */
static besom_status replan(struct asf *a, double observed) {
  struct asf_wishes w = wishes_by_reports(a);
  struct asf_plan plan = besom__asf_plan(&w);
  bool another = fabs(w.shape.skew - a->wishes.shape.skew) > SAME_SKEW &&
                 (plan.learn > 0 || a->plan.learn > 0);
  if (another && a->remedy != REPLANNED && plan.expected * share_of_rate(a) < observed)
    return build_anew(a, &w, &plan);
  a->expected = fmin(observed / share_of_rate(a), 1);
  a->remedy = NOTHING;
  return BESOM_OK;
}

static besom_status too_many(struct asf *a, double observed) {
  if (a->plan.learn == 0 || a->remedy != NOTHING) return replan(a, observed);
  forget(a);
  a->remedy = RELEARNT;
  a->relearnt++;
  return BESOM_OK;
}

/*
 * One more false positive of a complete stack: as soon as there are too many for a window, or at its end. Members that
 * came since it began raise the rate: it begins again then.
 */
static besom_status watch(struct asf *a) {
  if (a->rate_due == 0) begin_window(a);
  double denied = (double)atomic_load_explicit(&a->denied, memory_order_relaxed),
         wrong = (double)a->wrong + 1;
  double due = a->rate_due * (denied + wrong), observed = wrong / (denied + wrong);
  bool many = wrong > TOO_MANY * WINDOW && wrong > TOO_MANY * due,
       few = due >= WINDOW && wrong < TOO_FEW * due;
  bool grown = many && a->expected * share_of_rate(a) > 1.1 * a->rate_due;
  besom_status status = BESOM_OK;
  if (many && !grown)
    status = too_many(a, observed);
  else if (few) /* the same layers learnt anew could only be worse; some of it may have been luck */
    status = replan(a, observed * (1 + 2 / sqrt(wrong)));
  else if (due >= WINDOW && wrong < AS_MANY * due)
    a->remedy = NOTHING; /* with more than that it is chance that they were not too many */
  if (status != BESOM_OK) return status;
  a->wrong++;
  if (many || due >= WINDOW) begin_window(a);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ changes */

/* One more key for the second layer. */
static besom_status learn(struct asf *a, besom_digest d) {
  if (!a->layers[SECOND]) {
    besom_status status =
        make_upper(a, SECOND, ceil(a->plan.learn * share_of_rate(a)), &a->layers[SECOND]);
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
  if (a->pass == NO_PASS && (a->layers[THIRD] || a->plan.learn == 0)) return watch(a);
  if (a->pass == NO_PASS && !second_is_full(a)) return learn(a, d);
  if (a->pass == NO_PASS) begin_pass(a, COUNT_THIRD);
  besom_status status = step(a);
  if (status == BESOM_OK) return BESOM_OK;
  end_pass(a);
  return status;
}

/* A layer in the making, or the third one, without room for a member is no failure: what it was for is learnt anew. */
static void insert_upper(struct asf *a, besom_digest d) {
  if (a->pass != NO_PASS && a->pass != COUNT_THIRD && pass_member(a, d) != BESOM_OK) end_pass(a);
  if (!a->layers[THIRD] || !second_has(a, d)) return;
  besom_filter *third = a->layers[THIRD];
  if (third->kind->insert(third, layer_digest(d, THIRD)) != BESOM_OK) forget(a);
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

/* A second layer without a third has no say, but takes memory. */
static void stats(const besom_filter *f, besom_statistics *out) {
  const struct asf *a = const_asf(f);
  const besom_filter *second = a->layers[SECOND];
  struct alternating stack = in_use(a);
  besom__alternating_stats(&stack, out);
  out->rebuilds = a->relearnt;
  if (!second) return;
  out->marks = second->items;
  out->reserve_used = (double)second->items / (double)second->capacity;
  if (!a->layers[THIRD]) besom__inner_stats(second, out);
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
    return "the numbers are not those of the first layer";
  return a->layers[THIRD] && !second_is_full(a)
             ? "there is a third layer, but the second is not full"
             : NULL;
}

/* ------------------------------------------------------------------ files */

/* The plan follows from the wishes. */
static void save(const besom_filter *f, struct sections_out *out) {
  const struct asf *a = const_asf(f);
  const struct asf_wishes *w = &a->wishes;
  bool as_planned = a->expected == a->plan.expected;
  const double numbers[] = {w->shape.skew, w->shape.negatives,          w->life, w->bits, w->fpr,
                            w->room,       as_planned ? 0 : a->expected};
  unsigned layers = 0;
  while (layers < ASF_LAYERS && a->layers[layers]) layers++;
  besom__write_u64(&out->parameters, layers);
  besom__write_u64(&out->parameters, a->remedy);
  besom__write_u64(&out->parameters, a->reports);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    besom__write_double(&out->parameters, numbers[i]);
  for (unsigned i = 0; i < layers; i++) besom__inner_save(a->layers[i], out);
}

/* Not so for what is no number; and zero has one spelling. */
static bool within(double x, double least, double most) {
  return x >= least && x <= most && !signbit(x);
}

static bool wishes_are_possible(const struct asf_wishes *w) {
  return within(w->shape.skew, 0, ASF_MOST_SKEW) && within(w->shape.negatives, 1, 0x1p52) &&
         within(w->life, 0, 0x1p52) && within(w->bits, 0, 1024) && within(w->fpr, 0x1p-1074, 1) &&
         within(w->room, 0x1p-1074, 0.5);
}

static besom_status load_wishes(struct asf *a, struct reader *r) {
  struct asf_wishes w = {.kind = besom__kind_named("bloom"), .members = (double)a->head.capacity};
  double expected;
  double *const numbers[] = {&w.shape.skew, &w.shape.negatives, &w.life, &w.bits, &w.fpr,
                             &w.room,       &expected};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = besom__read_double(r);
  if (a->head.capacity == 0 || !wishes_are_possible(&w) || !within(expected, 0, 1))
    return BESOM_CORRUPT;
  make_plan(a, &w);
  if (expected == a->expected) return BESOM_CORRUPT; /* it would have been left out */
  if (expected > 0) a->expected = expected;
  return BESOM_OK;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct asf *a = asf(f);
  uint64_t layers = besom__read_u64(&in->parameters), done = besom__read_u64(&in->parameters);
  a->reports = besom__read_u64(&in->parameters);
  besom_status status = load_wishes(a, &in->parameters);
  if (status != BESOM_OK) return status;
  if (layers == 0 || layers > ASF_LAYERS || done > REPLANNED) return BESOM_CORRUPT;
  a->remedy = (enum remedy)done;
  for (unsigned i = 0; i < layers && status == BESOM_OK; i++) {
    status = besom__inner_load(f, in, &a->layers[i]);
    if (status == BESOM_OK && a->layers[i]->kind != a->wishes.kind) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) destroy(f);
  return status;
}

const struct besom_kind besom__adaptive_stacked = {
    .info =
        {"adaptive-stacked",
         "stack of Bloom filters that learns what is often asked in vain, with its members at hand",
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
