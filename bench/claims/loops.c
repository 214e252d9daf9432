/*
 * Claim loops: an adversary that repeats some queries can make filters with selectors err forever,
 * but never aqf.
 */
#include "claims/claims.h"
#include "workloads/loop_hunter.h"

static const double rate = 1.0 / 32;

typedef struct hunted_filter {
  const char *name, *kind, *options;
  double reserve; /* 0 for the default */
} hunted_filter;

/*
 * There are many false positives per member: aqf gets a reserve for them, as large as the loops of
 * the others require.
 */
static const hunted_filter hunted_filters[] = {
    {"aqf", "aqf", NULL, 0.5},
    {"acf_1_bit", "acf-cyclic", "selector_bits=1", 0},
    {"acf_2_bits", "acf-cyclic", "selector_bits=2", 0},
    {"acf_3_bits", "acf-cyclic", "selector_bits=3", 0},
    {"acf_swapping", "acf-swapping", NULL, 0},
    {"acf_cuckooing", "acf-cuckooing", NULL, 0},
    {"taf", "taf", NULL, 0},
    {"exaf", "exaf", NULL, 0},
};

/*
 * The paper's claim: none in aqf, some in adaptive cuckoo filters. It makes no claim about the
 * others.
 */
static void judge(findings *found, size_t i, const hunt *h) {
  if (i == 0) finding(found, h->loops == 0 && h->recurring == 0);
  if (i == 1) finding(found, h->loops > 0 && h->best.fpr > 0);
}

static findings run(bool full, report *numbers) {
  uint64_t members = full ? 20000 : 400, queries = 30 * members;
  findings found = {0};
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  for (size_t i = 0; i < sizeof hunted_filters / sizeof *hunted_filters; i++) {
    const hunted_filter *p = &hunted_filters[i];
    progress("%s", p->name);
    besom_config config = {.kind = p->kind,
                           .options = p->options,
                           .capacity = members,
                           .fpr = rate,
                           .reserve = p->reserve,
                           .seed = seed};
    tested_filter tested = tested_filter_create_guard(&config, BENCH_SEED, members);
    key_stream absent = stream_absent(BENCH_SEED);
    hunt h = hunt_loops(&tested, &absent, queries);
    judge(&found, i, &h);
    report_cell(numbers, "%s", p->name);
    report_cell(numbers, "%llu", (unsigned long long)h.collected);
    report_cell(numbers, "%llu", (unsigned long long)h.recurring);
    report_cell(numbers, "%llu", (unsigned long long)h.stuck);
    report_cell(numbers, "%llu", (unsigned long long)h.loops);
    report_cell(numbers, "%zu", h.best.length);
    report_cell(numbers, "%.3f", h.best.fpr);
    tested_filter_free(&tested);
  }
  return found;
}

static const plot plots[] = {
    {.title = "Keys that are false positives in every pass over all collected keys",
     .x = "filter",
     .y = "recurring,stuck,loops",
     .y_label = "keys, or loops",
     .bars = true},
    {0},
};

static const char *const columns[] = {"filter", "collected",   "recurring", "stuck",
                                      "loops",  "best_length", "best_fpr"};

const claim loops_claim = {
    .name = "loops",
    .title = "An adversary that hunts for endless loops",
    .source = "adaptiveqf: Section 2.5",
    .paper = "An adaptive cuckoo filter returns to an earlier fingerprint after some "
             "adaptations, so an adversary can find a loop of queries that restores its state, "
             "and make it err forever. Filters that are adaptive in the strict sense cannot be "
             "brought back.",
    .statement =
        "an adversary that sees only answers finds loops in an adaptive cuckoo filter with "
        "one selector bit, and none in aqf",
    .differs = "The paper cites an attack by others and measures nothing. The search is ours: if "
               "it finds no loop, there may still be one. Stuck keys are false positives although "
               "they were just reported, without other queries. taf and exaf drop all adaptations "
               "when their metadata is full, and nearly one false positive per member is more "
               "than it can hold: their recurring keys are due to such resets, hardly to loops.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .seeds = 3,
    .run = run,
};
