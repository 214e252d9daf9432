/*
 * Claim guard-writers: puts of several threads into one guard over a database on disk. Rounds with
 * one, two and four threads alternate on the same guard, so that changes in the machine's speed
 * affect all alike. Wall time: writers wait for the disk.
 */
#define _DEFAULT_SOURCE 1 /* threads */
#include <pthread.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/tested_database.h"
#include "harness/timing.h"

enum { COUNTS = 3, MAX_THREADS = 4, ROUNDS = 9 };

static const unsigned thread_counts[COUNTS] = {1, 2, MAX_THREADS};
static const double required_of_two = 1.5; /* times one writer: RocksDB, every put durable */

static const struct setting {
  database_kind database;
  const char *database_name;
  besom_durability durability;
  const char *level;
  uint64_t puts; /* of a quick round; a full one has four times as many */
} settings[] = {
    {ROCKSDB, "rocksdb", BESOM_DURABLE_PUT, "put", 64},
    {ROCKSDB, "rocksdb", BESOM_DURABLE_BATCH, "batch", 4096},
    {ROCKSDB, "rocksdb", BESOM_DURABLE_SYNC, "sync", 16384},
    {LMDB, "lmdb", BESOM_DURABLE_PUT, "put", 32},
    {LMDB, "lmdb", BESOM_DURABLE_BATCH, "batch", 64},
    {LMDB, "lmdb", BESOM_DURABLE_SYNC, "sync", 16384},
};

typedef struct writer {
  tested_database *database;
  uint64_t first, n;
} writer;

static void *put_keys(void *ctx) {
  const writer *w = ctx;
  for (uint64_t i = 0; i < w->n; i++)
    tested_database_put(w->database, random_at(BENCH_SEED, w->first + i));
  return NULL;
}

/* Returns puts per second. */
static double put_round(tested_database *f, unsigned threads, uint64_t first, uint64_t n) {
  writer writers[MAX_THREADS];
  pthread_t ids[MAX_THREADS];
  double start = wall_seconds();
  for (unsigned t = 0; t < threads; t++) {
    writers[t] = (writer){f, first + t * (n / threads), n / threads};
    if (pthread_create(&ids[t], NULL, put_keys, &writers[t]) != 0) fail("cannot start a thread");
  }
  for (unsigned t = 0; t < threads; t++) pthread_join(ids[t], NULL);
  return (double)n / (wall_seconds() - start);
}

static void test_setting(const struct setting *s, bool full, report *numbers, findings *found) {
  uint64_t puts = full ? 4 * s->puts : s->puts, first = 0;
  samples speeds[COUNTS] = {{0}};
  tested_database f;
  tested_database_open(&f, &(database_config){.database = s->database,
                                              .kind = "aqf",
                                              .slots = 2 * COUNTS * ROUNDS * puts,
                                              .durability = s->durability,
                                              .threads = true});
  for (unsigned round = 0; round < ROUNDS; round++)
    for (unsigned c = 0; c < COUNTS; c++, first += puts) {
      progress("%s %s: round %u of %u", s->database_name, s->level, round + 1, (unsigned)ROUNDS);
      samples_add(&speeds[c], put_round(&f, thread_counts[c], first, puts));
    }
  tested_database_close(&f);
  double one = samples_median(&speeds[0]);
  bool required = s->database == ROCKSDB && s->durability == BESOM_DURABLE_PUT;
  for (unsigned c = 0; c < COUNTS; c++) {
    double speed = samples_median(&speeds[c]);
    bool holds = !required || thread_counts[c] != 2 || speed >= required_of_two * one;
    if (required && thread_counts[c] == 2) finding(found, holds);
    report_cell(numbers, "%s", s->database_name);
    report_cell(numbers, "%s", s->level);
    report_cell(numbers, "%u", thread_counts[c]);
    report_cell(numbers, "%.0f", speed);
    report_cell(numbers, "%.2f", speed / one);
    report_cell(numbers, "%s", holds ? "yes" : "no");
    samples_free(&speeds[c]);
  }
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    test_setting(&settings[i], full, numbers, &found);
  return found;
}

static const char *const columns[] = {"database",        "durability", "writers",
                                      "puts_per_second", "of_one",     "holds"};

static const plot plots[] = {{.title = "Puts per second, relative to one writer",
                              .x = "writers",
                              .y = "of_one",
                              .series = "database,durability",
                              .x_label = "writers",
                              .y_label = "times one writer"},
                             {0}};

const claim guard_writers_claim = {
    .name = "guard-writers",
    .title = "Several writers of one guard",
    .source = "besom",
    .statement = "over RocksDB two writers that wait for the disk put at least 1.5 times as many "
                 "keys per second as one",
    .differs = "New keys of 8 bytes with values of 24 bytes. Only RocksDB with durable puts is "
               "part of the verdict; the other rows are shown.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
