/* The sorted map against an array. Keys are numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/sorted_map.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

enum { NUMBERS = 5000, CHANGES = 60000 };

typedef struct text {
  char bytes[16];
  besom_bytes api;
} text;

/* Big-endian, so that byte order is numeric order. */
static void make_key(text *t, unsigned number) {
  for (unsigned i = 0; i < 4; i++) t->bytes[i] = (char)(number >> (24 - 8 * i));
  t->api = (besom_bytes){t->bytes, 4};
}

static unsigned number_of(besom_bytes key) {
  const uint8_t *bytes = key.data;
  assert_int_equal(key.len, 4);
  return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 | bytes[3];
}

/* versions[i]: the value of key i in the map, 0 if it has none. */
static void assert_map_is(const struct sorted_map *map, const unsigned *versions) {
  const struct sorted_entry *e = map->first[0];
  uint64_t count = 0;
  for (unsigned i = 0; i < NUMBERS; i++) {
    text key;
    make_key(&key, i);
    const struct sorted_entry *found = besom__sorted_find(map, key.api);
    assert_ptr_equal(besom__sorted_from(map, key.api), e);
    if (!versions[i]) {
      assert_null(found);
      continue;
    }
    unsigned version;
    assert_ptr_equal(found, e);
    assert_int_equal(number_of(besom__sorted_key(e)), i);
    assert_int_equal(besom__sorted_value(e).len, sizeof version);
    memcpy(&version, besom__sorted_value(e).data, sizeof version);
    assert_int_equal(version, versions[i]);
    e = e->next[0];
    count++;
  }
  assert_null(e);
  assert_int_equal(map->count, count);
}

static void put(struct sorted_map *map, unsigned *versions, unsigned i, unsigned version) {
  text key;
  make_key(&key, i);
  struct sorted_entry *e = besom__sorted_new(map, key.api, (besom_bytes){&version, sizeof version});
  assert_non_null(e);
  struct sorted_entry *displaced = besom__sorted_put(map, e);
  assert_int_equal(displaced != NULL, versions[i] != 0);
  besom__sorted_free(map, displaced);
  versions[i] = version;
}

static void take(struct sorted_map *map, unsigned *versions, unsigned i) {
  text key;
  make_key(&key, i);
  struct sorted_entry *taken = besom__sorted_take(map, key.api);
  assert_int_equal(taken != NULL, versions[i] != 0);
  besom__sorted_free(map, taken);
  versions[i] = 0;
}

static void random_changes_agree_with_the_model(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  unsigned *versions = heap_array(NUMBERS, sizeof *versions);
  struct sorted_map map;
  besom__sorted_init(&map, &memory.api);
  random_stream random = {1};
  for (unsigned c = 1; c <= CHANGES; c++) {
    unsigned i = (unsigned)random_below(&random, NUMBERS);
    if (random_below(&random, 3))
      put(&map, versions, i, c);
    else
      take(&map, versions, i);
    if (c % (CHANGES / 4) == 0) assert_map_is(&map, versions);
  }
  assert_int_equal(map.bytes, memory.live_bytes);
  besom__sorted_clear(&map);
  assert_int_equal(map.bytes, 0);
  memset(versions, 0, NUMBERS * sizeof *versions);
  assert_map_is(&map, versions);
  memory.fail_at = memory.calls + 1;
  assert_null(besom__sorted_new(&map, (besom_bytes){"k", 1}, (besom_bytes){NULL, 0}));
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
  free(versions);
}

static void keys_are_ordered_as_bytes(void **state) {
  (void)state;
  const besom_bytes ascending[] = {{NULL, 0},  {"\0", 1}, {"\0\0", 2}, {"a", 1},
                                   {"a\0", 2}, {"ab", 2}, {"b", 1},    {"\xff", 1}};
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      int order = besom__compare(ascending[i], ascending[j]);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_changes_agree_with_the_model),
      cmocka_unit_test(keys_are_ordered_as_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
