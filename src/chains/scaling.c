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
 */
#include <math.h>
#include <string.h>

#include "chains/scaling.h"
#include "kinds.h"

#define MAX_WIDTH 64 /* bits of a remainder */
#define MAX_LEVEL 64
#define MAX_GROWTH 16

/* ------------------------------------------------------------------ layers */

static uint64_t scaling_slots_of(const besom_filter *layer) {
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
  if (!s->base.kind->query.longest_match) return asked;
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
  s->fpr_left -= fmin(rate_of_layer(s, layer, s->fpr_left / 2), s->fpr_left / 2);
  s->levels[s->n_layers] = (uint8_t)level;
  s->layers[s->n_layers++] = layer;
  return BESOM_OK;
}

/* Frees the newest layer, which is empty. */
static void scaling_drop_layer(struct scaling *s) {
  besom_free(s->layers[--s->n_layers]);
}

/* ------------------------------------------------------------------ create and destroy */

void besom__scaling_destroy(besom_filter *f) {
  for (uint64_t i = 0; i < scaling(f)->n_layers; i++) besom_free(scaling(f)->layers[i]);
}

/* Layers of kinds that cannot be visited stay where they are. */
void besom__scaling_visit(besom_filter *f, const struct block_visitor *v) {
  struct scaling *s = scaling(f);
  for (uint64_t i = 0; i < s->n_layers; i++) {
    besom_filter *layer = besom__visit_blocks(s->layers[i], v);
    if (layer) s->layers[i] = layer;
  }
}

/* Keeps half of the target for later layers; of rates that are rounded down at least 1/16. */
static double scaling_first_rate(const struct scaling *s) {
  return s->base.kind->query.longest_match ? s->fpr * 15 / 16 : s->fpr / 2;
}

/* With a budget of bits, the first layer determines the rate: its rate is half of the total. */
static besom_status add_first_layer(struct scaling *s, const besom_config *config) {
  besom_config first = config_of_layers(s);
  first.capacity = config->capacity;
  s->fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->bits_per_key != 0)
    first.bits_per_key = config->bits_per_key - 8.0 * sizeof *s / (double)config->capacity;
  else
    first.fpr = scaling_first_rate(s);
  if (first.bits_per_key < 0 || (first.bits_per_key == 0 && !(first.fpr > 0))) return BESOM_INVALID;
  besom_status status = besom__layer_create(&s->head, &s->base, &first, &s->layers[0]);
  if (status != BESOM_OK) return status;
  s->n_layers = 1;
  besom_statistics stats;
  besom_stats(s->layers[0], &stats);
  if (s->base.kind->query.longest_match) s->first_slots = stats.slots;
  if (config->bits_per_key != 0) s->fpr = fmin(2 * stats.fpr_at_capacity, 1);
  s->fpr_left = s->fpr - rate_of_layer(s, s->layers[0], s->fpr / 2);
  return BESOM_OK;
}

struct scaling_values {
  besom_bytes base;
  uint64_t expansion;
};

static const struct option_row scaling_rows[] = {
    OPTION_ROW(scaling_values, base, BESOM_OPTION_KIND, .standard = "qf",
               .meaning = "the kind of the layers"),
    OPTION_NUMBER(scaling_values, expansion, POWER, 2, UINT64_C(1) << MAX_GROWTH, "2",
                  "capacity of a new layer, divided by that of the one before"),
};

/* A chain of maplets is a maplet, and one of sets of pairs is a set. */
static void scaling_settle(besom_filter *f) {
  const besom_filter *layer = scaling(f)->layers[0];
  if (!layer->kind->map) return;
  if (f->kind->maplet) f->kind = f->kind->maplet;
  f->is_set |= layer->is_set;
}

static besom_status scaling_create(besom_filter *f, const besom_config *config) {
  struct scaling *s = scaling(f);
  struct scaling_values o;
  besom_status status = besom__layered_options_read(f->kind, config->options, &o, &s->base);
  if (status != BESOM_OK) return status;
  s->growth = trailing_zeros(o.expansion);
  if (config->slots || (config->value_bits && !s->base.kind->query.longest_match))
    return BESOM_INVALID;
  f->capacity = MAX_CAPACITY;
  s->first_capacity = config->capacity;
  s->reserve = config->reserve;
  s->value_bits = config->value_bits;
  s->no_capacity = config->no_capacity;
  s->repeated = config->repeated;
  s->copies = config->copies;
  status = add_first_layer(s, config);
  if (status == BESOM_OK) scaling_settle(f);
  return status;
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

besom_status besom__scaling_create_like(besom_filter *f, const besom_filter *model) {
  const struct scaling *m = const_scaling(model);
  struct scaling *s = scaling(f);
  besom_status status = besom_create_like(m->layers[0], &s->layers[0]);
  if (status != BESOM_OK) return status;
  copy_settings(s, m);
  s->n_layers = 1;
  s->fpr_left = s->fpr - rate_of_layer(s, s->layers[0], s->fpr / 2);
  scaling_settle(f);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

/* The newest layer holds about half of all keys, so it is queried first. */
bool besom__scaling_contains(const besom_filter *f, besom_digest d) {
  const struct scaling *s = const_scaling(f);
  for (uint64_t i = s->n_layers; i--;)
    if (s->layers[i]->kind->query.contains(s->layers[i], d)) return true;
  return false;
}

void besom__scaling_prefetch(const besom_filter *f, besom_digest d) {
  const struct scaling *s = const_scaling(f);
  for (uint64_t i = s->n_layers; i--;) layer_prefetch(s->layers[i], d);
}

#define BATCH 256

/* Queries an older layer for the keys of a batch that have a no so far. */
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
  layer->kind->query.contains_many(layer, asked, m, answers);
  for (size_t i = 0; i < m; i++)
    bitmap[number[i] / 64] |= (answers[i / 64] >> (i % 64) & 1) << (number[i] % 64);
}

void besom__scaling_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  const struct scaling *s = const_scaling(f);
  newest(s)->kind->query.contains_many(newest(s), d, n, bitmap);
  for (size_t at = 0; s->n_layers > 1 && at < n; at += BATCH)
    for (uint64_t i = s->n_layers - 1; i--;)
      query_layer(s->layers[i], d + at, n - at < BATCH ? n - at : BATCH, bitmap + at / 64);
}

static besom_status scaling_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct scaling *s = const_scaling(f);
  *n = 0;
  if (!s->base.kind->query.count) return BESOM_UNSUPPORTED;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    uint64_t here = 0;
    besom_status status = s->layers[i]->kind->query.count(s->layers[i], d, &here);
    if (status != BESOM_OK) return status;
    *n += here;
  }
  return BESOM_OK;
}

/*
 * The layer with the longest fingerprint that matches; NULL if none does. *matching: in how many
 * layers one does. Levels count because the quotient of level i has i bits more.
 */
static besom_filter *scaling_longest_match(const struct scaling *s, besom_digest d,
                                           unsigned *matching) {
  besom_filter *found = NULL;
  unsigned longest = 0;
  *matching = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    unsigned bits = s->base.kind->query.longest_match(s->layers[i], d);
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

static besom_status scaling_get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  const struct scaling *s = const_scaling(f);
  unsigned matching;
  if (!s->base.kind->query.get_value || !s->first_slots) return BESOM_UNSUPPORTED;
  if (!s->value_bits) return BESOM_INVALID;
  const besom_filter *layer = scaling_longest_match(s, d, &matching);
  return layer ? layer->kind->query.get_value(layer, d, value) : BESOM_NOT_FOUND;
}

static besom_status scaling_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct scaling *s = scaling(f);
  unsigned matching;
  if (!KIND_HAS(s->base.kind, change, set_value) || !s->first_slots) return BESOM_UNSUPPORTED;
  if (!s->value_bits || value >> s->value_bits) return BESOM_INVALID;
  besom_filter *layer = scaling_longest_match(s, d, &matching);
  if (!layer) return BESOM_NOT_FOUND;
  return matching > 1 ? BESOM_AMBIGUOUS : layer->kind->change->set_value(layer, d, value);
}

/* ------------------------------------------------------------------ inserts */

static besom_status scaling_put(struct scaling *s, besom_filter *layer, besom_digest d, uint64_t n,
                                uint64_t value) {
  uint64_t before = layer->items;
  besom_status status = layer->kind->map ? layer->kind->map->insert(layer, d, n, value)
                        : n == 1         ? layer->kind->change->insert(layer, d)
                                         : layer->kind->change->insert_count(layer, d, n);
  s->head.items += layer->items - before;
  return status;
}

/* Inserts into an older layer: these have room after removes. */
static __attribute__((noinline)) besom_status put_into_older(struct scaling *s, besom_digest d,
                                                             uint64_t n, uint64_t value) {
  besom_status status = BESOM_FULL;
  for (uint64_t i = s->n_layers - 1; s->first_slots && i-- && status == BESOM_FULL;)
    status = scaling_put(s, s->layers[i], d, n, value);
  return status;
}

/*
 * Inserts into a new layer. If that is too small for so many copies, into the next one. If there is
 * no memory, no layer stays.
 */
static __attribute__((noinline)) besom_status put_into_new(struct scaling *s, besom_digest d,
                                                           uint64_t n, uint64_t value) {
  uint64_t layers = s->n_layers;
  double fpr_left = s->fpr_left;
  besom_status status = BESOM_FULL;
  while (status == BESOM_FULL) {
    status = add_layer(s);
    if (status != BESOM_OK) break;
    status = scaling_put(s, newest(s), d, n, value);
  }
  if (status == BESOM_OK) return BESOM_OK;
  while (s->n_layers > layers) scaling_drop_layer(s);
  s->fpr_left = fpr_left;
  return status;
}

/*
 * Whether n more copies of a key are more than the base holds. A new layer would take them, but
 * each has twice the memory of the one before, and some copies of one key would fill any memory.
 * Matches of other keys count, too.
 */
static bool scaling_has_too_many_copies(const struct scaling *s, besom_digest d, uint64_t n) {
  uint64_t most = newest(s)->kind->max_copies, copies = n;
  for (uint64_t i = 0; most && i < s->n_layers; i++) {
    uint64_t here = 0;
    if (s->layers[i]->kind->query.count(s->layers[i], d, &here) == BESOM_OK) copies += here;
  }
  return most && copies > most;
}

besom_status besom__scaling_insert(besom_filter *f, besom_digest d, uint64_t n, uint64_t value) {
  struct scaling *s = scaling(f);
  if (s->n_layers > 1 && scaling_has_too_many_copies(s, d, n)) return BESOM_FULL;
  besom_status status = scaling_put(s, newest(s), d, n, value);
  if (status == BESOM_FULL && s->n_layers == 1 && scaling_has_too_many_copies(s, d, n))
    return BESOM_FULL;
  if (status == BESOM_FULL) status = put_into_older(s, d, n, value);
  return status == BESOM_FULL ? put_into_new(s, d, n, value) : status;
}

/* A kind without counts does not store a key twice. */
static besom_status scaling_insert(besom_filter *f, besom_digest d) {
  return !scaling(f)->base.kind->query.count && besom__scaling_contains(f, d)
             ? BESOM_OK
             : besom__scaling_insert(f, d, 1, 0);
}

static besom_status scaling_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  const struct besom_kind *kind = scaling(f)->base.kind;
  if (!KIND_HAS(kind, change, insert_count)) return BESOM_UNSUPPORTED;
  if (n > MAX_SCALING_COPIES - f->items) return BESOM_FULL;
  if (kind->max_copies && n > newest(scaling(f))->kind->max_copies) return BESOM_FULL;
  return besom__scaling_insert(f, d, n, 0);
}

static besom_status scaling_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done) {
  struct scaling *s = scaling(f);
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK;) {
    size_t some = 0;
    bool at_once = s->n_layers == 1 || !s->base.kind->max_copies;
    if (s->base.kind->query.count && at_once) {
      uint64_t items = newest(s)->items;
      status = newest(s)->kind->change->insert_many(newest(s), d + *done, n - *done, &some);
      f->items += newest(s)->items - items;
      *done += some;
      if (status != BESOM_FULL) continue;
    }
    status = scaling_insert(f, d[*done]); /* into another layer, or a new one */
    *done += status == BESOM_OK;
  }
  return status;
}

/* ------------------------------------------------------------------ removing */

static besom_status scaling_remove(besom_filter *f, besom_digest d) {
  struct scaling *s = scaling(f);
  unsigned matching;
  if (!s->first_slots) return BESOM_UNSUPPORTED;
  besom_filter *layer = scaling_longest_match(s, d, &matching);
  if (!layer) return BESOM_NOT_FOUND;
  besom_status status = layer->kind->change->remove(layer, d);
  f->items -= status == BESOM_OK;
  return status;
}

/* ------------------------------------------------------------------ whole filters */

void besom__scaling_stats(const besom_filter *f, struct stats_out *out) {
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
static unsigned scaling_abilities(const besom_filter *f) {
  const struct scaling *s = const_scaling(f);
  unsigned passed_on = BESOM_CAN_COUNT;
  if (s->first_slots) passed_on |= BESOM_CAN_REMOVE | BESOM_CAN_MERGE | BESOM_CAN_VALUE;
  return BESOM_CAN_INSERT | BESOM_CAN_SCALE | (besom__own_abilities(s->layers[0]) & passed_on);
}

/* The slots of the layers are powers of two apart, so that the longest fingerprint decides. */
static unsigned scaling_prefix_bits(const besom_filter *f) {
  const struct scaling *s = const_scaling(f);
  unsigned longest = 0;
  for (uint64_t i = 0; s->base.kind->query.prefix_bits && i < s->n_layers; i++) {
    unsigned bits = s->base.kind->query.prefix_bits(s->layers[i]);
    if (!bits) return 0;
    if (longest < bits) longest = bits;
  }
  return longest;
}

const besom_filter *besom__scaling_layer(const besom_filter *f, size_t i) {
  return i < const_scaling(f)->n_layers ? const_scaling(f)->layers[i] : NULL;
}

const char *besom__scaling_validate(const besom_filter *f) {
  const struct scaling *s = const_scaling(f);
  uint64_t items = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    const char *wrong = s->layers[i]->kind->file->validate(s->layers[i]);
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
    if (!besom__says(option.name, "isa"))
      besom__option_append(saved.options, sizeof saved.options, &option);
  return saved;
}

/* Whether it is a text of options as save writes it. Bad ones are found when a layer is added. */
static bool load_options(struct scaling *s, struct byte_reader *r) {
  besom__read_bytes(r, s->base.options, sizeof s->base.options);
  if (!memchr(s->base.options, 0, sizeof s->base.options)) return false;
  struct layer_kind saved = saved_options(s);
  return memcmp(saved.options, s->base.options, sizeof saved.options) == 0;
}

void besom__scaling_save(const besom_filter *f, struct sections_out *out) {
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
  uint64_t last = s->n_layers - 1, slots = scaling_slots_of(layer), level = 0;
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

/* Files of 0.2.0 have the exceptions of a chain in its newest layer. */
static void lift_exceptions(besom_filter *f) {
  besom_filter *layer = newest(scaling(f));
  f->exceptions = layer->exceptions;
  layer->exceptions = NULL;
  f->reports = (struct report_options){.most = layer->reports.most,
                                       .no_capacity = scaling(f)->no_capacity,
                                       .reserve = scaling(f)->reserve,
                                       .forget = layer->reports.forget,
                                       .form = layer->reports.form};
}

static besom_status scaling_load_layers(besom_filter *f, struct sections_in *in, uint64_t n) {
  struct scaling *s = scaling(f);
  besom_status status = BESOM_OK;
  while (s->n_layers < n && status == BESOM_OK) {
    status = besom__layer_load(f, in, &s->layers[s->n_layers]);
    if (status != BESOM_OK) break;
    s->n_layers++;
    if (!find_level(s)) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) return status;
  s->base.kind = besom__in_this_build(s->layers[0]->kind);
  scaling_settle(f);
  bool has_prefixes = s->base.kind->query.longest_match, has_values = s->base.kind->query.get_value;
  if (has_prefixes != (s->first_slots > 0) || (s->value_bits && !has_values)) return BESOM_CORRUPT;
  lift_exceptions(f);
  return BESOM_OK;
}

besom_status besom__scaling_load(besom_filter *f, struct sections_in *in) {
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
  besom_status status = scaling_load_layers(f, in, n);
  if (status != BESOM_OK) besom__scaling_destroy(f);
  return status;
}

const struct besom_kind besom__scaling = {
    .name = SCALING_NAME,
    .summary = SCALING_SUMMARY,
    .also = BESOM_CAN_SCALE,
    .except = BESOM_CAN_VALUE, /* the default base has none */
    .size = sizeof(struct scaling),
    .options = {OPTION_ROWS(scaling_rows), .passes_on = true},
    .takes_repeats = true,
    .maplet = &besom__scaling_maplet,
    .create = scaling_create,
    .create_like = besom__scaling_create_like,
    .destroy = besom__scaling_destroy,
    .visit_blocks = besom__scaling_visit,
    .stats = besom__scaling_stats,
    .abilities = scaling_abilities,
    .layer = besom__scaling_layer,
    .query = {.contains = besom__scaling_contains,
              .contains_many = besom__scaling_contains_many,
              .prefetch = besom__scaling_prefetch,
              .count = scaling_count,
              .prefix_bits = scaling_prefix_bits,
              .get_value = scaling_get_value},
    .change = &(const struct change_ops){.insert = scaling_insert,
                                         .insert_many = scaling_insert_many,
                                         .insert_count = scaling_insert_count,
                                         .remove = scaling_remove,
                                         .set_value = scaling_set_value},
    .whole = &(const struct whole_ops){.merge = besom__scaling_merge},
    .file = &(const struct file_ops){.validate = besom__scaling_validate,
                                     .save = besom__scaling_save,
                                     .load = besom__scaling_load},
};
