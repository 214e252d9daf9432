/*
 * Migration: growing and rekeying while serving. A guard moves its records from the current epoch
 * to the next one, whose filter has a new seed, in steps.
 *
 * The store keeps the bucket lists of each epoch apart. A step removes some lists from the current
 * epoch, in the order of their buckets, and appends their records to lists of the next one. The
 * frontier is the bucket below which all lists have migrated; it is written in the same
 * transaction. So a key's bucket in the current filter tells which of the two filters has the key,
 * and a query asks only one.
 */
#include "guard/guard.h"

#define ALL_MIGRATED UINT64_MAX /* a frontier above all buckets */

/* One scan reads the lists of this many steps ahead, but no more than this many bytes. */
enum { READ_AHEAD_STEPS = 64, READ_AHEAD_BYTES = 1 << 20 };

/* A configured capacity is reached before the filter grows, whatever the ahead factor is then. */
void besom__guard_set_grow_threshold(besom_guard *g) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->current.filter, &slots, &width);
  g->grow_items = slots && g->grow_at < 1 ? (uint64_t)(g->grow_at * (double)slots) : UINT64_MAX;
  if (g->grow_items < g->filter_config.capacity) g->grow_items = g->filter_config.capacity;
}

static bool can_migrate(const besom_guard *g) {
  return g->transactional && g->current.filter->kind->bucket_of;
}

/* ------------------------------------------------------------------ start */

static besom_status next_filter(besom_guard *g, bool grow, besom_filter **out) {
  uint64_t slots;
  uint32_t width;
  besom__guard_geometry(g->current.filter, &slots, &width);
  const char *hash = besom__hash_name(g->current.filter->hasher.id);
  besom_status status =
      besom__guard_filter_new(g, hash, NULL, grow ? 2 * slots : slots, width, out);
  if (status != BESOM_OK) return status;
  status = besom__guard_bind(g, *out);
  if (status != BESOM_OK) besom_free(*out);
  return status;
}

/* The same width with twice the slots gives the same false-positive rate. */
static besom_status migration_start(besom_guard *g, bool grow) {
  struct epoch next = {NULL, g->current.number + 1};
  besom_status status = next_filter(g, grow, &next.filter);
  if (status != BESOM_OK) return status;
  status = besom__change_begin(g);
  if (status != BESOM_OK) {
    besom_free(next.filter);
    return status;
  }
  g->next = next;
  g->frontier = 0;
  status = besom__manifest_write(g, false);
  if (status == BESOM_OK) {
    count(g, grow ? &g->stats.growths : &g->stats.rekeys, 1);
    g->rekey_wanted = false;
  } else {
    g->next.filter = NULL;
    besom_free(next.filter);
  }
  return besom__change_end(g, status, durable_work(g));
}

/* ------------------------------------------------------------------ read-ahead */

struct copied_record {
  uint64_t bucket;
  size_t at; /* offset in bytes: the key, then the value */
  size_t key_len, value_len;
  bool no; /* a key of the no list */
};

/*
 * Copies of the next lists to migrate. Copies, because a store must not be changed while it shows a
 * record. Of several steps, because it can take a store some time to find the first list. If one of
 * the lists changes before its step, all copies are dropped; that is rare.
 */
struct read_ahead {
  besom_guard *guard;
  uint64_t max;
  struct copied_record *items;
  size_t n, room;
  size_t done;     /* items that have migrated */
  size_t complete; /* items of lists that are complete */
  size_t first;    /* items from here on are of the current scan, */
  bool no;         /* which is that of the no lists */
  uint8_t *bytes;
  size_t used, size, used_before; /* used_before: by the scan before the current one */
  uint64_t upto;                  /* the first bucket that was not read */
};

static bool enlarge(const besom_guard *g, void **array, size_t used, size_t *size, size_t more) {
  if (*size - used >= more) return true;
  size_t now = 2 * *size > used + more ? 2 * *size : used + more;
  void *larger = besom__allocate(&g->allocator, now);
  if (!larger) return false;
  if (used) memcpy(larger, *array, used);
  besom__release(&g->allocator, *array, *size);
  *array = larger;
  *size = now;
  return true;
}

static besom_status copy_record(struct read_ahead *ahead, uint64_t bucket,
                                const besom_record *record) {
  struct copied_record item = {bucket, ahead->used, record->key.len, record->value.len, ahead->no};
  size_t len = item.key_len + item.value_len, room = ahead->room * sizeof item;
  if (!enlarge(ahead->guard, (void **)&ahead->bytes, ahead->used, &ahead->size, len + 1))
    return BESOM_NO_MEMORY;
  if (!enlarge(ahead->guard, (void **)&ahead->items, ahead->n * sizeof item, &room, sizeof item))
    return BESOM_NO_MEMORY;
  ahead->room = room / sizeof item;
  if (item.key_len) memcpy(ahead->bytes + item.at, record->key.data, item.key_len);
  if (item.value_len)
    memcpy(ahead->bytes + item.at + item.key_len, record->value.data, item.value_len);
  ahead->used += len;
  ahead->items[ahead->n++] = item;
  return BESOM_OK;
}

/* Stops before a list that would exceed the limit, unless it is the first. */
static besom_status collect_record(void *ctx, besom_place at, const besom_record *record) {
  struct read_ahead *ahead = ctx;
  size_t n = ahead->n - ahead->first;
  if (at.bucket >= ahead->upto) return BESOM_END;
  if (n && at.bucket != ahead->items[ahead->n - 1].bucket) ahead->complete = ahead->n;
  bool much = n >= ahead->max || ahead->used - ahead->used_before >= READ_AHEAD_BYTES;
  if (much && ahead->complete > ahead->first) {
    ahead->n = ahead->complete;
    ahead->upto = at.bucket;
    return BESOM_END;
  }
  return copy_record(ahead, at.bucket, record);
}

/* Orders items by bucket, members before keys of the no list. Drops what the second scan did not
   reach. */
static besom_status merge_lists(struct read_ahead *ahead) {
  size_t members = ahead->first, n = 0, i = 0, j = members;
  struct copied_record *items = ahead->items, *merged;
  merged = besom__allocate(&ahead->guard->allocator, ahead->room * sizeof *merged);
  if (!merged) return BESOM_NO_MEMORY;
  while (members && items[members - 1].bucket >= ahead->upto) members--;
  while (i < members || j < ahead->n) {
    bool member = j == ahead->n || (i < members && items[i].bucket <= items[j].bucket);
    merged[n++] = items[member ? i++ : j++];
  }
  besom__release(&ahead->guard->allocator, items, ahead->room * sizeof *items);
  ahead->items = merged;
  ahead->n = n;
  return BESOM_OK;
}

static besom_status read_no_lists(besom_guard *g) {
  struct read_ahead *ahead = g->ahead;
  besom_place from = {.epoch = g->current.number | NO_LISTS, .bucket = g->frontier};
  ahead->first = ahead->complete = ahead->n;
  ahead->used_before = ahead->used;
  ahead->no = true;
  besom_status status = g->store->ops->scan(g->store, from, collect_record, ahead);
  return status == BESOM_OK && ahead->room ? merge_lists(ahead) : status;
}

void besom__migration_drop_read_ahead(besom_guard *g) {
  struct read_ahead *ahead = g->ahead;
  if (!ahead) return;
  besom__release(&g->allocator, ahead->items, ahead->room * sizeof *ahead->items);
  besom__release(&g->allocator, ahead->bytes, ahead->size);
  besom__release(&g->allocator, ahead, sizeof *ahead);
  g->ahead = NULL;
}

void besom__migration_list_changed(besom_guard *g, const struct epoch *epoch, uint64_t bucket) {
  if (g->ahead && epoch == &g->current && bucket < g->ahead->upto)
    besom__migration_drop_read_ahead(g);
}

static besom_status fill_read_ahead(besom_guard *g, uint64_t max) {
  besom_place from = {.epoch = g->current.number, .bucket = g->frontier};
  g->ahead = besom__allocate(&g->allocator, sizeof *g->ahead);
  if (!g->ahead) return BESOM_NO_MEMORY;
  *g->ahead =
      (struct read_ahead){.guard = g,
                          .max = max < UINT64_MAX / READ_AHEAD_STEPS ? max * READ_AHEAD_STEPS : max,
                          .upto = ALL_MIGRATED};
  besom_status status = g->store->ops->scan(g->store, from, collect_record, g->ahead);
  if (status == BESOM_OK && g->no_keys) status = read_no_lists(g);
  if (status != BESOM_OK) besom__migration_drop_read_ahead(g);
  return status;
}

/* The lists of the next step: at most max items, but at least one list. */
struct slice {
  size_t from, to;
  uint64_t upto;
};

static struct slice next_slice(const struct read_ahead *ahead, uint64_t max) {
  struct slice s = {ahead->done, ahead->done, 0};
  for (size_t end = s.from; end < ahead->n && (s.to == s.from || end - s.from < max);) {
    uint64_t bucket = ahead->items[end].bucket;
    while (end < ahead->n && ahead->items[end].bucket == bucket) end++;
    if (s.to > s.from && end - s.from > max) break;
    s.to = end;
  }
  s.upto = s.to < ahead->n ? ahead->items[s.to].bucket : ahead->upto;
  return s;
}

/* ------------------------------------------------------------------ a step */

/* The member must not match the keys of the no list that have migrated to its bucket. */
static besom_status separate(besom_guard *g, besom_digest digest, besom_match at) {
  struct digest_list no;
  besom_status status = besom__no_list_read(g, &g->next, digest, &no, &g->stats.filter_reads);
  if (status != BESOM_OK) return status;
  status = besom__no_list_separate(g, g->next.filter, &no, digest, at);
  besom__digest_list_free(&no);
  return status;
}

static besom_status append_to_next(besom_guard *g, const besom_record *record) {
  besom_digest digest = key_digest(g->next.filter, &record->key);
  besom_match at;
  besom_status status = besom_insert_at(g->next.filter, digest, 0, &at);
  if (status != BESOM_OK) return status;
  besom__undo_add(g, g->next.filter, at, false);
  status = separate(g, digest, at);
  return status == BESOM_OK
             ? g->store->ops->append(g->store, position_of(g->next.number, at), record)
             : status;
}

/* Changes the filter first: it may have to read keys that are still stored. */
static besom_status remove_from_current(besom_guard *g, uint64_t bucket) {
  besom_match at = {bucket, 0};
  besom__undo_add(g, g->current.filter, at, true);
  besom_status status = besom_remove_at(g->current.filter, &at);
  return status == BESOM_OK ? g->store->ops->remove(g->store, position_of(g->current.number, at))
                            : status;
}

static besom_status migrate_item(besom_guard *g, const struct copied_record *item,
                                 const uint8_t *bytes) {
  const uint8_t *value = bytes + item->key_len;
  besom_record record = {{bytes, item->key_len}, {value, item->value_len}};
  besom_status status = item->no ? besom__no_list_migrate(g, &record) : append_to_next(g, &record);
  if (status != BESOM_OK) return status;
  return item->no ? besom__no_list_leave(g, item->bucket) : remove_from_current(g, item->bucket);
}

static besom_status migrate_slice(besom_guard *g, const struct read_ahead *ahead,
                                  struct slice some) {
  besom_status status = BESOM_OK;
  for (size_t i = some.from; i < some.to && status == BESOM_OK; i++)
    status = migrate_item(g, &ahead->items[i], ahead->bytes + ahead->items[i].at);
  if (status != BESOM_OK) return status;
  g->frontier = some.upto;
  return besom__manifest_write(g, false);
}

static void count_step(besom_guard *g, uint64_t items) {
  count(g, &g->stats.steps, 1);
  count(g, &g->stats.step_items, items);
  if (items > g->stats.largest_step)
    count(g, &g->stats.largest_step, items - g->stats.largest_step);
}

/* A rollback drops the read-ahead, too. */
static besom_status step(besom_guard *g, uint64_t max) {
  besom_status status = g->ahead ? BESOM_OK : fill_read_ahead(g, max);
  if (status != BESOM_OK) return status;
  struct slice some = next_slice(g->ahead, max);
  status = besom__undo_make_room(g, 2 * (some.to - some.from));
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  bool alone = g->tx == TX_SINGLE;
  status = migrate_slice(g, g->ahead, some);
  if (status != BESOM_OK && !alone) g->tx_error = status; /* half a step cannot be undone alone */
  status = besom__change_end(g, status, durable_work(g));
  if (status != BESOM_OK) return status;
  count_step(g, some.to - some.from);
  g->ahead->done = some.to;
  if (some.to == g->ahead->n) besom__migration_drop_read_ahead(g);
  return BESOM_OK;
}

/* The next epoch becomes the current one. */
static void switch_to_next(besom_guard *g) {
  besom_free(g->current.filter);
  g->current = g->next;
  g->next.filter = NULL;
  g->frontier = 0;
  besom__guard_set_grow_threshold(g);
}

/* If the batch is aborted, both filters are rebuilt from the store. That is rare. */
static besom_status migration_finish_in_batch(besom_guard *g) {
  besom_status status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  status = besom__manifest_write(g, true);
  if (status == BESOM_OK) {
    if (!g->filter_replaced) {
      g->old_current = besom__guard_filter_params(&g->current);
      g->old_next = besom__guard_filter_params(&g->next);
    }
    g->filter_replaced = true;
    switch_to_next(g);
  }
  return besom__change_end(g, status, durable_work(g));
}

/* Commits the manifest before the old filter is freed, so that there is nothing to roll back. */
static besom_status migration_finish(besom_guard *g) {
  if (g->tx == TX_BATCH) return migration_finish_in_batch(g);
  besom_status status = besom__guard_flush(g, false);
  if (status == BESOM_OK) status = besom__change_begin(g);
  if (status == BESOM_OK)
    status = besom__change_end(g, besom__manifest_write(g, true), durable_work(g));
  if (status == BESOM_OK) status = besom__guard_flush(g, false);
  if (status != BESOM_OK) return status;
  lock_write(g);
  switch_to_next(g);
  unlock(g);
  return BESOM_OK;
}

besom_status besom__migration_step(besom_guard *g, uint64_t max) {
  besom_status status = g->frontier == ALL_MIGRATED ? BESOM_OK : step(g, max);
  return status == BESOM_OK && g->frontier == ALL_MIGRATED ? migration_finish(g) : status;
}

/* ------------------------------------------------------------------ when */

/* Whether a migration should also double the size: always above the threshold, and for a rekey when
   the filter is three quarters full. */
static bool should_grow(const besom_guard *g) {
  const besom_filter *f = g->current.filter;
  return f->items > g->grow_items || (g->grow_at < 1 && f->items >= f->capacity / 4 * 3);
}

void besom__migration_advance(besom_guard *g) {
  if (!can_migrate(g) || g->filter_stale || g->tx == TX_FAILED) return;
  besom_status status = BESOM_OK;
  if (!g->next.filter) {
    if (LIKELY(g->current.filter->items <= g->grow_items && !g->rekey_wanted)) return;
    status = migration_start(g, should_grow(g));
  }
  if (status == BESOM_OK) status = besom__migration_step(g, g->step_items);
  if (status != BESOM_OK) count(g, &g->stats.failed_steps, 1);
}

besom_status besom__migration_make_room(besom_guard *g) {
  if (!can_migrate(g)) return BESOM_FULL;
  if (!g->next.filter) {
    besom_status status = g->grow_at < 1 ? migration_start(g, true) : BESOM_FULL;
    if (status != BESOM_OK) return status;
  }
  return besom__migration_step(g, g->step_items);
}

besom_status besom_guard_rekey(besom_guard *g) {
  if (!g) return BESOM_INVALID;
  if (!can_migrate(g)) return BESOM_UNSUPPORTED;
  if (in_batch(g)) return BESOM_BUSY;
  besom_status status = besom__guard_resync(g); /* may bring a migration back */
  if (status != BESOM_OK) return status;
  return g->next.filter ? BESOM_BUSY : migration_start(g, should_grow(g));
}

besom_status besom_guard_step(besom_guard *g, uint64_t max_items, bool *finished) {
  if (!g || !max_items) return BESOM_INVALID;
  besom_status status = besom__guard_resync(g);
  if (status == BESOM_OK) status = besom__guard_apply_queue(g);
  if (status == BESOM_OK && !g->next.filter && g->rekey_wanted && can_migrate(g))
    status = migration_start(g, should_grow(g));
  if (status == BESOM_OK && g->next.filter) status = besom__migration_step(g, max_items);
  if (finished) *finished = !g->next.filter;
  return status;
}
