/*
 * map_values [LOG2_SLOTS]: values of 16 bits behind all blocks of the table against values inside
 * the blocks, as a maplet has them; width 8, 90 % load, in one run, alternately.
 *
 *   inside   the library's maplet: 16 words per block, a plane per bit of the value
 *   behind   the library's aqf without values, and a number per slot in an array
 *
 * A query for a key's presence is the same code in both; with values behind all blocks it reads the
 * table of an aqf without values.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#define UNSHARED 1

#include "quotient/table/table_ops.c"
#include "quotient/table/table_slots.c"

#include "besom_map.h"
#include "core/hash.h"
#include "prototype.h"
#include "quotient/aqf/aqf.h"

/* Of struct qtable_ops; not called. */
#pragma weak besom__merge_tables_prototype_8
#pragma weak besom__qtable_ops_shared_prototype_8
#pragma weak besom__quotient_calls_prototype_8

enum { BATCH = 8192, ROOM = 2 * BATCH };

static const uint8_t seed[16] = {1};

struct layouts {
  besom_filter *inside, *plain;
  uint16_t *behind;
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

/* ------------------------------------------------------------------ values behind all blocks */

struct seen {
  struct equal_slots equal;
  const uint16_t *value;
};

/* The candidates of keys with one match at most; the others are counted. */
LOOP values_behind(const struct layouts *l, const uint64_t *keys) {
  const struct qtable *t = &const_quotient_filter(l->plain)->table;
  uint64_t sum = 0;
  for (size_t i = 0; i < QUERIES; i += VALUES_BATCH) {
    struct target ahead[VALUES_BATCH];
    struct seen seen[VALUES_BATCH];
    for (size_t j = 0; j < VALUES_BATCH; j++)
      ahead[j] = prefetch(t, xxh3_u64(&l->plain->hasher, keys[i + j]), false, 8);
    for (size_t j = 0; j < VALUES_BATCH; j++) {
      struct prefetched_run run = run_prefetched(t, ahead[j]);
      struct equal_slots e = {.block = ahead[j].block};
      if (UNLIKELY(run.slots >> BATCH_SLOTS))
        e.slots = equal_far(t, ahead[j], &e.block);
      else
        e.slots = slots_equal_in(t, e.block, run.first, run.slots, ahead[j].remainder, 8)
                  << run.first;
      uint64_t block = (uint64_t)(e.block - block_at(t, 0)) / t->stride;
      seen[j] = (struct seen){e, l->behind + 64 * block + trailing_zeros(e.slots | 1)};
      if (e.slots) __builtin_prefetch(seen[j].value);
    }
    for (size_t j = 0; j < VALUES_BATCH; j++)
      if (seen[j].equal.slots) sum += 1 + *seen[j].value;
  }
  return sum;
}

/* ------------------------------------------------------------------ calls of the library */

LOOP values_inside(const struct layouts *l, const uint64_t *keys) {
  static uint64_t out[ROOM];
  static size_t starts[BATCH + 1];
  uint64_t sum = 0;
  for (size_t i = 0; i < QUERIES; i += BATCH) {
    size_t done;
    besom_get_values_many_u64(l->inside, keys + i, BATCH, out, ROOM, starts, &done);
    sum += starts[BATCH];
  }
  return sum;
}

ALWAYS_INLINE uint64_t contains_batches(const besom_filter *f, const uint64_t *keys) {
  static uint64_t bitmap[BATCH / 64];
  for (size_t i = 0; i < QUERIES; i += BATCH) besom_contains_many_u64(f, keys + i, BATCH, bitmap);
  return bitmap[0];
}

LOOP many_inside(const struct layouts *l, const uint64_t *keys) {
  return contains_batches(l->inside, keys);
}

LOOP many_plain(const struct layouts *l, const uint64_t *keys) {
  return contains_batches(l->plain, keys);
}

ALWAYS_INLINE uint64_t contains_each(const besom_filter *f, const uint64_t *keys) {
  uint64_t yes = 0;
  for (size_t i = 0; i < QUERIES; i++) yes += besom_contains_u64(f, keys[i]);
  return yes;
}

LOOP single_inside(const struct layouts *l, const uint64_t *keys) {
  return contains_each(l->inside, keys);
}

LOOP single_plain(const struct layouts *l, const uint64_t *keys) {
  return contains_each(l->plain, keys);
}

/* ------------------------------------------------------------------ main */

static const struct {
  const char *name;
  uint64_t (*call)(const struct layouts *l, const uint64_t *keys);
} calls[] = {
    {"contains, values inside", single_inside},    {"contains, values behind", single_plain},
    {"contains_many, values inside", many_inside}, {"contains_many, values behind", many_plain},
    {"get_values_many, inside", values_inside},    {"get_values_many, behind", values_behind}};
enum { CALLS = sizeof calls / sizeof *calls };

static void measure(const struct layouts *l, bool members, uint64_t n) {
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
  struct layouts l = {.inside = filled("maplet=yes," PROTOTYPE_ISA, 16, slots, n),
                      .plain = filled(PROTOTYPE_ISA, 0, slots, n),
                      .behind = calloc(slots + 4096, sizeof *l.behind)};
  if (!l.behind) return 1;
  measure(&l, false, n);
  measure(&l, true, n);
  besom_free(l.inside);
  besom_free(l.plain);
  free(l.behind);
}
