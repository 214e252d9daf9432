#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include "advise/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advise/query_generator.h"
#include "besom_reverse.h"
#include "besom_store.h"
#include "fail.h"
#include "kinds.h"
#include "random.h"

/* ------------------------------------------------------------------ a set that changes */

/* With deletes, a new key is deleted after this many further ones. */
static uint64_t key_lifetime(const query_log *log) {
  return 1 + log->members / 100;
}

static uint64_t all_updates(const query_log *log) {
  return (uint64_t)ceil(log->updates * (double)log->total);
}

uint64_t log_capacity(const query_log *log) {
  uint64_t updates = all_updates(log), alive = key_lifetime(log) + 1;
  return log->members + (log->deletes && alive < updates ? alive : updates);
}

static besom_u64_key update_key(uint64_t number) {
  enum { UPDATE_SEED = 0x2ea };
  return besom_u64(random_at(UPDATE_SEED, number));
}

/* ------------------------------------------------------------------ keys as sources */

/* The keys from..to of an index, then new keys. If weights is set, keys of weight 0 are left out.
 */
typedef struct key_range {
  const key_index *keys;
  const uint32_t *weights; /* NULL: every key has weight 1 */
  uint32_t from, to, at;
  uint64_t updates, updates_at;
  besom_u64_key update;
} key_range;

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  key_range *r = ctx;
  while (r->at < r->to && r->weights && !r->weights[r->at]) r->at++;
  if (r->at < r->to) {
    if (r->weights) *weight = r->weights[r->at];
    *key = key_index_key(r->keys, r->at++);
    return BESOM_OK;
  }
  if (r->updates_at == r->updates) return BESOM_END;
  r->update = update_key(r->updates_at++);
  *key = (besom_bytes){r->update.bytes, sizeof r->update.bytes};
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  key_range *r = ctx;
  r->at = r->from;
  r->updates_at = 0;
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

/* ------------------------------------------------------------------ kinds */

/* Of kinds that can insert, aqf with a no list would be a yesno, and others adapt on report. */
static bool takes_no_list(const besom_kind_info *kind) {
  return kind->abilities & (BESOM_TAKES_SAMPLE | BESOM_CAN_BUILD_NO) &&
         !(kind->abilities & BESOM_CAN_INSERT);
}

/* Every kind takes reports, unless it cannot even insert without its stored keys. */
size_t kind_adaptations(const besom_kind_info *kind, adaptation ways[MAX_ADAPTATIONS]) {
  size_t n = 0;
  bool matches = kind->abilities & BESOM_CAN_MATCH, inserts = kind->abilities & BESOM_CAN_INSERT;
  if (takes_no_list(kind)) {
    ways[n++] = ADAPTS_FROM_NO_LIST;
  } else if (inserts || !matches) {
    ways[n++] = ADAPTS_NEVER;
    ways[n++] = ADAPTS_ON_REPORT;
  }
  if (matches && !(kind->abilities & BESOM_CAN_NO_LIST_AT)) ways[n++] = ADAPTS_WITH_STORE;
  return n;
}

bool takes_inserts(const candidate *c) {
  if (c->form != FILTER || c->adaptation == ADAPTS_WITH_STORE) return true;
  return kind_named(c->kind)->abilities & (BESOM_CAN_INSERT | BESOM_INSERTS_LATER);
}

bool takes_deletes(const candidate *c) {
  if (c->form != FILTER || c->adaptation == ADAPTS_WITH_STORE) return true;
  return takes_inserts(c) && kind_named(c->kind)->abilities & BESOM_CAN_REMOVE;
}

bool takes_reports(const candidate *c) {
  if (c->form != FILTER || c->adaptation == ADAPTS_WITH_STORE) return false;
  return c->adaptation != ADAPTS_NEVER;
}

/* Loops (docs/findings.md): queries that bring back each other's false positives, without end. */
bool is_open_to_attack(const candidate *c) {
  return c->form == FILTER && strncmp(c->kind, "acf-", strlen("acf-")) == 0;
}

static bool follows_changes(const candidate *c, const query_log *log) {
  return log->deletes ? takes_deletes(c) : takes_inserts(c);
}

/* ------------------------------------------------------------------ the filter */

typedef struct filter_under_test {
  candidate_form form;
  key_index *exact;           /* EXACT_SET */
  const besom_filter *filter; /* FILTER */
  besom_filter *own;          /* the same filter, or NULL if the guard owns it */
  besom_guard *guard;         /* ADAPTS_WITH_STORE */
  bool adapts, changes;
  key_range members; /* the set, which it is built from and bound to */
} filter_under_test;

static besom_status build(filter_under_test *f, const besom_config *config, const query_log *log,
                          bool with_no_list) {
  uint32_t *times = with_no_list ? count_training(log) : NULL;
  uint32_t first_no = log->members;
  key_range absent = {log->keys, times, first_no, key_index_count(log->keys),
                      first_no,  0,     0,        {{0}}};
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

static key_index *make_exact_set(const query_log *log) {
  key_index *set = key_index_create();
  for (uint32_t i = 0; i < log->members; i++) key_index_add(set, key_index_key(log->keys, i));
  return set;
}

static besom_status make_filter(filter_under_test *f, const candidate *c, const query_log *log,
                                double bits_per_key, const uint8_t *seed) {
  f->form = c->form;
  f->changes = follows_changes(c, log) && log->updates > 0;
  if (f->form == EXACT_SET) f->exact = make_exact_set(log);
  if (f->form != FILTER) return BESOM_OK;
  besom_config config = {.kind = c->kind,
                         .capacity = f->changes ? log_capacity(log) : log->members,
                         .bits_per_key = bits_per_key,
                         .hash = log->hostile > 0 ? "sip" : NULL,
                         .seed = seed};
  f->adapts = c->adaptation != ADAPTS_NEVER;
  f->members = (key_range){.keys = log->keys, .to = log->members};
  return c->adaptation == ADAPTS_WITH_STORE
             ? open_guard(f, &config)
             : build(f, &config, log, c->adaptation == ADAPTS_FROM_NO_LIST);
}

static void free_filter(filter_under_test *f) {
  besom_guard_close(f->guard); /* its store is in memory: a failure loses nothing */
  besom_free(f->own);
  if (f->exact) key_index_free(f->exact);
}

static bool contains(const filter_under_test *f, besom_bytes key) {
  if (f->form == FILTER) return besom_contains(f->filter, key.data, key.len);
  return f->form == NO_FILTER || key_index_contains(f->exact, key);
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

/* An exact set is not changed: its figures would be the same. */
static besom_status insert_update(filter_under_test *f, uint64_t number) {
  besom_u64_key key = update_key(number);
  f->members.updates = number + 1;
  if (f->guard)
    return besom_guard_put(f->guard, key.bytes, sizeof key.bytes, NULL, 0, BESOM_PUT_NEW);
  return f->own ? besom_insert(f->own, key.bytes, sizeof key.bytes) : BESOM_OK;
}

static besom_status delete_update(filter_under_test *f, uint64_t number) {
  besom_u64_key key = update_key(number);
  if (f->guard) return besom_guard_delete(f->guard, key.bytes, sizeof key.bytes);
  return f->own ? besom_remove(f->own, key.bytes, sizeof key.bytes) : BESOM_OK;
}

/* ------------------------------------------------------------------ the queries */

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CHUNK = MAX_QUERIES_AT_ONCE };

/* Queries of the log and of the adversary, in the order in which they are sent. */
typedef struct chunk {
  besom_bytes keys[CHUNK];
  uint32_t numbers[CHUNK]; /* of the log's keys; HOSTILE + i: the i-th query of the adversary */
  bool was_read[CHUNK];
  size_t n;
  uint64_t hostile_keys[CHUNK];
  besom_u64_key hostile_bytes[CHUNK];
  size_t hostile_n;
} chunk;

static const uint32_t HOSTILE = UINT32_MAX - CHUNK;

typedef struct replay {
  filter_under_test *under_test;
  outcome *outcome;
  const query_log *log;
  query_generator adversary;
  double hostile_due, updates_due;
  uint64_t updates;            /* so far */
  uint8_t *was_false_positive; /* per key of the log */
  size_t point;                /* the next one of the curve */
  chunk chunk;
} replay;

static size_t point_position(const query_log *log, size_t point) {
  return log->training + (log->total - log->training) * point / (CURVE_POINTS - 1);
}

static void record_points(replay *r, size_t at) {
  while (r->point < CURVE_POINTS && at == point_position(r->log, r->point))
    r->outcome->curve[r->point++] = r->outcome->false_positives;
}

/* Fills the adversary's places in the chunk. */
static void add_hostile_queries(replay *r) {
  chunk *c = &r->chunk;
  bool is_member[CHUNK];
  generator_next(&r->adversary, c->hostile_keys, is_member, c->hostile_n);
  for (size_t i = 0; i < c->n; i++) {
    if (c->numbers[i] < HOSTILE) continue;
    size_t k = c->numbers[i] - HOSTILE;
    c->hostile_bytes[k] = besom_u64(c->hostile_keys[k]);
    c->keys[i] = (besom_bytes){c->hostile_bytes[k].bytes, sizeof c->hostile_bytes[k].bytes};
  }
}

/* Takes queries of the log from number `at` up to `end`; returns the number of the next one. */
static size_t fill_chunk(replay *r, size_t at, size_t end) {
  chunk *c = &r->chunk;
  c->n = c->hostile_n = 0;
  while (c->n < CHUNK && (at < end || r->hostile_due >= 1)) {
    if (r->hostile_due >= 1) {
      r->hostile_due--;
      c->numbers[c->n++] = HOSTILE + (uint32_t)c->hostile_n++;
      continue;
    }
    c->keys[c->n] = key_index_key(r->log->keys, r->log->queries[at]);
    c->numbers[c->n++] = r->log->queries[at++];
    r->hostile_due += r->log->hostile / (1 - r->log->hostile);
    r->updates_due += r->log->updates;
  }
  if (c->hostile_n) add_hostile_queries(r);
  return at;
}

/* Sends the chunk; adds its CPU time to *seconds. */
static besom_status send_chunk(replay *r, double *seconds) {
  chunk *c = &r->chunk;
  filter_under_test *f = r->under_test;
  besom_status status = BESOM_OK;
  double start = cpu_seconds();
  for (size_t i = 0; i < c->n && status == BESOM_OK; i++) {
    c->was_read[i] = contains(f, c->keys[i]);
    if (c->was_read[i] && c->numbers[i] >= r->log->members) status = report(f, c->keys[i]);
  }
  *seconds += cpu_seconds() - start;
  return status;
}

static bool is_repeat(const replay *r, uint32_t number) {
  if (number >= HOSTILE) return r->adversary.repeat_of[number - HOSTILE] != SIZE_MAX;
  return r->was_false_positive[number];
}

static void count_chunk(replay *r) {
  chunk *c = &r->chunk;
  outcome *o = r->outcome;
  bool hostile_read[CHUNK];
  o->queries += c->n;
  for (size_t i = 0; i < c->n; i++) {
    uint32_t number = c->numbers[i];
    if (number >= HOSTILE) hostile_read[number - HOSTILE] = c->was_read[i];
    o->store_reads += c->was_read[i];
    if (!c->was_read[i] || number < r->log->members) continue;
    o->false_positives++;
    o->repeat_false_positives += is_repeat(r, number);
    if (number < HOSTILE) r->was_false_positive[number] = 1;
  }
  if (c->hostile_n) generator_observe(&r->adversary, c->hostile_keys, hostile_read, c->hostile_n);
}

static besom_status apply_updates(replay *r) {
  besom_status status = BESOM_OK;
  uint64_t lifetime = key_lifetime(r->log);
  for (; r->updates_due >= 1 && r->under_test->changes && status == BESOM_OK; r->updates_due--) {
    status = insert_update(r->under_test, r->updates);
    if (status == BESOM_OK && r->log->deletes && r->updates >= lifetime)
      status = delete_update(r->under_test, r->updates - lifetime);
    r->updates++;
  }
  return status;
}

/* Chunks end at the end of the training and where a point of the curve is. */
static size_t chunk_end(const replay *r, size_t at) {
  return at < r->log->training ? r->log->training : point_position(r->log, r->point);
}

/* Resets the figures after the training queries; the filter keeps its adaptations. */
static besom_status send_all(replay *r, const besom_progress *progress) {
  const query_log *log = r->log;
  outcome *o = r->outcome;
  besom_status status = BESOM_OK;
  double seconds = 0;
  for (size_t at = 0; at < log->total && status == BESOM_OK;) {
    at = fill_chunk(r, at, chunk_end(r, at));
    status = send_chunk(r, &seconds);
    count_chunk(r);
    if (status == BESOM_OK) status = apply_updates(r);
    if (at == log->training && !r->point) {
      o->queries = o->store_reads = o->false_positives = o->repeat_false_positives = 0;
      seconds = 0;
    }
    if (at >= log->training) record_points(r, at);
    if (!progress->tick(progress->ctx, at, log->total)) status = BESOM_CANCELLED;
  }
  /* Without a filter there is only the loop itself. */
  if (r->under_test->form != NO_FILTER) o->ns_per_query = 1e9 * seconds / (double)o->queries;
  return status;
}

static besom_status run_log(filter_under_test *f, const query_log *log,
                            const besom_progress *progress, outcome *o) {
  replay *r = allocate(1, sizeof *r);
  r->under_test = f;
  r->outcome = o;
  r->log = log;
  r->adversary = generator_create(ADVERSARIAL, 1);
  r->adversary.persistent = true; /* fixed false positives may come back */
  r->was_false_positive = allocate(key_index_count(log->keys), 1);
  besom_status status = send_all(r, progress);
  generator_free(&r->adversary);
  free(r->was_false_positive);
  free(r);
  return status;
}

static besom_status measure_size(const filter_under_test *f, const query_log *log, outcome *o) {
  besom_statistics stats = {.bytes = f->exact ? key_index_bytes(f->exact) : 0};
  besom_status status = f->filter ? besom_stats(f->filter, &stats) : BESOM_OK;
  o->bytes = stats.bytes;
  o->fpr = stats.fpr_at_capacity;
  uint64_t keys = f->changes && f->filter ? log_capacity(log) : log->members;
  o->bits_per_key = 8 * (double)stats.bytes / (double)keys;
  return status;
}

void replay_run(const candidate *c, const query_log *log, double bits_per_key, const uint8_t *seed,
                const besom_progress *progress, outcome *o) {
  filter_under_test f = {0};
  *o = (outcome){.status = make_filter(&f, c, log, bits_per_key, seed)};
  if (o->status == BESOM_OK) o->status = run_log(&f, log, progress, o);
  if (o->status == BESOM_OK) o->status = measure_size(&f, log, o);
  free_filter(&f);
}

uint64_t log_positive_queries(const query_log *log) {
  uint64_t n = 0;
  for (size_t i = log->training; i < log->total; i++) n += log->queries[i] < log->members;
  return n;
}
