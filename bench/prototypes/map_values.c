/*
 * map_values [LOG2_SLOTS]: queries of a maplet with values of 16 bits against those of an aqf
 * without values; width 8, 90 % load, in one run, alternately. 2^26 slots by default.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "besom_map.h"
#include "prototype.h"

enum { BATCH = 8192, ROOM = 2 * BATCH };

static const uint8_t seed[16] = {1};

struct filters {
  besom_filter *map, *plain;
};

static besom_filter *filled(const char *options, uint32_t value_bits, uint64_t slots, uint64_t n) {
  besom_config config = {.kind = "aqf",
                         .options = options,
                         .slots = slots,
                         .width = 8,
                         .value_bits = value_bits,
                         .seed = seed};
  besom_filter *f;
  if (besom_create(&config, &f)) exit(1);
  for (uint64_t i = 0; i < n; i++) {
    besom_u64_key key = besom_u64(member_key(i));
    if (value_bits ? besom_insert_value(f, key.bytes, 8, key.bytes[0])
                   : besom_insert_u64(f, member_key(i)))
      exit(1);
  }
  return f;
}

LOOP values_of_map(const struct filters *l, const uint64_t *keys) {
  static uint64_t out[ROOM];
  static size_t starts[BATCH + 1];
  uint64_t sum = 0;
  for (size_t i = 0; i < QUERIES; i += BATCH) {
    size_t done;
    besom_get_values_many_u64(l->map, keys + i, BATCH, out, ROOM, starts, &done);
    sum += starts[BATCH];
  }
  return sum;
}

ALWAYS_INLINE uint64_t contains_batches(const besom_filter *f, const uint64_t *keys) {
  static uint64_t bitmap[BATCH / 64];
  for (size_t i = 0; i < QUERIES; i += BATCH) besom_contains_many_u64(f, keys + i, BATCH, bitmap);
  return bitmap[0];
}

LOOP many_of_map(const struct filters *l, const uint64_t *keys) {
  return contains_batches(l->map, keys);
}

LOOP many_plain(const struct filters *l, const uint64_t *keys) {
  return contains_batches(l->plain, keys);
}

ALWAYS_INLINE uint64_t contains_each(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += besom_contains_u64(f, keys[i]);
  return yes;
}

LOOP single_of_map(const struct filters *l, const uint64_t *keys) {
  return contains_each(l->map, keys);
}

LOOP single_plain(const struct filters *l, const uint64_t *keys) {
  return contains_each(l->plain, keys);
}

/* ------------------------------------------------------------------ main */

static const struct {
  const char *name;
  uint64_t (*call)(const struct filters *l, const uint64_t *keys);
} calls[] = {{"contains, map", single_of_map},
             {"contains, no values", single_plain},
             {"contains_many, map", many_of_map},
             {"contains_many, no values", many_plain},
             {"get_values_many", values_of_map}};
enum { CALLS = sizeof calls / sizeof *calls };

static void measure(const struct filters *l, bool members, uint64_t n) {
  double ns[CALLS][ROUNDS];
  uint64_t *keys = query_keys(members, n);
  for (size_t r = 0; r < ROUNDS; r++)
    for (size_t c = 0; c < CALLS; c++) {
      double start = seconds_now();
      volatile uint64_t sum = calls[c].call(l, keys);
      (void)sum;
      ns[c][r] = 1e9 * (seconds_now() - start) / QUERIES;
    }
  for (size_t c = 0; c < CALLS; c++)
    printf("%s, %s: %.1f ns\n", members ? "positive" : "negative", calls[c].name, median(ns[c]));
  free(keys);
}

int main(int argc, char **argv) {
  uint64_t slots = slots_of(argc, argv), n = slots / 10 * 9;
  struct filters l = {.map = filled("maplet=yes," PROTOTYPE_ISA, 16, slots, n),
                      .plain = filled(PROTOTYPE_ISA, 0, slots, n)};
  measure(&l, false, n);
  measure(&l, true, n);
  besom_free(l.map);
  besom_free(l.plain);
}
