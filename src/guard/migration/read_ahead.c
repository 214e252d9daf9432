/*
 * Read-ahead: copies of the lists that migrate next. Copies, because a store must not be changed
 * while it shows a record. Of several steps, because it can take a store some time to find the
 * first list. If one of the lists changes before its step, all copies are dropped; that is rare.
 */
#include "guard/migration/read_ahead.h"

/* One scan reads at most this many records or bytes ahead, and looks at the clock now and then. */
enum { MAX_ITEMS = 4096, MAX_BYTES = 1 << 20, CLOCK_EVERY = 32 };

static besom_status copy_record(struct read_ahead *ahead, uint64_t bucket,
                                const besom_record *record) {
  struct copied_record item = {bucket, ahead->used, record->key.len, record->value.len, ahead->no};
  size_t len = item.key_len + item.value_len, room = ahead->room * sizeof item;
  const besom_allocator *a = &ahead->guard->allocator;
  if (!besom__array_grow(a, (void **)&ahead->bytes, ahead->used, &ahead->size, len + 1) ||
      !besom__array_grow(a, (void **)&ahead->items, ahead->n * sizeof item, &room, sizeof item))
    return BESOM_NO_MEMORY;
  ahead->room = room / sizeof item;
  if (item.key_len) memcpy(ahead->bytes + item.at, record->key.data, item.key_len);
  if (item.value_len)
    memcpy(ahead->bytes + item.at + item.key_len, record->value.data, item.value_len);
  ahead->used += len;
  ahead->items[ahead->n++] = item;
  return BESOM_OK;
}

/* The time counts from the first record on: some stores take a while to find it. */
static bool is_late(struct read_ahead *ahead, size_t n) {
  if (ahead->ns == NO_TIME_LIMIT || n % CLOCK_EVERY) return ahead->late;
  uint64_t now = besom__monotonic_ns();
  if (!n) ahead->begun = now;
  return ahead->late = n && now - ahead->begun >= ahead->ns;
}

/* Stops before a list that would exceed a limit, unless it is the first. */
static besom_status collect_record(void *ctx, besom_place at, const besom_record *record) {
  struct read_ahead *ahead = ctx;
  size_t n = ahead->n - ahead->first;
  if (at.bucket >= ahead->upto) return BESOM_END;
  if (n && at.bucket != ahead->items[ahead->n - 1].bucket) ahead->complete = ahead->n;
  bool much = is_late(ahead, n) || n >= MAX_ITEMS || ahead->used - ahead->used_before >= MAX_BYTES;
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
  ahead->late = false;
  besom_status status = g->store->ops->scan(g->store, from, collect_record, ahead);
  return status == BESOM_OK && ahead->room ? merge_lists(ahead) : status;
}

void besom__read_ahead_drop(besom_guard *g) {
  struct read_ahead *ahead = g->ahead;
  if (!ahead) return;
  besom__release(&g->allocator, ahead->items, ahead->room * sizeof *ahead->items);
  besom__release(&g->allocator, ahead->bytes, ahead->size);
  besom__release(&g->allocator, ahead, sizeof *ahead);
  g->ahead = NULL;
}

void besom__migration_list_changed(besom_guard *g, const struct epoch *epoch, uint64_t bucket) {
  if (g->ahead && epoch == &g->current && bucket < g->ahead->upto) besom__read_ahead_drop(g);
}

besom_status besom__read_ahead_fill(besom_guard *g, uint64_t ns) {
  besom_place from = {.epoch = g->current.number, .bucket = g->frontier};
  g->ahead = besom__allocate(&g->allocator, sizeof *g->ahead);
  if (!g->ahead) return BESOM_NO_MEMORY;
  *g->ahead = (struct read_ahead){.guard = g, .ns = ns, .upto = ALL_MIGRATED};
  besom_status status = g->store->ops->scan(g->store, from, collect_record, g->ahead);
  if (status == BESOM_OK && g->no_keys) status = read_no_lists(g);
  if (status != BESOM_OK) besom__read_ahead_drop(g);
  return status;
}

struct slice besom__read_ahead_next(const struct read_ahead *ahead) {
  struct slice list = {ahead->done, ahead->done, ahead->upto};
  const struct copied_record *items = ahead->items;
  while (list.to < ahead->n && items[list.to].bucket == items[list.from].bucket) list.to++;
  if (list.to < ahead->n) list.upto = items[list.to].bucket;
  return list;
}
