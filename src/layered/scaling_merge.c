/*
 * Merging two chains of layers whose fingerprints are prefixes of the digest. Layers of one level
 * become one if both fit into it. Else the result has several layers of this level: a fingerprint
 * cannot move to another level, which has longer ones. The rates of all layers add up.
 */
#include "layered/scaling.h"

/* A filter that holds what both layers hold. b may be NULL. */
static besom_status unite(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  besom_filter *empty = NULL;
  besom_status status = b ? BESOM_OK : besom_create_like(a, &empty);
  if (status == BESOM_OK) status = besom_create_like(a, out);
  if (status == BESOM_OK) {
    status = a->kind->merge(a, b ? b : empty, *out);
    if (status != BESOM_OK) besom_free(*out);
  }
  besom_free(empty);
  return status;
}

/* Adds what a layer holds: to the layer of its level if both fit, else as a layer of its own. */
static besom_status merge_layer(struct scaling *s, const struct scaling *from, uint64_t i) {
  uint8_t level = from->levels[i];
  uint64_t at = 0;
  while (at < s->n_layers && s->levels[at] <= level) at++;
  bool same = at && s->levels[at - 1] == level;
  besom_filter *layer;
  besom_status status = same ? unite(s->layers[at - 1], from->layers[i], &layer) : BESOM_FULL;
  if (status == BESOM_OK) {
    besom_free(s->layers[at - 1]);
    s->layers[at - 1] = layer;
  }
  if (status != BESOM_FULL) return status;
  if (s->n_layers == MAX_MERGED_LAYERS) return BESOM_FULL;
  status = unite(from->layers[i], NULL, &layer);
  if (status != BESOM_OK) return status;
  memmove(s->layers + at + 1, s->layers + at, (s->n_layers - at) * sizeof *s->layers);
  memmove(s->levels + at + 1, s->levels + at, (s->n_layers - at) * sizeof *s->levels);
  s->layers[at] = layer;
  s->levels[at] = level;
  s->n_layers++;
  return BESOM_OK;
}

/* An exception of one chain is kept unless the other chain holds the key. */
static besom_status merge_exceptions(struct scaling *s, const struct scaling *x,
                                     const struct scaling *y) {
  const struct layer_exception_ops *ops = exception_ops(s);
  if (!ops) return BESOM_OK;
  /* merging layers has kept what the other layer does not hold; the other chain matters */
  for (uint64_t i = 0; i < s->n_layers; i++) ops->move(s->layers[i], NULL);
  besom_status status = ops->merge(newest(s), newest(x), y->layers, y->n_layers);
  return status == BESOM_OK ? ops->merge(newest(s), newest(y), x->layers, x->n_layers) : status;
}

static bool alike(const struct scaling *x, const struct scaling *y) {
  return x->base.kind == y->base.kind && x->first_slots == y->first_slots && x->fpr == y->fpr &&
         x->growth == y->growth && x->value_bits == y->value_bits;
}

besom_status besom__scaling_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  const struct scaling *x = const_scaling(a), *y = const_scaling(b);
  struct scaling *s = scaling(into);
  if (!x->first_slots || !y->first_slots) return BESOM_UNSUPPORTED;
  if (!alike(x, y)) return BESOM_INCOMPATIBLE;
  if (a->items > MAX_COPIES - b->items) return BESOM_FULL;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < x->n_layers && status == BESOM_OK; i++) status = merge_layer(s, x, i);
  for (uint64_t i = 0; i < y->n_layers && status == BESOM_OK; i++) status = merge_layer(s, y, i);
  if (status == BESOM_OK) status = merge_exceptions(s, x, y);
  const struct scaling *longer = x->levels[x->n_layers - 1] > y->levels[y->n_layers - 1] ? x : y;
  s->fpr_left = longer->fpr_left;
  into->items = a->items + b->items;
  return status;
}
