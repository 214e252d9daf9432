/*
 * Claim real-lists: a blocklist of phishing and malware domains that must not block the most linked
 * domains, nor any of a million other names. bench/fetch_data.sh fetches both lists.
 */
#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"

static const double rate = 1.0 / 256;
static const char *const yes_path = "data/lists/yes.txt", *const no_path = "data/lists/no.txt";

static uint64_t count_yes(const besom_filter *f, const text_list *l) {
  uint64_t yes = 0;
  for (size_t i = 0; i < l->n; i++) yes += besom_contains(f, l->lines[i].data, l->lines[i].len);
  return yes;
}

/* Builds with the no list if the kind is exact on it; otherwise the no list is only queried. */
static bool test_kind(const char *kind, bool exact_on_no, text_list *yes, text_list *no,
                      report *numbers) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = kind, .fpr = rate, .seed = seed};
  besom_source members = text_list_source(yes, yes->n), others = text_list_source(no, no->n);
  besom_filter *f;
  besom_input input = {.yes = &members, .no = exact_on_no ? &others : NULL};
  check(besom_build(&config, &input, &f), "building %s", kind);
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  uint64_t blocked = count_yes(f, yes), wrongly = count_yes(f, no);
  besom_free(f);
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%zu", yes->n);
  report_cell(numbers, "%zu", no->n);
  report_cell(numbers, "%llu", (unsigned long long)stats.bytes);
  report_cell(numbers, "%.2f", 8 * (double)stats.bytes / (double)yes->n);
  report_cell(numbers, "%llu", (unsigned long long)(yes->n - blocked));
  report_cell(numbers, "%llu", (unsigned long long)wrongly);
  return blocked == yes->n && (!exact_on_no || wrongly == 0);
}

static findings run(bool full, report *numbers) {
  (void)full;
  text_list yes = text_list_read(yes_path), no = text_list_read(no_path);
  findings found = {0};
  finding(&found, test_kind("yesno", true, &yes, &no, numbers));
  finding(&found, test_kind("cascade", true, &yes, &no, numbers));
  finding(&found, test_kind("bloom", false, &yes, &no, numbers));
  finding(&found, test_kind("fuse", false, &yes, &no, numbers));
  text_list_free(&yes);
  text_list_free(&no);
  return found;
}

static const char *const columns[] = {"kind",         "yes",        "no",        "bytes",
                                      "bits_per_yes", "yes_missed", "no_blocked"};

static const plot plots[] = {{.title = "Known-good names that are blocked",
                              .x = "kind",
                              .y = "no_blocked",
                              .x_label = "kind",
                              .y_label = "names",
                              .bars = true},
                             {.title = "Memory",
                              .x = "kind",
                              .y = "bits_per_yes",
                              .x_label = "kind",
                              .y_label = "bits per blocked domain",
                              .bars = true},
                             {0}};

const claim real_lists_claim = {
    .name = "real-lists",
    .title = "Two real lists",
    .source = "besom",
    .statement = "a blocklist of domains blocks all of them and, if the kind is exact on a no list "
                 "(yesno, cascade), none of a million known-good names",
    .differs = "One size. The lists are those of bench/fetch_data.sh; bloom and fuse are shown "
               "for comparison, and are not exact on the no list.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
