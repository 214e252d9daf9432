/* Scan: all keys of a guard with their values. */
#include "guard/guard.h"

struct scan {
  besom_guard_visit visit;
  void *ctx;
  bool ended;
};

static besom_status show(struct scan *s, const besom_record *record) {
  besom_status status = s->visit(s->ctx, record->key, record->value);
  s->ended = status != BESOM_OK;
  return status;
}

static besom_status show_listed(void *ctx, besom_place at, const besom_record *record) {
  (void)at;
  return show(ctx, record);
}

static besom_status show_keyed(void *ctx, const besom_record *record) {
  return show(ctx, record);
}

/* During a migration each key is in one of two epochs. */
static besom_status scan_lists(besom_guard *g, struct scan *s) {
  besom_store *store = g->store;
  besom_status status =
      store->ops->scan(store, (besom_place){.epoch = g->current.number}, show_listed, s);
  if (status == BESOM_OK && !s->ended && g->next.filter)
    status = store->ops->scan(store, (besom_place){.epoch = g->next.number}, show_listed, s);
  return status;
}

/* A read-only guard: another process may migrate records between two scans. */
static besom_status scan_snapshot(besom_guard *g, besom_bytes from, besom_bytes to,
                                  struct scan *s) {
  besom_iterator *it;
  besom_record record;
  besom_status status = besom_guard_iterate(g, from, to, &it);
  if (status != BESOM_OK) return status;
  while ((status = besom_iterator_next(it, &record.key, &record.value)) == BESOM_OK) {
    status = show(s, &record);
    if (status != BESOM_OK) break;
  }
  besom_iterator_close(it);
  return status == BESOM_END ? BESOM_OK : status;
}

besom_status besom_guard_scan(besom_guard *g, besom_bytes from, besom_bytes to,
                              besom_guard_visit visit, void *ctx) {
  if (!g || !visit) return BESOM_INVALID;
  if (g->layout == BESOM_LAYOUT_MERGED && (from.data || to.data)) return BESOM_UNSUPPORTED;
  struct scan s = {.visit = visit, .ctx = ctx};
  if (g->read_only) return scan_snapshot(g, from, to, &s);
  lock_read(g);
  besom_status status = ready_to_read(g);
  if (status == BESOM_OK)
    status = g->layout == BESOM_LAYOUT_MERGED
                 ? scan_lists(g, &s)
                 : g->store->ops->table_scan(g->store, BESOM_TABLE_KEYS, from, to, show_keyed, &s);
  unlock(g);
  return status;
}
