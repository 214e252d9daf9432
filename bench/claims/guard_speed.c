/*
 * Claim guard-speed: the CPU time of a get through a guard, against what an application would use
 * instead: a Bloom filter of the same size in front of plain LMDB, and RocksDB with its own Bloom
 * filter. All data is in memory. The databases take turns on the same keys. One that the build does
 * not have is left out.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "harness/plain_database.h"
#include "harness/tested_database.h"
#include "harness/timing.h"

enum { TURNS = 20, GETS_PER_BATCH = 256, CACHE_BYTES = 1 << 28 };
static const double rocksdb_bits = 10;
static const double most_of_contains_many = 1.3;
static const double ln2 = 0.6931471805599453;

/* Per share of present keys, in percent: the bars of a guard relative to the plain database. */
enum { SHARES = 4 };
static const unsigned shares[SHARES] = {0, 10, 50, 100};

typedef enum subject { PLAIN, MERGED, SPLIT, SUBJECTS } subject;

typedef struct database_pair {
  const char *names[SUBJECTS]; /* NULL: not tested */
  database_kind database;
  double bars[SUBJECTS][SHARES]; /* most CPU time relative to the plain database; 0: not judged */
} database_pair;

static const database_pair pairs[] = {
    {.names = {"lmdb_bloom", "lmdb_merged", "lmdb_split"},
     .database = LMDB,
     .bars = {[MERGED] = {1.15, 1.15, 1.15, 1.15}, [SPLIT] = {1.3, 1.3, 1.3, 1.3}}},
    {.names = {"rocksdb_bloom", "rocksdb_merged"},
     .database = ROCKSDB,
     .bars = {[MERGED] = {0.5, 0, 0, 1.05}}},
};

typedef struct rivals {
  const database_pair *pair;
  uint64_t n; /* members */
  plain_database plain;
  besom_filter *bloom; /* in front of the plain database; NULL: it has its own */
  tested_database guards[SUBJECTS];
} rivals;

/* ------------------------------------------------------------------ filling */

static double filter_bits_per_key(const besom_filter *f, uint64_t n) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of a filter");
  return 8 * (double)stats.bytes / (double)n;
}

static besom_filter *bloom_of_bits(const uint64_t *keys, uint64_t n, double bits) {
  besom_config config = {.kind = "bloom", .capacity = n, .fpr = exp(-bits * ln2 * ln2)};
  besom_filter *f;
  check(besom_create(&config, &f), "creating a Bloom filter");
  check(besom_insert_many_u64(f, keys, n, NULL), "filling a Bloom filter");
  return f;
}

static void open_guard(rivals *r, subject s) {
  tested_database *f = &r->guards[s];
  database_config config = {.database = r->pair->database,
                            .kind = "aqf",
                            .slots = peer_slots(r->n),
                            .more_bits = -1, /* an FPR of about 1 in 256 */
                            .layout = s == SPLIT ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                            .durability = BESOM_DURABLE_BATCH,
                            .rocksdb = {.cache_bytes = CACHE_BYTES}};
  tested_database_open(f, &config);
  tested_database_fill(f, 0, r->n);
  if (r->pair->database == ROCKSDB) tested_database_reopen(f); /* writes its memory to files */
}

static void open_rivals(rivals *r, const database_pair *pair, uint64_t n) {
  *r = (rivals){.pair = pair, .n = n};
  uint64_t *keys = allocate(n, sizeof *keys);
  key_stream members = stream_members(BENCH_SEED);
  members.generate(&members, 0, n, keys);
  for (int s = MERGED; s < SUBJECTS; s++) {
    progress("filling %s", pair->names[s] ? pair->names[s] : "");
    if (pair->names[s]) open_guard(r, (subject)s);
  }
  progress("filling %s", pair->names[PLAIN]);
  plain_database_open(&r->plain, pair->database, CACHE_BYTES, rocksdb_bits);
  plain_database_fill(&r->plain, keys, n);
  if (pair->database == LMDB)
    r->bloom =
        bloom_of_bits(keys, n, filter_bits_per_key(besom_guard_filter(r->guards[MERGED].guard), n));
  free(keys);
}

static void close_rivals(rivals *r) {
  for (int s = MERGED; s < SUBJECTS; s++)
    if (r->pair->names[s]) tested_database_close(&r->guards[s]);
  plain_database_close(&r->plain);
  besom_free(r->bloom);
}

/* ------------------------------------------------------------------ single gets */

/* Members and absent keys in random order. */
static void make_queries(uint64_t *keys, uint64_t n, uint64_t members, unsigned share,
                         uint64_t turn) {
  key_stream present = stream_lookups(BENCH_SEED, members), absent = stream_absent(BENCH_SEED);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t number = turn * n + i;
    bool member = random_at(BENCH_SEED + 1, number) % 100 < share;
    const key_stream *from = member ? &present : &absent;
    from->generate(from, number, 1, &keys[i]);
  }
}

/* Every get copies the value. Returns a sum of bytes, so that the copy is used. */
static uint64_t get_plain(rivals *r, const uint64_t *keys, uint64_t n, uint64_t *found) {
  uint8_t value[DATABASE_VALUE_BYTES];
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (r->bloom && !besom_contains_u64(r->bloom, keys[i])) continue;
    if (!plain_database_get(&r->plain, keys[i], value)) continue;
    sum += value[0];
    ++*found;
  }
  return sum;
}

static uint64_t get_guarded(besom_guard *g, const uint64_t *keys, uint64_t n, uint64_t *found) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i++) {
    besom_bytes value;
    besom_status status = besom_guard_get_u64(g, keys[i], &value);
    if (status == BESOM_NOT_FOUND) continue;
    check(status, "getting a key");
    sum += *(const uint8_t *)value.data;
    ++*found;
    besom_guard_release(g, &value);
  }
  return sum;
}

static void time_turn(rivals *r, const uint64_t *keys, uint64_t n, samples seconds[SUBJECTS]) {
  uint64_t found[SUBJECTS] = {0}, sums[SUBJECTS] = {0};
  for (int s = 0; s < SUBJECTS; s++) {
    if (!r->pair->names[s]) continue;
    double start = cpu_seconds();
    sums[s] = s == PLAIN ? get_plain(r, keys, n, &found[s])
                         : get_guarded(r->guards[s].guard, keys, n, &found[s]);
    samples_add(&seconds[s], cpu_seconds() - start);
    if (found[s] != found[PLAIN] || sums[s] != sums[PLAIN]) fail("a wrong answer");
  }
}

static void report_row(report *numbers, const char *name, const char *present, double ns,
                       double ratio, double bar) {
  report_cell(numbers, "%s", name);
  report_cell(numbers, "%s", present);
  report_cell(numbers, "%.0f", ns);
  report_cell(numbers, "%.2f", ratio);
  report_cell(numbers, "%s", bar == 0 ? "-" : ratio <= bar ? "yes" : "no");
}

static void test_share(rivals *r, int share, uint64_t n, report *numbers, findings *found) {
  samples seconds[SUBJECTS] = {{0}};
  uint64_t *keys = allocate(n, sizeof *keys);
  for (uint64_t turn = 0; turn < TURNS; turn++) {
    progress("%u %% present: turn %llu of %d", shares[share], (unsigned long long)turn, TURNS);
    make_queries(keys, n, r->n, shares[share], turn);
    time_turn(r, keys, n, seconds);
  }
  free(keys);
  char present[16];
  snprintf(present, sizeof present, "%u", shares[share]);
  for (int s = 0; s < SUBJECTS; s++) {
    if (!r->pair->names[s]) continue;
    double ratio = samples_median(&seconds[s]) / samples_median(&seconds[PLAIN]);
    double bar = r->pair->bars[s][share];
    report_row(numbers, r->pair->names[s], present, 1e9 * samples_median(&seconds[s]) / (double)n,
               ratio, bar);
    if (bar != 0) finding(found, ratio <= bar);
  }
  for (int s = 0; s < SUBJECTS; s++) samples_free(&seconds[s]);
}

/* ------------------------------------------------------------------ batches of absent keys */

typedef struct key_batches {
  uint64_t *numbers;
  besom_bytes *keys;
  uint64_t *found; /* a bitmap */
  uint64_t n;
} key_batches;

static uint64_t count_found(const key_batches *b) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < b->n / 64; i++) found += (uint64_t)__builtin_popcountll(b->found[i]);
  return found;
}

static double time_contains_many(const besom_filter *f, const key_batches *b) {
  double start = cpu_seconds();
  for (uint64_t i = 0; i < b->n; i += GETS_PER_BATCH)
    check(besom_contains_many(f, b->keys + i, GETS_PER_BATCH, b->found + i / 64), "a batch");
  return cpu_seconds() - start;
}

static double time_get_many(besom_guard *g, const key_batches *b) {
  besom_bytes values[GETS_PER_BATCH];
  double start = cpu_seconds();
  for (uint64_t i = 0; i < b->n; i += GETS_PER_BATCH)
    check(besom_guard_get_many(g, b->keys + i, GETS_PER_BATCH, values, b->found + i / 64),
          "a batch of gets");
  double seconds = cpu_seconds() - start;
  if (count_found(b)) fail("a wrong answer");
  return seconds;
}

/* The same absent keys in each turn: the guard has adapted to their false positives, so this
   compares the calls. The guard's own filter is queried first, then the guard gets the keys. */
static void test_batches(rivals *r, uint64_t n, report *numbers, findings *found) {
  n = n / GETS_PER_BATCH * GETS_PER_BATCH;
  key_batches b = {allocate(n, sizeof *b.numbers), allocate(n, sizeof *b.keys),
                   allocate(n / 64, sizeof *b.found), n};
  samples alone = {0}, guarded = {0};
  key_stream absent = stream_absent(BENCH_SEED + 2);
  besom_guard *g = r->guards[MERGED].guard;
  absent.generate(&absent, 0, n, b.numbers);
  for (uint64_t i = 0; i < n; i++) b.keys[i] = (besom_bytes){&b.numbers[i], 8};
  (void)time_get_many(g, &b);
  for (uint64_t turn = 0; turn < TURNS; turn++) {
    samples_add(&alone, time_contains_many(besom_guard_filter(g), &b));
    samples_add(&guarded, time_get_many(g, &b));
  }
  double base = samples_median(&alone), ratio = samples_median(&guarded) / base;
  report_row(numbers, "contains_many", "0", 1e9 * base / (double)n, 1, 0);
  report_row(numbers, "lmdb_get_many", "0", 1e9 * samples_median(&guarded) / (double)n, ratio,
             most_of_contains_many);
  finding(found, ratio <= most_of_contains_many);
  samples_free(&alone);
  samples_free(&guarded);
  free(b.numbers);
  free(b.keys);
  free(b.found);
}

/* ------------------------------------------------------------------ all */

static findings run(bool full, report *numbers) {
  findings found = {0};
  uint64_t n = full ? 1000000 : 1 << 15, queries = full ? 100000 : 4000;
  const char *missing = NULL;
  size_t tested = 0;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    rivals r;
    missing = database_is_missing(pairs[i].database);
    if (missing) fprintf(stderr, "guard-speed: left out: %s\n", missing);
    if (missing) continue;
    tested++;
    open_rivals(&r, &pairs[i], n);
    for (int share = 0; share < SHARES; share++) test_share(&r, share, queries, numbers, &found);
    if (pairs[i].database == LMDB) test_batches(&r, queries, numbers, &found);
    close_rivals(&r);
  }
  if (!tested) fail("%s", missing);
  return found;
}

static const char *const columns[] = {"database", "present_percent", "ns_per_get", "of_plain",
                                      "holds"};

static const plot plots[] = {{.title = "CPU time per get",
                              .x = "present_percent",
                              .y = "ns_per_get",
                              .series = "database",
                              .x_label = "present keys, percent",
                              .y_label = "ns per get",
                              .log_y = true},
                             {0}};

const claim guard_speed_claim = {
    .name = "guard-speed",
    .title = "What a guard costs per query",
    .source = "besom",
    .statement =
        "a guard over LMDB takes at most 1.15 times (split: 1.3) the CPU time of a Bloom "
        "filter of the same size in front of plain LMDB; over RocksDB at most 1.05 times "
        "that of RocksDB with its own filter of 10 bits per key for present keys, and "
        "half of it for absent keys; besom_guard_get_many takes at most 1.3 times the time of "
        "besom_contains_many for absent keys",
    .differs = "1,000,000 keys, quick 32,768, with values of 24 bytes, all in memory. Plain LMDB "
               "has one read transaction, which is renewed per get. Every get copies the value. "
               "The absent keys of single gets are new ones; those of "
               "batches repeat, so the guard has adapted to their false positives.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
