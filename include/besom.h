/*
 * besom.h - membership filters that adapt to their false positives.
 *
 * A filter answers "is this key in the set?" from about ten bits per key. A no is always right. A
 * yes may be wrong: a false positive. You choose how often: the target false-positive rate (FPR).
 * If you report a false positive to an adaptive filter (besom_adapt), it answers no to that key
 * from then on.
 *
 *     besom_config config = {.kind = "aqf", .capacity = 1000000, .fpr = 0.001};
 *     besom_filter *f;
 *     if (besom_create(&config, &f) != BESOM_OK) ...
 *     besom_insert(f, "key", 3);
 *     if (besom_contains(f, "key", 3)) ...             // perhaps: ask the database
 *     besom_free(f);
 *
 * Other headers: besom_guard.h (a filter and a database run together), besom_store.h (databases),
 * besom_sidecar.h (a filter beside a database of your own), besom_plan.h (filters planned for a
 * workload), besom_map.h (from a key to its values), besom_lists.h (lists: groups, updates,
 * patches, names of domains), besom_set.h (published sets), besom_fixes.h (answers beside a list
 * that must keep its bytes), besom_inline.h (queries inlined into the caller's loop),
 * besom_reverse.h (for code that runs its own store), besom.hpp (C++). This one includes
 * besom_types.h (statuses and small structs), besom_config.h (what filter to make), besom_lists.h
 * (until 1.0) and besom_abi.h (inline functions). docs/glossary.md defines the terms.
 *
 * Keys
 *   A key is a byte string of any length, including 0. The 64-bit integer k is the key of its 8
 *   little-endian bytes. A digest is the keyed 128-bit hash of a key (besom_hash). Most operations
 *   have several forms:
 *     besom_X          a key as bytes
 *     besom_X_u64      a key as an integer; the same key as its 8 bytes
 *     besom_X_digest   a digest, for callers that hash once and ask several times
 *     besom_X_many     an array of keys, if the filter exceeds the cache: with 64 keys or more two
 *                      to three times as fast, with 16 faster; one key takes a little longer
 *   A digest is valid for one seed. Do not keep digests across besom_rekey. While another thread
 *   may rekey the filter, use keys.
 *
 * Errors
 *   Every call that can fail returns a besom_status. After any status but BESOM_OK the filter is as
 *   it was before the call (a _many call reports how far it came). Results are written to the last
 *   pointer. A NULL or out-of-range argument is BESOM_INVALID, never a crash. An operation that the
 *   filter does not have is BESOM_UNSUPPORTED; besom_abilities tells beforehand. BESOM_READ_ONLY:
 *   the filter is mapped from a file. BESOM_BUSY: a task (besom_resize, besom_rekey) runs on the
 *   filter. These four statuses are not repeated below. The library never prints, exits or aborts,
 *   and has no global state.
 *
 * Threads
 *   Two filters are independent. A plain filter is thread-safe for readers only. A concurrent
 *   filter (BESOM_CONCURRENT, besom_share) is thread-safe for readers and writers: read-copy-update
 *   for whole tables, a seqlock per 4096 slots.
 *
 *     calls on one filter         plain: may run    concurrent: may run beside everything;
 *                                 beside            waits for
 *     contains, count, get_value  const calls       nothing; retries while its region changes
 *     insert, remove, adapt,      nothing           writers of the same region; BUSY during a task
 *     set_value, no_add, ...
 *     stats, counters, validate,  const calls       writers inside; later writers wait
 *     save, merge, diff, patch
 *     resize, rekey at once       nothing           a grace period; writers wait meanwhile, queries
 *                                                   use the old table
 *     resize, rekey as a task     nothing           a grace period in the last step
 *     iter_next                   const calls       (only beside const calls)
 *     bind, share, free           nothing           (only alone)
 *
 *   A query that starts after an insert returned sees the key. Callbacks that besom calls must not
 *   use the filter, except besom_hash, and must not wait for a thread that does.
 *
 * Memory
 *   The library keeps no pointer that you pass in, except: the functions and ctx of an allocator,
 *   of what a filter is bound to, and of the sources of a task until it ends.
 *
 * ABI
 *   Structs only grow at their end, and a zero member means its default: use designated
 *   initializers. Calls that take such a struct are inline functions that pass its size to an
 *   exported _sized form, so that old programs run with new libraries. The structs of besom_types.h
 *   never change.
 */
#ifndef BESOM_H
#define BESOM_H

#include "besom_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BESOM_INLINE static inline /* declares a function that besom_abi.h defines */

#define BESOM_VERSION_MAJOR 0
#define BESOM_VERSION_MINOR 2
#define BESOM_VERSION_PATCH 0

typedef struct besom_filter besom_filter;

/* -------------------------------------------------------------- status and version */

/* One English sentence for a status, without a full stop. Never NULL, whatever the number. */
BESOM_API const char *besom_strerror(besom_status status);

/* The version of the library at run time, for example "0.2.0". The macros tell the header's. */
BESOM_API const char *besom_version(void);

/* -------------------------------------------------------------- configuration */

#include "besom_config.h"

/* What this filter can do: its kind, its options and its base kind considered. 0 for NULL. */
BESOM_API unsigned besom_abilities(const besom_filter *f);

/* -------------------------------------------------------------- creating and building */

/*
 * Makes an empty filter. Errors: INVALID, UNKNOWN_KIND, BAD_OPTION, NO_MEMORY, UNSUPPORTED (the
 * kind can only be built, or has no concurrent form), IO (no random bytes for the seed).
 */
BESOM_INLINE besom_status besom_create(const besom_config *config, besom_filter **out);

/* Makes an empty filter of the kind, geometry, hash and seed of f: the two can be merged. */
BESOM_API besom_status besom_create_like(const besom_filter *f, besom_filter **out);

/* Frees a filter and the task that runs on it. NULL is allowed. */
BESOM_API void besom_free(besom_filter *f);

/*
 * Makes a plain filter concurrent in place, for example one that was loaded. OK if it is already.
 * Errors: UNSUPPORTED (the kind has no concurrent form), NO_MEMORY.
 */
BESOM_API besom_status besom_share(besom_filter *f);

/*
 * What besom_build reads.
 *
 * yes       the members. Required, unless digests, pairs, parts, keys or keys_u64 is given.
 * no        keys that must be answered no (BESOM_CAN_BUILD_NO). An aqf becomes a yesno: exact on
 *           both lists, static except for remove, no_add and adapt, and never concurrent. Kinds
 *           with BESOM_TAKES_SAMPLE take it as a sample of negative queries with weights, and
 *           promise nothing for single keys.
 * digests   instead of yes: digests in ascending order, as besom_hash of a filter with this hash
 *           and seed returns them. Kinds with BESOM_CAN_BUILD_SORTED: one sequential pass. ribbon
 *           and fuse: 16 bytes per key, as from keys. With like (not cf and vacuum) or
 *           update: those of that filter's hash.
 * like      kind, geometry, hash and seed of this filter; config is not read and may be NULL.
 *           Repeated keys are inserted once, so the diff of both filters is as small as the change
 *           of the set.
 * progress  called while it works.
 * update    a static list that the new filter is an update of (besom_lists.h). was, was_digests
 *           and merge_updates go with it.
 * pairs     instead of yes: keys with values, for a maplet (besom_map.h), also with like.
 * parts     instead of yes: n_parts sources, one after the other. With config.threads above 1 and a
 *           size_hint in each (the most keys that it gives; 0: unknown), kinds with
 *           BESOM_CAN_BUILD_SORTED read several parts at the same time: each part in one thread,
 *           its functions in any. This is the only case in which callbacks run in other threads.
 *           Not with BESOM_DISTINCT, no, like or update, or if config.build_memory is too small for
 *           all keys or there are more keys than capacity. An empty array is an empty set. INVALID:
 *           a part gives more keys than its size_hint. If several parts fail, the status is that of
 *           one of them. Contexts in one cache line make threads wait for each other.
 * keys, keys_u64  instead of yes: an array of n_keys keys, or of integers, read by several threads
 *           likewise. No callback runs.
 */
typedef struct besom_input {
  const besom_source *yes;
  const besom_source *no;
  const besom_digest_source *digests;
  const besom_filter *like;
  const besom_progress *progress;
  const besom_filter *update;
  const besom_source *was;
  uint64_t merge_updates;
  const besom_pair_source *pairs;
  const besom_digest_source *was_digests;
  const besom_source *parts;
  size_t n_parts;
  const besom_bytes *keys;
  const uint64_t *keys_u64;
  size_t n_keys;
} besom_input;

/*
 * Makes a filter that holds every key of the input. If config.capacity is 0 it is the source's
 * size_hint, or the number of keys: counted in a first pass, which needs rewind, or as they are
 * read (BESOM_DISTINCT). learned reads yes more than once, and needs rewind. cf and vacuum can be
 * FULL below the capacity: they try up to 4 random seeds if config.seed is NULL and the source has
 * rewind. Cost: kinds with
 * BESOM_CAN_BUILD_SORTED sort digests in config.build_memory first; yesno and static kinds take 16
 * bytes per key. Errors: as besom_create; FULL (more keys than capacity), CANCELLED, IS_MEMBER (a
 * key is on both lists), INVALID (digests do not ascend; a source cannot rewind), and what a source
 * returned.
 */
BESOM_INLINE besom_status besom_build(const besom_config *config, const besom_input *input,
                                      besom_filter **out);

/* -------------------------------------------------------------- queries */

/*
 * contains: may the key be a member? false is certain. An invalid argument is answered true. Cost:
 * about one read of memory. Digest-only queries of `learned` have a higher false-positive rate.
 * contains_many: bit i % 64 of bitmap[i / 64] is the answer for keys[i]; (n + 63) / 64 words are
 * written, unused bits are 0. Errors: INVALID, and then every answer is yes.
 */
BESOM_API bool besom_contains(const besom_filter *f, const void *key, size_t len);
BESOM_API bool besom_contains_u64(const besom_filter *f, uint64_t key);
BESOM_API bool besom_contains_digest(const besom_filter *f, besom_digest digest);
BESOM_API besom_status besom_contains_many(const besom_filter *f, const besom_bytes *keys, size_t n,
                                           uint64_t *bitmap);
BESOM_API besom_status besom_contains_many_u64(const besom_filter *f, const uint64_t *keys,
                                               size_t n, uint64_t *bitmap);
BESOM_API besom_status besom_contains_many_digest(const besom_filter *f,
                                                  const besom_digest *digests, size_t n,
                                                  uint64_t *bitmap);

/*
 * Starts to load the memory that a query of this key will read, and does not wait for it. For
 * callers that query one key at a time and know some keys ahead: 16 keys ahead, queries of a filter
 * that exceeds the cache take 0.5 to 0.7 of the time (examples/prefetch.c). It changes no answer,
 * and never fails. It counts as a query (see Threads), of mapped files, too. No effect: an invalid
 * argument, kind grouped, an empty filter, names of besom_set_domains other than the key itself.
 */
BESOM_API void besom_prefetch_digest(const besom_filter *f, besom_digest digest);
BESOM_API void besom_prefetch_u64(const besom_filter *f, uint64_t key);

/* The digest of a key under the filter's hash and seed; {0, 0} for an invalid argument. */
BESOM_API besom_digest besom_hash(const besom_filter *f, const void *key, size_t len);
BESOM_API besom_digest besom_hash_u64(const besom_filter *f, uint64_t key);

/* -------------------------------------------------------------- changes */

/*
 * insert: adds a key. Kinds that count, and stacked over a base that removes, keep every copy; in
 * others, and in sets (BESOM_SET), a second insert changes nothing.
 * insert_many adds keys in order, stops at the first failure, and sets *done (may be NULL) to the
 * number of keys that it has added or found. Errors: FULL.
 */
BESOM_API besom_status besom_insert(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_insert_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_insert_digest(besom_filter *f, besom_digest digest);
BESOM_API besom_status besom_insert_many(besom_filter *f, const besom_bytes *keys, size_t n,
                                         size_t *done);
BESOM_API besom_status besom_insert_many_u64(besom_filter *f, const uint64_t *keys, size_t n,
                                             size_t *done);
BESOM_API besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests,
                                                size_t n, size_t *done);

/*
 * remove: takes out one copy of a key. Remove members only: to remove a false positive removes the
 * fingerprint of a member. Errors: NOT_FOUND.
 */
BESOM_API besom_status besom_remove(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_remove_digest(besom_filter *f, besom_digest digest);

/*
 * count: copies of a key that were inserted and not removed; an upper bound, exact except at the
 * false-positive rate. insert_count adds n >= 1 copies at once, or none. Kinds without counters
 * (qf, exaf, broom, taf, utaf, cf, vacuum, pqf) store every copy: it takes as long as n inserts.
 * Errors: FULL (insert_count).
 */
BESOM_API besom_status besom_count(const besom_filter *f, const void *key, size_t len, uint64_t *n);
BESOM_API besom_status besom_insert_count(besom_filter *f, const void *key, size_t len, uint64_t n);

/*
 * get_value, set_value: the value stored with a key, 0 until set. Of members only: set_value on a
 * false positive changes the value of a member. If fingerprints collide (at the false-positive
 * rate), get_value returns the first one's. Keys whose values must never be lost belong into a
 * maplet (besom_map.h). Errors: NOT_FOUND, INVALID (the value does not fit, or config.value_bits is
 * 0), AMBIGUOUS (set_value: several fingerprints match, or the one that does counts several keys).
 */
BESOM_API besom_status besom_get_value(const besom_filter *f, const void *key, size_t len,
                                       uint64_t *value);
BESOM_API besom_status besom_set_value(besom_filter *f, const void *key, size_t len,
                                       uint64_t value);

/*
 * adapt: reports a false positive. The filter answers no to this key until a key with the same
 * fingerprint is inserted. The caller has made sure that the key is absent. A key that is answered
 * no already is OK.
 *
 * A filter that is bound to its stored keys (besom_reverse.h) extends the fingerprints that
 * matched; a member is refused (IS_MEMBER). Any other filter, of every kind but cached, stores an
 * exception (BESOM_STORES_EXCEPTIONS): the first bits of the digest, 60 more than a match fixes, or
 * the whole digest (docs/kinds.md says which kind; the option exceptions=short or full chooses). It
 * takes 11 to 17 bytes, once there are some hundred. A filter without exceptions is as fast as if
 * there were no reports; with some, a no takes about 10 instructions more. A mapped filter keeps
 * them in memory, and besom_save writes them. Every insert removes the exceptions that its key
 * matches, so that only keys which are members already can be denied by mistake. Their expected
 * number is at most 2^-40, for 10^9 members and 10^6 reports. Use exceptions=full, the default of
 * yesno, with hash "sip", if an adversary may know the seed, for instance from a file, and report
 * keys: a key could be chosen whose exception denies a member.
 *
 * When the limit is reached (config.reserve) a report is RESERVE_FULL, also if there is no memory.
 * With the option forget=yes it forgets an old report instead, by the clock algorithm: the one that
 * the hand meets a second time since its key was last reported. What is forgotten depends on the
 * calls that change the filter, not on queries or time. The counters exceptions, exception_limit
 * and forgotten tell how many there are, fit, and were forgotten.
 *
 * cached keeps digests in a cache. If a report displaces an older one, there or with forget=yes,
 * the status is EVICTED. That is a success, too: the filter answers no to this key, and yes again
 * to the older one. Adaptive cuckoo kinds that are bound: adapting for one key may undo another; OK
 * means that at least one fingerprint changed. So it does with the option form=published, with
 * which a filter that is not bound returns NEEDS_STORE. adaptive-stacked that is bound to a source
 * of its members (besom_bind_source) denies most of what is reported after some dozen further
 * reports, and one call may read some thousand members.
 *
 * Errors: RESERVE_FULL (besom_rekey empties the reserve, besom_resize and besom_set_reserve enlarge
 * it), IS_MEMBER,
 * NEEDS_STORE, NO_MEMORY, and what a bound callback returned.
 */
BESOM_API besom_status besom_adapt(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_adapt_digest(besom_filter *f, besom_digest digest);

/*
 * Sets how many reports a filter without a store holds, 1 to 2^40, besides its no list, and
 * whether it forgets old reports at that limit instead of returning RESERVE_FULL: as the options
 * max_exceptions and forget do when it is made. The memory is taken when it is needed. Reports
 * above a lower limit stay; if the filter forgets, the next report drops them. Persists across save
 * and load. Concurrent filters and cached: UNSUPPORTED.
 */
BESOM_API besom_status besom_set_reserve(besom_filter *f, uint64_t reports, bool forget);

/*
 * no_add, no_remove: the no list of a filter of any kind but cached. A key on it is answered no,
 * whatever is inserted later, until it is removed from the list or inserted itself. The caller has
 * made sure that it is absent. An entry is an exception as besom_adapt makes it, but is never
 * forgotten, and is kept while no fingerprint matches it. Errors: RESERVE_FULL (no_add); NOT_FOUND
 * (no_remove).
 */
BESOM_API besom_status besom_no_add(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_no_remove(besom_filter *f, const void *key, size_t len);

/* The other _u64 forms. */
BESOM_INLINE besom_status besom_remove_u64(besom_filter *f, uint64_t key);
BESOM_INLINE besom_status besom_adapt_u64(besom_filter *f, uint64_t key);
BESOM_INLINE besom_status besom_count_u64(const besom_filter *f, uint64_t key, uint64_t *n);

/* -------------------------------------------------------------- whole filters */

/*
 * Makes a filter that holds the keys of a and b, in their common geometry. In its buckets the
 * records of b follow those of a. Without a store, an exception or an entry of the no list is
 * dropped if the other filter has a fingerprint that matches it, and no exception for it: the key
 * may be a member there. Errors: INCOMPATIBLE, FULL (too many keys), RESERVE_FULL (too many
 * adaptations), NO_MEMORY; with a no list in front of a store (besom_reverse.h): NEEDS_STORE,
 * IS_MEMBER (a key is a member of one and on the no list of the other), and what a bound callback
 * returned.
 */
BESOM_API besom_status besom_merge(const besom_filter *a, const besom_filter *b,
                                   besom_filter **out);

/*
 * The same in a filter with this number of slots, a power-of-two multiple or divisor of those of a
 * and b, which may differ: two filters of half the size become one of full size. Both are copied
 * and resized first (besom_resize), so that it takes the memory of two more filters. Errors: those
 * of both calls; NEEDS_STORE (taf, utaf: a selector is raised in a filter that is not bound, has
 * exceptions, or has that number of slots already); UNSUPPORTED (also broom, whose remainders
 * depend on the round).
 */
BESOM_API besom_status besom_merge_slots(const besom_filter *a, const besom_filter *b,
                                         uint64_t slots, besom_filter **out);

typedef struct besom_task besom_task;

/*
 * Changes the number of slots by a power of two, by moving bits between remainder and quotient. No
 * key is needed and no answer changes, but beyond config.max_capacity the FPR is above its target,
 * and a pqf below its first size drops bits. If task is NULL it is done at once (besom_task_step).
 *
 * Adaptations persist, except: exaf drops extensions that do not fit their new block; taf and utaf
 * reset their selectors, and read the stored keys of raised ones, each up to twice. exaf, taf and
 * utaf in front of a store have new buckets afterwards (besom_reverse.h: besom_match).
 *
 * Errors: INVALID (the new size is not a power-of-two multiple or divisor of the old one, or no
 * remainder bit would be left), FULL (the keys do not fit), RESERVE_FULL, NO_MEMORY, NEEDS_STORE
 * (taf, utaf: a selector is raised and the filter is not bound), and what a bound callback
 * returned.
 */
BESOM_API besom_status besom_resize(besom_filter *f, uint64_t slots, besom_task **task);

/*
 * Rebuilds the filter under a new seed (16 bytes; NULL for random ones). yes must give all members.
 * All adaptations are dropped, the no list (besom_no_add) is empty, and values are 0. no (may be
 * NULL) gives absent keys that are adapted for. Takes the memory of a second filter. If task is
 * NULL it is done at once; else see besom_task_step. Errors: FULL, RESERVE_FULL (not all of no
 * fits), NO_MEMORY, NEEDS_STORE (the filter is bound: its stored keys would be in other buckets; or
 * form=published, which adapts with them only), and what a source returned.
 */
BESOM_API besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no,
                                   const uint8_t *seed, besom_task **task);

/*
 * A resize or rekey in steps, for callers that must keep serving queries. Until the last step the
 * filter is what it was: it answers queries, and every change is BUSY. The last step publishes the
 * new table.
 *
 *     besom_task *task;
 *     bool finished = false;
 *     besom_status status = besom_resize(f, 2 * slots, &task);
 *     while (status == BESOM_OK && !finished) status = besom_task_step(task, 10000, &finished);
 *
 * A step looks at no more than max_items fingerprints (rekey: keys). A task ends with the step that
 * sets *finished, with any status but BESOM_OK, with besom_task_cancel (NULL is allowed), or with
 * besom_free of its filter; its pointer is invalid then. Unless it finished, the filter is what it
 * was. Doubling looks at every fingerprint twice, halving once. A step is a change of the filter
 * (see Threads). Errors: as besom_resize and besom_rekey.
 */
BESOM_API besom_status besom_task_step(besom_task *task, uint64_t max_items, bool *finished);
BESOM_API void besom_task_cancel(besom_task *task);

/* -------------------------------------------------------------- statistics */

typedef struct besom_statistics {
  const char *kind;
  const char *hash;
  const char *isa; /* instruction set in use: "portable", "avx2", "avx512" */
  uint64_t keys;   /* inserted and not removed, copies included */
  /*
   * Distinct keys that fit if as many repeat as config.repeated says: with one more, or with more
   * copies, insert may be FULL. With the default of 0, every key is inserted once. Kinds that do
   * not count: all keys. scaling: 2^44.
   */
  uint64_t capacity;
  uint64_t slots;      /* Bloom kinds: bits; pqf: quotients; layered kinds: of all layers */
  uint32_t width;      /* bits of a remainder; Bloom kinds: bits set per key; of the last layer */
  uint64_t bytes;      /* all memory of the filter */
  double bits_per_key; /* 8 * bytes / keys; 0 if empty */
  double load_factor;  /* used slots / slots, also of pqf; Bloom kinds: share of bits set */
  double expected_fpr; /* false-positive rate at the present load */
  double fpr_at_capacity; /* and of the full filter */
  double workload_fpr;    /* kinds planned for a workload: over queries like it; else 0 */
  double reserve_used;    /* share of the reserve in use, 0 to 1 */
} besom_statistics;

/* Cost: constant; concurrent filters and Bloom kinds: one pass over the filter. */
BESOM_INLINE besom_status besom_stats(const besom_filter *f, besom_statistics *stats);

/*
 * What only some kinds count: extended fingerprints, exceptions, kicks, rebuilds ... docs/kinds.md
 * lists the names. Writes up to cap counters and returns how many there are; 0 for an invalid
 * argument. Cost: as besom_stats; filters of 2 MB or more: some microseconds more, for
 * huge_page_bytes, the bytes that the system has backed with huge pages.
 */
BESOM_API size_t besom_counters(const besom_filter *f, besom_counter *out, size_t cap);

/*
 * The i-th layer of a layered filter, from 0; NULL past the last. For statistics; valid until f
 * changes.
 */
BESOM_API const besom_filter *besom_layer(const besom_filter *f, size_t i);

/*
 * Checks every invariant. On BESOM_CORRUPT *reason (may be NULL) is a static sentence that says
 * which one is broken. Cost: one pass over the filter.
 */
BESOM_API besom_status besom_validate(const besom_filter *f, const char **reason);

/* -------------------------------------------------------------- files (docs/format.md) */

/* Writes the filter and its seed. Equal filters give equal bytes. Errors: what the sink returns. */
BESOM_API besom_status besom_save(const besom_filter *f, const besom_sink *sink);

/*
 * Writes a file: under a temporary name beside it, synced, then renamed. A failure or a crash
 * leaves the old file or the new one. Errors: IO, DISK_FULL, NO_MEMORY.
 */
BESOM_API besom_status besom_save_file(const besom_filter *f, const char *path);

/*
 * Makes a filter from saved bytes, after it has checked the checksums and every invariant: hostile
 * bytes are an error, never a crash. allocator may be NULL. Errors: CORRUPT, NEWER_VERSION,
 * NO_MEMORY, UNKNOWN_KIND (a published system; this build was made with BESOM_PAPERS=OFF).
 */
BESOM_API besom_status besom_load(const void *data, size_t len, const besom_allocator *allocator,
                                  besom_filter **out);

/*
 * flags      BESOM_OPEN_MMAP: use the file in place, read-only; processes share its pages. Up to 2
 *            MB, queries are as fast as in memory. Above, single queries take up to a third longer
 *            where the system has pages of 4 KB for files. Without the flag the file is copied into
 *            memory, in huge pages if the allocator gives such. BESOM_OPEN_CHECKSUMS: check the
 *            checksums only; finds accidents, not hostile bytes. BESOM_OPEN_TRUSTED: check the
 *            header only; opening reads nothing else, and damaged bits give wrong answers, but no
 *            access outside of the file.
 * allocator  NULL for the default.
 * fault      may be NULL; filled if the file is CORRUPT.
 */
typedef struct besom_open_options {
  unsigned flags;
  const besom_allocator *allocator;
  besom_fault *fault;
} besom_open_options;

/* besom_open_options.flags */
#define BESOM_OPEN_MMAP 1u
#define BESOM_OPEN_CHECKSUMS 2u
#define BESOM_OPEN_TRUSTED 4u

/*
 * Opens a saved filter; options may be NULL. Nobody may truncate or change the file while it is
 * copied or mapped; replacing it by rename, as besom_save_file does, is safe. Errors: IO, and as
 * besom_load.
 */
BESOM_INLINE besom_status besom_open(const char *path, const besom_open_options *options,
                                     besom_filter **out);

#include "besom_abi.h"
#include "besom_lists.h"

#ifdef __cplusplus
}
#endif

#endif
