/*
 * value.h - the value of a key: a filter, and what the module keeps about it.
 *
 * "af" stands for adaptive filter, as in the command names AF.*.
 */
#ifndef BESOM_REDIS_VALUE_H
#define BESOM_REDIS_VALUE_H

#include <besom.h>
#include <redismodule.h>

#include "core/blocks.h"
#include "frozen.h"
#include "quotient/packed/packed.h"

/* A growable byte buffer. */
struct bytes {
  char *data;
  size_t len, allocated;
};

/* Returns false if there is not enough memory; the buffer is unchanged then. */
bool bytes_append(struct bytes *b, const void *data, size_t len);
void bytes_free(struct bytes *b);
/* The write function of a besom_sink that appends to the struct bytes in its ctx. */
besom_status bytes_write(void *bytes, const void *data, size_t len);

struct af {
  /* All are NULL until AF.LOADCHUNK has received the last chunk. */
  besom_filter *filter;  /* NULL if there are frozen layers only, or if the filter is packed */
  struct packed *packed; /* a small filter instead; else NULL */
  struct frozen *frozen; /* layers that RedisBloom made; usually NULL */
  unsigned abilities;
  uint64_t items;        /* members, with multiplicity */
  uint64_t max_capacity; /* the most items; 0: as many as the filter takes */
  uint64_t reports;      /* items reported on this server */
  uint64_t fixed;        /* reports of false positives that are now answered no */
  uint64_t refused;      /* reports and no-list items that failed because the reserve was full */
  uint64_t deleted;      /* items deleted on this server since the value was made or loaded */
  struct bytes incoming; /* received by AF.LOADCHUNK so far */
  uint64_t incoming_len; /* length of `incoming` when it is complete; or INCOMPLETE_MARK */
};

/*
 * incoming_len of a value that is marked incomplete: the server refused a part of it in an AOF or
 * from a master. It has no filter and no bytes. Its items are not known, so every query is an
 * error. Modules that do not know the mark read a filter whose chunks never end: an error, too.
 */
#define INCOMPLETE_MARK UINT64_MAX
bool af_is_marked(const struct af *af);
/* Whether the value has a filter, packed or not. */
static inline bool af_has_filter(const struct af *af) {
  return af->filter || af->packed;
}
/* Whether the value has a filter or frozen layers. */
bool af_has_value(const struct af *af);

/*
 * Small filters are packed (quotient/packed/packed.h) when a value is made or loaded, and stay so
 * while they are queried, and items are added, removed and reported. af_pack packs the filter of a
 * value if that is possible; if there is no memory it stays as it is. af_unpack is for changes that
 * a packed filter cannot do; it stays unpacked. Errors of af_unpack: NO_MEMORY.
 */
void af_pack(struct af *af);
besom_status af_unpack(struct af *af);
/*
 * The filter of a value to read; NULL if it has frozen layers only. A packed one is unpacked
 * meanwhile: call af_end_view with what af_view returned.
 */
besom_filter *af_view(const struct af *af);
void af_end_view(const struct af *af, besom_filter *view);

/* An empty value without a filter. */
struct af *af_new(void);
/* A value that is marked incomplete. */
struct af *af_new_marked(void);
/* Marks a value without a filter, whose incoming bytes are freed. */
void af_mark(struct af *af);
/* A value that takes ownership of the filter. */
struct af *af_wrap(besom_filter *filter, uint64_t max_capacity);
/* Frees the filter of the value, which takes ownership of this one. */
void af_replace_filter(struct af *af, besom_filter *filter);
/* May run in any thread. */
void af_free(struct af *af);

/*
 * Updates the fields that the module copies from the filter. Call it after the filter was created,
 * loaded or merged.
 */
void af_refresh(struct af *af);
/* Sets max_capacity of a value whose frozen layers RedisBloom would not extend. */
void af_limit_fixed(struct af *af);
/* Adds n to the number of items, after an insert (1) or a removal (-1). */
void af_add_items(struct af *af, int64_t n);

/* Visits all memory of a value, to measure or to move it. Returns where the value is. */
struct af *af_visit_blocks(struct af *af, const struct block_visitor *v);
/* All memory, as the allocator counts it. */
size_t af_bytes(const struct af *af);
/* The statistics of the filter; zeros if the value has none. */
besom_statistics af_stats(const struct af *af);
/* UNSUPPORTED if AF.RESERVE does not make such filters: they cannot insert single items. */
besom_status check_kind(const besom_filter *filter);
/* Makes an equal filter. Its bytes are not checked: they do not leave the server. */
besom_status filter_copy(const besom_filter *filter, besom_filter **out);

/*
 * Kinds that can remove are multisets: each copy of an item is counted, so that each one can be
 * removed. Kinds that cannot remove are sets.
 */
bool af_is_multiset(const struct af *af);

/* Sums over all filters of the server. */
struct totals {
  uint64_t filters, items, bytes, incomplete;  /* incomplete: filters with the mark */
  uint64_t reports, fixed, refused, forgotten; /* since the server was started */
};
struct totals totals_get(void);
enum report_outcome { NO_CHANGE, FIXED, REFUSED };
/* Counts one report in this filter and in the totals. */
void af_count_report(struct af *af, enum report_outcome outcome);
/* Counts an item that the no list had no room for. */
void af_count_refusal(struct af *af);
/* Counts a report that was forgotten for another one, in the totals. */
void count_forgotten(void);

/* True for commands of clients, false for commands from a master or from a file. */
bool is_client_command(RedisModuleCtx *ctx);

/* Whether the server has a policy that evicts keys at maxmemory. */
bool server_evicts(RedisModuleCtx *ctx);

/*
 * The allocator of all filters. It is Redis's allocator, so that Redis accounts for the memory.
 * During a command of a client, an allocation that exceeds besom.max-filter-bytes fails; so does
 * one that exceeds maxmemory, unless the server evicts keys then. Commands from a master or from a
 * file have no limits.
 */
extern const besom_allocator redis_allocator;
/* Sets the command that allocates; NULL: no limits. */
void limit_memory_of(RedisModuleCtx *command);

#endif
