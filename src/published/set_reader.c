/*
 * besom_set_open: the shards of one version are mapped, and the shard of a key is asked.
 */
#include "besom_set.h"

#include <errno.h>

#include "core/hash.h"
#include "core/scale.h"
#include "core/system/memory.h"
#include "published/set_directory.h"

#define OPEN_FLAGS (BESOM_OPEN_MMAP | BESOM_OPEN_CHECKSUMS | BESOM_OPEN_TRUSTED)

/* Keys of a batch that are sorted by their shards at once, and that one shard is asked for. */
enum { SORTED_KEYS = 8192, ASKED_AT_ONCE = 256 };

struct besom_set {
  struct set_directory directory;
  uint64_t bytes;
  besom_filter *shards[]; /* as many as the directory says */
};

static size_t set_size(uint32_t shards) {
  return sizeof(struct besom_set) + shards * sizeof(besom_filter *);
}

/* ------------------------------------------------------------------ opening */

void besom_set_close(besom_set *set) {
  if (!set) return;
  uint32_t shards = set->directory.shards;
  for (uint32_t i = 0; i < shards; i++) besom_free(set->shards[i]);
  besom__set_directory_free(&set->directory);
  besom__release(&besom__default_allocator, set, set_size(shards));
}

static besom_status set_open_shards(besom_set *set, const char *directory, unsigned flags) {
  besom_open_options options = {.flags = flags | BESOM_OPEN_MMAP};
  char path[SET_PATH_BYTES];
  for (uint32_t i = 0; i < set->directory.shards; i++) {
    besom_status status = besom__set_path(directory, set->directory.files[i].name, path);
    if (status == BESOM_OK) status = besom_open(path, &options, &set->shards[i]);
    if (status != BESOM_OK) return status;
    set->bytes += set->directory.files[i].bytes;
  }
  return BESOM_OK;
}

/* One attempt. *sequence: the version that the pointer named; 0 if it could not be read. */
static besom_status set_open_version(const char *directory, unsigned flags, uint64_t *sequence,
                                     besom_set **out) {
  struct set_directory d;
  besom_status status = besom__set_directory_read(directory, &d);
  *sequence = d.sequence;
  if (status != BESOM_OK) return status;
  besom_set *set = besom__allocate(&besom__default_allocator, set_size(d.shards));
  if (!set) {
    besom__set_directory_free(&d);
    return BESOM_NO_MEMORY;
  }
  set->directory = d;
  status = set_open_shards(set, directory, flags);
  if (status == BESOM_OK) {
    *out = set;
  } else {
    int cause = errno;
    besom_set_close(set);
    errno = cause;
  }
  return status;
}

/* A sync removes the files of the old version. As long as the pointer moves on, try again. */
besom_status besom_set_open(const char *directory, unsigned flags, besom_set **out) {
  if (!directory || !out || flags & ~OPEN_FLAGS) return BESOM_INVALID;
  uint64_t before = 0, sequence;
  for (;;) {
    besom_status status = set_open_version(directory, flags, &sequence, out);
    if (status != BESOM_IO || errno != ENOENT || !sequence || sequence == before) return status;
    before = sequence;
  }
}

besom_status besom_set_info_sized(const besom_set *set, besom_set_information *info, size_t size) {
  if (!set || !info) return BESOM_INVALID;
  const struct set_directory *d = &set->directory;
  besom_set_information all = {.name = d->name,
                               .kind = d->kind,
                               .sequence = d->sequence,
                               .expires = d->expires,
                               .shards = d->shards,
                               .keys = d->keys,
                               .bytes = set->bytes};
  besom_copy_struct(info, size, &all, sizeof all);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ queries */

uint32_t besom_set_shard(const void *key, size_t len, uint32_t shards) {
  return (uint32_t)scaled(XXH3_64bits(key, len), shards);
}

bool besom_set_contains(const besom_set *set, const void *key, size_t len) {
  if (!set || (!key && len)) return true;
  return besom_contains(set->shards[besom_set_shard(key, len, set->directory.shards)], key, len);
}

/* The order of the keys of a batch by their shards: a counting sort. */
struct shard_order {
  uint16_t place[SORTED_KEYS]; /* in the batch, of the keys in order */
  uint16_t shard[SORTED_KEYS]; /* of each key of the batch */
  uint16_t ends[MAX_SHARDS];   /* where in the order the keys of each shard end */
};

static void sort_by_shard(const besom_set *set, const besom_bytes *keys, size_t n,
                          struct shard_order *order) {
  uint32_t shards = set->directory.shards;
  memset(order->ends, 0, shards * sizeof *order->ends);
  for (size_t i = 0; i < n; i++) {
    order->shard[i] = (uint16_t)besom_set_shard(keys[i].data, keys[i].len, shards);
    order->ends[order->shard[i]]++;
  }
  uint16_t end = 0;
  for (uint32_t i = 0; i < shards; i++) {
    uint16_t count = order->ends[i];
    order->ends[i] = end; /* the start, which the next loop moves to the end */
    end = (uint16_t)(end + count);
  }
  for (size_t i = 0; i < n; i++) order->place[order->ends[order->shard[i]]++] = (uint16_t)i;
}

/* Asks one shard for some keys of the batch. */
static besom_status set_ask_shard(const besom_filter *shard, const besom_bytes *keys,
                                  const uint16_t *places, size_t n, uint64_t *bitmap) {
  besom_bytes some[ASKED_AT_ONCE];
  uint64_t answers[ASKED_AT_ONCE / 64];
  for (size_t i = 0; i < n; i++) some[i] = keys[places[i]];
  besom_status status = besom_contains_many(shard, some, n, answers);
  for (size_t i = 0; i < n && status == BESOM_OK; i++)
    bitmap[places[i] / 64] |= (answers[i / 64] >> (i % 64) & 1) << (places[i] % 64);
  return status;
}

static besom_status set_ask_batch(const besom_set *set, const besom_bytes *keys, size_t n,
                                  uint64_t *bitmap) {
  struct shard_order order;
  sort_by_shard(set, keys, n, &order);
  memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
  for (uint32_t shard = 0, at = 0; at < n; shard++)
    while (at < order.ends[shard]) {
      uint32_t left = order.ends[shard] - at, some = left < ASKED_AT_ONCE ? left : ASKED_AT_ONCE;
      besom_status status = set_ask_shard(set->shards[shard], keys, order.place + at, some, bitmap);
      if (status != BESOM_OK) return status;
      at += some;
    }
  return BESOM_OK;
}

static bool keys_are_valid(const besom_bytes *keys, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!keys[i].data && keys[i].len) return false;
  return true;
}

besom_status besom_set_contains_many(const besom_set *set, const besom_bytes *keys, size_t n,
                                     uint64_t *bitmap) {
  if (!bitmap) return BESOM_INVALID;
  besom_status status = BESOM_OK;
  if (!set || (!keys && n) || !keys_are_valid(keys, n)) status = BESOM_INVALID;
  for (size_t at = 0; at < n && status == BESOM_OK; at += SORTED_KEYS)
    status = set_ask_batch(set, keys + at, n - at < SORTED_KEYS ? n - at : SORTED_KEYS,
                           bitmap + at / 64);
  if (status != BESOM_OK)
    for (size_t i = 0; i < n; i++) bitmap[i / 64] |= UINT64_C(1) << (i % 64);
  return status;
}

/* ------------------------------------------------------------------ reports */

struct set_buffer {
  uint8_t *at;
  size_t len, room;
};

static besom_status set_buffer_write(void *ctx, const void *data, size_t len) {
  struct set_buffer *b = ctx;
  if (len > b->room - b->len) return BESOM_CORRUPT;
  memcpy(b->at + b->len, data, len);
  b->len += len;
  return BESOM_OK;
}

/* Some kinds store reports in their table, which is mapped: a copy of that shard in memory takes
 * the place of the mapped one. */
static besom_status set_unmap_shard(besom_set *set, uint32_t shard) {
  struct set_buffer b = {.room = (size_t)set->directory.files[shard].bytes};
  b.at = besom__allocate(&besom__default_allocator, b.room);
  if (!b.at) return BESOM_NO_MEMORY;
  besom_filter *copy;
  besom_sink sink = {.write = set_buffer_write, .ctx = &b};
  besom_status status = besom_save(set->shards[shard], &sink);
  if (status == BESOM_OK) status = besom_load(b.at, b.len, NULL, &copy);
  besom__release(&besom__default_allocator, b.at, b.room);
  if (status != BESOM_OK) return status;
  besom_free(set->shards[shard]);
  set->shards[shard] = copy;
  return BESOM_OK;
}

besom_status besom_set_report(besom_set *set, const void *key, size_t len) {
  if (!set || (!key && len)) return BESOM_INVALID;
  uint32_t shard = besom_set_shard(key, len, set->directory.shards);
  besom_status status = besom_adapt(set->shards[shard], key, len);
  if (status != BESOM_READ_ONLY) return status;
  status = set_unmap_shard(set, shard);
  return status == BESOM_OK ? besom_adapt(set->shards[shard], key, len) : status;
}
