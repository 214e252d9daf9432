#include "workloads/database_attack.h"

#include "fail.h"
#include "harness/timing.h"

enum { CHUNK = 4096, QUERIES_PER_CHECK = 16 };

static void query(database_attack *a, uint64_t key) {
  if (tested_database_get(a->db, key)) fail("a key that was never put was found");
}

/*
 * Queries a key. Returns true for a false positive. Without a filter, a page read from disk counts
 * as one.
 */
static bool query_and_classify(database_attack *a, uint64_t key) {
  bool yes = tested_database_filter_says_yes(a->db, key);
  uint64_t pages = disk_pages_read();
  query(a, key);
  return a->db->queried_filter ? yes : disk_pages_read() != pages;
}

void database_attack_collect(database_attack *a, uint64_t n) {
  uint64_t keys[CHUNK];
  if (a->cache) disk_cache_resume(a->cache);
  for (uint64_t done = 0; done < n;) {
    size_t chunk = n - done < CHUNK ? (size_t)(n - done) : CHUNK;
    replay_adversary_collect(&a->keys, chunk, keys);
    for (size_t i = 0; i < chunk; i++) {
      if (query_and_classify(a, keys[i])) key_list_add(&a->keys.found, keys[i]);
      if (a->cache && i % QUERIES_PER_CHECK == 0) disk_cache_check(a->cache);
    }
    done += chunk;
  }
  if (a->cache) disk_cache_pause(a->cache);
}

static uint64_t store_reads(const database_attack *a) {
  besom_store_statistics stats = tested_database_stats(a->db);
  return stats.reads + stats.table_reads;
}

void database_attack_replay(database_attack *a, uint64_t n) {
  uint64_t keys[CHUNK], reads = store_reads(a), pages = disk_pages_read();
  double seconds = 0;
  if (a->cache) disk_cache_resume(a->cache);
  for (uint64_t done = 0; done < n;) {
    size_t chunk = n - done < CHUNK ? (size_t)(n - done) : CHUNK;
    replay_adversary_choose(&a->keys, chunk, keys);
    double start = wall_seconds(), emptying = a->cache ? a->cache->seconds : 0;
    for (size_t i = 0; i < chunk; i++) {
      query(a, keys[i]);
      if (a->cache && i % QUERIES_PER_CHECK == 0) disk_cache_check(a->cache);
    }
    seconds += wall_seconds() - start;
    if (a->cache) seconds -= a->cache->seconds - emptying;
    done += chunk;
  }
  if (a->cache) disk_cache_pause(a->cache);
  samples_add(&a->seconds, seconds);
  a->pages += disk_pages_read() - pages;
  a->reads += store_reads(a) - reads;
}

void database_attack_free(database_attack *a) {
  replay_adversary_free(&a->keys);
  samples_free(&a->seconds);
}
