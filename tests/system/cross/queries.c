/*
 * queries.c KIND FPR ROUNDS one|many: makes a filter of 19,000 keys, then queries 20,000 keys that
 * often, one by one or in batches. Half of the keys are members. For instructions.sh.
 */
#include <besom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 20000, MEMBERS = KEYS / 20 * 19 };

static uint64_t keys[KEYS], bitmap[KEYS / 64 + 1];

static uint64_t query(const besom_filter *f, int many) {
  uint64_t yes = 0;
  for (size_t i = 0; i < KEYS && !many; i++) yes += besom_contains_u64(f, keys[i]);
  if (many && besom_contains_many_u64(f, keys, KEYS, bitmap) == BESOM_OK) yes += bitmap[0] & 1;
  return yes;
}

int main(int argc, char **argv) {
  static const uint8_t seed[16] = "instructions";
  if (argc != 5) return 2;
  besom_config config = {.kind = argv[1], .capacity = KEYS, .fpr = atof(argv[2]), .seed = seed};
  besom_filter *f = NULL;
  if (besom_create(&config, &f) != BESOM_OK) return 1;
  for (uint64_t i = 0; i < KEYS; i++) keys[i] = 2 * i;
  for (uint64_t i = 0; i < MEMBERS; i++)
    if (besom_insert_u64(f, i) != BESOM_OK) return 1;
  uint64_t yes = 0;
  for (int round = 0; round < atoi(argv[3]); round++) yes += query(f, !strcmp(argv[4], "many"));
  printf("%llu\n", (unsigned long long)yes);
  besom_free(f);
  return 0;
}
