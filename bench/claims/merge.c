/* Claim merge: two half-full tables are merged at memory speed. */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"
#include "harness/timing.h"

enum { ROUNDS = 3, WIDTH = 8 };

static const double wanted_speed = 60; /* million items per second, of both filters together */
static const double load_each = 0.45;

static double merge(const besom_filter *a, const besom_filter *b, besom_filter **out) {
  double start = cpu_seconds();
  besom_status status = besom_merge(a, b, out);
  double seconds = cpu_seconds() - start;
  check(status, "merging");
  return seconds;
}

static bool test_kind(const char *kind, uint64_t slots, driver *d, report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = kind, .slots = slots, .width = WIDTH, .seed = seed};
  uint64_t each = (uint64_t)((double)slots * load_each);
  key_stream members = stream_members(BENCH_SEED);
  besom_filter *a = drive_filled(d, &config, &members, each), *b;
  check(besom_create_like(a, &b), "creating another %s", kind);
  drive_insert(d, b, &members, each, each, BATCH);

  samples seconds = {0};
  for (int round = 0; round < ROUNDS; round++) {
    progress("%s at %llu slots, round %d of %d", kind, (unsigned long long)slots, round + 1,
             ROUNDS);
    besom_filter *merged;
    samples_add(&seconds, merge(a, b, &merged));
    if (round == 0) drive_check(d, merged, &members, 2 * each);
    besom_free(merged);
  }
  besom_free(a);
  besom_free(b);

  /* other load on the machine can only slow a round down */
  double speed = 1e-6 * 2 * (double)each / samples_quantile(&seconds, 0);
  samples_free(&seconds);
  bool holds = speed >= wanted_speed;
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%llu", (unsigned long long)slots);
  report_cell(numbers, "%llu", (unsigned long long)(2 * each));
  report_cell(numbers, "%.1f", speed);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static findings run(bool full, report *numbers) {
  driver d = driver_create();
  findings found = {0};
  for (int log_slots = 22; log_slots <= (full ? 26 : 22); log_slots += 4) {
    const besom_kind_info *kind;
    for (size_t i = 0; (kind = besom_kinds(i)) != NULL; i++)
      if ((kind->abilities & BESOM_CAN_MERGE) && (kind->abilities & BESOM_CAN_BUILD_SORTED))
        finding(&found, test_kind(kind->name, (uint64_t)1 << log_slots, &d, numbers));
  }
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"kind", "slots", "items", "million_per_second", "holds"};

static const plot plots[] = {{.title = "Items merged per second",
                              .x = "kind",
                              .y = "million_per_second",
                              .series = "slots",
                              .x_label = "filter",
                              .y_label = "million items per second",
                              .bars = true},
                             {0}};

const claim merge_claim = {
    .name = "merge",
    .title = "Merging filters",
    .source = "besom",
    .statement = "two tables at a load factor of 0.45 are merged at 60 million items per second or "
                 "more",
    .differs = "2^22 slots (full: also 2^26), the fastest of 3 rounds. The paper's own figures "
               "are in claim building.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
