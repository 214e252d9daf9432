#include "cuckoo/partial_key.h"

#include "core/memory.h"
#include "cuckoo/cuckoo_geometry.h"

enum { MAX_BUCKETS_SEARCHED = 1000 };

/* ------------------------------------------------------------------ create and destroy */

static const struct cuckoo_layout layout = {
    .buckets_per_key = 2,
    .slots_per_bucket = MAX_BUCKET_SLOTS,
    .min_width = MIN_FINGERPRINT,
    .max_width = MAX_FINGERPRINT,
    .partial_key = true,
};

/* If status is OK, sets the fields that follow from the table. */
static besom_status ready(besom_filter *f, besom_status status, alternate_bucket alternate) {
  struct partial_key *p = partial_key(f);
  if (status != BESOM_OK) return status;
  p->alternate = alternate;
  p->fingerprints = bits_below(p->table.width);
  p->sum_mask = bits_below(64 - p->table.width);
  p->sum_step = (p->sum_mask + 1) * SUM_MULTIPLIER;
  return BESOM_OK;
}

besom_status besom__partial_key_create(besom_filter *f, const besom_config *config,
                                       alternate_bucket alternate) {
  if (config->options && *config->options) return BESOM_BAD_OPTION;
  return ready(f, besom__cuckoo_create(f, &layout, config, 0, &partial_key(f)->table), alternate);
}

besom_status besom__partial_key_create_like(besom_filter *f, const besom_filter *model) {
  const struct partial_key *m = const_partial_key(model);
  return ready(
      f,
      besom__cuckoo_table_new(f, &layout, m->table.buckets, m->table.width, &partial_key(f)->table),
      m->alternate);
}

void besom__partial_key_destroy(besom_filter *f) {
  if (!f->mapping)
    besom__release(&f->allocator, partial_key(f)->table.bits,
                   cuckoo_table_size(&partial_key(f)->table));
}

/* ------------------------------------------------------------------ keys */

static struct partial_key_location location_of(const besom_filter *f, besom_digest d) {
  return partial_key_locate(const_partial_key(f), d, const_partial_key(f)->alternate);
}

static besom_status moves_from(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n) {
  const struct partial_key *p = ctx;
  *n = 1;
  buckets[0] = p->alternate(p, slot / MAX_BUCKET_SLOTS, slot_get(&p->table, slot));
  return BESOM_OK;
}

/* Both buckets are full. Finds a path to an empty slot before the first fingerprint moves. */
static besom_status put_with_kicks(struct partial_key *p, struct partial_key_location at) {
  struct cuckoo_moves moves = {moves_from, p, MAX_BUCKETS_SEARCHED};
  struct cuckoo_path path;
  besom_status status =
      besom__cuckoo_find_path(&p->table, (uint64_t[]){at.bucket, at.alternate}, 2, &moves, &path);
  if (status != BESOM_OK) return status;
  for (unsigned i = path.moves; i--;)
    slot_set(&p->table, path.slots[i + 1], slot_get(&p->table, path.slots[i]));
  slot_set(&p->table, path.slots[0], at.fingerprint);
  p->kicks += path.moves;
  if (path.moves > p->longest_chain) p->longest_chain = path.moves;
  return BESOM_OK;
}

static besom_status put(besom_filter *f, struct partial_key_location at) {
  struct partial_key *p = partial_key(f);
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  uint64_t slot = besom__bucket_find(&p->table, at.bucket, 0);
  if (slot == NO_SLOT) slot = besom__bucket_find(&p->table, at.alternate, 0);
  besom_status status = BESOM_OK;
  if (LIKELY(slot != NO_SLOT))
    slot_set(&p->table, slot, at.fingerprint);
  else
    status = put_with_kicks(p, at);
  f->items += status == BESOM_OK;
  return status;
}

besom_status besom__partial_key_insert(besom_filter *f, besom_digest d) {
  return put(f, location_of(f, d));
}

/* Most keys fit into their first bucket, so only that one is prefetched. */
besom_status besom__partial_key_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done) {
  enum { AHEAD = 16 };
  const struct partial_key *p = const_partial_key(f);
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && i < AHEAD; i++)
    partial_key_fetch(p, scaled(d[i].hi, p->table.buckets));
  for (*done = 0; *done < n; ++*done) {
    if (*done + AHEAD < n) partial_key_fetch(p, scaled(d[*done + AHEAD].hi, p->table.buckets));
    status = besom__partial_key_insert(f, d[*done]);
    if (status != BESOM_OK) break;
  }
  return status;
}

/* Equal fingerprints are indistinguishable: removes any of them. */
besom_status besom__partial_key_remove(besom_filter *f, besom_digest d) {
  struct partial_key *p = partial_key(f);
  struct partial_key_location at = location_of(f, d);
  uint64_t slot = besom__bucket_find(&p->table, at.bucket, at.fingerprint);
  if (slot == NO_SLOT) slot = besom__bucket_find(&p->table, at.alternate, at.fingerprint);
  if (slot == NO_SLOT) return BESOM_NOT_FOUND;
  slot_set(&p->table, slot, 0);
  f->items--;
  return BESOM_OK;
}

besom_status besom__partial_key_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct cuckoo_table *t = &const_partial_key(f)->table;
  struct partial_key_location at = location_of(f, d);
  *n = besom__bucket_count(t, at.bucket, at.fingerprint) +
       besom__bucket_count(t, at.alternate, at.fingerprint);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

/* Copies a, then inserts the fingerprints of b: inserting needs only the bucket and fingerprint. */
besom_status besom__partial_key_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into) {
  const struct cuckoo_table *x = &const_partial_key(a)->table, *y = &const_partial_key(b)->table;
  if (x->buckets != y->buckets || x->width != y->width) return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  memcpy(partial_key(into)->table.bits, x->bits, cuckoo_table_size(x));
  into->items = a->items;
  for (uint64_t slot = 0; slot < cuckoo_table_slots(y); slot++) {
    uint64_t fingerprint = slot_get(y, slot), bucket = slot / MAX_BUCKET_SLOTS;
    if (!fingerprint) continue;
    uint64_t alternate = partial_key(into)->alternate(partial_key(into), bucket, fingerprint);
    besom_status status = put(into, (struct partial_key_location){fingerprint, bucket, alternate});
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

void besom__partial_key_iter_start(const besom_filter *f, besom_iter *iter) {
  (void)f;
  iter->state[0] = 0; /* the next slot */
}

besom_status besom__partial_key_iter_next(const besom_filter *f, besom_iter *iter,
                                          besom_entry *entry) {
  const struct partial_key *p = const_partial_key(f);
  while (iter->state[0] < cuckoo_table_slots(&p->table)) {
    uint64_t slot = iter->state[0]++, fingerprint = slot_get(&p->table, slot),
             bucket = slot / MAX_BUCKET_SLOTS;
    if (!fingerprint) continue;
    *entry = (besom_entry){.quotient = bucket,
                           .remainder = fingerprint,
                           .count = 1,
                           .has_alternate = true,
                           .alternate = p->alternate(p, bucket, fingerprint)};
    return BESOM_OK;
  }
  return BESOM_END;
}

double besom__partial_key_bits_per_key(double keys, double *fpr) {
  return besom__cuckoo_bits_per_key(&layout, keys, fpr);
}

void besom__partial_key_stats(const besom_filter *f, struct stats_out *out) {
  const struct partial_key *p = const_partial_key(f);
  besom__cuckoo_stats(&layout, &p->table, p->table.width, &out->common);
  besom__add_counter(out, "kicks", p->kicks);
  besom__add_counter(out, "longest_chain", p->longest_chain);
}

/* Any fingerprint can be in any bucket, so only their number can be checked. */
const char *besom__partial_key_validate(const besom_filter *f) {
  const struct cuckoo_table *t = &const_partial_key(f)->table;
  if (f->items > f->capacity) return "there are more keys than the capacity";
  if (besom__cuckoo_table_used(t) != f->items)
    return "the number of keys is not the number of used slots";
  return besom__cuckoo_table_ends_clean(t) ? NULL : "there are bits after the last slot";
}

/* ------------------------------------------------------------------ files */

void besom__partial_key_save(const besom_filter *f, struct sections_out *out) {
  besom__cuckoo_save(&const_partial_key(f)->table, 0, out);
}

besom_status besom__partial_key_load(besom_filter *f, struct sections_in *in,
                                     alternate_bucket alternate) {
  unsigned selector_bits;
  return ready(f, besom__cuckoo_load(f, &layout, in, &partial_key(f)->table, &selector_bits),
               alternate);
}
