/*
 * The internals of the blocked Bloom filter: the bits of each key, with every instruction set, and
 * its rates.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bloom/blocked.h"
#include "bloom/blocked_geometry.h"
#include "core/bits.h"
#include "core/cpu.h"
#include "support/heap.h"
#include "support/keys.h"

enum { LINES = 37, KEYS = 500 };

static struct blocked make_lines(unsigned shape, uint64_t lines) {
  return (struct blocked){heap_array((size_t)lines, LINE_BYTES), lines, shape};
}

static besom_digest digest(random_stream *random) {
  return (besom_digest){random_next(random), random_next(random)};
}

/* A filter of LINES lines whose operations are those of an instruction set. */
static struct blocked_bloom make_filter(unsigned shape, enum isa isa) {
  static const uint8_t seed[SEED_BYTES] = {3};
  struct blocked_bloom b = {.blocked = make_lines(shape, LINES),
                            .ops = besom__blocked_ops(isa, shape),
                            .head.capacity = KEYS};
  assert_int_equal(besom__hasher_init(&b.head.hasher, "xxh3", seed), BESOM_OK);
  b.head.queries = &b.ops->queries;
  b.head.inserts = &b.ops->inserts;
  return b;
}

/* The portable code and batches are the reference. */
static void assert_same_bits(enum isa isa, const struct blocked *first, const besom_digest *keys,
                             size_t fresh) {
  struct blocked_bloom b = make_filter(first->shape, isa);
  uint64_t bitmap[KEYS / 64 + 1], expected[KEYS / 64 + 1];
  assert_int_equal(b.ops->insert_many(&b.blocked, keys, KEYS / 2), fresh);
  assert_memory_equal(b.blocked.lines, first->lines, LINES * LINE_BYTES);
  besom__blocked_ops(ISA_PORTABLE, first->shape)->contains_many(first, keys, KEYS, expected);
  b.ops->contains_many(&b.blocked, keys, KEYS, bitmap);
  for (size_t i = 0; i < KEYS; i++) {
    bool yes = expected[i / 64] >> (i % 64) & 1;
    assert_true(i >= KEYS / 2 || yes);
    assert_int_equal(b.ops->queries.contains_digest(&b.head, keys[i]), yes);
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, yes);
  }
  memset(b.blocked.lines, 0, LINES * LINE_BYTES);
  for (size_t i = 0; i < KEYS / 2; i++)
    assert_int_equal(b.ops->inserts.insert_digest(&b.head, keys[i]), BESOM_OK);
  assert_int_equal(b.head.items, fresh);
  assert_memory_equal(b.blocked.lines, first->lines, LINES * LINE_BYTES);
  free(b.blocked.lines);
}

static void instructions_do_not_matter(void **state) {
  (void)state;
  for (unsigned shape = 1; shape <= MAX_SHAPE; shape++) {
    struct blocked first = make_lines(shape, LINES);
    besom_digest keys[KEYS];
    random_stream random = {shape};
    for (size_t i = 0; i < KEYS; i++) keys[i] = digest(&random);
    size_t fresh = besom__blocked_ops(ISA_PORTABLE, shape)->insert_many(&first, keys, KEYS / 2);
    for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++)
      assert_same_bits(isa, &first, keys, fresh);
    free(first.lines);
  }
}

/* Calls that hash the key by themselves do what the calls with its digest do. */
static void keys_and_digests_are_treated_alike(void **state) {
  (void)state;
  for (unsigned shape = 1; shape <= MAX_SHAPE; shape++)
    for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++) {
      struct blocked_bloom a = make_filter(shape, isa), b = make_filter(shape, isa);
      for (uint64_t key = 0; key < KEYS / 2; key++) {
        uint8_t bytes[8];
        store64(bytes, key);
        if (key % 2)
          assert_int_equal(a.ops->inserts.insert_u64(&a.head, key), BESOM_OK);
        else
          assert_int_equal(a.ops->inserts.insert(&a.head, bytes, sizeof bytes), BESOM_OK);
        b.ops->inserts.insert_digest(&b.head, hash_u64(&b.head.hasher, key));
      }
      assert_int_equal(a.head.items, b.head.items);
      assert_memory_equal(a.blocked.lines, b.blocked.lines, LINES * LINE_BYTES);
      for (uint64_t key = 0; key < KEYS; key++) {
        uint8_t bytes[8];
        store64(bytes, key);
        bool yes = a.ops->queries.contains_digest(&a.head, hash_u64(&a.head.hasher, key));
        assert_int_equal(a.ops->queries.contains_u64(&a.head, key), yes);
        assert_int_equal(a.ops->queries.contains(&a.head, bytes, sizeof bytes), yes);
      }
      free(a.blocked.lines);
      free(b.blocked.lines);
    }
}

/* A full filter accepts keys that change nothing, and no other. */
static void full_filters_do_not_change(void **state) {
  (void)state;
  for (unsigned shape = 1; shape <= MAX_SHAPE; shape++)
    for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++) {
      struct blocked_bloom b = make_filter(shape, isa);
      uint8_t before[LINES * LINE_BYTES];
      for (uint64_t key = 0; b.head.items < KEYS / 4; key++)
        b.ops->inserts.insert_u64(&b.head, key);
      b.head.capacity = b.head.items;
      memcpy(before, b.blocked.lines, sizeof before);
      for (uint64_t key = 0; key < 2 * KEYS; key++) {
        bool yes = b.ops->queries.contains_u64(&b.head, key);
        assert_int_equal(b.ops->inserts.insert_u64(&b.head, key), yes ? BESOM_OK : BESOM_FULL);
      }
      assert_int_equal(b.head.items, KEYS / 4);
      assert_memory_equal(before, b.blocked.lines, sizeof before);
      free(b.blocked.lines);
    }
}

/*
 * A full layer has a bit in each word, a half layer one in each pair; all in the line of the key.
 */
static void a_key_sets_its_bits_in_one_line(void **state) {
  (void)state;
  random_stream random = {7};
  for (unsigned shape = 1; shape <= MAX_SHAPE; shape++)
    for (size_t i = 0; i < 100; i++) {
      struct blocked b = make_lines(shape, LINES);
      besom_digest d = digest(&random);
      besom__blocked_ops(ISA_PORTABLE, b.shape)->insert_many(&b, &d, 1);
      uint64_t line = (uint64_t)((unsigned __int128)d.hi * LINES >> 64);
      unsigned set = 0, in_line = 0;
      for (size_t w = 0; w < 8 * LINES; w++) set += popcount(load64(b.lines + 8 * w));
      for (size_t pair = 0; pair < 4; pair++) {
        const uint8_t *at = b.lines + LINE_BYTES * line + 16 * pair;
        unsigned x = popcount(load64(at)), y = popcount(load64(at + 8));
        assert_true(x <= shape / 2 + shape % 2 && y <= shape / 2 + shape % 2 && x + y <= shape);
        assert_true(shape < 2 || (x && y));
        assert_true(x + y > 0);
        in_line += x + y;
      }
      assert_int_equal(in_line, set);
      free(b.lines);
    }
}

/* The exact rate of the bits that are set, averaged over the lines. */
static double rate_of_bits(const struct blocked *b) {
  double sum = 0;
  for (uint64_t i = 0; i < b->n_lines; i++) {
    double all_set = 1;
    for (size_t pair = 0; pair < 4; pair++) {
      const uint8_t *at = b->lines + LINE_BYTES * i + 16 * pair;
      double x = popcount(load64(at)) / 64.0, y = popcount(load64(at + 8)) / 64.0;
      all_set *= pow(x * y, b->shape / 2) * (b->shape % 2 ? (x + y) / 2 : 1);
    }
    sum += all_set;
  }
  return sum / (double)b->n_lines;
}

/* Formula, geometry and bits agree, also at rates that are too low to measure by queries. */
static void planned_rates_come_true(void **state) {
  (void)state;
  enum { N = 400000 };
  random_stream random = {11};
  besom_digest *keys = heap_array(N, sizeof *keys);
  for (size_t i = 0; i < N; i++) keys[i] = digest(&random);
  for (int bits = 1; bits <= 16; bits++) {
    double rate = ldexp(1, -bits);
    struct blocked_geometry shape = besom__blocked_geometry_for_fpr(N, rate);
    struct blocked b = make_lines(2 * shape.full_layers + shape.half_layer, (uint64_t)shape.lines);
    besom__blocked_ops(ISA_PORTABLE, b.shape)->insert_many(&b, keys, N);
    double planned = besom__blocked_fpr(&shape, N), found = rate_of_bits(&b);
    assert_true(planned <= rate && planned > 0.98 * rate);
    assert_true(fabs(found / planned - 1) < 0.04);
    free(b.lines);
  }
  free(keys);
}

/* Also with few lines, and for the lowest supported rate. */
static void plans_keep_the_rate_at_every_size(void **state) {
  (void)state;
  static const double rates[] = {0.9, 0.5, 0.1, 0x1p-8, 0x1p-16, 0x1p-30, MIN_PLANNED_FPR};
  for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
    for (double keys = 1; keys < 0x1p44; keys = ceil(keys * 1.7)) {
      struct blocked_geometry shape = besom__blocked_geometry_for_fpr(keys, rates[r]);
      assert_true(fmod(shape.lines, 2) == 1);
      assert_true(besom__blocked_fpr(&shape, keys) <= rates[r] * 1.0001);
      struct blocked_geometry again = besom__blocked_geometry_for_lines(keys, shape.lines);
      assert_true(besom__blocked_fpr(&again, keys) <= besom__blocked_fpr(&shape, keys));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_do_not_matter),
      cmocka_unit_test(keys_and_digests_are_treated_alike),
      cmocka_unit_test(full_filters_do_not_change),
      cmocka_unit_test(a_key_sets_its_bits_in_one_line),
      cmocka_unit_test(planned_rates_come_true),
      cmocka_unit_test(plans_keep_the_rate_at_every_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
