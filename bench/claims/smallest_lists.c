/*
 * Claim smallest-lists: how close exact lists come to the least possible size: a cascade of a
 * ribbon filter and a retrieval of one bit, for open and closed universes, at many proportions.
 */
#include <math.h>
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "workloads/stream_list.h"

enum { UNIVERSES = 3, OTHERS = 100000 };

static const struct {
  const char *name, *options;
  double rate;      /* 0: closed */
  double max_ratio; /* to the least size */
} universes[UNIVERSES] = {{"0.001", "base=ribbon", 0.001, 1.10},
                          {"0.01", "base=ribbon", 0.01, 1.15},
                          {"closed", "base=ribbon,universe=closed", 0, 1.15}};

/* With the options of the universe, or as a chain of Bloom filters, which is smallest with a rate
 * of 0.5 if other keys do not matter. */
static besom_filter *build(int u, bool chain, stream_list *yes, stream_list *no) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "cascade",
                         .capacity = yes->n,
                         .fpr = universes[u].rate,
                         .seed = seed,
                         .options = chain ? NULL : universes[u].options};
  besom_filter *f;
  if (chain && config.fpr == 0) config.fpr = 0.5;
  yes->at = no->at = 0;
  check(besom_build(&config, &(besom_input){.yes = &yes->source, .no = &no->source}, &f),
        "building a cascade");
  return f;
}

static double bits_of(const besom_filter *f) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  return 8 * (double)stats.bytes;
}

static bool try_proportion(int u, int power, uint64_t shorter, report *numbers) {
  uint64_t longer = (uint64_t)round((double)shorter * exp2(abs(power)));
  uint64_t n_yes = power < 0 ? longer : shorter, n_no = power < 0 ? shorter : longer;
  stream_list yes, no, others;
  stream_list_open(&yes, stream_members(BENCH_SEED), 0, n_yes);
  stream_list_open(&no, stream_absent(BENCH_SEED), 0, n_no);
  stream_list_open(&others, stream_absent(BENCH_SEED), n_no, OTHERS);
  progress("%s: %llu yes, %llu no", universes[u].name, (unsigned long long)n_yes,
           (unsigned long long)n_no);
  besom_filter *f = build(u, false, &yes, &no), *chain = build(u, true, &yes, &no);
  double bits = bits_of(f), y = (double)n_yes, n = (double)n_no;
  double least = universes[u].rate != 0 ? least_list_bits(y, n, universes[u].rate)
                                        : least_closed_list_bits(y, n);
  uint64_t wrong = n_yes - stream_list_count_yes(f, &yes) + stream_list_count_yes(f, &no);
  double rate = (double)stream_list_count_yes(f, &others) / OTHERS;
  bool holds = bits <= universes[u].max_ratio * least && !wrong;
  if (universes[u].rate != 0)
    holds &= rate <= universes[u].rate + 4 * sqrt(universes[u].rate / OTHERS);
  double chain_bits = bits_of(chain);
  besom_free(f);
  besom_free(chain);
  report_cell(numbers, "%s", universes[u].name);
  report_cell(numbers, "%d", power);
  report_cell(numbers, "%llu", (unsigned long long)n_yes);
  report_cell(numbers, "%llu", (unsigned long long)n_no);
  report_cell(numbers, "%.4f", bits / (y + n));
  report_cell(numbers, "%.4f", least / (y + n));
  report_cell(numbers, "%.4f", bits / least);
  report_cell(numbers, "%.4f", chain_bits / least);
  report_cell(numbers, "%llu", (unsigned long long)wrong);
  report_cell(numbers, "%.5f", rate);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  return holds;
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  int most = full ? 10 : 4;
  for (int u = 0; u < UNIVERSES; u++)
    for (int power = -most; power <= most; power += 2)
      finding(&found, try_proportion(u, power, 100000, numbers));
  return found;
}

static const char *const columns[] = {"universe",     "log2_no_yes", "yes",   "no",
                                      "bits_per_key", "least_bits",  "ratio", "bloom_ratio",
                                      "wrong",        "others",      "holds"};

static const plot plots[] = {{.title = "Exact lists beside the least possible size",
                              .x = "log2_no_yes",
                              .y = "ratio,bloom_ratio",
                              .panels = "universe",
                              .x_label = "log2 of (no list / yes list)",
                              .y_label = "bits / least bits"},
                             {0}};

const claim smallest_lists_claim = {
    .name = "smallest-lists",
    .title = "The smallest filter of two lists",
    .source = "besom",
    .statement = "a cascade of a ribbon filter and a retrieval is exact on both lists, and takes "
                 "at most 1.10 times the least bits (Theorem 7 of the AQF paper) at a rate of "
                 "0.001, 1.15 times at 0.01, and 1.15 times the information in a closed universe",
    .differs = "The shorter list has 100 thousand keys, the longer one up to 16 times as many; "
               "full: up to 1024 times as many. bloom_ratio is a chain of Bloom "
               "filters (CRLite).",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
