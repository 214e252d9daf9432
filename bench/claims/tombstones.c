/*
 * Claim tombstones: a guard learns false positives. Then some members are deleted and put again,
 * round after round. With tombstones the returning keys get their extensions back, and what was
 * learned stays; without them it is lost with the members that caused it.
 */
#include "besom_guard.h"
#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "workloads/key_stream.h"

enum { ROUNDS = 5 };

static uint64_t key_at(const key_stream *keys, uint64_t i) {
  uint64_t key;
  keys->generate(keys, i, 1, &key);
  return key;
}

static besom_guard *open_guard(const char *options, uint64_t members) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config filter = {.kind = "aqf",
                         .capacity = members,
                         .fpr = 1.0 / 64,
                         .reserve = 0.2,
                         .seed = seed,
                         .options = options};
  besom_guard_config config = {.filter = &filter, .grow_at = 1, .rekey_at = 2};
  besom_store *store;
  besom_guard *g;
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&config, store, &g), "opening a guard");
  key_stream keys = stream_members(BENCH_SEED);
  for (uint64_t i = 0; i < members; i++)
    check(besom_guard_put_u64(g, key_at(&keys, i), NULL, 0, BESOM_PUT_NEW), "a put");
  return g;
}

/* Asks the guard for all absent keys. Returns how many were false positives. */
static uint64_t ask(besom_guard *g, uint64_t n) {
  key_stream keys = stream_absent(BENCH_SEED);
  besom_guard_statistics before, after;
  check(besom_guard_stats(g, &before), "statistics");
  for (uint64_t i = 0; i < n; i++)
    if (besom_guard_get_u64(g, key_at(&keys, i), NULL) != BESOM_NOT_FOUND)
      fail("an absent key was found");
  check(besom_guard_stats(g, &after), "statistics");
  return after.false_positives - before.false_positives;
}

/* A fifth of the members, another one in each round. */
static void replace_members(besom_guard *g, uint64_t members, unsigned round) {
  key_stream keys = stream_members(BENCH_SEED);
  for (uint64_t i = round % 5; i < members; i += 5)
    check(besom_guard_delete_u64(g, key_at(&keys, i)), "a delete");
  for (uint64_t i = round % 5; i < members; i += 5)
    check(besom_guard_put_u64(g, key_at(&keys, i), NULL, 0, 0), "a put");
}

static void run_form(const char *options, uint64_t members, findings *found, report *numbers) {
  besom_guard *g = open_guard(options, members);
  uint64_t first = ask(g, 2 * members), left = ask(g, 2 * members);
  for (unsigned round = 0; round < ROUNDS; round++) {
    replace_members(g, members, round);
    uint64_t again = ask(g, 2 * members);
    bool kept = options[11] == 'y', holds = kept ? again * 20 <= first : again * 20 > first;
    report_cell(numbers, "%s", kept ? "yes" : "no");
    report_cell(numbers, "%u", round + 1);
    report_cell(numbers, "%llu", (unsigned long long)first);
    report_cell(numbers, "%llu", (unsigned long long)left);
    report_cell(numbers, "%llu", (unsigned long long)again);
    report_cell(numbers, "%.4f", (double)again / (double)first);
    report_cell(numbers, "%s", holds ? "yes" : "no");
    finding(found, holds);
  }
  check(besom_guard_close(g), "closing a guard");
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  uint64_t members = full ? 1000000 : 20000;
  run_form("tombstones=yes", members, &found, numbers);
  run_form("tombstones=no", members, &found, numbers);
  return found;
}

static const char *const columns[] = {"tombstones", "round", "learned", "left_after_learning",
                                      "repeated",   "share", "holds"};

static const plot plots[] = {{.title = "False positives that return when members are replaced",
                              .x = "round",
                              .y = "share",
                              .series = "tombstones",
                              .x_label = "round: a fifth of the members is deleted and put again",
                              .y_label = "false positives / those learned at first"},
                             {0}};

const claim tombstones_claim = {
    .name = "tombstones",
    .title = "Fixes that survive a removal",
    .source = "besom",
    .statement = "when a fifth of the members is deleted and put again, at most 5 % of the learned "
                 "false positives return with tombstones, and more without",
    .differs = "A guard with an aqf (1/64, reserve of 20 %) over a store in memory. False "
               "positives that return are learned again in each round.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};
