/*
 * Merging two guards (Wen et al. 2024, section 6.7). The filters are merged run by run, with the
 * fingerprints of the second filter after those of the first. The bucket lists are merged in the
 * same order, so every rank stays right.
 */
#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/get/reverse_map.h"
#include "guard/migration/migration.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/transaction.h"
#include "guard/transaction/undo_log.h"

struct merge_state {
  besom_guard *into;
  besom_filter *filter; /* the merged one */
  const besom_record *record;
  uint64_t bucket;   /* the list that is being appended to */
  uint32_t length;   /* its current length */
  uint32_t original; /* its length before the merge */
  bool begun;
  bool present; /* the record's key was in it before the merge */
  uint64_t added;
};

static besom_status compare(void *ctx, besom_place at, const besom_record *record) {
  struct merge_state *m = ctx;
  m->length = at.rank + 1;
  m->present |= (!m->begun || at.rank < m->original) && bytes_equal(record->key, m->record->key);
  return BESOM_OK;
}

/* Reads the list that the record belongs to. */
static besom_status guard_merge_read_list(struct merge_state *m, uint64_t bucket) {
  besom_store *store = m->into->store;
  if (m->begun && m->bucket != bucket) m->begun = false;
  m->bucket = bucket;
  m->length = 0;
  m->present = false;
  besom_place position = {.epoch = m->into->current.number, .bucket = bucket};
  besom_status status = store->ops->get(store, position, compare, m);
  if (!m->begun) m->original = m->length;
  m->begun = true;
  return status;
}

/* If the key is in both guards, the record of `into` stays and the second fingerprint is
   removed. */
static besom_status guard_merge_record(void *ctx, besom_place at, const besom_record *record) {
  struct merge_state *m = ctx;
  besom_store *store = m->into->store;
  m->record = record;
  besom_status status = guard_merge_read_list(m, at.bucket);
  if (status != BESOM_OK) return status;
  besom_match end = {at.bucket, m->length};
  if (m->present) return besom_remove_at(m->filter, &end);
  if (keeps_images(m->into)) status = besom__image_add(m->into, false, &record->key, NULL);
  if (status != BESOM_OK) return status;
  status = store->ops->append(store, position_of(m->into->current.number, end), record);
  m->added += status == BESOM_OK;
  return status;
}

static besom_status ignore(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_OK;
}

static besom_status merge_key(void *ctx, const besom_record *record) {
  besom_store *store = ((struct merge_state *)ctx)->into->store;
  besom_status status = store->ops->table_get(store, BESOM_TABLE_KEYS, record->key, ignore, NULL);
  return status == BESOM_NOT_FOUND ? store->ops->table_put(store, BESOM_TABLE_KEYS, record)
                                   : status;
}

static besom_status merge_stores(struct merge_state *m, besom_guard *from) {
  besom_store *store = from->store;
  besom_status status =
      store->ops->scan(store, (besom_place){.epoch = from->current.number}, guard_merge_record, m);
  if (status != BESOM_OK || from->layout == BESOM_LAYOUT_MERGED) return status;
  return store->ops->table_scan(store, BESOM_TABLE_KEYS, (besom_bytes){0}, (besom_bytes){0},
                                merge_key, m);
}

static besom_status ready_to_merge(besom_guard *g) {
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g); /* may bring a migration back */
  if (status == BESOM_OK && g->next.filter) return BESOM_BUSY;
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  return status == BESOM_OK ? besom__guard_flush(g) : status;
}

/* Begins the transaction. After OK, `into` has the merged filter, and its own one in unmerged. */
static besom_status begin_with(besom_guard *into, besom_filter *filter) {
  besom_status status = besom__guard_bind(into, filter);
  if (status == BESOM_OK) status = besom__change_begin(into);
  if (status != BESOM_OK) return status;
  into->unmerged = into->current.filter;
  into->current.filter = filter;
  besom__denials_clear(into);
  besom__front_drop(into);
  return BESOM_OK;
}

/* Merges the stores and commits. A failure rolls back, which frees the merged filter. */
static besom_status merge_records(besom_guard *into, besom_guard *from) {
  struct merge_state m = {.into = into, .filter = into->current.filter};
  besom_status status = besom__change_end(into, merge_stores(&m, from), AT_ONCE);
  if (status != BESOM_OK) return status;
  besom_free(into->unmerged);
  into->unmerged = NULL;
  count(into, &into->stats.puts, m.added);
  return BESOM_OK;
}

besom_status besom__guard_merge(besom_guard *into, besom_guard *from) {
  if (!into->transactional || into->no_keys || from->no_keys) return BESOM_UNSUPPORTED;
  if (into->layout != from->layout) return BESOM_INCOMPATIBLE;
  besom_status status = ready_to_merge(into);
  if (status == BESOM_OK) status = ready_to_merge(from);
  if (status != BESOM_OK) return status;
  besom_filter *filter;
  status = besom_merge(into->current.filter, from->current.filter, &filter);
  if (status != BESOM_OK) return status;
  status = begin_with(into, filter);
  if (status == BESOM_OK) return merge_records(into, from);
  besom_free(filter);
  return status;
}
