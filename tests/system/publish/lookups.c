/*
 * lookups SET FILTER KEYS ASKED: the time of a query for a key of 32 characters in the mapped copy
 * of a published set, in multiples of one mapped filter with the same keys. Key i is that of
 * key_stream; half of the keys that are asked are members. Rounds alternate, and the median of the
 * ratios counts.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "besom_set.h"

enum { KEY_BYTES = 32, ROUNDS = 15 };

static uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void write_hex(char *to, uint64_t x) {
  for (int i = 0; i < 16; i++, x >>= 4) to[i] = "0123456789abcdef"[x & 15];
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static uint64_t yes; /* so that no query is left out */

static double ask(const besom_set *set, const besom_filter *f, const char *keys, size_t n) {
  double start = seconds();
  for (size_t i = 0; i < n; i++)
    yes += set ? besom_set_contains(set, keys + i * KEY_BYTES, KEY_BYTES)
               : besom_contains(f, keys + i * KEY_BYTES, KEY_BYTES);
  return 1e9 * (seconds() - start) / (double)n;
}

static double ask_many(const besom_set *set, const besom_filter *f, const besom_bytes *keys,
                       size_t n, uint64_t *bitmap) {
  enum { AT_ONCE = 8192 };
  double start = seconds();
  for (size_t i = 0; i + AT_ONCE <= n; i += AT_ONCE) {
    if (set)
      besom_set_contains_many(set, keys + i, AT_ONCE, bitmap);
    else
      besom_contains_many(f, keys + i, AT_ONCE, bitmap);
    yes += bitmap[0];
  }
  return 1e9 * (seconds() - start) / (double)n;
}

int main(int argc, char **argv) {
  besom_set *set;
  besom_filter *f;
  besom_open_options options = {.flags = BESOM_OPEN_MMAP};
  if (argc != 5 || besom_set_open(argv[1], 0, &set) || besom_open(argv[2], &options, &f)) return 1;
  uint64_t members = strtoull(argv[3], NULL, 10);
  size_t n = strtoull(argv[4], NULL, 10);
  char *keys = malloc(n * KEY_BYTES);
  besom_bytes *bytes = malloc(n * sizeof *bytes);
  uint64_t bitmap[128];
  for (size_t i = 0; i < n; i++) {
    uint64_t number = mixed(i) % members + (i & 1 ? 0 : 4 * members);
    write_hex(keys + i * KEY_BYTES, mixed(number + 1));
    write_hex(keys + i * KEY_BYTES + 16, mixed(~number));
    bytes[i] = (besom_bytes){keys + i * KEY_BYTES, KEY_BYTES};
  }
  for (int many = 0; many < 2; many++) {
    double one[ROUNDS], other[ROUNDS], ratio[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
      other[r] = many ? ask_many(NULL, f, bytes, n, bitmap) : ask(NULL, f, keys, n);
      one[r] = many ? ask_many(set, NULL, bytes, n, bitmap) : ask(set, NULL, keys, n);
      ratio[r] = one[r] / other[r];
    }
    qsort(one, ROUNDS, sizeof *one, by_value);
    qsort(other, ROUNDS, sizeof *other, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    printf("%s: %.1f ns in the set, %.1f ns in one filter: %.2f times\n",
           many ? "in batches" : "one by one", one[ROUNDS / 2], other[ROUNDS / 2],
           ratio[ROUNDS / 2]);
  }
  besom_set_close(set);
  besom_free(f);
  free(keys);
  free(bytes);
  return yes == 1;
}
