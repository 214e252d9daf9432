/*
 * besom_set.h - a local copy of a published set, which `besom sync` keeps up to date.
 *
 * A published set is a filter in shards with a signed manifest (docs/publish.md). The copy is a
 * directory. It was verified when it was made; this reader looks at no signature and no clock.
 *
 *     besom_set *set;
 *     if (besom_set_open("packages", 0, &set) != BESOM_OK) ...
 *     if (!besom_set_contains(set, "key", 3)) ...          // certainly not in the set
 *     besom_set_close(set);
 *
 * A set that is open stays the version that it was. After `besom sync` open it again, and close the
 * old one when no thread asks it any more.
 *
 * Threads
 *     calls on one set                       may run beside
 *     contains, contains_many, info          each other
 *     report                                 nothing
 *     close                                  nothing
 */
#ifndef BESOM_SET_READER_H
#define BESOM_SET_READER_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct besom_set besom_set;

/*
 * Opens the copy in a directory, or the directory that `besom publish` writes, and maps its shards.
 * If `besom sync` replaces the copy meanwhile, it opens the old or the new version, never parts of
 * both. flags: 0 checks every shard as besom_open does; BESOM_OPEN_CHECKSUMS and
 * BESOM_OPEN_TRUSTED check less. BESOM_OPEN_MMAP is implied. Errors: IO (no such directory, or a
 * file is missing), CORRUPT, NEWER_VERSION, INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_set_open(const char *directory, unsigned flags, besom_set **out);

/* NULL is allowed. */
BESOM_API void besom_set_close(besom_set *set);

/*
 * As besom_contains and besom_contains_many. The shard of a key is asked. Batches of 64 keys or
 * more are fastest, however many shards there are.
 */
BESOM_API bool besom_set_contains(const besom_set *set, const void *key, size_t len);
BESOM_API besom_status besom_set_contains_many(const besom_set *set, const besom_bytes *keys,
                                               size_t n, uint64_t *bitmap);

/*
 * As besom_adapt: the set answers no to an absent key from now on. The report is kept in memory,
 * for this version of the set only. Report only keys that are absent now: a later version may have
 * them.
 */
BESOM_API besom_status besom_set_report(besom_set *set, const void *key, size_t len);

/* expires: seconds since 1970. From then on the publisher does not vouch for this version. */
typedef struct besom_set_information {
  const char *name; /* valid until the set is closed */
  const char *kind; /* as name */
  uint64_t sequence;
  int64_t expires;
  uint64_t shards;
  uint64_t keys;
  uint64_t bytes; /* of all shards */
} besom_set_information;

BESOM_API besom_status besom_set_info_sized(const besom_set *set, besom_set_information *info,
                                            size_t size);
static inline besom_status besom_set_info(const besom_set *set, besom_set_information *info) {
  return besom_set_info_sized(set, info, sizeof *info);
}

/*
 * The shard of a key, below `shards`, which must not be 0. It depends on no seed: floor(h * shards
 * / 2^64), where h is the 64-bit XXH3 of the key without a seed. So if shards is a power of two, it
 * is the first bits of h.
 */
BESOM_API uint32_t besom_set_shard(const void *key, size_t len, uint32_t shards);

#ifdef __cplusplus
}
#endif

#endif
