/*
 * The undo log: how the filter follows when the store drops changes.
 *
 * The log has the buckets that the transaction has changed. Appended fingerprints are removed, the
 * last one first. A bucket that lost a fingerprint cannot be repaired by ranks: it is emptied and
 * refilled from the store's list.
 */
#include "guard/transaction/undo_log.h"
#include "guard/get/digest_list.h"
#include "guard/open/open.h"
#include "guard/put/no_list.h"

besom_status besom__undo_make_room(besom_guard *g, size_t n) {
  if (!g->transactional || g->undo.room - g->undo.n >= n) return BESOM_OK;
  size_t each = sizeof *g->undo.entries, size = g->undo.room * each;
  if (!besom__array_grow(&g->allocator, (void **)&g->undo.entries, g->undo.n * each, &size,
                         n * each))
    return BESOM_NO_MEMORY;
  g->undo.room = size / each;
  return BESOM_OK;
}

void besom__undo_add(besom_guard *g, const besom_filter *f, besom_match at, bool refill) {
  if (g->tx != TX_NONE)
    g->undo.entries[g->undo.n++] = (struct undo_entry){at, f == g->next.filter, refill};
}

void besom__undo_forget_next(besom_guard *g, size_t from) {
  size_t kept = from;
  for (size_t i = from; i < g->undo.n; i++)
    if (!g->undo.entries[i].next) g->undo.entries[kept++] = g->undo.entries[i];
  g->undo.n = kept;
}

/* ------------------------------------------------------------------ one bucket */

static const struct epoch *epoch_of_entry(const besom_guard *g, const struct undo_entry *t) {
  return t->next ? &g->next : &g->current;
}

/* Removes all fingerprints of a bucket from a rank on. */
static besom_status truncate_bucket(besom_filter *f, uint64_t bucket, uint32_t rank) {
  besom_status status;
  do status = besom_remove_at(f, &(besom_match){bucket, rank});
  while (status == BESOM_OK);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static besom_status refill_bucket(besom_filter *f, uint64_t bucket,
                                  const struct digest_list *list) {
  besom_status status = truncate_bucket(f, bucket, 0);
  for (size_t i = 0; i < list->n && status == BESOM_OK; i++) {
    besom_match at = {bucket, (uint32_t)i}, given;
    besom_digest digest = digests_of(list)[i];
    status = f->kind->store->restore_at ? f->kind->store->restore_at(f, digest, at)
                                        : besom_insert_at(f, digest, 0, &given);
  }
  return status;
}

/* The fingerprints of a refilled bucket have lost their extensions. */
static besom_status separate_bucket(besom_guard *g, const struct epoch *epoch, uint64_t bucket,
                                    const struct digest_list *list) {
  struct digest_list no;
  if (!list->n) return BESOM_OK;
  besom_status status =
      besom__no_list_read(g, epoch, digests_of(list)[0], &no, &g->stats.filter_reads);
  if (status != BESOM_OK) return status;
  for (size_t i = 0; i < list->n && no.n && status == BESOM_OK; i++)
    status = besom__no_list_separate(g, epoch->filter, &no, digests_of(list)[i],
                                     (besom_match){bucket, (uint32_t)i});
  besom__digest_list_free(&no);
  return status;
}

static besom_status repair_bucket(besom_guard *g, const struct undo_entry *t) {
  const struct epoch *epoch = epoch_of_entry(g, t);
  struct digest_list list = besom__digest_list(g, epoch->filter);
  besom_status status = g->store->ops->get(g->store, position_of(epoch->number, t->at),
                                           besom__digest_list_add, &list);
  if (status == BESOM_OK)
    status = t->refill ? refill_bucket(epoch->filter, t->at.bucket, &list)
                       : truncate_bucket(epoch->filter, t->at.bucket, (uint32_t)list.n);
  if (status == BESOM_OK && t->refill && g->no_keys)
    status = separate_bucket(g, epoch, t->at.bucket, &list);
  besom__digest_list_free(&list);
  return status;
}

/* ------------------------------------------------------------------ all entries */

/* Empties all buckets before the first is refilled, so that the filter does not run out of room. */
static besom_status repair_from_store(besom_guard *g) {
  besom_status status = BESOM_OK;
  for (size_t i = g->undo.from; i < g->undo.n && status == BESOM_OK; i++)
    if (g->undo.entries[i].refill)
      status = truncate_bucket(epoch_of_entry(g, &g->undo.entries[i])->filter,
                               g->undo.entries[i].at.bucket, 0);
  for (unsigned refill = 2; refill-- > 0;) /* after a refill nothing is left to truncate */
    for (size_t i = g->undo.from; i < g->undo.n && status == BESOM_OK; i++)
      if (g->undo.entries[i].refill == refill) status = repair_bucket(g, &g->undo.entries[i]);
  return status;
}

/* If nothing was removed: undoes the appends in reverse order, without reading the store. */
static besom_status undo_appends(besom_guard *g) {
  besom_status status = BESOM_OK;
  while (g->undo.n > g->undo.from && status == BESOM_OK) {
    const struct undo_entry *t = &g->undo.entries[g->undo.n - 1];
    status = besom_remove_at(epoch_of_entry(g, t)->filter, &t->at);
    if (status == BESOM_OK) g->undo.n--;
  }
  return status;
}

static bool has_removals(const besom_guard *g) {
  for (size_t i = g->undo.from; i < g->undo.n; i++)
    if (g->undo.entries[i].refill) return true;
  return false;
}

besom_status besom__undo_run(besom_guard *g) {
  bool restore = g->filter_replaced && !in_transaction(g);
  besom_status status;
  if (restore) {
    status = besom__guard_restore(g);
  } else {
    status = has_removals(g) ? repair_from_store(g) : undo_appends(g);
    /* A repair can fail: the filter may ask for keys that are not back in the store. */
    if (status != BESOM_OK) status = besom__guard_rebuild(g);
  }
  if (status != BESOM_OK) return status;
  g->undo.n = g->undo.from;
  g->filter_stale = false;
  if (restore) g->filter_replaced = false;
  return BESOM_OK;
}

besom_status besom__guard_resync(besom_guard *g) {
  if (LIKELY(!g->filter_stale)) return BESOM_OK;
  lock_write(g);
  besom_status status = besom__undo_run(g);
  unlock(g);
  return status;
}
