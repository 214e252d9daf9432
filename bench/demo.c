/* besom-bench demo: the first thing that a newcomer runs. */
#include <stdio.h>

#include "arguments.h"
#include "besom.h"
#include "drive.h"
#include "fail.h"
#include "report.h"
#include "verbs.h"

enum { KEYS = 1000000, ABSENT_KEYS = 10000000, SEED = 0xbe50 };

static const double rate = 1.0 / 256;

static const char *const columns[] = {"kind",     "keys",    "bits an item", "expected rate",
                                      "measured", "missing", "M inserts/s",  "M queries/s"};

static void show_kind(const char *kind, driver *d, report *r) {
  besom_config config = {.kind = kind, .capacity = KEYS, .rate = rate};
  besom_filter *f;
  check(besom_create(&config, &f), "creating %s", kind);
  key_stream members = stream_members(SEED), absent = stream_absent(SEED);
  uint64_t found, false_positives;
  double insert_seconds = drive_insert(d, f, &members, 0, KEYS, SINGLE);
  double query_seconds = drive_contains(d, f, &absent, ABSENT_KEYS, SINGLE, &false_positives);
  drive_contains(d, f, &members, KEYS, SINGLE, &found);
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics of %s", kind);
  besom_free(f);

  report_cell(r, "%s", kind);
  report_cell(r, "%d", KEYS);
  report_cell(r, "%.2f", stats.bits_per_item);
  report_cell(r, "1 in %.0f", 1 / stats.expected_rate);
  report_cell(r, "1 in %.0f", (double)ABSENT_KEYS / (double)false_positives);
  report_cell(r, "%d", KEYS - (int)found);
  report_cell(r, "%.1f", 1e-6 * KEYS / insert_seconds);
  report_cell(r, "%.1f", 1e-6 * ABSENT_KEYS / query_seconds);
}

int demo_verb(int argc, char **argv) {
  arguments_parse(
      &(command){
          .usage = "demo",
          .about = "Fills two filters with a million keys and asks them for ten million others. A few seconds.",
      },
      argc, argv);

  printf("A filter answers \"is this key in the set?\" from a few bits a key. A no is always right;\n"
         "a yes may be wrong, at a rate that you choose. Here two kinds get %d keys at a rate of 1 in %.0f,\n"
         "and are asked for %d keys that are not in the set, then for all that are.\n\n",
         KEYS, 1 / rate, ABSENT_KEYS);
  driver d = driver_create();
  report *r = report_create(columns, sizeof columns / sizeof *columns, false);
  show_kind("qf", &d, r);
  show_kind("bloom", &d, r);
  report_finish(r);
  driver_free(&d);
  printf("\nmissing: keys of the set that were answered no: must be 0. Speed: one thread, one call a key.\n"
         "Read README.md next: how to use a filter from your own program.\n");
  return 0;
}
