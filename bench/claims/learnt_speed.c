/*
 * Claim learnt-speed: adaptation does not slow down the negative queries of filters with slot
 * metadata by much. Filters are filled by guards, and queried before and after they have adapted to
 * four distinct queries per key.
 */
#include "claims/claims.h"
#include "fail.h"
#include "harness/telescoping_peers.h"
#include "harness/timing.h"

enum { QUERIES_PER_KEY = 4, CHUNK = 4096 };

/* Besom's own forms. */
static const telescoping_peer measured[] = {{"qf", "qf", NULL, ADAPT_NEVER, 0.95, 8, 0},
                                            {"aqf", "aqf", NULL, ADAPT_STORE, 0.9, 8, 0},
                                            {"exaf", "exaf", NULL, ADAPT_STORE, 0.95, 8, 0},
                                            {"taf", "taf", NULL, ADAPT_STORE, 0.95, 8, 0},
                                            {"utaf", "utaf", NULL, ADAPT_STORE, 0.95, 8, 0}};
enum { MEASURED = sizeof measured / sizeof *measured };

static const double load = 0.9;

static void adapt_to_queries(tested_filter *tested, uint64_t n) {
  key_stream absent = stream_absent(BENCH_SEED);
  uint64_t keys[CHUNK];
  for (uint64_t done = 0; done < n; done += CHUNK) {
    absent.generate(&absent, done, CHUNK, keys);
    for (size_t i = 0; i < CHUNK; i++) tested_filter_query(tested, keys[i]);
  }
}

/* Nanoseconds per query, for keys that were never queried before. */
static void measure(const tested_filter *tested, uint64_t n, call_style style, uint64_t seed,
                    driver *d, samples *out) {
  uint64_t hits;
  key_stream absent = stream_absent(seed);
  samples_add(out, 1e9 * drive_contains(d, tested->filter, &absent, n, style, &hits) / (double)n);
}

typedef struct speeds {
  samples of[MEASURED][2][CALL_STYLES]; /* before and after adapting */
} speeds;

static void report_speeds(const speeds *s, report *numbers) {
  for (int c = 0; c < MEASURED; c++) {
    report_cell(numbers, "%s", measured[c].name);
    for (int style = 0; style < CALL_STYLES; style++)
      for (int adapted = 0; adapted < 2; adapted++) {
        double mine = samples_median(&s->of[c][adapted][style]);
        report_cell(numbers, "%.1f", mine);
        report_cell(numbers, "%.2f", samples_median(&s->of[0][adapted][style]) / mine);
      }
  }
}

static void judge(const speeds *s, findings *found) {
  static const double wanted[MEASURED] = {1, 0.5, 0.8, 0.5, 0.8};
  for (int c = 1; c < MEASURED; c++)
    for (int adapted = 0; adapted < 2; adapted++)
      finding(found, samples_median(&s->of[0][adapted][SINGLE]) >=
                         wanted[c] * samples_median(&s->of[c][adapted][SINGLE]));
}

static findings run(bool full, report *numbers) {
  uint64_t slots = (uint64_t)1 << (full ? 22 : 18), n = full ? 1 << 22 : 1 << 19;
  uint64_t members = (uint64_t)((double)slots * load);
  int rounds = full ? 9 : 5;
  driver d = driver_create();
  tested_filter filters[MEASURED];
  speeds s = {0};
  for (int c = 0; c < MEASURED; c++) {
    progress("filling %s", measured[c].name);
    filters[c] = telescoping_filter(&measured[c], slots, members, BENCH_SEED, &d);
  }
  for (int adapted = 0; adapted < 2; adapted++) {
    for (int c = 0; adapted && c < MEASURED; c++)
      adapt_to_queries(&filters[c], members * QUERIES_PER_KEY);
    for (int round = 0; round < rounds; round++)
      for (int style = 0; style < CALL_STYLES; style++)
        for (int c = 0; c < MEASURED; c++)
          measure(&filters[c], n, (call_style)style, random_at(BENCH_SEED, (uint64_t)round), &d,
                  &s.of[c][adapted][style]);
  }
  report_speeds(&s, numbers);
  findings found = {0};
  judge(&s, &found);
  for (int c = 0; c < MEASURED; c++) {
    tested_filter_free(&filters[c]);
    for (int adapted = 0; adapted < 2; adapted++)
      for (int style = 0; style < CALL_STYLES; style++) samples_free(&s.of[c][adapted][style]);
  }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"filter",
                                      "fresh_ns",
                                      "fresh_to_qf",
                                      "adapted_ns",
                                      "adapted_to_qf",
                                      "batch_fresh_ns",
                                      "batch_fresh_to_qf",
                                      "batch_adapted_ns",
                                      "batch_adapted_to_qf"};

static const plot plots[] = {
    {.title = "Negative queries before and after adapting",
     .x = "filter",
     .y = "fresh_ns,adapted_ns,batch_fresh_ns,batch_adapted_ns",
     .x_label = "filter",
     .y_label = "nanoseconds per query",
     .bars = true},
    {0},
};

const claim learnt_speed_claim = {
    .name = "learnt-speed",
    .title = "Speed of a filter after it has learnt",
    .source = "besom",
    .statement = "negative queries, before and after adapting to 4 queries per key: exaf and utaf "
                 "are 0.8 times as fast as qf, aqf and taf 0.5 times",
    .differs = "2^18 slots, which fit the caches (full: 2^22)",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
