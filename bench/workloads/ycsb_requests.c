#include "workloads/ycsb_requests.h"

#include "fail.h"

enum { GROUP = 20 };

static const double exponent = 0.99;
static const uint64_t ranks = 10000000000;

static const ycsb_mix mixes[] = {
    /* A */ {YCSB_READ, YCSB_UPDATE, 10, false},
    /* B */ {YCSB_READ, YCSB_UPDATE, 1, false},
    /* C */ {YCSB_READ, YCSB_READ, 0, false},
    /* D */ {YCSB_READ, YCSB_INSERT, 1, true},
    /* E */ {YCSB_SCAN, YCSB_INSERT, 1, false},
    /* F */ {YCSB_READ, YCSB_READ_MODIFY_WRITE, 10, false},
};

ycsb ycsb_create(char workload, uint64_t seed, uint64_t records) {
  if (workload < 'A' || workload > 'F') fail("there is no YCSB workload %c", workload);
  return (ycsb){.mix = mixes[workload - 'A'],
                .seed = seed,
                .records = records,
                .popularity = zipf_create(exponent, ranks)};
}

/*
 * One insert per group of requests, at a random position: the number of earlier inserts is known
 * without counting.
 */
static uint64_t place_of_insert(const ycsb *y, uint64_t group) {
  return random_below(random_at(derive_seed(y->seed, SEED_POSITIONS), group), GROUP);
}

uint64_t ycsb_records(const ycsb *y, uint64_t i) {
  if (y->mix.other != YCSB_INSERT) return y->records;
  return y->records + i / GROUP + (i % GROUP > place_of_insert(y, i / GROUP));
}

static ycsb_operation operation_at(const ycsb *y, uint64_t i) {
  bool other;
  if (y->mix.other == YCSB_INSERT)
    other = i % GROUP == place_of_insert(y, i / GROUP);
  else
    other = random_below(random_at(derive_seed(y->seed, SEED_TURNS), i), GROUP) < y->mix.others;
  return other ? y->mix.other : y->mix.usual;
}

static uint64_t latest_at(const ycsb *y, uint64_t i, uint64_t seed) {
  uint64_t records = ycsb_records(y, i);
  zipf newest_first = zipf_create(exponent, records);
  return records - zipf_rank(&newest_first, seed);
}

static uint64_t scattered(const ycsb *y, uint64_t seed) {
  uint64_t rank = zipf_rank(&y->popularity, seed);
  return random_below(random_at(derive_seed(y->seed, SEED_LOOKUPS), rank), y->records);
}

ycsb_request ycsb_at(const ycsb *y, uint64_t i) {
  ycsb_request request = {.operation = operation_at(y, i)};
  uint64_t seed = random_at(derive_seed(y->seed, SEED_RANKS), i);
  if (request.operation == YCSB_INSERT)
    request.record = ycsb_records(y, i);
  else
    request.record = y->mix.latest ? latest_at(y, i, seed) : scattered(y, seed);
  if (request.operation == YCSB_SCAN)
    request.scanned =
        1 + random_below(random_at(derive_seed(y->seed, SEED_LENGTHS), i), YCSB_MAX_SCAN);
  return request;
}
