/*
 * stacked: layers of another kind that alternately hold members and frequently queried non-members
 * (Deeds, Hentschel, Idreos: "Stacked Filters", 2021). The first layer is a filter of all members.
 * The second holds the frequent non-members that are false positives of the first, the third holds
 * the members that are false positives of the second, and so on. A frequent non-member is a false
 * positive only if it passes every layer of members. Any other non-member is one about as often as
 * with the first layer alone. A planner chooses which non-members to hold and how to divide the
 * memory.
 */
#include <math.h>

#include "core/system/memory.h"
#include "layers/layer_chain.h"
#include "stacked/query_sample.h"
#include "stacked/stack_options.h"

_Static_assert(2 * MAX_STACK_LAYERS < MAX_SECTIONS && MAX_STACK_LAYERS <= MAX_SAVED_LAYERS,
               "each layer saves two sections");

#define HIGHEST_RATE 0.999
#define MAX_BITS_PER_KEY 1000.0

struct stacked {
  besom_filter head;
  struct layer_chain stack;
  besom_filter *room[MAX_STACK_LAYERS];
  double share; /* of the negative queries, for the held non-members, as planned */
};

static const struct stacked *const_stacked(const besom_filter *f) {
  return (const struct stacked *)f;
}

static struct stacked *stacked(besom_filter *f) {
  return (struct stacked *)f;
}

static void stacked_make_room(struct stacked *s) {
  s->stack = (struct layer_chain){.layers = s->room, .max = MAX_STACK_LAYERS, .plain_first = true};
}

static void stacked_destroy(besom_filter *f) {
  besom__layer_chain_free(&stacked(f)->stack);
}

/* ------------------------------------------------------------------ building */

/*
 * The capacity of a further layer of members: those that reach it already, and those still to be
 * inserted that will reach it. It is too small in one case in thousands.
 */
static uint64_t capacity_for(uint64_t reached, uint64_t to_come, double passes) {
  double more = (double)to_come * passes;
  return reached + (to_come ? (uint64_t)fmin(ceil(more + 4 * sqrt(more) + 4), (double)to_come) : 0);
}

/* The bits of the budget that the stack and its layers so far have not used. */
static double bits_left(const struct stacked *s, double budget) {
  for (unsigned i = 0; i < s->stack.n; i++) {
    besom_statistics layer;
    besom_stats(s->stack.layers[i], &layer);
    budget -= 8.0 * (double)layer.bytes;
  }
  return budget - 8.0 * sizeof *s;
}

static double bits_of_layer(const struct besom_kind *kind, double keys, double rate) {
  keys = fmax(keys, 1);
  return keys * kind->bits_per_key(keys, &rate) + 8.0 * (double)kind->size + LAYER_PADDING;
}

/* Keys that reach a layer, with room for more than expected. */
static double with_surplus(double keys) {
  return keys + 2 * sqrt(keys) + 1;
}

/*
 * Whether the next two layers fit into the rest of the budget: one of `frequent` non-members at
 * this rate, and one of the members that pass it, at the rate `last`.
 */
static bool pair_fits(const struct stacked *s, const struct besom_kind *kind, double budget,
                      double frequent, double rate, double members, double last) {
  return budget == 0 || bits_of_layer(kind, frequent, rate) +
                                bits_of_layer(kind, with_surplus(members * rate), last) <=
                            bits_left(s, budget);
}

/*
 * More keys reach a pair of layers than planned. Raises the rate of the layer of non-members as far
 * as needed. False if the pair fits at no rate.
 */
static bool make_pair_fit(const struct stacked *s, const struct besom_kind *kind, double budget,
                          double frequent, double members, double *rate) {
  for (double higher = *rate; higher < HIGHEST_RATE; higher *= 1.5) {
    if (!pair_fits(s, kind, budget, frequent, higher, members, HIGHEST_RATE)) continue;
    *rate = higher;
    return true;
  }
  return false;
}

/*
 * The config of a layer: its planned rate, or, for the last one, what the budget leaves. The
 * planned rate is slightly raised; otherwise rounding could choose the next lower one.
 */
static besom_config layer_config(const struct stacked *s, const struct stack *plan, double budget,
                                 uint64_t capacity) {
  besom_config config = {.capacity = capacity ? capacity : 1};
  if (budget == 0 || s->stack.n == 0 || s->stack.n + 1 < plan->layers) {
    config.fpr = fmin(plan->rates[s->stack.n] * (1 + 1e-9), HIGHEST_RATE);
    return config;
  }
  /* If hardly a member reaches the layer, it gets room for more: its head alone has many bits. */
  double left = bits_left(s, budget);
  config.capacity += (uint64_t)fmax(0, left / MAX_BITS_PER_KEY - (double)config.capacity + 1);
  config.bits_per_key = left / (double)config.capacity;
  return config;
}

/* The budget is too small for the last layer, so the one before it goes, too. */
static besom_status drop_last(struct stacked *s) {
  besom_free(s->stack.layers[--s->stack.n]);
  return BESOM_OK;
}

/*
 * Algorithm 1 of the paper: builds each layer from the keys that reach it. Stops early if no
 * frequent non-member is left, or if the budget of bits (0: none) is used up.
 */
static besom_status stacked_add_layers(struct stacked *s, const struct layer_kind *base,
                                       const struct stack *plan, double budget, uint64_t capacity,
                                       struct digests *members, struct digests *frequent) {
  uint64_t to_come = capacity - members->n;
  double passes = 1;
  besom_status status = BESOM_OK;
  struct stack now = *plan;
  for (unsigned i = 0; i < plan->layers && status == BESOM_OK; i++) {
    struct digests *held = i % 2 ? frequent : members;
    uint64_t room = i == 0 ? capacity : i % 2 ? held->n : capacity_for(held->n, to_come, passes);
    if (i % 2 && !make_pair_fit(s, base->kind, budget, (double)held->n, (double)capacity * passes,
                                &now.rates[i]))
      break;
    besom_config config = layer_config(s, &now, budget, room);
    status = besom__layer_chain_add(&s->stack, &s->head, base, &config, held);
    if (status == BESOM_INVALID && config.bits_per_key != 0) return drop_last(s);
    if (status != BESOM_OK || i + 1 == plan->layers) break;
    besom__layer_chain_keep_false_positives(&s->stack, i % 2 ? members : frequent);
    if (i % 2) passes *= now.rates[i];
    if (i % 2 == 0 && !frequent->n) break;
  }
  return status;
}

/* One layer with the numbers of the config: for callers without a sample of queries. */
static besom_status add_one_layer(struct stacked *s, const struct stack_options *options,
                                  const besom_config *config, uint64_t capacity,
                                  const struct digests *members) {
  besom_config own = {
      .capacity = capacity, .fpr = config->fpr, .bits_per_key = config->bits_per_key};
  if (config->bits_per_key != 0) own.bits_per_key -= 8.0 * sizeof *s / (double)capacity;
  if (own.bits_per_key < 0 || (config->bits_per_key != 0 && own.bits_per_key == 0))
    return BESOM_INVALID;
  return besom__layer_chain_add(&s->stack, &s->head, &options->base, &own, members);
}

/* Plans by the sample, then builds. */
static besom_status build_planned(struct stacked *s, const struct stack_options *options,
                                  const besom_config *config, uint64_t capacity,
                                  struct digests *members, const struct query_sample *sample,
                                  struct rank_frequency *frequencies) {
  struct stack_objective objective;
  struct stack_candidate plan;
  struct digests frequent = {0};
  besom__query_sample_rank_frequency(sample, frequencies);
  besom__stack_options_unseen(options, sample->weighted, frequencies);
  besom_status status = besom__stack_objective(options, config, capacity, &objective);
  if (status != BESOM_OK) return status;
  if (!sample->weighted) besom__stack_limit_unweighted(options, &objective);
  if (!besom__stack_plan(&objective, frequencies, &plan)) return BESOM_INVALID;
  if (plan.stack.layers == 1) {
    besom_config own = *config;
    if (config->bits_per_key == 0) /* Lower, if the worst-case rate is limited. */
      own.fpr = fmin(plan.stack.rates[0], objective.fpr);
    return add_one_layer(s, options, &own, capacity, members);
  }
  s->share = plan.share;
  status =
      besom__query_sample_top(&s->head, sample, frequencies, (uint64_t)plan.frequent, &frequent);
  if (status == BESOM_OK)
    status =
        stacked_add_layers(s, &options->base, &plan.stack, config->bits_per_key * (double)capacity,
                           capacity, members, &frequent);
  if (status == BESOM_OK && s->stack.n == 1 && frequent.n) { /* one layer gets the whole budget */
    besom__layer_chain_free(&s->stack);
    status = add_one_layer(s, options, config, capacity, members);
  }
  besom__digests_free(&s->head, &frequent);
  return status;
}

static besom_status build_sampled(struct stacked *s, const struct stack_options *options,
                                  const besom_config *config, uint64_t capacity,
                                  struct digests *members, const besom_source *no,
                                  const besom_progress *progress) {
  struct query_sample sample;
  besom_status status = besom__query_sample_collect(&s->head, no, progress, &sample);
  if (status != BESOM_OK) return status;
  struct rank_frequency *frequencies = besom__allocate(&s->head.allocator, sizeof *frequencies);
  besom__query_sample_remove_members(&sample, members);
  status = frequencies ? build_planned(s, options, config, capacity, members, &sample, frequencies)
                       : BESOM_NO_MEMORY;
  besom__release(&s->head.allocator, frequencies, sizeof *frequencies);
  besom__query_sample_free(&s->head, &sample);
  return status;
}

static besom_status stacked_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress) {
  struct stacked *s = stacked(f);
  struct stack_options options;
  struct digests members;
  uint64_t capacity =
      config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  besom_status status = besom__stack_options_read(config->options, &options);
  if (status == BESOM_OK) status = besom__collect(f, yes, capacity, progress, &members);
  if (status != BESOM_OK) return status;
  besom__stack_options_base(&options, config, capacity, capacity > members.n);
  besom__digests_unite(&members);
  f->items = members.n;
  f->capacity = capacity;
  stacked_make_room(s);
  status = no ? build_sampled(s, &options, config, capacity, &members, no, progress)
              : add_one_layer(s, &options, config, capacity, &members);
  besom__digests_free(f, &members);
  if (status != BESOM_OK) stacked_destroy(f);
  return status;
}

/* ------------------------------------------------------------------ queries */

/* Algorithm 2 of the paper. */
static bool stacked_contains(const besom_filter *f, besom_digest d) {
  const struct layer_chain *stack = &const_stacked(f)->stack;
  const besom_filter *first = stack->layers[0];
  if (!first->kind->query.contains(first, d)) return false;
  return stack->n == 1 || besom__layer_chain_answer(stack, 1, d);
}

static void stacked_prefetch(const besom_filter *f, besom_digest d) {
  layer_chain_prefetch(&const_stacked(f)->stack, d);
}

static void stacked_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  besom__layer_chain_answer_many(&const_stacked(f)->stack, d, n, bitmap);
}

/* ------------------------------------------------------------------ changes */

/*
 * The last layer of members that holds a member. Layers of non-members never change, so it never
 * changes, either.
 */
static unsigned last_layer_of(const struct layer_chain *chain, besom_digest d) {
  unsigned last = 0;
  while (last + 2 < chain->n && layer_chain_has(chain, last + 1, d)) last += 2;
  return last;
}

/* Kinds without counts accept a key that they hold already even when they are full. */
static bool has_room(const struct layer_chain *chain, unsigned i, besom_digest d) {
  const besom_filter *layer = chain->layers[i];
  return layer->items < layer->capacity ||
         (!layer->kind->query.count && layer_chain_has(chain, i, d));
}

/*
 * Inserts from the last layer to the first. A kind that can be FULL below its capacity can remove,
 * so on failure the inserts that were done are undone.
 */
static besom_status stacked_insert(besom_filter *f, besom_digest d) {
  struct layer_chain *chain = &stacked(f)->stack;
  const struct besom_kind *kind = chain->layers[0]->kind;
  if (!KIND_HAS(kind, change, insert)) return BESOM_UNSUPPORTED;
  if (f->items >= f->capacity)
    return !kind->query.count && stacked_contains(f, d) ? BESOM_OK : BESOM_FULL;
  unsigned last = last_layer_of(chain, d);
  uint64_t items = chain->layers[0]->items;
  for (unsigned i = 0; i <= last; i += 2)
    if (!has_room(chain, i, d)) return BESOM_FULL;
  for (unsigned i = last + 2; i; i -= 2) {
    besom_status status =
        kind->change->insert(chain->layers[i - 2], besom__layer_chain_digest(chain, i - 2, d));
    if (status == BESOM_OK) continue;
    for (unsigned done = i; done <= last && KIND_HAS(kind, change, remove); done += 2)
      kind->change->remove(chain->layers[done], besom__layer_chain_digest(chain, done, d));
    return status;
  }
  f->items += chain->layers[0]->items - items;
  return BESOM_OK;
}

static besom_status stacked_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done) {
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n; ++*done) {
    status = stacked_insert(f, d[*done]);
    if (status != BESOM_OK) break;
  }
  return status;
}

static besom_status stacked_remove(besom_filter *f, besom_digest d) {
  struct layer_chain *chain = &stacked(f)->stack;
  const struct besom_kind *kind = chain->layers[0]->kind;
  if (!KIND_HAS(kind, change, remove)) return BESOM_UNSUPPORTED;
  unsigned last = last_layer_of(chain, d);
  for (unsigned i = 0; i <= last; i += 2)
    if (!layer_chain_has(chain, i, d)) return BESOM_NOT_FOUND;
  for (unsigned i = 0; i <= last; i += 2) {
    besom_status status =
        kind->change->remove(chain->layers[i], besom__layer_chain_digest(chain, i, d));
    if (status != BESOM_OK) return status; /* no kind fails to remove a key that it holds */
  }
  f->items--;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

static void stacked_stats(const besom_filter *f, struct stats_out *out) {
  const struct stacked *s = const_stacked(f);
  double frequent = 1;
  besom__layer_chain_stats(&s->stack, out);
  for (unsigned i = 0; i < s->stack.n; i += 2) {
    besom_statistics layer;
    besom_stats(s->stack.layers[i], &layer);
    frequent *= layer.expected_fpr;
  }
  out->common.workload_fpr = s->share * frequent + (1 - s->share) * out->common.expected_fpr;
}

static const besom_filter *stacked_layer(const besom_filter *f, size_t i) {
  return i < const_stacked(f)->stack.n ? const_stacked(f)->stack.layers[i] : NULL;
}

static const char *stacked_validate(const besom_filter *f) {
  const struct layer_chain *chain = &const_stacked(f)->stack;
  const char *wrong = besom__layer_chain_validate(chain);
  if (wrong) return wrong;
  if (f->items > f->capacity) return "there are more keys than the capacity";
  for (unsigned i = 0; i < chain->n; i += 2)
    if (chain->layers[i]->items > f->items) return "a layer holds more members than there are";
  return KIND_HAS(chain->layers[0]->kind, change, remove) && chain->layers[0]->items != f->items
             ? "the first layer does not hold all members"
             : NULL;
}

/* ------------------------------------------------------------------ files */

static void stacked_save(const besom_filter *f, struct sections_out *out) {
  besom__write_u64(&out->parameters, const_stacked(f)->stack.n);
  besom__write_double(&out->parameters, const_stacked(f)->share);
  besom__layer_chain_save(&const_stacked(f)->stack, out);
}

static besom_status stacked_load(besom_filter *f, struct sections_in *in) {
  struct stacked *s = stacked(f);
  uint64_t n = besom__read_u64(&in->parameters);
  s->share = besom__read_double(&in->parameters);
  stacked_make_room(s);
  if (n % 2 == 0 || n > MAX_STACK_LAYERS || !(s->share >= 0 && s->share <= 1)) return BESOM_CORRUPT;
  if (f->capacity == 0 || f->capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  return besom__layer_chain_load(&s->stack, f, in, n);
}

/* Keys are inserted and removed later if the layers can do that; those of fuse cannot. */
static unsigned stacked_abilities(const besom_filter *f) {
  const struct besom_kind *kind = const_stacked(f)->stack.layers[0]->kind;
  return BESOM_TAKES_SAMPLE | (KIND_HAS(kind, change, insert) ? (unsigned)BESOM_INSERTS_LATER : 0) |
         (KIND_HAS(kind, change, remove) ? (unsigned)BESOM_CAN_REMOVE : 0);
}

const struct besom_kind besom__stacked = {
    .name = "stacked",
    .summary = "layers of another kind, planned for a sample of queries: few false positives for "
               "frequent keys",
    .except = BESOM_CAN_REMOVE, /* the default layers have none */
    .size = sizeof(struct stacked),
    .options = {OPTION_ROWS(besom__stacked_rows), .passes_on = true},
    .destroy = stacked_destroy,
    .stats = stacked_stats,
    .abilities = stacked_abilities,
    .layer = stacked_layer,
    .query = {.contains = stacked_contains,
              .contains_many = stacked_contains_many,
              .prefetch = stacked_prefetch},
    .change = &(const struct change_ops){.insert = stacked_insert,
                                         .insert_many = stacked_insert_many,
                                         .remove = stacked_remove},
    .build = &(const struct build_ops){.takes_no = BESOM_TAKES_SAMPLE, .build = stacked_build},
    .file = &(const struct file_ops){.validate = stacked_validate,
                                     .save = stacked_save,
                                     .load = stacked_load},
};
