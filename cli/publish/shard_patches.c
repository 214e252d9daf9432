#include "publish/shard_patches.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define PATCHES_MAGIC "BESOMSET"

enum { MAGIC_BYTES = 8, ENTRY_BYTES = 16 };

/* Grows by doubling: the room is the next power of two of what is used. */
besom_status file_bytes_append(void *ctx, const void *data, size_t len) {
  file_bytes *bytes = ctx;
  size_t room = 1;
  while (bytes->len && room < bytes->len) room *= 2;
  if (!bytes->data || bytes->len + len > room) {
    while (room < bytes->len + len) room *= 2;
    bytes->data = reallocate(bytes->data, room, 1);
  }
  if (len) memcpy(bytes->data + bytes->len, data, len);
  bytes->len += len;
  return BESOM_OK;
}

file_bytes filter_saved(const besom_filter *f) {
  file_bytes bytes = {NULL, 0};
  check(besom_save(f, &(besom_sink){.write = file_bytes_append, .ctx = &bytes}), "saving a shard");
  return bytes;
}

file_bytes filter_difference(const besom_filter *old, const besom_filter *fresh) {
  file_bytes bytes = {NULL, 0};
  check(besom_diff_compact(old, fresh, &(besom_sink){.write = file_bytes_append, .ctx = &bytes}),
        "the difference of a shard");
  return bytes;
}

static void put_u64(uint8_t *to, uint64_t x) {
  for (int i = 0; i < 8; i++) to[i] = (uint8_t)(x >> (8 * i));
}

static uint64_t get_u64(const uint8_t *from) {
  uint64_t x = 0;
  for (int i = 7; i >= 0; i--) x = x << 8 | from[i];
  return x;
}

void shard_patches_add(file_bytes *file, uint64_t shard, const file_bytes *patch) {
  uint8_t entry[ENTRY_BYTES];
  if (!file->len) file_bytes_append(file, PATCHES_MAGIC, MAGIC_BYTES);
  if (!patch) return;
  put_u64(entry, shard);
  put_u64(entry + 8, patch->len);
  file_bytes_append(file, entry, sizeof entry);
  file_bytes_append(file, patch->data, patch->len);
}

void shard_patches_read(const char *path, const file_bytes *file, uint32_t shards,
                        file_bytes *patches) {
  size_t at = MAGIC_BYTES;
  uint64_t next = 0; /* the least shard that may follow */
  bool ok = file->len >= at && memcmp(file->data, PATCHES_MAGIC, MAGIC_BYTES) == 0;
  memset(patches, 0, shards * sizeof *patches);
  while (ok && at < file->len) {
    uint64_t shard = 0, len = 0;
    ok = file->len - at >= ENTRY_BYTES;
    if (!ok) break;
    shard = get_u64(file->data + at);
    len = get_u64(file->data + at + 8);
    at += ENTRY_BYTES;
    ok = shard >= next && shard < shards && len <= file->len - at;
    if (!ok) break;
    patches[shard] = (file_bytes){file->data + at, (size_t)len};
    at += (size_t)len;
    next = shard + 1;
  }
  if (!ok) fail("%s: not a file of patches for this set", path);
}
