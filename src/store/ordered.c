#include "store/ordered.h"

#include <string.h>

#include "core/bits.h"
#include "core/memory.h"
#include "store/checks.h"
#include "store/packed.h"

enum {
  MARKER = 'B',
  LIST = 'L',
  LONG_NUMBER = 247, /* a byte from here on says how many follow; below it the byte is the number */
  LONGEST_LIST_KEY = 1 + 5 + 9 + 5,
  LEAST_MAX_KEY = 64,
};

static const char marker[] = "besom store 1";

/* ------------------------------------------------------------------ changes of a call */

static void drop_changes(struct change_set *set) {
  for (struct sorted_entry *e = set->first, *next; e; e = next) {
    next = e->next[0];
    besom__sorted_free(&set->store->data.changes, e);
  }
}

struct sorted_entry *besom__add_change(struct change_set *set, besom_bytes key, besom_bytes value) {
  struct sorted_entry *e = besom__sorted_new(&set->store->data.changes, key, value);
  if (!e) return NULL;
  e->next[0] = set->first;
  set->first = e;
  return e;
}

bool besom__add_removal(struct change_set *set, besom_bytes key) {
  struct sorted_entry *e = besom__add_change(set, key, (besom_bytes){NULL, 0});
  if (e) e->gone = true;
  return e != NULL;
}

besom_status besom__apply(struct change_set *set, besom_status status) {
  struct ordered_store *store = set->store;
  if (status != BESOM_OK) {
    drop_changes(set);
    return status;
  }
  for (struct sorted_entry *e = set->first, *next; e; e = next) {
    next = e->next[0];
    besom__sorted_free(&store->data.changes, besom__sorted_put(&store->data.changes, e));
  }
  if (store->in_transaction) return BESOM_OK;
  status = besom__overlay_write(&store->data, false);
  besom__sorted_clear(&store->data.changes); /* written or not, there is nothing else in it */
  store->data.written = false;
  return status;
}

struct change_set besom__begin_changes(struct ordered_store *store) {
  besom__overlay_settle(&store->data);
  return (struct change_set){.store = store};
}

/* ------------------------------------------------------------------ keys of lists */

/* Short, since most buckets have but one record, and the database keeps this beside each. */
struct list_key {
  uint8_t bytes[LONGEST_LIST_KEY];
  uint8_t epoch_end, bucket_end, len; /* behind the epoch, the bucket, the rank */
};

static besom_bytes list_bytes(const struct list_key *key) {
  return (besom_bytes){key->bytes, key->len};
}

/* A byte, or one that says how many follow, the highest first: so the order of the bytes is that of the numbers. */
static uint8_t put_number(struct list_key *key, uint8_t at, uint64_t number) {
  if (number < LONG_NUMBER) {
    key->bytes[at] = (uint8_t)number;
    return (uint8_t)(at + 1);
  }
  unsigned bytes = (71 - leading_zeros(number)) / 8;
  key->bytes[at++] = (uint8_t)(LONG_NUMBER - 1 + bytes);
  while (bytes--) key->bytes[at++] = (uint8_t)(number >> (8 * bytes));
  return at;
}

static struct list_key list_key(besom_place at) {
  struct list_key key = {.bytes = {LIST}};
  key.epoch_end = put_number(&key, 1, at.epoch);
  key.bucket_end = put_number(&key, key.epoch_end, at.bucket);
  key.len = put_number(&key, key.bucket_end, at.rank);
  return key;
}

/* False if there is no such number. */
static bool take_number(besom_bytes *from, uint64_t most, uint64_t *number) {
  const uint8_t *at = from->data;
  if (!from->len) return false;
  unsigned bytes = *at < LONG_NUMBER ? 0 : *at - LONG_NUMBER + 1u;
  if (bytes > 8 || from->len < bytes + 1) return false;
  *number = bytes ? 0 : *at;
  for (unsigned i = 1; i <= bytes; i++) *number = *number << 8 | at[i];
  *from = (besom_bytes){at + bytes + 1, from->len - bytes - 1};
  return *number <= most;
}

/* False if it is no key of a list. */
static bool list_place(besom_bytes key, besom_place *place) {
  uint64_t epoch, rank;
  besom_bytes rest = {(const uint8_t *)key.data + 1, key.len - 1};
  if (!take_number(&rest, UINT32_MAX, &epoch) || !take_number(&rest, UINT64_MAX, &place->bucket))
    return false;
  if (!take_number(&rest, UINT32_MAX, &rank) || rest.len) return false;
  place->epoch = (uint32_t)epoch;
  place->rank = (uint32_t)rank;
  struct list_key again = list_key(*place);
  return besom__compare(key, list_bytes(&again)) == 0;
}

besom_bytes besom__prefix_end(uint8_t *prefix, size_t len) {
  while (prefix[len - 1] == UINT8_MAX) len--;
  prefix[len - 1]++;
  return (besom_bytes){prefix, len};
}

/* ------------------------------------------------------------------ reading lists */

struct list_walk {
  besom_store_visit visit;
  void *ctx;
  bool ended; /* visit said that it was enough */
};

static besom_status show_packed(void *ctx, const besom_record *found) {
  struct list_walk *walk = ctx;
  besom_record record;
  besom_place place;
  if (!list_place(found->key, &place)) return BESOM_CORRUPT;
  besom_status status = besom__unpack(found->value, &record);
  if (status == BESOM_OK) status = walk->visit(walk->ctx, place, &record);
  walk->ended = status == BESOM_END;
  return status;
}

/* All from a place on in its bucket, or in its whole epoch. */
static besom_status walk_lists(const struct ordered_store *store, besom_place from, bool bucket,
                               besom_table_visit visit, void *ctx) {
  struct list_key first = list_key(from), last = first;
  besom_bytes end = besom__prefix_end(last.bytes, bucket ? last.bucket_end : last.epoch_end);
  return besom__overlay_scan(&store->data, list_bytes(&first), end, visit, ctx);
}

/* Most who ask have seen enough after the first record, so that is got by its key, which costs less than a walk. */
static besom_status ordered_get(besom_store *head, besom_place at, besom_store_visit visit,
                                void *ctx) {
  struct ordered_store *store = of(head);
  if (!visit) return BESOM_INVALID;
  count_call(&store->counts.reads);
  at.rank = 0;
  struct list_key first = list_key(at);
  struct list_walk walk = {.visit = visit, .ctx = ctx};
  besom_status status = besom__overlay_get(&store->data, list_bytes(&first), show_packed, &walk);
  if (status != BESOM_OK || walk.ended) return status == BESOM_NOT_FOUND ? BESOM_OK : status;
  at.rank = 1;
  return walk_lists(store, at, true, show_packed, &walk);
}

static besom_status ordered_scan(besom_store *head, besom_place from, besom_store_visit visit,
                                 void *ctx) {
  if (!visit) return BESOM_INVALID;
  count_call(&of(head)->counts.scans);
  struct list_walk walk = {.visit = visit, .ctx = ctx};
  from.rank = 0;
  return walk_lists(of(head), from, false, show_packed, &walk);
}

/* ------------------------------------------------------------------ changing lists */

static besom_status put_record(struct ordered_store *store, besom_place at,
                               const besom_record *record) {
  struct change_set set = besom__begin_changes(store);
  struct list_key key = list_key(at);
  besom_bytes room = {NULL, besom__packed_size(record)};
  struct sorted_entry *e = besom__add_change(&set, list_bytes(&key), room);
  if (e) besom__pack(record, besom__sorted_room(e));
  return besom__apply(&set, e ? BESOM_OK : BESOM_NO_MEMORY);
}

/* A blind write: the filter knows the rank, so nothing is read. */
static besom_status ordered_append(besom_store *head, besom_place at, const besom_record *record) {
  struct ordered_store *store = of(head);
  if (!besom__can_be_packed(record)) return BESOM_INVALID;
  besom_status status = put_record(store, at, record);
  if (status != BESOM_OK) return status;
  store->tally.records++;
  store->tally.buckets += at.rank == 0;
  count_call(&store->counts.appends);
  return BESOM_OK;
}

besom_status besom__nothing_more(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_END;
}

static besom_status ordered_replace(besom_store *head, besom_place at, const besom_record *record) {
  struct ordered_store *store = of(head);
  if (!besom__can_be_packed(record)) return BESOM_INVALID;
  struct list_key key = list_key(at);
  besom_status status =
      besom__overlay_get(&store->data, list_bytes(&key), besom__nothing_more, NULL);
  if (status == BESOM_OK) status = put_record(store, at, record);
  if (status == BESOM_OK) count_call(&store->counts.updates);
  return status;
}

struct shift {
  struct change_set set;
  besom_place at; /* of the next record */
  uint32_t seen;
};

/* Shown the record to be removed, then those behind it: each goes to the place before its own. */
static besom_status shift_record(void *ctx, const besom_record *found) {
  struct shift *shift = ctx;
  struct list_key here = list_key(shift->at);
  if (besom__compare(found->key, list_bytes(&here)) != 0)
    return shift->seen ? BESOM_CORRUPT : BESOM_END;
  if (shift->seen++) {
    struct list_key before =
        list_key((besom_place){shift->at.epoch, shift->at.rank - 1, shift->at.bucket});
    if (!besom__add_change(&shift->set, list_bytes(&before), found->value)) return BESOM_NO_MEMORY;
  }
  shift->at.rank++;
  return BESOM_OK;
}

static besom_status ordered_remove(besom_store *head, besom_place at) {
  struct ordered_store *store = of(head);
  struct shift shift = {.set = besom__begin_changes(store), .at = at};
  besom_status status = walk_lists(store, at, true, shift_record, &shift);
  if (status == BESOM_OK && !shift.seen) status = BESOM_NOT_FOUND;
  if (status == BESOM_OK) {
    struct list_key last = list_key((besom_place){at.epoch, at.rank + (shift.seen - 1), at.bucket});
    if (!besom__add_removal(&shift.set, list_bytes(&last))) status = BESOM_NO_MEMORY;
  }
  status = besom__apply(&shift.set, status);
  if (status != BESOM_OK) return status;
  store->tally.records--;
  store->tally.buckets -= at.rank == 0 && shift.seen == 1;
  count_call(&store->counts.removes);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ transactions */

static besom_status ordered_begin(besom_store *head) {
  struct ordered_store *store = of(head);
  if (store->in_transaction) return BESOM_BUSY;
  besom__overlay_settle(&store->data);
  store->in_transaction = true;
  store->tally_before = store->tally;
  return BESOM_OK;
}

static besom_status ordered_commit(besom_store *head, bool durable) {
  struct ordered_store *store = of(head);
  if (!store->in_transaction) return BESOM_INVALID;
  besom_status status = besom__overlay_write(&store->data, durable);
  if (status != BESOM_OK) return status;
  store->in_transaction = false;
  count_call(&store->counts.commits);
  if (durable) count_call(&store->counts.syncs);
  return BESOM_OK;
}

static void ordered_abort(besom_store *head) {
  struct ordered_store *store = of(head);
  if (!store->in_transaction) return;
  besom__sorted_clear(&store->data.changes);
  store->in_transaction = false;
  store->tally = store->tally_before;
}

static besom_status ordered_sync(besom_store *head) {
  struct ordered_store *store = of(head);
  besom_status status = store->data.ops->sync(store->data.db);
  if (status == BESOM_OK) count_call(&store->counts.syncs);
  return status;
}

static besom_status ordered_commit_number(besom_store *head, uint64_t *number) {
  const struct overlay *data = &of(head)->data;
  return number ? data->ops->commit_number(data->db, number) : BESOM_INVALID;
}

/* ------------------------------------------------------------------ opening, closing, numbers */

static besom_status ordered_stats(const besom_store *head, besom_store_statistics *stats) {
  const struct ordered_store *store = (const struct ordered_store *)head;
  const struct overlay *data = &store->data;
  show_counts(&store->counts, stats);
  stats->records = store->counted ? store->tally.records : 0;
  stats->buckets = store->counted ? store->tally.buckets : 0;
  stats->bytes =
      sizeof *store + data->changes.bytes + (data->ops->bytes ? data->ops->bytes(data->db) : 0);
  return BESOM_OK;
}

static const char *ordered_directory(const besom_store *head) {
  const struct overlay *data = &((const struct ordered_store *)head)->data;
  return data->ops->directory ? data->ops->directory(data->db) : NULL;
}

static void ordered_close(besom_store *head) {
  struct ordered_store *store = of(head);
  besom__sorted_clear(&store->data.changes);
  store->data.ops->close(store->data.db);
  besom_allocator allocator = store->allocator;
  besom__release(&allocator, store, sizeof *store);
}

static const besom_store_ops ordered_ops = {
    .append = ordered_append,
    .get = ordered_get,
    .replace = ordered_replace,
    .remove = ordered_remove,
    .scan = ordered_scan,
    .stats = ordered_stats,
    .close = ordered_close,
    .begin = ordered_begin,
    .commit = ordered_commit,
    .abort = ordered_abort,
    .sync = ordered_sync,
    .commit_number = ordered_commit_number,
    .table_put = besom__ordered_table_put,
    .table_get = besom__ordered_table_get,
    .table_remove = besom__ordered_table_remove,
    .table_scan = besom__ordered_table_scan,
    .directory = ordered_directory,
};

static besom_status check_marker(void *ctx, const besom_record *found) {
  (void)ctx;
  size_t name = sizeof marker - 2; /* without the version */
  if (found->value.len < name || memcmp(found->value.data, marker, name) != 0) return BESOM_CORRUPT;
  bool known = found->value.len == name + 1 && memcmp(found->value.data, marker, name + 1) == 0;
  return known ? BESOM_END : BESOM_NEWER_VERSION;
}

static besom_status note_record(void *ctx, const besom_record *found) {
  (void)found;
  *(bool *)ctx = true;
  return BESOM_END;
}

/* Marks an empty database, and refuses one that is somebody else's. */
static besom_status claim(const struct overlay *data) {
  const uint8_t key = MARKER, least = 0;
  besom_status status = besom__overlay_get(data, (besom_bytes){&key, 1}, check_marker, NULL);
  if (status != BESOM_NOT_FOUND) return status;
  bool used = false;
  status = data->ops->scan(data->db, (besom_bytes){&least, 1}, (besom_bytes){NULL, 0}, note_record,
                           &used);
  if (status != BESOM_OK || used) return used ? BESOM_CORRUPT : status;
  besom_write first = {{{&key, 1}, {marker, sizeof marker - 1}}, false};
  return data->ops->write(data->db, &first, 1, false);
}

static besom_status open_database(struct ordered_store *store) {
  besom_status status = claim(&store->data);
  if (status != BESOM_OK) return status;
  uint8_t from = LIST, to = LIST + 1;
  bool used = false;
  status = besom__overlay_scan(&store->data, (besom_bytes){&from, 1}, (besom_bytes){&to, 1},
                               note_record, &used);
  store->counted = !used;
  return status;
}

static bool are_ops(const besom_ordered_ops *ops) {
  if (!ops || (ops->max_key && ops->max_key < LEAST_MAX_KEY)) return false;
  return ops->get && ops->scan && ops->write && ops->sync && ops->commit_number && ops->close;
}

besom_status besom_store_ordered(const besom_ordered_ops *ops, void *db,
                                 const besom_allocator *allocator, besom_store **out) {
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || !are_ops(ops) || !allocator->allocate || !allocator->release) return BESOM_INVALID;
  struct ordered_store *store = besom__allocate(allocator, sizeof *store);
  if (!store) return BESOM_NO_MEMORY;
  store->head.ops = &ordered_ops;
  store->allocator = *allocator;
  store->data = (struct overlay){.ops = ops, .db = db};
  besom__sorted_init(&store->data.changes, allocator);
  bool limited = ops->max_key && ops->max_key <= LONGEST_TABLE_KEY + 1;
  store->table_room = limited ? ops->max_key - 1 : LONGEST_TABLE_KEY + 1;
  besom_status status = open_database(store);
  if (status == BESOM_OK)
    *out = &store->head;
  else
    besom__release(allocator, store, sizeof *store);
  return status;
}

const besom_allocator *besom_default_allocator(void) {
  return &besom__default_allocator;
}
