#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include "replay.h"

#include <stdlib.h>
#include <time.h>

#include "besom_reverse.h"
#include "besom_store.h"
#include "fail.h"

/* ------------------------------------------------------------------ keys as sources */

/* The keys from..to of an index. If weights is set, keys of weight 0 are left out. */
typedef struct key_range {
  const key_index *keys;
  const uint32_t *weights; /* NULL: every key has weight 1 */
  uint32_t from, to, at;
} key_range;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_range *r = ctx;
  while (r->at < r->to && r->weights && !r->weights[r->at]) r->at++;
  if (r->at == r->to) return BESOM_END;
  if (r->weights) *weight = r->weights[r->at];
  *key = key_index_key(r->keys, r->at++);
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  key_range *r = ctx;
  r->at = r->from;
  return BESOM_OK;
}

static besom_source range_source(key_range *r) {
  return (besom_source){.next = next_key,
                        .rewind = rewind_keys,
                        .ctx = r,
                        .size_hint = r->weights ? 0 : r->to - r->from};
}

/* The number of training queries per key. */
static uint32_t *count_training(const query_log *log) {
  uint32_t *times = allocate(key_index_count(log->keys), sizeof *times);
  for (size_t i = 0; i < log->training; i++) times[log->queries[i]]++;
  return times;
}

/* ------------------------------------------------------------------ the filter */

typedef struct filter_under_test {
  const besom_filter *filter;
  besom_filter *own;  /* the same filter, or NULL if the guard owns it */
  besom_guard *guard; /* ADAPTS_WITH_STORE */
  bool adapts;
  key_range members; /* the set, which it is built from and bound to */
} filter_under_test;

/* Of kinds that can insert, aqf with a no list would be a yesno, and others adapt on report. */
static bool takes_no_list(const besom_kind_info *kind) {
  return kind->abilities & (BESOM_TAKES_SAMPLE | BESOM_CAN_BUILD_NO) &&
         !(kind->abilities & BESOM_CAN_INSERT);
}

/* Some kinds adapt only with the stored keys; others can also store exceptions. No ability bit says
 * which, so this tries it on a small filter. */
static bool adapts_without_store(const besom_kind_info *kind) {
  if (!(kind->abilities & BESOM_CAN_ADAPT)) return false;
  if (!(kind->abilities & BESOM_CAN_MATCH)) return true;
  besom_config small = {.kind = kind->name, .capacity = 16};
  besom_filter *f = NULL;
  bool without_store = besom_create(&small, &f) == BESOM_OK && besom_insert_u64(f, 1) == BESOM_OK &&
                       besom_adapt_u64(f, 1) != BESOM_NEEDS_STORE;
  besom_free(f);
  return without_store;
}

size_t kind_adaptations(const besom_kind_info *kind, adaptation ways[2]) {
  size_t n = 0;
  bool with_store = kind->abilities & BESOM_CAN_MATCH && kind->abilities & BESOM_CAN_ADAPT;
  if (takes_no_list(kind))
    ways[n++] = ADAPTS_FROM_NO_LIST;
  else if (adapts_without_store(kind))
    ways[n++] = ADAPTS_ON_REPORT;
  else if (!with_store)
    ways[n++] = ADAPTS_NEVER;
  if (with_store) ways[n++] = ADAPTS_WITH_STORE;
  return n;
}

static besom_status build(filter_under_test *f, const besom_config *config, const query_log *log,
                          bool with_no_list) {
  uint32_t *times = with_no_list ? count_training(log) : NULL;
  uint32_t first_no = log->members;
  key_range absent = {log->keys, times, first_no, key_index_count(log->keys), first_no};
  besom_source yes = range_source(&f->members), no = range_source(&absent);
  besom_input input = {.yes = &yes, .no = with_no_list ? &no : NULL};
  besom_status status = besom_build(config, &input, &f->own);
  free(times);
  f->filter = f->own;
  if (status != BESOM_OK || !f->adapts) return status;
  status = besom_bind_source(f->own, &yes); /* some kinds need the keys to adapt */
  return status == BESOM_UNSUPPORTED ? BESOM_OK : status;
}

/* Growth and rekeying are off: every candidate must keep to the same memory. */
static besom_status open_guard(filter_under_test *f, const besom_config *config) {
  besom_guard_config guard_config = {.filter = config, .grow_at = 1, .rekey_at = 2};
  besom_store *store;
  besom_status status = besom_store_memory(NULL, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&guard_config, store, &f->guard);
  if (status != BESOM_OK) {
    besom_store_close(store);
    return status;
  }
  f->filter = besom_guard_filter(f->guard);
  besom_bytes key;
  uint64_t weight;
  while (status == BESOM_OK && next_key(&f->members, &key, &weight) == BESOM_OK)
    status = besom_guard_put(f->guard, key.data, key.len, NULL, 0, BESOM_PUT_NEW);
  return status;
}

static besom_status make_filter(filter_under_test *f, const candidate *c, const query_log *log,
                                double bits_per_key, const uint8_t *seed) {
  besom_config config = {
      .kind = c->kind, .capacity = log->members, .bits_per_key = bits_per_key, .seed = seed};
  f->adapts = c->adaptation != ADAPTS_NEVER;
  f->members = (key_range){log->keys, NULL, 0, log->members, 0};
  return c->adaptation == ADAPTS_WITH_STORE
             ? open_guard(f, &config)
             : build(f, &config, log, c->adaptation == ADAPTS_FROM_NO_LIST);
}

static void free_filter(filter_under_test *f) {
  besom_guard_close(f->guard); /* its store is in memory: a failure loses nothing */
  besom_free(f->own);
}

/* Reports a false positive. If the reserve is full, the filter will repeat it. */
static besom_status report(filter_under_test *f, besom_bytes key) {
  if (f->guard) {
    besom_status status = besom_guard_get(f->guard, key.data, key.len, NULL);
    return status == BESOM_NOT_FOUND ? BESOM_OK : status;
  }
  if (!f->adapts) return BESOM_OK;
  besom_status status = besom_adapt(f->own, key.data, key.len);
  bool goes_on =
      status == BESOM_EVICTED || status == BESOM_RESERVE_FULL || status == BESOM_UNSUPPORTED;
  return goes_on ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ the queries */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CHUNK = 4096 };

typedef struct replay {
  filter_under_test *under_test;
  candidate *candidate;
  const query_log *log;
  uint8_t *was_false_positive; /* per key */
  size_t point;                /* the next one of the curve */
  size_t point_at;             /* the query at which it is recorded */
} replay;

static size_t point_position(const query_log *log, size_t point) {
  return log->training + (log->total - log->training) * point / (CURVE_POINTS - 1);
}

static void record_points(replay *r, size_t at) {
  while (r->point < CURVE_POINTS && at == r->point_at) {
    r->candidate->curve[r->point++] = r->candidate->store_reads;
    r->point_at = point_position(r->log, r->point);
  }
}

static besom_status send_one(replay *r, uint32_t number) {
  candidate *c = r->candidate;
  besom_bytes key = key_index_key(r->log->keys, number);
  if (!besom_contains(r->under_test->filter, key.data, key.len)) return BESOM_OK;
  c->store_reads++;
  if (number < r->log->members) return BESOM_OK;
  c->false_positives++;
  c->repeat_false_positives += r->was_false_positive[number];
  r->was_false_positive[number] = 1;
  return report(r->under_test, key);
}

/* Sends the queries from..to; returns the CPU time in seconds. */
static double send(replay *r, size_t from, size_t to, besom_status *status) {
  double start = cpu_seconds();
  for (size_t i = from; i < to && *status == BESOM_OK; i++) {
    if (i == r->point_at) record_points(r, i);
    *status = send_one(r, r->log->queries[i]);
  }
  return cpu_seconds() - start;
}

/* Resets the figures after the training queries; the filter keeps its adaptations. */
static besom_status send_all(replay *r, const besom_progress *progress) {
  const query_log *log = r->log;
  candidate *c = r->candidate;
  besom_status status = BESOM_OK;
  double seconds = 0;
  for (size_t at = 0; at < log->total && status == BESOM_OK;) {
    size_t part_end = at < log->training ? log->training : log->total,
           end = at + CHUNK < part_end ? at + CHUNK : part_end;
    double time = send(r, at, end, &status);
    if (at >= log->training) seconds += time;
    at = end;
    if (at == log->training) c->store_reads = c->false_positives = c->repeat_false_positives = 0;
    if (!progress->tick(progress->ctx, at, log->total)) status = BESOM_CANCELLED;
  }
  record_points(r, log->total);
  c->ns_per_query = 1e9 * seconds / (double)(log->total - log->training);
  return status;
}

static besom_status run_log(filter_under_test *f, candidate *c, const query_log *log,
                            const besom_progress *progress) {
  replay r = {.under_test = f, .candidate = c, .log = log, .point_at = log->training};
  r.was_false_positive = allocate(key_index_count(log->keys), 1);
  besom_status status = send_all(&r, progress);
  free(r.was_false_positive);
  return status;
}

void replay_run(candidate *c, const query_log *log, double bits_per_key, const uint8_t *seed,
                const besom_progress *progress) {
  filter_under_test f = {0};
  besom_statistics stats;
  c->status = make_filter(&f, c, log, bits_per_key, seed);
  if (c->status == BESOM_OK) c->status = run_log(&f, c, log, progress);
  if (c->status == BESOM_OK) c->status = besom_stats(f.filter, &stats);
  if (c->status == BESOM_OK) c->bits_per_key = 8 * (double)stats.bytes / log->members;
  free_filter(&f);
}

uint64_t log_positive_queries(const query_log *log) {
  uint64_t n = 0;
  for (size_t i = log->training; i < log->total; i++) n += log->queries[i] < log->members;
  return n;
}
