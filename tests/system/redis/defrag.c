/* Defragmentation: whether or not the server moves a value, the filter stays the same. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../../redis/operations.h"
#include "../../../redis/type.h"
/* cmocka.h needs the headers above */
#include <cmocka.h>

static bool moves;
static unsigned moved;

/* A server that moves every allocation, or none. */
static void *defrag_alloc(RedisModuleDefragCtx *ctx, void *memory) {
  (void)ctx;
  if (!moves) return NULL;
  size_t size = malloc_usable_size(memory);
  void *fresh = malloc(size);
  memcpy(fresh, memory, size);
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
  RedisModule_MallocSize = malloc_usable_size;
  return 0;
}

enum { ITEMS = 1000, REPORTS = 200 };

static struct af *filled(const besom_config *config) {
  besom_filter *filter;
  assert_int_equal(besom_create(config, &filter), BESOM_OK);
  struct af *af = af_wrap(filter, 2 * ITEMS);
  for (uint64_t key = 0; key < ITEMS; key++) {
    bool missing, changed;
    besom_bytes item = {&key, sizeof key};
    assert_int_equal(af_add(af, item, ADD_COPY, &missing, &changed), BESOM_OK);
  }
  return af;
}

static bool has(const struct af *af, uint64_t key) {
  return af_has(af, (besom_bytes){&key, sizeof key});
}

static void check(const struct af *af, bool reported) {
  assert_int_equal(af->items, ITEMS);
  assert_int_equal(af->max_capacity, 2 * ITEMS);
  for (uint64_t key = 0; key < ITEMS; key++) assert_true(has(af, key));
  for (uint64_t key = ITEMS; reported && key < ITEMS + REPORTS; key++) assert_false(has(af, key));
}

static void report_some(struct af *af) {
  for (uint64_t key = ITEMS; key < ITEMS + REPORTS; key++) {
    bool changed;
    assert_int_equal(af_report(af, (besom_bytes){&key, sizeof key}, &changed), BESOM_OK);
  }
}

static void defragment(void **value) {
  assert_int_equal(type_defrag(NULL, NULL, value), 0);
}

/* Moves a value twice, and leaves it where it is once. */
static void try_value(struct af *af, unsigned blocks, bool reported) {
  void *value = af;
  for (int i = 0; i < 3; i++) {
    moves = i < 2;
    moved = 0;
    size_t bytes = af_bytes(value);
    defragment(&value);
    assert_int_equal(moved, moves ? blocks : 0);
    assert_in_range(af_bytes(value), bytes - 64, bytes + 64); /* malloc rounds as it likes */
    check(value, reported);
  }
  af_free(value);
  assert_int_equal(totals_get().filters, 0);
  assert_int_equal(totals_get().bytes, 0);
}

static besom_config config_of(const char *kind, const char *hash, uint64_t capacity) {
  return (besom_config){.kind = kind,
                        .options = strcmp(kind, "scaling") == 0 ? "base=aqf" : "",
                        .hash = hash,
                        .capacity = capacity,
                        .fpr = 0.05,
                        .reserve = 0.4,
                        .allocator = &redis_allocator};
}

static void one_table(void **state) {
  (void)state;
  besom_config config = config_of("aqf", "xxh3", ITEMS);
  try_value(filled(&config), 3, false); /* value, struct, table */
}

static void a_packed_filter(void **state) {
  (void)state;
  besom_config config = config_of("scaling", "sip", ITEMS);
  struct af *af = filled(&config);
  assert_non_null(af->packed);
  try_value(af, 2, false);
}

static void layers_and_reports(void **state) {
  (void)state;
  besom_config config = config_of("scaling", "sip", ITEMS / 3);
  struct af *af = filled(&config);
  report_some(af);
  assert_non_null(af->filter);
  try_value(af, 2 + 2 * 2 + 2, true); /* value, chain, two layers, exceptions */
}

static void incoming_bytes(void **state) {
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
      cmocka_unit_test(one_table),
      cmocka_unit_test(a_packed_filter),
      cmocka_unit_test(layers_and_reports),
      cmocka_unit_test(incoming_bytes),
  };
  return cmocka_run_group_tests(tests, start_server, NULL);
}
