/*
 * Claim smallest-groups: exact lists whose keys come in groups of different proportions, as
 * certificates by issuer. Each group planned by itself takes less than all keys together.
 */
#include <math.h>

#include "claims/claims.h"
#include "counters.h"
#include "fail.h"
#include "workloads/grouped_list.h"
#include "workloads/key_stream.h"
#include "workloads/stream_list.h"

enum { GROUPS = 795, OTHERS = 1000000 };

/* In a tenth of the keys the same number of groups and classes weighs more. */
static const double most_of_bound = 1.10, most_of_bound_quick = 1.15;

static const struct {
  const char *name, *grouped, *together;
  double rate; /* 0: closed */
} universes[] = {
    {"closed", "universe=closed,group=" GROUPED_KEY_RULE, "base=ribbon,universe=closed", 0},
    {"0.001", "group=" GROUPED_KEY_RULE, "base=ribbon", 0.001}};

static double least_bits(const group_universe *u, double rate) {
  double sum = 0;
  for (uint32_t i = 0; i < u->n; i++) {
    double yes = (double)u->groups[i].yes, no = (double)u->groups[i].no;
    if (yes == 0) continue;
    sum += rate == 0 ? least_closed_list_bits(yes, no) : least_list_bits(yes, no, rate);
  }
  return sum;
}

static besom_filter *build(const group_universe *u, const char *kind, const char *options,
                           double rate) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  grouped_list yes, no;
  grouped_list_open(&yes, u, GROUP_YES);
  grouped_list_open(&no, u, GROUP_NO);
  besom_config config = {
      .kind = kind, .options = options, .fpr = rate, .seed = seed, .capacity = u->yes};
  besom_filter *f;
  check(besom_build(&config, &(besom_input){.yes = &yes.source, .no = &no.source}, &f),
        "building %s", kind);
  return f;
}

static besom_status count_bytes(void *ctx, const void *data, size_t len) {
  (void)data;
  *(double *)ctx += (double)len;
  return BESOM_OK;
}

/* In memory or as a file, whichever is larger. */
static double bits_of(const besom_filter *f) {
  besom_statistics stats;
  double file = 0;
  check(besom_stats(f, &stats), "statistics");
  check(besom_save(f, &(besom_sink){.write = count_bytes, .ctx = &file}), "saving a filter");
  return 8 * fmax((double)stats.bytes, file);
}

/* Keys of both lists that are answered wrongly. */
static uint64_t count_wrong(const besom_filter *f, const group_universe *u) {
  grouped_list yes, no;
  uint64_t queried;
  grouped_list_open(&yes, u, GROUP_YES);
  grouped_list_open(&no, u, GROUP_NO);
  uint64_t missed = u->yes - grouped_list_count_yes(f, &yes, UINT64_MAX, &queried);
  return missed + grouped_list_count_yes(f, &no, UINT64_MAX, &queried);
}

static bool try_universe(size_t i, const group_universe *u, double max_ratio, report *numbers) {
  double rate = universes[i].rate;
  progress("%s: %llu yes, %llu no", universes[i].name, (unsigned long long)u->yes,
           (unsigned long long)u->no);
  besom_filter *together = build(u, "cascade", universes[i].together, rate);
  double bits_together = bits_of(together), yes = (double)u->yes, no = (double)u->no;
  besom_free(together);
  besom_filter *f = build(u, "grouped", universes[i].grouped, rate);
  double bits = bits_of(f), least = least_bits(u, rate);
  double least_together =
      rate == 0 ? least_closed_list_bits(yes, no) : least_list_bits(yes, no, rate);
  uint64_t wrong = count_wrong(f, u), queried;
  grouped_list others;
  grouped_list_open(&others, u, GROUP_OTHERS);
  double found = (double)grouped_list_count_yes(f, &others, OTHERS, &queried) / (double)queried;
  bool holds = bits <= max_ratio * least && !wrong;
  if (rate != 0) holds &= found <= rate + 4 * sqrt(rate / (double)queried);
  report_cell(numbers, "%s", universes[i].name);
  report_cell(numbers, "%llu", (unsigned long long)u->yes);
  report_cell(numbers, "%llu", (unsigned long long)u->no);
  report_cell(numbers, "%u", u->n);
  report_cell(numbers, "%llu", (unsigned long long)counter_of(f, "classes"));
  report_cell(numbers, "%.0f", bits / 8);
  report_cell(numbers, "%.3f", bits / yes);
  report_cell(numbers, "%.3f", least / yes);
  report_cell(numbers, "%.4f", bits / least);
  report_cell(numbers, "%.3f", bits_together / yes);
  report_cell(numbers, "%.3f", least_together / yes);
  report_cell(numbers, "%llu", (unsigned long long)wrong);
  report_cell(numbers, "%.5f", found);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  besom_free(f);
  return holds;
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  double max_ratio = full ? most_of_bound : most_of_bound_quick;
  uint64_t yes = full ? 1000000 : 100000;
  group_universe u = group_universe_new(BENCH_SEED, GROUPS, yes, 70 * yes);
  for (size_t i = 0; i < sizeof universes / sizeof *universes; i++)
    finding(&found, try_universe(i, &u, max_ratio, numbers));
  group_universe_free(&u);
  return found;
}

static const char *const columns[] = {
    "universe", "yes",   "no",       "groups",         "classes", "bytes",  "bits_per_yes",
    "least",    "ratio", "together", "least_together", "wrong",   "others", "holds"};

static const plot plots[] = {{.title = "Lists in groups",
                              .x = "universe",
                              .y = "bits_per_yes,least,together,least_together",
                              .x_label = "universe",
                              .y_label = "bits per yes key",
                              .bars = true},
                             {0}};

const claim smallest_groups_claim = {
    .name = "smallest-groups",
    .title = "The smallest filter of several lists",
    .source = "besom",
    .statement = "a grouped filter is exact on both lists, and takes at most 1.10 times the sum of "
                 "the least bits of its groups (1.15 times at a tenth of the size)",
    .differs =
        "A synthetic universe: 795 groups with log-normal sizes (standard deviation 2 of the "
        "natural logarithm) and logit-normal shares of yes keys (standard deviation 2), 1 "
        "of 70 keys on the yes list. 100 thousand yes keys; full: a million of 70 million. "
        "bytes is the larger of file and memory. together: a cascade without groups.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
