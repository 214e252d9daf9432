/*
 * Claim learnt-speed: what filters with notes have learnt does not slow down their negative queries by much. Filters
 * are filled by guards, asked once as they are and once when they have learnt from four different queries a key.
 */
#include "claims/claims.h"
#include "fail.h"
#include "harness/telescoping_peers.h"
#include "harness/timing.h"

enum { LESSONS = 4, CHUNK = 4096 };

static const int who[] = {QF, AQF, EXAF, TAF, UTAF};
enum { ASKED = sizeof who / sizeof *who };

static const double load = 0.9;

static void teach(tested_filter *l, uint64_t n) {
  key_stream absent = stream_absent(BENCH_SEED);
  uint64_t keys[CHUNK];
  for (uint64_t done = 0; done < n; done += CHUNK) {
    absent.generate(&absent, done, CHUNK, keys);
    for (size_t i = 0; i < CHUNK; i++) tested_filter_query(l, keys[i]);
  }
}

/* Nanoseconds a query for keys that were never asked. */
static void measure(const tested_filter *l, uint64_t queries, call_style style, uint64_t seed,
                    driver *d, samples *out) {
  uint64_t hits;
  key_stream absent = stream_absent(seed);
  samples_add(out,
              1e9 * drive_contains(d, l->filter, &absent, queries, style, &hits) / (double)queries);
}

typedef struct speeds {
  samples of[ASKED][2][CALL_STYLES]; /* fresh, and when it has learnt */
} speeds;

static void report_speeds(const speeds *s, report *numbers) {
  for (int c = 0; c < ASKED; c++) {
    report_cell(numbers, "%s", telescoping_peers[who[c]].name);
    for (int style = 0; style < CALL_STYLES; style++)
      for (int learnt = 0; learnt < 2; learnt++) {
        double mine = samples_median(&s->of[c][learnt][style]);
        report_cell(numbers, "%.1f", mine);
        report_cell(numbers, "%.2f", samples_median(&s->of[0][learnt][style]) / mine);
      }
  }
}

static void judge(const speeds *s, findings *found) {
  static const double wanted[ASKED] = {1, 0.5, 0.8, 0.5, 0.8};
  for (int c = 1; c < ASKED; c++)
    for (int learnt = 0; learnt < 2; learnt++)
      finding(found, samples_median(&s->of[0][learnt][SINGLE]) >=
                         wanted[c] * samples_median(&s->of[c][learnt][SINGLE]));
}

static findings run(bool full, report *numbers) {
  uint64_t slots = (uint64_t)1 << (full ? 22 : 18), queries = full ? 1 << 22 : 1 << 19;
  uint64_t members = (uint64_t)((double)slots * load);
  int rounds = full ? 9 : 5;
  driver d = driver_create();
  tested_filter learners[ASKED];
  speeds s = {0};
  for (int c = 0; c < ASKED; c++) {
    progress("filling %s", telescoping_peers[who[c]].name);
    learners[c] = telescoping_filter(&telescoping_peers[who[c]], slots, members, BENCH_SEED, &d);
  }
  for (int learnt = 0; learnt < 2; learnt++) {
    for (int c = 0; learnt && c < ASKED; c++) teach(&learners[c], members * LESSONS);
    for (int round = 0; round < rounds; round++)
      for (int style = 0; style < CALL_STYLES; style++)
        for (int c = 0; c < ASKED; c++)
          measure(&learners[c], queries, (call_style)style, random_at(BENCH_SEED, (uint64_t)round),
                  &d, &s.of[c][learnt][style]);
  }
  report_speeds(&s, numbers);
  findings found = {0};
  judge(&s, &found);
  for (int c = 0; c < ASKED; c++) {
    tested_filter_free(&learners[c]);
    for (int learnt = 0; learnt < 2; learnt++)
      for (int style = 0; style < CALL_STYLES; style++) samples_free(&s.of[c][learnt][style]);
  }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {
    "filter",         "fresh_ns",          "fresh_to_qf",     "learnt_ns",         "learnt_to_qf",
    "batch_fresh_ns", "batch_fresh_to_qf", "batch_learnt_ns", "batch_learnt_to_qf"};

static const plot plots[] = {
    {.title = "Negative queries before and after learning",
     .x = "filter",
     .y = "fresh_ns,learnt_ns,batch_fresh_ns,batch_learnt_ns",
     .x_label = "filter",
     .y_label = "nanoseconds a query",
     .bars = true},
    {0},
};

const claim learnt_speed_claim = {
    .name = "learnt-speed",
    .source = "besom",
    .statement = "negative queries, before and after learning from 4 queries a key: exaf and utaf "
                 "0.8 times as fast "
                 "as qf, aqf and taf 0.5 times",
    .differs = "2^18 slots, which caches hold (full: 2^22)",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
