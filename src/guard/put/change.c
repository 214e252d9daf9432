/* Put and delete. */
#include "guard/put/change.h"
#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/digest_list.h"
#include "guard/get/front.h"
#include "guard/get/lookup.h"
#include "guard/migration/migration.h"
#include "guard/migration/read_ahead.h"
#include "guard/put/no_list.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/shared_commit.h"
#include "guard/transaction/transaction.h"
#include "guard/transaction/undo_log.h"

/* ------------------------------------------------------------------ put */

void besom__guard_check_undo(besom_guard *g, besom_status undone) {
  if (undone != BESOM_OK && (g->tx == TX_GROUP || g->tx == TX_BATCH)) g->tx_error = undone;
}

/* Writes the record of a new key. Split: the key to its bucket list, key and value to KEYS. */
static besom_status write_record(besom_guard *g, besom_place at, const besom_record *record) {
  besom_store *store = g->store;
  if (g->layout == BESOM_LAYOUT_MERGED) return store->ops->append(store, at, record);
  besom_record listed = {record->key, {NULL, 0}};
  besom_status status = store->ops->append(store, at, &listed);
  if (status != BESOM_OK) return status;
  status = store->ops->table_put(store, BESOM_TABLE_KEYS, record);
  if (status != BESOM_OK) besom__guard_check_undo(g, store->ops->remove(store, at));
  return status;
}

/* During a migration: the records that have not migrated yet need room in the next filter, too. */
static bool next_is_full(const besom_guard *g) {
  return g->current.filter->items + g->next.filter->items >= g->next.filter->capacity;
}

/* The store has failed: removes the fingerprint again. If that fails, too, the undo log has it. */
static void undo_insert(besom_guard *g, besom_filter *f, besom_match at) {
  besom_status undone = besom_remove_at(f, &at);
  if (undone != BESOM_OK) besom__undo_add(g, f, at, false);
  besom__guard_check_undo(g, undone);
}

/* A record to insert: the epoch of its key, the key's digest there, and the keys of the no list in
   its bucket. */
struct insertion {
  const besom_record *record;
  const struct epoch *epoch;
  besom_digest digest;
  const struct digest_list *no; /* NULL: there are none */
  bool no_room;                 /* the filter is full */
};

/* What else knows the key: nothing may deny it from now on, and what was read ahead is stale. */
static void tell_of_insert(besom_guard *g, const struct insertion *new, besom_match at) {
  if (UNLIKELY(g->denials)) besom__denials_erase(g, new->epoch->number, new->digest);
  if (UNLIKELY(g->fronts.asked || g->fronts.making)) besom__front_put(g, &new->record->key);
  if (UNLIKELY(g->ahead)) besom__migration_list_changed(g, new->epoch, at.bucket);
}

/* Inserts into the filter first, because it knows the rank. If the store then fails, the new
   fingerprint, which is the last of its bucket, is removed again. */
static besom_status insert_new(besom_guard *g, struct insertion *new) {
  const struct epoch *epoch = new->epoch;
  besom_filter *f = epoch->filter;
  besom_match at;
  besom_status status = besom__undo_make_room(g, 1);
  if (status == BESOM_OK && keeps_images(g))
    status = besom__image_add(g, false, &new->record->key, NULL);
  if (status == BESOM_OK)
    status = g->next.filter && next_is_full(g) ? BESOM_FULL
                                               : f->kind->store->insert_at(f, new->digest, 0, &at);
  new->no_room = status == BESOM_FULL;
  if (status != BESOM_OK) return status;
  if (UNLIKELY(new->no)) status = besom__no_list_separate(g, f, new->no, new->digest, at);
  if (status == BESOM_OK) status = write_record(g, position_of(epoch->number, at), new->record);
  if (status != BESOM_OK) {
    undo_insert(g, f, at);
    return status;
  }
  tell_of_insert(g, new, at);
  besom__undo_add(g, f, at, false);
  count(g, &g->stats.puts, 1);
  return BESOM_OK;
}

static besom_status replace_record(besom_guard *g, const struct lookup *l,
                                   const besom_record *record) {
  besom_store *store = g->store;
  besom_status status = keeps_images(g) ? besom__image_add(g, false, l->key, l->value) : BESOM_OK;
  if (status != BESOM_OK) return status;
  status = g->layout == BESOM_LAYOUT_MERGED
               ? store->ops->replace(store, position_of(l->epoch->number, l->found_at), record)
               : store->ops->table_put(store, BESOM_TABLE_KEYS, record);
  if (status != BESOM_OK) return status;
  if (g->layout == BESOM_LAYOUT_MERGED)
    besom__migration_list_changed(g, l->epoch, l->found_at.bucket);
  count(g, &g->stats.replaced, 1);
  return BESOM_OK;
}

static besom_status replace_value(besom_guard *g, const struct lookup *l,
                                  const besom_record *record) {
  besom_status status = besom__change_begin(g);
  return status == BESOM_OK ? besom__change_end(g, replace_record(g, l, record), OF_CALLER)
                            : status;
}

/* A migration needs a transaction of its own, so the writers that wait are committed first. If that
   fails, the put does, too: a key that it did not find may be back, and the filter may be stale. */
static besom_status guard_make_room(besom_guard *g) {
  besom_status status = g->shared.members ? besom__shared_commit(g) : BESOM_OK;
  return status == BESOM_OK ? besom__migration_make_room(g) : status;
}

static besom_status write_now(besom_guard *g, struct insertion *new) {
  besom_status status = besom__change_begin(g);
  return status == BESOM_OK ? besom__change_end(g, insert_new(g, new), OF_CALLER) : status;
}

/* IS_MEMBER: the key is on the no list. */
static besom_status write_beside_no_list(besom_guard *g, struct insertion *new) {
  struct digest_list no;
  uint32_t rank;
  besom_status status = besom__no_list_read(g, new->epoch, new->digest, &no, &g->stats.put_reads);
  if (status != BESOM_OK) return status;
  new->no = &no;
  bool listed = besom__no_list_has(&no, new->digest, &rank);
  status = listed ? BESOM_IS_MEMBER : write_now(g, new);
  new->no = NULL;
  besom__digest_list_free(&no);
  return status;
}

/* If the filter is full, grows it and tries again. A full store is DISK_FULL, and final. */
static besom_status write_new(besom_guard *g, struct insertion *new) {
  for (;;) {
    new->no_room = false;
    besom_status status = UNLIKELY(g->no_keys) ? write_beside_no_list(g, new) : write_now(g, new);
    if (LIKELY(!new->no_room)) return status;
    status = guard_make_room(g);
    if (status != BESOM_OK) return status;
    new->epoch = besom__guard_epoch_of(g, &new->record->key, &new->digest);
  }
}

static besom_status catch_up(besom_guard *g) {
  if (g->read_only) return BESOM_READ_ONLY;
  if (g->tx == TX_FAILED) return g->tx_error;
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) status = besom__guard_flush_full(g);
  return status == BESOM_OK ? besom__guard_apply_queue(g) : status;
}

/* Without threads there is no queue. Only changes that are gathered can be too many. */
besom_status besom__guard_ready_to_change(besom_guard *g) {
  bool ready = !g->locks && (g->tx == TX_NONE || g->tx == TX_BATCH) && !g->filter_stale &&
               !g->read_only && g->group_error == BESOM_OK;
  return LIKELY(ready) ? BESOM_OK : catch_up(g);
}

/* The filter answers yes: looks the key up. */
static besom_status put_maybe_known(besom_guard *g, struct insertion *new) {
  struct lookup l;
  besom_bytes old = {NULL, 0};
  besom__lookup_begin(&l, g, new->epoch, new->digest, &new->record->key);
  if (keeps_images(g)) l.value = &old;
  besom_status status = besom__lookup_key(&l, &g->stats.put_reads);
  if (status == BESOM_OK) status = l.found ? replace_value(g, &l, new->record) : write_new(g, new);
  besom__lookup_end(&l);
  besom_guard_release(g, &old);
  return status;
}

/* A key that the filter answers no for is not looked up. */
besom_status besom__guard_put(besom_guard *g, const besom_record *record, unsigned flags) {
  struct insertion new = {.record = record};
  besom_status status = besom__guard_ready_to_change(g);
  if (status != BESOM_OK) return status;
  new.epoch = besom__guard_epoch_of(g, &record->key, &new.digest);
  const besom_filter *f = new.epoch->filter;
  bool maybe = !(flags & BESOM_PUT_NEW) && f->queries->contains_digest(f, new.digest);
  return maybe ? put_maybe_known(g, &new) : write_new(g, &new);
}

/* ------------------------------------------------------------------ delete */

static besom_status guard_prepare_remove(besom_filter *f, besom_match at) {
  return f->kind->store->prepare_remove ? f->kind->store->prepare_remove(f, at) : BESOM_OK;
}

static besom_status remove_record(besom_guard *g, const struct lookup *l) {
  besom_store *store = g->store;
  besom_status status = store->ops->remove(store, position_of(l->epoch->number, l->found_at));
  if (status != BESOM_OK || g->layout == BESOM_LAYOUT_MERGED) return status;
  status = store->ops->table_remove(store, BESOM_TABLE_KEYS, *l->key);
  if (status == BESOM_NOT_FOUND)
    return BESOM_OK; /* BESOM_PUT_NEW was given for a key that existed */
  /* It need not have been the last of its list, so append cannot undo it. */
  besom__guard_check_undo(g, status);
  return status;
}

/* Changes the store first: a fingerprint without a record is harmless, a record without a
   fingerprint is lost. */
static besom_status remove_found(besom_guard *g, const struct lookup *l) {
  besom_filter *f = l->epoch->filter;
  besom_status status = besom__undo_make_room(g, 1);
  if (status == BESOM_OK && keeps_images(g)) status = besom__image_add(g, false, l->key, l->value);
  if (status == BESOM_OK) status = guard_prepare_remove(f, l->found_at);
  if (status == BESOM_OK) status = remove_record(g, l);
  besom__migration_list_changed(g, l->epoch, l->found_at.bucket);
  if (status != BESOM_OK) return status;
  besom__undo_add(g, f, l->found_at, true);
  count(g, &g->stats.deletes, 1);
  return besom_remove_at(f, &l->found_at);
}

static besom_status delete_found(besom_guard *g, const struct lookup *l) {
  besom_status status = besom__change_begin(g);
  return status == BESOM_OK ? besom__change_end(g, remove_found(g, l), OF_CALLER) : status;
}

/* Split: the lists have no values, but the image needs the value. */
static besom_status find_to_delete(struct lookup *l, besom_bytes *old) {
  besom_guard *g = l->guard;
  bool split = g->layout == BESOM_LAYOUT_SPLIT, image = keeps_images(g);
  if (image && !split) l->value = old;
  besom_status status = besom__lookup_lists(l, &g->stats.delete_reads);
  if (status != BESOM_OK || !l->found || !image || !split) return status;
  l->value = old;
  status = besom__lookup_key(l, &g->stats.delete_reads);
  if (!old->data) l->value = NULL; /* BESOM_PUT_NEW was given for a key that existed */
  return status;
}

besom_status besom__guard_delete(besom_guard *g, const besom_bytes *key) {
  struct lookup l;
  besom_digest digest;
  besom_bytes old = {NULL, 0};
  besom_status status = besom__guard_ready_to_change(g);
  if (status != BESOM_OK) return status;
  const struct epoch *epoch = besom__guard_epoch_of(g, key, &digest);
  if (!epoch->filter->queries->contains_digest(epoch->filter, digest)) {
    status = guard_check_lock(g);
    return status == BESOM_OK ? BESOM_NOT_FOUND : status;
  }
  besom__lookup_begin(&l, g, epoch, digest, key);
  status = find_to_delete(&l, &old);
  if (status == BESOM_OK) status = l.found ? delete_found(g, &l) : BESOM_NOT_FOUND;
  besom__lookup_end(&l);
  besom_guard_release(g, &old);
  return status;
}
