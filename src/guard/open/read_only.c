/*
 * Read-only guards, in front of a store that another process may change at any time.
 *
 * A filter belongs to one commit number of the store. While the store has that number, the guard
 * answers as any other. Otherwise it bypasses the filter. Split: the table KEYS has the answer.
 * Merged: the key's bucket follows from the manifest, so the filters are replaced by empty ones if
 * the manifest has changed.
 *
 * Each read of the store is a snapshot of its own. If the commit number before the first and after
 * the last is the same, they were all of the same state. Otherwise, unless the key was found, they
 * are repeated.
 */
#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/get/lookup.h"
#include "guard/get/reverse_map.h"
#include "guard/get/value_copy.h"
#include "guard/open/manifest.h"
#include "guard/open/open.h"

enum { MAX_ATTEMPTS = 1000, MAX_SCANS = 3 };

static besom_status commit_number(const besom_guard *g, uint64_t *number) {
  return g->store->ops->commit_number(g->store, number);
}

/* ------------------------------------------------------------------ loading filters */

static void drop_filters(besom_guard *g) {
  besom_free(g->current.filter);
  besom_free(g->next.filter);
  g->current.filter = g->next.filter = NULL;
  g->seen.filled = false;
  g->seen.manifest = 0;
}

static bool is_readable(const besom_guard *g) {
  return g->layout == BESOM_LAYOUT_SPLIT || g->current.filter->kind->store->bucket_of;
}

/* The guard has no filters. Errors: BUSY (the store has changed meanwhile). */
static besom_status load_filled(besom_guard *g, const besom_config *config,
                                const besom_progress *progress) {
  uint64_t after;
  bool has_manifest;
  besom_status status = commit_number(g, &g->seen.commit);
  if (status != BESOM_OK) return status;
  status = besom__guard_create_filters(g, config, &has_manifest);
  if (status == BESOM_OK && !is_readable(g)) return BESOM_UNSUPPORTED;
  if (status == BESOM_OK) status = besom__guard_fill(g, has_manifest, progress);
  if (status == BESOM_CANCELLED || commit_number(g, &after) != BESOM_OK) return status;
  if (after != g->seen.commit) return BESOM_BUSY;
  g->seen.filled = status == BESOM_OK;
  return status;
}

/* Empty filters, which tell the buckets of keys. */
static besom_status load_empty(besom_guard *g, const besom_config *config) {
  bool has_manifest;
  return besom__guard_create_filters(g, config, &has_manifest);
}

static besom_status try_to_fill(besom_guard *g, const besom_config *config,
                                const besom_progress *progress) {
  besom_status status = BESOM_BUSY;
  for (unsigned i = 0; i < MAX_SCANS && status == BESOM_BUSY; i++) {
    drop_filters(g);
    status = load_filled(g, config, progress);
  }
  return status;
}

besom_status besom__reader_open(besom_guard *g, const besom_config *config,
                                const besom_progress *progress) {
  besom_status status = try_to_fill(g, config, progress);
  if (status == BESOM_BUSY) {
    drop_filters(g);
    status = load_empty(g, config);
  }
  if (status == BESOM_OK && moves_records(g)) g->adapt = BESOM_ADAPT_NEVER; /* it would write */
  return status;
}

/* ------------------------------------------------------------------ replacing filters */

/* There are no writers, so their lock is free for what changes the filters: refresh adapts them,
   and refresh and gets replace them. */
static void lock_filters(const besom_guard *g) {
  if (g->locks) besom__lock_writer(g->locks);
}

static void unlock_filters(const besom_guard *g) {
  if (g->locks) besom__unlock_writer(g->locks);
}

/* A guard with the same store and configuration, and without filters. *manifest: the one that the
   filters of g are by. */
static besom_guard *shadow_new(besom_guard *g, uint64_t *manifest) {
  besom_guard *shadow = besom__allocate(&g->allocator, sizeof *shadow);
  if (!shadow) return NULL;
  lock_read(g);
  shadow->allocator = g->allocator;
  shadow->store = g->store;
  shadow->adapt = g->adapt;
  shadow->layout = g->layout;
  shadow->transactional = g->transactional;
  shadow->filter_config = g->filter_config;
  memcpy(shadow->options, g->options, sizeof shadow->options);
  if (g->filter_config.options) shadow->filter_config.options = shadow->options;
  *manifest = g->seen.manifest;
  unlock(g);
  return shadow;
}

static void shadow_free(besom_guard *g, besom_guard *shadow) {
  besom_free(shadow->current.filter);
  besom_free(shadow->next.filter);
  besom__release(&g->allocator, shadow, sizeof *shadow);
}

/* g gets the filters of the shadow, which gets those of g. */
static void exchange_filters(besom_guard *g, besom_guard *shadow) {
  struct epoch current = g->current, next = g->next;
  besom__denials_clear(g);
  besom__front_drop(g);
  g->current = shadow->current;
  g->next = shadow->next;
  set_first_epoch(g);
  g->frontier = shadow->frontier;
  g->seen.filled = shadow->seen.filled;
  g->seen.commit = shadow->seen.commit;
  g->seen.manifest = shadow->seen.manifest;
  g->no_keys = shadow->no_keys;
  g->filter_config = shadow->filter_config;
  memcpy(g->options, shadow->options, sizeof g->options);
  if (g->filter_config.options) g->filter_config.options = g->options;
  memcpy(g->ids.store, shadow->ids.store, ID_BYTES);
  memcpy(g->ids.open, shadow->ids.open, ID_BYTES);
  shadow->current = current;
  shadow->next = next;
}

/* Whether g needs the filters of the shadow. Since they were read, another thread may have loaded
   filters of the same manifest, or of a later one, and even filled them. */
static bool has_news(const besom_guard *g, const besom_guard *shadow, uint64_t manifest) {
  return shadow->seen.filled || (g->seen.manifest == manifest && shadow->seen.manifest != manifest);
}

/* Binding can fail, so it comes first. */
static besom_status take_over(besom_guard *g, besom_guard *shadow, uint64_t manifest) {
  besom_status status = besom__guard_bind(g, shadow->current.filter);
  if (status == BESOM_OK && shadow->next.filter) status = besom__guard_bind(g, shadow->next.filter);
  if (status != BESOM_OK) return status;
  lock_filters(g);
  lock_write(g);
  if (has_news(g, shadow, manifest)) exchange_filters(g, shadow);
  unlock(g);
  unlock_filters(g);
  return BESOM_OK;
}

static besom_status replace_filters(besom_guard *g, bool fill) {
  uint64_t manifest;
  besom_guard *shadow = shadow_new(g, &manifest);
  if (!shadow) return BESOM_NO_MEMORY;
  const besom_config *config = &shadow->filter_config;
  besom_status status = fill ? try_to_fill(shadow, config, NULL) : load_empty(shadow, config);
  if (status == BESOM_OK) status = take_over(g, shadow, manifest);
  shadow_free(g, shadow);
  return status;
}

/* Gets of other threads may replace the filters, too. */
static besom_status is_up_to_date(besom_guard *g, bool *yes) {
  uint64_t now = 0;
  lock_read(g);
  besom_status status = commit_number(g, &now);
  *yes = g->seen.filled && g->seen.commit == now;
  unlock(g);
  return status;
}

besom_status besom_guard_refresh(besom_guard *g) {
  bool yes;
  if (!g) return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  if (!g->read_only) return BESOM_OK;
  besom_status status = is_up_to_date(g, &yes);
  if (status != BESOM_OK || !yes) return status == BESOM_OK ? replace_filters(g, true) : status;
  lock_filters(g);
  besom_status adapted = besom__guard_apply_queue(g);
  unlock_filters(g);
  /* If the store has changed meanwhile, what was adapted is out of date in any case. */
  status = is_up_to_date(g, &yes);
  return status == BESOM_OK && yes ? adapted : status;
}

/* ------------------------------------------------------------------ get */

struct bypass {
  besom_guard *guard;
  const besom_bytes *key;
  besom_bytes *value;
  bool found;
};

static besom_status copy_found(struct bypass *b, const besom_record *record) {
  b->found = true;
  besom_status status = b->value ? besom__value_copy(b->guard, record->value, b->value) : BESOM_OK;
  return status == BESOM_OK ? BESOM_END : status;
}

static besom_status compare_listed(void *ctx, besom_place at, const besom_record *record) {
  struct bypass *b = ctx;
  (void)at;
  return bytes_equal(record->key, *b->key) ? copy_found(b, record) : BESOM_OK;
}

static besom_status copy_keyed(void *ctx, const besom_record *record) {
  return copy_found(ctx, record);
}

/* Reads the store without asking the filter. The read lock is held. */
static besom_status read_store(besom_guard *g, const besom_bytes *key, besom_bytes *value) {
  struct bypass b = {g, key, value, false};
  besom_store *store = g->store;
  besom_digest digest;
  besom_status status;
  count(g, &g->stats.store_reads, 1);
  if (g->layout == BESOM_LAYOUT_SPLIT) {
    status = store->ops->table_get(store, BESOM_TABLE_KEYS, *key, copy_keyed, &b);
  } else {
    const struct epoch *epoch = besom__guard_epoch_of(g, key, &digest);
    besom_place at = {.epoch = epoch->number,
                      .bucket = epoch->filter->kind->store->bucket_of(epoch->filter, digest)};
    status = store->ops->get(store, at, compare_listed, &b);
  }
  if (status == BESOM_OK && !b.found) status = BESOM_NOT_FOUND;
  if (status != BESOM_OK) besom_guard_release(g, value);
  return status;
}

/* RETRY: the store has changed. RELOAD: its manifest has changed. */
enum attempt { DECIDED, RETRY, RELOAD };

static enum attempt check_manifest(besom_guard *g, besom_status *status) {
  uint64_t checksum;
  if (g->layout == BESOM_LAYOUT_SPLIT) return DECIDED; /* not needed */
  *status = besom__manifest_checksum(g, &checksum);
  if (*status != BESOM_OK) return DECIDED;
  return checksum == g->seen.manifest ? DECIDED : RELOAD;
}

/* Anything but "found" is valid only if the store has not changed meanwhile. */
static enum attempt read_only_check_number(const besom_guard *g, uint64_t before,
                                           besom_status *status) {
  uint64_t after;
  if (*status == BESOM_OK) return DECIDED;
  besom_status failure = commit_number(g, &after);
  if (failure != BESOM_OK) *status = failure;
  return failure != BESOM_OK || after == before ? DECIDED : RETRY;
}

static enum attempt bypass(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                           uint64_t before, besom_status *status) {
  enum attempt attempt = check_manifest(g, status);
  if (attempt != DECIDED) return attempt;
  if (*status == BESOM_OK) *status = read_store(g, key, value);
  if (g->layout == BESOM_LAYOUT_MERGED) attempt = read_only_check_number(g, before, status);
  if (attempt == DECIDED) {
    count(g, &g->stats.queries, 1);
    count(g, &g->stats.bypassed, 1);
  }
  return attempt;
}

static enum attempt try_once(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                             besom_status *status) {
  uint64_t before;
  bool maybe;
  *status = commit_number(g, &before);
  if (*status != BESOM_OK) return DECIDED;
  if (!g->seen.filled || before != g->seen.commit) return bypass(g, key, value, before, status);
  *status = besom__guard_ask(g, key, value, &maybe);
  return maybe ? read_only_check_number(g, before, status) : DECIDED;
}

besom_status besom__reader_get(besom_guard *g, const besom_bytes *key, besom_bytes *value) {
  besom_status status;
  for (unsigned i = 0; i < MAX_ATTEMPTS; i++) {
    lock_read(g);
    enum attempt attempt = try_once(g, key, value, &status);
    end_get(g);
    if (attempt == DECIDED) return status;
    if (attempt == RELOAD) status = replace_filters(g, false);
    if (attempt == RELOAD && status != BESOM_OK) return status;
  }
  return BESOM_BUSY;
}
