/*
 * scaling: a filter for sets of unknown size (after the scalable Bloom filter of Almeida et al.
 * 2007). It is a chain of layers of one kind. When the last layer is full, it adds one with twice
 * the capacity (option expansion), whose false-positive rate is at most half of what the others
 * have left of the target. So the rates add up to less than the target, however long the chain is.
 *
 * The first layer. Remainders of qf and aqf have whole bits, so that a filter of one layer is about
 * 28 % below its target. That is left for later layers, and a chain that never grows takes no more
 * memory than a filter of its base. Only if less than 1/16 would be left, the first layer takes one
 * bit more. The first layer of other bases has half of the target.
 *
 * Removing. A key held by one layer may also match a fingerprint of another layer, and the filter
 * cannot tell which one is the key's own. With qf and aqf the layer of level i has exactly 2^i
 * times the slots of level 0. So every fingerprint of every layer is a prefix of the same string,
 * the digest times the slots of level 0, and all that match one key are prefixes of each other.
 * remove takes the longest. If that belongs to another key, the key's own, which is shorter and
 * stays, is a prefix of it and matches the other key, too. Chains of other kinds cannot remove.
 *
 * Exceptions. A chain of aqf layers has one table of exceptions, which is also its no list. The
 * newest layer has it, because the space for it grows with the layer.
 */
#include <math.h>
#include <string.h>

#include "layered/scaling.h"

#define MAX_WIDTH 64 /* bits of a remainder */
#define MAX_LEVEL 64
#define MAX_GROWTH 16

/* ------------------------------------------------------------------ layers */

static uint64_t slots_of(const besom_filter *layer) {
  besom_statistics stats;
  besom_stats(layer, &stats);
  return stats.slots;
}

/* The numbers that all layers have in common. */
static besom_config config_of_layers(const struct scaling *s) {
  return (besom_config){.reserve = s->reserve,
                        .value_bits = s->value_bits,
                        .no_capacity = s->no_capacity,
                        .repeated = s->repeated,
                        .copies = s->copies};
}

/* Only the rates of qf and aqf, which are rounded down, differ from what was asked for. */
static double rate_of_layer(const struct scaling *s, const besom_filter *layer, double asked) {
  besom_statistics stats;
  if (!s->base.kind->longest_match) return asked;
  besom_stats(layer, &stats);
  return stats.fpr_at_capacity;
}

/* A level has twice the slots, or keys, of the one before. */
static besom_status create_layer(const struct scaling *s, unsigned level, besom_filter **out) {
  if (level >= MAX_LEVEL || s->first_capacity > MAX_CAPACITY >> level ||
      s->first_slots > MAX_CAPACITY >> level)
    return BESOM_FULL;
  besom_config config = config_of_layers(s);
  config.fpr = s->fpr_left / 2;
  if (s->first_slots)
    config.slots = s->first_slots << level;
  else
    config.capacity = s->first_capacity << level;
  besom_status status = besom__layer_create(&s->head, &s->base, &config, out);
  if (status == BESOM_INVALID && s->first_slots) { /* no remainder is wide enough for the rate */
    config.width = MAX_WIDTH;
    status = besom__layer_create(&s->head, &s->base, &config, out);
  }
  return status == BESOM_INVALID || status == BESOM_BAD_OPTION ? BESOM_FULL : status;
}

/* Errors: NO_MEMORY; FULL (no larger layer, or no lower rate, is possible). */
static besom_status add_layer(struct scaling *s) {
  if (s->n_layers == MAX_SCALING_LAYERS) return BESOM_FULL;
  unsigned level = s->levels[s->n_layers - 1] + s->growth;
  besom_filter *layer;
  besom_status status = create_layer(s, level, &layer);
  if (status != BESOM_OK) return status;
  if (exception_ops(s)) exception_ops(s)->move(newest(s), layer);
  s->fpr_left -= fmin(rate_of_layer(s, layer, s->fpr_left / 2), s->fpr_left / 2);
  s->levels[s->n_layers] = (uint8_t)level;
  s->layers[s->n_layers++] = layer;
  return BESOM_OK;
}

/* Frees the newest layer, which is empty. */
static void drop_layer(struct scaling *s) {
  besom_filter *layer = s->layers[--s->n_layers];
  if (exception_ops(s)) exception_ops(s)->move(layer, newest(s));
  besom_free(layer);
}

/* ------------------------------------------------------------------ create and destroy */

static void destroy(besom_filter *f) {
  for (uint64_t i = 0; i < scaling(f)->n_layers; i++) besom_free(scaling(f)->layers[i]);
}

/* Keeps half of the target for later layers; of rates that are rounded down at least 1/16. */
static double first_rate(const struct scaling *s) {
  return s->base.kind->longest_match ? s->fpr * 15 / 16 : s->fpr / 2;
}

/* With a budget of bits, the first layer determines the rate: its rate is half of the total. */
static besom_status add_first_layer(struct scaling *s, const besom_config *config) {
  besom_config first = config_of_layers(s);
  first.capacity = config->capacity;
  s->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key != 0)
    first.bits_per_key = config->bits_per_key - 8.0 * sizeof *s / (double)config->capacity;
  else
    first.fpr = first_rate(s);
  if (first.bits_per_key < 0 || (first.bits_per_key == 0 && !(first.fpr > 0))) return BESOM_INVALID;
  besom_status status = besom__layer_create(&s->head, &s->base, &first, &s->layers[0]);
  if (status != BESOM_OK) return status;
  s->n_layers = 1;
  besom_statistics stats;
  besom_stats(s->layers[0], &stats);
  if (s->base.kind->longest_match) s->first_slots = stats.slots;
  if (config->bits_per_key != 0) s->fpr = fmin(2 * stats.fpr_at_capacity, 1);
  s->fpr_left = s->fpr - rate_of_layer(s, s->layers[0], s->fpr / 2);
  return BESOM_OK;
}

/* expansion=2, 4, ... 65536 */
static besom_status read_expansion(struct scaling *s, const struct option *option) {
  uint64_t factor;
  besom_status status = besom__option_number(option, &factor);
  if (status != BESOM_OK) return status;
  for (s->growth = 1; s->growth < MAX_GROWTH && UINT64_C(1) << s->growth < factor;) s->growth++;
  return factor == UINT64_C(1) << s->growth ? BESOM_OK : BESOM_BAD_OPTION;
}

static besom_status read_option(struct scaling *s, const struct option *option) {
  return besom__option_is(option, "expansion") ? read_expansion(s, option)
                                               : besom__layer_option(&s->base, option);
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct scaling *s = scaling(f);
  const char *text = config->options;
  struct option option;
  besom_status status;
  s->base.kind = besom__kind_named("qf");
  s->growth = 1;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if ((status = read_option(s, &option)) != BESOM_OK) return status;
  if (status != BESOM_END || s->base.kind == &besom__scaling) return BESOM_BAD_OPTION;
  if (config->slots || (config->value_bits && !s->base.kind->longest_match)) return BESOM_INVALID;
  f->capacity = MAX_CAPACITY;
  s->first_capacity = config->capacity;
  s->reserve = config->reserve;
  s->value_bits = config->value_bits;
  s->no_capacity = config->no_capacity;
  s->repeated = config->repeated;
  s->copies = config->copies;
  return add_first_layer(s, config);
}

/* All members of a chain but its layers. */
static void copy_settings(struct scaling *s, const struct scaling *m) {
  s->base = m->base;
  s->first_capacity = m->first_capacity;
  s->first_slots = m->first_slots;
  s->fpr = m->fpr;
  s->growth = m->growth;
  s->reserve = m->reserve;
  s->no_capacity = m->no_capacity;
  s->repeated = m->repeated;
  s->copies = m->copies;
  s->value_bits = m->value_bits;
}

static besom_status create_like(besom_filter *f, const besom_filter *model) {
  const struct scaling *m = const_scaling(model);
  struct scaling *s = scaling(f);
  besom_status status = besom_create_like(m->layers[0], &s->layers[0]);
  if (status != BESOM_OK) return status;
  copy_settings(s, m);
  s->n_layers = 1;
  s->fpr_left = s->fpr - rate_of_layer(s, s->layers[0], s->fpr / 2);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

/* Whether the digest is an exception of the chain. */
static bool is_denied(const struct scaling *s, besom_digest d) {
  return exception_ops(s) && exception_ops(s)->has(newest(s), d);
}

/* The newest layer holds about half of all keys, so it is queried first. */
static bool contains(const besom_filter *f, besom_digest d) {
  const struct scaling *s = const_scaling(f);
  for (uint64_t i = s->n_layers; i--;)
    if (s->layers[i]->kind->contains(s->layers[i], d)) return !is_denied(s, d);
  return false;
}

#define BATCH 256

/* Queries an older layer for the keys of a batch that have a no so far. */
static void query_layer(const struct scaling *s, const besom_filter *layer, const besom_digest *d,
                        size_t n, uint64_t *bitmap) {
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
  for (size_t i = 0; i < m; i++) {
    bool yes = answers[i / 64] >> (i % 64) & 1;
    bitmap[number[i] / 64] |= (uint64_t)(yes && !is_denied(s, asked[i])) << (number[i] % 64);
  }
}

static void contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  const struct scaling *s = const_scaling(f);
  newest(s)->kind->contains_many(newest(s), d, n, bitmap);
  for (size_t at = 0; s->n_layers > 1 && at < n; at += BATCH)
    for (uint64_t i = s->n_layers - 1; i--;)
      query_layer(s, s->layers[i], d + at, n - at < BATCH ? n - at : BATCH, bitmap + at / 64);
}

static besom_status count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct scaling *s = const_scaling(f);
  *n = 0;
  if (!s->base.kind->count) return BESOM_UNSUPPORTED;
  for (uint64_t i = 0; i < s->n_layers && !is_denied(s, d); i++) {
    uint64_t here = 0;
    besom_status status = s->base.kind->count(s->layers[i], d, &here);
    if (status != BESOM_OK) return status;
    *n += here;
  }
  return BESOM_OK;
}

/*
 * The layer with the longest fingerprint that matches; NULL if none does. *matching: in how many
 * layers one does. Levels count because the quotient of level i has i bits more.
 */
static besom_filter *longest_match(const struct scaling *s, besom_digest d, unsigned *matching) {
  besom_filter *found = NULL;
  unsigned longest = 0;
  *matching = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    unsigned bits = s->base.kind->longest_match(s->layers[i], d);
    if (!bits) continue;
    ++*matching;
    bits += s->levels[i];
    if (bits < longest) continue;
    longest = bits;
    found = s->layers[i];
  }
  return found;
}

/* ------------------------------------------------------------------ values */

static besom_status get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  const struct scaling *s = const_scaling(f);
  unsigned matching;
  if (!s->base.kind->get_value || !s->first_slots) return BESOM_UNSUPPORTED;
  if (!s->value_bits) return BESOM_INVALID;
  const besom_filter *layer = is_denied(s, d) ? NULL : longest_match(s, d, &matching);
  return layer ? layer->kind->get_value(layer, d, value) : BESOM_NOT_FOUND;
}

static besom_status set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct scaling *s = scaling(f);
  unsigned matching;
  if (!s->base.kind->set_value || !s->first_slots) return BESOM_UNSUPPORTED;
  if (!s->value_bits || value >> s->value_bits) return BESOM_INVALID;
  besom_filter *layer = is_denied(s, d) ? NULL : longest_match(s, d, &matching);
  if (!layer) return BESOM_NOT_FOUND;
  return matching > 1 ? BESOM_AMBIGUOUS : layer->kind->set_value(layer, d, value);
}

/* ------------------------------------------------------------------ inserts */

static besom_status put(struct scaling *s, besom_filter *layer, besom_digest d, uint64_t n) {
  uint64_t before = layer->items;
  besom_status status =
      n == 1 ? layer->kind->insert(layer, d) : layer->kind->insert_count(layer, d, n);
  s->head.items += layer->items - before;
  return status;
}

/* Inserts into an older layer: these have room after removes. The newest one has the exceptions. */
static besom_status put_into_older(struct scaling *s, besom_digest d, uint64_t n) {
  besom_status status = BESOM_FULL;
  for (uint64_t i = s->n_layers - 1; s->first_slots && i-- && status == BESOM_FULL;)
    status = put(s, s->layers[i], d, n);
  if (status == BESOM_OK && exception_ops(s)) exception_ops(s)->remove(newest(s), d);
  return status;
}

/*
 * Inserts into a new layer. If that is too small for so many copies, into the next one. If there is
 * no memory, no layer stays.
 */
static besom_status put_into_new(struct scaling *s, besom_digest d, uint64_t n) {
  uint64_t layers = s->n_layers;
  double fpr_left = s->fpr_left;
  besom_status status = BESOM_FULL;
  while (status == BESOM_FULL) {
    status = add_layer(s);
    if (status != BESOM_OK) break;
    status = put(s, newest(s), d, n);
  }
  if (status == BESOM_OK) return BESOM_OK;
  while (s->n_layers > layers) drop_layer(s);
  s->fpr_left = fpr_left;
  return status;
}

static besom_status insert_copies(besom_filter *f, besom_digest d, uint64_t n) {
  struct scaling *s = scaling(f);
  besom_status status = put(s, newest(s), d, n);
  if (status == BESOM_FULL) status = put_into_older(s, d, n);
  return status == BESOM_FULL ? put_into_new(s, d, n) : status;
}

/* A kind without counts does not store a key twice. */
static besom_status insert(besom_filter *f, besom_digest d) {
  return !scaling(f)->base.kind->count && contains(f, d) ? BESOM_OK : insert_copies(f, d, 1);
}

static besom_status insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  const struct besom_kind *kind = scaling(f)->base.kind;
  if (!kind->insert_count) return BESOM_UNSUPPORTED;
  if (n > MAX_SCALING_COPIES - f->items || (kind->info.max_copies && n > kind->info.max_copies))
    return BESOM_FULL;
  return insert_copies(f, d, n);
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
    status = insert(f, d[*done]); /* into another layer, or a new one */
    *done += status == BESOM_OK;
  }
  return status;
}

/* ------------------------------------------------------------------ removing and adapting */

static besom_status remove_key(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  unsigned matching;
  if (!s->first_slots) return BESOM_UNSUPPORTED;
  besom_filter *layer = is_denied(s, d) ? NULL : longest_match(s, d, &matching);
  if (!layer) return BESOM_NOT_FOUND;
  besom_status status = layer->kind->remove(layer, d);
  f->items -= status == BESOM_OK;
  return status;
}

static besom_status no_add(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  return exception_ops(s) ? newest(s)->kind->no_add(newest(s), d) : BESOM_UNSUPPORTED;
}

static besom_status no_remove(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  return exception_ops(s) ? newest(s)->kind->no_remove(newest(s), d) : BESOM_UNSUPPORTED;
}

static double reserve_used(const besom_filter *layer) {
  besom_statistics stats;
  besom_stats(layer, &stats);
  return stats.reserve_used;
}

/*
 * Without a common table of exceptions, every layer that answers yes adapts, the one with the
 * smallest free reserve first. If that succeeds, the others succeed, too, unless memory runs out in
 * between. In that case the layers that have adapted stay adapted.
 */
static besom_status adapt(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  besom_status all = BESOM_OK;
  if (!s->base.kind->adapt) return BESOM_UNSUPPORTED;
  if (exception_ops(s))
    return is_denied(s, d) || contains(f, d) ? exception_ops(s)->add(newest(s), d) : BESOM_OK;
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
  besom__add_counter(out, "expansion", UINT64_C(1) << s->growth);
}

/* What the base can do, as far as scaling passes it on; and growing. */
static unsigned abilities(const besom_filter *f) {
  const struct scaling *s = const_scaling(f);
  unsigned passed_on = BESOM_CAN_COUNT | BESOM_CAN_ADAPT | BESOM_FORGETS;
  if (s->first_slots) passed_on |= BESOM_CAN_REMOVE | BESOM_CAN_MERGE | BESOM_CAN_VALUE;
  if (exception_ops(s)) passed_on |= BESOM_CAN_NO_LIST;
  return BESOM_CAN_INSERT | BESOM_CAN_SCALE | (besom_abilities(s->layers[0]) & passed_on);
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

/* The instruction set is that of the machine: it is not saved. */
static struct layer_kind saved_options(const struct scaling *s) {
  struct layer_kind saved = {.options = ""};
  const char *text = s->base.options;
  struct option option;
  while (besom__option_next(&text, &option) == BESOM_OK)
    if (!besom__option_is(&option, "isa")) besom__layer_option(&saved, &option);
  return saved;
}

/* Whether it is a text of options as save writes it. Bad ones are found when a layer is added. */
static bool load_options(struct scaling *s, struct byte_reader *r) {
  besom__read_bytes(r, s->base.options, sizeof s->base.options);
  if (!memchr(s->base.options, 0, sizeof s->base.options)) return false;
  struct layer_kind saved = saved_options(s);
  return memcmp(saved.options, s->base.options, sizeof saved.options) == 0;
}

static void save(const besom_filter *f, struct sections_out *out) {
  const struct scaling *s = const_scaling(f);
  besom__write_u64(&out->parameters, s->n_layers);
  besom__write_u64(&out->parameters, s->first_capacity);
  besom__write_u64(&out->parameters, s->first_slots);
  besom__write_double(&out->parameters, s->fpr);
  besom__write_double(&out->parameters, s->fpr_left);
  besom__write_u32(&out->parameters, s->growth);
  besom__write_double(&out->parameters, s->reserve);
  besom__write_u64(&out->parameters, s->no_capacity);
  besom__write_double(&out->parameters, s->repeated);
  besom__write_u64(&out->parameters, s->copies);
  besom__write_u32(&out->parameters, s->value_bits);
  struct layer_kind saved = saved_options(s);
  besom__write_bytes(&out->parameters, saved.options, sizeof saved.options);
  for (uint64_t i = 0; i < s->n_layers; i++) besom__layer_save(s->layers[i], out);
}

/* The level of the last layer; false if it cannot be there. Removing depends on its slots. */
static bool find_level(struct scaling *s) {
  const besom_filter *layer = newest(s);
  uint64_t last = s->n_layers - 1, slots = slots_of(layer), level = 0;
  if (layer->kind != s->layers[0]->kind || is_kind(layer->kind, &besom__scaling)) return false;
  if (s->first_slots)
    while (level < MAX_LEVEL - 1 && s->first_slots << level < slots) level++;
  else
    level = last * s->growth;
  s->levels[last] = (uint8_t)level;
  if (last ? level < s->levels[last - 1] : level > 0) return false;
  if (level >= MAX_LEVEL) return false;
  return s->first_slots ? slots == s->first_slots << level
                        : layer->capacity >> level >= s->first_capacity;
}

static besom_status load_layers(besom_filter *f, struct sections_in *in, uint64_t n) {
  struct scaling *s = scaling(f);
  besom_status status = BESOM_OK;
  while (s->n_layers < n && status == BESOM_OK) {
    status = besom__layer_load(f, in, &s->layers[s->n_layers]);
    if (status != BESOM_OK) break;
    s->n_layers++;
    if (!find_level(s)) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) return status;
  s->base.kind = s->layers[0]->kind;
  bool has_prefixes = s->base.kind->longest_match, has_values = s->base.kind->get_value;
  if (has_prefixes != (s->first_slots > 0) || (s->value_bits && !has_values)) return BESOM_CORRUPT;
  return BESOM_OK;
}

static besom_status load(besom_filter *f, struct sections_in *in) {
  struct scaling *s = scaling(f);
  uint64_t n = besom__read_u64(&in->parameters);
  s->first_capacity = besom__read_u64(&in->parameters);
  s->first_slots = besom__read_u64(&in->parameters);
  s->fpr = besom__read_double(&in->parameters);
  s->fpr_left = besom__read_double(&in->parameters);
  uint32_t growth = besom__read_u32(&in->parameters);
  s->reserve = besom__read_double(&in->parameters);
  s->no_capacity = besom__read_u64(&in->parameters);
  s->repeated = besom__read_double(&in->parameters);
  s->copies = besom__read_u64(&in->parameters);
  s->value_bits = besom__read_u32(&in->parameters);
  if (!load_options(s, &in->parameters)) return BESOM_CORRUPT;
  if (n == 0 || n > MAX_SCALING_LAYERS || f->capacity != MAX_CAPACITY) return BESOM_CORRUPT;
  if (s->first_capacity == 0 || s->first_capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  if (!(s->fpr_left > 0 && s->fpr_left < s->fpr)) return BESOM_CORRUPT;
  if (growth < 1 || growth > MAX_GROWTH) return BESOM_CORRUPT;
  s->growth = (uint8_t)growth;
  if (s->first_slots > MAX_CAPACITY || s->no_capacity > MAX_CAPACITY) return BESOM_CORRUPT;
  if (!(s->fpr > 0 && s->fpr <= 1 && s->reserve >= 0 && s->reserve <= 0.5)) return BESOM_CORRUPT;
  if (!(s->repeated >= 0 && s->repeated <= 1) || s->copies > MAX_EXPECTED_COPIES)
    return BESOM_CORRUPT;
  besom_status status = load_layers(f, in, n);
  if (status != BESOM_OK) destroy(f);
  return status;
}

const struct besom_kind besom__scaling = {
    .info = {"scaling", "a growing chain of filters of another kind, for sets of unknown size",
             BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT | BESOM_CAN_MERGE |
                 BESOM_CAN_SCALE},
    .size = sizeof(struct scaling),
    .takes_repeats = true,
    .create = create,
    .create_like = create_like,
    .destroy = destroy,
    .contains = contains,
    .contains_many = contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .insert_count = insert_count,
    .remove = remove_key,
    .count = count,
    .adapt = adapt,
    .no_add = no_add,
    .no_remove = no_remove,
    .get_value = get_value,
    .set_value = set_value,
    .merge = besom__scaling_merge,
    .stats = stats,
    .abilities = abilities,
    .layer = layer_at,
    .validate = validate,
    .save = save,
    .load = load,
};
