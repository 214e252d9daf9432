/*
 * Part of claim workloads: YCSB's mixes of operations, its choice of records, and the lengths of
 * its scans.
 */
#include <math.h>
#include <stdio.h>

#include "claims/workload_checks/checks.h"
#include "workloads/ycsb_requests.h"

enum { RECORDS = 1000 };

static const double exponent = 0.99;
static const uint64_t ranks = 10000000000;

/* Percent of the requests, by workload and operation. */
static const double shares[][YCSB_OPERATIONS] = {
    {50, 50, 0, 0, 0}, {95, 5, 0, 0, 0}, {100, 0, 0, 0, 0},
    {95, 0, 5, 0, 0},  {0, 0, 5, 95, 0}, {50, 0, 0, 0, 50},
};

/* Counts of n requests. */
typedef struct tally {
  uint64_t operations[YCSB_OPERATIONS], records[RECORDS + 1], scans[YCSB_MAX_SCAN];
  uint64_t chosen, inserted;
  bool right;
} tally;

/*
 * Records are counted by number, or by age if recent ones are popular; all older ones share the
 * last counter.
 */
static void count_record(tally *t, const ycsb *y, const ycsb_request *r, uint64_t i) {
  uint64_t there = ycsb_records(y, i), at = y->mix.latest ? there - 1 - r->record : r->record;
  t->right &= r->record < there;
  t->records[at < RECORDS ? at : RECORDS]++;
  t->chosen++;
}

static tally count_requests(const ycsb *y, uint64_t n) {
  tally t = {.right = true};
  for (uint64_t i = 0; i < n; i++) {
    ycsb_request r = ycsb_at(y, i);
    t.operations[r.operation]++;
    t.right &= ycsb_records(y, i) == RECORDS + t.inserted;
    if (r.operation == YCSB_INSERT)
      t.right &= r.record == RECORDS + t.inserted++;
    else
      count_record(&t, y, &r, i);
    if (r.operation != YCSB_SCAN) continue;
    if (r.scanned < 1 || r.scanned > YCSB_MAX_SCAN)
      t.right = false;
    else
      t.scans[r.scanned - 1]++;
  }
  return t;
}

/*
 * Adds the probability of each frequent rank to its record. The remaining ranks, rare and many, are
 * spread evenly.
 */
static void expect_scattered(uint64_t seed, double chosen, double *expected) {
  const uint64_t counted = 1 << 20;
  double all = sum_powers(exponent, 1, ranks + 1), rest = sum_powers(exponent, counted, ranks + 1);
  for (size_t i = 0; i < RECORDS; i++) expected[i] = chosen * rest / all / RECORDS;
  for (uint64_t rank = 1; rank < counted; rank++) {
    uint64_t record = random_below(random_at(derive_seed(seed, SEED_LOOKUPS), rank), RECORDS);
    expected[record] += chosen * pow((double)rank, -exponent) / all;
  }
  expected[RECORDS] = 0;
}

/* The most recent records; the distribution depends on the number of records at each request. */
static void expect_latest(const ycsb *y, uint64_t n, double chosen, double *expected) {
  double all = sum_powers(exponent, 1, RECORDS + 1), inverse = 0, listed = 0;
  uint64_t there = RECORDS;
  for (uint64_t i = 0; i < n; i++) {
    if (ycsb_records(y, i) > there) all += pow((double)++there, -exponent);
    if (ycsb_at(y, i).operation != YCSB_INSERT) inverse += 1 / all;
  }
  for (size_t i = 0; i < RECORDS; i++)
    listed += expected[i] = inverse * pow((double)i + 1, -exponent);
  expected[RECORDS] = chosen - listed;
}

static bool test_part(report *numbers, char workload, const char *part, double s, uint64_t n, fit f,
                      bool right) {
  char name[32];
  snprintf(name, sizeof name, "ycsb_%c_%s", workload, part);
  trial t = {
      .generator = name, .s = s, .universe = RECORDS, .samples = n, .fit = f, .right = right};
  return report_trial(numbers, &t);
}

static bool test_workload(char workload, uint64_t n, const double *scattered, report *numbers) {
  ycsb y = ycsb_create(workload, BENCH_SEED, RECORDS);
  tally t = count_requests(&y, n);
  double expected[RECORDS + 1], operations[YCSB_OPERATIONS];
  for (int op = 0; op < YCSB_OPERATIONS; op++)
    operations[op] = (double)n / 100 * shares[workload - 'A'][op];
  if (y.mix.latest)
    expect_latest(&y, n, (double)t.chosen, expected);
  else
    for (size_t i = 0; i <= RECORDS; i++) expected[i] = scattered[i] * (double)t.chosen;
  bool holds = test_part(numbers, workload, "mix", -1, n,
                         fit_bins(t.operations, operations, YCSB_OPERATIONS), t.right);
  holds &= test_part(numbers, workload, "keys", exponent, t.chosen,
                     fit_bins(t.records, expected, RECORDS + 1), true);
  if (t.operations[YCSB_SCAN])
    holds &= test_part(numbers, workload, "scans", -1, t.operations[YCSB_SCAN],
                       fit_uniform(t.scans, YCSB_MAX_SCAN), true);
  return holds;
}

bool check_ycsb(bool full, report *numbers) {
  double scattered[RECORDS + 1];
  bool holds = true;
  expect_scattered(BENCH_SEED, 1, scattered);
  for (char workload = 'A'; workload <= 'F'; workload++)
    holds &= test_workload(workload, full ? 5000000 : 100000, scattered, numbers);
  return holds;
}
