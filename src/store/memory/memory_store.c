/*
 * The store in memory: bucket lists, a sorted map per table, and an undo log while a transaction is
 * open.
 *
 * Changes are made at once. The undo log keeps what they displaced. Commit frees it. Abort puts it
 * back, the last change first, so each change is undone in the state just after it. Undoing needs
 * no memory.
 */

#include "core/system/memory.h"
#include "store/memory/bucket_lists.h"
#include "store/sorted_map.h"
#include "store/store_calls.h"

#define NO_SAVEPOINT SIZE_MAX

enum { TABLES = 2, FIRST_UNDO_ROOM = 64 };

/* An entry of the undo log. Of a list: record is what was displaced, NULL for an append. Of a
   table: the entries before and after the change, of which one may be NULL. */
struct change {
  enum { APPENDED, REPLACED, REMOVED, TABLE_CHANGED } what;
  besom_table table;
  besom_place at;
  struct stored_record *record;
  struct sorted_entry *before, *after;
};

struct memory_store {
  besom_store head;
  besom_allocator allocator;
  struct bucket_lists lists;
  struct sorted_map tables[TABLES];
  bool in_transaction;
  struct change *undo; /* the undo log */
  size_t changes, undo_room;
  size_t savepoint; /* length of the log when it was set; NO_SAVEPOINT */
  uint64_t commit_number;
  struct call_counters counters;
};

static struct memory_store *memory_store_self(besom_store *store) {
  return (struct memory_store *)store;
}

/* ------------------------------------------------------------------ transactions */

/* Makes room in the undo log. Call it before each change. */
static bool make_undo_room(struct memory_store *store) {
  if (!store->in_transaction || store->changes < store->undo_room) return true;
  size_t room = store->undo_room ? 2 * store->undo_room : FIRST_UNDO_ROOM;
  struct change *undo =
      besom__enlarge(&store->allocator, store->undo, store->changes * sizeof *undo,
                     store->undo_room * sizeof *undo, room * sizeof *undo);
  if (!undo) return false;
  store->undo = undo;
  store->undo_room = room;
  return true;
}

static void memory_store_free_displaced(struct memory_store *store, const struct change *change) {
  if (change->record) besom__lists_free_record(&store->lists, change->record);
  if (change->what == TABLE_CHANGED)
    besom__sorted_free(&store->tables[change->table], change->before);
}

/* Logs a change that was made. Without a transaction it is a commit of its own. */
static void log_change(struct memory_store *store, struct change change) {
  if (store->in_transaction) {
    store->undo[store->changes++] = change;
    return;
  }
  memory_store_free_displaced(store, &change);
  if (!store->lists.buckets) besom__lists_drop_empty(&store->lists);
  store->commit_number++;
}

static void undo_table(struct sorted_map *map, const struct change *change) {
  struct sorted_entry *after = change->after;
  if (change->before)
    besom__sorted_put(map, change->before); /* displaces after */
  else
    besom__sorted_take(map, besom__sorted_key(after));
  besom__sorted_free(map, after);
}

static void undo(struct memory_store *store, const struct change *change) {
  switch (change->what) {
  case APPENDED:
    besom__lists_free_record(&store->lists, besom__lists_take(&store->lists, change->at));
    break;
  case REPLACED:
    besom__lists_free_record(&store->lists,
                             besom__lists_replace(&store->lists, change->at, change->record));
    break;
  case REMOVED:
    besom__lists_insert(&store->lists, change->at, change->record);
    break;
  case TABLE_CHANGED:
    undo_table(&store->tables[change->table], change);
    break;
  }
}

/* Keeps a small log for the next transaction. */
static void end_transaction(struct memory_store *store) {
  store->in_transaction = false;
  store->changes = 0;
  if (store->undo_room <= FIRST_UNDO_ROOM) return;
  besom__release(&store->allocator, store->undo, store->undo_room * sizeof *store->undo);
  store->undo = NULL;
  store->undo_room = 0;
}

static besom_status memory_begin(besom_store *head) {
  struct memory_store *store = memory_store_self(head);
  if (store->in_transaction) return BESOM_BUSY;
  besom__lists_drop_empty(&store->lists); /* not during the transaction: abort may need them */
  store->in_transaction = true;
  store->savepoint = NO_SAVEPOINT;
  return BESOM_OK;
}

/* Readers may run: what is freed here was unlinked before they began, so they cannot see it. */
static besom_status memory_commit(besom_store *head, bool durable) {
  struct memory_store *store = memory_store_self(head);
  if (!store->in_transaction) return BESOM_INVALID;
  for (size_t i = 0; i < store->changes; i++) memory_store_free_displaced(store, &store->undo[i]);
  store->commit_number += store->changes != 0;
  end_transaction(store);
  count_call(&store->counters.commits);
  if (durable) count_call(&store->counters.syncs);
  return BESOM_OK;
}

static void memory_abort(besom_store *head) {
  struct memory_store *store = memory_store_self(head);
  if (!store->in_transaction) return;
  for (size_t i = store->changes; i--;) undo(store, &store->undo[i]);
  end_transaction(store);
}

static besom_status memory_set_savepoint(besom_store *head) {
  struct memory_store *store = memory_store_self(head);
  if (!store->in_transaction) return BESOM_INVALID;
  store->savepoint = store->changes;
  return BESOM_OK;
}

static void memory_undo_to_savepoint(besom_store *head) {
  struct memory_store *store = memory_store_self(head);
  if (!store->in_transaction || store->savepoint == NO_SAVEPOINT) return;
  while (store->changes > store->savepoint) undo(store, &store->undo[--store->changes]);
}

static besom_status memory_sync(besom_store *head) {
  count_call(&memory_store_self(head)->counters.syncs);
  return BESOM_OK;
}

static besom_status memory_commit_number(besom_store *head, uint64_t *number) {
  if (!number) return BESOM_INVALID;
  *number = memory_store_self(head)->commit_number;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ lists */

static besom_status memory_append(besom_store *head, besom_place at, const besom_record *record) {
  struct memory_store *store = memory_store_self(head);
  if (!is_record(record) || !besom__lists_ends_at(&store->lists, at)) return BESOM_INVALID;
  if (!make_undo_room(store) || (!at.rank && !besom__lists_make_room(&store->lists, at.epoch)))
    return BESOM_NO_MEMORY;
  struct stored_record *added = besom__lists_new_record(&store->lists, record);
  if (!added) return BESOM_NO_MEMORY;
  besom__lists_insert(&store->lists, at, added);
  log_change(store, (struct change){.what = APPENDED, .at = at});
  count_call(&store->counters.appends);
  return BESOM_OK;
}

static besom_status memory_replace(besom_store *head, besom_place at, const besom_record *record) {
  struct memory_store *store = memory_store_self(head);
  if (!is_record(record)) return BESOM_INVALID;
  if (!besom__lists_has(&store->lists, at)) return BESOM_NOT_FOUND;
  struct stored_record *next =
      make_undo_room(store) ? besom__lists_new_record(&store->lists, record) : NULL;
  if (!next) return BESOM_NO_MEMORY;
  struct stored_record *old = besom__lists_replace(&store->lists, at, next);
  log_change(store, (struct change){.what = REPLACED, .at = at, .record = old});
  count_call(&store->counters.updates);
  return BESOM_OK;
}

static besom_status memory_remove(besom_store *head, besom_place at) {
  struct memory_store *store = memory_store_self(head);
  if (!besom__lists_has(&store->lists, at)) return BESOM_NOT_FOUND;
  if (!make_undo_room(store)) return BESOM_NO_MEMORY;
  struct stored_record *old = besom__lists_take(&store->lists, at);
  log_change(store, (struct change){.what = REMOVED, .at = at, .record = old});
  count_call(&store->counters.removes);
  return BESOM_OK;
}

static besom_status memory_get(besom_store *head, besom_place at, besom_store_visit visit,
                               void *ctx) {
  struct memory_store *store = memory_store_self(head);
  if (!visit) return BESOM_INVALID;
  count_read(&store->counters, &store->counters.reads);
  return end_as_ok(besom__lists_show(&store->lists, at, visit, ctx));
}

static besom_status memory_scan(besom_store *head, besom_place from, besom_store_visit visit,
                                void *ctx) {
  struct memory_store *store = memory_store_self(head);
  if (!visit) return BESOM_INVALID;
  count_call(&store->counters.scans);
  return end_as_ok(besom__lists_scan(&store->lists, from, visit, ctx));
}

/* ------------------------------------------------------------------ tables */

static besom_status memory_table_put(besom_store *head, besom_table table,
                                     const besom_record *record) {
  struct memory_store *store = memory_store_self(head);
  if (!is_table(table) || !is_record(record) || !is_table_key(record->key)) return BESOM_INVALID;
  struct sorted_map *map = &store->tables[table];
  struct sorted_entry *after =
      make_undo_room(store) ? besom__sorted_new(map, record->key, record->value) : NULL;
  if (!after) return BESOM_NO_MEMORY;
  struct sorted_entry *before = besom__sorted_put(map, after);
  log_change(store, (struct change){
                        .what = TABLE_CHANGED, .table = table, .before = before, .after = after});
  count_table_call(&store->counters.table_puts, table);
  return BESOM_OK;
}

static besom_status show_entry(const struct sorted_entry *e, besom_table_visit visit, void *ctx) {
  besom_record shown = {besom__sorted_key(e), besom__sorted_value(e)};
  return visit(ctx, &shown);
}

static besom_status memory_table_get(besom_store *head, besom_table table, besom_bytes key,
                                     besom_table_visit visit, void *ctx) {
  struct memory_store *store = memory_store_self(head);
  if (!is_table(table) || !is_table_key(key) || !visit) return BESOM_INVALID;
  if (table != BESOM_TABLE_MANIFEST) count_read(&store->counters, &store->counters.table_reads);
  const struct sorted_entry *e = besom__sorted_find(&store->tables[table], key);
  return e ? end_as_ok(show_entry(e, visit, ctx)) : BESOM_NOT_FOUND;
}

static besom_status memory_table_remove(besom_store *head, besom_table table, besom_bytes key) {
  struct memory_store *store = memory_store_self(head);
  if (!is_table(table) || !is_table_key(key)) return BESOM_INVALID;
  struct sorted_map *map = &store->tables[table];
  if (!besom__sorted_find(map, key)) return BESOM_NOT_FOUND;
  if (!make_undo_room(store)) return BESOM_NO_MEMORY;
  struct sorted_entry *before = besom__sorted_take(map, key);
  log_change(store, (struct change){.what = TABLE_CHANGED, .table = table, .before = before});
  count_table_call(&store->counters.table_removes, table);
  return BESOM_OK;
}

static besom_status memory_table_scan(besom_store *head, besom_table table, besom_bytes from,
                                      besom_bytes to, besom_table_visit visit, void *ctx) {
  struct memory_store *store = memory_store_self(head);
  if (!from.data) from.len = 0;
  if (!to.data) to.len = 0;
  if (!is_table(table) || !visit || !is_table_key(from) || !is_table_key(to)) return BESOM_INVALID;
  besom_status status = BESOM_OK;
  const struct sorted_entry *e = besom__sorted_from(&store->tables[table], from);
  for (; e && status == BESOM_OK; e = e->next[0]) {
    if (to.data && besom__compare(besom__sorted_key(e), to) >= 0) break;
    status = show_entry(e, visit, ctx);
  }
  return end_as_ok(status);
}

/* ------------------------------------------------------------------ open, close, statistics */

static besom_status memory_stats(const besom_store *head, besom_store_statistics *out,
                                 size_t size) {
  const struct memory_store *store = (const struct memory_store *)head;
  besom_store_statistics all, *stats = &all;
  read_counters(&store->counters, stats);
  stats->records = store->lists.records;
  stats->buckets = store->lists.buckets;
  stats->bytes = sizeof *store + store->lists.bytes + store->undo_room * sizeof *store->undo;
  for (unsigned i = 0; i < TABLES; i++) stats->bytes += store->tables[i].bytes;
  besom_copy_struct(out, size, stats, sizeof *stats);
  return BESOM_OK;
}

static void memory_close(besom_store *head) {
  struct memory_store *store = memory_store_self(head);
  memory_abort(head);
  for (unsigned i = 0; i < TABLES; i++) besom__sorted_clear(&store->tables[i]);
  besom__lists_free(&store->lists);
  besom_allocator allocator = store->allocator;
  besom__release(&allocator, store->undo, store->undo_room * sizeof *store->undo);
  besom__release(&allocator, store, sizeof *store);
}

static const besom_store_ops memory_ops = {
    .size = sizeof(besom_store_ops),
    .append = memory_append,
    .get = memory_get,
    .replace = memory_replace,
    .remove = memory_remove,
    .scan = memory_scan,
    .stats = memory_stats,
    .close = memory_close,
    .begin = memory_begin,
    .commit = memory_commit,
    .abort = memory_abort,
    .sync = memory_sync,
    .commit_number = memory_commit_number,
    .table_put = memory_table_put,
    .table_get = memory_table_get,
    .table_remove = memory_table_remove,
    .table_scan = memory_table_scan,
    .set_savepoint = memory_set_savepoint,
    .undo_to_savepoint = memory_undo_to_savepoint,
};

besom_status besom_store_memory(const besom_allocator *allocator, besom_store **out) {
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || !allocator->allocate || !allocator->release) return BESOM_INVALID;
  struct memory_store *store = besom__allocate(allocator, sizeof *store);
  if (!store) return BESOM_NO_MEMORY;
  store->head.ops = &memory_ops;
  store->allocator = *allocator;
  init_counters(&store->counters);
  besom__lists_init(&store->lists, allocator);
  for (unsigned i = 0; i < TABLES; i++) besom__sorted_init(&store->tables[i], allocator);
  *out = &store->head;
  return BESOM_OK;
}
