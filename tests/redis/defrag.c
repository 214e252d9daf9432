/* Defragmentation: whether or not the server moves a value, the filter stays the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "type.h"
/* cmocka.h needs the headers above */
#include <cmocka.h>

static bool moves;
static unsigned moved;

/* A server that moves every allocation, or none. */
static void *defrag_alloc(RedisModuleDefragCtx *ctx, void *memory) {
  size_t *sized = (size_t *)(void *)ctx;
  if (!moves) return NULL;
  void *fresh = malloc(*sized);
  memcpy(fresh, memory, *sized);
  free(memory);
  moved++;
  return fresh;
}

static int start_server(void **state) {
  (void)state;
  RedisModule_TryAlloc = malloc;
  RedisModule_Calloc = calloc;
  RedisModule_Free = free;
  RedisModule_DefragAlloc = defrag_alloc;
  return 0;
}

static struct af *filled(void) {
  besom_config config = {
      .kind = "aqf", .capacity = 1000, .fpr = 0.01, .allocator = &redis_allocator};
  besom_filter *filter;
  assert_int_equal(besom_create(&config, &filter), BESOM_OK);
  for (uint64_t key = 0; key < 1000; key++)
    assert_int_equal(besom_insert_u64(filter, key), BESOM_OK);
  return af_wrap(filter, 2000);
}

static void check(const struct af *af) {
  assert_int_equal(af->items, 1000);
  assert_int_equal(af->max_capacity, 2000);
  for (uint64_t key = 0; key < 1000; key++) assert_true(besom_contains_u64(af->filter, key));
}

static void defragment(void **value) {
  size_t size = sizeof(struct af);
  assert_int_equal(type_defrag((RedisModuleDefragCtx *)(void *)&size, NULL, value), 0);
}

static void a_moved_value_is_the_same(void **state) {
  (void)state;
  void *value = filled(), *before = value;
  moves = true;
  moved = 0;
  defragment(&value);
  assert_int_equal(moved, 1);
  assert_ptr_not_equal(value, before);
  check(value);
  af_free(value);
  assert_int_equal(totals_get().filters, 0);
  assert_int_equal(totals_get().bytes, 0);
}

static void a_value_that_stays_is_the_same(void **state) {
  (void)state;
  void *value = filled(), *before = value;
  moves = false;
  defragment(&value);
  assert_ptr_equal(value, before);
  check(value);
  af_free(value);
}

static void incoming_bytes_move_too(void **state) {
  (void)state;
  struct af *af = af_new();
  char bytes[sizeof(struct af)];
  memset(bytes, 7, sizeof bytes);
  assert_true(bytes_append(&af->incoming, bytes, sizeof bytes));
  void *value = af;
  moves = true;
  moved = 0;
  defragment(&value);
  af = value;
  assert_int_equal(moved, 2);
  assert_memory_equal(af->incoming.data, bytes, sizeof bytes);
  af_free(af);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_moved_value_is_the_same),
      cmocka_unit_test(a_value_that_stays_is_the_same),
      cmocka_unit_test(incoming_bytes_move_too),
  };
  return cmocka_run_group_tests(tests, start_server, NULL);
}
