/*
 * stacked: layers of another kind that hold members and frequently asked non-members in turn (Deeds, Hentschel, Idreos:
 * "Stacked Filters", 2021). The first layer is a filter of all members, as ever. The second holds those of the frequent
 * non-members that the first is wrong about, the third the members that the second is wrong about, and so on. A
 * frequent non-member is answered yes only if every layer of members is wrong about it; any other about as
 * often as by the first layer alone. A planner chooses whom to know and how to divide the memory.
 */
#include <math.h>

#include "core/memory.h"
#include "layered/alternating.h"
#include "layered/plan.h"
#include "layered/sample.h"

_Static_assert(2 * MAX_STACK_LAYERS < MAX_SECTIONS && MAX_STACK_LAYERS <= MAX_INNER,
               "each layer saves two sections");

struct stacked {
  besom_filter head;
  struct alternating stack;
  besom_filter *room[MAX_STACK_LAYERS];
  double share; /* of the queries for non-members that are for those it knows, as it was planned */
};

static const struct stacked *const_stacked(const besom_filter *f) {
  return (const struct stacked *)f;
}

static struct stacked *stacked(besom_filter *f) {
  return (struct stacked *)f;
}

static void make_room(struct stacked *s) {
  s->stack = (struct alternating){.layers = s->room, .most = MAX_STACK_LAYERS, .plain_first = true};
}

static void destroy(besom_filter *f) {
  besom__alternating_free(&stacked(f)->stack);
}

/* ------------------------------------------------------------------ building */

/*
 * Members that a further layer must have room for: those that reach it, and so many of those still to be inserted as
 * will, but for one chance in thousands.
 */
static uint64_t room_for(uint64_t reached, uint64_t to_come, double passes) {
  double more = (double)to_come * passes;
  return reached + (to_come ? (uint64_t)fmin(ceil(more + 4 * sqrt(more) + 4), (double)to_come) : 0);
}

/*
 * Algorithm 1: each layer from what reached it. It ends early where no frequent non-member is left. A planned rate
 * comes back a little lower than it was, or rounding would choose the next lower one.
 */
static besom_status add_layers(struct stacked *s, const struct inner_kind *base,
                               const struct stack *plan, uint64_t capacity, struct digests *members,
                               struct digests *frequent) {
  uint64_t to_come = capacity - members->n;
  double passes = 1;
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < plan->layers && status == BESOM_OK; i++) {
    struct digests *held = i % 2 ? frequent : members;
    uint64_t room = i == 0 ? capacity : i % 2 ? held->n : room_for(held->n, to_come, passes);
    besom_config config = {.capacity = room ? room : 1,
                           .fpr = fmin(plan->rates[i] * (1 + 1e-9), 0.999)};
    status = besom__alternating_add(&s->stack, &s->head, base, &config, held);
    if (status != BESOM_OK || i + 1 == plan->layers) break;
    besom__alternating_keep_wrong(&s->stack, i % 2 ? members : frequent);
    if (i % 2) passes *= plan->rates[i];
    if (i % 2 == 0 && !frequent->n) break;
  }
  return status;
}

/* One layer, as the config has it: all that can be done for who knows nothing of the queries. */
static besom_status add_one_layer(struct stacked *s, const struct stack_wishes *w,
                                  const besom_config *config, uint64_t capacity,
                                  const struct digests *members) {
  besom_config own = {.capacity = capacity, .fpr = config->fpr, .bits = config->bits};
  if (config->bits != 0) own.bits -= 8.0 * sizeof *s / (double)capacity;
  if (own.bits < 0 || (config->bits != 0 && own.bits == 0)) return BESOM_INVALID;
  return besom__alternating_add(&s->stack, &s->head, &w->base, &own, members);
}

/* Plans by the sample and builds. */
static besom_status build_planned(struct stacked *s, const struct stack_wishes *w,
                                  const besom_config *config, uint64_t capacity,
                                  struct digests *members, const struct sample *sample,
                                  struct popularity *popularity) {
  struct stack_aim aim;
  struct stack_choice choice;
  struct digests frequent = {0};
  besom__sample_popularity(sample, popularity);
  besom__wishes_unseen(w, sample->weighed, popularity);
  besom_status status = besom__wishes_aim(w, config, capacity, &aim);
  if (status != BESOM_OK) return status;
  if (!besom__stack_plan(&aim, popularity, &choice)) return BESOM_INVALID;
  if (choice.stack.layers == 1) {
    besom_config own = *config;
    if (config->bits == 0)
      own.fpr = fmin(choice.stack.rates[0], aim.fpr); /* lower, if the worst rate has a limit */
    return add_one_layer(s, w, &own, capacity, members);
  }
  s->share = choice.share;
  status = besom__sample_top(&s->head, sample, popularity, (uint64_t)choice.frequent, &frequent);
  if (status == BESOM_OK)
    status = add_layers(s, &w->base, &choice.stack, capacity, members, &frequent);
  besom__digests_free(&s->head, &frequent);
  return status;
}

static besom_status build_sampled(struct stacked *s, const struct stack_wishes *w,
                                  const besom_config *config, uint64_t capacity,
                                  struct digests *members, const besom_source *no,
                                  const besom_progress *progress) {
  struct sample sample;
  besom_status status = besom__sample_collect(&s->head, no, progress, &sample);
  if (status != BESOM_OK) return status;
  struct popularity *popularity = besom__allocate(&s->head.allocator, sizeof *popularity);
  besom__sample_forget(&sample, members);
  status = popularity ? build_planned(s, w, config, capacity, members, &sample, popularity)
                      : BESOM_NO_MEMORY;
  besom__release(&s->head.allocator, popularity, sizeof *popularity);
  besom__sample_free(&s->head, &sample);
  return status;
}

static besom_status build(besom_filter *f, const besom_config *config, const besom_source *yes,
                          const besom_source *no, const besom_progress *progress) {
  struct stacked *s = stacked(f);
  struct stack_wishes w;
  struct digests members;
  uint64_t capacity =
      config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  if (config->slots || config->value_bits || config->reserve != 0) return BESOM_INVALID;
  besom_status status = besom__wishes_read(config->options, &w);
  if (status == BESOM_OK) status = besom__collect(f, yes, capacity, progress, &members);
  if (status != BESOM_OK) return status;
  besom__digests_unite(&members);
  f->items = members.n;
  f->capacity = capacity;
  make_room(s);
  status = no ? build_sampled(s, &w, config, capacity, &members, no, progress)
              : add_one_layer(s, &w, config, capacity, &members);
  besom__digests_free(f, &members);
  if (status != BESOM_OK) destroy(f);
  return status;
}

/* ------------------------------------------------------------------ queries */

/* Algorithm 2. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct alternating *stack = &const_stacked(f)->stack;
  const besom_filter *first = stack->layers[0];
  if (!first->kind->contains(first, d)) return false;
  return stack->n == 1 || besom__alternating_answer(stack, 1, d);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  besom__alternating_answer_many(&const_stacked(f)->stack, d, n, bitmap);
}

/* ------------------------------------------------------------------ changes */

/* The last of the members' layers that a member is in: layers of non-members never change, so neither does this. */
static unsigned last_layer_of(const struct alternating *a, besom_digest d) {
  unsigned last = 0;
  while (last + 2 < a->n && alternating_has(a, last + 1, d)) last += 2;
  return last;
}

/* Kinds without copies take a key that is there already into a full filter, too. */
static bool has_room(const struct alternating *a, unsigned i, besom_digest d) {
  const besom_filter *layer = a->layers[i];
  return layer->items < layer->capacity || (!layer->kind->count && alternating_has(a, i, d));
}

/*
 * From the last layer to the first. Kinds that may be FULL below their capacity can remove, so what has been inserted
 * by then is taken out again.
 */
static besom_status insert(besom_filter *f, besom_digest d) {
  struct alternating *a = &stacked(f)->stack;
  const struct besom_kind *kind = a->layers[0]->kind;
  if (!kind->insert) return BESOM_UNSUPPORTED;
  if (f->items >= f->capacity) return !kind->count && contains(f, d) ? BESOM_OK : BESOM_FULL;
  unsigned last = last_layer_of(a, d);
  uint64_t items = a->layers[0]->items;
  for (unsigned i = 0; i <= last; i += 2)
    if (!has_room(a, i, d)) return BESOM_FULL;
  for (unsigned i = last + 2; i; i -= 2) {
    besom_status status = kind->insert(a->layers[i - 2], besom__alternating_digest(a, i - 2, d));
    if (status == BESOM_OK) continue;
    for (unsigned done = i; done <= last && kind->remove; done += 2)
      kind->remove(a->layers[done], besom__alternating_digest(a, done, d));
    return status;
  }
  f->items += a->layers[0]->items - items;
  return BESOM_OK;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n; ++*done) {
    status = insert(f, d[*done]);
    if (status != BESOM_OK) break;
  }
  return status;
}

static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct alternating *a = &stacked(f)->stack;
  const struct besom_kind *kind = a->layers[0]->kind;
  if (!kind->remove) return BESOM_UNSUPPORTED;
  unsigned last = last_layer_of(a, d);
  for (unsigned i = 0; i <= last; i += 2)
    if (!alternating_has(a, i, d)) return BESOM_NOT_FOUND;
  for (unsigned i = 0; i <= last; i += 2) {
    besom_status status = kind->remove(a->layers[i], besom__alternating_digest(a, i, d));
    if (status != BESOM_OK) return status; /* none does that to a key that it has */
  }
  f->items--;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, besom_statistics *out) {
  const struct stacked *s = const_stacked(f);
  double frequent = 1;
  besom__alternating_stats(&s->stack, out);
  for (unsigned i = 0; i < s->stack.n; i += 2) {
    besom_statistics layer;
    besom_stats(s->stack.layers[i], &layer);
    frequent *= layer.expected_fpr;
  }
  out->workload_fpr = s->share * frequent + (1 - s->share) * out->expected_fpr;
}

static const besom_filter *layer(const besom_filter *f, size_t i) {
  return i < const_stacked(f)->stack.n ? const_stacked(f)->stack.layers[i] : NULL;
}

static const char *validate(const besom_filter *f) {
  const struct alternating *a = &const_stacked(f)->stack;
  const char *wrong = besom__alternating_validate(a);
  if (wrong) return wrong;
  if (f->items > f->capacity) return "there are more items than the capacity";
  for (unsigned i = 0; i < a->n; i += 2)
    if (a->layers[i]->items > f->items) return "a layer holds more members than there are";
  return a->layers[0]->kind->remove && a->layers[0]->items != f->items
             ? "the first layer does not hold all members"
             : NULL;
}

/* ------------------------------------------------------------------ files */

static void save(const besom_filter *f, struct sections_out *out) {
  besom__write_u64(&out->parameters, const_stacked(f)->stack.n);
  besom__write_double(&out->parameters, const_stacked(f)->share);
  besom__alternating_save(&const_stacked(f)->stack, out);
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct stacked *s = stacked(f);
  uint64_t n = besom__read_u64(&in->parameters);
  s->share = besom__read_double(&in->parameters);
  make_room(s);
  if (n % 2 == 0 || n > MAX_STACK_LAYERS || !(s->share >= 0 && s->share <= 1)) return BESOM_CORRUPT;
  if (f->capacity == 0 || f->capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  return besom__alternating_load(&s->stack, f, in, n);
}

const struct besom_kind besom__stacked = {
    .info = {"stacked",
             "layers of another kind, planned for a sample of queries: rarely wrong about frequent "
             "ones",
             BESOM_TAKES_SAMPLE | BESOM_INSERTS_LATER},
    .size = sizeof(struct stacked),
    .build = build,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .remove = remove_key,
    .stats = stats,
    .layer = layer,
    .validate = validate,
    .save = save,
    .load = load,
};
