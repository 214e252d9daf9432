/*
 * besom_types.h - statuses, and the small structs that callers fill in or get. Included by besom.h.
 *
 * These structs are frozen: they never change. Those of the other headers may grow at their end.
 */
#ifndef BESOM_TYPES_H
#define BESOM_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define BESOM_API __attribute__((visibility("default")))
#else
#define BESOM_API
#endif

/* -------------------------------------------------------------- status */

/* Numbers are never changed or reused. */
typedef enum besom_status {
  BESOM_OK = 0,
  BESOM_END = 1,            /* a source or an iterator has no more; not an error */
  BESOM_INVALID = 2,        /* an argument is NULL or out of range: see besom_config_check */
  BESOM_UNKNOWN_KIND = 3,   /* no kind of that name: see besom_kinds */
  BESOM_BAD_OPTION = 4,     /* config.options or config.hash has an unknown name or a bad value */
  BESOM_UNSUPPORTED = 5,    /* this filter does not have that operation */
  BESOM_NO_MEMORY = 6,      /* the allocator returned NULL */
  BESOM_FULL = 7,           /* the filter has no room for another key: resize it */
  BESOM_NOT_FOUND = 8,      /* there is no such key */
  BESOM_INCOMPATIBLE = 9,   /* the filters differ in kind, hash, seed or geometry */
  BESOM_CORRUPT = 10,       /* not what besom has written, or damaged */
  BESOM_NEWER_VERSION = 11, /* saved by a later version, or of a kind this build lacks */
  BESOM_IO = 12,            /* a file could not be read or written: errno has the cause */
  BESOM_READ_ONLY = 13,     /* the filter is mapped from a file, or the store is read-only */
  BESOM_CANCELLED = 14,     /* the progress callback returned false */
  BESOM_NEEDS_STORE = 15,   /* the filter must be bound to its stored keys for that */
  BESOM_AMBIGUOUS = 16,     /* several fingerprints match: only the stored keys tell them apart */
  BESOM_IS_MEMBER = 17,     /* the reported key is a member, or is on the other list */
  BESOM_BUSY = 18,          /* a task, a batch or a migration is under way */
  BESOM_LOCKED = 19,        /* another process has the store open */
  BESOM_RESERVE_FULL = 20,  /* the memory set aside for adaptation is used up */
  BESOM_DISK_FULL = 21,     /* the disk, or the store's own size limit, has no room */
  BESOM_EVICTED = 22,       /* besom_adapt succeeded, and an older report was dropped for it */
  BESOM_NO_CHECKPOINT = 23, /* closed, nothing is lost, but the next open must read all keys */
} besom_status;

/* -------------------------------------------------------------- keys, memory, streams */

/* A byte string. data may be NULL if len is 0. */
typedef struct besom_bytes {
  const void *data;
  size_t len;
} besom_bytes;

/* The keyed 128-bit hash of a key. */
typedef struct besom_digest {
  uint64_t hi, lo;
} besom_digest;

/*
 * Where memory comes from. allocate returns size zeroed bytes, aligned for any type, or NULL;
 * release gets the same size back. Several threads may call it at once for a concurrent filter, a
 * guard with threads, or filters that share it: it must be thread-safe then. A filter of more than
 * a few MB is one large allocation and a small one per layer. The default allocator asks for huge
 * pages: worth up to a third of a query's time.
 */
typedef struct besom_allocator {
  void *(*allocate)(void *ctx, size_t size);
  void (*release)(void *ctx, void *memory, size_t size);
  void *ctx;
} besom_allocator;

/*
 * A stream of keys. next returns BESOM_OK and a key (borrowed until the following call),
 * BESOM_END, or any other status, which ends the work and is returned to the caller. weight is 1 on
 * entry; a source may set it to the number of queries for that key. rewind restarts the stream;
 * NULL if it cannot. size_hint is the number of keys, 0 if unknown.
 */
typedef struct besom_source {
  besom_status (*next)(void *ctx, besom_bytes *key, uint64_t *weight);
  besom_status (*rewind)(void *ctx);
  uint64_t size_hint;
  void *ctx;
} besom_source;

/*
 * A stream of keys with values, for maplets (besom_map.h): next returns BESOM_OK, a key (borrowed
 * until the following call) and its value, BESOM_END, or any other status, as besom_source.
 */
typedef struct besom_pair_source {
  besom_status (*next)(void *ctx, besom_bytes *key, uint64_t *value);
  besom_status (*rewind)(void *ctx);
  uint64_t size_hint;
  void *ctx;
} besom_pair_source;

/* A stream of digests: next fills up to cap of them and sets *n >= 1, or returns BESOM_END. */
typedef struct besom_digest_source {
  besom_status (*next)(void *ctx, besom_digest *out, size_t cap, size_t *n);
  besom_status (*rewind)(void *ctx);
  uint64_t size_hint;
  void *ctx;
} besom_digest_source;

/*
 * The group of a key, as any number: equal numbers are one group. The function must always return
 * the same number for a key, in every process that reads the filter. It may run in any thread that
 * builds or queries the filter.
 */
typedef struct besom_grouping {
  uint64_t (*group_of)(void *ctx, const void *key, size_t len);
  void *ctx;
} besom_grouping;

/* Called during long work; total is 0 if unknown. If it returns false: BESOM_CANCELLED. */
typedef struct besom_progress {
  bool (*tick)(void *ctx, uint64_t done, uint64_t total);
  void *ctx;
} besom_progress;

/* Where saved bytes go. A status other than BESOM_OK ends the save and is returned. */
typedef struct besom_sink {
  besom_status (*write)(void *ctx, const void *data, size_t len);
  void *ctx;
} besom_sink;

/* A named number of a filter (besom_counters). */
typedef struct besom_counter {
  const char *name; /* static */
  uint64_t value;
} besom_counter;

/* What is wrong with a file: a static sentence, and the offset in bytes. */
typedef struct besom_fault {
  const char *what;
  uint64_t offset;
} besom_fault;

#endif
