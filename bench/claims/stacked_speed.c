/*
 * Claim stacked-speed: queries of a stacked filter and of its base kind alone, in the same memory,
 * in one run. The negative queries are for unknown keys, the most expensive case for a stacked
 * filter; Zipf 0.75, 12 bits per member.
 */
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"
#include "harness/stacked_setup.h"
#include "harness/timing.h"

static const double bits = 12, min_negative = 0.85, min_positive = 0.5;
static const char *const bases[] = {"bloom", "cf", "qf", "fuse"};

enum { POSITIVE, NEGATIVE, SIGNS };

typedef struct speeds {
  samples of[SIGNS][CALL_STYLES][2]; /* nanoseconds; of the base, of the stack */
  /* ratio of the two in one round: a slow moment affects both */
  samples relative[SIGNS][CALL_STYLES];
} speeds;

static void measure(besom_filter *const *filters, const key_stream *stream, int sign,
                    uint64_t queries, driver *d, speeds *s) {
  for (int style = 0; style < CALL_STYLES; style++) {
    double ns[2];
    for (int which = 0; which < 2; which++) {
      uint64_t hits;
      ns[which] = 1e9 *
                  drive_contains(d, filters[which], stream, queries, (call_style)style, &hits) /
                  (double)queries;
      if (sign == POSITIVE && hits != queries) fail("a member was answered no");
      samples_add(&s->of[sign][style][which], ns[which]);
    }
    samples_add(&s->relative[sign][style], ns[0] / ns[1]);
  }
}

static void report_speeds(const char *base, speeds *s, findings *found, report *numbers) {
  static const char *const names[SIGNS][CALL_STYLES] = {{"positive", "positive_batch"},
                                                        {"negative", "negative_batch"}};
  for (int sign = 0; sign < SIGNS; sign++)
    for (int style = 0; style < CALL_STYLES; style++) {
      samples *of = s->of[sign][style];
      double relative = samples_median(&s->relative[sign][style]);
      bool fast = relative >= (sign == NEGATIVE ? min_negative : min_positive);
      report_cell(numbers, "%s", base);
      report_cell(numbers, "%s", names[sign][style]);
      report_cell(numbers, "%.1f", samples_median(&of[0]));
      report_cell(numbers, "%.1f", samples_median(&of[1]));
      report_cell(numbers, "%.2f", relative);
      report_cell(numbers, "%s", fast ? "yes" : "no");
      finding(found, fast);
      samples_free(&of[0]);
      samples_free(&of[1]);
      samples_free(&s->relative[sign][style]);
    }
}

static void try_base(const stacked_setup *s, const char *base, besom_workload *w, bool full,
                     driver *d, findings *found, report *numbers) {
  uint64_t queries = full ? 1 << 20 : 1 << 18;
  besom_filter *filters[2] = {setup_base(s, base, bits, BENCH_SEED, NULL),
                              setup_stacked(s, base, NULL, bits, BENCH_SEED, w, NULL)};
  key_stream members = stream_lookups(BENCH_SEED, s->members),
             absent = stream_absent(BENCH_SEED + 1);
  speeds speed;
  memset(&speed, 0, sizeof speed);
  for (int round = 0; round < (full ? 15 : 5); round++) {
    progress("%s, round %d", base, round + 1);
    measure(filters, &members, POSITIVE, queries, d, &speed);
    measure(filters, &absent, NEGATIVE, queries, d, &speed);
  }
  besom_free(filters[0]);
  besom_free(filters[1]);
  report_speeds(base, &speed, found, numbers);
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 1000000 : 2000000, universe = full ? 100000000 : 8000000;
  stacked_setup s = setup_zipf(0.75, members, universe);
  driver d = driver_create();
  findings found = {0};
  besom_workload *w = setup_sample(&s, universe / 8);
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    try_base(&s, bases[i], w, full, &d, &found, numbers);
  besom_workload_free(w);
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"base", "queries", "base_ns", "stacked_ns", "speed", "holds"};

static const plot plots[] = {
    {.title = "Speed of stacked filters relative to their bases (as Figures 3b, f, j)",
     .x = "base",
     .y = "speed",
     .series = "queries",
     .x_label = "kind of the layers",
     .y_label = "speed relative to one filter of the base kind",
     .bars = true},
    {0}};

const claim stacked_speed_claim = {
    .name = "stacked-speed",
    .title = "Query speed of stacked and learned filters",
    .source = "stacked-filters: Figure 3",
    .paper = "Negative queries take a stacked filter as long as one Bloom filter, positive ones "
             "about 1.5 times as long; overall 1 to 2 times (3b, f, j).",
    .statement = "stacked filters answer negative queries at 0.85 times the speed of their base "
                 "kind or more, positive ones at half the speed or more",
    .differs = "Integers queried by Zipf 0.75 at 12 bits per member; 10^6 members and 10^8 absent "
               "keys, as in the paper; quick 2 * 10^6 and 8 * 10^6. The closer to the processor a "
               "filter fits, the more further layers count relative to memory latency. Four kinds "
               "of layers, not only Bloom filters, and "
               "also batches. stacked-total also has learned filters.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
