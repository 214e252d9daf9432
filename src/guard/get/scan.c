/*
 * Scan: all keys of a guard with their values. Keys that an open transaction of another thread has
 * changed are shown as they were before it.
 */
#include "guard/transaction/before_images.h"
#include "guard/transaction/undo_log.h"

struct scan {
  besom_guard_visit visit;
  void *ctx;
  bool ended;
  struct image_list images;
  size_t next; /* split: the first image that was not shown */
};

static besom_status guard_scan_show(struct scan *s, besom_bytes key, besom_bytes value) {
  besom_status status = s->visit(s->ctx, key, value);
  s->ended = status != BESOM_OK;
  return status;
}

/* Shows the images up to a number. */
static besom_status show_images(struct scan *s, size_t end) {
  besom_status status = BESOM_OK;
  for (; s->next < end && status == BESOM_OK; s->next++) {
    const struct listed_image *image = &s->images.items[s->next];
    if (image->present) status = guard_scan_show(s, image->key, image->value);
  }
  return status;
}

static bool is_image(const struct scan *s, size_t i, besom_bytes key) {
  return i < s->images.n && bytes_equal(s->images.items[i].key, key);
}

/* Hash order: the images come last. */
static besom_status show_listed(void *ctx, besom_place at, const besom_record *record) {
  (void)at;
  struct scan *s = ctx;
  bool hidden =
      s->images.n && is_image(s, besom__images_before(&s->images, record->key), record->key);
  return hidden ? BESOM_OK : guard_scan_show(s, record->key, record->value);
}

/* Key order. */
static besom_status show_keyed(void *ctx, const besom_record *record) {
  struct scan *s = ctx;
  size_t before = s->images.n ? besom__images_before(&s->images, record->key) : 0;
  bool hidden = is_image(s, before, record->key);
  besom_status status = show_images(s, before + hidden);
  return status == BESOM_OK && !hidden ? guard_scan_show(s, record->key, record->value) : status;
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
    status = guard_scan_show(s, record.key, record.value);
    if (status != BESOM_OK) break;
  }
  besom_iterator_close(it);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status guard_scan_scan(besom_guard *g, besom_bytes from, besom_bytes to,
                                    struct scan *s) {
  besom_status status = ready_to_read(g);
  if (status == BESOM_OK) status = besom__images_list(g, from, to, &s->images);
  if (status != BESOM_OK) return status;
  status = g->layout == BESOM_LAYOUT_MERGED
               ? scan_lists(g, s)
               : g->store->ops->table_scan(g->store, BESOM_TABLE_KEYS, from, to, show_keyed, s);
  if (status == BESOM_OK && !s->ended) status = show_images(s, s->images.n);
  besom__images_list_free(g, &s->images);
  return status == BESOM_END ? BESOM_OK : status;
}

besom_status besom_guard_scan(besom_guard *g, besom_bytes from, besom_bytes to,
                              besom_guard_visit visit, void *ctx) {
  if (!g || !visit) return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  if (g->layout == BESOM_LAYOUT_MERGED && (from.data || to.data)) return BESOM_UNSUPPORTED;
  struct scan s = {.visit = visit, .ctx = ctx};
  if (g->read_only) return scan_snapshot(g, from, to, &s);
  lock_read(g);
  besom_status status = guard_scan_scan(g, from, to, &s);
  unlock(g);
  return status;
}
