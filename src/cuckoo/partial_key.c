#include "cuckoo/partial_key.h"

#include "core/options.h"
#include "core/system/memory.h"
#include "cuckoo/cuckoo_geometry.h"
#include "cuckoo/windows.h"

enum { MAX_BUCKETS_SEARCHED = 1000, MIN_CHUNK = 1 << 5, MAX_CHUNK = 1 << 16 };

/* ------------------------------------------------------------------ create and destroy */

static const struct cuckoo_layout layout = {
    .buckets_per_key = 2,
    .slots_per_bucket = MAX_BUCKET_SLOTS,
    .min_width = MIN_FINGERPRINT,
    .max_width = MAX_FINGERPRINT,
    .partial_key = true,
};

static enum bucket_form form_of(unsigned width) {
  return width > MAX_LANE_BITS ? WIDE : width % 2 ? LANES : WHOLE_BYTES;
}

/* Buckets that are left over at the end of the table belong to the last chunk. */
static void partial_key_make_chunks(struct chunks *c, uint64_t buckets) {
  static const uint64_t sizes[CHUNK_SIZES] = {MIN_CHUNK, 1 << 7, 1 << 9, MAX_CHUNK};
  for (unsigned i = 0; i < CHUNK_SIZES; i++) {
    uint64_t whole = buckets & -sizes[i];
    c->start_mask[i] = -sizes[i];
    c->last[i] = whole ? whole - sizes[i] : 0;
    c->size[i] = sizes[i];
    c->last_size[i] = buckets - c->last[i];
  }
}

/* If status is OK, sets the fields that follow from the table. */
static besom_status partial_key_ready(besom_filter *f, besom_status status,
                                      const struct partial_key_policy *policy, enum isa isa) {
  struct partial_key *p = partial_key(f);
  if (status != BESOM_OK) return status;
  p->policy = policy;
  p->isa = isa;
  p->calls = policy->calls[isa][form_of(p->table.width)];
  p->fingerprints = bits_below(p->table.width);
  partial_key_make_chunks(&p->chunks, p->table.buckets);
  return BESOM_OK;
}

besom_status besom__partial_key_create(besom_filter *f, const besom_config *config) {
  struct partial_key_values o = {0};
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  if (o.layout) return besom__windows_create(f, config);
  status = besom__cuckoo_create(f, &layout, config, 0, &partial_key(f)->table);
  return partial_key_ready(f, status, f->kind->policy, isa_of_option(o.isa));
}

besom_status besom__partial_key_create_like(besom_filter *f, const besom_filter *model) {
  const struct partial_key *m = const_partial_key(model);
  if (model->kind == &besom__cf_windows) return besom__windows_create_like(f, model);
  besom_status status =
      besom__cuckoo_table_new(f, &layout, m->table.buckets, m->table.width, &partial_key(f)->table);
  return partial_key_ready(f, status, m->policy, m->isa);
}

void besom__partial_key_destroy(besom_filter *f) {
  if (!f->mapping)
    besom__release(&f->allocator, partial_key(f)->table.bits,
                   cuckoo_table_size(&partial_key(f)->table));
}

/* ------------------------------------------------------------------ keys */

/* NULL before the table is made, and for other hashes: then the general calls are used. */
static const struct partial_key_calls *calls_with_hash(const besom_filter *f) {
  return f->hasher.id == HASH_XXH3 ? const_partial_key(f)->calls : NULL;
}

bool besom__partial_key_inline_facts(const besom_filter *f, uint32_t inline_layout,
                                     besom_inline_facts *out) {
  const struct partial_key *p = const_partial_key(f);
  const struct cuckoo_table *t = &p->table;
  if (inline_layout != p->policy->inline_layout || form_of(t->width) != WHOLE_BYTES) return false;
  out->bits = t->bits;
  const uint64_t numbers[] = {t->buckets,   p->fingerprints, t->bucket_bytes,
                              t->lane_ones, t->minus_ones,   t->lane_tops};
  memcpy(out->number, numbers, sizeof numbers);
  out->chunks = p->chunks.start_mask;
  return true;
}

const struct query_calls *besom__partial_key_query_calls(const besom_filter *f) {
  const struct partial_key_calls *calls = calls_with_hash(f);
  return calls ? &calls->queries : NULL;
}

const struct insert_calls *besom__partial_key_insert_calls(const besom_filter *f) {
  const struct partial_key_calls *calls = calls_with_hash(f);
  return calls ? &calls->inserts : NULL;
}

const struct remove_calls *besom__partial_key_remove_calls(const besom_filter *f) {
  const struct partial_key_calls *calls = calls_with_hash(f);
  return calls ? &calls->removes : NULL;
}

bool besom__partial_key_contains(const besom_filter *f, besom_digest d) {
  return const_partial_key(f)->calls->queries.contains_digest(f, d);
}

void besom__partial_key_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap) {
  const_partial_key(f)->calls->contains_many(f, d, n, bitmap);
}

void besom__partial_key_prefetch(const besom_filter *f, besom_digest d) {
  const struct partial_key *p = const_partial_key(f);
  uint64_t bucket = home_bucket(p, d);
  partial_key_fetch(p, bucket);
  partial_key_fetch(p, p->policy->alternate(p, bucket, fingerprint_of(p, d)));
}

besom_status besom__partial_key_insert(besom_filter *f, besom_digest d) {
  return partial_key(f)->calls->inserts.insert_digest(f, d);
}

besom_status besom__partial_key_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done) {
  return partial_key(f)->calls->insert_many(f, d, n, done);
}

static uint64_t alternate_of(const struct partial_key *p, uint64_t bucket, uint64_t fingerprint) {
  return p->policy->alternate(p, bucket, fingerprint);
}

static struct partial_key_location location_of(const besom_filter *f, besom_digest d) {
  const struct partial_key *p = const_partial_key(f);
  uint64_t bucket = home_bucket(p, d), fingerprint = fingerprint_of(p, d);
  return (struct partial_key_location){fingerprint, bucket, alternate_of(p, bucket, fingerprint)};
}

static besom_status partial_key_moves_from(void *ctx, uint64_t slot, uint64_t *buckets,
                                           unsigned *n) {
  const struct partial_key *p = ctx;
  *n = 1;
  buckets[0] = alternate_of(p, slot / MAX_BUCKET_SLOTS, slot_get(&p->table, slot));
  return BESOM_OK;
}

/* Moves the entries of the path on, and puts the fingerprint into its first slot. */
static void put_along(struct partial_key *p, const struct cuckoo_path *path, uint64_t fingerprint) {
  for (unsigned i = path->moves; i--;)
    slot_set(&p->table, path->slots[i + 1], slot_get(&p->table, path->slots[i]));
  slot_set(&p->table, path->slots[0], fingerprint);
  partial_key_count_kicks(p, path->moves);
}

besom_status besom__partial_key_put_by_search(besom_filter *f, uint64_t fingerprint,
                                              uint64_t bucket) {
  struct partial_key *p = partial_key(f);
  struct cuckoo_moves moves = {partial_key_moves_from, p, MAX_BUCKETS_SEARCHED};
  struct cuckoo_path path;
  uint64_t starts[] = {bucket, alternate_of(p, bucket, fingerprint)};
  besom_status status = besom__cuckoo_find_path(&p->table, starts, 2, &moves, &path);
  if (status != BESOM_OK) return status;
  put_along(p, &path, fingerprint);
  f->items++;
  return BESOM_OK;
}

besom_status besom__partial_key_put_wide(besom_filter *f, uint64_t fingerprint, uint64_t bucket) {
  struct partial_key *p = partial_key(f);
  uint64_t slot = besom__bucket_find(&p->table, bucket, 0);
  if (slot == NO_SLOT)
    slot = besom__bucket_find(&p->table, alternate_of(p, bucket, fingerprint), 0);
  if (slot == NO_SLOT) return besom__partial_key_put_by_search(f, fingerprint, bucket);
  slot_set(&p->table, slot, fingerprint);
  f->items++;
  return BESOM_OK;
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

/* Where the next copy goes: an empty slot, or the path that frees one. FULL if there is none. */
static besom_status find_place(struct partial_key *p, struct partial_key_location at,
                               struct cuckoo_path *path) {
  struct cuckoo_moves moves = {partial_key_moves_from, p, MAX_BUCKETS_SEARCHED};
  path->moves = 0;
  path->slots[0] = besom__bucket_find(&p->table, at.bucket, 0);
  if (path->slots[0] == NO_SLOT) path->slots[0] = besom__bucket_find(&p->table, at.alternate, 0);
  if (path->slots[0] != NO_SLOT) return BESOM_OK;
  return besom__cuckoo_find_path(&p->table, (uint64_t[]){at.bucket, at.alternate}, 2, &moves, path);
}

/* Takes the entry out of slots[0] again and moves all others back. */
static void undo_path(struct partial_key *p, const struct cuckoo_path *path) {
  for (unsigned i = 0; i < path->moves; i++)
    slot_set(&p->table, path->slots[i], slot_get(&p->table, path->slots[i + 1]));
  slot_set(&p->table, path->slots[path->moves], 0);
}

/* Inserts one copy after the other, as insert does. If one does not fit, undoes those before it. */
besom_status besom__partial_key_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct partial_key *p = partial_key(f), before = *p;
  struct partial_key_location at = location_of(f, d);
  struct cuckoo_path paths[MAX_COPIES];
  unsigned done = 0;
  if (n > MAX_COPIES || n > f->capacity - f->items) return BESOM_FULL;
  besom_status status = BESOM_OK;
  for (; done < n && status == BESOM_OK; done += status == BESOM_OK) {
    status = find_place(p, at, &paths[done]);
    if (status == BESOM_OK) put_along(p, &paths[done], at.fingerprint);
  }
  f->items += n;
  if (status == BESOM_OK) return BESOM_OK;
  while (done) undo_path(p, &paths[--done]);
  *p = before;
  return status;
}

besom_status besom__partial_key_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct cuckoo_table *t = &const_partial_key(f)->table;
  struct partial_key_location at = location_of(f, d);
  *n = besom__bucket_count(t, at.bucket, at.fingerprint) +
       besom__bucket_count(t, at.alternate, at.fingerprint);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

/* A set keeps one of two equal fingerprints. */
static bool partial_key_is_known(const besom_filter *f, uint64_t fingerprint, uint64_t bucket) {
  const struct partial_key *p = const_partial_key(f);
  return besom__bucket_count(&p->table, bucket, fingerprint) ||
         besom__bucket_count(&p->table, alternate_of(p, bucket, fingerprint), fingerprint);
}

static besom_status partial_key_set_put(besom_filter *into, uint64_t fingerprint, uint64_t bucket) {
  if (into->is_set && partial_key_is_known(into, fingerprint, bucket)) return BESOM_OK;
  if (into->items >= into->capacity) return BESOM_FULL;
  return partial_key(into)->calls->put(into, fingerprint, bucket);
}

static besom_status add_bucket(besom_filter *into, const struct cuckoo_table *from,
                               uint64_t bucket) {
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < MAX_BUCKET_SLOTS && status == BESOM_OK; i++) {
    uint64_t fingerprint = slot_get(from, bucket * MAX_BUCKET_SLOTS + i);
    if (fingerprint) status = partial_key_set_put(into, fingerprint, bucket);
  }
  return status;
}

/*
 * Adds one bucket of every smallest chunk, then the next of every one. In ascending order, each
 * part of the table would be filled while its neighbours are half empty, and vacuum could be FULL.
 */
static besom_status partial_key_add_chunk(besom_filter *into, const struct cuckoo_table *from,
                                          uint64_t start, uint64_t end) {
  for (uint64_t first = start; first < start + MIN_CHUNK; first++)
    for (uint64_t bucket = first; bucket < end; bucket += MIN_CHUNK) {
      besom_status status = add_bucket(into, from, bucket);
      if (status != BESOM_OK) return status;
    }
  return BESOM_OK;
}

/* Copies a, then inserts the fingerprints of b: inserting needs only the bucket and fingerprint. */
besom_status besom__partial_key_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into) {
  const struct cuckoo_table *x = &const_partial_key(a)->table, *y = &const_partial_key(b)->table;
  if (a->kind != b->kind || x->buckets != y->buckets || x->width != y->width)
    return BESOM_INCOMPATIBLE;
  if (!into->is_set && a->items + b->items > into->capacity) return BESOM_FULL;
  memcpy(partial_key(into)->table.bits, x->bits, cuckoo_table_size(x));
  into->items = a->items;
  besom_status status = BESOM_OK;
  for (uint64_t start = 0; start < y->buckets && status == BESOM_OK; start += MAX_CHUNK) {
    uint64_t left = y->buckets - start;
    status = partial_key_add_chunk(into, y, start, start + (left < MAX_CHUNK ? left : MAX_CHUNK));
  }
  return status;
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
                           .alternate = alternate_of(p, bucket, fingerprint)};
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
  out->common.isa = besom__isa_name(p->isa);
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

/* Windows have a selector bit. */
static bool has_saved_windows(const struct sections_in *in) {
  struct byte_reader parameters = in->parameters;
  besom__read_u64(&parameters);
  besom__read_u32(&parameters);
  return besom__read_u32(&parameters) == 1;
}

besom_status besom__partial_key_load(besom_filter *f, struct sections_in *in) {
  const struct partial_key_policy *policy = f->kind->policy;
  unsigned selector_bits;
  if (f->kind->windows && has_saved_windows(in)) return besom__windows_load(f, in);
  besom_status status = besom__cuckoo_load(f, &layout, in, &partial_key(f)->table, &selector_bits);
  return partial_key_ready(f, status, policy, besom__isa_best());
}

const struct change_ops besom__partial_key_change = {
    .calls = besom__partial_key_insert_calls,
    .remove_calls = NOT_IN_SMALL_CODE(besom__partial_key_remove_calls),
    .insert = besom__partial_key_insert,
    .insert_many = besom__partial_key_insert_many,
    .insert_count = besom__partial_key_insert_count,
    .remove = besom__partial_key_remove,
};

const struct whole_ops besom__partial_key_whole = {
    .merge = besom__partial_key_merge,
    .iter_start = besom__partial_key_iter_start,
    .iter_next = besom__partial_key_iter_next,
};

const struct build_ops besom__partial_key_build = {.build_like = besom__partial_key_build_like};

const struct file_ops besom__partial_key_file = {
    .save = besom__partial_key_save,
    .load = besom__partial_key_load,
    .validate = besom__partial_key_validate,
};
