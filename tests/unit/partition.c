/* Entries partitioned into groups: none is lost, none is new, and the pool has as many chunks as it
   promises to need. */
#include "core/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

enum { GROUPS = 37, N = 40000 };

typedef size_t (*group_choice)(size_t i);

static size_t any_group(size_t i) {
  return (size_t)(mix64(i) % GROUPS);
}

static size_t one_group(size_t i) {
  (void)i;
  return 17;
}

static size_t each_in_turn(size_t i) {
  return i % GROUPS;
}

static const group_choice choices[] = {any_group, one_group, each_in_turn};

/* An entry tells its number and its group. */
typedef struct entry {
  uint32_t words[4];
} entry;

static entry entry_of(size_t i, size_t group) {
  return (entry){{(uint32_t)i, (uint32_t)group, 5, 6}};
}

static size_t chunks_needed(size_t n, size_t bytes) {
  return n / CHUNK_ENTRIES(bytes) + 2 * GROUPS;
}

static void check_group(const struct partition *p, size_t group, size_t bytes, uint8_t *seen) {
  uint64_t n = besom__partition_count(p, group, bytes);
  uint8_t *copied = heap_array((size_t)n + 1, bytes), *end = copied + n * bytes;
  assert_ptr_equal(besom__partition_copy(p, group, copied), end);
  for (const uint8_t *at = copied; at < end; at += bytes) {
    entry e = {{0}};
    memcpy(&e, at, bytes);
    assert_true(e.words[0] < N && !seen[e.words[0]]);
    seen[e.words[0]] = 1;
    if (bytes == sizeof e) assert_int_equal(e.words[1], group);
  }
  free(copied);
}

static void check_partition(group_choice choice, size_t n, size_t bytes) {
  uint8_t *ends[GROUPS] = {NULL}, *seen = heap_array(N, 1);
  memset(seen, 0, N);
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct chunk_pool pool = {.allocator = &memory.api};
  assert_true(besom__pool_grow(&pool, chunks_needed(n, bytes)));
  assert_int_equal(memory.live_bytes, pool_bytes(chunks_needed(n, bytes)));
  struct partition p = {&pool, ends};
  for (size_t i = 0; i < n; i++) {
    entry e = entry_of(i, choice(i));
    memcpy(partition_add(&p, choice(i), bytes), &e, bytes);
  }
  assert_true(pool.taken <= pool_chunks(&pool));
  uint64_t total = 0;
  for (size_t g = 0; g < GROUPS; g++) {
    check_group(&p, g, bytes, seen);
    total += besom__partition_count(&p, g, bytes);
  }
  assert_int_equal(total, n);
  for (size_t i = 0; i < n; i++) assert_true(seen[i]);
  besom__pool_free(&pool);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(seen);
}

static void groups_have_all_entries_once(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof choices / sizeof *choices; c++)
    for (size_t n = 0; n <= N; n = 3 * n + 1) {
      check_partition(choices[c], n, sizeof(uint32_t));
      check_partition(choices[c], n, sizeof(entry));
    }
}

/* In slabs of any size, each chunk is in one of them, aligned, and given once. */
static void a_pool_grows_without_moving_chunks(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct chunk_pool pool = {.allocator = &memory.api};
  size_t given = 0;
  for (size_t more = 1; more < 200; more = 2 * more + 1) {
    assert_true(besom__pool_grow(&pool, more));
    for (size_t i = 0; i < more; i++, given++) {
      uint8_t *chunk = (uint8_t *)besom__pool_take(&pool);
      assert_int_equal((uintptr_t)chunk % CHUNK_BYTES, 0);
      for (size_t k = 0; k < CHUNK_BYTES; k++) assert_int_equal(chunk[k], 0);
      memset(chunk, 1, CHUNK_BYTES);
    }
    assert_int_equal(pool_chunks(&pool), given);
  }
  besom__pool_free(&pool);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void a_pool_that_cannot_grow_stays_as_it_is(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct chunk_pool pool = {.allocator = &memory.api};
  assert_true(besom__pool_grow(&pool, 3));
  memory.fail_at = memory.calls + 1;
  assert_false(besom__pool_grow(&pool, 3));
  assert_false(besom__pool_grow(&pool, UINT64_MAX));
  assert_int_equal(pool_chunks(&pool), 3);
  for (unsigned i = 1; i < MAX_SLABS; i++) assert_true(besom__pool_grow(&pool, 1));
  assert_false(besom__pool_grow(&pool, 1));
  besom__pool_free(&pool);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_have_all_entries_once),
      cmocka_unit_test(a_pool_grows_without_moving_chunks),
      cmocka_unit_test(a_pool_that_cannot_grow_stays_as_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
