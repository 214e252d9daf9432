/*
 * Claim store-puts: what a filter costs when keys are put into a database on disk, and how often
 * each put accesses that database. The kinds alternate, so that changes in the machine's speed
 * affect all alike. Each step is a batch, durable at its end. Then all of the database is evicted
 * from memory (harness/disk.h), so that the next batch has to read every page that it changes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/adaptive_peers.h"
#include "harness/tested_database.h"
#include "harness/timing.h"

/* One row per 20th of the load. The number of batches per row does not depend on the size. */
enum { ROWS = 18, BATCHES = 4, NONE = ADAPTIVE_PEERS, KINDS };

static const double min_share_of_qf = 0.9;

static const char *kind_of(int k) {
  return k == NONE ? NULL : adaptive_peer_kinds[k];
}

typedef struct times {
  samples batches;  /* wall time of each */
  double wall, cpu; /* wall: the median of the batches times their number, to exclude outliers */
  uint64_t puts, pages; /* keys put; pages read from disk */
} times;

typedef struct put_run {
  tested_database databases[KINDS];
  uint64_t scans[KINDS]; /* done by opening */
  times rows[KINDS][ROWS];
  double totals[KINDS][BATCHES]; /* seconds of the n-th batches of all rows */
  findings found;
  uint64_t *keys, batch; /* of a batch, and their number */
} put_run;

static void put_batch(tested_database *f, const uint64_t *keys, uint64_t n, times *t) {
  uint64_t pages = disk_pages_read();
  double wall = wall_seconds(), cpu = cpu_seconds();
  tested_database_begin(f);
  for (uint64_t i = 0; i < n; i++) tested_database_put(f, keys[i]);
  tested_database_commit(f);
  samples_add(&t->batches, wall_seconds() - wall);
  t->cpu += cpu_seconds() - cpu;
  t->puts += n;
  t->pages += disk_pages_read() - pages;
  disk_evict(f->directory);
}

/* The speed of the adaptive filters / of the others, in one batch: geometric means. */
static double speed_of_adaptive(const put_run *c, int row, int batch) {
  double seconds[ADAPTIVE_PEERS];
  for (int k = 0; k < ADAPTIVE_PEERS; k++) seconds[k] = c->rows[k][row].batches.values[batch];
  return sqrt(seconds[QF] * seconds[CF]) / cbrt(seconds[AQF] * seconds[TAF] * seconds[ACF]);
}

/* The factors of the first and of the last row; sums over all rows. */
static void add_row(put_run *c, int row) {
  for (int b = 0; b < BATCHES; b++) {
    if (row == 0) add_factor(&c->found, "aqf-puts-start", speed_of_adaptive(c, row, b));
    for (int k = 0; k < KINDS; k++) c->totals[k][b] += c->rows[k][row].batches.values[b];
  }
  if (row < ROWS - 1) return;
  add_ratios(&c->found, "aqf-puts-acf-5", &c->rows[ACF][row].batches, &c->rows[AQF][row].batches);
  add_ratios(&c->found, "aqf-puts-tqf-30", &c->rows[TAF][row].batches, &c->rows[AQF][row].batches);
  for (int b = 0; b < BATCHES; b++) {
    double aqf = c->totals[AQF][b];
    add_factor(&c->found, "aqf-puts-overall-acf", c->totals[ACF][b] / aqf);
    add_factor(&c->found, "aqf-puts-overall-tqf", c->totals[TAF][b] / aqf);
    add_factor(&c->found, "aqf-puts-qf", c->totals[QF][b] / aqf);
  }
}

static void fill_row(put_run *c, int row) {
  key_stream members = stream_members(BENCH_SEED);
  for (int b = 0; b < BATCHES; b++) {
    progress("load %.2f: batch %d", row / 20.0, b);
    members.generate(&members, (uint64_t)(row * BATCHES + b) * c->batch, c->batch, c->keys);
    for (int turn = 0; turn < KINDS; turn++) {
      int k = (turn + b) % KINDS;
      put_batch(&c->databases[k], c->keys, c->batch, &c->rows[k][row]);
    }
  }
  add_row(c, row);
  for (int k = 0; k < KINDS; k++) {
    times *t = &c->rows[k][row];
    t->wall = samples_median(&t->batches) * BATCHES;
    samples_free(&t->batches);
  }
}

static times total_of(const times rows[ROWS]) {
  times sum = {0};
  for (int r = 0; r < ROWS; r++) {
    sum.wall += rows[r].wall;
    sum.cpu += rows[r].cpu;
    sum.puts += rows[r].puts;
    sum.pages += rows[r].pages;
  }
  return sum;
}

static void report_times(report *numbers, const tested_database *f, const char *span,
                         const char *load, const times *t, const times *qf) {
  double puts = (double)t->puts;
  report_cell(numbers, "%s", span);
  report_cell(numbers, "%s", tested_database_filter_name(f));
  report_cell(numbers, "%s", load);
  report_cell(numbers, "%.0f", puts / t->wall);
  report_cell(numbers, "%.2f", qf->wall / t->wall);
  report_cell(numbers, "%.2f", t->cpu / puts * 1e6);
  report_cell(numbers, "%.3f", (double)t->pages / puts);
}

static void report_load(report *numbers, const put_run *c, int k, int row) {
  char load[16];
  snprintf(load, sizeof load, "%d", 100 * (row + 1) / (ROWS + 2));
  report_times(numbers, &c->databases[k], "load", load, &c->rows[k][row], &c->rows[QF][row]);
  for (int i = 0; i < 5; i++) report_cell(numbers, "%s", "");
}

/* The sums, and the store's counters. */
static void report_total(report *numbers, const put_run *c, int k) {
  times mine = total_of(c->rows[k]), qf = total_of(c->rows[QF]);
  besom_store_statistics s = tested_database_stats(&c->databases[k]);
  report_times(numbers, &c->databases[k], "all", "", &mine, &qf);
  report_cell(numbers, "%.1f", (double)s.bytes / (double)mine.puts);
  report_cell(numbers, "%llu", (unsigned long long)mine.puts);
  report_cell(numbers, "%llu", (unsigned long long)(s.appends + s.table_puts));
  report_cell(numbers, "%llu", (unsigned long long)(s.updates + s.removes));
  report_cell(numbers, "%llu", (unsigned long long)(s.reads + s.table_reads));
}

/* The clauses of the statement in order. */
static findings judge(put_run *c) {
  times aqf = total_of(c->rows[AQF]), qf = total_of(c->rows[QF]);
  besom_store_statistics s = tested_database_stats(&c->databases[AQF]);
  findings found = c->found;
  finding(&found, qf.wall / aqf.wall >= min_share_of_qf);
  finding(&found, s.appends + s.table_puts == aqf.puts &&
                      s.updates + s.removes + s.reads + s.table_reads == 0 &&
                      s.scans == c->scans[AQF]);
  finding(&found, c->rows[AQF][ROWS - 1].wall < c->rows[ACF][ROWS - 1].wall);
  return found;
}

static findings run(bool full, report *numbers) {
  uint64_t slots = (uint64_t)1 << (full ? 18 : 16);
  put_run *c = allocate(1, sizeof *c);
  c->batch = slots / (ROWS + 2) / BATCHES;
  c->keys = allocate(c->batch, sizeof *c->keys);
  for (int k = 0; k < KINDS; k++) {
    database_config config = {
        .database = LMDB, .kind = kind_of(k), .slots = slots, .durability = BESOM_DURABLE_BATCH};
    tested_database_open(&c->databases[k], &config);
    c->scans[k] = tested_database_stats(&c->databases[k]).scans;
  }
  for (int row = 0; row < ROWS; row++) fill_row(c, row);
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < KINDS; k++) report_load(numbers, c, k, row);
  for (int k = 0; k < KINDS; k++) report_total(numbers, c, k);
  findings all = judge(c);
  for (int k = 0; k < KINDS; k++) tested_database_close(&c->databases[k]);
  free(c->keys);
  free(c);
  return all;
}

static const char *const columns[] = {"span",
                                      "kind",
                                      "load_percent",
                                      "puts_per_second",
                                      "of_qf",
                                      "cpu_us",
                                      "pages_read_per_put",
                                      "bytes_per_key",
                                      "puts",
                                      "store_writes",
                                      "updates",
                                      "reads"};

static const plot plots[] = {{.title = "Puts into a database on disk",
                              .x = "load_percent",
                              .y = "puts_per_second",
                              .series = "kind",
                              .where = "span=load",
                              .x_label = "load factor (%)",
                              .y_label = "puts per second",
                              .log_y = true},
                             {.title = "Pages read from disk",
                              .x = "load_percent",
                              .y = "pages_read_per_put",
                              .series = "kind",
                              .where = "span=load",
                              .x_label = "load factor (%)",
                              .y_label = "pages per put"},
                             {0}};

const claim store_puts_claim = {
    .name = "store-puts",
    .title = "Inserting into a database on disk",
    .source = "adaptiveqf: Figure 5",
    .paper = "In front of a B-tree on disk all filters start at about the same speed. As they "
             "fill up, ACF and TQF fall behind, because they must update their reverse map: "
             "between 85 and 90 % the AQF inserts 5 times as fast as the ACF and 30 times as "
             "fast as the TQF.",
    .statement = "puts into LMDB through aqf are within 10 % of qf; each is one write, no update "
                 "and no read of the store; between 85 and 90 % load acf-cyclic is slower than aqf",
    .differs = "LMDB instead of SplinterDB's B-tree; 2^16 slots (full: 2^18; the paper's 2^25 "
               "would take many hours), in durable batches, after each of which the database is "
               "evicted from memory. Our taf needs no updates, so it does not fall behind; our "
               "acf-cyclic makes fewer than the paper's.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
