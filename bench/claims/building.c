/*
 * Claim building: time per key to make a filter by inserts, by merging two filters, or from sorted
 * digests.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "harness/driver.h"
#include "harness/timing.h"
#include "workloads/sorted_digests.h"

enum { ROUNDS = 3 };

static const double required_merge_speedup = 13; /* times as fast as inserting */
/* of the time to insert, for sorting and bulk loading */
static const double max_share_of_insert = 0.7;

typedef enum method {
  INSERT_FULL,
  INSERT_HALF,
  MERGE_HALF_FULL,
  MERGE_HALF_SIZE,
  SORT,
  BULK,
  BUILD_FROM_KEYS,
  METHODS
} method;

static const char *const names[METHODS] = {"insert",          "insert half-size", "merge half-full",
                                           "merge half-size", "sort (qsort)",     "bulk insert",
                                           "besom_build"};

typedef struct build_run {
  uint64_t slots, items;
  uint8_t seed[16];
  driver d;
  key_stream members;
  samples seconds[METHODS];
} build_run;

static besom_config config_of(const build_run *s, uint64_t slots, uint32_t width) {
  return (besom_config){.kind = "aqf", .slots = slots, .width = width, .seed = s->seed};
}

static besom_filter *create(const build_run *s, uint64_t slots, uint32_t width) {
  besom_config config = config_of(s, slots, width);
  besom_filter *f;
  check(besom_create(&config, &f), "creating aqf");
  return f;
}

static void check_and_free(build_run *s, besom_filter *f) {
  drive_check(&s->d, f, &s->members, s->items);
  besom_free(f);
}

/*
 * ------------------------------------------------------------------ from keys and from other
 * filters
 */

static double fill(build_run *s, besom_filter *f, uint64_t first, uint64_t n) {
  return drive_insert(&s->d, f, &s->members, first, n, SINGLE);
}

static void insert_full(build_run *s) {
  besom_filter *f = create(s, s->slots, PEER_REMAINDER_BITS);
  samples_add(&s->seconds[INSERT_FULL], fill(s, f, 0, s->items));
  check_and_free(s, f);
}

static void merge_half_full(build_run *s) {
  besom_filter *a = create(s, s->slots, PEER_REMAINDER_BITS),
               *b = create(s, s->slots, PEER_REMAINDER_BITS);
  fill(s, a, 0, s->items / 2);
  fill(s, b, s->items / 2, s->items - s->items / 2);
  double start = cpu_seconds();
  besom_filter *merged;
  check(besom_merge(a, b, &merged), "merging");
  samples_add(&s->seconds[MERGE_HALF_FULL], cpu_seconds() - start);
  besom_free(a);
  besom_free(b);
  check_and_free(s, merged);
}

/* Filters with half of the slots have one more remainder bit; growing moves it to the quotient. */
static void merge_half_size(build_run *s) {
  besom_filter *a = create(s, s->slots / 2, PEER_REMAINDER_BITS + 1),
               *b = create(s, s->slots / 2, PEER_REMAINDER_BITS + 1);
  double seconds = fill(s, a, 0, s->items / 2);
  seconds += fill(s, b, s->items / 2, s->items - s->items / 2);
  samples_add(&s->seconds[INSERT_HALF], seconds);
  double start = cpu_seconds();
  besom_filter *merged;
  check(besom_merge_slots(a, b, s->slots, &merged), "merging");
  samples_add(&s->seconds[MERGE_HALF_SIZE], cpu_seconds() - start);
  besom_free(a);
  besom_free(b);
  check_and_free(s, merged);
}

/* ------------------------------------------------------------------ from sorted digests */

static digest_array hash_members(const build_run *s) {
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

static void sort_and_load(build_run *s) {
  digest_array digests = hash_members(s);
  double start = cpu_seconds();
  digest_array_sort(&digests);
  samples_add(&s->seconds[SORT], cpu_seconds() - start);
  besom_config config = config_of(s, s->slots, PEER_REMAINDER_BITS);
  besom_digest_source source = digest_array_source(&digests);
  besom_filter *f;
  start = cpu_seconds();
  check(besom_build(&config, &(besom_input){.digests = &source}, &f),
        "building from sorted digests");
  samples_add(&s->seconds[BULK], cpu_seconds() - start);
  digest_array_free(&digests);
  check_and_free(s, f);
}

static void build_from_keys(build_run *s) {
  besom_config config = config_of(s, s->slots, PEER_REMAINDER_BITS);
  besom_filter *f;
  samples_add(&s->seconds[BUILD_FROM_KEYS], drive_build(&s->d, &config, &s->members, s->items, &f));
  check_and_free(s, f);
}

/* ------------------------------------------------------------------ the claim */

/* The fastest round counts, because other load on the machine can only slow a round down. */
static double microseconds(const build_run *s, method w) {
  return 1e6 * samples_quantile(&s->seconds[w], 0) / (double)s->items;
}

static findings judge(const build_run *s, report *numbers) {
  double insert = microseconds(s, INSERT_FULL),
         loaded = microseconds(s, SORT) + microseconds(s, BULK);
  findings found = {0};
  finding(&found, microseconds(s, MERGE_HALF_SIZE) * required_merge_speedup <= insert);
  finding(&found, loaded <= max_share_of_insert * insert);
  finding(&found, microseconds(s, BUILD_FROM_KEYS) <= max_share_of_insert * insert);
  finding(&found, microseconds(s, BULK) <= microseconds(s, MERGE_HALF_SIZE));
  const samples *of = s->seconds;
  add_ratios(&found, "aqf-merge-13", &of[INSERT_FULL], &of[MERGE_HALF_SIZE]);
  add_ratios(&found, "aqf-merge-slower", &of[MERGE_HALF_SIZE], &of[BULK]);
  for (int i = 0; i < ROUNDS; i++)
    add_factor(&found, "aqf-bulk-70",
               of[INSERT_FULL].values[i] / (of[SORT].values[i] + of[BULK].values[i]));
  for (int w = 0; w < METHODS; w++) {
    report_cell(numbers, "%s", names[w]);
    report_cell(numbers, "%llu", (unsigned long long)s->slots);
    report_cell(numbers, "%.6f", microseconds(s, (method)w));
    report_cell(numbers, "%.1f", insert / microseconds(s, (method)w));
  }
  return found;
}

static findings run(bool full, report *numbers) {
  build_run s = {.slots = (uint64_t)1 << (full ? 26 : 21),
                 .d = driver_create(),
                 .members = stream_members(BENCH_SEED)};
  s.items = peer_members(s.slots);
  hash_seed(BENCH_SEED, s.seed);
  for (int round = 0; round < ROUNDS; round++) {
    progress("round %d of %d", round + 1, ROUNDS);
    insert_full(&s);
    merge_half_full(&s);
    merge_half_size(&s);
    sort_and_load(&s);
    build_from_keys(&s);
  }
  findings all = judge(&s, numbers);
  for (int w = 0; w < METHODS; w++) samples_free(&s.seconds[w]);
  driver_free(&s.d);
  return all;
}

static const char *const columns[] = {"operation", "slots", "microseconds_per_insert",
                                      "times_as_fast_as_insert"};

static const plot plots[] = {{.title = "Time per key",
                              .x = "operation",
                              .y = "microseconds_per_insert",
                              .x_label = "",
                              .y_label = "microseconds",
                              .bars = true},
                             {0}};

const claim building_claim = {
    .name = "building",
    .title = "Inserting, merging and bulk loading",
    .source = "adaptiveqf: Table 5",
    .paper = "A key takes 0.52 microseconds to insert, 0.35 into filters of half the size, "
             "0.039 when two of those are merged, 0.35 to sort with qsort and 0.020 to insert "
             "in order. Merging is 13 times as fast as inserting. Sorting and inserting in "
             "order takes 70 % of the time of inserting.",
    .statement = "merging two filters is 13 times as fast as inserting their keys; sorting and "
                 "inserting in order takes at most 70 % of the time, by qsort and by besom_build; "
                 "inserting in order is faster than merging",
    .differs = "2^21 slots, which fit our cache (full: 2^26); the larger the table, the more "
               "merging gains. Two filters of half the size grow before they merge "
               "(besom_merge_slots); two of full size, half full, have a row of their own. "
               "Inserts are 4 to 7 times as fast as the paper's, so that qsort alone takes longer. "
               "besom_build uses a radix sort, and also hashes the keys. The fastest of 3 rounds "
               "counts.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
