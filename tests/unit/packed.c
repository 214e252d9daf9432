/*
 * Packed filters do what the filters do that they were made from, and become these again, byte for
 * byte. They are compared after random inserts and removes of few keys, so that copies occur, up to
 * the capacity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "quotient/packed/packed_table.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/memory_sink.h"

static failing_allocator memory;

static const struct shape {
  const char *kind, *options;
  uint64_t capacity;
  double fpr;
} shapes[] = {
    {"aqf", "", 1, 0.01},
    {"aqf", "forget=yes", 100, 0.01},
    {"scaling", "base=aqf", 10, 0.05},
    {"scaling", "base=aqf,expansion=4", 100, 0.01},
    {"aqf", "", 1000, 1e-6},
    {"scaling", "base=aqf", 700, 1e-8},
    {"aqf", "", 5000, 0.01},
};

static besom_filter *make(const struct shape *s, uint64_t number) {
  uint8_t seed[16] = {1};
  memcpy(seed + 8, &number, sizeof number);
  besom_config config = {.kind = s->kind,
                         .options = s->options,
                         .hash = "sip",
                         .seed = seed,
                         .capacity = s->capacity,
                         .fpr = s->fpr,
                         .allocator = &memory.api};
  besom_filter *f;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  return f;
}

static void equal_bytes(const besom_filter *a, const besom_filter *b) {
  memory_sink x, y;
  memory_sink_init(&x);
  memory_sink_init(&y);
  assert_int_equal(besom_save(a, &x.api), BESOM_OK);
  assert_int_equal(besom_save(b, &y.api), BESOM_OK);
  assert_true(memory_sinks_equal(&x, &y));
  memory_sink_close(&x);
  memory_sink_close(&y);
}

/* Filters of this configuration are queried and changed with the instructions of `isa`. */
static void use_isa(const struct packed *p, uint64_t isa) {
  p->model->ops = besom__packed_ops((enum isa)isa);
}

static void check(const struct packed *p, const besom_filter *f, uint64_t universe) {
  besom_filter *unpacked;
  assert_int_equal(besom__unpack(p, &memory.api, &unpacked), BESOM_OK);
  equal_bytes(unpacked, f);
  assert_int_equal(besom_validate(unpacked, NULL), BESOM_OK);
  struct packed *again;
  assert_int_equal(besom__pack(unpacked, &memory.api, &again), BESOM_OK);
  besom__packed_free(again, &memory.api);
  besom_free(unpacked);
  for (uint64_t i = 0; i < 2 * universe; i++) {
    uint64_t key = key_u64(MEMBERS, i), n = 0;
    besom_digest d = besom__packed_hash(p, &key, sizeof key);
    use_isa(p, i % (besom__isa_best() + 1));
    assert_true(besom__packed_contains(p, d) == besom_contains(f, &key, sizeof key));
    assert_int_equal(besom_count(f, &key, sizeof key, &n), BESOM_OK);
    assert_int_equal(besom__packed_count(p, d), n);
  }
}

/* Reports a key to both, if they answer yes to it. */
static void report(struct packed *p, besom_filter *f, besom_digest d) {
  besom_filter *unpacked;
  if (!besom__packed_contains(p, d)) return;
  assert_int_equal(besom__unpack(p, &memory.api, &unpacked), BESOM_OK);
  besom_status status = besom_adapt_digest(unpacked, d);
  besom__packed_take_exceptions(p, unpacked, &memory.api);
  besom_free(unpacked);
  assert_int_equal(besom_adapt_digest(f, d), status);
}

/* One change of both; false if the packed filter leaves it to the other. */
static bool change(struct packed **p, besom_filter *f, random_stream *random, uint64_t universe) {
  uint64_t key = key_u64(MEMBERS, random_below(random, universe));
  besom_digest d = besom__packed_hash(*p, &key, sizeof key);
  use_isa(*p, random_below(random, besom__isa_best() + 1));
  if (random_below(random, 16) == 0) report(*p, f, d);
  if (random_below(random, 4) == 0) {
    bool removed = besom__packed_remove(*p, d);
    assert_true(removed == (besom_remove(f, &key, sizeof key) == BESOM_OK));
    return true;
  }
  bool full = besom__packed_is_full(*p);
  besom_status status = besom__packed_insert(p, d, &memory.api);
  if (status != BESOM_OK) {
    assert_int_equal(status, BESOM_FULL);
    if (full) assert_int_equal(besom_insert(f, "new", 3), BESOM_FULL);
    return false;
  }
  assert_false(full);
  assert_int_equal(besom_insert(f, &key, sizeof key), BESOM_OK);
  return true;
}

static void try_shape(const struct shape *s, uint64_t universe, uint64_t number) {
  random_stream random = {number};
  besom_filter *f = make(s, number);
  struct packed *p, *again;
  assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
  for (uint64_t i = 0; i < 3 * s->capacity && change(&p, f, &random, universe); i++)
    if (i % (s->capacity / 2 + 1) == 0) check(p, f, universe);
  check(p, f, universe);
  assert_int_equal(besom__pack(f, &memory.api, &again), BESOM_OK);
  check(again, f, universe);
  besom__packed_free(p, &memory.api);
  p = besom__packed_copy(again, &memory.api);
  check(p, f, universe);
  besom__packed_free(again, &memory.api);
  besom__packed_free(p, &memory.api);
  besom_free(f);
}

static void packed_filters_do_the_same(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (uint64_t round = 0; round < 4; round++)
      try_shape(&shapes[i], shapes[i].capacity * (round + 1) / 2 + 1, i * 10 + round);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* Without copies a packed filter knows itself that it is full. */
static void a_full_filter(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  besom_filter *f = make(&shapes[4], 1);
  struct packed *p;
  assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
  random_stream random = {1};
  while (change(&p, f, &random, UINT64_C(1) << 40)) continue;
  assert_true(besom__packed_is_full(p));
  besom__packed_free(p, &memory.api);
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* Runs that are longer than a word: fingerprints of two quotients, in the middle of the table. */
static void long_runs(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  besom_filter *f = make(&shapes[4], 1);
  struct packed *p;
  assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
  random_stream random = {1};
  uint64_t middle = UINT64_C(1) << 63, wide = UINT64_MAX / 1000, kept[300];
  for (size_t i = 0; i < 300; i++) {
    besom_digest d = {kept[i] = middle + random_below(&random, wide), 0};
    use_isa(p, i % (besom__isa_best() + 1));
    assert_int_equal(besom__packed_insert(&p, d, &memory.api), BESOM_OK);
    assert_int_equal(besom_insert_digest(f, d), BESOM_OK);
  }
  for (uint64_t i = 0; i < 3000; i++) {
    besom_digest d = {i < 300 ? kept[i] : middle + random_below(&random, wide), 0};
    use_isa(p, i % (besom__isa_best() + 1));
    assert_true(besom__packed_contains(p, d) == besom_contains_digest(f, d));
  }
  check(p, f, 100);
  besom__packed_free(p, &memory.api);
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* Keys that all go to the last quotients: the table has no slot after its tail. */
static void the_end_of_the_table(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  for (int grows = 0; grows < 2; grows++) {
    struct shape s = {grows ? "scaling" : "aqf", grows ? "base=aqf" : "", 500, 0.01};
    besom_filter *f = make(&s, 1), *unpacked;
    struct packed *p;
    assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
    random_stream random = {1};
    uint64_t packed = 0, inserted = 0;
    while (packed < 500) {
      besom_digest d = {UINT64_MAX - random_below(&random, UINT64_MAX / 100), 0};
      if (besom__packed_insert(&p, d, &memory.api) != BESOM_OK) break;
      assert_int_equal(besom_insert_digest(f, d), BESOM_OK);
      packed++;
    }
    assert_in_range(packed, 64, 400);
    assert_int_equal(besom__unpack(p, &memory.api, &unpacked), BESOM_OK);
    equal_bytes(unpacked, f);
    while (inserted < 500 &&
           besom_insert_digest(f, (besom_digest){UINT64_MAX - inserted, 0}) == BESOM_OK)
      inserted++;
    assert_true(grows ? inserted == 500 : inserted < 64);
    besom_free(unpacked);
    besom_free(f);
    besom__packed_free(p, &memory.api);
  }
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void what_cannot_be_packed(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  struct packed *p;
  besom_config configs[] = {
      {.kind = "aqf", .hash = "xxh3", .capacity = 100},
      {.kind = "qf", .hash = "sip", .capacity = 100},
      {.kind = "aqf", .hash = "sip", .capacity = 100, .value_bits = 3},
      {.kind = "aqf", .hash = "sip", .capacity = 50000},
      {.kind = "aqf", .hash = "sip", .capacity = 100, .flags = BESOM_SET},
      {.kind = "scaling", .options = "base=qf", .hash = "sip", .capacity = 9}};
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    besom_filter *f;
    configs[i].allocator = &memory.api;
    assert_int_equal(besom_create(&configs[i], &f), BESOM_OK);
    assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_UNSUPPORTED);
    besom_free(f);
  }
  besom_filter *f = make(&shapes[2], 1); /* two layers */
  for (uint64_t i = 0; i < 30; i++) assert_int_equal(besom_insert(f, &i, sizeof i), BESOM_OK);
  assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_UNSUPPORTED);
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void without_memory_nothing_changes(void **state) {
  (void)state;
  failing_allocator_init(&memory);
  besom_filter *f = make(&shapes[1], 3), *unpacked;
  struct packed *p, *copy;
  assert_int_equal(besom_no_add(f, "x", 1), BESOM_OK);
  for (int i = 1; i <= 3; i++) {
    memory.fail_at = memory.calls + (uint64_t)i;
    assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_NO_MEMORY);
  }
  memory.fail_at = 0;
  assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
  memory.fail_at = memory.calls + 1;
  assert_int_equal(besom__packed_insert(&p, besom__packed_hash(p, "a", 1), &memory.api),
                   BESOM_NO_MEMORY);
  check(p, f, 10);
  for (int i = 1; i < 6; i++) {
    memory.fail_at = memory.calls + (uint64_t)i;
    copy = besom__packed_copy(p, &memory.api);
    assert_true((copy == NULL) == (i <= 3));
    besom__packed_free(copy, &memory.api);
    memory.fail_at = memory.calls + (uint64_t)i;
    besom_status status = besom__unpack(p, &memory.api, &unpacked);
    if (status == BESOM_OK)
      besom_free(unpacked);
    else
      assert_int_equal(status, BESOM_NO_MEMORY);
  }
  memory.fail_at = 0;
  besom__packed_free(p, &memory.api);
  besom_free(f);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* What docs/kinds.md says about small filters, in round numbers. */
static void memory_of_small_filters(void **state) {
  (void)state;
  static const size_t most[][3] = {{100, 900, 190}, {1000, 2400, 1250}};
  failing_allocator_init(&memory);
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    struct shape s = {"aqf", "", most[i][0], 0.01};
    besom_filter *f = make(&s, 1);
    for (uint64_t key = 0; key < s.capacity; key++)
      assert_int_equal(besom_insert(f, &key, sizeof key), BESOM_OK);
    size_t filter = memory.live_bytes;
    struct packed *p;
    assert_int_equal(besom__pack(f, &memory.api, &p), BESOM_OK);
    assert_in_range(filter, 1, most[i][1]);
    assert_in_range(memory.live_bytes - filter, 1, most[i][2]);
    besom__packed_free(p, &memory.api);
    besom_free(f);
  }
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_filters_do_the_same),     cmocka_unit_test(a_full_filter),
      cmocka_unit_test(the_end_of_the_table),           cmocka_unit_test(what_cannot_be_packed),
      cmocka_unit_test(without_memory_nothing_changes), cmocka_unit_test(long_runs),
      cmocka_unit_test(memory_of_small_filters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
