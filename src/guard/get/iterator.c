/*
 * Iterators: a cursor over a snapshot of the store. The filter is not needed.
 *
 * Merged: a migration moves records from one epoch to the next in transactions, so in a snapshot
 * each key is in one epoch. The cursor shows the epochs of records from the first one on, without
 * those of the no lists. Earlier ones are empty, but a database may have to skip what it remembers
 * of their deleted records.
 */
#include "guard/transaction/transaction.h"

struct besom_iterator {
  besom_guard *guard;
  besom_cursor *cursor;
};

static besom_status open_cursor(besom_guard *g, besom_bytes from, besom_bytes to,
                                besom_cursor **out) {
  const besom_store_ops *ops = g->store->ops;
  if (!g->transactional || !HAS_OP(ops, table_cursor) || !ops->list_cursor)
    return BESOM_UNSUPPORTED;
  if (g->layout == BESOM_LAYOUT_SPLIT)
    return ops->table_cursor(g->store, BESOM_TABLE_KEYS, from, to, out);
  if (from.data || to.data) return BESOM_UNSUPPORTED;
  uint32_t first = __atomic_load_n(&g->first_epoch, __ATOMIC_RELAXED);
  return ops->list_cursor(g->store, first, NO_LISTS, out);
}

besom_status besom_guard_iterate(besom_guard *g, besom_bytes from, besom_bytes to,
                                 besom_iterator **out) {
  if (!g || !out) return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  besom_status status = g->locks ? BESOM_OK : besom__guard_flush(g);
  if (status != BESOM_OK) return status;
  besom_iterator *it = besom__allocate(&g->allocator, sizeof *it);
  if (!it) return BESOM_NO_MEMORY;
  it->guard = g;
  lock_read(g); /* the store is not being reopened */
  status = open_cursor(g, from, to, &it->cursor);
  if (status == BESOM_OK) __atomic_add_fetch(&g->iterators, 1, __ATOMIC_RELAXED);
  unlock(g);
  if (status != BESOM_OK) {
    besom__release(&g->allocator, it, sizeof *it);
    return status;
  }
  *out = it;
  return BESOM_OK;
}

besom_status besom_iterator_next(besom_iterator *it, besom_bytes *key, besom_bytes *value) {
  besom_record record;
  if (!it || !key) return BESOM_INVALID;
  if (!is_own_process(&it->guard->process)) return BESOM_LOCKED;
  besom_status status = it->cursor->next(it->cursor, &record);
  if (status != BESOM_OK) return status;
  *key = record.key;
  if (value) *value = record.value;
  return BESOM_OK;
}

void besom_iterator_close(besom_iterator *it) {
  if (!it || !is_own_process(&it->guard->process)) return;
  besom_guard *g = it->guard;
  it->cursor->close(it->cursor);
  besom__release(&g->allocator, it, sizeof *it);
  __atomic_sub_fetch(&g->iterators, 1, __ATOMIC_RELEASE);
}
