#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include "trial.h"

#include <stdlib.h>
#include <time.h>

#include "besom_store.h"
#include "fail.h"

/* ------------------------------------------------------------------ keys as sources */

/* The keys from..to of a log; with weights, only those that have one. */
typedef struct key_range {
  const numbered *keys;
  const uint32_t *weights; /* NULL: all keys count once */
  uint32_t from, to, at;
} key_range;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_range *r = ctx;
  while (r->at < r->to && r->weights && !r->weights[r->at]) r->at++;
  if (r->at == r->to) return BESOM_END;
  if (r->weights) *weight = r->weights[r->at];
  *key = numbered_key(r->keys, r->at++);
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

/* How often each key was asked for while there was something to learn. */
static uint32_t *count_learnt(const query_log *log) {
  uint32_t *times = allocate(numbered_count(log->keys), sizeof *times);
  for (size_t i = 0; i < log->learn; i++) times[log->queries[i]]++;
  return times;
}

/* ------------------------------------------------------------------ the filter */

typedef struct contender {
  const besom_filter *filter;
  besom_filter *own;  /* the same, or NULL if it is the guard's */
  besom_guard *guard; /* LEARNS_FROM_STORE */
  bool adapts;
  key_range members; /* what it is made of, and bound to */
} contender;

/* Kinds that are only built once can use a no list without becoming another kind. */
static bool takes_no_list(const besom_kind_info *kind) {
  return kind->abilities & BESOM_TAKES_SAMPLE ||
         (kind->abilities & BESOM_CAN_BUILD_NO && !(kind->abilities & BESOM_CAN_INSERT));
}

/* Tells those that lengthen fingerprints only by the stored keys from those that keep marks, too, by asking a small
 * one. */
static bool adapts_alone(const besom_kind_info *kind) {
  if (!(kind->abilities & BESOM_CAN_ADAPT)) return false;
  if (!(kind->abilities & BESOM_CAN_MATCH)) return true;
  besom_config small = {.kind = kind->name, .capacity = 16};
  besom_filter *f = NULL;
  bool alone = besom_create(&small, &f) == BESOM_OK && besom_insert_u64(f, 1) == BESOM_OK &&
               besom_adapt_u64(f, 1) != BESOM_NEEDS_STORE;
  besom_free(f);
  return alone;
}

size_t trial_ways(const besom_kind_info *kind, learning ways[2]) {
  size_t n = 0;
  bool with_store = kind->abilities & BESOM_CAN_MATCH && kind->abilities & BESOM_CAN_ADAPT;
  if (takes_no_list(kind))
    ways[n++] = LEARNS_FROM_LOG;
  else if (adapts_alone(kind))
    ways[n++] = LEARNS_ALONE;
  else if (!with_store)
    ways[n++] = LEARNS_NEVER;
  if (with_store) ways[n++] = LEARNS_FROM_STORE;
  return n;
}

static besom_status build(contender *c, const besom_config *config, const query_log *log,
                          bool with_no) {
  uint32_t *times = with_no ? count_learnt(log) : NULL;
  uint32_t first_no = log->members;
  key_range asked = {log->keys, times, first_no, numbered_count(log->keys), first_no};
  besom_source yes = range_source(&c->members), no = range_source(&asked);
  besom_status status = besom_build(config, &yes, with_no ? &no : NULL, NULL, &c->own);
  free(times);
  c->filter = c->own;
  if (status != BESOM_OK || !c->adapts) return status;
  status = besom_bind_source(c->own, &yes); /* for the few kinds that want it */
  return status == BESOM_UNSUPPORTED ? BESOM_OK : status;
}

/* It neither grows nor changes its hash: the filter is what is on trial, and has the memory that all have. */
static besom_status open_guard(contender *c, const besom_config *config) {
  besom_guard_config guard_config = {.filter = *config, .grow_at = 1, .rekey_at = 2};
  besom_store *store;
  besom_status status = besom_store_memory(NULL, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&guard_config, store, &c->guard);
  if (status != BESOM_OK) {
    besom_store_close(store);
    return status;
  }
  c->filter = besom_guard_filter(c->guard);
  besom_bytes key;
  uint64_t weight;
  while (status == BESOM_OK && next_key(&c->members, &key, &weight) == BESOM_OK)
    status = besom_guard_put_new(c->guard, key.data, key.len, NULL, 0);
  return status;
}

static besom_status contender_create(contender *c, const trial *t, const query_log *log,
                                     double bits, const uint8_t *seed) {
  besom_config config = {.kind = t->kind, .capacity = log->members, .bits = bits, .seed = seed};
  c->adapts = t->way != LEARNS_NEVER;
  c->members = (key_range){log->keys, NULL, 0, log->members, 0};
  return t->way == LEARNS_FROM_STORE ? open_guard(c, &config)
                                     : build(c, &config, log, t->way == LEARNS_FROM_LOG);
}

static void contender_free(contender *c) {
  besom_guard_close(c->guard);
  besom_free(c->own);
}

/* A key that was answered yes is none: the filter learns of it. What it has no room for it will repeat. */
static besom_status learn(contender *c, besom_bytes key) {
  if (c->guard) {
    besom_status status = besom_guard_get(c->guard, key.data, key.len, NULL);
    return status == BESOM_NOT_FOUND ? BESOM_OK : status;
  }
  if (!c->adapts) return BESOM_OK;
  besom_status status = besom_adapt(c->own, key.data, key.len);
  return status == BESOM_FULL || status == BESOM_UNSUPPORTED ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ the queries */

static double seconds_of_cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CHUNK = 4096 };

typedef struct replay {
  contender *contender;
  trial *trial;
  const query_log *log;
  uint8_t *wrong; /* by key: it was a false positive */
  size_t point;   /* of the curve, that comes next */
  size_t point_at;
} replay;

static size_t place_of_point(const query_log *log, size_t point) {
  return log->learn + (log->total - log->learn) * point / (CURVE_POINTS - 1);
}

static void note_points(replay *r, size_t at) {
  while (r->point < CURVE_POINTS && at == r->point_at) {
    r->trial->curve[r->point++] = r->trial->reads;
    r->point_at = place_of_point(r->log, r->point);
  }
}

static besom_status send_one(replay *r, uint32_t number) {
  trial *t = r->trial;
  besom_bytes key = numbered_key(r->log->keys, number);
  if (!besom_contains(r->contender->filter, key.data, key.len)) return BESOM_OK;
  t->reads++;
  if (number < r->log->members) return BESOM_OK;
  t->false_positives++;
  t->repeated += r->wrong[number];
  r->wrong[number] = 1;
  return learn(r->contender, key);
}

/* Sends the queries from..to; returns the seconds that it took. */
static double send(replay *r, size_t from, size_t to, besom_status *status) {
  double begun = seconds_of_cpu();
  for (size_t i = from; i < to && *status == BESOM_OK; i++) {
    if (i == r->point_at) note_points(r, i);
    *status = send_one(r, r->log->queries[i]);
  }
  return seconds_of_cpu() - begun;
}

/* Only the test half counts; what the filter has learnt by then it keeps. */
static besom_status send_all(replay *r, const besom_progress *progress) {
  const query_log *log = r->log;
  trial *t = r->trial;
  besom_status status = BESOM_OK;
  double seconds = 0;
  for (size_t at = 0; at < log->total && status == BESOM_OK;) {
    size_t half = at < log->learn ? log->learn : log->total,
           end = at + CHUNK < half ? at + CHUNK : half;
    double took = send(r, at, end, &status);
    if (at >= log->learn) seconds += took;
    at = end;
    if (at == log->learn) t->reads = t->false_positives = t->repeated = 0;
    if (!progress->tick(progress->ctx, at, log->total)) status = BESOM_CANCELLED;
  }
  note_points(r, log->total);
  t->nanoseconds = 1e9 * seconds / (double)(log->total - log->learn);
  return status;
}

static besom_status run_log(contender *c, trial *t, const query_log *log,
                            const besom_progress *progress) {
  replay r = {.contender = c, .trial = t, .log = log, .point_at = log->learn};
  r.wrong = allocate(numbered_count(log->keys), 1);
  besom_status status = send_all(&r, progress);
  free(r.wrong);
  return status;
}

void trial_run(trial *t, const query_log *log, double bits, const uint8_t *seed,
               const besom_progress *progress) {
  contender c = {0};
  besom_statistics stats;
  t->failed = contender_create(&c, t, log, bits, seed);
  if (t->failed == BESOM_OK) t->failed = run_log(&c, t, log, progress);
  if (t->failed == BESOM_OK) t->failed = besom_stats(c.filter, &stats);
  if (t->failed == BESOM_OK) t->bits = 8 * (double)stats.bytes / log->members;
  contender_free(&c);
}

uint64_t log_member_queries(const query_log *log) {
  uint64_t n = 0;
  for (size_t i = log->learn; i < log->total; i++) n += log->queries[i] < log->members;
  return n;
}
