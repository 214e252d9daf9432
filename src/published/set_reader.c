/*
 * besom_set_open: the shards of one version are mapped, and the shard of a key is asked.
 */
#include "besom_set.h"

#include <errno.h>

#include "core/hash.h"
#include "core/system/memory.h"
#include "kind.h"
#include "published/set_directory.h"

#define OPEN_FLAGS (BESOM_OPEN_MMAP | BESOM_OPEN_CHECKSUMS | BESOM_OPEN_TRUSTED)

enum { ASKED_AT_ONCE = 64 }; /* keys of a batch: a word of the bitmap */

struct besom_set {
  struct set_directory directory;
  uint64_t bytes;
  bool is_uniform;        /* one hasher serves all shards, and a digest is all that they look at */
  struct hasher hasher;   /* if it is uniform */
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

/* `besom publish` gives all shards one seed, so that a key is hashed before its shard is known. */
static bool shards_are_uniform(const besom_set *set) {
  for (uint32_t i = 0; i < set->directory.shards; i++) {
    const besom_filter *f = set->shards[i];
    if (!hashers_equal(&f->hasher, &set->shards[0]->hasher) || f->kind->query.contains_key ||
        besom_domain_labels(f, NULL))
      return false;
  }
  return true;
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
    set->hasher = set->shards[0]->hasher;
    set->is_uniform = shards_are_uniform(set);
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

ALWAYS_INLINE const besom_filter *shard_of(const besom_set *set, const void *key, size_t len) {
  return set->shards[scaled(XXH3_64bits(key, len), set->directory.shards)];
}

/* Of any shards. */
static __attribute__((noinline)) bool set_ask_key(const besom_set *set, const void *key,
                                                  size_t len) {
  if (!set || (!key && len)) return true;
  const besom_filter *f = shard_of(set, key, len);
  return f->queries->contains(f, key, len);
}

bool besom_set_contains(const besom_set *set, const void *key, size_t len) {
  if (UNLIKELY(!set || !key || !set->is_uniform)) return set_ask_key(set, key, len);
  besom_digest d = hash_bytes(&set->hasher, key, len);
  const besom_filter *f = shard_of(set, key, len);
  return f->queries->contains_digest(f, d);
}

/* Begins to load what all keys need before it looks at the first one. Returns the answers. */
static uint64_t set_ask_digests(const besom_set *set, const besom_bytes *keys, size_t n) {
  const besom_filter *shards[ASKED_AT_ONCE];
  besom_digest digests[ASKED_AT_ONCE];
  uint64_t answers = 0;
  for (size_t i = 0; i < n; i++) {
    shards[i] = shard_of(set, keys[i].data, keys[i].len);
    digests[i] = hash_bytes(&set->hasher, keys[i].data, keys[i].len);
    besom_prefetch_digest(shards[i], digests[i]);
  }
  for (size_t i = 0; i < n; i++)
    answers |= (uint64_t)shards[i]->queries->contains_digest(shards[i], digests[i]) << i;
  return answers;
}

static uint64_t set_ask_keys(const besom_set *set, const besom_bytes *keys, size_t n) {
  uint64_t answers = 0;
  for (size_t i = 0; i < n; i++)
    answers |= (uint64_t)set_ask_key(set, keys[i].data, keys[i].len) << i;
  return answers;
}

static bool keys_are_valid(const besom_bytes *keys, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!keys[i].data && keys[i].len) return false;
  return true;
}

besom_status besom_set_contains_many(const besom_set *set, const besom_bytes *keys, size_t n,
                                     uint64_t *bitmap) {
  if (!bitmap) return BESOM_INVALID;
  bool valid = set && (keys || !n) && keys_are_valid(keys, n);
  for (size_t at = 0; at < n; at += ASKED_AT_ONCE) {
    size_t some = n - at < ASKED_AT_ONCE ? n - at : ASKED_AT_ONCE;
    bitmap[at / ASKED_AT_ONCE] = !valid            ? ~UINT64_C(0) >> (ASKED_AT_ONCE - some)
                                 : set->is_uniform ? set_ask_digests(set, keys + at, some)
                                                   : set_ask_keys(set, keys + at, some);
  }
  return valid ? BESOM_OK : BESOM_INVALID;
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
