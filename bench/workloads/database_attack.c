#include "workloads/database_attack.h"

#include "fail.h"
#include "harness/timing.h"

enum { PIECE = 4096, QUERIES_A_CHECK = 16 };

static void ask(attack *a, uint64_t key) {
  if (front_get(a->front, key)) fail("a key that was never put is there");
}

/* Asks for a key; true if it was a false positive. Who has no filter to look at can tell by the disk. */
static bool ask_and_watch(attack *a, uint64_t key) {
  bool yes = front_says_yes(a->front, key);
  uint64_t pages = disk_pages_read();
  ask(a, key);
  return a->front->facade ? yes : disk_pages_read() != pages;
}

void attack_collect(attack *a, uint64_t n) {
  uint64_t keys[PIECE];
  if (a->cache) disk_cache_resume(a->cache);
  for (uint64_t done = 0; done < n;) {
    size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
    replay_collect(&a->keys, piece, keys);
    for (size_t i = 0; i < piece; i++) {
      if (ask_and_watch(a, keys[i])) key_list_add(&a->keys.found, keys[i]);
      if (a->cache && i % QUERIES_A_CHECK == 0) disk_cache_check(a->cache);
    }
    done += piece;
  }
  if (a->cache) disk_cache_pause(a->cache);
}

static uint64_t store_reads(const attack *a) {
  besom_store_statistics stats = front_stats(a->front);
  return stats.reads + stats.table_reads;
}

void attack_go_on(attack *a, uint64_t n) {
  uint64_t keys[PIECE], reads = store_reads(a), pages = disk_pages_read();
  double seconds = 0;
  if (a->cache) disk_cache_resume(a->cache);
  for (uint64_t done = 0; done < n;) {
    size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
    replay_choose(&a->keys, piece, keys);
    double start = wall_seconds(), emptying = a->cache ? a->cache->seconds : 0;
    for (size_t i = 0; i < piece; i++) {
      ask(a, keys[i]);
      if (a->cache && i % QUERIES_A_CHECK == 0) disk_cache_check(a->cache);
    }
    seconds += wall_seconds() - start;
    if (a->cache) seconds -= a->cache->seconds - emptying;
    done += piece;
  }
  if (a->cache) disk_cache_pause(a->cache);
  samples_add(&a->seconds, seconds);
  a->pages += disk_pages_read() - pages;
  a->reads += store_reads(a) - reads;
}

void attack_free(attack *a) {
  replay_free(&a->keys);
  samples_free(&a->seconds);
}
