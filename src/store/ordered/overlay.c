#include "store/ordered/overlay.h"

#include "core/system/memory.h"
#include "store/store_calls.h"

enum { FEW_CHANGES = 8 };

/* ------------------------------------------------------------------ reading */

struct merge {
  const struct sorted_entry *next; /* entry of the overlay that was not shown yet */
  besom_table_visit visit;
  void *ctx;
  bool ended; /* the visitor returned END */
};

static besom_status overlay_show(struct merge *m, const besom_record *record) {
  besom_status status = m->visit(m->ctx, record);
  m->ended = status == BESOM_END;
  return status;
}

static besom_status show_next(struct merge *m) {
  const struct sorted_entry *e = m->next;
  m->next = e->next[0];
  besom_record record = {besom__sorted_key(e), besom__sorted_value(e)};
  return e->removed ? BESOM_OK : overlay_show(m, &record);
}

/* Shows the entries of the overlay before a key. */
static besom_status show_before(struct merge *m, besom_bytes key) {
  besom_status status = BESOM_OK;
  while (status == BESOM_OK && m->next && besom__compare(besom__sorted_key(m->next), key) < 0)
    status = show_next(m);
  return status;
}

/* Visits a record of the database. If the overlay has its key, shows that entry instead. */
static besom_status overlay_merge_record(void *ctx, const besom_record *record) {
  struct merge *m = ctx;
  besom_status status = show_before(m, record->key);
  if (status != BESOM_OK) return status;
  bool changed = m->next && besom__compare(besom__sorted_key(m->next), record->key) == 0;
  return changed ? show_next(m) : overlay_show(m, record);
}

besom_status besom__overlay_scan(const struct overlay *o, besom_bytes from, besom_bytes to,
                                 besom_table_visit visit, void *ctx) {
  struct merge m = {.visit = visit, .ctx = ctx};
  if (has_unwritten(o)) m.next = besom__sorted_from(&o->changes, from);
  besom_status status = o->ops.scan(o->db, from, to, overlay_merge_record, &m);
  if (status == BESOM_OK && !m.ended) status = show_before(&m, to);
  return end_as_ok(status);
}

besom_status besom__overlay_show(const struct overlay *o, besom_bytes key, besom_table_visit visit,
                                 void *ctx) {
  const struct sorted_entry *e = has_unwritten(o) ? besom__sorted_find(&o->changes, key) : NULL;
  if (!e) return end_as_ok(o->ops.get(o->db, key, visit, ctx));
  besom_record record = {key, besom__sorted_value(e)};
  return e->removed ? BESOM_OK : end_as_ok(visit(ctx, &record));
}

struct found {
  besom_table_visit visit;
  void *ctx;
  bool found;
};

static besom_status visit_found(void *ctx, const besom_record *record) {
  struct found *f = ctx;
  f->found = true;
  return f->visit(f->ctx, record);
}

besom_status besom__overlay_get(const struct overlay *o, besom_bytes key, besom_table_visit visit,
                                void *ctx) {
  struct found f = {.visit = visit, .ctx = ctx};
  besom_status status = besom__overlay_show(o, key, visit_found, &f);
  return status == BESOM_OK && !f.found ? BESOM_NOT_FOUND : status;
}

/* ------------------------------------------------------------------ changing */

static void overlay_free_displaced(struct overlay *o) {
  for (struct sorted_entry *e = o->displaced, *next; e; e = next) {
    next = e->next[0];
    besom__sorted_free(&o->changes, e);
  }
  o->displaced = NULL;
}

/* Of the entries that one key had since the savepoint, only the first displaces an older one. */
void besom__overlay_put(struct overlay *o, struct sorted_entry *e) {
  e->savepoint = o->savepoint;
  o->changed = true;
  struct sorted_entry *old = besom__sorted_put(&o->changes, e);
  if (!old) return;
  if (old->savepoint == o->savepoint) {
    besom__sorted_free(&o->changes, old);
    return;
  }
  old->next[0] = o->displaced;
  o->displaced = old;
}

void besom__overlay_set_savepoint(struct overlay *o) {
  overlay_free_displaced(o);
  o->savepoint++;
  o->changed = false;
}

void besom__overlay_undo(struct overlay *o) {
  if (!o->changed) return;
  for (struct sorted_entry *e = o->changes.first[0], *next; e; e = next) {
    next = e->next[0];
    if (e->savepoint != o->savepoint) continue;
    besom__sorted_take(&o->changes, besom__sorted_key(e));
    besom__sorted_free(&o->changes, e);
  }
  for (struct sorted_entry *e = o->displaced, *next; e; e = next) {
    next = e->next[0];
    besom__sorted_put(&o->changes, e);
  }
  o->displaced = NULL;
  o->changed = false;
}

void besom__overlay_clear(struct overlay *o) {
  if (o->displaced) overlay_free_displaced(o);
  besom__sorted_clear(&o->changes);
  o->written = false;
  o->savepoint = 0;
}

/* ------------------------------------------------------------------ writing */

besom_status besom__overlay_write(struct overlay *o, bool durable) {
  size_t n = (size_t)o->changes.count, i = 0;
  besom_write few[FEW_CHANGES], *all = few;
  if (n > FEW_CHANGES) all = besom__allocate(&o->changes.allocator, n * sizeof *all);
  if (!all) return BESOM_NO_MEMORY;
  for (const struct sorted_entry *e = o->changes.first[0]; e; e = e->next[0])
    all[i++] = (besom_write){{besom__sorted_key(e), besom__sorted_value(e)}, e->removed};
  besom_status status = BESOM_OK;
  if (n)
    status = o->ops.write(o->db, all, n, durable);
  else if (durable) /* a durable commit makes earlier ones durable, too */
    status = o->ops.sync(o->db);
  if (all != few) besom__release(&o->changes.allocator, all, n * sizeof *all);
  if (status == BESOM_OK) atomic_store_explicit(&o->written, true, memory_order_release);
  return status;
}
