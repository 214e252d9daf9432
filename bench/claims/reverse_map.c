/*
 * Claim reverse-map: what a filter in front of a store costs the store. A filter that adapts must find the stored key
 * of a fingerprint again, and some pay for that at every insert. Here a store counts all its calls.
 */
#include <stdlib.h>

#include "besom.h"
#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "workload.h"

enum { WIDTH = 8, PIECE = 4096 };

static const double load = 0.9;

/* ------------------------------------------------------------------ a store that counts */

typedef struct traffic {
  uint64_t appends, updates, reads, removes, scans;
} traffic;

typedef struct counting_store {
  besom_store head;
  besom_store *inner;
  traffic *calls;
} counting_store;

static const counting_store *counting(const besom_store *store) {
  return (const counting_store *)store;
}

static besom_status count_append(besom_store *store, besom_place at, const besom_record *record) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->appends++;
  return inner->ops->append(inner, at, record);
}

static besom_status count_get(besom_store *store, besom_place at, besom_store_visit visit, void *ctx) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->reads++;
  return inner->ops->get(inner, at, visit, ctx);
}

static besom_status count_replace(besom_store *store, besom_place at, const besom_record *record) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->updates++;
  return inner->ops->replace(inner, at, record);
}

static besom_status count_remove(besom_store *store, besom_place at) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->removes++;
  return inner->ops->remove(inner, at);
}

static besom_status count_scan(besom_store *store, besom_place from, besom_store_visit visit, void *ctx) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->scans++;
  return inner->ops->scan(inner, from, visit, ctx);
}

static void close_both(besom_store *store) {
  besom_store_close(counting(store)->inner);
  free(store);
}

static const besom_store_ops counting_ops = {
    .append = count_append,
    .get = count_get,
    .replace = count_replace,
    .remove = count_remove,
    .scan = count_scan,
    .close = close_both,
};

static besom_guard *open_guard(uint64_t slots, traffic *calls) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_guard_config config = {.filter = {.kind = "aqf", .slots = slots, .width = WIDTH, .seed = seed}};
  counting_store *store = allocate(1, sizeof *store);
  besom_guard *guard;
  *store = (counting_store){.head = {&counting_ops}, .calls = calls};
  check(besom_store_memory(NULL, &store->inner), "creating a store");
  check(besom_guard_open(&config, &store->head, &guard), "creating a guard");
  return guard;
}

/* ------------------------------------------------------------------ what is done with it */

static besom_status put_new(besom_guard *g, const uint8_t key[8]) {
  return besom_guard_put_new(g, key, 8, NULL, 0);
}

static besom_status put(besom_guard *g, const uint8_t key[8]) {
  return besom_guard_put(g, key, 8, NULL, 0);
}

static besom_status get(besom_guard *g, const uint8_t key[8]) {
  return besom_guard_get(g, key, 8, NULL);
}

static besom_status delete_key(besom_guard *g, const uint8_t key[8]) {
  return besom_guard_delete(g, key, 8);
}

/* n times the same operation, how it must end, and what it may cost: calls an operation, reads a yes of the filter. */
typedef struct stage {
  const char *name;
  besom_status (*operation)(besom_guard *g, const uint8_t key[8]);
  key_stream (*keys)(uint64_t seed);
  besom_status expected;
  unsigned appends, updates, reads_when_yes, removes;
} stage;

static const stage fill_blindly = {"put_new", put_new, stream_members, .appends = 1};
static const stage fill = {"put", put, stream_members, .appends = 1, .reads_when_yes = 1};
static const stage others[] = {
    {"get_absent", get, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"get_absent_again", get, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"get_member", get, stream_members, .reads_when_yes = 1},
    {"put_member", put, stream_members, .updates = 1, .reads_when_yes = 1},
    {"delete_absent", delete_key, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"delete_member", delete_key, stream_members, .removes = 1, .reads_when_yes = 1},
};

/* Runs a stage; returns how often the filter said yes before the operation. */
static uint64_t run_stage(const stage *s, besom_guard *g, uint64_t n) {
  key_stream stream = s->keys(BENCH_SEED);
  uint64_t keys[PIECE], yes = 0;
  for (uint64_t done = 0; done < n; done += PIECE) {
    size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
    stream.generate(&stream, done, piece, keys);
    for (size_t i = 0; i < piece; i++) {
      uint8_t bytes[8];
      key_bytes(keys[i], bytes);
      yes += besom_contains_u64(besom_guard_filter(g), keys[i]);
      besom_status status = s->operation(g, bytes);
      if (status != s->expected) fail("%s: %s", s->name, besom_strerror(status));
    }
  }
  return yes;
}

static bool test_stage(const stage *s, besom_guard *g, traffic *calls, uint64_t slots, uint64_t n, report *numbers) {
  progress("%llu slots: %s", (unsigned long long)slots, s->name);
  *calls = (traffic){0};
  uint64_t yes = run_stage(s, g, n);
  bool holds = calls->appends == s->appends * n && calls->updates == s->updates * n &&
               calls->reads == s->reads_when_yes * yes && calls->removes == s->removes * n && calls->scans == 0;
  report_cell(numbers, "%llu", (unsigned long long)slots);
  report_cell(numbers, "%s", s->name);
  report_cell(numbers, "%llu", (unsigned long long)n);
  report_cell(numbers, "%llu", (unsigned long long)yes);
  report_cell(numbers, "%llu", (unsigned long long)calls->appends);
  report_cell(numbers, "%llu", (unsigned long long)calls->updates);
  report_cell(numbers, "%llu", (unsigned long long)calls->reads);
  report_cell(numbers, "%llu", (unsigned long long)calls->removes);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static bool test_size(uint64_t slots, report *numbers) {
  uint64_t n = (uint64_t)((double)slots * load);
  traffic calls = {0};
  besom_guard *g = open_guard(slots, &calls);
  bool holds = test_stage(&fill_blindly, g, &calls, slots, n, numbers);
  besom_guard_close(g);
  g = open_guard(slots, &calls);
  holds &= test_stage(&fill, g, &calls, slots, n, numbers);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    holds &= test_stage(&others[i], g, &calls, slots, n, numbers);
  besom_guard_close(g);
  return holds;
}

static verdict run(bool full, report *numbers) {
  findings found = {0};
  finding(&found, test_size((uint64_t)1 << 20, numbers));
  if (full) finding(&found, test_size((uint64_t)1 << 24, numbers));
  return verdict_of(&found);
}

static const char *const columns[] = {"slots",   "operation", "times",   "filter_yes", "appends",
                                      "updates", "reads",     "removes", "holds"};

const claim reverse_map_claim = {
    .name = "reverse-map",
    .source = "adaptiveqf: Table 1",
    .statement =
        "an insert is one append to the store, no update, and no read; a store is read only if the filter says yes",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
