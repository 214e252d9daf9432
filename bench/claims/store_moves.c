/* Claim store-moves: what keeping a store in step costs while a filter fills up. */
#include <string.h>

#include "claims/claims.h"
#include "fail.h"
#include "learner.h"

static const double load = 0.9;

static const struct {
  const char *kind, *options;
} filters[] = {{"aqf", NULL}, {"acf-cyclic", "selector_bits=1"}, {"acf-swapping", NULL}, {"acf-cuckooing", NULL}};

static bool test_filter(size_t filter, uint64_t keys, report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = filters[filter].kind,
                         .options = filters[filter].options,
                         .capacity = (uint64_t)((double)keys * 0.95 / load),
                         .rate = 1.0 / 256,
                         .seed = seed};
  progress("%s, %llu keys", config.kind, (unsigned long long)keys);
  learner l = learner_create_guard(&config, BENCH_SEED, keys);
  besom_guard_statistics stats;
  check(besom_guard_stats(l.guard, &stats), "statistics of a guard");
  bool holds = strcmp(config.kind, "aqf") || (stats.moved == 0 && stats.filter_reads == 0);
  report_cell(numbers, "%s", config.kind);
  report_cell(numbers, "%llu", (unsigned long long)stats.puts);
  report_cell(numbers, "%.3f", learner_stats(&l).load);
  report_cell(numbers, "%llu", (unsigned long long)stats.moved);
  report_cell(numbers, "%llu", (unsigned long long)stats.filter_reads);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  learner_free(&l);
  return holds;
}

static verdict run(bool full, report *numbers) {
  findings found = {0};
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    finding(&found, test_filter(i, (uint64_t)(load * (full ? 1 << 24 : 1 << 20)), numbers));
  return verdict_of(&found);
}

static const char *const columns[] = {"kind", "inserts", "load", "records_moved", "further_reads", "holds"};

const claim store_moves_claim = {
    .name = "store-moves",
    .source = "adaptiveqf: Table 1",
    .statement = "filling aqf reads and moves nothing in the store; the adaptive cuckoo kinds do both",
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
