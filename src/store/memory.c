/*
 * The store in memory: a hash table from buckets to chains of records.
 *
 * The table is open-addressed with linear probing; erasing shifts back, so that there are no tombstones. Most chains
 * have one record, so a chain is found, read and changed by walking it. Small records are cut from
 * chunks and recycled by size: no allocation a record, and none at all once as much was removed as is added.
 */
#include <string.h>

#include "besom_store.h"
#include "core/memory.h"

enum {
  FIRST_TABLE_BITS = 6,
  FIRST_CHUNK = 1 << 12,
  LARGEST_CHUNK = 1 << 22,
  UNIT = 8,           /* sizes of records are multiples of this */
  SMALL_RECORD = 512, /* larger ones are allocations of their own */
};

struct stored_record {
  struct stored_record *next;
  uint32_t key_len, value_len;
  uint8_t bytes[]; /* the key, then the value */
};

struct slot {
  uint64_t bucket;
  uint32_t epoch;
  struct stored_record *first; /* NULL: the slot is empty */
};

struct chunk {
  struct chunk *next;
  size_t size;
};

struct memory_store {
  besom_store head;
  besom_allocator allocator;
  struct slot *slots;
  unsigned table_bits;
  struct chunk *chunks; /* the first one is being cut; the rest of it is: */
  uint8_t *uncut;
  size_t uncut_size;
  struct stored_record *recycled[SMALL_RECORD / UNIT + 1];
  uint64_t large_records;
  besom_store_statistics stats;
};

/* ------------------------------------------------------------------ memory, with the books of it */

static void *take(struct memory_store *store, size_t size) {
  void *memory = besom__allocate(&store->allocator, size);
  if (memory) store->stats.bytes += size;
  return memory;
}

static void give_back(struct memory_store *store, void *memory, size_t size) {
  besom__release(&store->allocator, memory, size);
  store->stats.bytes -= size;
}

static bool add_chunk(struct memory_store *store) {
  size_t size = !store->chunks                        ? FIRST_CHUNK
                : store->chunks->size < LARGEST_CHUNK ? 2 * store->chunks->size
                                                      : LARGEST_CHUNK;
  struct chunk *chunk = take(store, size);
  if (!chunk) return false;
  chunk->next = store->chunks;
  chunk->size = size;
  store->chunks = chunk;
  store->uncut = (uint8_t *)(chunk + 1);
  store->uncut_size = size - sizeof *chunk;
  return true;
}

static void *take_small(struct memory_store *store, size_t size) {
  struct stored_record *used = store->recycled[size / UNIT];
  if (used) {
    store->recycled[size / UNIT] = used->next;
    return used;
  }
  if (store->uncut_size < size && !add_chunk(store)) return NULL; /* what is left there is lost */
  void *memory = store->uncut;
  store->uncut += size;
  store->uncut_size -= size;
  return memory;
}

/* ------------------------------------------------------------------ records */

static size_t record_size(size_t key_len, size_t value_len) {
  return (sizeof(struct stored_record) + key_len + value_len + UNIT - 1) / UNIT * UNIT;
}

static bool can_be_stored(const besom_record *record) {
  const besom_bytes *key = &record->key, *value = &record->value;
  if ((!key->data && key->len) || (!value->data && value->len)) return false;
  return key->len <= UINT32_MAX && value->len <= UINT32_MAX;
}

static struct stored_record *record_new(struct memory_store *store, const besom_record *from) {
  size_t size = record_size(from->key.len, from->value.len);
  struct stored_record *record = size <= SMALL_RECORD ? take_small(store, size) : take(store, size);
  if (!record) return NULL;
  if (size > SMALL_RECORD) store->large_records++;
  record->next = NULL;
  record->key_len = (uint32_t)from->key.len;
  record->value_len = (uint32_t)from->value.len;
  if (from->key.len) memcpy(record->bytes, from->key.data, from->key.len);
  if (from->value.len) memcpy(record->bytes + from->key.len, from->value.data, from->value.len);
  return record;
}

static void record_free(struct memory_store *store, struct stored_record *record) {
  size_t size = record_size(record->key_len, record->value_len);
  if (size > SMALL_RECORD) {
    store->large_records--;
    give_back(store, record, size);
  } else {
    record->next = store->recycled[size / UNIT];
    store->recycled[size / UNIT] = record;
  }
}

/* ------------------------------------------------------------------ the table */

static size_t table_size(const struct memory_store *store) {
  return (size_t)1 << store->table_bits;
}

/* Buckets of a filter are spread evenly, but those of a test or of another's filter may be in any pattern. */
static size_t home_of(const struct memory_store *store, uint32_t epoch, uint64_t bucket) {
  uint64_t mixed = (bucket ^ bucket >> 32 ^ (uint64_t)epoch << 32) * UINT64_C(0xbf58476d1ce4e5b9);
  return (size_t)((mixed ^ mixed >> 29) * UINT64_C(0x94d049bb133111eb) >> (64 - store->table_bits));
}

/* The slot of the bucket, or the empty one where it would be. There is one: at most 3/4 are in use. */
static struct slot *find_slot(const struct memory_store *store, uint32_t epoch, uint64_t bucket) {
  size_t last = table_size(store) - 1;
  size_t i = home_of(store, epoch, bucket);
  while (store->slots[i].first && (store->slots[i].bucket != bucket || store->slots[i].epoch != epoch))
    i = (i + 1) & last;
  return &store->slots[i];
}

/* Makes room for one more bucket. */
static bool reserve_slot(struct memory_store *store) {
  size_t old_size = table_size(store);
  if (store->stats.buckets + 1 <= old_size / 4 * 3) return true;
  struct slot *old = store->slots;
  struct slot *slots = take(store, 2 * old_size * sizeof *slots);
  if (!slots) return false;
  store->slots = slots;
  store->table_bits++;
  for (size_t i = 0; i < old_size; i++)
    if (old[i].first) *find_slot(store, old[i].epoch, old[i].bucket) = old[i];
  give_back(store, old, old_size * sizeof *old);
  return true;
}

/* Empties a slot and moves up what would not be found behind the gap. */
static void erase_slot(struct memory_store *store, struct slot *slot) {
  size_t last = table_size(store) - 1;
  size_t gap = (size_t)(slot - store->slots);
  for (size_t i = (gap + 1) & last; store->slots[i].first; i = (i + 1) & last) {
    size_t from_home = (i - home_of(store, store->slots[i].epoch, store->slots[i].bucket)) & last;
    if (from_home < ((i - gap) & last)) continue;
    store->slots[gap] = store->slots[i];
    gap = i;
  }
  store->slots[gap].first = NULL;
}

/* The pointer that points to the record, or NULL. */
static struct stored_record **find_link(struct slot *slot, uint32_t rank) {
  struct stored_record **link = &slot->first;
  while (*link && rank) link = &(*link)->next, rank--;
  return *link ? link : NULL;
}

/* The pointer at the end of a chain that has exactly so many records, or NULL. */
static struct stored_record **find_end(struct slot *slot, uint32_t length) {
  struct stored_record **link = &slot->first;
  while (*link && length) link = &(*link)->next, length--;
  return *link || length ? NULL : link;
}

/* ------------------------------------------------------------------ operations */

static struct memory_store *of(besom_store *store) {
  return (struct memory_store *)store;
}

static besom_status memory_append(besom_store *head, besom_place at, const besom_record *record) {
  struct memory_store *store = of(head);
  if (!can_be_stored(record)) return BESOM_INVALID;
  struct slot *slot = find_slot(store, at.epoch, at.bucket);
  if (!find_end(slot, at.rank)) return BESOM_INVALID;
  bool first = !slot->first;
  if (first && !reserve_slot(store)) return BESOM_NO_MEMORY;
  struct stored_record *added = record_new(store, record);
  if (!added) return BESOM_NO_MEMORY;
  slot = find_slot(store, at.epoch, at.bucket); /* reserving may have moved it */
  *find_end(slot, at.rank) = added;
  slot->bucket = at.bucket;
  slot->epoch = at.epoch;
  store->stats.buckets += first;
  store->stats.records++;
  store->stats.appends++;
  return BESOM_OK;
}

static besom_status show_chain(const struct slot *slot, besom_store_visit visit, void *ctx) {
  besom_place at = {.epoch = slot->epoch, .bucket = slot->bucket};
  besom_status status = BESOM_OK;
  for (const struct stored_record *r = slot->first; r && status == BESOM_OK; r = r->next, at.rank++) {
    besom_record shown = {{r->bytes, r->key_len}, {r->bytes + r->key_len, r->value_len}};
    status = visit(ctx, at, &shown);
  }
  return status;
}

static besom_status memory_get(besom_store *head, besom_place at, besom_store_visit visit, void *ctx) {
  struct memory_store *store = of(head);
  if (!visit) return BESOM_INVALID;
  store->stats.reads++;
  besom_status status = show_chain(find_slot(store, at.epoch, at.bucket), visit, ctx);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status memory_replace(besom_store *head, besom_place at, const besom_record *record) {
  struct memory_store *store = of(head);
  if (!can_be_stored(record)) return BESOM_INVALID;
  struct stored_record **link = find_link(find_slot(store, at.epoch, at.bucket), at.rank);
  if (!link) return BESOM_NOT_FOUND;
  struct stored_record *next = record_new(store, record);
  if (!next) return BESOM_NO_MEMORY;
  struct stored_record *old = *link;
  next->next = old->next;
  *link = next;
  record_free(store, old);
  store->stats.updates++;
  return BESOM_OK;
}

static besom_status memory_remove(besom_store *head, besom_place at) {
  struct memory_store *store = of(head);
  struct slot *slot = find_slot(store, at.epoch, at.bucket);
  struct stored_record **link = find_link(slot, at.rank);
  if (!link) return BESOM_NOT_FOUND;
  struct stored_record *old = *link;
  *link = old->next;
  record_free(store, old);
  if (!slot->first) {
    erase_slot(store, slot);
    store->stats.buckets--;
  }
  store->stats.records--;
  store->stats.removes++;
  return BESOM_OK;
}

static besom_status memory_stats(const besom_store *store, besom_store_statistics *stats) {
  *stats = ((const struct memory_store *)store)->stats;
  return BESOM_OK;
}

static void memory_close(besom_store *head) {
  struct memory_store *store = of(head);
  for (size_t i = 0; store->large_records && i < table_size(store); i++)
    for (struct stored_record *r = store->slots[i].first, *next; r; r = next) {
      next = r->next;
      record_free(store, r);
    }
  for (struct chunk *chunk = store->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    give_back(store, chunk, chunk->size);
  }
  give_back(store, store->slots, table_size(store) * sizeof *store->slots);
  besom_allocator allocator = store->allocator;
  besom__release(&allocator, store, sizeof *store);
}

/* ------------------------------------------------------------------ scanning */

static size_t collect_buckets(const struct memory_store *store, besom_place from, uint64_t *out) {
  size_t n = 0;
  for (size_t i = 0; i < table_size(store); i++)
    if (store->slots[i].first && store->slots[i].epoch == from.epoch && store->slots[i].bucket >= from.bucket)
      out[n++] = store->slots[i].bucket;
  return n;
}

/* Radix sort: byte by byte, the last one first, to and fro between two arrays. Returns the one that is sorted. */
static uint64_t *sort_buckets(uint64_t *buckets, uint64_t *spare, size_t n) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < n; i++) starts[(buckets[i] >> shift & 255) + 1]++;
    if (n && starts[(buckets[0] >> shift & 255) + 1] == n) continue; /* they have this byte in common */
    for (unsigned byte = 0; byte < 256; byte++) starts[byte + 1] += starts[byte];
    for (size_t i = 0; i < n; i++) spare[starts[buckets[i] >> shift & 255]++] = buckets[i];
    uint64_t *sorted = spare;
    spare = buckets;
    buckets = sorted;
  }
  return buckets;
}

static besom_status memory_scan(besom_store *head, besom_place from, besom_store_visit visit, void *ctx) {
  struct memory_store *store = of(head);
  if (!visit) return BESOM_INVALID;
  size_t room = (size_t)store->stats.buckets;
  store->stats.scans++;
  if (!room) return BESOM_OK;
  uint64_t *memory = besom__allocate(&store->allocator, 2 * room * sizeof *memory);
  if (!memory) return BESOM_NO_MEMORY;
  size_t n = collect_buckets(store, from, memory);
  const uint64_t *sorted = sort_buckets(memory, memory + room, n);
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i++)
    status = show_chain(find_slot(store, from.epoch, sorted[i]), visit, ctx);
  besom__release(&store->allocator, memory, 2 * room * sizeof *memory);
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ opening */

static const besom_store_ops memory_ops = {
    .append = memory_append,
    .get = memory_get,
    .replace = memory_replace,
    .remove = memory_remove,
    .scan = memory_scan,
    .stats = memory_stats,
    .close = memory_close,
};

besom_status besom_store_memory(const besom_allocator *allocator, besom_store **out) {
  if (!allocator) allocator = &besom__default_allocator;
  if (!out || !allocator->allocate || !allocator->release) return BESOM_INVALID;
  struct memory_store *store = besom__allocate(allocator, sizeof *store);
  if (!store) return BESOM_NO_MEMORY;
  store->head.ops = &memory_ops;
  store->allocator = *allocator;
  store->table_bits = FIRST_TABLE_BITS;
  store->stats.bytes = sizeof *store;
  store->slots = take(store, table_size(store) * sizeof *store->slots);
  if (!store->slots) {
    besom__release(allocator, store, sizeof *store);
    return BESOM_NO_MEMORY;
  }
  *out = &store->head;
  return BESOM_OK;
}
