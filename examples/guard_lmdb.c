/*
 * guard_lmdb.c - a guard over LMDB. The database is read only for keys that it has and for false
 * positives, and almost every false positive costs only one read.
 *
 *     guard_lmdb [directory]     (default: a directory under /tmp that is removed at the end)
 *
 * Run it twice with the same directory: the second run finds what the first has stored.
 */
#define _DEFAULT_SOURCE 1 /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "besom_store.h"

enum { USERS = 20000, BATCH = 500, ABSENT_KEYS = 20000, REPEATS = 5 };

static void check(besom_status status, const char *what) {
  if (status == BESOM_OK) return;
  fprintf(stderr, "%s: %s\n", what, besom_strerror(status));
  exit(1);
}

static besom_guard *open_guard(const char *directory) {
  besom_store *store;
  const char *reason = "";
  besom_lmdb_options options = {.map_size = UINT64_C(1) << 30};
  besom_status status = besom_store_lmdb(directory, &options, &reason, &store);
  if (status != BESOM_OK) fprintf(stderr, "%s\n", reason);
  check(status, "opening the database");

  /* The capacity is a guess: the filter grows when needed. The split layout allows range scans. */
  besom_config filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.01};
  besom_guard_config config = {
      .filter = &filter,
      .layout = BESOM_LAYOUT_SPLIT,
      .durability = BESOM_DURABLE_BATCH,
  };
  besom_guard *guard;
  check(besom_guard_open(&config, store, &guard), "opening the guard");
  return guard;
}

/* Batches of 500: one durable write to disk for each. */
static void store_users(besom_guard *guard) {
  static char keys[BATCH][32], values[BATCH][64];
  besom_bytes key[BATCH], value[BATCH];
  for (unsigned first = 0; first < USERS; first += BATCH) {
    for (unsigned i = 0; i < BATCH; i++) {
      int key_len = snprintf(keys[i], sizeof keys[i], "user:%06u", first + i);
      int value_len = snprintf(values[i], sizeof values[i], "name of user %u", first + i);
      key[i] = (besom_bytes){keys[i], (size_t)key_len};
      value[i] = (besom_bytes){values[i], (size_t)value_len};
    }
    check(besom_guard_put_many(guard, key, value, BATCH, 0), "storing users");
  }
}

/* Several keys per call: the reads are in the order of the store. */
static void print_some_users(besom_guard *guard) {
  const besom_bytes keys[] = {{"user:000007", 11}, {"user:020000", 11}, {"user:019999", 11}};
  besom_bytes values[3];
  uint64_t found;
  check(besom_guard_get_many(guard, keys, 3, values, &found), "reading users");
  for (unsigned i = 0; i < 3; i++) {
    printf("  %.*s: %.*s\n", (int)keys[i].len, (const char *)keys[i].data,
           found >> i & 1 ? (int)values[i].len : 6,
           found >> i & 1 ? (const char *)values[i].data : "absent");
    besom_guard_release(guard, &values[i]);
  }
}

static void query_absent_keys(besom_guard *guard) {
  char key[32];
  for (unsigned round = 0; round < REPEATS; round++)
    for (unsigned i = 0; i < ABSENT_KEYS; i++) {
      int len = snprintf(key, sizeof key, "absent:%06u", i);
      besom_status status = besom_guard_get(guard, key, (size_t)len, NULL);
      check(status == BESOM_NOT_FOUND ? BESOM_OK : BESOM_CORRUPT, "querying an absent key");
    }
}

static besom_status show(void *ctx, besom_bytes key, besom_bytes value) {
  unsigned *shown = ctx;
  printf("  %.*s = %.*s\n", (int)key.len, (const char *)key.data, (int)value.len,
         (const char *)value.data);
  return ++*shown < 3 ? BESOM_OK : BESOM_END;
}

static void print_statistics(besom_guard *guard) {
  besom_guard_statistics stats;
  check(besom_guard_stats(guard, &stats), "statistics");
  printf("%u queries for absent keys: %llu reads of the database, at least %llu of them for repeat "
         "false positives\n",
         REPEATS * ABSENT_KEYS, (unsigned long long)stats.store_reads,
         (unsigned long long)stats.repeated_false_positives);
  printf("%llu keys, %llu bytes of filter, %llu false positives adapted to\n",
         (unsigned long long)stats.keys, (unsigned long long)stats.filter_bytes,
         (unsigned long long)stats.adapted);
}

int main(int argc, char **argv) {
  char temporary[] = "/tmp/guard_lmdb.XXXXXX";
  const char *directory = argc > 1 ? argv[1] : mkdtemp(temporary);
  if (!directory) return 1;
  besom_guard *guard = open_guard(directory);
  besom_bytes value;
  if (besom_guard_get(guard, "user:000042", 11, &value) == BESOM_OK) {
    printf("already stored: %.*s\n", (int)value.len, (const char *)value.data);
    besom_guard_release(guard, &value);
  } else {
    store_users(guard);
  }
  print_some_users(guard);
  query_absent_keys(guard);
  unsigned shown = 0;
  besom_bytes from = {"user:012345", 11}, to = {NULL, 0};
  check(besom_guard_scan(guard, from, to, show, &shown), "scanning");
  print_statistics(guard);
  /* Writes a checkpoint: the next open need not read all keys. */
  check(besom_guard_close(guard), "closing the guard");
  if (argc > 1) return 0;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", temporary);
  return system(command) != 0;
}
