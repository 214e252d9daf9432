/*
 * inline_queries [LOG2_SLOTS]: besom_contains_u64 against the same query inline, in one run,
 * alternately. It is the most that inlining could gain: kind, width and instruction set are known
 * when the program is compiled, and nothing is checked. PROTOTYPE_KIND: 0 qf, 1 aqf.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "prototype.h"
#include "quotient/quotient_calls.c"
#include "quotient/table/table_slots.c" /* besom__find_run, of this BESOM_ISA */

static const char *const kinds[] = {"qf", "aqf"};

ALWAYS_INLINE bool query(const besom_filter *f, uint64_t key) {
  besom_digest d = xxh3_u64(&f->hasher, key);
#if PROTOTYPE_KIND == 0
  return qf_has(f, d);
#else
  return aqf_has(f, d);
#endif
}

LOOP exported(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += besom_contains_u64(f, keys[i]);
  return yes;
}

LOOP inlined(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += query(f, keys[i]);
  return yes;
}

static void compare(const besom_filter *f, bool members, uint64_t n) {
  uint64_t *keys = query_keys(members, n);
  double calls[ROUNDS], inlines[ROUNDS], ratios[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double start = seconds_now();
    uint64_t yes = exported(f, keys);
    double between = seconds_now();
    if (inlined(f, keys) != yes) exit(3);
    double end = seconds_now();
    calls[r] = 1e9 * (between - start) / QUERIES;
    inlines[r] = 1e9 * (end - between) / QUERIES;
    ratios[r] = calls[r] / inlines[r];
  }
  printf("%s,%s,%.1f,%.1f,%.2f\n", kinds[PROTOTYPE_KIND], members ? "positive" : "negative",
         median(calls), median(inlines), median(ratios));
  free(keys);
}

int main(int argc, char **argv) {
  static const uint8_t seed[16] = {1, 2, 3};
  uint64_t slots = slots_of(argc, argv), n = slots / 10 * 9;
  besom_config config = {.kind = kinds[PROTOTYPE_KIND],
                         .slots = slots,
                         .width = 8,
                         .seed = seed,
                         .options = PROTOTYPE_ISA};
  besom_filter *f;
  if (besom_create(&config, &f) != BESOM_OK) return 1;
  for (uint64_t i = 0; i < n; i++)
    if (besom_insert_u64(f, member_key(i)) != BESOM_OK) return 1;
  printf("kind,query,exported_ns,inline_ns,ratio\n");
  for (int members = 0; members < 2; members++) compare(f, members, n);
  besom_free(f);
  return 0;
}
