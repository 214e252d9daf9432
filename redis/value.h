/*
 * value.h - the value of a key: a filter, and what the module keeps about it.
 *
 * "af" stands for adaptive filter, as in the command names AF.*.
 */
#ifndef BESOM_REDIS_VALUE_H
#define BESOM_REDIS_VALUE_H

#include <besom.h>
#include <redismodule.h>

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
  besom_filter *filter; /* NULL until AF.LOADCHUNK has received the last chunk */
  unsigned abilities;
  uint64_t items;        /* members, with multiplicity */
  uint64_t max_capacity; /* the most items; 0: as many as the filter takes */
  uint64_t reports;      /* items reported on this server */
  uint64_t fixed;        /* reports of false positives that are now answered no */
  uint64_t refused;      /* reports and no-list items that failed because the reserve was full */
  uint64_t deleted;      /* items deleted on this server since the value was made or loaded */
  struct bytes incoming; /* received by AF.LOADCHUNK so far */
  uint64_t incoming_len; /* length of `incoming` when it is complete */
};

/* An empty value without a filter. */
struct af *af_new(void);
/* A value that takes ownership of the filter. */
struct af *af_wrap(besom_filter *filter, uint64_t max_capacity);
/* May run in any thread. */
void af_free(struct af *af);

/*
 * Updates the fields that the module copies from the filter. Call it after the filter was created,
 * loaded or merged.
 */
void af_refresh(struct af *af);
/* Adds n to the number of items, after an insert (1) or a removal (-1). */
void af_add_items(struct af *af, int64_t n);

size_t af_bytes(const struct af *af);
/* UNSUPPORTED if AF.RESERVE does not make such filters: they cannot insert single items. */
besom_status check_kind(const besom_filter *filter);
/* Makes an equal filter. */
besom_status filter_copy(const besom_filter *filter, besom_filter **out);

/*
 * Kinds that can remove are multisets: each copy of an item is counted, so that each one can be
 * removed. Kinds that cannot remove are sets.
 */
bool af_is_multiset(const struct af *af);

/* Sums over all filters of the server. */
struct totals {
  uint64_t filters, items, bytes;
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

/*
 * The allocator of all filters. It is Redis's allocator, so that Redis accounts for the memory.
 * During a command of a client, an allocation that exceeds besom.max-filter-bytes or maxmemory
 * fails. Commands from a master or from a file have no limits.
 */
extern const besom_allocator redis_allocator;
/* Sets the command that allocates; NULL: no limits. */
void limit_memory_of(RedisModuleCtx *command);

#endif
