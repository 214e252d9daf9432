/*
 * Claim reverse-map: what a filter in front of a store costs the store. An adaptive filter must
 * find the stored key of a fingerprint, and some kinds pay for that at every insert. A store counts
 * its calls while filters of several kinds are filled, and for aqf during all operations. A model
 * counts what the paper's TQF, whose keys move with their fingerprints, adds to that.
 */
#include <stdlib.h>
#include <string.h>

#include "besom.h"
#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "workloads/key_stream.h"

enum { CHUNK = 4096 };

/*
 * What filling may cost the store in addition to one append per key. The claim is that some kinds
 * need nothing more.
 */
typedef struct tested {
  const char *name, *kind, *options;
  enum { NOTHING, SOMETHING, ANYTHING } more;
} tested;

static const tested filters[] = {{"aqf", "aqf", "form=published", NOTHING},
                                 {"aqf_default", "aqf", NULL, NOTHING},
                                 {"taf", "taf", "form=published", ANYTHING},
                                 {"taf_default", "taf", NULL, ANYTHING},
                                 {"acf-cyclic", "acf-cyclic", NULL, SOMETHING},
                                 {"acf-swapping", "acf-swapping", NULL, SOMETHING},
                                 {"acf-cuckooing", "acf-cuckooing", NULL, SOMETHING}};

/* ------------------------------------------------------------------ a counting store */

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

static besom_status count_get(besom_store *store, besom_place at, besom_store_visit visit,
                              void *ctx) {
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

static besom_status count_scan(besom_store *store, besom_place from, besom_store_visit visit,
                               void *ctx) {
  besom_store *inner = counting(store)->inner;
  counting(store)->calls->scans++;
  return inner->ops->scan(inner, from, visit, ctx);
}

static void close_both(besom_store *store) {
  besom_store_close(counting(store)->inner);
  free(store);
}

static const besom_store_ops counting_ops = {
    .size = sizeof counting_ops,
    .append = count_append,
    .get = count_get,
    .replace = count_replace,
    .remove = count_remove,
    .scan = count_scan,
    .close = close_both,
};

static besom_guard *open_guard(const tested *t, uint64_t slots, traffic *calls) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config filter = peer_config(t->kind, slots, PEER_REMAINDER_BITS, seed);
  if (t->options) filter.options = t->options;
  besom_guard_config config = {.filter = &filter, .grow_at = 1, .rekey_at = 2};
  counting_store *store = allocate(1, sizeof *store);
  besom_guard *guard;
  *store = (counting_store){.head = {&counting_ops}, .calls = calls};
  check(besom_store_memory(NULL, &store->inner), "creating a store");
  check(besom_guard_open(&config, &store->head, &guard), "creating a guard");
  return guard;
}

/* ------------------------------------------------------------------ keys kept by slot */

/*
 * The paper's TQF keeps a key under the slot of its fingerprint. An insert puts a fingerprint after
 * the last one of its run and shifts all that follow, up to the first empty slot; each of them
 * takes its key along. Returns how many keys n inserts move.
 */
static uint64_t moved_keys(uint64_t slots, uint64_t n) {
  enum { SPARE = 4096 }; /* slots after the last quotient */
  uint32_t *quotients = allocate(slots + SPARE, sizeof *quotients); /* by slot, from 1; 0: empty */
  uint64_t moved = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t home = random_below(random_at(BENCH_SEED, i), slots), at = home, empty;
    uint32_t quotient = (uint32_t)home + 1;
    while (quotients[at] && quotients[at] <= quotient) at++;
    for (empty = at; quotients[empty]; empty++) continue;
    if (empty + 1 == slots + SPARE) fail("a quotient table ran over");
    memmove(&quotients[at + 1], &quotients[at], (empty - at) * sizeof *quotients);
    quotients[at] = quotient;
    moved += empty - at;
  }
  free(quotients);
  return moved;
}

/* ------------------------------------------------------------------ operations */

static besom_status put_new(besom_guard *g, uint64_t key) {
  return besom_guard_put_u64(g, key, NULL, 0, BESOM_PUT_NEW);
}

static besom_status put(besom_guard *g, uint64_t key) {
  return besom_guard_put_u64(g, key, NULL, 0, 0);
}

static besom_status get(besom_guard *g, uint64_t key) {
  return besom_guard_get_u64(g, key, NULL);
}

static besom_status delete_key(besom_guard *g, uint64_t key) {
  return besom_guard_delete_u64(g, key);
}

/*
 * n times the same operation, its expected status, and its allowed cost: calls per operation, reads
 * per yes of the filter.
 */
typedef struct stage {
  const char *name;
  besom_status (*operation)(besom_guard *g, uint64_t key);
  key_stream (*keys)(uint64_t seed);
  besom_status expected;
  unsigned appends, updates, reads_when_yes, removes;
} stage;

static const stage fill_without_lookup = {"put_new", put_new, stream_members, .appends = 1};
static const stage fill = {"put", put, stream_members, .appends = 1, .reads_when_yes = 1};
static const stage others[] = {
    {"get_absent", get, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"get_absent_again", get, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"get_member", get, stream_members, .reads_when_yes = 1},
    {"put_member", put, stream_members, .updates = 1, .reads_when_yes = 1},
    {"delete_absent", delete_key, stream_absent, BESOM_NOT_FOUND, .reads_when_yes = 1},
    {"delete_member", delete_key, stream_members, .removes = 1, .reads_when_yes = 1},
};

/* Runs a stage. Returns how many times the filter answered yes before the operation. */
static uint64_t run_stage(const stage *s, besom_guard *g, uint64_t n) {
  key_stream stream = s->keys(BENCH_SEED);
  uint64_t keys[CHUNK], yes = 0;
  for (uint64_t done = 0; done < n; done += CHUNK) {
    size_t chunk = n - done < CHUNK ? (size_t)(n - done) : CHUNK;
    stream.generate(&stream, done, chunk, keys);
    for (size_t i = 0; i < chunk; i++) {
      yes += besom_contains_u64(besom_guard_filter(g), keys[i]);
      besom_status status = s->operation(g, keys[i]);
      if (status != s->expected) fail("%s: %s", s->name, besom_strerror(status));
    }
  }
  return yes;
}

static void report_stage(report *numbers, const char *kind, uint64_t slots, const stage *s,
                         uint64_t n, uint64_t yes, const traffic *calls, const char *holds) {
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%llu", (unsigned long long)slots);
  report_cell(numbers, "%s", s->name);
  report_cell(numbers, "%llu", (unsigned long long)n);
  report_cell(numbers, "%llu", (unsigned long long)yes);
  report_cell(numbers, "%llu", (unsigned long long)calls->appends);
  report_cell(numbers, "%llu", (unsigned long long)calls->updates);
  report_cell(numbers, "%llu", (unsigned long long)calls->reads);
  report_cell(numbers, "%llu", (unsigned long long)calls->removes);
  report_cell(numbers, "%.3f",
              (double)(calls->appends + calls->updates + calls->reads + calls->removes) /
                  (double)n);
  report_cell(numbers, "%s", holds);
}

static void test_filling(const tested *t, uint64_t slots, findings *found, report *numbers) {
  uint64_t n = peer_members(slots);
  traffic calls = {0};
  progress("%llu slots: filling %s", (unsigned long long)slots, t->name);
  besom_guard *g = open_guard(t, slots, &calls);
  calls = (traffic){0};
  uint64_t yes = run_stage(&fill_without_lookup, g, n),
           more = calls.appends - n + calls.updates + calls.reads + calls.removes;
  bool holds = (more > 0) == (t->more == SOMETHING);
  report_stage(numbers, t->name, slots, &fill_without_lookup, n, yes, &calls,
               t->more == ANYTHING ? "-"
               : holds             ? "yes"
                                   : "no");
  if (t->more != ANYTHING) finding(found, holds);
  check(besom_guard_close(g), "closing a guard");
}

/* A table whose keys are kept by slot: each moved key is read and written. */
static void model_filling(uint64_t slots, report *numbers) {
  uint64_t n = peer_members(slots), moved = moved_keys(slots, n);
  traffic calls = {.appends = n, .updates = moved, .reads = moved};
  report_stage(numbers, "taf_by_slot", slots, &fill_without_lookup, n, 0, &calls, "-");
}

/* What the other operations of aqf cost the store. */
static void test_stage(const stage *s, besom_guard *g, traffic *calls, uint64_t slots,
                       findings *found, report *numbers) {
  uint64_t n = peer_members(slots);
  progress("%llu slots: %s", (unsigned long long)slots, s->name);
  *calls = (traffic){0};
  uint64_t yes = run_stage(s, g, n);
  bool holds = calls->appends == s->appends * n && calls->updates == s->updates * n &&
               calls->reads == s->reads_when_yes * yes && calls->removes == s->removes * n &&
               calls->scans == 0;
  report_stage(numbers, "aqf", slots, s, n, yes, calls, holds ? "yes" : "no");
  finding(found, holds);
}

static void test_size(uint64_t slots, findings *found, report *numbers) {
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    test_filling(&filters[i], slots, found, numbers);
  model_filling(slots, numbers);
  traffic calls = {0};
  besom_guard *g = open_guard(&filters[0], slots, &calls);
  test_stage(&fill, g, &calls, slots, found, numbers);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    test_stage(&others[i], g, &calls, slots, found, numbers);
  check(besom_guard_close(g), "closing a guard");
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  test_size((uint64_t)1 << 20, &found, numbers);
  if (full) test_size((uint64_t)1 << 24, &found, numbers);
  return found;
}

static const char *const columns[] = {"kind",       "slots",         "operation", "times",
                                      "filter_yes", "appends",       "updates",   "reads",
                                      "removes",    "calls_per_key", "holds"};

static const plot plots[] = {{.title = "Store calls while filters are filled",
                              .x = "kind",
                              .y = "appends,updates,reads,removes",
                              .where = "operation=put_new,slots=1048576",
                              .x_label = "filter",
                              .y_label = "calls",
                              .bars = true},
                             {0}};

const claim reverse_map_claim = {
    .name = "reverse-map",
    .title = "Accesses to the reverse map",
    .source = "adaptiveqf: Table 1",
    .paper = "Filling 2^20 slots to 90 % costs the AQF 943,718 inserts into the reverse map and "
             "nothing else; the TQF 3.6 million updates and 3.4 million reads more, the ACF "
             "0.58 million of each.",
    .statement =
        "each insert of aqf is one append to the store, no update and no read; the "
        "adaptive cuckoo kinds also move records and read; in all operations of aqf the store is "
        "read only if the filter answers yes",
    .differs =
        "The sizes are the paper's (full: also 2^24). The paper's TQF keeps keys by slot, "
        "so they move with their fingerprints; besom's taf keeps them by quotient and rank, in "
        "both forms, and needs no update. taf_by_slot is a model of the paper's way: it "
        "counts the shifted fingerprints of a quotient table. Our cuckoo kinds search for "
        "the shortest path before they move anything: fewer moves, more reads. A moved "
        "record is an append and a remove in the table.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
