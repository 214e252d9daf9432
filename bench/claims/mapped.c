/*
 * Claim mapped: queries of a saved filter that is mapped (BESOM_OPEN_MMAP) or copied into memory,
 * beside the filter that was saved. Rounds are interleaved; the fastest one counts, because other
 * load on the machine can only slow a round down.
 */
#define _DEFAULT_SOURCE 1 /* mkstemp */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "besom.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/driver.h"
#include "harness/timing.h"

enum { ROUNDS = 31, QUERIES = 1 << 17, WIDTH = 8, MAX_COUNTERS = 32 };

/* times the time of the filter that was saved */
static const double load = 0.85, allowed_mapped = 1.05, allowed_copied = 1.1;
static const uint64_t small_bytes = UINT64_C(1) << 21; /* up to this size, mapping must not cost */

typedef enum open_form { SAVED, MAPPED, COPIED, FORMS } open_form;

static const char *const form_names[FORMS] = {"saved", "mapped", "copied"};

typedef struct opened {
  besom_filter *f[FORMS];
  samples nanoseconds[FORMS][CALL_STYLES];
} opened;

static void open_all(opened *o, driver *d, uint64_t slots) {
  char path[] = "besom-mapped-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) fail("cannot create a file in this directory");
  close(file);
  besom_config config = {.kind = "aqf", .slots = slots, .width = WIDTH};
  key_stream members = stream_members(BENCH_SEED);
  o->f[SAVED] = drive_filled(d, &config, &members, (uint64_t)(load * (double)slots));
  check(besom_save_file(o->f[SAVED], path), "saving");
  besom_open_options map = {.flags = BESOM_OPEN_MMAP};
  check(besom_open(path, &map, &o->f[MAPPED]), "mapping");
  check(besom_open(path, NULL, &o->f[COPIED]), "copying");
  unlink(path);
}

static void close_all(opened *o) {
  for (int form = 0; form < FORMS; form++) {
    besom_free(o->f[form]);
    for (int style = 0; style < CALL_STYLES; style++) samples_free(&o->nanoseconds[form][style]);
  }
}

/* A first pass brings the filter into the cache, as far as it fits. */
static void measure(opened *o, driver *d, open_form form, call_style style, uint64_t round) {
  key_stream absent = stream_absent(random_at(BENCH_SEED, round));
  uint64_t hits;
  drive_contains(d, o->f[form], &absent, QUERIES, BATCH, &hits);
  double seconds = drive_contains(d, o->f[form], &absent, QUERIES, style, &hits);
  samples_add(&o->nanoseconds[form][style], 1e9 * seconds / QUERIES);
}

static uint64_t huge_page_bytes(const besom_filter *f) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = besom_counters(f, counters, MAX_COUNTERS);
  for (size_t i = 0; i < n && i < MAX_COUNTERS; i++)
    if (strcmp(counters[i].name, "huge_page_bytes") == 0) return counters[i].value;
  return 0;
}

static void report_form(const opened *o, open_form form, uint64_t slots, findings *found,
                        report *numbers) {
  besom_statistics stats;
  check(besom_stats(o->f[form], &stats), "statistics");
  double times[CALL_STYLES];
  report_cell(numbers, "%llu", (unsigned long long)slots);
  report_cell(numbers, "%s", form_names[form]);
  report_cell(numbers, "%.1f", 1e-6 * (double)stats.bytes);
  report_cell(numbers, "%.1f", 1e-6 * (double)huge_page_bytes(o->f[form]));
  for (int style = 0; style < CALL_STYLES; style++) {
    double ns = samples_quantile(&o->nanoseconds[form][style], 0);
    times[style] = ns / samples_quantile(&o->nanoseconds[SAVED][style], 0);
    report_cell(numbers, "%.1f", ns);
    report_cell(numbers, "%.2f", times[style]);
  }
  bool wanted = form == COPIED || (form == MAPPED && stats.bytes <= small_bytes);
  double allowed = form == COPIED ? allowed_copied : allowed_mapped;
  bool holds = times[SINGLE] <= allowed && times[BATCH] <= allowed;
  report_cell(numbers, "%s", !wanted ? "" : holds ? "yes" : "no");
  if (wanted) finding(found, holds);
}

static void test_slots(uint64_t slots, findings *found, report *numbers) {
  opened o = {0};
  driver d = driver_create();
  open_all(&o, &d, slots);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    progress("%llu slots, round %llu of %d", (unsigned long long)slots,
             (unsigned long long)round + 1, ROUNDS);
    for (int i = 0; i < FORMS; i++)
      for (int style = 0; style < CALL_STYLES; style++)
        measure(&o, &d, (open_form)((i + (int)(round % FORMS)) % FORMS), (call_style)style, round);
  }
  for (int form = 0; form < FORMS; form++) report_form(&o, (open_form)form, slots, found, numbers);
  close_all(&o);
  driver_free(&d);
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  test_slots(1 << 16, &found, numbers);
  test_slots(1 << 20, &found, numbers);
  test_slots(1 << 22, &found, numbers);
  if (full) test_slots(1 << 26, &found, numbers);
  return found;
}

static const char *const columns[] = {"slots", "opened",      "megabytes", "huge_pages",
                                      "ns",    "times_saved", "ns_batch",  "times_saved_batch",
                                      "holds"};

static const plot plots[] = {{.title = "Negative queries",
                              .x = "slots",
                              .y = "ns",
                              .series = "opened",
                              .x_label = "slots",
                              .y_label = "ns per query"},
                             {0}};

const claim mapped_claim = {
    .name = "mapped",
    .title = "Queries of a filter in a mapped file",
    .source = "besom",
    .paper = "",
    .statement =
        "up to 2 MB, queries of a mapped file take at most 1.05 times as long as those of "
        "the filter that was saved; at any size, those of a file that is copied into memory "
        "(huge pages) take at most 1.1 times as long",
    .differs = "Negative queries of an aqf with a load factor of 0.85, the fastest of 31 "
               "interleaved rounds; full: also 2^26 slots. huge_pages: MB that are in huge pages. "
               "A system can also have huge pages of a mapped file: then mapping costs less.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
