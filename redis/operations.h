/*
 * operations.h - what commands do with a filter: create, add, query, remove, count, report. These
 * functions read no arguments and write no replies, except where it says so. Every family of
 * commands uses them.
 *
 * A command that changes a filter works like this:
 *
 *   struct af *af = ...;                 lookup_for_write, require_for_write or create_filter
 *   begin_change(ctx);                   from here on memory limits hold for this client
 *   status = af_add(af, item, ...);      for each item; keep those that changed the filter
 *   end_change();
 *   replicate_items(ctx, ...);           replicas and AOF files get the items that changed it
 *
 * All commands run to their end. None blocks its client, and nothing is replicated outside of a
 * client's command. So a command is safe in MULTI, in scripts, during CLIENT PAUSE and during a
 * failover, and unless it handles a whole filter, its time does not depend on the filter's size.
 */
#ifndef BESOM_REDIS_OPERATIONS_H
#define BESOM_REDIS_OPERATIONS_H

#include "value.h"

/* ------------------------------------------------------------------ looking up */

/*
 * INCOMPLETE: AF.LOADCHUNK has not received all chunks, so the value has no filter yet. MARKED: the
 * value is marked incomplete (value.h).
 */
enum lookup { FOUND, MISSING, WRONG_TYPE, INCOMPLETE, MARKED };

/* Looks up a value. *af is set if the result is FOUND, INCOMPLETE or MARKED. */
enum lookup lookup_for_read(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);
/* The same, and signals clients that WATCH the key. */
enum lookup lookup_for_write(RedisModuleCtx *ctx, RedisModuleString *key, struct af **af);

/* Sets the value of the key; a previous value is freed. */
void store_value(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af);

/*
 * Call it after a command that creates or extends a filter has failed. If the command comes from an
 * AOF or from a master, the server that executed it before had more items than this one, so the key
 * is marked incomplete, and the log says why. A key of another type is not changed. Does nothing
 * for a command of a client.
 */
void mark_if_replayed(RedisModuleCtx *ctx, RedisModuleString *key, const char *why);

/* ------------------------------------------------------------------ creating */

/* What happens to a report when the reserve is full. */
enum report_policy { DEFAULT_POLICY, FORGET_OLDEST, REFUSE_NEW };

/* The filter to create. Zero means default, except for fpr and capacity. */
struct filter_config {
  double fpr;            /* MIN_FPR to 1 */
  uint64_t capacity;     /* 1 to CAPACITY_LIMIT */
  uint64_t max_capacity; /* the most items of a filter that grows; 0: no limit */
  bool nonscaling;       /* does not grow */
  uint32_t expansion; /* of a filter that grows: at most MAX_EXPANSION; rounded up to 2, 4, 8 ... */
  const char *kind;   /* of besom_kinds; that of the layers if the filter grows */
  const char *hash;
  uint32_t value_bits;
  bool maplet; /* an item has a set of values */
  double reserve;
  enum report_policy policy;
  bool has_seed;
  uint8_t seed[16];
};

#define MIN_FPR 1e-19
#define CAPACITY_LIMIT (1ull << 44)
#define MAX_EXPANSION 32768

/* The defaults of AF.ADD, AF.MADD and AF.INSERT, which CONFIG SET changes. */
struct filter_config default_config(void);

/* Whether filters of this kind can grow. */
bool kind_can_grow(const char *kind);

/* Whether filters of this kind have a choice of FORGET and REFUSE. */
bool kind_has_policy(const char *kind);

/*
 * Creates a filter, stores it at the key, which must be free, and replicates AF.RESERVE with all
 * parameters. If that fails, it replies with an error and returns NULL.
 */
struct af *create_filter(RedisModuleCtx *ctx, RedisModuleString *key,
                         const struct filter_config *config);

enum add_mode {
  ADD_COPY,   /* multisets (af_is_multiset) store every copy */
  ADD_MISSING /* skips items that are answered yes */
};

/*
 * Gives a value with frozen layers only a filter for new items, and replicates AF.RESERVE: on a
 * replica it does the same. config NULL: one that continues the frozen layers. If that fails, it
 * replies with an error and returns false. Does nothing if the value has a filter.
 */
bool attach_filter(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                   const struct filter_config *config);
/* Calls attach_filter if one of the items needs a filter. */
bool attach_filter_for(RedisModuleCtx *ctx, RedisModuleString *key, struct af *af,
                       RedisModuleString **items, int n, enum add_mode mode);

/* ------------------------------------------------------------------ changing */

/* Between them, allocations for a client's command fail beyond the memory limits (value.h). */
void begin_change(RedisModuleCtx *ctx);
void end_change(void);

/*
 * Whether maxmemory is exceeded and the server does not evict keys. Only commands of clients may
 * be refused for that.
 */
bool is_out_of_memory(RedisModuleCtx *ctx);

/*
 * Whether adding the item needs a filter, and the value has only frozen layers: then call
 * attach_filter first.
 */
bool af_needs_filter(const struct af *af, besom_bytes item, enum add_mode mode);
/*
 * Adds an item. *missing: it was answered no before. *changed: the filter stores it now. Errors:
 * FULL (NONSCALING or max_capacity), NO_MEMORY. The value has a filter, or af_needs_filter is
 * false.
 */
besom_status af_add(struct af *af, besom_bytes item, enum add_mode mode, bool *missing,
                    bool *changed);

/* Removes one copy. Errors: NOT_FOUND, UNSUPPORTED (also of an item in a frozen Bloom filter). */
besom_status af_remove(struct af *af, besom_bytes item);

/*
 * Reports a false positive, and counts the report. *changed: it was answered yes and is answered no
 * now. Errors: RESERVE_FULL, UNSUPPORTED, NEEDS_STORE. The value has a filter.
 */
besom_status af_report(struct af *af, besom_bytes item, bool *changed);

/* Puts an item on the no list, or takes it off. Errors: RESERVE_FULL, UNSUPPORTED. */
besom_status af_no_add(struct af *af, besom_bytes item, bool *changed);
besom_status af_no_remove(struct af *af, besom_bytes item, bool *changed);

/* The items that a command has added. Most commands have few. */
struct added_items {
  RedisModuleString *few[16], **items;
  size_t n;
};
/* Makes room for n items. */
void added_begin(struct added_items *added, size_t n);
void added_append(struct added_items *added, RedisModuleString *item);
/* Replicates "AF.MADD key items..." and sends the keyspace event, if there are items. */
void added_end(struct added_items *added, RedisModuleCtx *ctx, RedisModuleString *key);

/* Replicates "command key items..." and sends the keyspace event, if there are items. */
void replicate_items(RedisModuleCtx *ctx, const char *command, const char *event,
                     RedisModuleString *key, RedisModuleString **items, size_t n);
void notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *key);

/* ------------------------------------------------------------------ querying */

besom_bytes bytes_of(RedisModuleString *item);
bool af_has(const struct af *af, besom_bytes item);
/* For n <= AF_MANY items: sets the bits of those that are answered yes. The bitmap is 0. */
#define AF_MANY 256
void af_has_many(const struct af *af, const besom_bytes *items, size_t n, uint64_t *bitmap);
/* Errors: UNSUPPORTED. */
besom_status af_count(const struct af *af, besom_bytes item, uint64_t *n);

/* What a filter consists of. */
struct shape {
  const char *kind;  /* as in filter_config */
  uint64_t capacity; /* items that fit before another layer is added, or before it is full */
  /* The capacity without the rounding of layers: the first one's times 1 + expansion + ... */
  uint64_t nominal_capacity;
  uint64_t layers;      /* 1 if it does not grow */
  uint32_t expansion;   /* 0 if it does not grow */
  bool forgets_reports; /* when the reserve is full */
};
/* Cost: constant; with Bloom kinds one pass over the filter. */
struct shape af_shape(const struct af *af);

#endif
