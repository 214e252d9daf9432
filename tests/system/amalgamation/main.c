/* Uses besom.h and besom.c alone: every kind is there, in AVX2 if the machine has it. */
#include "besom.h"

#include <stdio.h>

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

int main(void) {
  besom_config config = {.kind = "aqf", .capacity = 1000, .fpr = 0.01};
  besom_filter *f = NULL;
  if (besom_create(&config, &f) != BESOM_OK) return fail("create");
  for (uint64_t key = 0; key < 1000; key++)
    if (besom_insert_u64(f, key) != BESOM_OK) return fail("insert");
  for (uint64_t key = 0; key < 1000; key++)
    if (!besom_contains_u64(f, key)) return fail("contains");
  besom_statistics stats;
  if (besom_stats(f, &stats) != BESOM_OK || stats.keys != 1000) return fail("stats");
  besom_free(f);
  size_t kinds = 0;
  while (besom_kinds(kinds)) kinds++;
  if (kinds < 20) return fail("kinds");
  const char *isa = "portable";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) isa = "avx2";
#endif
  if (strcmp(stats.isa, isa) != 0) return fail("another instruction set than AVX2");
  printf("%zu kinds, %s\n", kinds, stats.isa);
  return 0;
}
