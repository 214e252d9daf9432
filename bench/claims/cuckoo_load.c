/*
 * Claim cuckoo-load: cuckoo filters can be filled to their capacity, 95 % of the slots, with every
 * seed.
 */
#include <math.h>

#include "besom.h"
#include "claims/claims.h"
#include "counters.h"
#include "fail.h"
#include "harness/driver.h"

enum { SEEDS = 100 };

static const char *const kinds[] = {"cf", "vacuum"};
static const uint64_t sizes[] = {1000, 100000, 1000000};

/* The FPR of a table of this width at a load factor of 0.95: a query compares 8 slots. */
static double fpr_of_width(int width) {
  return 8 * 0.9501 / (ldexp(1, width) - 1);
}

/* Inserts new keys until one is refused. */
static besom_filter *fill(const char *kind, uint64_t keys, int width, uint64_t seed, driver *d) {
  uint8_t bytes[16];
  hash_seed(seed, bytes);
  besom_config config = {.kind = kind, .capacity = keys, .fpr = fpr_of_width(width), .seed = bytes};
  besom_filter *f;
  check(besom_create(&config, &f), "creating %s", kind);
  key_stream members = stream_members(seed);
  for (uint64_t done = 0;;) {
    size_t inserted = 0, some = 4096;
    members.generate(&members, done, some, d->keys);
    besom_status status = besom_insert_many_u64(f, d->keys, some, &inserted);
    done += inserted;
    if (status == BESOM_FULL) break;
    check(status, "inserting into %s", kind);
  }
  return f;
}

static void test_size(const char *kind, uint64_t keys, int width, driver *d, findings *found,
                      report *numbers) {
  double least = 1, moved = 0;
  uint64_t early = 0, chain = 0;
  besom_statistics s = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    progress("%s, %llu keys, %d bits, seed %llu", kind, (unsigned long long)keys, width,
             (unsigned long long)seed);
    besom_filter *f = fill(kind, keys, width, seed, d);
    check(besom_stats(f, &s), "statistics of %s", kind);
    uint64_t longest = counter_of(f, "longest_chain");
    early += s.keys < s.capacity;
    if (s.load_factor < least) least = s.load_factor;
    if (longest > chain) chain = longest;
    moved += (double)counter_of(f, "kicks") / (double)s.keys / SEEDS;
    besom_free(f);
  }
  bool holds = early == 0 && s.capacity >= keys && least > 0.949;
  report_cell(numbers, "%s", kind);
  report_cell(numbers, "%llu", (unsigned long long)keys);
  report_cell(numbers, "%u", s.width);
  report_cell(numbers, "%llu", (unsigned long long)s.slots);
  report_cell(numbers, "%.4f", least);
  report_cell(numbers, "%llu", (unsigned long long)early);
  report_cell(numbers, "%.3f", moved);
  report_cell(numbers, "%llu", (unsigned long long)chain);
  report_cell(numbers, "%s", holds ? "yes" : "no");
  /* narrower fingerprints are reported, but not part of the claim */
  if (width >= 8) finding(found, holds);
}

static findings run(bool full, report *numbers) {
  static const int widths[] = {8, 4, 6, 12, 20};
  driver d = driver_create();
  findings found = {0};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t w = 0; w < (full ? sizeof widths / sizeof *widths : 2); w++)
      for (size_t n = 0; n < (full ? sizeof sizes / sizeof *sizes : 2); n++)
        test_size(kinds[k], sizes[n], widths[w], &d, &found, numbers);
  driver_free(&d);
  return found;
}

static const char *const columns[] = {"kind",          "keys",          "bits",
                                      "slots",         "min_load",      "early",
                                      "kicks_per_key", "longest_chain", "holds"};

static const plot plots[] = {
    {.title = "Minimum load factor over 100 seeds when a key is refused, 8-bit fingerprints",
     .x = "keys",
     .y = "min_load",
     .series = "kind",
     .where = "bits=8",
     .x_label = "keys",
     .y_label = "load factor",
     .bars = true},
    {0}};

const claim cuckoo_load_claim = {
    .name = "cuckoo-load",
    .title = "How full cuckoo filters can get",
    .source = "besom",
    .statement =
        "cf and vacuum with 8 bits or more fill 95 % of their slots with each of 100 seeds",
    .differs = "10^3 to 10^6 keys, fingerprints of 4 to 20 bits; quick has 10^3 and 10^5 keys and "
               "4 and 8 bits.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
