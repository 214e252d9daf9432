/*
 * scaling: a filter for sets of unknown size (after the scalable Bloom filter of Almeida et al.
 * 2007). It is a chain of layers of one kind. When the last layer is full, it adds one with twice
 * the capacity and half the false-positive rate. So the rates add up to less than the target,
 * however long the chain is.
 *
 * There is no remove: a key held by one layer may be a false positive of another, and removing it
 * there would remove a member.
 */
#include <math.h>

#include "layered/layer.h"

#define MAX_LAYERS 40

struct scaling {
  besom_filter head;
  struct layer_kind base;
  besom_filter *layers[MAX_LAYERS]; /* the oldest and smallest first */
  uint64_t n_layers;                /* at least 1 */
  uint64_t first_capacity;
  double fpr; /* target of the whole filter */
  double reserve;
};

extern const struct besom_kind besom__scaling;

static const struct scaling *const_scaling(const besom_filter *f) {
  return (const struct scaling *)f;
}

static struct scaling *scaling(besom_filter *f) {
  return (struct scaling *)f;
}

static besom_filter *newest(const struct scaling *s) {
  return s->layers[s->n_layers - 1];
}

/* ------------------------------------------------------------------ create and destroy */

static void destroy(besom_filter *f) {
  for (uint64_t i = 0; i < scaling(f)->n_layers; i++) besom_free(scaling(f)->layers[i]);
}

/* Errors: FULL (no larger layer, or no lower rate, is possible). */
static besom_status add_layer(struct scaling *s) {
  if (s->n_layers == MAX_LAYERS || s->first_capacity > MAX_CAPACITY >> s->n_layers)
    return BESOM_FULL;
  besom_config config = {.capacity = s->first_capacity << s->n_layers,
                         .fpr = ldexp(s->fpr, -1 - (int)s->n_layers),
                         .reserve = s->reserve};
  besom_status status = besom__layer_create(&s->head, &s->base, &config, &s->layers[s->n_layers]);
  s->n_layers += status == BESOM_OK;
  return status == BESOM_INVALID ? BESOM_FULL : status;
}

/* With a budget of bits, the first layer determines the rate: its rate is half of the total. */
static besom_status add_first_layer(struct scaling *s, const besom_config *config) {
  besom_config first = {.capacity = config->capacity, .reserve = config->reserve};
  s->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key != 0)
    first.bits_per_key = config->bits_per_key - 8.0 * sizeof *s / (double)config->capacity;
  else
    first.fpr = s->fpr / 2;
  if (first.bits_per_key < 0 || (first.bits_per_key == 0 && !(first.fpr > 0))) return BESOM_INVALID;
  besom_status status = besom__layer_create(&s->head, &s->base, &first, &s->layers[0]);
  if (status != BESOM_OK) return status;
  s->n_layers = 1;
  besom_statistics stats;
  besom_stats(s->layers[0], &stats);
  if (config->bits_per_key != 0) s->fpr = fmin(2 * stats.fpr_at_capacity, 1);
  return BESOM_OK;
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct scaling *s = scaling(f);
  const char *text = config->options;
  struct option option;
  besom_status status;
  s->base.kind = besom__kind_named("qf");
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if ((status = besom__layer_option(&s->base, &option)) != BESOM_OK) return status;
  if (status != BESOM_END || s->base.kind == &besom__scaling) return BESOM_BAD_OPTION;
  if (config->slots || config->value_bits) return BESOM_INVALID;
  f->capacity = MAX_CAPACITY;
  s->first_capacity = config->capacity;
  s->reserve = config->reserve;
  return add_first_layer(s, config);
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  const struct scaling *m = const_scaling(model);
  struct scaling *s = scaling(f);
  besom_status status = besom_create_like(m->layers[0], &s->layers[0]);
  if (status != BESOM_OK) return status;
  s->base = m->base;
  s->n_layers = 1;
  s->first_capacity = m->first_capacity;
  s->fpr = m->fpr;
  s->reserve = m->reserve;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

/* The newest layer holds about half of all keys, so it is queried first. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct scaling *s = const_scaling(f);
  for (uint64_t i = s->n_layers; i--;)
    if (s->layers[i]->kind->contains(s->layers[i], d)) return true;
  return false;
}

#define BATCH 256

/* Queries one more layer for the keys of a batch that have a no so far. */
static void query_layer(const besom_filter *layer, const besom_digest *d, size_t n,
                        uint64_t *bitmap) {
  besom_digest asked[BATCH];
  uint64_t answers[BATCH / 64];
  size_t number[BATCH], m = 0;
  for (size_t i = 0; i < n; i++)
    if (!(bitmap[i / 64] >> (i % 64) & 1)) {
      asked[m] = d[i];
      number[m++] = i;
    }
  if (m == 0) return;
  layer->kind->contains_many(layer, asked, m, answers);
  for (size_t i = 0; i < m; i++)
    bitmap[number[i] / 64] |= (answers[i / 64] >> (i % 64) & 1) << (number[i] % 64);
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct scaling *s = const_scaling(f);
  newest(s)->kind->contains_many(newest(s), d, n, bitmap);
  for (size_t at = 0; s->n_layers > 1 && at < n; at += BATCH)
    for (uint64_t i = s->n_layers - 1; i--;)
      query_layer(s->layers[i], d + at, n - at < BATCH ? n - at : BATCH, bitmap + at / 64);
}

static besom_status count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct scaling *s = const_scaling(f);
  *n = 0;
  if (!s->base.kind->count) return BESOM_UNSUPPORTED;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    uint64_t here = 0;
    besom_status status = s->base.kind->count(s->layers[i], d, &here);
    if (status != BESOM_OK) return status;
    *n += here;
  }
  return BESOM_OK;
}

/* ------------------------------------------------------------------ changes */

/*
 * Inserts into the newest layer, or into a new one if that is full. A new layer that stays empty
 * does no harm.
 */
static besom_status insert(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  if (!s->base.kind->count && contains(f, d))
    return BESOM_OK; /* a kind without counts does not store a key twice */
  besom_filter *layer = newest(s);
  uint64_t items = layer->items;
  besom_status status = layer->kind->insert(layer, d);
  if (status == BESOM_FULL) {
    status = add_layer(s);
    if (status != BESOM_OK) return status;
    layer = newest(s);
    items = 0;
    status = layer->kind->insert(layer, d);
  }
  f->items += layer->items - items;
  return status;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  struct scaling *s = scaling(f);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK;) {
    size_t some = 0;
    if (s->base.kind->count) {
      uint64_t items = newest(s)->items;
      status = newest(s)->kind->insert_many(newest(s), d + *done, n - *done, &some);
      f->items += newest(s)->items - items;
      *done += some;
      if (status != BESOM_FULL) continue;
    }
    status = insert(f, d[*done]); /* adds a layer if necessary */
    *done += status == BESOM_OK;
  }
  return status;
}

static double reserve_used(const besom_filter *layer) {
  besom_statistics stats;
  besom_stats(layer, &stats);
  return stats.reserve_used;
}

/*
 * Every layer that answers yes adapts, the one with the smallest free reserve first. If that
 * succeeds, the others succeed, too, unless memory runs out in between. In that case the layers
 * that have adapted stay adapted.
 */
static besom_status adapt(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  besom_status all = BESOM_OK;
  if (!s->base.kind->adapt) return BESOM_UNSUPPORTED;
  for (uint64_t asked = 0; asked < s->n_layers; asked++) {
    besom_filter *fullest = NULL;
    for (uint64_t i = 0; i < s->n_layers; i++)
      if (s->layers[i]->kind->contains(s->layers[i], d) &&
          (!fullest || reserve_used(s->layers[i]) > reserve_used(fullest)))
        fullest = s->layers[i];
    if (!fullest) return all;
    besom_status status = fullest->kind->adapt(fullest, d);
    if (status == BESOM_EVICTED)
      all = status;
    else if (status != BESOM_OK)
      return status;
  }
  return all;
}

/* ------------------------------------------------------------------ whole filters */

static void stats(const besom_filter *f, struct stats_out *out) {
  const struct scaling *s = const_scaling(f);
  double right = 1, reserve_used = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    besom_statistics layer = besom__layer_stats(s->layers[i], out);
    right *= 1 - layer.expected_fpr;
    reserve_used = fmax(reserve_used, layer.reserve_used);
  }
  out->common.expected_fpr = 1 - right;
  out->common.fpr_at_capacity = s->fpr;
  out->common.reserve_used = reserve_used;
}

/* What the base can do, as far as scaling passes it on; and growing. */
static unsigned abilities(const besom_filter *f) {
  const unsigned passed_on = BESOM_CAN_COUNT | BESOM_CAN_ADAPT | BESOM_FORGETS;
  return BESOM_CAN_INSERT | BESOM_CAN_SCALE |
         (besom_abilities(const_scaling(f)->layers[0]) & passed_on);
}

static const besom_filter *layer_at(const besom_filter *f, size_t i) {
  return i < const_scaling(f)->n_layers ? const_scaling(f)->layers[i] : NULL;
}

static const char *validate(const besom_filter *f) {
  const struct scaling *s = const_scaling(f);
  uint64_t items = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    const char *wrong = s->layers[i]->kind->validate(s->layers[i]);
    if (wrong) return wrong;
    items += s->layers[i]->items;
  }
  return items == f->items ? NULL : "the number of keys is not the sum over the layers";
}

static void save(const besom_filter *f, struct sections_out *out) {
  const struct scaling *s = const_scaling(f);
  besom__write_u64(&out->parameters, s->n_layers);
  besom__write_u64(&out->parameters, s->first_capacity);
  besom__write_double(&out->parameters, s->fpr);
  besom__write_double(&out->parameters, s->reserve);
  for (uint64_t i = 0; i < s->n_layers; i++) besom__layer_save(s->layers[i], out);
}

static besom_status load_layers(besom_filter *f, struct sections_in *in, uint64_t n) {
  struct scaling *s = scaling(f);
  besom_status status = BESOM_OK;
  while (s->n_layers < n && status == BESOM_OK) {
    status = besom__layer_load(f, in, &s->layers[s->n_layers]);
    if (status != BESOM_OK) break;
    const besom_filter *layer = s->layers[s->n_layers++];
    bool alike = layer->kind == s->layers[0]->kind && layer->kind != &besom__scaling;
    if (!alike || layer->capacity >> (s->n_layers - 1) < s->first_capacity) status = BESOM_CORRUPT;
  }
  return status;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct scaling *s = scaling(f);
  uint64_t n = besom__read_u64(&in->parameters);
  s->first_capacity = besom__read_u64(&in->parameters);
  s->fpr = besom__read_double(&in->parameters);
  s->reserve = besom__read_double(&in->parameters);
  if (n == 0 || n > MAX_LAYERS || f->capacity != MAX_CAPACITY) return BESOM_CORRUPT;
  if (s->first_capacity == 0 || s->first_capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  if (!(s->fpr > 0 && s->fpr <= 1 && s->reserve >= 0 && s->reserve <= 0.5)) return BESOM_CORRUPT;
  besom_status status = load_layers(f, in, n);
  if (status == BESOM_OK)
    s->base.kind = s->layers[0]->kind;
  else
    destroy(f);
  return status;
}

const struct besom_kind besom__scaling = {
    .info = {"scaling", "a growing chain of filters of another kind, for sets of unknown size",
             BESOM_CAN_INSERT | BESOM_CAN_COUNT | BESOM_CAN_SCALE},
    .size = sizeof(struct scaling),
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .count = count,
    .adapt = adapt,
    .stats = stats,
    .abilities = abilities,
    .layer = layer_at,
    .validate = validate,
    .save = save,
    .load = load,
};
