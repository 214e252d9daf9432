#include "cuckoo/partial.h"

#include "core/memory.h"
#include "cuckoo/plan.h"

enum { MOST_BUCKETS_SEARCHED = 1000 };

/* ------------------------------------------------------------------ life */

static const struct cuckoo_family family = {
    .places = 2,
    .per_bucket = MAX_BUCKET_SLOTS,
    .min_width = MIN_FINGERPRINT,
    .max_width = MAX_FINGERPRINT,
    .places_by_fingerprint = true,
};

/* Sets what follows from the table. */
static besom_status ready(besom_filter *f, besom_status status, partial_other other) {
  struct partial *p = partial(f);
  if (status != BESOM_OK) return status;
  p->other = other;
  p->fingerprints = bits_below(p->table.width);
  p->share_mask = bits_below(64 - p->table.width);
  p->share_step = (p->share_mask + 1) * SHARE_ORDER;
  return BESOM_OK;
}

besom_status besom__partial_create(besom_filter *f, const besom_config *config,
                                   partial_other other) {
  if (config->options && *config->options) return BESOM_BAD_OPTION;
  return ready(f, besom__cuckoo_create(f, &family, config, 0, &partial(f)->table), other);
}

besom_status besom__partial_create_like(besom_filter *f, const besom_filter *model) {
  const struct partial *m = const_partial(model);
  return ready(
      f, besom__cuckoo_table(f, &family, m->table.buckets, m->table.width, &partial(f)->table),
      m->other);
}

void besom__partial_destroy(besom_filter *f) {
  if (!f->mapping)
    besom__release(&f->allocator, partial(f)->table.bits, ctable_size(&partial(f)->table));
}

/* ------------------------------------------------------------------ keys */

static struct partial_place place_of(const besom_filter *f, besom_digest d) {
  return partial_place(const_partial(f), d, const_partial(f)->other);
}

static besom_status moves_from(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n) {
  const struct partial *p = ctx;
  *n = 1;
  buckets[0] = p->other(p, slot / MAX_BUCKET_SLOTS, slot_get(&p->table, slot));
  return BESOM_OK;
}

/* Both buckets are full: the way to an empty slot is known before the first fingerprint moves. */
static besom_status put_with_kicks(struct partial *p, struct partial_place at) {
  struct ctable_moves moves = {moves_from, p, MOST_BUCKETS_SEARCHED};
  struct ctable_path path;
  besom_status status =
      besom__ctable_path(&p->table, (uint64_t[]){at.bucket, at.other}, 2, &moves, &path);
  if (status != BESOM_OK) return status;
  for (unsigned i = path.moves; i--;)
    slot_set(&p->table, path.slots[i + 1], slot_get(&p->table, path.slots[i]));
  slot_set(&p->table, path.slots[0], at.fingerprint);
  p->kicks += path.moves;
  if (path.moves > p->longest_chain) p->longest_chain = path.moves;
  return BESOM_OK;
}

static besom_status put(besom_filter *f, struct partial_place at) {
  struct partial *p = partial(f);
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  uint64_t slot = besom__bucket_find(&p->table, at.bucket, 0);
  if (slot == NO_SLOT) slot = besom__bucket_find(&p->table, at.other, 0);
  besom_status status = BESOM_OK;
  if (LIKELY(slot != NO_SLOT))
    slot_set(&p->table, slot, at.fingerprint);
  else
    status = put_with_kicks(p, at);
  f->items += status == BESOM_OK;
  return status;
}

besom_status besom__partial_insert(besom_filter *f, besom_digest d) {
  return put(f, place_of(f, d));
}

/* Most keys find room in their first bucket, so that only that one is fetched ahead. */
besom_status besom__partial_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done) {
  enum { AHEAD = 16 };
  const struct partial *p = const_partial(f);
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && i < AHEAD; i++) partial_fetch(p, scaled(d[i].hi, p->table.buckets));
  for (*done = 0; *done < n; ++*done) {
    if (*done + AHEAD < n) partial_fetch(p, scaled(d[*done + AHEAD].hi, p->table.buckets));
    status = besom__partial_insert(f, d[*done]);
    if (status != BESOM_OK) break;
  }
  return status;
}

/* Equal fingerprints cannot be told apart: any of them will do. */
besom_status besom__partial_remove(besom_filter *f, besom_digest d) {
  struct partial *p = partial(f);
  struct partial_place at = place_of(f, d);
  uint64_t slot = besom__bucket_find(&p->table, at.bucket, at.fingerprint);
  if (slot == NO_SLOT) slot = besom__bucket_find(&p->table, at.other, at.fingerprint);
  if (slot == NO_SLOT) return BESOM_NOT_FOUND;
  slot_set(&p->table, slot, 0);
  f->items--;
  return BESOM_OK;
}

besom_status besom__partial_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct ctable *t = &const_partial(f)->table;
  struct partial_place at = place_of(f, d);
  *n = besom__bucket_count(t, at.bucket, at.fingerprint) +
       besom__bucket_count(t, at.other, at.fingerprint);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

/* All of a as it is; then the fingerprints of b, for which bucket and fingerprint are all that inserting takes. */
besom_status besom__partial_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  const struct ctable *x = &const_partial(a)->table, *y = &const_partial(b)->table;
  if (x->buckets != y->buckets || x->width != y->width) return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  memcpy(partial(into)->table.bits, x->bits, ctable_size(x));
  into->items = a->items;
  for (uint64_t slot = 0; slot < ctable_slots(y); slot++) {
    uint64_t fingerprint = slot_get(y, slot), bucket = slot / MAX_BUCKET_SLOTS;
    if (!fingerprint) continue;
    uint64_t other = partial(into)->other(partial(into), bucket, fingerprint);
    besom_status status = put(into, (struct partial_place){fingerprint, bucket, other});
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

void besom__partial_iter_start(besom_iter *iter) {
  iter->state[0] = 0; /* the next slot */
}

besom_status besom__partial_iter_next(besom_iter *iter, besom_entry *entry) {
  const struct partial *p = const_partial(iter->filter);
  while (iter->state[0] < ctable_slots(&p->table)) {
    uint64_t slot = iter->state[0]++, fingerprint = slot_get(&p->table, slot),
             bucket = slot / MAX_BUCKET_SLOTS;
    if (!fingerprint) continue;
    *entry = (besom_entry){.quotient = bucket,
                           .remainder = fingerprint,
                           .count = 1,
                           .has_alternate = true,
                           .alternate = p->other(p, bucket, fingerprint)};
    return BESOM_OK;
  }
  return BESOM_END;
}

double besom__partial_price(double keys, double *rate) {
  return besom__cuckoo_price(&family, keys, rate);
}

void besom__partial_stats(const besom_filter *f, besom_statistics *s) {
  const struct partial *p = const_partial(f);
  besom__cuckoo_stats(&family, &p->table, p->table.width, s);
  s->kicks = p->kicks;
  s->longest_chain = p->longest_chain;
}

/* Any fingerprint may be in any bucket: all there is to check is their number. */
const char *besom__partial_validate(const besom_filter *f) {
  const struct ctable *t = &const_partial(f)->table;
  if (f->items > f->capacity) return "there are more items than the capacity";
  if (besom__ctable_used(t) != f->items) return "the number of items is not that of the used slots";
  return besom__ctable_ends_clean(t) ? NULL : "there are bits behind the last slot";
}

/* ------------------------------------------------------------------ files */

void besom__partial_save(const besom_filter *f, struct sections_out *out) {
  besom__cuckoo_save(&const_partial(f)->table, 0, out);
}

besom_status besom__partial_load(besom_filter *f, struct sections_in *in, partial_other other) {
  unsigned selector_bits;
  return ready(f, besom__cuckoo_load(f, &family, in, &partial(f)->table, &selector_bits), other);
}
