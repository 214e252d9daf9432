/*
 * Claim exaf-speed: queries of an extension filter against those of a telescoping filter, in
 * interleaved rounds. Before a false positive is reported, both are quotient filters; taf must
 * decode selectors in every block that has some, exaf only where a remainder matches.
 */
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/interval.h"
#include "harness/telescoping_peers.h"
#include "harness/timing.h"

enum { ROUNDS = 15, QUERIES = 100000 };

static const double loads[] = {0.5, 0.95}, paper_factor = 2;
enum { LOADS = sizeof loads / sizeof *loads, FORMS = 2 };
static const char *const forms[FORMS] = {"form=published", "form=default"};

/* A table that has adapted to `adapted` queried keys per member. */
static tested_filter create(telescoping_peer peer, const char *options, uint64_t slots, double load,
                            double adapted, driver *d) {
  uint64_t members = (uint64_t)(load * (double)slots);
  peer.options = options;
  tested_filter tested = telescoping_filter(&peer, slots, members, BENCH_SEED, d);
  key_stream absent = stream_absent(BENCH_SEED);
  for (uint64_t i = 0; i < (uint64_t)(adapted * (double)members); i++) {
    uint64_t key;
    absent.generate(&absent, i, 1, &key);
    tested_filter_query(&tested, key);
  }
  return tested;
}

static double nanoseconds(const besom_filter *f, const uint64_t *keys) {
  double start = cpu_seconds();
  uint64_t hits = 0;
  for (int i = 0; i < QUERIES; i++) hits += besom_contains_u64(f, keys[i]);
  double seconds = cpu_seconds() - start;
  if (hits == QUERIES) fail("every query is a false positive");
  return 1e9 * seconds / QUERIES;
}

static void test(const char *options, uint64_t slots, double load, double adapted, driver *d,
                 findings *found, report *numbers) {
  tested_filter exaf = create(telescoping_peers[EXAF], options, slots, load, adapted, d);
  tested_filter taf = create(telescoping_peers[TAF], options, slots, load, adapted, d);
  uint64_t *keys = allocate(QUERIES, sizeof *keys);
  key_stream absent = stream_absent(~(uint64_t)BENCH_SEED);
  samples ratios = {0}, times[2] = {{0}, {0}};
  for (int round = 0; round < ROUNDS; round++) {
    absent.generate(&absent, (uint64_t)round * QUERIES, QUERIES, keys);
    samples_add(&times[0], nanoseconds(exaf.filter, keys));
    samples_add(&times[1], nanoseconds(taf.filter, keys));
    samples_add(&ratios, times[1].values[round] / times[0].values[round]);
    if (adapted > 0 && options == forms[0] && load == loads[LOADS - 1])
      add_factor(found, "exaf-factor-2", ratios.values[round]);
  }
  interval ratio = interval_of(&ratios);
  report_cell(numbers, "%s", options);
  report_cell(numbers, "%g", load);
  report_cell(numbers, "%g", adapted);
  report_cell(numbers, "%.1f", samples_median(&times[0]));
  report_cell(numbers, "%.1f", samples_median(&times[1]));
  interval_report(ratio, numbers);
  if (adapted > 0 && options == forms[0]) finding(found, ratio.high >= 0.8 * paper_factor);
  samples_free(&ratios);
  samples_free(&times[0]);
  samples_free(&times[1]);
  free(keys);
  tested_filter_free(&exaf);
  tested_filter_free(&taf);
}

static findings run(bool full, report *numbers) {
  uint64_t slots = full ? 1 << 22 : 1 << 15;
  findings found = {0};
  driver d = driver_create();
  for (int form = 0; form < FORMS; form++)
    for (int i = 0; i < LOADS; i++)
      for (double adapted = 0; adapted <= 10; adapted += 10) {
        progress("%s, load factor %g", forms[form], loads[i]);
        test(forms[form], slots, loads[i], adapted, &d, &found, numbers);
      }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {
    "form", "load_factor", "queried_before", "exaf_ns", "taf_ns", "taf_per_exaf", "low", "high"};

static const plot plots[] = {{.title = "Time of a query of taf relative to exaf",
                              .x = "load_factor",
                              .y = "taf_per_exaf",
                              .series = "form,queried_before",
                              .x_label = "load factor",
                              .y_label = "time of taf / time of exaf"},
                             {0}};

const claim exaf_speed_claim = {
    .name = "exaf-speed",
    .title = "Queries of extension filters and telescoping filters",
    .source = "telescoping: Section 1",
    .paper = "The query performance of the exAF is a factor of 2 better than that of the TAF.",
    .statement = "in the published forms, after 10 queried keys per member, exaf answers negative "
                 "queries 2 times as fast as taf (the 95 % interval over rounds reaches 1.6)",
    .differs = "Uniform queries, tables of 2^15 slots (full: 2^22; the paper: 2^24). Both kinds "
               "have flags that skip blocks without metadata, which the authors' code does not.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
