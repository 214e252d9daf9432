/*
 * Claim real-lists: a blocklist of phishing and malware domains that must not block the most linked
 * domains, nor any of a million other names. bench/fetch_data.sh fetches both lists.
 */
#include <string.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/dynamic_lists.h"
#include "workloads/key_stream.h"
#include "workloads/stream_list.h"
#include "workloads/text_list.h"

static const double rate = 1.0 / 256;
static const char *const yes_path = "data/lists/yes.txt", *const no_path = "data/lists/no.txt";

static uint64_t count_yes(const besom_filter *f, const text_list *l) {
  uint64_t yes = 0;
  for (size_t i = 0; i < l->n; i++) yes += besom_contains(f, l->lines[i].data, l->lines[i].len);
  return yes;
}

/* The kinds that are compared. Those that are not exact on a no list are built without it. */
static const struct {
  const char *label, *kind, *options;
  bool exact_on_no;
} kinds[] = {{"yesno", "yesno", NULL, true},
             {"yesno-dynamic", "yesno-dynamic", NULL, true},
             {"cascade", "cascade", NULL, true},
             {"cascade over fuse", "cascade", "base=fuse", true},
             {"cascade over ribbon", "cascade", "base=ribbon", true},
             {"bloom", "bloom", NULL, false},
             {"fuse", "fuse", NULL, false},
             {"ribbon", "ribbon", NULL, false}};

static besom_filter *build(size_t i, const besom_source *yes, const besom_source *no) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {
      .kind = kinds[i].kind, .options = kinds[i].options, .fpr = rate, .seed = seed};
  besom_input input = {.yes = yes, .no = kinds[i].exact_on_no ? no : NULL};
  besom_filter *f;
  check(besom_build(&config, &input, &f), "building %s", kinds[i].label);
  return f;
}

static bool report_filter(size_t i, const besom_filter *f, const text_list *yes,
                          const text_list *no, report *numbers) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kinds[i].label);
  uint64_t blocked = count_yes(f, yes), wrongly = count_yes(f, no);
  double n_yes = (double)yes->n, n_no = kinds[i].exact_on_no ? (double)no->n : 0;
  report_cell(numbers, "%s", kinds[i].label);
  report_cell(numbers, "%zu", yes->n);
  report_cell(numbers, "%zu", no->n);
  report_cell(numbers, "%llu", (unsigned long long)stats.bytes);
  report_cell(numbers, "%.2f", 8 * (double)stats.bytes / n_yes);
  report_cell(numbers, "%.2f", least_list_bits(n_yes, n_no, rate) / n_yes);
  report_cell(numbers, "%llu", (unsigned long long)(yes->n - blocked));
  report_cell(numbers, "%llu", (unsigned long long)wrongly);
  return blocked == yes->n && (!kinds[i].exact_on_no || wrongly == 0);
}

static bool test_kind(size_t i, text_list *yes, text_list *no, report *numbers) {
  besom_source members = text_list_source(yes, yes->n), others = text_list_source(no, no->n);
  progress("%s", kinds[i].label);
  if (strcmp(kinds[i].kind, "yesno-dynamic") == 0) {
    dynamic_lists d = dynamic_lists_new(&members, &others, rate);
    bool holds = report_filter(i, d.filter, yes, no, numbers);
    dynamic_lists_free(&d);
    return holds;
  }
  besom_filter *f = build(i, &members, &others);
  bool holds = report_filter(i, f, yes, no, numbers);
  besom_free(f);
  return holds;
}

static findings run(bool full, report *numbers) {
  (void)full;
  text_list yes = text_list_read(yes_path), no = text_list_read(no_path);
  findings found = {0};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    finding(&found, test_kind(i, &yes, &no, numbers));
  text_list_free(&yes);
  text_list_free(&no);
  return found;
}

static const char *const columns[] = {"kind",         "yes",        "no",         "bytes",
                                      "bits_per_yes", "least_bits", "yes_missed", "no_blocked"};

static const plot plots[] = {{.title = "Known-good names that are blocked",
                              .x = "kind",
                              .y = "no_blocked",
                              .x_label = "kind",
                              .y_label = "names",
                              .bars = true},
                             {.title = "Memory",
                              .x = "kind",
                              .y = "bits_per_yes,least_bits",
                              .x_label = "kind",
                              .y_label = "bits per blocked domain",
                              .bars = true},
                             {0}};

const claim real_lists_claim = {
    .name = "real-lists",
    .title = "Two real lists",
    .source = "besom",
    .statement = "a blocklist of domains blocks all of them and, if the kind is exact on a no list "
                 "(yesno, yesno-dynamic, cascade), none of a million known-good names",
    .differs = "One size. The lists are those of bench/fetch_data.sh; bloom, fuse and "
               "ribbon are shown for comparison: they are not exact on the no list. least_bits is "
               "Theorem 7 of the AQF paper, without the no list for these three.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
