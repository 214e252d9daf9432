/* Claim building: what a key costs in a filter that is made key by key, of two others, or from sorted digests. */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "harness/driver.h"
#include "harness/timing.h"
#include "workloads/sorted_digests.h"

enum { ROUNDS = 3 };

static const double wanted_merging = 13;     /* times as fast as inserting */
static const double most_of_inserting = 0.7; /* of its time, for sorting and bulk insert */

typedef enum way {
  INSERT_FULL,
  INSERT_HALF,
  MERGE_HALF_FULL,
  GROW_AND_MERGE,
  SORT,
  BULK,
  BUILD_OF_KEYS,
  WAYS
} way;

static const char *const names[WAYS] = {
    "insert into filter",          "insert into half-size filters",
    "merge two half-full filters", "grow and merge two half-size filters",
    "sort in hash order (qsort)",  "bulk insert",
    "besom_build of keys"};

typedef struct site {
  uint64_t slots, items;
  uint8_t seed[16];
  driver d;
  key_stream members;
  samples seconds[WAYS];
} site;

static besom_config config_of(const site *s, uint64_t slots, uint32_t width) {
  return (besom_config){.kind = "aqf", .slots = slots, .width = width, .seed = s->seed};
}

static besom_filter *create(const site *s, uint64_t slots, uint32_t width) {
  besom_config config = config_of(s, slots, width);
  besom_filter *f;
  check(besom_create(&config, &f), "creating aqf");
  return f;
}

static void check_and_free(site *s, besom_filter *f) {
  drive_check(&s->d, f, &s->members, s->items);
  besom_free(f);
}

/* ------------------------------------------------------------------ by keys, and of other filters */

static double fill(site *s, besom_filter *f, uint64_t first, uint64_t n) {
  return drive_insert(&s->d, f, &s->members, first, n, SINGLE);
}

static void insert_full(site *s) {
  besom_filter *f = create(s, s->slots, PEER_REMAINDER_BITS);
  samples_add(&s->seconds[INSERT_FULL], fill(s, f, 0, s->items));
  check_and_free(s, f);
}

static besom_filter *merge(const besom_filter *a, const besom_filter *b) {
  besom_filter *merged;
  check(besom_merge(a, b, &merged), "merging");
  return merged;
}

static void merge_half_full(site *s) {
  besom_filter *a = create(s, s->slots, PEER_REMAINDER_BITS),
               *b = create(s, s->slots, PEER_REMAINDER_BITS);
  fill(s, a, 0, s->items / 2);
  fill(s, b, s->items / 2, s->items - s->items / 2);
  double start = cpu_seconds();
  besom_filter *merged = merge(a, b);
  samples_add(&s->seconds[MERGE_HALF_FULL], cpu_seconds() - start);
  besom_free(a);
  besom_free(b);
  check_and_free(s, merged);
}

/* Filters of half the slots have a bit more in a remainder, which growing makes one of the quotient. */
static void grow_and_merge(site *s) {
  besom_filter *a = create(s, s->slots / 2, PEER_REMAINDER_BITS + 1),
               *b = create(s, s->slots / 2, PEER_REMAINDER_BITS + 1);
  double seconds = fill(s, a, 0, s->items / 2);
  seconds += fill(s, b, s->items / 2, s->items - s->items / 2);
  samples_add(&s->seconds[INSERT_HALF], seconds);
  double start = cpu_seconds();
  check(besom_grow(a, s->slots), "growing");
  check(besom_grow(b, s->slots), "growing");
  besom_filter *merged = merge(a, b);
  samples_add(&s->seconds[GROW_AND_MERGE], cpu_seconds() - start);
  besom_free(a);
  besom_free(b);
  check_and_free(s, merged);
}

/* ------------------------------------------------------------------ of sorted digests */

static digest_array hash_members(const site *s) {
  besom_filter *f = create(s, s->slots, PEER_REMAINDER_BITS);
  digest_array a = digest_array_create((size_t)s->items);
  for (uint64_t i = 0; i < s->items; i++) {
    uint64_t key;
    s->members.generate(&s->members, i, 1, &key);
    a.digests[i] = besom_hash_u64(f, key);
  }
  besom_free(f);
  return a;
}

static void sort_and_load(site *s) {
  digest_array digests = hash_members(s);
  double start = cpu_seconds();
  digest_array_sort(&digests);
  samples_add(&s->seconds[SORT], cpu_seconds() - start);
  besom_config config = config_of(s, s->slots, PEER_REMAINDER_BITS);
  besom_digest_source source = digest_array_source(&digests);
  besom_filter *f;
  start = cpu_seconds();
  check(besom_build_sorted(&config, &source, NULL, &f), "building from sorted digests");
  samples_add(&s->seconds[BULK], cpu_seconds() - start);
  digest_array_free(&digests);
  check_and_free(s, f);
}

static void build_of_keys(site *s) {
  besom_config config = config_of(s, s->slots, PEER_REMAINDER_BITS);
  besom_filter *f;
  samples_add(&s->seconds[BUILD_OF_KEYS], drive_build(&s->d, &config, &s->members, s->items, &f));
  check_and_free(s, f);
}

/* ------------------------------------------------------------------ the claim */

/* Of the rounds the fastest counts, for others on the machine only ever slow one down. */
static double microseconds(const site *s, way w) {
  return 1e6 * samples_quantile(&s->seconds[w], 0) / (double)s->items;
}

static findings judge(const site *s, report *numbers) {
  double insert = microseconds(s, INSERT_FULL),
         loaded = microseconds(s, SORT) + microseconds(s, BULK);
  findings found = {0};
  finding(&found, microseconds(s, MERGE_HALF_FULL) * wanted_merging <= insert);
  finding(&found, loaded <= most_of_inserting * insert);
  finding(&found, microseconds(s, BUILD_OF_KEYS) <= most_of_inserting * insert);
  finding(&found, microseconds(s, BULK) <= microseconds(s, MERGE_HALF_FULL));
  for (int w = 0; w < WAYS; w++) {
    report_cell(numbers, "%s", names[w]);
    report_cell(numbers, "%llu", (unsigned long long)s->slots);
    report_cell(numbers, "%.6f", microseconds(s, (way)w));
    report_cell(numbers, "%.1f", insert / microseconds(s, (way)w));
  }
  return found;
}

static findings run(bool full, report *numbers) {
  site s = {.slots = (uint64_t)1 << (full ? 26 : 21),
            .d = driver_create(),
            .members = stream_members(BENCH_SEED)};
  s.items = peer_members(s.slots);
  hash_seed(BENCH_SEED, s.seed);
  for (int round = 0; round < ROUNDS; round++) {
    progress("round %d of %d", round + 1, ROUNDS);
    insert_full(&s);
    merge_half_full(&s);
    grow_and_merge(&s);
    sort_and_load(&s);
    build_of_keys(&s);
  }
  findings all = judge(&s, numbers);
  for (int w = 0; w < WAYS; w++) samples_free(&s.seconds[w]);
  driver_free(&s.d);
  return all;
}

static const char *const columns[] = {"operation", "slots", "microseconds_per_insert",
                                      "times_as_fast_as_insert"};

static const plot plots[] = {{.title = "Time a key",
                              .x = "operation",
                              .y = "microseconds_per_insert",
                              .x_label = "",
                              .y_label = "microseconds",
                              .bars = true},
                             {0}};

const claim building_claim = {
    .name = "building",
    .source = "adaptiveqf: Table 5",
    .paper = "A key takes 0.52 microseconds to insert, 0.35 into filters of half the size, 0.039 "
             "when two of those are "
             "merged, 0.35 to sort with qsort and 0.020 to insert in order: merging is 13 times as "
             "fast as inserting, and "
             "sorting and inserting in order takes 70 % of its time.",
    .statement = "merging two filters is 13 times as fast as inserting their keys; sorting and "
                 "inserting in order takes at "
                 "most 70 % of the time, by qsort and by besom_build; inserting in order is faster "
                 "than merging",
    .differs = "2^21 slots, which our cache holds (full: 2^26); the larger the table the more "
               "merging gains, 8 to 9 "
               "times with 2^22. besom merges filters alike, so half-size filters grow first, in a "
               "row of its own. "
               "Inserts are 4 to 7 times as fast as the paper's, so that qsort alone takes longer; "
               "besom_build has a "
               "radix sort, and hashes the keys, too. The fastest of 3 rounds counts.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
