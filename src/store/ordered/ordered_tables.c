/* The tables of an ordered store, with groups for long keys (ordered_store.h). */
#include <string.h>

#include "core/system/memory.h"
#include "store/ordered/ordered_store.h"
#include "store/ordered/record_codec.h"

enum { FEW_BYTES = 512 }; /* keys up to this size need no allocation */

/* ------------------------------------------------------------------ keys of tables */

/* The database key of a table key. If the key is grouped, rest is the part that did not fit. */
struct table_key {
  besom_bytes bytes;
  bool grouped;
  besom_bytes rest;
  uint8_t few[FEW_BYTES];
};

static const uint8_t letters[] = {[BESOM_TABLE_MANIFEST] = 'N', [BESOM_TABLE_KEYS] = 'K'};

static besom_status table_key_make(const struct ordered_store *store, besom_table table,
                                   besom_bytes key, struct table_key *out) {
  out->grouped = key.len >= store->group_prefix;
  size_t fitting = out->grouped ? store->group_prefix : key.len;
  out->rest = out->grouped ? (besom_bytes){(const uint8_t *)key.data + fitting, key.len - fitting}
                           : (besom_bytes){0};
  uint8_t *bytes =
      fitting + 1 <= FEW_BYTES ? out->few : besom__allocate(&store->allocator, fitting + 1);
  if (!bytes) return BESOM_NO_MEMORY;
  bytes[0] = letters[table];
  if (fitting) memcpy(bytes + 1, key.data, fitting);
  out->bytes = (besom_bytes){bytes, fitting + 1};
  return BESOM_OK;
}

static void table_key_free(const struct ordered_store *store, struct table_key *key) {
  if (key->bytes.data != key->few)
    besom__release(&store->allocator, (void *)key->bytes.data, key->bytes.len);
}

/* ------------------------------------------------------------------ reading tables */

struct table_lookup {
  besom_bytes key;
  const struct table_key *stored;
  bool found;
  besom_table_visit visit;
  void *ctx;
};

static besom_status show_value(void *ctx, const besom_record *found) {
  struct table_lookup *lookup = ctx;
  besom_record record = {lookup->key, found->value};
  if (lookup->stored->grouped) {
    struct group_span span;
    besom_status status = besom__group_find(found->value, lookup->stored->rest, &span);
    if (status != BESOM_OK) return status == BESOM_NOT_FOUND ? BESOM_END : status;
    record.value = span.value;
  }
  lookup->found = true;
  return lookup->visit(lookup->ctx, &record);
}

static besom_status find_in_table(const struct ordered_store *store, besom_bytes key,
                                  const struct table_key *stored, besom_table_visit visit,
                                  void *ctx) {
  struct table_lookup lookup = {.key = key, .stored = stored, .visit = visit, .ctx = ctx};
  besom_status status = besom__overlay_show(&store->data, stored->bytes, show_value, &lookup);
  return status == BESOM_OK && !lookup.found ? BESOM_NOT_FOUND : status;
}

besom_status besom__ordered_table_get(besom_store *head, besom_table table, besom_bytes key,
                                      besom_table_visit visit, void *ctx) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!is_table(table) || !is_table_key(key) || !visit) return BESOM_INVALID;
  if (table != BESOM_TABLE_MANIFEST) count_read(&store->counters, &store->counters.table_reads);
  struct table_key stored;
  besom_status status = table_key_make(store, table, key, &stored);
  if (status != BESOM_OK) return status;
  status = find_in_table(store, key, &stored, visit, ctx);
  table_key_free(store, &stored);
  return status;
}

struct table_walk {
  const struct ordered_store *store;
  besom_bytes from, to;
  besom_table_visit visit;
  void *ctx;
  uint8_t *long_key; /* buffer for keys of groups; NULL until the first one */
};

/* A group can hold keys outside of the range, so they are compared. */
static besom_status show_group_item(struct table_walk *walk, besom_bytes prefix,
                                    const besom_record *item) {
  if (prefix.len + item->key.len > MAX_TABLE_KEY) return BESOM_CORRUPT;
  if (!walk->long_key) walk->long_key = besom__allocate(&walk->store->allocator, MAX_TABLE_KEY);
  if (!walk->long_key) return BESOM_NO_MEMORY;
  memcpy(walk->long_key, prefix.data, prefix.len);
  if (item->key.len) memcpy(walk->long_key + prefix.len, item->key.data, item->key.len);
  besom_record record = {{walk->long_key, prefix.len + item->key.len}, item->value};
  if (besom__compare(record.key, walk->from) < 0) return BESOM_OK;
  if (walk->to.data && besom__compare(record.key, walk->to) >= 0) return BESOM_END;
  return walk->visit(walk->ctx, &record);
}

static besom_status show_table_record(void *ctx, const besom_record *found) {
  struct table_walk *walk = ctx;
  besom_record record = {{(const uint8_t *)found->key.data + 1, found->key.len - 1}, found->value};
  if (record.key.len < walk->store->group_prefix) return walk->visit(walk->ctx, &record);
  besom_bytes group = found->value;
  besom_record item;
  while (group.len) {
    besom_status status = besom__group_next(&group, &item);
    if (status == BESOM_OK) status = show_group_item(walk, record.key, &item);
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

/* The range of the database that holds the keys of a table from one key up to another. */
struct table_range {
  struct table_key first, last;
  besom_bytes end;
};

/* After OK call table_range_free. */
static besom_status table_range_make(const struct ordered_store *store, besom_table table,
                                     besom_bytes from, besom_bytes to, struct table_range *out) {
  besom_status status = table_key_make(store, table, from, &out->first);
  if (status != BESOM_OK) return status;
  status = table_key_make(store, table, to, &out->last);
  if (status != BESOM_OK) {
    table_key_free(store, &out->first);
    return status;
  }
  out->end = out->last.bytes; /* a copy that may be changed */
  if (!to.data || out->last.grouped)
    out->end = besom__prefix_end((uint8_t *)out->last.bytes.data, out->last.bytes.len);
  return BESOM_OK;
}

static void table_range_free(const struct ordered_store *store, struct table_range *range) {
  table_key_free(store, &range->last);
  table_key_free(store, &range->first);
}

besom_status besom__ordered_table_scan(besom_store *head, besom_table table, besom_bytes from,
                                       besom_bytes to, besom_table_visit visit, void *ctx) {
  const struct ordered_store *store = (struct ordered_store *)head;
  if (!from.data) from.len = 0;
  if (!to.data) to.len = 0;
  if (!is_table(table) || !visit || !is_table_key(from) || !is_table_key(to)) return BESOM_INVALID;
  if (to.data && besom__compare(from, to) >= 0) return BESOM_OK;
  struct table_walk walk = {.store = store, .from = from, .to = to, .visit = visit, .ctx = ctx};
  struct table_range range;
  besom_status status = table_range_make(store, table, from, to, &range);
  if (status != BESOM_OK) return status;
  status =
      besom__overlay_scan(&store->data, range.first.bytes, range.end, show_table_record, &walk);
  table_range_free(store, &range);
  besom__release(&store->allocator, walk.long_key, MAX_TABLE_KEY);
  return status;
}

besom_status besom__ordered_table_cursor(besom_store *head, besom_table table, besom_bytes from,
                                         besom_bytes to, besom_cursor **out) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!from.data) from.len = 0;
  if (!to.data) to.len = 0;
  if (!is_table(table) || !out || !is_table_key(from) || !is_table_key(to)) return BESOM_INVALID;
  if (to.data && besom__compare(from, to) > 0) from = to; /* an empty range */
  struct table_range range;
  besom_status status = table_range_make(store, table, from, to, &range);
  if (status != BESOM_OK) return status;
  struct cursor_range all = {true, from, to, range.first.bytes, range.end};
  status = besom__ordered_cursor_new(store, &all, out);
  table_range_free(store, &range);
  return status;
}

/* ------------------------------------------------------------------ changing tables */

/* Adds an item to a group, replaces it, or (value NULL) removes it. */
struct group_change {
  struct change_set *set;
  const struct table_key *key;
  const besom_bytes *value;
};

static besom_status change_group(const struct group_change *change, besom_bytes group) {
  struct group_span span;
  besom_status status = besom__group_find(group, change->key->rest, &span);
  if (status != BESOM_OK && (status != BESOM_NOT_FOUND || !change->value)) return status;
  besom_record item = {change->key->rest, change->value ? *change->value : (besom_bytes){NULL, 0}};
  size_t added = change->value ? besom__group_item_size(&item) : 0,
         left = group.len - (span.end - span.start);
  if (added > UINT32_MAX - left) return BESOM_DISK_FULL;
  if (!(added + left))
    return besom__add_removal(change->set, change->key->bytes) ? BESOM_OK : BESOM_NO_MEMORY;
  struct sorted_entry *e =
      besom__add_change(change->set, change->key->bytes, (besom_bytes){NULL, added + left});
  if (!e) return BESOM_NO_MEMORY;
  besom__group_splice(group, &span, change->value ? &item : NULL, besom__sorted_value_bytes(e));
  return BESOM_OK;
}

static besom_status change_found_group(void *ctx, const besom_record *found) {
  return change_group(ctx, found->value);
}

static besom_status change_long_key(struct change_set *set, const struct table_key *key,
                                    const besom_bytes *value) {
  struct group_change change = {set, key, value};
  besom_status status =
      besom__overlay_get(&set->store->data, key->bytes, change_found_group, &change);
  if (status == BESOM_NOT_FOUND && value) status = change_group(&change, (besom_bytes){NULL, 0});
  return status;
}

besom_status besom__ordered_table_put(besom_store *head, besom_table table,
                                      const besom_record *record) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!is_table(table) || !besom__encoded_size(record) || !is_table_key(record->key))
    return BESOM_INVALID;
  struct change_set set = besom__begin_changes(store);
  struct table_key key;
  besom_status status = table_key_make(store, table, record->key, &key);
  if (status != BESOM_OK) return status;
  if (key.grouped)
    status = change_long_key(&set, &key, &record->value);
  else if (!besom__add_change(&set, key.bytes, record->value))
    status = BESOM_NO_MEMORY;
  status = besom__apply_changes(&set, status);
  table_key_free(store, &key);
  if (status == BESOM_OK) count_table_call(&store->counters.table_puts, table);
  return status;
}

besom_status besom__ordered_table_remove(besom_store *head, besom_table table, besom_bytes key) {
  struct ordered_store *store = (struct ordered_store *)head;
  if (!is_table(table) || !is_table_key(key)) return BESOM_INVALID;
  struct change_set set = besom__begin_changes(store);
  struct table_key stored;
  besom_status status = table_key_make(store, table, key, &stored);
  if (status != BESOM_OK) return status;
  if (stored.grouped) {
    status = change_long_key(&set, &stored, NULL);
  } else {
    status = besom__overlay_get(&store->data, stored.bytes, besom__visit_nothing, NULL);
    if (status == BESOM_OK && !besom__add_removal(&set, stored.bytes)) status = BESOM_NO_MEMORY;
  }
  status = besom__apply_changes(&set, status);
  table_key_free(store, &stored);
  if (status == BESOM_OK) count_table_call(&store->counters.table_removes, table);
  return status;
}
