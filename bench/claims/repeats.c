/* Claim repeats: a false positive that was reported once is rarely repeated, and never by aqf. */
#include <string.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/tested_filter.h"

enum { KEYS = 100000, OFFENDERS = 2000, CHUNK = 4096 };

static const double max_repeated = 1.0 / 3;

static const struct {
  const char *kind, *options;
} filters[] = {{"aqf", NULL},
               {"acf-cyclic", "selector_bits=1"},
               {"acf-cyclic", "selector_bits=2"},
               {"acf-cyclic", "selector_bits=3"},
               {"acf-swapping", NULL},
               {"acf-cuckooing", NULL}};

/* Collects the first false positives among the absent keys. Each is reported at once. */
static void collect(tested_filter *tested, uint64_t *offenders) {
  key_stream absent = stream_absent(BENCH_SEED);
  uint64_t keys[CHUNK], done = 0;
  for (size_t n = 0; n < OFFENDERS; done += CHUNK) {
    absent.generate(&absent, done, CHUNK, keys);
    for (size_t i = 0; i < CHUNK && n < OFFENDERS; i++)
      if (tested_filter_query(tested, keys[i])) offenders[n++] = keys[i];
  }
}

static uint64_t moved_by(const tested_filter *tested) {
  besom_guard_statistics stats;
  check(besom_guard_stats(tested->guard, &stats), "statistics of a guard");
  return stats.moved;
}

static bool test_filter(size_t filter, report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = filters[filter].kind,
                         .options = filters[filter].options,
                         .capacity = KEYS,
                         .fpr = 1.0 / 256,
                         .seed = seed};
  progress("%s", config.kind);
  tested_filter tested = tested_filter_create_guard(&config, BENCH_SEED, KEYS);
  uint64_t moved = moved_by(&tested), offenders[OFFENDERS], repeated = 0;
  collect(&tested, offenders);
  for (size_t n = 0; n < OFFENDERS; n++)
    repeated += besom_contains_u64(tested.filter, offenders[n]);
  double share = (double)repeated / OFFENDERS;
  bool holds = strcmp(config.kind, "aqf") ? share <= max_repeated : repeated == 0;
  report_cell(numbers, "%s", config.kind);
  report_cell(numbers, "%s", config.options ? config.options : "");
  report_cell(numbers, "%d", OFFENDERS);
  report_cell(numbers, "%.4f", share);
  report_cell(numbers, "%llu", (unsigned long long)(moved_by(&tested) - moved));
  report_cell(numbers, "%llu", (unsigned long long)tested.reserve_full);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  tested_filter_free(&tested);
  return holds;
}

static findings run(bool full, report *numbers) {
  (void)full;
  findings found = {0};
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    finding(&found, test_filter(i, numbers));
  return found;
}

static const char *const columns[] = {"kind",          "options",      "reported", "repeated",
                                      "records_moved", "reserve_full", "holds"};

const claim repeats_claim = {
    .name = "repeats",
    .title = "A reported false positive does not repeat",
    .source = "besom",
    .statement = "of false positives reported once to a full filter, aqf repeats none and adaptive "
                 "cuckoo kinds repeat few",
    .differs = "100 thousand keys, both quick and full.",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
