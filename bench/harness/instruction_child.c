#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "harness/instruction_loops.h"
#include "harness/micro_case.h"
#include "report.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
const int has_valgrind_headers = 1;
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
const int has_valgrind_headers = 0;
#endif

enum { KEYS_PER_BATCH = 256, MAX_LOOP_QUERIES = 1 << 16 };

const counted_operation counted_operations[] = {
    {"negative", EACH_CONTAINS},       {"positive", EACH_CONTAINS},
    {"insert", EACH_CHANGE},           {"insert_last", EACH_CHANGE},
    {"negative_batch", MANY_CONTAINS}, {"positive_batch", MANY_CONTAINS},
    {"insert_batch", MANY_INSERT},     {"insert_last_batch", MANY_INSERT},
    {"remove", EACH_CHANGE},           {NULL},
};

/* ------------------------------------------------------------------ the loops */

/*
 * Each form is an inline function of the call that it repeats, so that the empty loop is compiled
 * from the same source. The empty calls leave one empty asm statement: what remains is the loop.
 */
#define LOOP static inline __attribute__((always_inline)) uint64_t
#define EMPTY_CALL static inline __attribute__((always_inline))

LOOP each_contains(const besom_filter *f, const uint64_t *keys, size_t n,
                   bool (*contains)(const besom_filter *, uint64_t)) {
  uint64_t hits = 0;
  for (size_t i = 0; i < n; i++) hits += contains(f, keys[i]);
  return hits;
}

LOOP each_change(besom_filter *f, const uint64_t *keys, size_t n,
                 besom_status (*change)(besom_filter *, uint64_t)) {
  unsigned failed = BESOM_OK;
  for (size_t i = 0; i < n; i++) failed |= (unsigned)change(f, keys[i]);
  return failed;
}

LOOP many_contains(const besom_filter *f, const uint64_t *keys, size_t n, uint64_t *bitmap,
                   besom_status (*contains)(const besom_filter *, const uint64_t *, size_t,
                                            uint64_t *)) {
  unsigned failed = BESOM_OK;
  for (size_t i = 0; i < n; i += KEYS_PER_BATCH)
    failed |= (unsigned)contains(f, keys + i, n - i < KEYS_PER_BATCH ? n - i : KEYS_PER_BATCH,
                                 bitmap + i / 64);
  return failed;
}

LOOP many_insert(besom_filter *f, const uint64_t *keys, size_t n,
                 besom_status (*insert)(besom_filter *, const uint64_t *, size_t, size_t *)) {
  unsigned failed = BESOM_OK;
  for (size_t i = 0; i < n; i += KEYS_PER_BATCH)
    failed |= (unsigned)insert(f, keys + i, n - i < KEYS_PER_BATCH ? n - i : KEYS_PER_BATCH, NULL);
  return failed;
}

EMPTY_CALL bool empty_contains(const besom_filter *f, uint64_t key) {
  bool answer;
  __asm__ volatile("" : "=r"(answer) : "r"(f), "r"(key));
  return answer;
}

EMPTY_CALL besom_status empty_change(besom_filter *f, uint64_t key) {
  besom_status status;
  __asm__ volatile("" : "=r"(status) : "r"(f), "r"(key));
  return status;
}

EMPTY_CALL besom_status empty_many_contains(const besom_filter *f, const uint64_t *keys, size_t n,
                                            uint64_t *bitmap) {
  besom_status status;
  __asm__ volatile("" : "=r"(status) : "r"(f), "r"(keys), "r"(n), "r"(bitmap));
  return status;
}

EMPTY_CALL besom_status empty_many_insert(besom_filter *f, const uint64_t *keys, size_t n,
                                          size_t *done) {
  (void)done;
  besom_status status;
  __asm__ volatile("" : "=r"(status) : "r"(f), "r"(keys), "r"(n));
  return status;
}

typedef struct loop_data {
  uint64_t *keys, *bitmap;
  size_t n;
} loop_data;

/* Returns the hits of EACH_CONTAINS; else 0 if every call was OK. */
typedef uint64_t loop(besom_filter *f, const loop_data *d);

static uint64_t loop_contains(besom_filter *f, const loop_data *d) {
  return each_contains(f, d->keys, d->n, besom_contains_u64);
}
static uint64_t loop_insert(besom_filter *f, const loop_data *d) {
  return each_change(f, d->keys, d->n, besom_insert_u64);
}
static uint64_t loop_remove(besom_filter *f, const loop_data *d) {
  return each_change(f, d->keys, d->n, besom_remove_u64);
}
static uint64_t loop_contains_many(besom_filter *f, const loop_data *d) {
  return many_contains(f, d->keys, d->n, d->bitmap, besom_contains_many_u64);
}
static uint64_t loop_insert_many(besom_filter *f, const loop_data *d) {
  return many_insert(f, d->keys, d->n, besom_insert_many_u64);
}

static uint64_t loop_empty_contains(besom_filter *f, const loop_data *d) {
  return each_contains(f, d->keys, d->n, empty_contains);
}
static uint64_t loop_empty_change(besom_filter *f, const loop_data *d) {
  return each_change(f, d->keys, d->n, empty_change);
}
static uint64_t loop_empty_contains_many(besom_filter *f, const loop_data *d) {
  return many_contains(f, d->keys, d->n, d->bitmap, empty_many_contains);
}
static uint64_t loop_empty_insert_many(besom_filter *f, const loop_data *d) {
  return many_insert(f, d->keys, d->n, empty_many_insert);
}

/* ------------------------------------------------------------------ counting one loop */

typedef struct child {
  micro_plan plan;
  loop_data data;
  driver driver;
  uint64_t seed;
  bool reports;
  const char *isa; /* that kinds with several forms use */
} child;

/* The file that callgrind writes contains the name. instruction_parent.c parses it. */
static uint64_t count_loop(const child *c, const char *kind, const char *op, loop *run,
                           besom_filter *f) {
  char name[128];
  snprintf(name, sizeof name, "%s %s %zu %s", kind, op, c->data.n, c->isa);
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  uint64_t result = run(f, &c->data);
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
  return result;
}

static void count_empty_loops(child *c) {
  static loop *const loops[LOOP_FORMS] = {loop_empty_contains, loop_empty_change,
                                          loop_empty_contains_many, loop_empty_insert_many};
  c->data.n = MAX_LOOP_QUERIES;
  for (int form = 0; form < LOOP_FORMS; form++) {
    const char digit[] = {(char)('0' + form), 0};
    (void)count_loop(c, EMPTY_LOOP, digit, loops[form], NULL);
  }
}

/* ------------------------------------------------------------------ all loops of a kind */

static void count_change(child *c, const micro_case *s, const char *op, loop *run, besom_filter *f,
                         uint64_t first, uint64_t n) {
  key_stream members = stream_members(c->seed);
  c->data.n = n;
  members.generate(&members, first, n, c->data.keys);
  if (count_loop(c, s->config.kind, op, run, f) != BESOM_OK)
    fail("%s: %s failed", s->config.kind, op);
}

static uint64_t count_hits(child *c, const micro_case *s, const char *op, call_style style,
                           const key_stream *stream, besom_filter *f) {
  loop_data *d = &c->data;
  stream->generate(stream, 0, d->n, d->keys);
  if (style == SINGLE) return count_loop(c, s->config.kind, op, loop_contains, f);
  if (count_loop(c, s->config.kind, op, loop_contains_many, f) != BESOM_OK)
    fail("%s: %s failed", s->config.kind, op);
  uint64_t hits = 0;
  for (size_t i = 0; i < (d->n + 63) / 64; i++)
    hits += (uint64_t)__builtin_popcountll(d->bitmap[i]);
  return hits;
}

/* Exceptions for 1 % of the keys, of keys that no query has. A kind with a cache has none. */
static void add_exceptions(const child *c, besom_filter *f, uint64_t keys) {
  key_stream absent = stream_absent(c->seed);
  if (!c->reports || !(besom_abilities(f) & BESOM_STORES_EXCEPTIONS)) return;
  check(besom_set_reserve(f, keys / 100, false), "setting the limit");
  for (uint64_t i = 0; i < keys / 100; i++) {
    uint64_t key;
    absent.generate(&absent, MAX_LOOP_QUERIES + i, 1, &key);
    check(besom_no_add(f, &key, sizeof key), "adding an exception");
  }
}

static void count_queries(child *c, const micro_case *s, call_style style, besom_filter *f,
                          uint64_t keys) {
  add_exceptions(c, f, keys);
  c->data.n = keys < MAX_LOOP_QUERIES ? keys : MAX_LOOP_QUERIES;
  key_stream absent = stream_absent(c->seed), lookups = stream_lookups(c->seed, keys);
  (void)count_hits(c, s, operation_names[style][NEGATIVE], style, &absent, f);
  uint64_t hits = count_hits(c, s, operation_names[style][POSITIVE], style, &lookups, f);
  if (hits != c->data.n)
    fail("%s answered no to %llu members", s->config.kind, (unsigned long long)(c->data.n - hits));
}

/*
 * The slots that are filled to 85 and 90 %. A Bloom kind has bits instead, and takes the keys of a
 * quotient table. If the capacity is less than 90 % of the slots, it is filled to its capacity. So
 * is a pqf with more slots in a bin than mini-quotients, which its statistics call slots.
 */
static uint64_t slots_of(const micro_case *s, const micro_plan *p) {
  uint64_t slots = s->stats.slots < 2 * p->slots ? s->stats.slots : p->slots,
           most = (uint64_t)((double)s->stats.capacity / 0.9);
  bool is_denser = s->stats.slots < s->stats.capacity && most < 2 * p->slots; /* not of scaling */
  return is_denser || most < slots ? most : slots;
}

static void count_style(child *c, const micro_case *s, call_style style) {
  uint64_t slots = slots_of(s, &c->plan);
  uint64_t first = (uint64_t)(0.85 * (double)slots), all = (uint64_t)(0.9 * (double)slots);
  loop *insert = style == SINGLE ? loop_insert : loop_insert_many;
  besom_filter *f;
  check(besom_create(&s->config, &f), "creating %s", s->config.kind);
  count_change(c, s, operation_names[style][INSERT], insert, f, 0, first);
  count_change(c, s, operation_names[style][INSERT_LAST], insert, f, first, all - first);
  count_queries(c, s, style, f, all);
  if (style == SINGLE && besom_abilities(f) & BESOM_CAN_REMOVE)
    count_change(c, s, operation_names[SINGLE][REMOVE], loop_remove, f, first, all - first);
  besom_free(f);
}

static void count_built(child *c, const micro_case *s) {
  besom_filter *f;
  key_stream members = stream_members(c->seed);
  uint64_t keys = micro_plan_items(&c->plan);
  drive_build(&c->driver, &s->config, &members, keys, &f);
  for (int style = 0; style < CALL_STYLES; style++) count_queries(c, s, (call_style)style, f, keys);
  besom_free(f);
}

static void count_kind(child *c, const char *kind) {
  micro_case s;
  progress("counting instructions: %s", kind);
  micro_case_create(&s, kind, &c->plan);
  if (s.built_whole) {
    count_built(c, &s);
  } else {
    count_style(c, &s, SINGLE);
    count_style(c, &s, BATCH);
  }
  micro_case_free(&s);
}

static const char *find_isa(const micro_plan *plan) {
  micro_case s;
  micro_plan plain = *plan;
  plain.concurrent = false;
  micro_case_create(&s, "qf", &plain);
  const char *isa = s.stats.isa; /* static text */
  micro_case_free(&s);
  return isa;
}

int instruction_child(const instruction_plan *plan) {
  if (!RUNNING_ON_VALGRIND) fail(INSTRUCTION_CHILD ": this process does not run under valgrind");
  size_t most = 2 * plan->slots; /* slots_of has fewer */
  size_t room = most < MAX_LOOP_QUERIES ? MAX_LOOP_QUERIES : most;
  child c = {.plan = {.slots = plan->slots,
                      .width = plan->width,
                      .load = 0.9,
                      .rounds = 1,
                      .seed = BENCH_SEED,
                      .isa = plan->isa,
                      .concurrent = plan->concurrent},
             .data = {.keys = allocate(room, sizeof(uint64_t)),
                      .bitmap = allocate(room / 64 + 1, sizeof(uint64_t))},
             .driver = driver_create(),
             .seed = random_at(BENCH_SEED, 0),
             .reports = plan->reports};
  c.isa = find_isa(&c.plan);
  count_empty_loops(&c);
  char *kinds = allocate(strlen(plan->kinds) + 1, 1);
  strcpy(kinds, plan->kinds);
  for (char *kind = strtok(kinds, ","); kind; kind = strtok(NULL, ",")) count_kind(&c, kind);
  progress_end();
  free(kinds);
  free(c.data.keys);
  free(c.data.bitmap);
  driver_free(&c.driver);
  return 0;
}
