/*
 * Claim who-wins: adapt, stack, cache or learn, in the same total memory, over the skew of the
 * queries and the share of an adversary.
 * Queries are for absent keys, by Zipf popularity; contest_log.h says how they are played. The FPR
 * is that of the second half.
 */
#include <math.h>
#include <stdlib.h>

#include "claims/claims.h"
#include "fail.h"
#include "harness/contest_log.h"
#include "harness/interval.h"
#include "workloads/key_stream.h"

static const double skews[] = {0, 0.75, 1.25}, shares[] = {0, 0.02, 0.1}, bits = 12;
enum { SKEWS = sizeof skews / sizeof *skews, SHARES = sizeof shares / sizeof *shares };

typedef struct effort {
  size_t members, queries, seeds;
} effort;

static const effort quick = {.members = 8000, .queries = 40000, .seeds = 5};
static const effort thorough = {.members = 100000, .queries = 1000000, .seeds = 4};

/* ------------------------------------------------------------------ the map */

static void report_cells(const standings *c, double skew, double share, double map,
                         report *numbers) {
  for (design d = 0; d < DESIGNS; d++) {
    report_cell(numbers, "%g", skew);
    report_cell(numbers, "%g", share);
    report_cell(numbers, "%s", design_names[d]);
    interval_report(interval_of(&c->rates[d]), numbers);
    report_cell(numbers, "%.2f", c->most_bits[d]);
    report_cell(numbers, "%.0f", c->most_bits[d] + (design_has_store(d) ? map : 0));
    report_cell(numbers, "%s", standings_word(c, d, false));
    report_cell(numbers, "%s", standings_word(c, d, true));
  }
}

static bool may_win(const standings *c, design d) {
  return standings_may_win(c, d, false);
}

static void judge(const standings *c, double skew, double share, findings *found) {
  if (share > 0)
    finding(found, may_win(c, RIBBON_REPORTS));
  else if (skew > 1)
    finding(found, may_win(c, STACKED_BLOOM) || may_win(c, STACKED_FUSE));
  else if (skew == 0)
    finding(found, may_win(c, PLAIN_RIBBON));
}

static void run_skew(double skew, const effort *e, findings *found, report *numbers) {
  standings cells[SHARES] = {0};
  double map = 0;
  for (size_t i = 0; i < e->seeds; i++) {
    uint64_t seed = random_at(BENCH_SEED, i);
    text_list members = text_list_urls(e->members, true, seed);
    text_list absent = text_list_urls(10 * e->members, false, seed);
    contest_log log = contest_log_draw(&members, &absent, skew, e->queries, seed);
    map = contest_key_bits(&members);
    for (design d = 0; d < DESIGNS; d++)
      for (int k = 0; k < SHARES; k++) {
        progress("Zipf %g, seed %zu: %s", skew, i + 1, design_names[d]);
        cells[k].bits = bits;
        samples_add(&cells[k].rates[d],
                    contest_play(d, bits, shares[k], &log, &cells[k].most_bits[d]));
      }
    contest_log_free(&log);
    text_list_free(&members);
    text_list_free(&absent);
  }
  for (int k = 0; k < SHARES; k++) {
    report_cells(&cells[k], skew, shares[k], map, numbers);
    judge(&cells[k], skew, shares[k], found);
    standings_free(&cells[k]);
  }
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int i = 0; i < SKEWS; i++) run_skew(skews[i], full ? &thorough : &quick, &found, numbers);
  return found;
}

static const char *const columns[] = {
    "zipf", "attack_share", "design",   "fpr",  "low",
    "high", "most_bits",    "with_map", "wins", "wins_map_counted"};

static const plot plots[] = {{.title = "Who wins where, at 12 bits per member",
                              .x = "attack_share",
                              .y = "zipf",
                              .series = "design",
                              .map = "wins",
                              .map_value = "fpr",
                              .x_label = "share of the adversary's queries",
                              .y_label = "Zipf exponent"},
                             {.title = "Who wins where, if the keys in the store count as memory",
                              .x = "attack_share",
                              .y = "zipf",
                              .series = "design",
                              .map = "wins_map_counted",
                              .map_value = "fpr",
                              .x_label = "share of the adversary's queries",
                              .y_label = "Zipf exponent"},
                             {.title = "Adapt, stack, cache or learn in the same memory, by Zipf "
                                       "exponent",
                              .x = "attack_share",
                              .y = "fpr",
                              .series = "design",
                              .panels = "zipf",
                              .x_label = "share of the adversary's queries",
                              .y_label = "false positives per query",
                              .log_y = true},
                             {0}};

const claim who_wins_claim = {
    .name = "who-wins",
    .title = "Adapt, stack, cache or learn: who wins where",
    .source = "besom",
    .statement = "with 12 bits per member, also while a filter is rekeyed: without skew and "
                 "adversary no design has fewer false positives than ribbon; with Zipf 1.25 and no "
                 "adversary a stacked filter has the fewest; with an adversary a ribbon that takes "
                 "reports has the fewest, also of those in front of a store (95 % intervals over "
                 "seeds overlap with the best)",
    .differs = "Synthetic URLs, so that there is something to learn: 8000 members, 80,000 "
               "absent keys, 40,000 queries, 5 seeds (full: 100,000, a million, a million, 4). "
               "The memory includes exceptions and caches; no pqf is that small. adapt_store needs "
               "a second filter while "
               "it rekeys (most_bits shows it), so it is not judged. Three ways to stay within the "
               "memory are: half of the bits (adapt_half; an fpr of 1: there is no filter that "
               "small), no rekey (adapt_once, taf_store), and new rounds in place (broom_store). "
               "The keys in the store are not counted, except in with_map and wins_map_counted.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
