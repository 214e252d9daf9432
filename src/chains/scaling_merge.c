/*
 * Merging two chains of layers whose fingerprints are prefixes of the digest. Two layers of one
 * level and width become one if both fit into it. Else both are doubled, which takes a bit from the
 * remainders and changes no fingerprint, and become one layer of the next level. So the number of
 * layers grows with the logarithm of the number of merged chains. The rates of all layers add up.
 *
 * Layers are in the order of their levels, then of their widths.
 */
#include "chains/scaling.h"

/* A filter that holds what both layers hold. b may be NULL. */
static besom_status unite(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  besom_filter *empty = NULL;
  besom_status status = b ? BESOM_OK : besom_create_like(a, &empty);
  if (status == BESOM_OK) status = besom_create_like(a, out);
  if (status == BESOM_OK) {
    status = a->kind->whole->merge(a, b ? b : empty, *out);
    if (status != BESOM_OK) besom_free(*out);
  }
  besom_free(empty);
  return status;
}

static besom_statistics scaling_merge_stats_of(const besom_filter *layer) {
  besom_statistics stats = {0};
  besom_stats(layer, &stats);
  return stats;
}

/* A layer, its level and the width of its remainders. */
struct leveled {
  const besom_filter *layer;
  besom_filter *owned; /* the same, or NULL */
  unsigned level, width;
};

/* The highest level and the longest fingerprints, in bits, of both chains. */
struct order_end {
  unsigned level, length;
};

static struct leveled layer_of(const struct scaling *s, uint64_t i) {
  return (struct leveled){.layer = s->layers[i],
                          .level = s->levels[i],
                          .width = scaling_merge_stats_of(s->layers[i]).width};
}

/* More slots for what one layer holds. */
static besom_status enlarged(const besom_filter *layer, unsigned factor, besom_filter **out) {
  besom_status status = unite(layer, NULL, out);
  if (status != BESOM_OK) return status;
  status = besom_resize(*out, factor * scaling_merge_stats_of(layer).slots, NULL);
  if (status != BESOM_OK) besom_free(*out);
  return status;
}

static besom_status enlarge_and_unite(const besom_filter *a, const besom_filter *b, unsigned factor,
                                      besom_filter **out) {
  besom_filter *x, *y;
  besom_status status = enlarged(a, factor, &x);
  if (status != BESOM_OK) return status;
  status = enlarged(b, factor, &y);
  if (status == BESOM_OK) {
    status = unite(x, y, out);
    besom_free(y);
  }
  besom_free(x);
  return status;
}

/* The number of layers that are before this one in the order, or equal to it. */
static uint64_t scaling_merge_place_of(const struct scaling *s, const struct leveled *l) {
  uint64_t at = 0;
  for (; at < s->n_layers; at++) {
    struct leveled other = layer_of(s, at);
    if (other.level > l->level || (other.level == l->level && other.width > l->width)) break;
  }
  return at;
}

static besom_status insert_layer(struct scaling *s, uint64_t at, struct leveled *l) {
  if (s->n_layers == MAX_MERGED_LAYERS) return BESOM_FULL;
  besom_filter *layer = l->owned;
  besom_status status = layer ? BESOM_OK : unite(l->layer, NULL, &layer);
  if (status != BESOM_OK) return status;
  memmove(s->layers + at + 1, s->layers + at, (s->n_layers - at) * sizeof *s->layers);
  memmove(s->levels + at + 1, s->levels + at, (s->n_layers - at) * sizeof *s->levels);
  s->layers[at] = layer;
  s->levels[at] = (uint8_t)l->level;
  s->n_layers++;
  l->owned = NULL;
  return BESOM_OK;
}

/* Empties the first layer, which every chain has, or takes another one out of the chain. */
static besom_status scaling_merge_drop_layer(struct scaling *s, uint64_t at) {
  besom_filter *empty;
  if (at == 0) {
    besom_status status = besom_create_like(s->layers[0], &empty);
    if (status != BESOM_OK) return status;
    besom_free(s->layers[0]);
    s->layers[0] = empty;
    return BESOM_OK;
  }
  besom_free(s->layers[at]);
  s->n_layers--;
  memmove(s->layers + at, s->layers + at + 1, (s->n_layers - at) * sizeof *s->layers);
  memmove(s->levels + at, s->levels + at + 1, (s->n_layers - at) * sizeof *s->levels);
  return BESOM_OK;
}

/*
 * Unites two layers of one shape in a layer of the next level, or of the one after that: twice the
 * slots may have room for one key less than twice the keys. FULL, with l unchanged: not possible,
 * or the layer would be behind one with longer fingerprints.
 */
static besom_status unite_at_next_level(const besom_filter *same, struct leveled *l,
                                        const struct order_end *end) {
  besom_status status = BESOM_FULL;
  for (unsigned up = 1; up <= 2 && status == BESOM_FULL; up++) {
    bool in_order = l->level + up <= end->level || l->level + l->width >= end->length;
    besom_filter *united;
    if (l->width <= up || !in_order) break;
    status = enlarge_and_unite(same, l->layer, 1u << up, &united);
    if (status != BESOM_OK) continue;
    besom_free(l->owned);
    l->layer = l->owned = united;
    l->level += up;
    l->width -= up;
  }
  return status == BESOM_INVALID ? BESOM_FULL : status;
}

/*
 * Adds what a layer holds: to an equal one if both fit, else to an equal one of the next level, or
 * as a layer of its own.
 */
static besom_status add_leveled(struct scaling *s, struct leveled *l, const struct order_end *end) {
  for (;;) {
    uint64_t at = scaling_merge_place_of(s, l);
    struct leveled same = at ? layer_of(s, at - 1) : (struct leveled){0};
    if (!same.layer || same.level != l->level || same.width != l->width)
      return insert_layer(s, at, l);
    besom_filter *united;
    besom_status status = unite(same.layer, l->layer, &united);
    if (status == BESOM_OK) {
      besom_free(s->layers[at - 1]);
      s->layers[at - 1] = united;
    }
    if (status != BESOM_FULL) return status;
    status = unite_at_next_level(same.layer, l, end);
    if (status == BESOM_FULL) return insert_layer(s, at, l);
    if (status == BESOM_OK) status = scaling_merge_drop_layer(s, at - 1);
    if (status != BESOM_OK) return status;
  }
}

static besom_status merge_layer(struct scaling *s, const struct scaling *from, uint64_t i,
                                const struct order_end *end) {
  struct leveled l = layer_of(from, i);
  besom_status status = add_leveled(s, &l, end);
  besom_free(l.owned);
  return status;
}

static bool alike(const struct scaling *x, const struct scaling *y) {
  return x->base.kind == y->base.kind && x->first_slots == y->first_slots && x->fpr == y->fpr &&
         x->growth == y->growth && x->value_bits == y->value_bits;
}

static struct order_end end_of(const struct scaling *x, const struct scaling *y) {
  struct leveled a = layer_of(x, x->n_layers - 1), b = layer_of(y, y->n_layers - 1);
  unsigned a_length = a.level + a.width, b_length = b.level + b.width;
  return (struct order_end){a.level > b.level ? a.level : b.level,
                            a_length > b_length ? a_length : b_length};
}

besom_status besom__scaling_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  const struct scaling *x = const_scaling(a), *y = const_scaling(b);
  struct scaling *s = scaling(into);
  if (!x->first_slots || !y->first_slots) return BESOM_UNSUPPORTED;
  if (!alike(x, y)) return BESOM_INCOMPATIBLE;
  if (a->items > MAX_SCALING_COPIES - b->items) return BESOM_FULL;
  const struct scaling *longer = x->levels[x->n_layers - 1] > y->levels[y->n_layers - 1] ? x : y;
  struct order_end end = end_of(x, y);
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < x->n_layers && status == BESOM_OK; i++)
    status = merge_layer(s, x, i, &end);
  for (uint64_t i = 0; i < y->n_layers && status == BESOM_OK; i++)
    status = merge_layer(s, y, i, &end);
  s->fpr_left = longer->fpr_left;
  into->items = 0; /* of sets, what both have is in one layer once */
  for (uint64_t i = 0; i < s->n_layers; i++) into->items += s->layers[i]->items;
  return status;
}
