/* Claim store-pauses: how long a guard over LMDB pauses for each step of a rekey. */
#include "claims/claims.h"
#include "fail.h"
#include "harness/tested_database.h"
#include "harness/timing.h"

static const uint64_t step_sizes[] = {64, 1024};

static samples rekey(besom_guard *g, uint64_t step_items, double *begin) {
  samples pauses = {0};
  bool finished = false;
  double start = wall_seconds();
  check(besom_guard_rekey(g), "starting to rekey");
  *begin = wall_seconds() - start;
  while (!finished) {
    start = wall_seconds();
    check(besom_guard_step(g, step_items, &finished), "a step");
    samples_add(&pauses, wall_seconds() - start);
    if (pauses.count % 1024 == 0)
      progress("%zu steps of %llu", pauses.count, (unsigned long long)step_items);
  }
  return pauses;
}

static bool test_steps(tested_database *f, uint64_t keys, uint64_t step_items, report *numbers) {
  besom_guard_statistics before, after;
  check(besom_guard_stats(f->guard, &before), "statistics of a guard");
  double begin, sum = 0;
  samples pauses = rekey(f->guard, step_items, &begin);
  for (size_t i = 0; i < pauses.count; i++) sum += pauses.values[i];
  check(besom_guard_stats(f->guard, &after), "statistics of a guard");
  bool holds = after.largest_step <= step_items && after.step_items - before.step_items == keys &&
               after.keys == keys;
  report_cell(numbers, "%llu", (unsigned long long)keys);
  report_cell(numbers, "%llu", (unsigned long long)step_items);
  report_cell(numbers, "%llu", (unsigned long long)after.largest_step);
  report_cell(numbers, "%zu", pauses.count);
  report_cell(numbers, "%.2f", 1000 * begin);
  report_cell(numbers, "%.2f", 1000 * samples_median(&pauses));
  report_cell(numbers, "%.2f", 1000 * samples_quantile(&pauses, 0.99));
  report_cell(numbers, "%.2f", 1000 * samples_quantile(&pauses, 1));
  report_cell(numbers, "%.1f", sum);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  samples_free(&pauses);
  return holds;
}

static findings run(bool full, report *numbers) {
  uint64_t keys = full ? 2500000 : 100000;
  tested_database f;
  tested_database_open(&f, &(database_config){.database = LMDB,
                                              .kind = "aqf",
                                              .slots = keys / 9 * 10 + 10,
                                              .durability = BESOM_DURABLE_BATCH});
  progress("filling");
  tested_database_fill(&f, 0, keys);
  findings found = {0};
  for (size_t i = 0; i < sizeof step_sizes / sizeof *step_sizes; i++)
    finding(&found, test_steps(&f, keys, step_sizes[i], numbers));
  tested_database_close(&f);
  return found;
}

static const char *const columns[] = {"keys",        "items_per_step", "largest_step", "steps",
                                      "begin_ms",    "median_ms",      "p99_ms",       "max_ms",
                                      "sum_seconds", "holds"};

static const plot plots[] = {{.title = "Pause per step",
                              .x = "items_per_step",
                              .y = "median_ms,p99_ms,max_ms",
                              .x_label = "entries per step",
                              .y_label = "milliseconds",
                              .log_y = true,
                              .bars = true},
                             {0}};

const claim store_pauses_claim = {
    .name = "store-pauses",
    .title = "Pauses while a database is served",
    .source = "besom",
    .statement = "a guard rekeys in steps that move at most k entries each, every key once",
    .differs = "2.5 * 10^6 keys, quick 10^5. Pauses are wall time and depend on the disk: they are "
               "shown, but not part of the verdict.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
