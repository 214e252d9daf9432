/*
 * Cursors of an ordered store: the records of a cursor over the database, decoded. The overlay is
 * not read, so they show committed data only.
 */
#include <string.h>

#include "core/system/memory.h"
#include "store/ordered/ordered_store.h"
#include "store/ordered/record_codec.h"

struct ordered_cursor {
  besom_cursor head;
  besom_allocator allocator;
  besom_cursor *db;
  bool table;          /* of a table, not of lists */
  size_t group_prefix; /* as in struct ordered_store */
  besom_bytes from, to;
  besom_bytes prefix, group; /* the group that is being shown: its prefix, what is left of it */
  uint8_t *long_key;         /* buffer for keys of groups; NULL until the first one */
  size_t size;               /* of this struct with the copies of from and to */
  uint8_t bounds[];
};

/* The next item of the group that is inside of the range. END: the group or the range ends. */
static besom_status next_of_group(struct ordered_cursor *c, besom_record *record) {
  besom_record item;
  for (;;) {
    besom_status status = besom__group_next(&c->group, &item);
    if (status != BESOM_OK) return status;
    if (c->prefix.len + item.key.len > MAX_TABLE_KEY) return BESOM_CORRUPT;
    if (!c->long_key) c->long_key = besom__allocate(&c->allocator, MAX_TABLE_KEY);
    if (!c->long_key) return BESOM_NO_MEMORY;
    memcpy(c->long_key, c->prefix.data, c->prefix.len);
    if (item.key.len) memcpy(c->long_key + c->prefix.len, item.key.data, item.key.len);
    *record = (besom_record){{c->long_key, c->prefix.len + item.key.len}, item.value};
    if (c->to.data && besom__compare(record->key, c->to) >= 0) {
      c->group.len = 0;
      return BESOM_END;
    }
    if (besom__compare(record->key, c->from) >= 0) return BESOM_OK;
  }
}

static besom_status next_of_table(struct ordered_cursor *c, besom_record *record) {
  for (;;) {
    besom_status status = c->group.len ? next_of_group(c, record) : BESOM_END;
    if (status != BESOM_END) return status;
    status = c->db->next(c->db, record);
    if (status != BESOM_OK) return status;
    record->key = (besom_bytes){(const uint8_t *)record->key.data + 1, record->key.len - 1};
    if (record->key.len < c->group_prefix) return BESOM_OK;
    c->prefix = record->key;
    c->group = record->value;
  }
}

static besom_status ordered_cursor_next(besom_cursor *head, besom_record *record) {
  struct ordered_cursor *c = (struct ordered_cursor *)head;
  if (!record) return BESOM_INVALID;
  if (c->table) return next_of_table(c, record);
  besom_status status = c->db->next(c->db, record);
  return status == BESOM_OK ? besom__decode_record(record->value, record) : status;
}

static void ordered_cursor_close(besom_cursor *head) {
  struct ordered_cursor *c = (struct ordered_cursor *)head;
  besom_allocator allocator = c->allocator;
  c->db->close(c->db);
  besom__release(&allocator, c->long_key, MAX_TABLE_KEY);
  besom__release(&allocator, c, c->size);
}

static besom_bytes copy_bound(uint8_t *to, besom_bytes bound) {
  if (bound.len) memcpy(to, bound.data, bound.len);
  return (besom_bytes){bound.data ? to : NULL, bound.len};
}

besom_status besom__ordered_cursor_new(struct ordered_store *store,
                                       const struct cursor_range *range, besom_cursor **out) {
  const struct overlay *data = &store->data;
  size_t size = sizeof(struct ordered_cursor) + range->from.len + range->to.len + 1;
  if (!data->ops.cursor) return BESOM_UNSUPPORTED;
  struct ordered_cursor *c = besom__allocate(&store->allocator, size);
  if (!c) return BESOM_NO_MEMORY;
  c->head = (besom_cursor){ordered_cursor_next, ordered_cursor_close};
  c->allocator = store->allocator;
  c->size = size;
  c->table = range->table;
  c->group_prefix = store->group_prefix;
  c->from = copy_bound(c->bounds, range->from);
  c->to = copy_bound(c->bounds + range->from.len, range->to);
  besom_status status = data->ops.cursor(data->db, range->first, range->end, &c->db);
  if (status != BESOM_OK) {
    besom__release(&store->allocator, c, size);
    return status;
  }
  count_call(&store->counters.scans);
  *out = &c->head;
  return BESOM_OK;
}
