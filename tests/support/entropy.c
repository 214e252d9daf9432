/*
 * Tests that cannot fail by chance: this getentropy replaces that of the C library. A request for
 * the bytes of a seed returns the next ones of a fixed stream, so that every run of a test draws
 * the same seeds. BESOM_TEST_SEED=N chooses another stream. Everything else, names of temporary
 * files and of lock owners for instance, stays random: other processes must not draw the same.
 */
#define _GNU_SOURCE /* SYS_getrandom */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SEED_BYTES = 16 };

int getentropy(void *out, size_t n);

/* SplitMix64: the i-th number of the stream. */
static uint64_t number(uint64_t i) {
  uint64_t x = i * UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

int getentropy(void *out, size_t n) {
  static atomic_ulong drawn;
  if (n != SEED_BYTES) return syscall(SYS_getrandom, out, n, 0) == (long)n ? 0 : -1;
  const char *chosen = getenv("BESOM_TEST_SEED");
  uint64_t stream = chosen ? strtoull(chosen, NULL, 10) : 1;
  uint64_t i = (stream << 32) + 2 * atomic_fetch_add(&drawn, 1);
  uint64_t seed[2] = {number(i), number(i + 1)};
  memcpy(out, seed, SEED_BYTES);
  return 0;
}
