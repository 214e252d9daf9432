/*
 * Claim store-puts: what a filter costs when keys are put into a database on disk, and how often each put goes to that
 * database. All kinds take turns, so that the machine's moods meet all alike. Each turn is a batch, durable at its end;
 * then all of the database is thrown out of memory (bench/disk.h), so that the next batch has to read every page that
 * it changes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "front.h"
#include "timing.h"

enum { ROWS = 9, BATCH = 512, KINDS = 6 }; /* a row for every tenth of the load */

static const char *const kinds[KINDS] = {"aqf", "taf", "acf-cyclic", "qf", "cf", NULL};
enum { AQF = 0, QF = 3 }; /* in kinds */

static const double least_share_of_qf = 0.9;

typedef struct times {
  samples batches;      /* wall time of each */
  double wall, cpu;     /* wall: the batches' median for each of them, so that no hiccup of the machine counts */
  uint64_t puts, pages; /* put; read from disk */
} times;

typedef struct contest {
  front fronts[KINDS];
  uint64_t scans[KINDS]; /* that opening has taken */
  times rows[KINDS][ROWS];
} contest;

static void put_batch(front *f, const uint64_t keys[BATCH], times *t) {
  uint64_t pages = disk_pages_read();
  double wall = wall_seconds(), cpu = cpu_seconds();
  front_begin(f);
  for (int i = 0; i < BATCH; i++) front_put(f, keys[i]);
  front_commit(f);
  samples_add(&t->batches, wall_seconds() - wall);
  t->cpu += cpu_seconds() - cpu;
  t->puts += BATCH;
  t->pages += disk_pages_read() - pages;
  disk_forget(f->directory);
}

static void fill_row(contest *c, int row, uint64_t batches) {
  key_stream members = stream_members(BENCH_SEED);
  uint64_t keys[BATCH];
  for (uint64_t b = 0; b < batches; b++) {
    progress("load %.1f: batch %llu", row / 10.0, (unsigned long long)b);
    members.generate(&members, ((uint64_t)row * batches + b) * BATCH, BATCH, keys);
    for (uint64_t turn = 0; turn < KINDS; turn++) {
      uint64_t k = (turn + b) % KINDS;
      put_batch(&c->fronts[k], keys, &c->rows[k][row]);
    }
  }
  for (int k = 0; k < KINDS; k++) {
    times *t = &c->rows[k][row];
    t->wall = samples_median(&t->batches) * (double)batches;
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

static void report_times(report *numbers, const front *f, const char *load, const times *t, const times *qf) {
  double puts = (double)t->puts;
  report_cell(numbers, "%s", front_name(f));
  report_cell(numbers, "%s", load);
  report_cell(numbers, "%.0f", puts / t->wall);
  report_cell(numbers, "%.2f", qf->wall / t->wall);
  report_cell(numbers, "%.2f", t->cpu / puts * 1e6);
  report_cell(numbers, "%.3f", (double)t->pages / puts);
}

static void report_load(report *numbers, const contest *c, int k, int row) {
  char load[16];
  snprintf(load, sizeof load, "%.1f", (row + 1) / 10.0);
  report_times(numbers, &c->fronts[k], load, &c->rows[k][row], &c->rows[QF][row]);
  for (int i = 0; i < 6; i++) report_cell(numbers, "-");
}

/* The sums, and what the store has counted. */
static bool report_total(report *numbers, const contest *c, int k) {
  times mine = total_of(c->rows[k]), qf = total_of(c->rows[QF]);
  besom_store_statistics s = front_stats(&c->fronts[k]);
  uint64_t writes = s.appends + s.table_puts, reads = s.reads + s.table_reads;
  report_times(numbers, &c->fronts[k], "all", &mine, &qf);
  report_cell(numbers, "%.1f", (double)s.bytes / (double)mine.puts);
  report_cell(numbers, "%llu", (unsigned long long)mine.puts);
  report_cell(numbers, "%llu", (unsigned long long)writes);
  report_cell(numbers, "%llu", (unsigned long long)(s.updates + s.removes));
  report_cell(numbers, "%llu", (unsigned long long)reads);
  bool holds = writes == mine.puts && s.updates + s.removes + reads == 0 && s.scans == c->scans[k];
  holds = k != AQF || (holds && qf.wall / mine.wall >= least_share_of_qf);
  report_cell(numbers, "%s", k != AQF ? "-" : holds ? "yes" : "no");
  return holds;
}

static verdict run(bool full, report *numbers) {
  uint64_t slots = (uint64_t)1 << (full ? 18 : 16);
  contest *c = allocate(1, sizeof *c);
  for (int k = 0; k < KINDS; k++) {
    front_config config = {.database = LMDB, .kind = kinds[k], .slots = slots, .durability = BESOM_DURABLE_BATCH};
    front_open(&c->fronts[k], &config);
    c->scans[k] = front_stats(&c->fronts[k]).scans;
  }
  for (int row = 0; row < ROWS; row++) fill_row(c, row, slots / 10 / BATCH);
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < KINDS; k++) report_load(numbers, c, k, row);
  findings found = {0};
  for (int k = 0; k < KINDS; k++) finding(&found, report_total(numbers, c, k));
  for (int k = 0; k < KINDS; k++) front_close(&c->fronts[k]);
  free(c);
  return verdict_of(&found);
}

static const char *const columns[] = {"kind",        "load", "puts_per_second", "of_qf",   "cpu_us", "pages_read_a_put",
                                      "bytes_a_key", "puts", "store_writes",    "updates", "reads",  "holds"};

const claim store_puts_claim = {
    .name = "store-puts",
    .source = "adaptiveqf: Figure 5, Table 1",
    .statement =
        "puts into LMDB through aqf are within 10 % of qf; each is one write, no update and no read of the store",
    .timed = true,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
