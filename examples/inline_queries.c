/*
 * Queries that are inlined into the loop, beside the exported calls. Compile it for the machine, so
 * that blocked-bloom and pqf are inline, too.
 *
 *     cc -O2 -march=native inline_queries.c $(pkg-config --cflags --libs besom) && ./a.out 10000000
 */
#include <besom_inline.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUERIES 2000000

/* Every second key is a member. */
static uint64_t key_of(uint64_t i, uint64_t members) {
  return i % 2 * (i / 2 % members + 1) * UINT64_C(0x9e3779b97f4a7c15) + (i % 2 ? 0 : i + 1);
}

static uint64_t exported(const besom_filter *f, const uint64_t *keys) {
  uint64_t found = 0;
  for (size_t i = 0; i < QUERIES; i++) found += besom_contains_u64(f, keys[i]);
  return found;
}

static uint64_t inlined(besom_filter *f, const uint64_t *keys) {
  besom_inline_blocked_bloom x = besom_inline_blocked_bloom_of(f);
  uint64_t found = 0;
  for (size_t i = 0; i < QUERIES; i++)
    found += besom_inline_blocked_bloom_contains_u64(&x, keys[i]);
  return found;
}

int main(int argc, char **argv) {
  uint64_t members = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
  besom_config config = {.kind = "blocked-bloom", .capacity = members, .fpr = 1.0 / 256};
  uint64_t *keys = malloc(QUERIES * sizeof *keys);
  besom_filter *f;
  if (!keys || besom_create(&config, &f)) return 1;
  besom_inline_blocked_bloom x = besom_inline_blocked_bloom_of(f);
  for (uint64_t i = 1; i <= members; i++)
    if (besom_inline_blocked_bloom_insert_u64(&x, i * UINT64_C(0x9e3779b97f4a7c15))) return 1;
  for (uint64_t i = 0; i < QUERIES; i++) keys[i] = key_of(i, members);
  clock_t start = clock();
  uint64_t found = exported(f, keys);
  clock_t between = clock();
  if (inlined(f, keys) != found || found < QUERIES / 2) return 1;
  double per_query = 1e9 / CLOCKS_PER_SEC / QUERIES;
  printf("ns per query: exported %.1f, %s %.1f\n", (double)(between - start) * per_query,
         besom_inline_blocked_bloom_is_inline(&x) ? "inline" : "not inline",
         (double)(clock() - between) * per_query);
  free(keys);
  besom_free(f);
  return 0;
}
