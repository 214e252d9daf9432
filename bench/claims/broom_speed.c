/*
 * Claim broom-speed: queries of a broom filter against those of a quotient filter and of a cuckoo
 * filter, in interleaved rounds.
 */
#include <string.h>

#include "claims/claims.h"
#include "harness/interval.h"
#include "harness/telescoping_peers.h"
#include "harness/timing.h"

enum { ROUNDS = 15, QUERIES = 100000, SIDES = 3 };

static const double load = 0.9, least_speed = 0.8;
static const char *const forms[] = {"form=published", "form=default"};
static const double queried_before[] = {0, 1, 10};
enum { FORMS = sizeof forms / sizeof *forms, STATES = sizeof queried_before / sizeof(double) };

typedef struct trio {
  tested_filter sides[SIDES]; /* qf, broom, cf */
} trio;

/* The filters, after `queried` queries per member; broom has adapted to their false positives. */
static trio trio_create(const char *options, uint64_t slots, double queried, driver *d) {
  static const int kinds[SIDES] = {QF, BROOM, CF};
  uint64_t members = (uint64_t)(load * (double)slots);
  key_stream absent = stream_absent(BENCH_SEED);
  trio t;
  for (int i = 0; i < SIDES; i++) {
    telescoping_peer peer = telescoping_peers[kinds[i]];
    if (kinds[i] == BROOM) peer.options = options;
    t.sides[i] = telescoping_filter(&peer, slots, members, BENCH_SEED, d);
  }
  for (uint64_t i = 0; i < (uint64_t)(queried * (double)members); i++) {
    uint64_t key;
    absent.generate(&absent, i, 1, &key);
    tested_filter_query(&t.sides[1], key);
  }
  return t;
}

static void test(const char *options, uint64_t slots, double queried, driver *d, findings *found,
                 report *numbers) {
  trio t = trio_create(options, slots, queried, d);
  key_stream absent = stream_absent(~(uint64_t)BENCH_SEED);
  samples speeds = {0}, times[SIDES] = {{0}, {0}, {0}};
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < SIDES; i++) {
      uint64_t hits;
      double seconds = drive_contains(d, t.sides[i].filter, &absent, QUERIES, SINGLE, &hits);
      samples_add(&times[i], 1e9 * seconds / QUERIES);
    }
    samples_add(&speeds, times[0].values[round] / times[1].values[round]);
    if (strcmp(options, forms[0]) != 0 || queried != 1) continue;
    add_factor(found, "aoc-broom-speed", speeds.values[round]);
    add_factor(found, "aoc-qf-faster", times[2].values[round] / times[0].values[round]);
  }
  interval speed = interval_of(&speeds);
  report_cell(numbers, "%s", options);
  report_cell(numbers, "%g", queried);
  for (int i = 0; i < SIDES; i++) report_cell(numbers, "%.1f", samples_median(&times[i]));
  interval_report(speed, numbers);
  finding(found, speed.high >= least_speed);
  samples_free(&speeds);
  for (int i = 0; i < SIDES; i++) {
    samples_free(&times[i]);
    tested_filter_free(&t.sides[i]);
  }
}

static findings run(bool full, report *numbers) {
  uint64_t slots = full ? 1 << 22 : 1 << 15;
  findings found = {0};
  driver d = driver_create();
  for (int form = 0; form < FORMS; form++)
    for (int i = 0; i < STATES; i++) {
      progress("%s, %g queries per member before", forms[form], queried_before[i]);
      test(forms[form], slots, queried_before[i], &d, &found, numbers);
    }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"form",  "queried_before", "qf_ns", "broom_ns",
                                      "cf_ns", "of_qf",          "low",   "high"};

static const plot plots[] = {{.title = "Speed of a broom filter relative to a quotient filter",
                              .x = "queried_before",
                              .y = "of_qf",
                              .series = "form",
                              .x_label = "queries per member before",
                              .y_label = "time of qf / time of broom"},
                             {0}};

const claim broom_speed_claim = {
    .name = "broom-speed",
    .title = "Queries of a broom filter and of a quotient filter",
    .source = "adapt-or-cache: Section 1, Section 4",
    .paper = "The implementation of the broom filter is quite slow; a broom filter that is as fast "
             "as a quotient filter is future work. The quotient filter is faster than the cuckoo "
             "filter.",
    .statement = "negative queries of broom, before and after it has adapted, have at least 0.8 of "
                 "the speed of those of qf (the 95 % interval over rounds reaches it)",
    .differs = "Uniform queries, 8-bit remainders, load factor 0.9, tables of 2^15 slots (full: "
               "2^22). The sentence is judged in the published form, after one query per member.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
