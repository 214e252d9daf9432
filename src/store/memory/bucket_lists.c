#include "store/memory/bucket_lists.h"

#include <string.h>

#include "core/system/memory.h"

enum {
  FIRST_TABLE_BITS = 6,
  FIRST_CHUNK = 1 << 12,
  LARGEST_CHUNK = 1 << 22,
};

struct slot {
  uint64_t bucket;
  struct stored_record *first; /* NULL: the slot is empty */
};

struct list_epoch {
  struct list_epoch *next;
  uint32_t number;
  unsigned table_bits;
  uint64_t buckets;
  struct slot *slots;
};

struct list_chunk {
  struct list_chunk *next;
  size_t size;
};

/* ------------------------------------------------------------------ memory accounting */

static void *allocate_counted(struct bucket_lists *lists, size_t size) {
  void *memory = besom__allocate(&lists->allocator, size);
  if (memory) lists->bytes += size;
  return memory;
}

static void release_counted(struct bucket_lists *lists, void *memory, size_t size) {
  besom__release(&lists->allocator, memory, size);
  lists->bytes -= size;
}

static bool bucket_lists_add_chunk(struct bucket_lists *lists) {
  size_t size = !lists->chunks                        ? FIRST_CHUNK
                : lists->chunks->size < LARGEST_CHUNK ? 2 * lists->chunks->size
                                                      : LARGEST_CHUNK;
  struct list_chunk *chunk = allocate_counted(lists, size);
  if (!chunk) return false;
  chunk->next = lists->chunks;
  chunk->size = size;
  lists->chunks = chunk;
  lists->chunk_free = (uint8_t *)(chunk + 1);
  lists->chunk_free_bytes = size - sizeof *chunk;
  return true;
}

static void *allocate_small(struct bucket_lists *lists, size_t size) {
  struct stored_record *used = lists->free_records[size / RECORD_UNIT];
  if (used) {
    lists->free_records[size / RECORD_UNIT] = used->next;
    return used;
  }
  if (lists->chunk_free_bytes < size && !bucket_lists_add_chunk(lists))
    return NULL; /* the rest of the old chunk is lost */
  void *memory = lists->chunk_free;
  lists->chunk_free += size;
  lists->chunk_free_bytes -= size;
  return memory;
}

/* ------------------------------------------------------------------ records */

static size_t record_size(size_t key_len, size_t value_len) {
  return (sizeof(struct stored_record) + key_len + value_len + RECORD_UNIT - 1) / RECORD_UNIT *
         RECORD_UNIT;
}

struct stored_record *besom__lists_new_record(struct bucket_lists *lists,
                                              const besom_record *from) {
  size_t size = record_size(from->key.len, from->value.len);
  struct stored_record *record =
      size <= SMALL_RECORD ? allocate_small(lists, size) : allocate_counted(lists, size);
  if (!record) return NULL;
  if (size > SMALL_RECORD) lists->large_records++;
  record->next = NULL;
  record->key_len = (uint32_t)from->key.len;
  record->value_len = (uint32_t)from->value.len;
  if (from->key.len) memcpy(record->bytes, from->key.data, from->key.len);
  if (from->value.len) memcpy(record->bytes + from->key.len, from->value.data, from->value.len);
  return record;
}

void besom__lists_free_record(struct bucket_lists *lists, struct stored_record *record) {
  size_t size = record_size(record->key_len, record->value_len);
  if (size > SMALL_RECORD) {
    lists->large_records--;
    release_counted(lists, record, size);
  } else {
    record->next = lists->free_records[size / RECORD_UNIT];
    lists->free_records[size / RECORD_UNIT] = record;
  }
}

/* ------------------------------------------------------------------ epochs and their tables */

static size_t table_size(const struct list_epoch *epoch) {
  return (size_t)1 << epoch->table_bits;
}

static struct list_epoch *find_epoch(const struct bucket_lists *lists, uint32_t number) {
  struct list_epoch *epoch = lists->epochs;
  while (epoch && epoch->number != number) epoch = epoch->next;
  return epoch;
}

static struct list_epoch *add_epoch(struct bucket_lists *lists, uint32_t number) {
  struct list_epoch *epoch = allocate_counted(lists, sizeof *epoch);
  if (!epoch) return NULL;
  epoch->number = number;
  epoch->table_bits = FIRST_TABLE_BITS;
  epoch->slots = allocate_counted(lists, table_size(epoch) * sizeof *epoch->slots);
  if (!epoch->slots) {
    release_counted(lists, epoch, sizeof *epoch);
    return NULL;
  }
  epoch->next = lists->epochs;
  lists->epochs = epoch;
  return epoch;
}

static void free_epoch(struct bucket_lists *lists, struct list_epoch *epoch) {
  release_counted(lists, epoch->slots, table_size(epoch) * sizeof *epoch->slots);
  release_counted(lists, epoch, sizeof *epoch);
}

void besom__lists_drop_empty(struct bucket_lists *lists) {
  for (struct list_epoch **link = &lists->epochs, *epoch; (epoch = *link);) {
    if (epoch->buckets) {
      link = &epoch->next;
    } else {
      *link = epoch->next;
      free_epoch(lists, epoch);
    }
  }
}

/* besom's filters spread buckets evenly, but other callers may use any pattern, so they are
   mixed. */
static size_t home_slot(const struct list_epoch *epoch, uint64_t bucket) {
  uint64_t mixed = (bucket ^ bucket >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
  return (size_t)((mixed ^ mixed >> 29) * UINT64_C(0x94d049bb133111eb) >> (64 - epoch->table_bits));
}

/* The slot of the bucket, or the empty slot where it belongs. At most 3/4 of the slots are used. */
static struct slot *find_slot(const struct list_epoch *epoch, uint64_t bucket) {
  size_t last = table_size(epoch) - 1;
  size_t i = home_slot(epoch, bucket);
  while (epoch->slots[i].first && epoch->slots[i].bucket != bucket) i = (i + 1) & last;
  return &epoch->slots[i];
}

static bool double_table(struct bucket_lists *lists, struct list_epoch *epoch) {
  size_t old_size = table_size(epoch);
  struct slot *old = epoch->slots;
  struct slot *slots = allocate_counted(lists, 2 * old_size * sizeof *slots);
  if (!slots) return false;
  epoch->slots = slots;
  epoch->table_bits++;
  for (size_t i = 0; i < old_size; i++)
    if (old[i].first) *find_slot(epoch, old[i].bucket) = old[i];
  release_counted(lists, old, old_size * sizeof *old);
  return true;
}

bool besom__lists_make_room(struct bucket_lists *lists, uint32_t number) {
  struct list_epoch *epoch = find_epoch(lists, number);
  if (!epoch) return add_epoch(lists, number) != NULL;
  return epoch->buckets + 1 <= table_size(epoch) / 4 * 3 || double_table(lists, epoch);
}

/* Empties a slot and shifts back the entries that could not be found across the gap. */
static void erase_slot(struct list_epoch *epoch, struct slot *slot) {
  size_t last = table_size(epoch) - 1;
  size_t gap = (size_t)(slot - epoch->slots);
  for (size_t i = (gap + 1) & last; epoch->slots[i].first; i = (i + 1) & last) {
    size_t from_home = (i - home_slot(epoch, epoch->slots[i].bucket)) & last;
    if (from_home < ((i - gap) & last)) continue;
    epoch->slots[gap] = epoch->slots[i];
    gap = i;
  }
  epoch->slots[gap].first = NULL;
}

/* ------------------------------------------------------------------ lists */

/* The link to the record at a rank, or the end of the list if the rank is its length; NULL if the
   list is shorter. */
static struct stored_record **find_link(struct slot *slot, uint32_t rank) {
  struct stored_record **link = &slot->first;
  while (*link && rank) link = &(*link)->next, rank--;
  return rank ? NULL : link;
}

static struct stored_record **find_position(const struct bucket_lists *lists, besom_place at) {
  const struct list_epoch *epoch = find_epoch(lists, at.epoch);
  return epoch ? find_link(find_slot(epoch, at.bucket), at.rank) : NULL;
}

bool besom__lists_has(const struct bucket_lists *lists, besom_place at) {
  struct stored_record **link = find_position(lists, at);
  return link && *link;
}

bool besom__lists_ends_at(const struct bucket_lists *lists, besom_place at) {
  if (!find_epoch(lists, at.epoch)) return at.rank == 0;
  struct stored_record **link = find_position(lists, at);
  return link && !*link;
}

void besom__lists_insert(struct bucket_lists *lists, besom_place at, struct stored_record *record) {
  struct list_epoch *epoch = find_epoch(lists, at.epoch);
  struct slot *slot = find_slot(epoch, at.bucket);
  epoch->buckets += !slot->first;
  lists->buckets += !slot->first;
  lists->records++;
  slot->bucket = at.bucket;
  struct stored_record **link = find_link(slot, at.rank);
  /* analysis: -Wanalyzer-null-dereference: the caller gives a place of the list, or its end */
  record->next = *link;
  *link = record;
}

struct stored_record *besom__lists_take(struct bucket_lists *lists, besom_place at) {
  struct list_epoch *epoch = find_epoch(lists, at.epoch);
  struct slot *slot = find_slot(epoch, at.bucket);
  /* analysis: -Wanalyzer-null-dereference: the caller gives a place that is in the list */
  struct stored_record **link = find_link(slot, at.rank), *taken = *link;
  *link = taken->next;
  lists->records--;
  if (!slot->first) {
    erase_slot(epoch, slot);
    epoch->buckets--;
    lists->buckets--;
  }
  return taken;
}

struct stored_record *besom__lists_replace(struct bucket_lists *lists, besom_place at,
                                           struct stored_record *record) {
  /* analysis: -Wanalyzer-null-dereference: the caller gives a place that is in the list */
  struct stored_record **link = find_position(lists, at), *taken = *link;
  record->next = taken->next;
  *link = record;
  return taken;
}

/* ------------------------------------------------------------------ reading */

static besom_status show_chain(const struct list_epoch *epoch, uint64_t bucket,
                               besom_store_visit visit, void *ctx) {
  besom_place at = {.epoch = epoch->number, .bucket = bucket};
  besom_status status = BESOM_OK;
  const struct stored_record *r = find_slot(epoch, bucket)->first;
  for (; r && status == BESOM_OK; r = r->next, at.rank++) {
    besom_record shown = {{r->bytes, r->key_len}, {r->bytes + r->key_len, r->value_len}};
    status = visit(ctx, at, &shown);
  }
  return status;
}

besom_status besom__lists_show(const struct bucket_lists *lists, besom_place at,
                               besom_store_visit visit, void *ctx) {
  const struct list_epoch *epoch = find_epoch(lists, at.epoch);
  return epoch ? show_chain(epoch, at.bucket, visit, ctx) : BESOM_OK;
}

static size_t collect_buckets(const struct list_epoch *epoch, uint64_t from, uint64_t *out) {
  size_t n = 0;
  for (size_t i = 0; i < table_size(epoch); i++)
    if (epoch->slots[i].first && epoch->slots[i].bucket >= from) out[n++] = epoch->slots[i].bucket;
  return n;
}

/* Radix sort by bytes, the lowest first, between two arrays. Returns the one that is sorted. */
static uint64_t *sort_buckets(uint64_t *buckets, uint64_t *spare, size_t n) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    size_t starts[257] = {0};
    for (size_t i = 0; i < n; i++) starts[(buckets[i] >> shift & 255) + 1]++;
    if (n && starts[(buckets[0] >> shift & 255) + 1] == n) continue; /* all have the same byte */
    for (unsigned byte = 0; byte < 256; byte++) starts[byte + 1] += starts[byte];
    for (size_t i = 0; i < n; i++) spare[starts[buckets[i] >> shift & 255]++] = buckets[i];
    uint64_t *sorted = spare;
    spare = buckets;
    buckets = sorted;
  }
  return buckets;
}

besom_status besom__lists_scan(const struct bucket_lists *lists, besom_place from,
                               besom_store_visit visit, void *ctx) {
  const struct list_epoch *epoch = find_epoch(lists, from.epoch);
  if (!epoch || !epoch->buckets) return BESOM_OK;
  size_t room = (size_t)epoch->buckets;
  uint64_t *memory = besom__allocate(&lists->allocator, 2 * room * sizeof *memory);
  if (!memory) return BESOM_NO_MEMORY;
  size_t n = collect_buckets(epoch, from.bucket, memory);
  const uint64_t *sorted = sort_buckets(memory, memory + room, n);
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i++)
    status = show_chain(epoch, sorted[i], visit, ctx);
  besom__release(&lists->allocator, memory, 2 * room * sizeof *memory);
  return status;
}

/* ------------------------------------------------------------------ init and free */

void besom__lists_init(struct bucket_lists *lists, const besom_allocator *allocator) {
  *lists = (struct bucket_lists){.allocator = *allocator};
}

static void free_large_records(struct bucket_lists *lists, const struct list_epoch *epoch) {
  for (size_t i = 0; lists->large_records && i < table_size(epoch); i++)
    for (struct stored_record *r = epoch->slots[i].first, *next; r; r = next) {
      next = r->next;
      besom__lists_free_record(lists, r);
    }
}

void besom__lists_free(struct bucket_lists *lists) {
  for (struct list_epoch *epoch = lists->epochs, *next; epoch; epoch = next) {
    next = epoch->next;
    free_large_records(lists, epoch);
    free_epoch(lists, epoch);
  }
  for (struct list_chunk *chunk = lists->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    release_counted(lists, chunk, chunk->size);
  }
}
