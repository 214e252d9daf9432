/*
 * The form of scaling with maplet=yes (besom_map.h): a chain of aqf maplets. An answer is the union
 * over the layers. Fingerprints of all layers that match a digest are prefixes of each other
 * (scaling.c), so the longest one with a value is taken out, as within one layer. The chain has the
 * reports, its layers none.
 */
#include "chains/scaling.h"
#include "exceptions/pairs.h"

static unsigned scaling_value_bits(const besom_filter *f) {
  return const_scaling(f)->value_bits;
}

/* ------------------------------------------------------------------ queries */

/* What a walk over the candidates of a key has found. */
struct chain_walk {
  const besom_filter *filter;
  besom_digest digest;
  uint64_t *out;
  size_t kept, room, all;
  uint64_t count, value; /* copies; the value that was found last */
  bool complete, several;
};

static bool chain_found(void *ctx, uint64_t value, uint64_t count) {
  struct chain_walk *w = ctx;
  if (pair_is_denied(w->filter, w->digest, value)) return true;
  w->several |= w->all && value != w->value;
  w->value = value;
  w->count += count;
  w->all++;
  w->complete &= besom__keep_value(w->out, &w->kept, w->room, value);
  return true;
}

static struct chain_walk walk_candidates(const besom_filter *f, besom_digest d, uint64_t *out,
                                         size_t room) {
  const struct scaling *s = const_scaling(f);
  struct chain_walk w = {.filter = f, .digest = d, .out = out, .room = room, .complete = true};
  for (uint64_t i = 0; i < s->n_layers; i++)
    s->layers[i]->kind->map->visit(s->layers[i], d, chain_found, &w);
  return w;
}

static size_t chain_get(const besom_filter *f, besom_digest d, uint64_t *out, size_t room) {
  struct chain_walk w = walk_candidates(f, d, out, room);
  return w.complete ? w.kept : w.all;
}

static size_t chain_get_many(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *out,
                             size_t room, size_t *starts) {
  size_t at = starts[0] = 0;
  for (size_t i = 0; i < n; i++) {
    size_t values = chain_get(f, d[i], out + at, room - at);
    if (values > room - at) return i;
    starts[i + 1] = at += values;
  }
  return n;
}

static bool chain_contains(const besom_filter *f, besom_digest d) {
  if (!besom__scaling_contains(f, d)) return false;
  return !has_pairs(f) || walk_candidates(f, d, NULL, 0).all;
}

static void chain_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                uint64_t *bitmap) {
  besom__scaling_contains_many(f, d, n, bitmap);
  if (has_pairs(f)) besom__pairs_deny(f, d, n, bitmap);
}

static besom_status chain_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  *n = walk_candidates(f, d, NULL, 0).count;
  return BESOM_OK;
}

static besom_status chain_only_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct chain_walk w = walk_candidates(f, d, NULL, 0);
  if (w.several) return BESOM_AMBIGUOUS;
  *value = w.value;
  return w.all ? BESOM_OK : BESOM_NOT_FOUND;
}

/* The layer with the longest match of this value; NULL if there is none. */
static besom_filter *chain_longest(const besom_filter *f, besom_digest d, uint64_t value) {
  const struct scaling *s = const_scaling(f);
  besom_filter *found = NULL;
  unsigned longest = 0;
  for (uint64_t i = 0; i < s->n_layers; i++) {
    unsigned bits = s->layers[i]->kind->map->longest(s->layers[i], d, value);
    if (!bits || bits + s->levels[i] < longest) continue;
    longest = bits + s->levels[i];
    found = s->layers[i];
  }
  return found;
}

/* ------------------------------------------------------------------ changes */

static besom_status chain_insert_pair(besom_filter *f, besom_digest d, uint64_t n, uint64_t value) {
  besom_status status = BESOM_OK;
  if (n > MAX_SCALING_COPIES - f->items) return BESOM_FULL;
  if (!f->is_set || !chain_longest(f, d, value)) status = besom__scaling_insert(f, d, n, value);
  if (status == BESOM_OK) besom__pair_forget(f, d, value);
  return status;
}

static besom_status chain_insert_values(besom_filter *f, const besom_digest *d,
                                        const uint64_t *values, size_t n, size_t *done) {
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK)
    status = chain_insert_pair(f, d[*done], 1, values ? values[*done] : 0);
  return status;
}

static besom_status chain_insert(besom_filter *f, besom_digest d) {
  return chain_insert_pair(f, d, 1, 0);
}

static besom_status chain_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                      size_t *done) {
  return chain_insert_values(f, d, NULL, n, done);
}

static besom_status chain_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  return chain_insert_pair(f, d, n, 0);
}

static besom_status chain_remove_value(besom_filter *f, besom_digest d, uint64_t value) {
  besom_filter *layer = chain_longest(f, d, value);
  if (!layer || pair_is_denied(f, d, value)) return BESOM_NOT_FOUND;
  besom_status status = layer->kind->map->remove(layer, d, value);
  f->items -= status == BESOM_OK;
  return status;
}

static besom_status chain_remove(besom_filter *f, besom_digest d) {
  uint64_t value;
  besom_status status = chain_only_value(f, d, &value);
  return status == BESOM_OK ? chain_remove_value(f, d, value) : status;
}

/* A layer without room for one copy more is FULL: another layer has room. */
static besom_status chain_replace(besom_filter *f, besom_digest d, uint64_t old, uint64_t value) {
  besom_filter *layer = chain_longest(f, d, old);
  if (!layer || pair_is_denied(f, d, old)) return BESOM_NOT_FOUND;
  besom_status status = layer->kind->map->replace(layer, d, old, value);
  if (status == BESOM_FULL) {
    status = besom__scaling_insert(f, d, 1, value);
    if (status == BESOM_OK) status = chain_remove_value(f, d, old);
  }
  if (status == BESOM_OK) besom__pair_forget(f, d, value);
  return status;
}

static besom_status chain_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct chain_walk w = walk_candidates(f, d, NULL, 0);
  if (value >> scaling_value_bits(f)) return BESOM_INVALID;
  if (!w.all) return BESOM_NOT_FOUND;
  return w.count > 1 ? BESOM_AMBIGUOUS : chain_replace(f, d, w.value, value);
}

/* ------------------------------------------------------------------ reports */

static besom_status chain_adapt_value(besom_filter *f, besom_digest d, uint64_t value) {
  return chain_longest(f, d, value) ? besom__pair_report(f, d, value) : BESOM_OK;
}

static bool chain_may_hold(const besom_filter *f, besom_digest first, besom_digest last,
                           uint64_t value) {
  const struct scaling *s = const_scaling(f);
  for (uint64_t i = 0; i < s->n_layers; i++)
    if (s->layers[i]->kind->map->may_hold(s->layers[i], first, last, value)) return true;
  return false;
}

/* ------------------------------------------------------------------ whole chains */

static const char *chain_validate(const besom_filter *f) {
  const char *wrong = besom__scaling_validate(f);
  return wrong || besom__pairs_are_sound(f) ? wrong : "a reported pair has the wrong length";
}

static unsigned chain_abilities(const besom_filter *f) {
  return kind_abilities(f->kind) | (f->reports.forget ? BESOM_FORGETS : 0);
}

static const struct map_ops chain_ops = {
    .value_bits = scaling_value_bits,
    .insert = chain_insert_pair,
    .insert_many = chain_insert_values,
    .remove = chain_remove_value,
    .replace = chain_replace,
    .get = chain_get,
    .get_many = chain_get_many,
    .adapt = chain_adapt_value,
    .may_hold = chain_may_hold,
};

const struct besom_kind besom__scaling_maplet = {
    .name = SCALING_NAME,
    .summary = SCALING_SUMMARY,
    .also = BESOM_IS_MAPLET | BESOM_CAN_SCALE | BESOM_STORES_EXCEPTIONS,
    .size = sizeof(struct scaling),
    .takes_repeats = true,
    .keeps_reports = true,
    .map = &chain_ops,
    .create_like = besom__scaling_create_like,
    .destroy = besom__scaling_destroy,
    .visit_blocks = besom__scaling_visit,
    .stats = besom__scaling_stats,
    .abilities = chain_abilities,
    .layer = besom__scaling_layer,
    .query = {.contains = chain_contains,
              .contains_many = chain_contains_many,
              .prefetch = besom__scaling_prefetch,
              .count = chain_count,
              .get_value = chain_only_value},
    .change = &(const struct change_ops){.insert = chain_insert,
                                         .insert_many = chain_insert_many,
                                         .insert_count = chain_insert_count,
                                         .remove = chain_remove,
                                         .set_value = chain_set_value},
    .adapt = &(const struct adapt_ops){.adapt = besom__pair_report_all},
    .whole = &(const struct whole_ops){.merge = besom__scaling_merge},
    .file = &(const struct file_ops){.validate = chain_validate,
                                     .save = besom__scaling_save,
                                     .load = besom__scaling_load},
};
