/* Claim rate: the FPR of a full filter does not exceed its target. */
#include <math.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"

enum { FIRST_BITS = 4, LAST_BITS = 16 };

static const double tolerance = 1.1;

typedef struct effort {
  uint64_t keys;
  double false_positives; /* expected number: it determines the error of the measured FPR */
  int step;               /* in bits, from one target to the next */
} effort;

static const effort quick = {.keys = 1 << 17, .false_positives = 800, .step = 4};
static const effort thorough = {.keys = 1 << 23, .false_positives = 10000, .step = 2};

/*
 * Whether a filter that meets its target can have this many false positives, within three standard
 * errors.
 */
static bool is_plausible(uint64_t hits, double expected) {
  double allowed = tolerance * expected;
  return (double)hits <= allowed + 3 * sqrt(allowed);
}

static bool test_rate(const char *kind, double rate, effort size, driver *d, report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = kind, .capacity = size.keys, .fpr = rate, .seed = seed};
  key_stream members = stream_members(BENCH_SEED), absent = stream_absent(BENCH_SEED);
  besom_filter *f = drive_filled(d, &config, &members, size.keys);

  uint64_t queries = (uint64_t)(size.false_positives / rate), hits;
  drive_contains(d, f, &absent, queries, BATCH, &hits);
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  besom_free(f);

  double measured = (double)hits / (double)queries;
  bool holds = is_plausible(hits, size.false_positives);
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%.4g", rate);
  report_cell(numbers, "%.4g", stats.expected_fpr);
  report_cell(numbers, "%.4g", measured);
  report_cell(numbers, "%.3f", measured / rate);
  report_cell(numbers, "%.2f", stats.bits_per_key);
  report_cell(numbers, "%llu", (unsigned long long)queries);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static findings run(bool full, report *numbers) {
  effort size = full ? thorough : quick;
  driver d = driver_create();
  findings found = {0};
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)) != NULL; i++) {
    if (needs_store(kind)) continue;
    for (int bits = FIRST_BITS; bits <= LAST_BITS; bits += size.step) {
      progress("%s at an FPR of 2^-%d", kind->name, bits);
      finding(&found, test_rate(kind->name, ldexp(1, -bits), size, &d, numbers));
    }
  }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {
    "kind",         "target",  "expected", "measured", "measured_to_target",
    "bits_per_key", "queries", "holds"};

static const plot plots[] = {{.title = "Measured FPR at a target of 1/256",
                              .x = "kind",
                              .y = "measured_to_target",
                              .where = "target=0.003906",
                              .x_label = "kind",
                              .y_label = "measured FPR / target FPR",
                              .bars = true},
                             {.title = "Memory at an FPR of 1/256",
                              .x = "kind",
                              .y = "bits_per_key",
                              .where = "target=0.003906",
                              .x_label = "kind",
                              .y_label = "bits per key",
                              .bars = true},
                             {0}};

const claim rate_claim = {
    .name = "rate",
    .title = "The false-positive rate that was asked for",
    .source = "besom",
    .statement = "the measured FPR of a full filter is at most 1.1 times its target, for targets "
                 "from 1/16 to 1/65536",
    .differs =
        "2^23 keys and every second power of two; quick has 2^17 keys, every fourth power of two, "
        "and 800 expected false positives: the FPR is known to about 10 %, which is "
        "allowed for.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
