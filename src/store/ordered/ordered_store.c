#include "store/ordered/ordered_store.h"

#include <string.h>

#include "core/bits.h"
#include "core/system/memory.h"
#include "store/ordered/record_codec.h"

enum {
  MARKER = 'B',
  LIST = 'L',
  LONG_NUMBER = 247, /* a first byte from here on is a length; below it is the number */
  MAX_LIST_KEY = 1 + 5 + 9 + 5,
  MIN_MAX_KEY = 64,
};

static const char marker[] = "besom store 1";

/* ------------------------------------------------------------------ the changes of one call */

static void free_changes(struct change_set *set) {
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
  if (e) e->removed = true;
  return e != NULL;
}

besom_status besom__apply_changes(struct change_set *set, besom_status status) {
  struct ordered_store *store = set->store;
  if (status != BESOM_OK) {
    free_changes(set);
    return status;
  }
  for (struct sorted_entry *e = set->first, *next; e; e = next) {
    next = e->next[0];
    besom__overlay_put(&store->data, e);
  }
  if (store->in_transaction) return BESOM_OK;
  status = besom__overlay_write(&store->data, false);
  besom__overlay_clear(&store->data); /* written or not: it held only these changes */
  return status;
}

struct change_set besom__begin_changes(struct ordered_store *store) {
  if (store->data.written) besom__overlay_clear(&store->data);
  return (struct change_set){.store = store};
}

/* ------------------------------------------------------------------ keys of bucket lists */

/* The database stores this key with each record, so it is kept short. */
struct list_key {
  uint8_t bytes[MAX_LIST_KEY + 8]; /* numbers are written as whole words */
  uint8_t epoch_end, bucket_end;   /* offsets after the epoch, the bucket */
};

/* One byte, or the length and then the bytes, the highest first: byte order is numeric order. */
static uint8_t put_number(struct list_key *key, uint8_t at, uint64_t number) {
  if (number < LONG_NUMBER) {
    key->bytes[at] = (uint8_t)number;
    return (uint8_t)(at + 1);
  }
  unsigned bytes = (71 - leading_zeros(number)) / 8;
  key->bytes[at] = (uint8_t)(LONG_NUMBER - 1 + bytes);
  store64(key->bytes + at + 1, __builtin_bswap64(number << (64 - 8 * bytes)));
  return (uint8_t)(at + 1 + bytes);
}

/* Writes the key. The result points into it. */
static besom_bytes list_key(struct list_key *key, besom_place at) {
  key->bytes[0] = LIST;
  key->epoch_end = put_number(key, 1, at.epoch);
  key->bucket_end = put_number(key, key->epoch_end, at.bucket);
  return (besom_bytes){key->bytes, put_number(key, key->bucket_end, at.rank)};
}

/* False if the bytes are not a number, or it is above the limit. */
static bool parse_number(besom_bytes *from, uint64_t limit, uint64_t *number) {
  const uint8_t *at = from->data;
  if (!from->len) return false;
  unsigned bytes = *at < LONG_NUMBER ? 0 : *at - LONG_NUMBER + 1u;
  if (bytes > 8 || from->len < bytes + 1) return false;
  *number = bytes ? 0 : *at;
  for (unsigned i = 1; i <= bytes; i++) *number = *number << 8 | at[i];
  *from = (besom_bytes){at + bytes + 1, from->len - bytes - 1};
  return *number <= limit;
}

/* False if the key is not one that list_key makes. */
static bool parse_list_key(besom_bytes key, besom_place *position) {
  uint64_t epoch, rank;
  besom_bytes rest = {(const uint8_t *)key.data + 1, key.len - 1};
  if (!parse_number(&rest, UINT32_MAX, &epoch) ||
      !parse_number(&rest, UINT64_MAX, &position->bucket))
    return false;
  if (!parse_number(&rest, UINT32_MAX, &rank) || rest.len) return false;
  position->epoch = (uint32_t)epoch;
  position->rank = (uint32_t)rank;
  struct list_key again;
  return besom__compare(key, list_key(&again, *position)) == 0;
}

besom_bytes besom__prefix_end(uint8_t *prefix, size_t len) {
  while (prefix[len - 1] == UINT8_MAX) len--;
  prefix[len - 1]++;
  return (besom_bytes){prefix, len};
}

/* ------------------------------------------------------------------ reading bucket lists */

struct list_walk {
  besom_store_visit visit;
  void *ctx;
  besom_place at; /* of the record that is visited */
  bool shown;     /* there was a record */
  bool ended;     /* the visitor returned END */
};

static besom_status visit_at(void *ctx, const besom_record *found) {
  struct list_walk *walk = ctx;
  besom_record record;
  walk->shown = true;
  besom_status status = besom__decode_record(found->value, &record);
  if (status == BESOM_OK) status = walk->visit(walk->ctx, walk->at, &record);
  walk->ended = status == BESOM_END;
  return status;
}

static besom_status visit_encoded(void *ctx, const besom_record *found) {
  struct list_walk *walk = ctx;
  return parse_list_key(found->key, &walk->at) ? visit_at(walk, found) : BESOM_CORRUPT;
}

/* Visits all records from a position on, to the end of its bucket or of its epoch. */
static besom_status walk_lists(const struct ordered_store *store, besom_place from, bool bucket,
                               besom_table_visit visit, void *ctx) {
  struct list_key first, last;
  besom_bytes begin = list_key(&first, from);
  list_key(&last, from);
  besom_bytes end = besom__prefix_end(last.bytes, bucket ? last.bucket_end : last.epoch_end);
  return besom__overlay_scan(&store->data, begin, end, visit, ctx);
}

/* Most callers need only the first record, so it is read by its key, which costs less than a
   scan. */
static besom_status ordered_get(besom_store *head, besom_place at, besom_store_visit visit,
                                void *ctx) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!visit) return BESOM_INVALID;
  count_read(&store->counters, &store->counters.reads);
  at.rank = 0;
  struct list_key first;
  besom_bytes key = list_key(&first, at);
  const struct overlay *data = &store->data;
  struct list_walk walk = {.visit = visit, .ctx = ctx, .at = at};
  besom_status status = has_unwritten(data)
                            ? besom__overlay_show(data, key, visit_at, &walk)
                            : end_as_ok(data->ops.get(data->db, key, visit_at, &walk));
  if (LIKELY(walk.ended) || status != BESOM_OK || !walk.shown) return status;
  at.rank = 1;
  return walk_lists(store, at, true, visit_encoded, &walk);
}

static besom_status ordered_scan(besom_store *head, besom_place from, besom_store_visit visit,
                                 void *ctx) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!visit) return BESOM_INVALID;
  count_call(&store->counters.scans);
  struct list_walk walk = {.visit = visit, .ctx = ctx};
  from.rank = 0;
  return walk_lists(store, from, false, visit_encoded, &walk);
}

static besom_status ordered_list_cursor(besom_store *head, uint32_t from_epoch, uint32_t to_epoch,
                                        besom_cursor **out) {
  if (!out || from_epoch > to_epoch) return BESOM_INVALID;
  struct list_key first, end;
  list_key(&first, (besom_place){.epoch = from_epoch});
  list_key(&end, (besom_place){.epoch = to_epoch});
  struct cursor_range range = {.first = {first.bytes, first.epoch_end},
                               .end = {end.bytes, end.epoch_end}};
  return besom__ordered_cursor_new((struct ordered_store *)head, &range, out);
}

/* ------------------------------------------------------------------ changing bucket lists */

/* size: of the encoded record. */
static besom_status ordered_put_record(struct ordered_store *store, besom_place at,
                                       const besom_record *record, size_t size) {
  struct change_set set = besom__begin_changes(store);
  struct list_key key;
  struct sorted_entry *e = besom__add_change(&set, list_key(&key, at), (besom_bytes){NULL, size});
  if (e) besom__encode_record(record, besom__sorted_value_bytes(e));
  return besom__apply_changes(&set, e ? BESOM_OK : BESOM_NO_MEMORY);
}

/* A blind write: the caller knows the rank, so nothing is read. */
static besom_status ordered_append(besom_store *head, besom_place at, const besom_record *record) {
  struct ordered_store *store = (struct ordered_store *)head;
  size_t size = besom__encoded_size(record);
  if (!size) return BESOM_INVALID;
  besom_status status = ordered_put_record(store, at, record, size);
  if (status != BESOM_OK) return status;
  store->list_counts.records++;
  store->list_counts.buckets += at.rank == 0;
  count_call(&store->counters.appends);
  return BESOM_OK;
}

besom_status besom__visit_nothing(void *ctx, const besom_record *record) {
  (void)ctx, (void)record;
  return BESOM_END;
}

static besom_status ordered_replace(besom_store *head, besom_place at, const besom_record *record) {
  struct ordered_store *store = (struct ordered_store *)head;
  size_t size = besom__encoded_size(record);
  if (!size) return BESOM_INVALID;
  struct list_key key;
  besom_status status =
      besom__overlay_get(&store->data, list_key(&key, at), besom__visit_nothing, NULL);
  if (status == BESOM_OK) status = ordered_put_record(store, at, record, size);
  if (status == BESOM_OK) count_call(&store->counters.updates);
  return status;
}

struct shift {
  struct change_set set;
  besom_place at; /* position of the next record */
  uint32_t seen;
};

/* Visits the record to remove, then those after it: each of these moves to the rank before. */
static besom_status shift_record(void *ctx, const besom_record *found) {
  struct shift *shift = ctx;
  struct list_key key;
  if (besom__compare(found->key, list_key(&key, shift->at)) != 0)
    return shift->seen ? BESOM_CORRUPT : BESOM_END;
  if (shift->seen++) {
    besom_place before = {shift->at.epoch, shift->at.rank - 1, shift->at.bucket};
    if (!besom__add_change(&shift->set, list_key(&key, before), found->value))
      return BESOM_NO_MEMORY;
  }
  shift->at.rank++;
  return BESOM_OK;
}

static besom_status ordered_remove(besom_store *head, besom_place at) {
  struct ordered_store *store = (struct ordered_store *)head;
  struct shift shift = {.set = besom__begin_changes(store), .at = at};
  besom_status status = walk_lists(store, at, true, shift_record, &shift);
  if (status == BESOM_OK && !shift.seen) status = BESOM_NOT_FOUND;
  if (status == BESOM_OK) {
    struct list_key key;
    besom_place last = {at.epoch, at.rank + (shift.seen - 1), at.bucket};
    if (!besom__add_removal(&shift.set, list_key(&key, last))) status = BESOM_NO_MEMORY;
  }
  status = besom__apply_changes(&shift.set, status);
  if (status != BESOM_OK) return status;
  store->list_counts.records--;
  store->list_counts.buckets -= at.rank == 0 && shift.seen == 1;
  count_call(&store->counters.removes);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ transactions */

static besom_status ordered_begin(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (store->in_transaction) return BESOM_BUSY;
  if (store->data.written) besom__overlay_clear(&store->data);
  store->in_transaction = true;
  store->list_counts_before = store->list_counts;
  return BESOM_OK;
}

static besom_status ordered_commit(besom_store *head, bool durable) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!store->in_transaction) return BESOM_INVALID;
  besom_status status = besom__overlay_write(&store->data, durable);
  if (status != BESOM_OK) return status;
  store->in_transaction = false;
  count_call(&store->counters.commits);
  if (durable) count_call(&store->counters.syncs);
  return BESOM_OK;
}

static void ordered_abort(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!store->in_transaction) return;
  besom__overlay_clear(&store->data);
  store->in_transaction = false;
  store->list_counts = store->list_counts_before;
}

static besom_status ordered_set_savepoint(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!store->in_transaction) return BESOM_INVALID;
  besom__overlay_set_savepoint(&store->data);
  store->list_counts_savepoint = store->list_counts;
  return BESOM_OK;
}

static void ordered_undo_to_savepoint(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!store->in_transaction || !store->data.savepoint) return;
  besom__overlay_undo(&store->data);
  store->list_counts = store->list_counts_savepoint;
}

static besom_status ordered_sync(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  besom_status status = store->data.ops.sync(store->data.db);
  if (status == BESOM_OK) count_call(&store->counters.syncs);
  return status;
}

static besom_status ordered_commit_number(besom_store *head, uint64_t *number) {
  const struct overlay *data = &((struct ordered_store *)head)->data;
  return number ? data->ops.commit_number(data->db, number) : BESOM_INVALID;
}

/* ------------------------------------------------------------------ open, close, statistics */

static besom_status ordered_stats(const besom_store *head, besom_store_statistics *out,
                                  size_t size) {
  const struct ordered_store *store = (const struct ordered_store *)head;
  const struct overlay *data = &store->data;
  besom_store_statistics all, *stats = &all;
  read_counters(&store->counters, stats);
  stats->records = store->counts_known ? store->list_counts.records : 0;
  stats->buckets = store->counts_known ? store->list_counts.buckets : 0;
  stats->bytes =
      sizeof *store + data->changes.bytes + (data->ops.bytes ? data->ops.bytes(data->db) : 0);
  besom_copy_struct(out, size, stats, sizeof *stats);
  return BESOM_OK;
}

static const char *ordered_directory(const besom_store *head) {
  const struct overlay *data = &((const struct ordered_store *)head)->data;
  return data->ops.directory ? data->ops.directory(data->db) : NULL;
}

static bool ordered_read_only(const besom_store *head) {
  const struct overlay *data = &((const struct ordered_store *)head)->data;
  return data->ops.read_only && data->ops.read_only(data->db);
}

static besom_status ordered_recover(besom_store *head) {
  const struct overlay *data = &((struct ordered_store *)head)->data;
  return data->ops.recover ? data->ops.recover(data->db, data->changes.bytes) : BESOM_UNSUPPORTED;
}

static besom_status ordered_backup(besom_store *head, const char *directory) {
  const struct overlay *data = &((struct ordered_store *)head)->data;
  return data->ops.backup ? data->ops.backup(data->db, directory) : BESOM_UNSUPPORTED;
}

static besom_status ordered_check_lock(besom_store *head) {
  const struct overlay *data = &((struct ordered_store *)head)->data;
  return data->ops.check_lock ? data->ops.check_lock(data->db) : BESOM_UNSUPPORTED;
}

static void ordered_close(besom_store *head) {
  struct ordered_store *store = (struct ordered_store *)head;
  besom__overlay_clear(&store->data);
  store->data.ops.close(store->data.db);
  besom_allocator allocator = store->allocator;
  besom__release(&allocator, store, sizeof *store);
}

static const besom_store_ops ordered_ops = {
    .size = sizeof(besom_store_ops),
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
    .set_savepoint = ordered_set_savepoint,
    .undo_to_savepoint = ordered_undo_to_savepoint,
    .list_cursor = ordered_list_cursor,
    .table_cursor = besom__ordered_table_cursor,
    .read_only = ordered_read_only,
    .recover = ordered_recover,
    .backup = ordered_backup,
    .check_lock = ordered_check_lock,
};

static besom_status check_marker(void *ctx, const besom_record *found) {
  (void)ctx;
  size_t name = sizeof marker - 2; /* without the final 0 and the version */
  if (found->value.len < name || memcmp(found->value.data, marker, name) != 0) return BESOM_CORRUPT;
  bool known = found->value.len == name + 1 && memcmp(found->value.data, marker, name + 1) == 0;
  return known ? BESOM_END : BESOM_NEWER_VERSION;
}

static besom_status set_found(void *ctx, const besom_record *found) {
  (void)found;
  *(bool *)ctx = true;
  return BESOM_END;
}

/* Writes the marker into an empty database. CORRUPT if the database has other data. */
static besom_status check_marker_or_write(const struct overlay *data) {
  const uint8_t key = MARKER, least = 0;
  besom_status status = besom__overlay_get(data, (besom_bytes){&key, 1}, check_marker, NULL);
  if (status != BESOM_NOT_FOUND) return status;
  bool found = false;
  status =
      data->ops.scan(data->db, (besom_bytes){&least, 1}, (besom_bytes){NULL, 0}, set_found, &found);
  if (status != BESOM_OK || found) return found ? BESOM_CORRUPT : status;
  besom_write first = {{{&key, 1}, {marker, sizeof marker - 1}}, false};
  return data->ops.write(data->db, &first, 1, false);
}

static besom_status ordered_open_database(struct ordered_store *store) {
  besom_status status = check_marker_or_write(&store->data);
  if (status != BESOM_OK) return status;
  uint8_t from = LIST, to = LIST + 1;
  bool found = false;
  status = besom__overlay_scan(&store->data, (besom_bytes){&from, 1}, (besom_bytes){&to, 1},
                               set_found, &found);
  store->counts_known = !found;
  return status;
}

static bool are_valid_ops(const besom_ordered_ops *ops) {
  if (!ops || (ops->max_key && ops->max_key < MIN_MAX_KEY)) return false;
  return ops->get && ops->scan && ops->write && ops->sync && ops->commit_number && ops->close;
}

besom_status besom_store_ordered(const besom_ordered_ops *given, void *db,
                                 const besom_allocator *allocator, besom_store **out) {
  besom_ordered_ops all = {0}, *ops = &all;
  if (given) besom_copy_struct(&all, sizeof all, given, given->size);
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || !are_valid_ops(ops) || !allocator->allocate || !allocator->release)
    return BESOM_INVALID;
  struct ordered_store *store = besom__allocate(allocator, sizeof *store);
  if (!store) return BESOM_NO_MEMORY;
  store->head.ops = &ordered_ops;
  store->allocator = *allocator;
  init_counters(&store->counters);
  store->data = (struct overlay){.ops = all, .db = db};
  besom__sorted_init(&store->data.changes, allocator);
  bool limited = ops->max_key && ops->max_key <= MAX_TABLE_KEY + 1;
  store->group_prefix = limited ? ops->max_key - 1 : MAX_TABLE_KEY + 1;
  besom_status status = ordered_open_database(store);
  if (status == BESOM_OK)
    *out = &store->head;
  else
    besom__release(allocator, store, sizeof *store);
  return status;
}

const besom_allocator *besom_default_allocator(void) {
  return &besom__default_allocator;
}
