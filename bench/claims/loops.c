/* Claim loops: who goes round some queries can make filters with selectors err for ever, and never aqf. */
#include "claims/claims.h"
#include "workloads/loop_hunter.h"

static const double rate = 1.0 / 32;

typedef struct prey {
  const char *name, *kind, *options;
  double reserve; /* 0 for the default */
} prey;

/* Many false positives in few members: aqf gets room for them, as much as the loops of others make it take. */
static const prey preys[] = {
    {"aqf", "aqf", NULL, 0.5},
    {"acf_1_bit", "acf-cyclic", "selector_bits=1", 0},
    {"acf_2_bits", "acf-cyclic", "selector_bits=2", 0},
    {"acf_3_bits", "acf-cyclic", "selector_bits=3", 0},
    {"acf_swapping", "acf-swapping", NULL, 0},
    {"acf_cuckooing", "acf-cuckooing", NULL, 0},
    {"taf", "taf", NULL, 0},
    {"exaf", "exaf", NULL, 0},
};

/* The paper's sentence: none in aqf, some in adaptive cuckoo filters. It has none about the others. */
static void judge(findings *found, size_t i, const hunt *h) {
  if (i == 0) finding(found, h->loops == 0 && h->recurring == 0);
  if (i == 1) finding(found, h->loops > 0 && h->best.fpr > 0);
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 20000 : 2000, queries = 30 * members;
  findings found = {0};
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  for (size_t i = 0; i < sizeof preys / sizeof *preys; i++) {
    const prey *p = &preys[i];
    progress("%s", p->name);
    besom_config config = {.kind = p->kind,
                           .options = p->options,
                           .capacity = members,
                           .fpr = rate,
                           .reserve = p->reserve,
                           .seed = seed};
    tested_filter l = tested_filter_create_guard(&config, BENCH_SEED, members);
    key_stream absent = stream_absent(BENCH_SEED);
    hunt h = hunt_loops(&l, &absent, queries);
    judge(&found, i, &h);
    report_cell(numbers, "%s", p->name);
    report_cell(numbers, "%llu", (unsigned long long)h.collected);
    report_cell(numbers, "%llu", (unsigned long long)h.recurring);
    report_cell(numbers, "%llu", (unsigned long long)h.stuck);
    report_cell(numbers, "%llu", (unsigned long long)h.loops);
    report_cell(numbers, "%zu", h.best.length);
    report_cell(numbers, "%.3f", h.best.fpr);
    tested_filter_free(&l);
  }
  return found;
}

static const plot plots[] = {
    {.title = "Keys that are false positives each time that all collected ones are asked in turn",
     .x = "filter",
     .y = "recurring,stuck,loops",
     .y_label = "keys, or loops",
     .bars = true},
    {0},
};

static const char *const columns[] = {"filter", "collected",     "recurring", "stuck",
                                      "loops",  "shortest_best", "best_rate"};

const claim loops_claim = {
    .name = "loops",
    .source = "adaptiveqf: Section 2.5",
    .paper = "An adaptive cuckoo filter takes up an earlier fingerprint again after some "
             "adaptations, so an adversary "
             "can find a loop of queries that brings it back to where it was, and make it err for "
             "ever. Filters that "
             "are adaptive in the strict sense cannot be brought back.",
    .statement = "a hunter who sees only answers finds loops in an adaptive cuckoo filter of one "
                 "selector bit, none in "
                 "aqf",
    .differs = "The paper reports the attack of others and measures nothing. The hunter is ours: "
               "where he finds no loop "
               "there may still be one. Stuck keys err although they were just reported, without "
               "the help of others. "
               "taf and exaf forget all when their room is full, and nearly a false positive for "
               "each member is more "
               "than they have room for: these recur by new rounds, hardly by loops.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
