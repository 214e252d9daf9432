/*
 * Batches of a guard: all or none. Then a rekey in steps while it serves, and two guards in one.
 *
 * The store is in memory here. With a database that has transactions, such as LMDB, the same calls
 * survive crashes: see guard_lmdb.c.
 *
 *     cc batches.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom_guard.h>
#include <besom_store.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 20000

static void must(besom_status status, const char *what) {
  if (status == BESOM_OK) return;
  fprintf(stderr, "%s: %s\n", what, besom_strerror(status));
  exit(1);
}

/* Guards to be merged need the same seed. Choose it at random, and do not show it to clients. */
static besom_guard *open_guard(const uint8_t *seed) {
  besom_config filter = {.kind = "aqf", .capacity = 3 * KEYS, .fpr = 0.01, .seed = seed};
  besom_guard_config config = {.filter = &filter};
  besom_store *store;
  besom_guard *g;
  must(besom_store_memory(NULL, &store), "store");
  must(besom_guard_open(&config, store, &g), "open");
  return g;
}

static void put_range(besom_guard *g, uint64_t from, uint64_t to, const char *value) {
  for (uint64_t key = from; key < to; key++) must(besom_guard_put_u64(g, key, value, 1, 0), "put");
}

/* The keys of a range that have this value. */
static uint64_t found(besom_guard *g, uint64_t from, uint64_t to, char wanted) {
  uint64_t n = 0;
  for (uint64_t key = from; key < to; key++) {
    besom_bytes value;
    besom_status status = besom_guard_get_u64(g, key, &value);
    if (status == BESOM_NOT_FOUND) continue;
    must(status, "get");
    n += value.len == 1 && *(const char *)value.data == wanted;
    besom_guard_release(g, &value);
  }
  return n;
}

static void expect(bool holds, const char *what) {
  printf("%s: %s\n", what, holds ? "yes" : "NO");
  if (!holds) exit(1);
}

int main(void) {
  const uint8_t seed[16] = "not in earnest!";
  besom_guard *g = open_guard(seed), *other = open_guard(seed);
  besom_guard_statistics stats;
  put_range(g, 0, KEYS, "a");

  /* A batch that fails half way: abort restores values and deleted keys. */
  must(besom_guard_begin(g), "begin");
  put_range(g, 0, 100, "b");
  put_range(g, KEYS, KEYS + 100, "b");
  for (uint64_t key = 200; key < 300; key++) must(besom_guard_delete_u64(g, key), "delete");
  expect(found(g, 0, KEYS + 100, 'b') == 200, "an open batch is visible");
  must(besom_guard_abort(g), "abort");
  expect(found(g, 0, KEYS + 100, 'a') == KEYS && found(g, 0, KEYS + 100, 'b') == 0,
         "an aborted batch has changed nothing");

  /* The same batch, committed. */
  must(besom_guard_begin(g), "begin");
  put_range(g, 0, 100, "b");
  put_range(g, KEYS, KEYS + 100, "b");
  for (uint64_t key = 200; key < 300; key++) must(besom_guard_delete_u64(g, key), "delete");
  must(besom_guard_commit(g), "commit");
  expect(found(g, 0, KEYS + 100, 'a') == KEYS - 200 && found(g, 0, KEYS + 100, 'b') == 200,
         "a committed batch is there");

  /* Merge: the record of the first guard stays if both have the key. */
  put_range(other, 0, 100, "c");
  put_range(other, 2 * KEYS, 2 * KEYS + 1000, "c");
  must(besom_guard_merge(g, other), "merge");
  expect(found(g, 0, 100, 'b') == 100 && found(g, 2 * KEYS, 2 * KEYS + 1000, 'c') == 1000,
         "the merged guard has the records of both");

  /* A rekey in steps of at most 500 entries, with queries between them. Gets do not migrate. */
  unsigned steps = 0;
  bool finished = false, exact = true;
  must(besom_guard_rekey(g), "rekey");
  while (!finished) {
    must(besom_guard_step(g, 500, &finished), "step");
    steps++;
    exact = exact && found(g, 0, 100, 'b') == 100 && found(g, 5 * KEYS, 5 * KEYS + 50, 'a') == 0;
  }
  must(besom_guard_stats(g, &stats), "stats");
  printf("rekey: %u steps of ours, %llu in all, the largest migrated %llu entries\n", steps,
         (unsigned long long)stats.steps, (unsigned long long)stats.largest_step);
  expect(exact && steps > 1, "answers were exact while it rekeyed");
  expect(stats.rekeys == 1 && !stats.migrating, "the rekey is finished");
  expect(found(g, 0, KEYS, 'a') == KEYS - 200 && stats.keys == KEYS + 1000, "no key is lost");
  must(besom_guard_close(other), "close");
  must(besom_guard_close(g), "close");
  return 0;
}
