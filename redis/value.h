/*
 * value.h - what a Redis key of this module holds: a filter, and what the module knows about it.
 */
#ifndef BESOM_REDIS_VALUE_H
#define BESOM_REDIS_VALUE_H

#include <besom.h>
#include <redismodule.h>

/* Bytes that become more. */
struct bytes {
  char *data;
  size_t len, room;
};

/* false if there is no memory for them: nothing has changed then. */
bool bytes_append(struct bytes *b, const void *data, size_t len);
void bytes_free(struct bytes *b);
/* A sink (besom_save) that appends to the struct bytes that is its ctx. */
besom_status bytes_write(void *bytes, const void *data, size_t len);

struct af {
  besom_filter *filter; /* NULL as long as it comes in by AF.LOADCHUNK */
  unsigned abilities;
  uint64_t items;        /* members, copies counted */
  uint64_t capacity;     /* of the table as it is now */
  uint64_t max_capacity; /* it grows by itself to hold this many; 0: it does not */
  uint64_t reports;      /* items reported here, */
  uint64_t fixed;        /* those of them that were false positives and are no more, */
  uint64_t refused;      /* and those for which there was no room */
  besom_task *task;      /* growing in steps; gone with the filter */
  uint64_t job;          /* that does the steps (growth.c) */
  struct bytes incoming; /* by AF.LOADCHUNK, so far; */
  uint64_t incoming_len; /* in the end */
};

/* An empty value without a filter. */
struct af *af_new(void);
/* The value of a filter, which it takes over. */
struct af *af_of(besom_filter *filter, uint64_t max_capacity);
/* May run in any thread. */
void af_free(struct af *af);

/* Reads what the module keeps of the filter's numbers anew: after it was made, loaded, merged or grown. */
void af_refresh(struct af *af);
/* After an insert or a removal. */
void af_count(struct af *af, int64_t more);

size_t af_bytes(const struct af *af);
/* A filter of its own that is equal. */
besom_status filter_copy(const besom_filter *filter, besom_filter **out);

/* Inserting a copy of a member counts, so that each can be taken out; kinds that take nothing out are sets. */
bool af_keeps_copies(const struct af *af);

/* The numbers of all filters together. */
struct totals {
  uint64_t filters, items, bytes, reports, fixed, refused;
};
struct totals totals_now(void);
enum outcome { REPORTED, FIXED, REFUSED };
/* One more report with that outcome, of this filter and of all. */
void af_reported(struct af *af, enum outcome outcome);

/*
 * Memory of filters: Redis's own, so that it is in its figures. While it is limited (commands of clients, not what a
 * master or a file says), an allocation is refused that besom.max-filter-bytes or maxmemory does not allow.
 */
extern const besom_allocator redis_memory;
void limit_memory(bool limited);

#endif
