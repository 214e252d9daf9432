/*
 * besom.h - membership filters that can learn from their mistakes.
 *
 * A filter stands in front of something slow and answers "is this key in the set?" from a few bits a
 * key. A no is always right. A yes may be wrong, with a probability that you choose: the *rate*. A key
 * that is wrongly answered yes is a false positive; an adaptive filter, told so by besom_adapt, does not
 * make that mistake again.
 *
 *     besom_config config = {.kind = "qf", .capacity = 1000000, .fpr = 0.001};
 *     besom_filter *f;
 *     if (besom_create(&config, &f) != BESOM_OK) ...
 *     besom_insert(f, "key", 3);
 *     if (besom_contains(f, "key", 3)) ...           // maybe: ask the store
 *     besom_free(f);
 *
 * Keys are byte strings of any length, the empty one too. A 64-bit integer k means its 8 little-endian
 * bytes: besom_insert_u64(f, k) and besom_insert(f, bytes_of_k, 8) are the same call, the first is faster.
 * A caller that already has the digest of a key (besom_hash) hands it to the _digest forms.
 *
 * Statuses. Everything that can fail returns a besom_status, and on any status but BESOM_OK the filter
 * is as it was before the call (a _many call says how far it came). Results leave by the last pointer.
 * What a kind cannot do is BESOM_UNSUPPORTED; besom_kinds tells beforehand. A NULL or out-of-range
 * argument is BESOM_INVALID, never a crash. While a task (besom_grow_begin) is under way on a filter, whatever
 * would change it is BESOM_BUSY. The library never prints, exits or aborts, and it has no global state.
 *
 * Threads. Calls that take a const filter may run at the same time as each other; any other call needs
 * the filter to itself. Two filters are always independent.
 * A filter made with BESOM_CONCURRENT, or made so by besom_share, is for several threads: contains, insert, remove,
 * count, adapt, values, what is for filters in front of a store, in all their forms, and besom_grow, besom_shrink,
 * besom_rekey and the calls on tasks may run at the same time as each other and as calls that take a const filter.
 * Queries take no lock. A query that begins after an insert has returned sees it; the numbers of
 * besom_stats are those of one moment, and so is what besom_save, besom_merge and besom_validate see, which let changes
 * wait meanwhile, but no queries. While besom_grow, besom_shrink or besom_rekey is at work queries are answered from
 * the old table, and changes wait; while a task is under way they are BUSY. The old table is freed, before the call or
 * the last step returns, when all queries have ended that may still look at it. A digest of before a rekey is worth
 * nothing after it. As without the flag besom_bind and besom_free need the filter to themselves; one thread at a time
 * uses a task; while an iterator is open nothing may change; and a guard has rules of its own (below). Functions of
 * yours that besom calls (digest_of of besom_bind, write of a sink, the sources of a rekey) must not use that filter,
 * but for besom_hash, nor wait for a thread that does.
 *
 * Ownership. The library keeps no pointer that you pass in, but for the functions and ctx of the allocator, of what
 * a filter is bound to, and of the sources of a task while it is under way.
 */
#ifndef BESOM_H
#define BESOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BESOM_API __attribute__((visibility("default")))
#else
#define BESOM_API
#endif

#define BESOM_VERSION_MAJOR 0
#define BESOM_VERSION_MINOR 1
#define BESOM_VERSION_PATCH 0

/* ------------------------------------------------------------------ status */

/* Numbers are never reused or changed. */
typedef enum besom_status {
  BESOM_OK = 0,
  BESOM_END = 1,          /* a source or an iterator has nothing more; not an error */
  BESOM_INVALID = 2,      /* an argument is NULL, out of range, or not what the comment asks for */
  BESOM_UNKNOWN_KIND = 3, /* no kind of that name: see besom_kinds */
  BESOM_BAD_OPTION = 4,  /* config.options or config.hash names something unknown, or a bad value */
  BESOM_UNSUPPORTED = 5, /* this kind of filter cannot do that */
  BESOM_NO_MEMORY = 6,   /* the allocator returned NULL */
  BESOM_FULL = 7,        /* no room for another key */
  BESOM_NOT_FOUND = 8,   /* the key to remove is not there */
  BESOM_INCOMPATIBLE = 9, /* the filters differ in kind, hash, seed or geometry */
  BESOM_CORRUPT = 10,     /* the bytes are not a saved filter, or damaged */
  BESOM_NEWER_VERSION =
      11,        /* saved by a later version of besom, or of a kind this build does not have */
  BESOM_IO = 12, /* a file could not be read or written: errno tells why */
  BESOM_READ_ONLY = 13,   /* the filter was opened by besom_open_mmap */
  BESOM_CANCELLED = 14,   /* the progress callback said stop */
  BESOM_NEEDS_STORE = 15, /* this kind must see the stored keys to do that */
  BESOM_AMBIGUOUS =
      16, /* several fingerprints match the key: only who has the keys can tell them apart */
  BESOM_IS_MEMBER = 17, /* the key to adapt for is in the set, or one to add is on the other list */
  BESOM_BUSY = 18,      /* a task (besom_grow_begin ...) is under way on this filter */
  BESOM_LOCKED = 19,    /* another process has the store open */
  BESOM_RESERVE_FULL = 20, /* the memory set aside for adaptation is used up */
  BESOM_DISK_FULL = 21,    /* the disk, or the store's own size limit, has no room */
} besom_status;

/* One English sentence for a status, without a full stop. Never NULL, also for a number that is no status. */
BESOM_API const char *besom_strerror(besom_status status);

/* "0.1.0": the version of the library that is running (the macros tell which header was compiled). */
BESOM_API const char *besom_version(void);

/* ------------------------------------------------------------------ types */

typedef struct besom_filter besom_filter;

typedef struct besom_bytes {
  const void *data;
  size_t len;
} besom_bytes;

/* The keyed 128-bit hash of a key. Read as the fraction (hi, lo) / 2^128 it is the key's place in the filter. */
typedef struct besom_digest {
  uint64_t hi, lo;
} besom_digest;

/*
 * Where a filter gets its memory. allocate returns size zeroed bytes, aligned for any type, or NULL;
 * release gets the same size back. Filters of more than a few MB are one allocation for the bits and one
 * small one for the head, those made of other filters that much for each; building may take more meanwhile. The default
 * advises huge pages for large tables, worth up to a third of the time of a query: an allocator of your own should,
 * too.
 */
typedef struct besom_allocator {
  void *(*allocate)(void *ctx, size_t size);
  void (*release)(void *ctx, void *memory, size_t size);
  void *ctx;
} besom_allocator;

/*
 * What filter to make. Zero means default everywhere, so that {.kind, .capacity, .fpr} is complete.
 *
 * capacity      keys the filter must hold, 1 to 2^44. Required, unless slots is given.
 * rate          wanted probability of a yes for a key that is not in the set, when the filter is full:
 *               in (0, 1), default 1/256. The filter's own is at most this.
 * bits          instead of rate: bits an item at full capacity, all counted; the filter takes the best
 *               rate that fits. Giving both is BESOM_INVALID.
 * max_capacity  if above capacity: the filter can be grown (besom_grow) to hold this many keys at the
 *               wanted rate. Costs about log2(max_capacity / capacity) bits an item until then.
 * slots, width  for experts, quotient kinds: the table's geometry itself, in place of capacity and rate:
 *               any number of slots, remainders of width bits (1 to 64; aqf: 2 to 64).
 * hash          "xxh3" (default: XXH3-128 with a secret key, the fastest) or "sip" (SipHash-1-3, when
 *               those who choose the keys are hostile and patient).
 * seed          16 bytes that key the hash, or NULL for random ones. An adversary who knows them can
 *               make any filter lie: fix them only for reproducible files, and for filters to be merged.
 * value_bits    bits of a small value kept with every key, 0 to 32, for kinds that can.
 * reserve    adaptive kinds: the share of the filter's room kept for what adapting needs, in (0, 0.5];
 *               default 0.05. Beyond it besom_adapt is FULL; it never takes the room of keys. Kinds whose room for
 *               that is fixed (exaf, broom, taf, utaf) take no notice of it.
 * no_capacity   aqf, yesno: room for so many keys on the no list (besom_no_add) besides reserve, at 18 to 24 bytes
 *               each when they come. Other kinds take no notice of it.
 * build_memory  besom_build of kinds with BESOM_CAN_BUILD_SORTED: the bytes it may take for a while besides the
 *               filter; default 16 a key, and for a moment three times that if nobody tells how many there are.
 * options       "name=value,name=value", the kind's own; docs/kinds.md lists them. Quotient kinds know
 *               isa=portable|avx2|avx512, to forbid faster instructions than these.
 * flags         BESOM_CONCURRENT: several threads may change the filter and ask it at once (see Threads, above).
 *               BESOM_DISTINCT: besom_build puts a key in once, however often it comes.
 * allocator     NULL for the default.
 */
typedef struct besom_config {
  const char *kind;
  const char *options;
  const char *hash;
  const uint8_t *seed;
  uint64_t capacity;
  uint64_t max_capacity;
  double fpr;
  double bits;
  uint64_t slots;
  uint32_t width;
  uint32_t value_bits;
  double reserve;
  uint64_t build_memory;
  uint64_t no_capacity;
  uint32_t flags;
  const besom_allocator *allocator;
} besom_config;

/*
 * Flag of besom_config: a filter for several threads, see Threads at the top. It is the same filter, with locks: 64
 * bytes more for 4096 slots and 5 KB besides, single calls and batches slower by a third to a half. Statistics take
 * time in proportion to its size. UNSUPPORTED for kinds that have no such form (docs/kinds.md).
 */
#define BESOM_CONCURRENT 2u

/*
 * Flag of besom_config, for besom_build: a key that comes more than once is put in once. Takes 16 bytes of memory a key
 * meanwhile; if build_memory is given, copies are what they are without the flag.
 */
#define BESOM_DISTINCT 4u

/*
 * A stream of keys, so that a set need not be in memory. next gives a key (borrowed until the following
 * call) and BESOM_OK, or BESOM_END, or any other status, which ends the work and is handed to the caller.
 * weight comes in as 1; a source may set it to how often that key is queried, for kinds that plan by it.
 * rewind starts the stream again; NULL if that is impossible. size_hint is the number of keys, 0 if unknown.
 */
typedef struct besom_source {
  besom_status (*next)(void *ctx, besom_bytes *key, uint64_t *weight);
  besom_status (*rewind)(void *ctx);
  uint64_t size_hint;
  void *ctx;
} besom_source;

/* The same for ready digests: next fills up to cap of them, says how many (at least 1), or BESOM_END. */
typedef struct besom_digest_source {
  besom_status (*next)(void *ctx, besom_digest *out, size_t cap, size_t *n);
  besom_status (*rewind)(void *ctx);
  uint64_t size_hint;
  void *ctx;
} besom_digest_source;

/* Called now and then during long work, total = 0 if unknown. Returning false ends it with BESOM_CANCELLED. */
typedef struct besom_progress {
  bool (*tick)(void *ctx, uint64_t done, uint64_t total);
  void *ctx;
} besom_progress;

/* ------------------------------------------------------------------ kinds */

typedef enum besom_ability {
  BESOM_CAN_INSERT =
      1 << 0, /* create, then insert; without it: besom_build only, or insert_at (CAN_MATCH) */
  BESOM_CAN_REMOVE = 1 << 1,       /* remove */
  BESOM_CAN_COUNT = 1 << 2,        /* count: how often a key was inserted */
  BESOM_CAN_MERGE = 1 << 3,        /* merge */
  BESOM_CAN_ITERATE = 1 << 4,      /* iter_open */
  BESOM_CAN_GROW = 1 << 5,         /* grow, shrink */
  BESOM_CAN_ADAPT = 1 << 6,        /* adapt */
  BESOM_CAN_BUILD_SORTED = 1 << 7, /* build_sorted */
  BESOM_CAN_VALUE = 1 << 8,        /* get_value, set_value, if made with value_bits */
  BESOM_CAN_MATCH =
      1 << 9, /* matches, insert_at, remove_at, adapt_at: filters in front of a store */
  BESOM_CAN_REKEY = 1 << 10, /* rekey */
  BESOM_CAN_SCALE =
      1 << 11, /* insert is not FULL at any capacity: the filter takes more memory instead */
  BESOM_CAN_BUILD_NO = 1 << 13, /* besom_build with a no list, too */
  BESOM_CAN_LIST_NO = 1 << 14,  /* no_add, no_remove */
  BESOM_CAN_LIST_NO_AT =
      1 << 15, /* no_add_at, no_matches, no_remove_at: a no list in front of a store */
  BESOM_FORGETS =
      1 << 12, /* adapt is never FULL: what was learnt last takes the place of something older */
  BESOM_TAKES_SAMPLE =
      1 << 16, /* besom_build with a no source that is a sample of queries: no promise for these */
  BESOM_INSERTS_LATER =
      1 << 17, /* besom_build only, but insert works on what was built, while there is room */
} besom_ability;

typedef struct besom_kind_info {
  const char *name;
  const char *summary;
  unsigned abilities; /* of besom_ability, or-ed */
  unsigned
      most_copies; /* kinds that count: of one key; a further one is FULL. 0: as many as there is room for */
} besom_kind_info;

/* The i-th kind of filter in this build, for i from 0; NULL past the last. */
BESOM_API const besom_kind_info *besom_kinds(size_t i);

/* ------------------------------------------------------------------ life of a filter */

/*
 * Makes an empty filter. Costs no time beyond the allocation, however large the filter.
 * Errors: INVALID (NULL, rate or capacity out of range), UNKNOWN_KIND, BAD_OPTION, NO_MEMORY,
 * UNSUPPORTED (the kind can only be built from a set, or has no form for these flags), IO (no random bytes for the
 * seed).
 */
BESOM_API besom_status besom_create(const besom_config *config, besom_filter **out);

/* An empty filter of the same kind, geometry, hash and seed as f, so that the two can be merged. */
BESOM_API besom_status besom_create_like(const besom_filter *f, besom_filter **out);

/*
 * Makes a filter one for several threads, as if it had been made with BESOM_CONCURRENT: one that was loaded, or built
 * by one thread. Its bits stay where they are. Needs the filter to itself. OK if it is one already.
 * Errors: UNSUPPORTED (the kind has no such form), READ_ONLY (besom_open_mmap: nobody can change it, so that any number
 * of threads may ask it as it is), BUSY, NO_MEMORY.
 */
BESOM_API besom_status besom_share(besom_filter *f);

/* Frees a filter, and the task that is under way on it; NULL is fine. */
BESOM_API void besom_free(besom_filter *f);

/*
 * Makes a filter that holds every key of yes. With config.capacity = 0 the capacity is yes->size_hint,
 * or, if that is 0, the number of keys counted in a first pass (which needs rewind). progress may be NULL.
 *
 * no: keys that must be answered no, for kinds that can promise it (BESOM_CAN_BUILD_NO); NULL for none. A filter
 * of kind aqf becomes one of kind yesno then, exact on both lists. It is static: insert is UNSUPPORTED, since it
 * keeps no trace of the no list that a new key could be held against; remove, no_add and adapt work. 16 bytes of
 * memory a key of both lists are taken meanwhile.
 * Kinds with BESOM_TAKES_SAMPLE take it for a sample of the queries to come, with weights that say how often each
 * key was asked for: those are answered no more surely than others, but without a promise. Members among them are
 * left out. A besom_workload makes such a source of a stream of queries. Without one they know nothing of the queries
 * and are what they would be for any. learned reads yes more than once: it must be able to rewind (INVALID).
 *
 * Kinds with BESOM_CAN_BUILD_SORTED sort the digests of the keys first, since one pass over the table is so much
 * faster than inserts all over it. That takes memory from config.allocator meanwhile, see config.build_memory: with
 * less than all digests need it takes a pass for each part of them; if there is none, keys are inserted one by
 * one. progress is half way then when all keys are read.
 *
 * Errors: as besom_create; FULL (more keys than capacity); CANCELLED; UNSUPPORTED (no given, and the kind
 * cannot promise); IS_MEMBER (a key is in both lists); what the source returned.
 */
BESOM_API besom_status besom_build(const besom_config *config, const besom_source *yes,
                                   const besom_source *no, const besom_progress *progress,
                                   besom_filter **out);

/*
 * The same with kind, geometry, hash and seed of a filter that is there, so that both can be merged, and that the
 * difference of their sets is all that they differ in (besom_diff). Each key is put in once. no: for kind yesno alone.
 * Errors: as besom_create_like and besom_build; FULL (the keys do not fit into the size of the model).
 */
BESOM_API besom_status besom_build_like(const besom_filter *model, const besom_source *yes,
                                        const besom_source *no, const besom_progress *progress,
                                        besom_filter **out);

/*
 * The same from digests in ascending order, as besom_hash of a filter with this hash and seed gave them:
 * one sequential pass over the table. Errors: as besom_build; INVALID (not ascending).
 */
BESOM_API besom_status besom_build_sorted(const besom_config *config,
                                          const besom_digest_source *digests,
                                          const besom_progress *progress, besom_filter **out);

/* ------------------------------------------------------------------ questions and changes */

/* The digest of a key under this filter's hash and seed. {0, 0} for a NULL filter. */
BESOM_API besom_digest besom_hash(const besom_filter *f, const void *key, size_t len);
BESOM_API besom_digest besom_hash_u64(const besom_filter *f, uint64_t key);

/*
 * May the key be in the set? false is certain. A NULL filter answers true: it excludes nothing.
 * Cost: about one read of main memory.
 * Kinds that look at the keys themselves (learned) say yes more often to who asks by the digest alone.
 */
BESOM_API bool besom_contains(const besom_filter *f, const void *key, size_t len);
BESOM_API bool besom_contains_u64(const besom_filter *f, uint64_t key);
BESOM_API bool besom_contains_digest(const besom_filter *f, besom_digest digest);

/*
 * The same for n keys at once, two to three times as fast when the filter is larger than the cache.
 * Bit i of bitmap (word i / 64, bit i % 64) answers for keys[i]; (n + 63) / 64 words are written, unused
 * bits as 0. Errors: INVALID (a NULL; for a NULL filter every answer is yes).
 */
BESOM_API besom_status besom_contains_many(const besom_filter *f, const besom_bytes *keys, size_t n,
                                           uint64_t *bitmap);
BESOM_API besom_status besom_contains_many_u64(const besom_filter *f, const uint64_t *keys,
                                               size_t n, uint64_t *bitmap);
BESOM_API besom_status besom_contains_many_digest(const besom_filter *f,
                                                  const besom_digest *digests, size_t n,
                                                  uint64_t *bitmap);

/*
 * Adds a key. Kinds that count keep every copy; for the others a second insert changes nothing.
 * Errors: FULL, READ_ONLY, UNSUPPORTED.
 */
BESOM_API besom_status besom_insert(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_insert_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_insert_digest(besom_filter *f, besom_digest digest);

/* Adds n keys in order, stopping at the first failure; *done (may be NULL) says how many went in. */
BESOM_API besom_status besom_insert_many(besom_filter *f, const besom_bytes *keys, size_t n,
                                         size_t *done);
BESOM_API besom_status besom_insert_many_u64(besom_filter *f, const uint64_t *keys, size_t n,
                                             size_t *done);
BESOM_API besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests,
                                                size_t n, size_t *done);

/*
 * Takes one copy of a key out. Remove only what was inserted: removing any other key that the filter
 * wrongly answers yes to would take the fingerprint of a member with it.
 * Errors: NOT_FOUND (the filter answers no: nothing changed), READ_ONLY, UNSUPPORTED.
 */
BESOM_API besom_status besom_remove(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_remove_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_remove_digest(besom_filter *f, besom_digest digest);

/* How often the key was inserted and not removed: never less, rarely (at the rate) more. Errors: UNSUPPORTED. */
BESOM_API besom_status besom_count(const besom_filter *f, const void *key, size_t len, uint64_t *n);
BESOM_API besom_status besom_count_u64(const besom_filter *f, uint64_t key, uint64_t *n);
BESOM_API besom_status besom_count_digest(const besom_filter *f, besom_digest digest, uint64_t *n);

/* Adds n copies at once, n >= 1. Errors: as besom_insert. */
BESOM_API besom_status besom_insert_count(besom_filter *f, const void *key, size_t len, uint64_t n);
BESOM_API besom_status besom_insert_count_u64(besom_filter *f, uint64_t key, uint64_t n);
BESOM_API besom_status besom_insert_count_digest(besom_filter *f, besom_digest digest, uint64_t n);

/*
 * The small value kept with a key; it is 0 until set. A key that another one collides with may give the
 * other's value (at the rate); get gives the first, set is AMBIGUOUS then.
 * Errors: NOT_FOUND, AMBIGUOUS, INVALID (value does not fit, or no value_bits), READ_ONLY, UNSUPPORTED.
 */
BESOM_API besom_status besom_get_value(const besom_filter *f, const void *key, size_t len,
                                       uint64_t *value);
BESOM_API besom_status besom_get_value_u64(const besom_filter *f, uint64_t key, uint64_t *value);
BESOM_API besom_status besom_get_value_digest(const besom_filter *f, besom_digest digest,
                                              uint64_t *value);
BESOM_API besom_status besom_set_value(besom_filter *f, const void *key, size_t len,
                                       uint64_t value);
BESOM_API besom_status besom_set_value_u64(besom_filter *f, uint64_t key, uint64_t value);
BESOM_API besom_status besom_set_value_digest(besom_filter *f, besom_digest digest, uint64_t value);

/*
 * Tells the filter that its yes for this key was wrong: it does not say yes to it again until a key with the
 * same fingerprint is inserted. The caller has made sure that the key is no member.
 *
 * A filter bound to its keys (besom_bind) lengthens the fingerprints that matched; a key that turns out to
 * be a member is refused (IS_MEMBER). An unbound one keeps the key's digest as a mark: inserting the key later
 * takes the mark away, so that adapting for a member by mistake is mended by inserting it again. Besides
 * that, a mark makes the filter deny a member only if the two keys have one digest: 2^-128 a pair.
 *
 * Kinds with BESOM_FORGETS keep the digest in a cache: the key is denied until others take its place there, or it is
 * inserted. They are never FULL; reporting a key that is denied already tells the cache that it is still asked for.
 *
 * The adaptive cuckoo kinds must be bound (else NEEDS_STORE) and promise less: the key is answered no now, but
 * adapting for other keys may bring it back; and OK means that at least one fingerprint that matched was changed.
 *
 * adaptive-stacked must be bound to a source of its members (besom_bind_source, else NEEDS_STORE) and promises nothing
 * for a single key: it learns what is reported, and after some thousand reports denies most of it. Report every false
 * positive, also repeated ones. A call may read some thousand members from the source.
 *
 * Errors: FULL (reserve is used up: besom_rekey or besom_grow frees it; nothing changed), IS_MEMBER, READ_ONLY, what
 * the bound callback returned, NO_MEMORY, UNSUPPORTED (not an adaptive kind). A key answered no already is OK.
 */
BESOM_API besom_status besom_adapt(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_adapt_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_adapt_digest(besom_filter *f, besom_digest digest);

/*
 * The no list: keys that are answered no whatever is inserted, until they are taken off it, or inserted themselves,
 * which always wins. As with besom_adapt, the caller has made sure that the key to add is no member: it would be
 * denied. Unlike what besom_adapt learns, an entry is kept also while no fingerprint matches it, so that both lists may
 * grow and shrink in any order. Each takes 18 to 24 bytes, of no_capacity and reserve.
 * Errors: add: FULL, NO_MEMORY; remove: NOT_FOUND; READ_ONLY, UNSUPPORTED.
 */
BESOM_API besom_status besom_no_add(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_no_add_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_no_add_digest(besom_filter *f, besom_digest digest);
BESOM_API besom_status besom_no_remove(besom_filter *f, const void *key, size_t len);
BESOM_API besom_status besom_no_remove_u64(besom_filter *f, uint64_t key);
BESOM_API besom_status besom_no_remove_digest(besom_filter *f, besom_digest digest);

/* ------------------------------------------------------------------ in front of a store */

/*
 * Which stored fingerprint spoke. A store keeps the keys of each bucket as a list, in the order in which
 * they were inserted; rank is the place in it. Neither changes while the key is in the filter, but that removing an
 * entry moves those behind it in its bucket up by one, in filter and store alike; and that growing and shrinking number
 * the buckets of exaf, taf and utaf anew (see besom_grow). The adaptive cuckoo kinds have
 * buckets of one entry and move entries between them: they tell the store of it (besom_reverse.exchange).
 */
typedef struct besom_match {
  uint64_t bucket;
  uint32_t rank;
} besom_match;

/*
 * How a filter sees the keys that are stored. digest_of gives the digest (besom_hash) of the key of a match. exchange
 * lets two matches exchange what is stored for them, of which one may be nothing; on failure nothing has changed. Only
 * kinds that move their fingerprints call it; for others it may be NULL.
 */
typedef struct besom_reverse {
  besom_status (*digest_of)(void *ctx, const besom_filter *f, besom_match match,
                            besom_digest *digest);
  void *ctx;
  besom_status (*exchange)(void *ctx, const besom_filter *f, besom_match a, besom_match b);
} besom_reverse;

/*
 * Binds the filter to its keys: from now on besom_adapt lengthens fingerprints instead of keeping marks, so
 * all inserts must be insert_at. reverse is copied; NULL unbinds. Errors: UNSUPPORTED, INVALID (quotient and
 * remainder have more than 64 bits together: buckets could not be numbered; the kind needs exchange).
 */
BESOM_API besom_status besom_bind(besom_filter *f, const besom_reverse *reverse);

/*
 * Binds the filter to a source of its members, for kinds that go over them to learn (adaptive-stacked). besom_adapt
 * reads it, from its beginning as often as it takes, some thousand keys a call, so nobody else may move it meanwhile.
 * It must give every key that was inserted before it was last rewound, any number of times and in any order: a member
 * that it leaves out may be denied afterwards. When it fails, nothing is learnt and no answer changes. The source is
 * copied, its ctx must live until the filter is bound anew or freed; NULL unbinds. Errors: UNSUPPORTED, READ_ONLY,
 * INVALID (no next or no rewind).
 */
BESOM_API besom_status besom_bind_source(besom_filter *f, const besom_source *members);

/*
 * All fingerprints that match the digest, in the order of their ranks: look at each before you call a yes a false
 * positive. Up to cap are written, *total says how many there are; 0 = the answer is no.
 */
BESOM_API besom_status besom_matches(const besom_filter *f, besom_digest digest, besom_match *out,
                                     size_t cap, size_t *total);

/*
 * Adds a key with a fingerprint of its own, even if an equal one is there, and says where. Errors: as besom_insert;
 * NEEDS_STORE (the kind moves fingerprints or has a no list, and is not bound), IS_MEMBER (see besom_no_add_at), what the
 * bound callbacks returned.
 */
BESOM_API besom_status besom_insert_at(besom_filter *f, besom_digest digest, uint64_t value,
                                       besom_match *match);

/*
 * Takes out exactly this fingerprint. Call it while the record is still in the store: taf may look at stored keys, and
 * fail as they do. Errors: NOT_FOUND, READ_ONLY, UNSUPPORTED, NEEDS_STORE (taf), what the bound callback returned.
 */
BESOM_API besom_status besom_remove_at(besom_filter *f, besom_match match);

/*
 * Lengthens one fingerprint, whose key has the digest `stored`, until it does not match `offender` any more; kinds that
 * move their fingerprints exchange it for another one.
 * Errors: FULL, NOT_FOUND (kinds that move: also if it is another key that is there now), IS_MEMBER (the digests are
 * equal), INVALID (stored is not that key's), READ_ONLY, UNSUPPORTED, NEEDS_STORE, what the bound callbacks returned.
 */
BESOM_API besom_status besom_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                      besom_digest stored);

/*
 * A no list whose keys are stored, too (BESOM_CAN_LIST_NO_AT). Its entries are fingerprints of the table like those of
 * members, with places in the same buckets, but tagged: they answer nothing, and keep the members' fingerprints from
 * matching. So besom_reverse.digest_of is asked for keys of both lists. Both may grow and shrink at any time: every
 * member is answered yes and every key of the no list no.
 *
 * no_add_at lengthens what fingerprints of members match the key by bits of their own keys, one read for each, and says
 * where to store it. Also the report of a false positive: besom_adapt is UNSUPPORTED, since every reason is an entry
 * here. Adding a key twice makes two entries. The capacity is for the keys of both lists together; what is lengthened,
 * by no_add_at or by insert_at, takes of reserve.
 * no_matches are the entries that may be this key's, as besom_matches for members: to find the one to take out.
 * no_remove_at takes an entry out, without reading keys; as with besom_remove_at the ranks behind it move up, and
 * members' fingerprints become as short as they may be.
 *
 * A key is on one list: adding it to the other is IS_MEMBER, by insert_at and by no_add_at, and *match tells where
 * its entry is, to be taken out first. While the no list is empty, such a filter needs no store; while it is
 * not, inserts and removals without _at are NEEDS_STORE, and so is insert_at unless it is bound (besom_bind), as
 * no_add_at always is.
 *
 * Errors: no_add_at: FULL (capacity or reserve), IS_MEMBER, NEEDS_STORE, INVALID (the key of digest_of is another one),
 * what the bound callback returned; no_remove_at: NOT_FOUND; READ_ONLY, UNSUPPORTED.
 */
BESOM_API besom_status besom_no_add_at(besom_filter *f, besom_digest digest, besom_match *match);
BESOM_API besom_status besom_no_matches(const besom_filter *f, besom_digest digest,
                                        besom_match *out, size_t cap, size_t *total);
BESOM_API besom_status besom_no_remove_at(besom_filter *f, besom_match match);

/* ------------------------------------------------------------------ whole filters */

/*
 * A new filter that holds what a and b hold, in the geometry that they share: it has room for no more
 * keys than each of them had. a and b stay as they are.
 * In its buckets those of b are behind those of a.
 * Errors: INCOMPATIBLE (see besom_create_like), FULL (too many keys, or adaptations), NO_MEMORY, UNSUPPORTED; with a no list
 * in front of a store (no_add_at): NEEDS_STORE (fingerprints of both lists meet, and a or b is not bound), IS_MEMBER (a
 * key is on the yes list of one and the no list of the other), what the bound callbacks returned.
 */
BESOM_API besom_status besom_merge(const besom_filter *a, const besom_filter *b,
                                   besom_filter **out);

/*
 * Doubles (or halves) the table as often as it takes to have exactly this many slots, by moving bits
 * between remainder and quotient: no key is needed and no answer changes, but a grown filter only keeps
 * its rate up to config.max_capacity. besom_stats tells the slots there are.
 *
 * What was learnt stays, with two exceptions: exaf forgets extensions that do not fit into their new block; taf and
 * utaf begin anew, with the stored keys of raised selectors, of which each may be read twice, by the matches of before.
 * Where a bucket is a quotient (exaf, taf, utaf) the filter of a store has other buckets afterwards, and your store
 * must follow before the next call: from bucket to bucket, the lowest first, take the records in the order of their
 * ranks and append each to the bucket that besom_matches tells for it now.
 *
 * Errors: INVALID (not the slots times or over
 * a power of two, or no remainder bit would be left), FULL (shrink: the keys do not fit), NO_MEMORY, READ_ONLY,
 * UNSUPPORTED, NEEDS_STORE (taf, utaf: a selector is raised, and the filter is not bound), what the bound callback
 * returned.
 */
BESOM_API besom_status besom_grow(besom_filter *f, uint64_t slots);
BESOM_API besom_status besom_shrink(besom_filter *f, uint64_t slots);

/*
 * Gives the filter a new hash key, and with it a fresh start: all members come from `yes`, everything learnt is
 * dropped. no (may be NULL): keys to be answered no from the start, adapted for as they come; none of them may be
 * in yes. seed: 16 bytes, NULL for random ones. Takes the memory of a second filter meanwhile.
 * Errors: FULL (too many members, or no room for all of no), CANCELLED, NO_MEMORY, READ_ONLY, UNSUPPORTED, NEEDS_STORE
 * (the filter is bound: its stored keys would be in other buckets; or a key of no is to be adapted for, by a kind that
 * cannot without stored keys), what a source returned. On failure the filter is as
 * it was.
 */
BESOM_API besom_status besom_rekey(besom_filter *f, const besom_source *yes, const besom_source *no,
                                   const uint8_t *seed);

/*
 * The same in steps, for who cannot stop answering for as long as it takes. begin makes a task; while it is under way
 * the filter is what it was: it answers, is iterated and saved as ever, and every call that would change it is BUSY.
 * The last step exchanges the old table for the new one; as long as both are there they take the memory of both. A
 * step needs the filter to itself, as a change does, unless it is concurrent (Threads, above).
 *
 *     besom_task *task;
 *     bool finished = false;
 *     besom_status status = besom_grow_begin(f, 2 * slots, &task);
 *     while (status == BESOM_OK && !finished) {
 *       status = besom_task_step(task, 10000, &finished);
 *       ...                                          // whatever else there is to do, besom_contains(f, ...) too
 *     }
 *
 * A task belongs to the caller until it ends: by a step that says finished, by a step that returns any status but
 * BESOM_OK (the filter is as it was before begin, then), by cancel, or by besom_free of its filter. From then on the
 * pointer is gone. The sources of a rekey are read by the steps: their ctx must live as long as the task.
 *
 * Errors of begin: as those of besom_grow, besom_shrink, besom_rekey; BUSY (there is a task already).
 */
typedef struct besom_task besom_task;

BESOM_API besom_status besom_grow_begin(besom_filter *f, uint64_t slots, besom_task **out);
BESOM_API besom_status besom_shrink_begin(besom_filter *f, uint64_t slots, besom_task **out);
BESOM_API besom_status besom_rekey_begin(besom_filter *f, const besom_source *yes,
                                         const besom_source *no, const uint8_t *seed,
                                         besom_task **out);

/*
 * Looks at no more than max_items stored fingerprints, each with the empty slots before it (rekey: calls next of the
 * sources no more often than that). Growing by two looks at every fingerprint twice, shrinking once; by four it
 * does so for the first doubling, then for the second. A step also ends where one doubling ends.
 * Errors, each of which ends the task: INVALID (a NULL, max_items = 0), FULL, NO_MEMORY, NEEDS_STORE (as besom_rekey),
 * what a source or the bound callback returned.
 */
BESOM_API besom_status besom_task_step(besom_task *task, uint64_t max_items, bool *finished);

/* Ends the task; the filter stays what it was. NULL is fine. */
BESOM_API void besom_task_cancel(besom_task *task);

/* What an iterator gives: a stored fingerprint, as long as it has become, with its count and value. */
typedef struct besom_entry {
  uint64_t quotient, remainder;
  besom_digest extension;  /* the bits behind the remainder, the first one uppermost */
  uint32_t extension_bits; /* how many there are */
  uint64_t count, value;   /* value: of taf and utaf the selector */
  bool
      has_alternate; /* cuckoo kinds: the quotient is the bucket it is in, but it may as well be in */
  uint64_t alternate; /* this one: which of the two depends on what else is there */
} besom_entry;

typedef struct besom_iter besom_iter;

/*
 * Walks over all stored fingerprints in the order of their quotients. The filter must not change
 * meanwhile. next gives BESOM_OK or BESOM_END. Errors of open: UNSUPPORTED, NO_MEMORY.
 */
BESOM_API besom_status besom_iter_open(const besom_filter *f, besom_iter **out);
BESOM_API besom_status besom_iter_next(besom_iter *iter, besom_entry *entry);
BESOM_API void besom_iter_close(besom_iter *iter);

typedef struct besom_statistics {
  const char *kind;
  const char *hash;
  const char *isa;   /* the instructions in use: "portable", "avx2", "avx512" */
  uint64_t items;    /* keys inserted and not removed */
  uint64_t capacity; /* insert is FULL beyond this many items (and no_entries) */
  uint64_t
      slots; /* places of the table; for Bloom kinds: its bits; of layered kinds: of all layers */
  uint32_t width; /* bits of a remainder; for Bloom kinds: bits set a key; of the newest layer */
  uint64_t bytes; /* all memory of the filter */
  double bits_per_key; /* 8 * bytes / items, 0 if empty */
  double load;         /* items / slots, for Bloom kinds the share of bits that are set */
  double expected_fpr; /* probability of a false positive, as full as the filter is now */
  double fpr_at_capacity;
  uint64_t extended;   /* adaptive kinds: fingerprints that were lengthened, or changed */
  uint64_t tombstones; /* those among them that are kept for keys which are removed now */
  uint64_t no_entries; /* and those that are of keys of a no list (no_add_at) */
  uint64_t marks;      /* keys that are marked as no members, or cached as such */
  double reserve_used; /* share of reserve that is used, 0 to 1 */
  uint64_t
      kicks; /* cuckoo kinds: fingerprints moved to make room since the filter was made or loaded, */
  uint64_t longest_chain; /* and most of them for one key */
  uint64_t
      adapted; /* adaptive cuckoo kinds: fingerprints changed by adapting, since the same time */
  uint64_t
      rebuilds; /* kinds that keep what they learn by block: how often a block was full and began anew;
                             broom: and how often a run went over to a new round; adaptive-stacked: how often it
                             learnt anew */
  uint64_t
      selectors[8]; /* taf, utaf: fingerprints by selector; the last, by that or a higher one */
  uint64_t
      rounds; /* broom: rounds that were begun, since the filter was made, its time in files included */
  uint64_t
      direct_corrections; /* exaf, broom, taf, utaf: calls of adapt and adapt_at that changed a fingerprint, since
                                  the filter was made or loaded. What else this has put right (serendipitous
                                  corrections) only who knows the keys can tell: besom-bench run serendipity */
  double
      workload_fpr; /* kinds planned by a sample of queries: as expected_fpr, over queries like these; else 0 */
} besom_statistics;

/* Cost: constant (Bloom kinds: one pass over the bits). */
BESOM_API besom_status besom_stats(const besom_filter *f, besom_statistics *stats);

/*
 * The same for the i-th of the filters that f is made of, from 0, in the order in which they are asked or were added.
 * Its items are those that it holds itself. Errors: END (there are no more), UNSUPPORTED (the kind has no layers).
 */
BESOM_API besom_status besom_stats_layer(const besom_filter *f, size_t i, besom_statistics *stats);

/*
 * Checks every invariant of the structure. On BESOM_CORRUPT *reason (may be NULL) is a static sentence
 * that says what is wrong. Cost: one pass over the filter.
 */
BESOM_API besom_status besom_validate(const besom_filter *f, const char **reason);

/* ------------------------------------------------------------------ files (docs/format.md) */

/* Where saved bytes go; a status other than BESOM_OK ends the save and is handed to the caller. */
typedef struct besom_sink {
  besom_status (*write)(void *ctx, const void *data, size_t len);
  void *ctx;
} besom_sink;

/* Writes the filter, its hash seed included, in pieces. Equal filters give equal bytes. */
BESOM_API besom_status besom_save(const besom_filter *f, const besom_sink *sink);

/*
 * The same to a file: under a temporary name beside it, synced, then renamed, so that a failure or a
 * crash leaves the old file or the new one. Errors: IO, NO_MEMORY.
 */
BESOM_API besom_status besom_save_file(const besom_filter *f, const char *path);

/*
 * Makes a filter from saved bytes, after checking the checksums and every invariant: hostile bytes are
 * an error, never a crash. allocator may be NULL. load_file maps the file while it copies: do not truncate
 * it meanwhile (besom_save_file never does). Errors: CORRUPT, NEWER_VERSION, NO_MEMORY, IO (load_file).
 */
BESOM_API besom_status besom_load(const void *data, size_t len, const besom_allocator *allocator,
                                  besom_filter **out);
BESOM_API besom_status besom_load_file(const char *path, const besom_allocator *allocator,
                                       besom_filter **out);

/* What is wrong with a file: a static sentence, and the byte of the file from which on. */
typedef struct besom_fault {
  const char *what;
  uint64_t offset;
} besom_fault;

/* All the checks of besom_load_file. If the file is CORRUPT, *fault says why. Errors: as besom_load_file. */
BESOM_API besom_status besom_check_file(const char *path, besom_fault *fault);

/*
 * Flag of besom_open_mmap: check the header, but not the checksum and the structure of the bits, so that
 * opening costs nothing and reads nothing. Only for files that nobody else can write: damaged bits give
 * wrong answers then (false negatives, too), though no access outside of the file.
 */
#define BESOM_TRUSTED 1u

/*
 * Flag of besom_open_mmap: check the checksums, but not the structure: it finds damage by accident, not by
 * intent, several times as fast.
 */
#define BESOM_CHECKSUMS 8u

/*
 * Opens a saved filter in place, read-only: its pages come in as they are used and are shared between
 * processes. Changing calls are READ_ONLY. The file must not be changed meanwhile (replacing it by
 * rename, as besom_save_file does, is fine). Errors: as besom_load_file.
 */
BESOM_API besom_status besom_open_mmap(const char *path, unsigned flags, besom_filter **out);

/*
 * What it takes to make `fresh` of `old`, for shipping updates of a list: as small as the change, if both are alike
 * (besom_create_like, or built with one seed and one size). apply makes the very filter that `fresh` was, from a filter
 * that is bit for bit what `old` was. Both take the memory of both filters meanwhile.
 * Errors: delta: UNSUPPORTED, NO_MEMORY, what the sink returned; apply: INCOMPATIBLE (a patch for another filter), CORRUPT,
 * NEWER_VERSION, NO_MEMORY.
 */
BESOM_API besom_status besom_diff(const besom_filter *old, const besom_filter *fresh,
                                  const besom_sink *sink);
BESOM_API besom_status besom_patch(const besom_filter *old, const void *patch, size_t len,
                                   besom_filter **out);

/* ------------------------------------------------------------------ workloads and plans */

/*
 * What is asked for, how often: learnt from a stream of past queries for keys that are not in the set (members among
 * them do no harm), in a bounded amount of memory. It is what a stacked filter is built and planned by:
 *
 *     besom_workload_create(0, NULL, &w);
 *     while (...) besom_workload_add(w, key, len, 1);
 *     besom_source no = besom_workload_source(w);
 *     besom_build(&config, &yes, &no, NULL, &f);       // config.kind = "stacked"
 *
 * As long as all keys fit into the memory all counts are exact. When they do not, every count is lowered by their
 * median and keys that fall to 0 are forgotten (Misra and Gries): with room for m keys a count is too low by
 * 2 / m of all queries at most. What is lost so counts as asked for keys that are unknown.
 */
typedef struct besom_workload besom_workload;

/* Of at most so many bytes, 0 for 64 MB; while it grows or forgets it takes twice as many for a moment. allocator may
 * be NULL. Errors: INVALID (less than 4096 bytes), NO_MEMORY. */
BESOM_API besom_status besom_workload_create(uint64_t memory, const besom_allocator *allocator,
                                             besom_workload **out);
BESOM_API void besom_workload_free(besom_workload *w);

/*
 * The key was asked for so many times. Errors: INVALID (a NULL, no times, or 2^62 of all), FULL (the key is longer than
 * a sixteenth of the memory), NO_MEMORY; the workload is as it was then.
 */
BESOM_API besom_status besom_workload_add(besom_workload *w, const void *key, size_t len,
                                          uint64_t times);
BESOM_API besom_status besom_workload_add_u64(besom_workload *w, uint64_t key, uint64_t times);

/* The keys with their counts as weights, in no order that means anything. It must be at its end, or rewound, before
 * the next one is made or a key is added. */
BESOM_API besom_source besom_workload_source(besom_workload *w);

typedef struct besom_workload_statistics {
  uint64_t queries; /* all */
  uint64_t keys;    /* that are remembered, */
  uint64_t known;   /* and the queries for them, as far as they are */
  uint64_t error;   /* a count is too low by this at most */
  uint64_t bytes;   /* of memory */
  double
      unseen; /* how many of the queries to come will be for other keys, estimated by leaving one out */
} besom_workload_statistics;

BESOM_API besom_status besom_workload_stats(const besom_workload *w,
                                            besom_workload_statistics *stats);

/* What a plan must keep to. Zero means no limit, or what is best. */
typedef struct besom_plan_limits {
  double worst_fpr;     /* the rate for keys that the filter knows nothing of, so of any workload */
  double checks;        /* layers asked for a query that is for no member, on average: 1 or more */
  double checks_member; /* the same for a member */
  double epsilon;       /* how far the rate may be from the best one; default: a hundredth of it */
  uint32_t layers;      /* no more layers than this: an odd number, up to BESOM_PLAN_LAYERS */
  uint64_t frequent;    /* know exactly so many of the most frequent keys */
  bool equal_rates;     /* all layers with one rate: a simpler plan, worse by a percent or two */
} besom_plan_limits;

#define BESOM_PLAN_LAYERS 15

/* How a stacked filter is to be made, and what comes of it. */
typedef struct besom_stack_plan {
  uint64_t frequent;               /* keys of the workload to know, the most frequent ones */
  double share;                    /* of the queries for non-members that are for them */
  uint32_t layers;                 /* the first, third ... hold members, the others those keys */
  double rates[BESOM_PLAN_LAYERS]; /* of each layer */
  double bits;                     /* a member, all counted */
  double expected_fpr;             /* over queries like those of the workload */
  double worst_fpr;                /* over any others */
  double checks_member,
      checks; /* layers asked, on average: for a member; for others, as in the workload */
} besom_stack_plan;

/*
 * The best stacked filter for a set of so many keys: of config it takes kind ("stacked"), options (base=...), and rate
 * (over the queries of the workload) or bits. besom_build plans by itself; this tells beforehand. limits may be NULL:
 * those of besom_build then, which are what the options say and 2.5 layers for a member.
 * Cost: one pass over the workload, and some milliseconds. Errors: INVALID (also: no stack keeps to all of it),
 * UNKNOWN_KIND, UNSUPPORTED (a kind that is not planned), BAD_OPTION, NO_MEMORY (of the workload's allocator).
 */
BESOM_API besom_status besom_plan(const besom_config *config, uint64_t set_size,
                                  const besom_workload *workload, const besom_plan_limits *limits,
                                  besom_stack_plan *plan);

/*
 * The plan in a few lines for people. Writes no more than room bytes, a final 0 included, and returns how many it would
 * have written, without that 0. text may be NULL if room is 0.
 */
BESOM_API size_t besom_plan_text(const besom_stack_plan *plan, char *text, size_t room);

/* ------------------------------------------------------------------ guards: a filter in front of a store */

/*
 * A guard is a filter and the store behind it, run together: it asks the filter first, the store only if that says
 * yes, compares the keys, and has the filter adapt to what turns out to be a false positive. Its answers are
 * exact. besom_store.h has stores, and says how to plug in one of your own. docs/guard.md tells more of all that
 * follows.
 *
 *     besom_guard_put(guard, "key", 3, "value", 5);
 *     besom_bytes value;
 *     if (besom_guard_get(guard, "key", 3, &value) == BESOM_OK) {
 *       ...
 *       besom_guard_release(guard, &value);
 *     }
 *
 * Keys are byte strings of up to BESOM_GUARD_MAX_KEY bytes, values as long as the store can take. As everywhere, on any
 * status that is an error nothing has changed, in filter or store; but a broom may have gone on with its round, or told
 * keys apart, by the time that a change of the store fails. Besides those named, calls return what the store returned.
 * What is said of transactions is for stores that have them (besom_store.h: from begin on); in front of
 * another one a guard works as long as the process does, in the merged layout, and neither grows nor rekeys.
 *
 * If a store fails even when it is asked what is left after a failure, the guard cannot go on: its calls return that
 * failure, and each tries again to find out, until one succeeds.
 *
 * Threads. A guard needs a call to itself, get too, since it adapts; calls that take a const guard may run at the same
 * time as each other. With config.threads there is one writer and there are many readers: get, release, scan, stats and
 * offenders may run at any time and in any thread, everything else in one thread at a time. Readers then leave it to
 * the writer to adapt, and wait for it only while it changes memory, not while it writes to disk; so they may see a
 * change, also of a batch, before it is committed.
 */
typedef struct besom_guard besom_guard;
typedef struct besom_store besom_store;

#define BESOM_GUARD_MAX_KEY 65536

/* When a false positive is worth the room in the filter that fixing it takes. */
typedef enum besom_adapt_policy {
  BESOM_ADAPT_ALWAYS = 0,
  BESOM_ADAPT_SECOND =
      1, /* when the key has been one before, as far as the guard remembers some thousand of them */
  BESOM_ADAPT_NEVER = 2,
} besom_adapt_policy;

/*
 * Where values are. Merged: with the keys, in the order of their hashes; one write a put. Split: in a table in the
 * order of the keys, for range scans, with the lists of keys that the filter needs beside it; two writes a put.
 */
typedef enum besom_layout { BESOM_LAYOUT_MERGED = 0, BESOM_LAYOUT_SPLIT = 1 } besom_layout;

/*
 * What a call that has returned promises (a redis store: as far as its server does).
 * PUT: every put and delete, and every batch, survives a loss of power.
 * BATCH: every batch does; a put or delete outside of one survives the end of the process, and a loss of power
 * once a later batch or sync has returned.
 * SYNC: puts and deletes are gathered, and written some thousand at a time; sync makes them survive anything. A batch
 * survives the end of the process. If writing fails, all that was gathered since the last time is taken back, and
 * the next sync says so. Over LMDB this is not for data that must survive a loss of power: see docs/guard.md.
 */
typedef enum besom_durability {
  BESOM_DURABLE_PUT = 0,
  BESOM_DURABLE_BATCH = 1,
  BESOM_DURABLE_SYNC = 2,
} besom_durability;

/*
 * step_items   entries that a put moves while the filter grows or gets a new hash key; default 64. A list that is
 * longer is moved whole. grow_at      the load (keys / slots) past which the filter is exchanged for one of twice the
 * size and the same rate; default 0.9; 1: never, a put is FULL then. Not before filter.capacity is reached, but a
 * filter that is full grows in any case. rekey_at     the share of reserve in use from which on the hash key is
 * changed, which frees it; default 0.9; 1: when an adaptation finds no room; 2: never. Both are "never" by default if
 * filter.slots is given.
 */
typedef struct besom_guard_config {
  besom_config
      filter; /* of a kind with BESOM_CAN_MATCH, and BESOM_CAN_ADAPT unless adapt is NEVER */
  besom_adapt_policy adapt;
  besom_layout layout;
  besom_durability durability;
  bool threads; /* one writer, many readers */
  uint64_t step_items;
  double grow_at, rekey_at;
  const besom_progress *progress; /* of open, when it reads all keys; may be NULL */
} besom_guard_config;

/*
 * Makes the filter and takes the store over: besom_guard_close closes it. If open fails, it is still yours. The guard's
 * memory comes from filter.allocator.
 *
 * A store with transactions that a guard has had before brings its filter with it: hash, seed and geometry are those
 * it had then, whatever config.filter says; kind and layout must be the same. The filter is loaded from the checkpoint
 * that close has left, or, if there is none that fits, made from the keys by one scan of the store. Any other store
 * that has records must have got them from a guard whose filter had the same kind, geometry, hash and seed.
 *
 * Errors: as besom_create; UNSUPPORTED (the kind; split without transactions), INVALID (a NULL; quotient and remainder
 * have more than 64 bits together; options of more than 127 characters), INCOMPATIBLE (another kind or layout; the records
 * are not in the buckets of this filter), FULL (they are too many for it), CORRUPT or NEWER_VERSION (what the guard has noted
 * in the store), CANCELLED (by progress).
 */
BESOM_API besom_status besom_guard_open(const besom_guard_config *config, besom_store *store,
                                        besom_guard **out);

/*
 * Aborts the batch that is open, syncs, leaves a checkpoint of the filter beside the store (one that has a directory),
 * and frees all, closing the store. NULL is fine. What fails on the way is not told: call besom_guard_sync before.
 * Release all values before.
 */
BESOM_API void besom_guard_close(besom_guard *g);

/*
 * Stores a value under a key, in the place of the one that is there. A new key costs one append, and no read
 * unless the filter says yes. Errors: FULL (the filter's capacity, or the store's), INVALID (a NULL, too long).
 */
BESOM_API besom_status besom_guard_put(besom_guard *g, const void *key, size_t len,
                                       const void *value, size_t value_len);
BESOM_API besom_status besom_guard_put_u64(besom_guard *g, uint64_t key, const void *value,
                                           size_t value_len);

/*
 * The same for a key that you know is not there: never a read, but for what a broom reads for itself. If it is there
 * after all there are two of it; get, put and delete see the older one then (split: the newer value, and after one
 * delete neither).
 */
BESOM_API besom_status besom_guard_put_new(besom_guard *g, const void *key, size_t len,
                                           const void *value, size_t value_len);
BESOM_API besom_status besom_guard_put_new_u64(besom_guard *g, uint64_t key, const void *value,
                                               size_t value_len);

/*
 * The value of a key, borrowed until besom_guard_release. value may be NULL, if all you want to know is whether the key
 * is there. Costs no read of the store if the filter says no, else one; split: a second one for a false positive.
 * Errors: NOT_FOUND (it is certain; *value is empty and needs no release), INVALID, NO_MEMORY.
 */
BESOM_API besom_status besom_guard_get(besom_guard *g, const void *key, size_t len,
                                       besom_bytes *value);
BESOM_API besom_status besom_guard_get_u64(besom_guard *g, uint64_t key, besom_bytes *value);

/* Gives a value back, and empties *value. NULL is fine, and so is one that was given back. */
BESOM_API void besom_guard_release(besom_guard *g, besom_bytes *value);

/* Takes a key and its value out. Errors: NOT_FOUND (nothing has changed), INVALID. */
BESOM_API besom_status besom_guard_delete(besom_guard *g, const void *key, size_t len);
BESOM_API besom_status besom_guard_delete_u64(besom_guard *g, uint64_t key);

/*
 * A batch: the puts and deletes between begin and commit are kept all or none. They are seen at once. A call that fails
 * in between has changed nothing, and the batch goes on; but if the store fails half way through a change, and cannot
 * go back, all of the batch is taken back at once, and its calls return that failure. commit and abort end it; if
 * commit fails all is taken back.
 * Errors: UNSUPPORTED (a store without transactions), BUSY (begin: one is open), INVALID (none is).
 */
BESOM_API besom_status besom_guard_begin(besom_guard *g);
BESOM_API besom_status besom_guard_commit(besom_guard *g);
BESOM_API besom_status besom_guard_abort(besom_guard *g);

/*
 * Everything put and deleted so far survives from now on. If some of what was gathered (BESOM_DURABLE_SYNC) was taken
 * back since the last sync, because it could not be written, sync returns that failure, once, even if no other call
 * has. Errors: UNSUPPORTED, BUSY (a batch is open).
 */
BESOM_API besom_status besom_guard_sync(besom_guard *g);

/*
 * Shows every key with its value, both borrowed until visit returns. Split: keys >= from and < to, in the order of the
 * keys as bytes; data NULL: from the first, to the last. Merged: in the order of hashes, and all of them: a bound is
 * UNSUPPORTED. visit must not call the guard (with threads the writer waits meanwhile); BESOM_OK asks for the next
 * one, BESOM_END for no more, any other status ends the scan and is what it returns.
 */
typedef besom_status (*besom_guard_visit)(void *ctx, besom_bytes key, besom_bytes value);
BESOM_API besom_status besom_guard_scan(besom_guard *g, besom_bytes from, besom_bytes to,
                                        besom_guard_visit visit, void *ctx);

/*
 * Begins to change the filter's hash key, so that what an enemy has learnt is worth nothing and reserve is empty
 * again. Puts do the work by and by, or besom_guard_step. Answers are right all the time, each from one filter.
 * Errors: BUSY (it is growing or rekeying, or a batch is open), UNSUPPORTED (a store without transactions; kinds that
 * move their fingerprints), NO_MEMORY.
 */
BESOM_API besom_status besom_guard_rekey(besom_guard *g);

/*
 * Does what puts do by the way: adapts to what readers have found, and moves at most max_items entries (a longer
 * list is moved whole) in one transaction. *finished (may be NULL): there is nothing left to move. Errors: INVALID.
 */
BESOM_API besom_status besom_guard_step(besom_guard *g, uint64_t max_items, bool *finished);

/*
 * Puts all of `from` into `into`, whose filters must be alike (besom_merge: same kind, geometry, hash and seed), with
 * all that both have learnt, in one transaction, which is held in memory. Of a key that is in both the record of `into`
 * stays. `from` stays as it is.
 * Errors: INCOMPATIBLE (or another layout), FULL (too many for one filter of that size), BUSY (a batch is open or one of them
 * is growing or rekeying: see besom_guard_step), INVALID, UNSUPPORTED (the kind; `into` without transactions).
 */
BESOM_API besom_status besom_guard_merge(besom_guard *into, besom_guard *from);

/* What a guard has done since it was opened. Failed and aborted puts and deletes are not counted. */
typedef struct besom_guard_statistics {
  uint64_t queries;          /* calls of get */
  uint64_t filter_negatives; /* queries that the filter answered */
  uint64_t store_reads;      /* reads of the store for queries */
  uint64_t true_positives, false_positives;
  uint64_t
      repeated_false_positives; /* of keys that the guard remembers as one: at least so many were */
  uint64_t adapted;             /* fingerprints lengthened */
  uint64_t
      adapt_full; /* fingerprints not lengthened for want of room: see reserve, besom_guard_rekey */
  uint64_t puts, replaced, deletes; /* keys that were new, that were there, that were taken out */
  uint64_t put_reads,
      delete_reads; /* reads of the store for puts and deletes to which the filter said yes */
  uint64_t
      moved; /* records that changed places with their fingerprints, for kinds that move them */
  uint64_t filter_reads; /* reads of the store for that, and for keys that the filter asked for */
  uint64_t queued,
      queue_drops; /* false positives that readers left to the writer; that it had no room for */
  uint64_t rekeys, growths;   /* begun */
  uint64_t steps, step_items; /* steps of those, and entries moved by them */
  uint64_t largest_step;      /* most entries that one of them moved */
  uint64_t failed_steps;      /* of those that puts and gets did by the way */
  uint64_t rebuilt; /* 1: open has made the filter from the stored keys; 0: it has loaded it */

  uint64_t keys;         /* that are there now */
  uint64_t filter_bytes; /* memory of the filter, of both while it grows or gets a new hash key */
  uint64_t store_bytes;  /* 0 if the store does not tell */
  bool moving;           /* it does so now */
  double reserve_used;   /* 0 to 1 */
  double observed_fpr;   /* false positives a query for a key that is not there: since open; */
  double window_fpr;     /* of the last full window of 4096 such queries; */
  double current_fpr;    /* of the window since */
} besom_guard_statistics;

BESOM_API besom_status besom_guard_stats(const besom_guard *g, besom_guard_statistics *stats);

/*
 * The same, and the worst offenders, as one line of JSON without a line break. *len (may be NULL) is its length, also
 * if size is too small: that is FULL then, and nothing but a 0 is written. 8192 bytes are always enough.
 */
BESOM_API besom_status besom_guard_stats_json(const besom_guard *g, char *out, size_t size,
                                              size_t *len);

/* A key that was a false positive, the beginning of it, and how often: at most so often, and at least count - error. */
#define BESOM_OFFENDER_BYTES 32
typedef struct besom_offender {
  uint64_t count, error;
  uint32_t len; /* of the key */
  uint8_t key[BESOM_OFFENDER_BYTES];
} besom_offender;

/* Up to cap (of at most 16) of those that came most often, the worst first. */
BESOM_API besom_status besom_guard_offenders(const besom_guard *g, besom_offender *out, size_t cap,
                                             size_t *n);

/*
 * The guard's filter, to look at: besom_stats, besom_hash, besom_contains. NULL for NULL. While it grows or gets a new
 * hash key some keys are in another one already; it lives until the next call that may change the guard.
 */
BESOM_API const besom_filter *besom_guard_filter(const besom_guard *g);

#ifdef __cplusplus
}
#endif

#endif
