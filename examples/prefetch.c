/*
 * Queries one key at a time, with the memory of later keys on its way: a worker takes requests from
 * a queue, and the filter exceeds the cache. Compares the times with and without prefetching.
 *
 *     cc prefetch.c $(pkg-config --cflags --libs besom) && ./a.out 100000000
 */
#include <besom.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AHEAD 16 /* requests: a read of memory takes as long as some queries */
#define QUEUE 1024

/* The requests that wait. Their digests are computed once, when they arrive. */
static besom_digest queue[QUEUE];

static uint64_t handle(const besom_filter *f, size_t ahead) {
  uint64_t found = 0;
  for (size_t i = 0; i < ahead; i++) besom_prefetch_digest(f, queue[i]);
  for (size_t i = 0; i < QUEUE; i++) {
    if (ahead && i + ahead < QUEUE) besom_prefetch_digest(f, queue[i + ahead]);
    found += besom_contains_digest(f, queue[i]);
  }
  return found;
}

/* Nanoseconds per query; *found becomes the number of yes answers. */
static double measure(const besom_filter *f, uint64_t keys, size_t ahead, uint64_t *found) {
  clock_t time = 0;
  *found = 0;
  for (uint64_t at = 0; at < keys; at += QUEUE) {
    for (uint64_t i = 0; i < QUEUE; i++)
      queue[i] = besom_hash_u64(f, (at + i) * UINT64_C(0x9e3779b97f4a7c15));
    clock_t start = clock();
    *found += handle(f, ahead);
    time += clock() - start;
  }
  return 1e9 * (double)time / CLOCKS_PER_SEC / (double)keys;
}

int main(int argc, char **argv) {
  uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000, plain, prefetched;
  besom_config config = {.kind = argc > 2 ? argv[2] : "aqf", .capacity = keys};
  besom_filter *f;
  if (besom_create(&config, &f)) return 1;
  for (uint64_t i = 0; i < keys; i++)
    if (besom_insert_u64(f, i * UINT64_C(0x9e3779b97f4a7c15))) return 1;
  double alone = measure(f, keys, 0, &plain), ahead = measure(f, keys, AHEAD, &prefetched);
  printf("%.1f ns per query; %.1f ns with prefetching %d ahead\n", alone, ahead, AHEAD);
  if (plain < keys || plain != prefetched) return 1;
  besom_free(f);
  return 0;
}
