/* The extension pool: it returns what was written, block by block, and takes exactly what fits. */
#include "papers/telescoping/extension_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/heap.h"
#include "support/keys.h"

typedef struct subject {
  struct extension_pool pool;
  slot_meta *meta; /* what should be in it */
  uint64_t used;
  size_t refused;
} subject;

static void subject_open(subject *s, uint64_t blocks, uint64_t budget) {
  *s = (subject){.pool = besom__pool_of(64 * blocks, blocks, budget)};
  s->pool.bytes = heap_array(besom__pool_bytes(&s->pool), 1);
  s->meta = heap_array(64 * blocks, sizeof *s->meta);
}

static void subject_close(subject *s) {
  free(s->pool.bytes);
  free(s->meta);
}

static void assert_right(const subject *s) {
  slot_meta meta[CODE_SLOTS];
  assert_null(besom__pool_check(&s->pool));
  assert_int_equal(s->pool.used, s->used);
  for (uint64_t b = 0; b < s->pool.blocks; b++) {
    besom__pool_read(&s->pool, b, meta);
    assert_memory_equal(meta, s->meta + 64 * b, sizeof meta);
    uint64_t presence = besom__pool_presence(&s->pool, b);
    for (unsigned i = 0; i < CODE_SLOTS; i++) assert_int_equal(presence >> i & 1, meta[i] != 0);
    assert_int_equal(besom__pool_cost_of(&s->pool, b), besom__pool_cost(meta));
  }
}

/* Half of them have one bit, a quarter two, and so on; a few have the maximum length. */
static slot_meta some_extension(random_stream *random) {
  unsigned length = 1;
  while (length < MAX_META_EXTENSION && random_below(random, 2)) length++;
  if (random_below(random, 50) == 0) length = MAX_META_EXTENSION;
  return (slot_meta)(UINT64_C(1) << length | random_below(random, UINT64_C(1) << length));
}

/*
 * Changes a few slots of a block. A write is refused only if the page is full, and changes nothing
 * then.
 */
static void change_block(subject *s, random_stream *random, unsigned one_in) {
  uint64_t b = random_below(random, s->pool.blocks),
           first = b / POOL_PAGE_BLOCKS * POOL_PAGE_BLOCKS, in_page = 0;
  uint64_t blocks =
      s->pool.blocks - first < POOL_PAGE_BLOCKS ? s->pool.blocks - first : POOL_PAGE_BLOCKS;
  slot_meta meta[CODE_SLOTS];
  memcpy(meta, s->meta + 64 * b, sizeof meta);
  for (size_t n = 1 + (size_t)random_below(random, 6); n; n--)
    meta[random_below(random, 64)] = random_below(random, one_in) ? some_extension(random) : 0;
  for (uint64_t i = 0; i < blocks; i++) in_page += besom__pool_cost(s->meta + 64 * (first + i));
  uint64_t old = besom__pool_cost(s->meta + 64 * b), new = besom__pool_cost(meta);
  bool fits = in_page - old + new <= 64 * blocks *(s->pool.budget - 1);
  assert_int_equal(besom__pool_write(&s->pool, b, meta), fits);
  s->refused += !fits;
  if (!fits) return;
  memcpy(s->meta + 64 * b, meta, sizeof meta);
  s->used += new - old;
}

static void a_pool_gives_back_what_was_written(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 63, 64, 65, 130};
  for (uint64_t budget = MIN_BUDGET; budget <= MAX_BUDGET; budget += budget < 5 ? 1 : 5)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      subject s;
      random_stream random = {budget * 1000 + i};
      subject_open(&s, sizes[i], budget);
      for (size_t step = 0; step < 60 * sizes[i]; step++) {
        change_block(&s, &random, step % 1000 < 700 ? 6 : 2);
        if (step % (1 + 20 * sizes[i]) == 0) assert_right(&s);
      }
      assert_right(&s);
      assert_true(s.refused > 0 || budget > 3);
      for (uint64_t b = 0; b < sizes[i]; b++) {
        memset(s.meta + 64 * b, 0, 64 * sizeof(slot_meta));
        assert_true(besom__pool_write(&s.pool, b, s.meta + 64 * b));
      }
      s.used = 0;
      assert_right(&s);
      for (size_t at = 0; at < besom__pool_bytes(&s.pool); at++)
        assert_int_equal(s.pool.bytes[at], 0);
      subject_close(&s);
    }
}

static void room_ends_at_the_limit_and_at_the_page(void **state) {
  (void)state;
  slot_meta meta[CODE_SLOTS] = {0};
  subject s;
  subject_open(&s, 128, 3);
  assert_int_equal(s.pool.limit, 128 * 64 * 2);
  assert_int_equal(besom__pool_free_bits(&s.pool, 0), 64 * 64 * 2);
  for (unsigned i = 0; i < 64; i++) meta[i] = 3; /* one bit: two in the pool */
  for (uint64_t b = 0; b < 64; b++) assert_true(besom__pool_write(&s.pool, b, meta));
  assert_int_equal(besom__pool_free_bits(&s.pool, 0), 0);
  assert_int_equal(besom__pool_free_bits(&s.pool, 64), 64 * 64 * 2);
  s.pool.limit = s.pool.used + 10;
  assert_int_equal(besom__pool_free_bits(&s.pool, 64), 10);
  meta[5] = 4;
  assert_false(besom__pool_write(&s.pool, 3, meta));
  assert_null(besom__pool_check(&s.pool));
  subject_close(&s);
}

/* Every bit counts, and no bit makes a read leave the pool. */
static void every_flipped_bit_is_found(void **state) {
  (void)state;
  subject s;
  slot_meta meta[CODE_SLOTS];
  random_stream random = {77};
  subject_open(&s, 3, 2);
  for (size_t step = 0; step < 100; step++) change_block(&s, &random, 3);
  for (size_t bit = 0; bit < 8 * besom__pool_bytes(&s.pool); bit++) {
    uint64_t sum = 0;
    s.pool.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    for (uint64_t b = 0; b < 3; b++) besom__pool_read(&s.pool, b, meta);
    bool found = besom__pool_check(&s.pool) != NULL;
    /* another bit of an extension is another extension */
    for (uint64_t b = 0; b < 3 && !found; b++) {
      besom__pool_read(&s.pool, b, meta);
      for (unsigned i = 0; i < 64; i++) sum += meta[i] != s.meta[64 * b + i];
    }
    assert_true(found || sum > 0);
    s.pool.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  assert_right(&s);
  memset(s.pool.bytes, 0xff, besom__pool_bytes(&s.pool));
  for (uint64_t b = 0; b < 3; b++) besom__pool_read(&s.pool, b, meta);
  assert_non_null(besom__pool_check(&s.pool));
  subject_close(&s);
}

/* A file that was not checked may have any lengths: nothing is written outside of the page. */
static void a_page_whose_lengths_exceed_it_is_not_written(void **state) {
  subject s;
  slot_meta none[CODE_SLOTS] = {0};
  (void)state;
  subject_open(&s, 2, 3);
  size_t bytes = besom__pool_bytes(&s.pool), beyond = 16384;
  uint8_t *memory = heap_array(bytes + beyond, 1);
  free(s.pool.bytes);
  s.pool.bytes = memory;
  memset(memory, 255, bytes + beyond);
  memset(memory + 16, 0, 2); /* the length of the first block */
  assert_false(besom__pool_write(&s.pool, 0, none));
  assert_false(besom__pool_write(&s.pool, 1, none));
  for (size_t i = bytes; i < bytes + beyond; i++) assert_int_equal(memory[i], 255);
  subject_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pool_gives_back_what_was_written),
      cmocka_unit_test(room_ends_at_the_limit_and_at_the_page),
      cmocka_unit_test(every_flipped_bit_is_found),
      cmocka_unit_test(a_page_whose_lengths_exceed_it_is_not_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
