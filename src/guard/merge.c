/*
 * Two guards become one (Wen et al. 2024, section 6.7). The filters are merged run by run, the second's fingerprints
 * behind the first's; so the store's lists are, too, and every rank is right.
 */
#include "guard/guard.h"

struct merging {
  besom_guard *into;
  besom_filter *filter; /* of both */
  const besom_record *record;
  uint64_t bucket;   /* the list that is being added to */
  uint32_t length;   /* of it, as far as it is merged */
  uint32_t original; /* of it, before that */
  bool begun;
  bool there; /* the key is in it already */
  uint64_t added;
};

static besom_status compare(void *ctx, besom_place at, const besom_record *record) {
  struct merging *m = ctx;
  m->length = at.rank + 1;
  m->there |= (!m->begun || at.rank < m->original) && bytes_equal(record->key, m->record->key);
  return BESOM_OK;
}

/* Looks at the list that the record is to be added to. */
static besom_status look(struct merging *m, uint64_t bucket) {
  besom_store *store = m->into->store;
  if (m->begun && m->bucket != bucket) m->begun = false;
  m->bucket = bucket;
  m->length = 0;
  m->there = false;
  besom_place place = {.epoch = m->into->now.epoch, .bucket = bucket};
  besom_status status = store->ops->get(store, place, compare, m);
  if (!m->begun) m->original = m->length;
  m->begun = true;
  return status;
}

/* One of two equal keys is enough: the fingerprint of the other goes. */
static besom_status merge_record(void *ctx, besom_place at, const besom_record *record) {
  struct merging *m = ctx;
  besom_store *store = m->into->store;
  m->record = record;
  besom_status status = look(m, at.bucket);
  if (status != BESOM_OK) return status;
  besom_match end = {at.bucket, m->length};
  if (m->there) return besom_remove_at(m->filter, end);
  status = store->ops->append(store, place_of(m->into->now.epoch, end), record);
  m->added += status == BESOM_OK;
  return status;
}

static besom_status ignore(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

static besom_status merge_key(void *ctx, const besom_record *record) {
  besom_store *store = ((struct merging *)ctx)->into->store;
  besom_status status = store->ops->table_get(store, BESOM_TABLE_KEYS, record->key, ignore, NULL);
  return status == BESOM_NOT_FOUND ? store->ops->table_put(store, BESOM_TABLE_KEYS, record)
                                   : status;
}

static besom_status merge_stores(struct merging *m, besom_guard *from) {
  besom_store *store = from->store;
  besom_status status =
      store->ops->scan(store, (besom_place){.epoch = from->now.epoch}, merge_record, m);
  if (status != BESOM_OK || from->layout == BESOM_LAYOUT_MERGED) return status;
  return store->ops->table_scan(store, BESOM_TABLE_KEYS, (besom_bytes){0}, (besom_bytes){0},
                                merge_key, m);
}

static besom_status ready_to_merge(besom_guard *g) {
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_settle(g); /* which may bring a move back */
  if (status == BESOM_OK && g->next.filter) return BESOM_BUSY;
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  return status == BESOM_OK ? besom__guard_flush(g, false) : status;
}

/* The merged filter, taken over if this succeeds. */
static besom_status merge_with(besom_guard *into, besom_guard *from, besom_filter *filter) {
  struct merging m = {.into = into, .filter = filter};
  besom_status status = besom__guard_bind(into, filter);
  if (status == BESOM_OK) status = besom__change_begin(into);
  if (status != BESOM_OK) return status;
  status = besom__change_end(into, merge_stores(&m, from), durable_change(into));
  if (status == BESOM_OK) status = besom__guard_flush(into, false);
  if (status != BESOM_OK) return status;
  lock_write(into);
  besom_free(into->now.filter);
  into->now.filter = filter;
  unlock(into);
  count(into, &into->stats.puts, m.added);
  return BESOM_OK;
}

besom_status besom_guard_merge(besom_guard *into, besom_guard *from) {
  if (!into || !from || into == from) return BESOM_INVALID;
  if (!into->transactional) return BESOM_UNSUPPORTED;
  if (into->layout != from->layout) return BESOM_INCOMPATIBLE;
  besom_status status = ready_to_merge(into);
  if (status == BESOM_OK) status = ready_to_merge(from);
  if (status != BESOM_OK) return status;
  besom_filter *filter;
  status = besom_merge(into->now.filter, from->now.filter, &filter);
  if (status != BESOM_OK) return status;
  status = merge_with(into, from, filter);
  if (status != BESOM_OK) besom_free(filter);
  return status;
}
