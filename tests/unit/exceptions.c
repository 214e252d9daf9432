/* The set of exceptions against a model: a plain array of digests. */
#include "exceptions/exceptions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"

enum { UNIVERSE = 200, SLOTS = 1000003 };

static const struct exception_limit no_limit = {.most = MOST_EXCEPTIONS};

static void assert_sound(const struct exception_set *m) {
  const char *wrong = besom__exceptions_check(m);
  if (wrong) fail_msg("%s", wrong);
}

static besom_status add(struct exception_set *m, failing_allocator *memory, besom_digest d,
                        unsigned length, bool listed, const struct exception_limit *limit) {
  struct exception e = {besom__exception_number(m, d), length, listed, .fresh = true};
  uint64_t forgotten = m->forgotten;
  besom_status status = besom__exceptions_add(m, &memory->api, &e, limit);
  assert_int_equal(m->forgotten - forgotten, status == BESOM_EVICTED);
  return status == BESOM_EVICTED ? BESOM_OK : status;
}

/* How the digests of a test are made, and how long their exceptions are. */
struct shape {
  uint64_t slots;
  unsigned length;
  bool few_homes, mixed;
};

static const struct shape shapes[] = {{SLOTS, 77, false, false},
                                      {SLOTS, 77, true, false},
                                      {SLOTS, 128, false, false},
                                      {SLOTS, 77, false, true},
                                      {SLOTS, 128, true, true},
                                      {1, 51, false, false},
                                      {UINT64_C(1) << 44, 104, true, false},
                                      {64, 60, true, true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/*
 * Digest number i of UNIVERSE. With few_homes all digests have the same few home cells at the end
 * of the set, so that chains are long and wrap around.
 */
static besom_digest digest_at(const struct shape *s, size_t i) {
  uint64_t hi = s->few_homes ? UINT64_MAX - ((uint64_t)(i % 5) << 61) - (i << 14) : mix64(i);
  return (besom_digest){hi, mix64(~i)};
}

static unsigned length_at(const struct shape *s, size_t i) {
  return s->mixed && s->length - i % 8 > 56 ? s->length - (unsigned)(i % 8) : s->length;
}

static void assert_same(const struct exception_set *m, const struct shape *s, const bool *model) {
  uint64_t count = 0;
  for (size_t i = 0; i < UNIVERSE; i++) {
    count += model[i];
    if (besom__exceptions_has(m, digest_at(s, i)) != model[i]) fail_msg("digest %zu", i);
  }
  assert_int_equal(m->count, count);
}

/* A copy by saved bytes. */
static void reload(struct exception_set *m, failing_allocator *memory) {
  struct exception_set loaded = *m;
  loaded.tags = NULL;
  loaded.scale = loaded.home_bits = 0; /* not saved */
  assert_int_equal(
      besom__exceptions_load(&loaded, &memory->api, m->tags, besom__exceptions_saved_bytes(m)),
      BESOM_OK);
  besom__exceptions_free(m, &memory->api);
  *m = loaded;
}

static void random_operations(const struct shape *s, uint64_t seed) {
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m;
  besom__exceptions_start(&m, s->slots);
  bool model[UNIVERSE] = {false};
  random_stream random = {seed};
  for (size_t step = 0; step < 2000; step++) {
    size_t i = (size_t)random_below(&random, UNIVERSE);
    besom_digest d = digest_at(s, i);
    if (random_below(&random, 10) < (step / 500 % 2 ? 2 : 8)) {
      assert_int_equal(add(&m, &memory, d, length_at(s, i), false, &no_limit), BESOM_OK);
      model[i] = true;
    } else {
      assert_int_equal(besom__exceptions_remove(&m, d, false), model[i]);
      model[i] = false;
    }
    if (step % 100 == 99) reload(&m, &memory);
    assert_sound(&m);
    if (step % 8 == 0) assert_same(&m, s, model);
  }
  besom__exceptions_free(&m, &memory.api);
  assert_int_equal(m.count, 0);
  assert_false(besom__exceptions_has(&m, digest_at(s, 1)));
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

static void random_operations_match_the_model(void **state) {
  (void)state;
  for (size_t i = 0; i < SHAPES; i++)
    for (uint64_t seed = 0; seed < 2; seed++) random_operations(&shapes[i], seed);
}

/* A digest whose number begins with these bits; slots is 2^63, so that numbers are halves. */
static besom_digest with_number(uint64_t hi, uint64_t lo) {
  return (besom_digest){hi << 1 | lo >> 63, lo << 1};
}

/* An exception denies exactly the numbers that begin with its bits. */
static void all_stored_bits_decide(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (unsigned length = 56; length <= 128; length++)
    for (unsigned mixed = 0; mixed < 2; mixed++) {
      struct exception_set m;
      besom__exceptions_start(&m, UINT64_C(1) << 63);
      const uint64_t hi = UINT64_C(0x123456789abcdef0), lo = UINT64_C(0x0fedcba987654320);
      if (mixed) /* another length beforehand */
        assert_int_equal(add(&m, &memory, with_number(~hi >> 1, lo), length - 1, false, &no_limit),
                         BESOM_OK);
      assert_int_equal(add(&m, &memory, with_number(hi, lo), length, false, &no_limit), BESOM_OK);
      unsigned stored = mixed && length == 128 ? 127 : length;
      for (unsigned bit = 1; bit < 127; bit++) { /* bit 0 is always 0, bit 127 gets lost */
        besom_digest other = with_number(hi ^ (bit < 64 ? UINT64_C(1) << (63 - bit) : 0),
                                         lo ^ (bit < 64 ? 0 : UINT64_C(1) << (127 - bit)));
        assert_int_equal(besom__exceptions_has(&m, other), bit >= stored);
      }
      besom__exceptions_free(&m, &memory.api);
    }
  failing_allocator_close(&memory);
}

/* Doubling or halving the slots does not change a number. */
static void numbers_survive_resizing(void **state) {
  (void)state;
  struct exception_set m, doubled;
  besom__exceptions_start(&m, SLOTS);
  besom__exceptions_start(&doubled, 4 * SLOTS);
  for (size_t i = 0; i < UNIVERSE; i++) {
    besom_digest d = digest_at(&shapes[0], i);
    besom_digest a = besom__exception_number(&m, d), b = besom__exception_number(&doubled, d);
    assert_true(a.hi == b.hi && a.lo == b.lo);
  }
}

static void fill(struct exception_set *m, failing_allocator *memory, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    assert_int_equal(add(m, memory, digest_at(&shapes[0], i), 77, false, &no_limit), BESOM_OK);
}

/* A limit and a refused allocation are RESERVE_FULL, and leave the set unchanged. */
static void a_set_that_cannot_grow_stays_as_it_is(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m;
  const struct exception_limit few = {.most = 20};
  besom__exceptions_start(&m, SLOTS);
  memory.fail_at = 1;
  assert_int_equal(add(&m, &memory, digest_at(&shapes[0], 0), 77, false, &no_limit),
                   BESOM_RESERVE_FULL);
  assert_int_equal(m.cells, 0);
  fill(&m, &memory, 0, 20);
  assert_int_equal(add(&m, &memory, digest_at(&shapes[0], 20), 77, false, &few),
                   BESOM_RESERVE_FULL);
  assert_int_equal(add(&m, &memory, digest_at(&shapes[0], 19), 77, false, &few), BESOM_OK);
  size_t refused = 0;
  for (size_t i = 20; i < UNIVERSE; i++) {
    memory.fail_at = memory.calls + 1;
    besom_digest d = digest_at(&shapes[0], i);
    uint64_t count = m.count;
    unsigned length = i == UNIVERSE - 1 ? 100 : 77; /* the last one needs other cells */
    besom_status status = add(&m, &memory, d, length, false, &no_limit);
    if (status != BESOM_OK) {
      assert_int_equal(status, BESOM_RESERVE_FULL);
      assert_int_equal(m.count, count);
      assert_false(besom__exceptions_has(&m, d));
      assert_int_equal(add(&m, &memory, d, length, false, &no_limit), BESOM_OK);
      refused++;
    }
    assert_sound(&m);
    for (size_t j = 0; j <= i; j++)
      assert_true(besom__exceptions_has(&m, digest_at(&shapes[0], j)));
  }
  assert_true(refused > 10);
  assert_true(m.mixed);
  besom__exceptions_free(&m, &memory.api);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* An adversary who knows the seed gives all numbers one home: the set is full, and small. */
static void one_home_is_full_soon(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m;
  besom__exceptions_start(&m, SLOTS);
  besom_status status = BESOM_OK;
  size_t n = 0;
  for (; n < 1000; n += status == BESOM_OK) {
    status = add(&m, &memory, (besom_digest){UINT64_C(7) << 60, mix64(n)}, 128, false, &no_limit);
    if (status != BESOM_OK) break;
  }
  assert_int_equal(status, BESOM_RESERVE_FULL);
  assert_int_equal(n, 127);
  assert_true(m.cells < 4 * n);
  assert_sound(&m);
  assert_int_equal(add(&m, &memory, (besom_digest){1, 1}, 128, false, &no_limit), BESOM_OK);
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ the limit */

enum { LIMIT = 300, LISTED = 50 };

/*
 * After any number of reports: the set is at its limit, it has all entries of the no list, the last
 * third of the reports, and one that is reported again and again.
 */
static void old_exceptions_are_forgotten(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  const struct shape *s = &shapes[0];
  const struct exception_limit limit = {LIMIT, .forget = true};
  const size_t repeated = 1000000;
  struct exception_set m;
  besom__exceptions_start(&m, SLOTS);
  for (size_t i = 0; i < LISTED; i++)
    assert_int_equal(add(&m, &memory, digest_at(s, i), 77, true, &limit), BESOM_OK);
  for (size_t i = LISTED; i < 20 * LIMIT; i++) {
    assert_int_equal(add(&m, &memory, digest_at(s, i), 77, false, &limit), BESOM_OK);
    if (i % 50 == 0)
      assert_int_equal(add(&m, &memory, digest_at(s, repeated), 77, false, &limit), BESOM_OK);
    if (i % 7) continue;
    assert_sound(&m);
    assert_true(m.count <= LIMIT);
    for (size_t j = 0; j < LISTED; j++) assert_true(besom__exceptions_has(&m, digest_at(s, j)));
    size_t recent = i > LISTED + LIMIT / 3 ? i - LIMIT / 3 : LISTED;
    for (size_t j = recent; j <= i; j++)
      if (!besom__exceptions_has(&m, digest_at(s, j)))
        fail_msg("after %zu reports number %zu is forgotten", i, j);
    if (i > 2 * LISTED) assert_true(besom__exceptions_has(&m, digest_at(s, repeated)));
  }
  assert_int_equal(m.count, LIMIT);
  assert_int_equal(m.listed, LISTED);
  assert_int_equal(m.forgotten, 20 * LIMIT + 1 - LIMIT);
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

/* If the no list has taken the whole limit, a report is refused. A listed one is not demoted. */
static void a_no_list_is_never_forgotten(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  const struct shape *s = &shapes[0];
  const struct exception_limit limit = {LISTED, .forget = true};
  struct exception_set m;
  besom__exceptions_start(&m, SLOTS);
  for (size_t i = 0; i < LISTED; i++) {
    assert_int_equal(add(&m, &memory, digest_at(s, i), 77, i % 2, &limit), BESOM_OK);
    assert_int_equal(add(&m, &memory, digest_at(s, i), 77, i % 2 == 0, &limit), BESOM_OK);
  }
  assert_int_equal(m.listed, LISTED);
  assert_int_equal(add(&m, &memory, digest_at(s, LISTED), 77, false, &limit), BESOM_RESERVE_FULL);
  assert_int_equal(add(&m, &memory, digest_at(s, LISTED), 77, true, &limit), BESOM_RESERVE_FULL);
  assert_int_equal(m.forgotten, 0);
  assert_true(besom__exceptions_remove(&m, digest_at(s, 0), true));
  assert_int_equal(add(&m, &memory, digest_at(s, LISTED), 77, false, &limit), BESOM_OK);
  assert_false(besom__exceptions_remove(&m, digest_at(s, LISTED), true)); /* not on the list */
  /* a new entry of the list takes the place of a report */
  assert_int_equal(add(&m, &memory, digest_at(s, 0), 77, true, &limit), BESOM_OK);
  assert_false(besom__exceptions_has(&m, digest_at(s, LISTED)));
  assert_int_equal(m.forgotten, 1);
  for (size_t i = 0; i < LISTED; i++) assert_true(besom__exceptions_has(&m, digest_at(s, i)));
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

/* Without memory, too, an old exception makes space for a new one. */
static void forgetting_needs_no_memory(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  const struct exception_limit limit = {MOST_EXCEPTIONS, .forget = true};
  struct exception_set m;
  besom__exceptions_start(&m, SLOTS);
  fill(&m, &memory, 0, 50);
  memory.fail_at = memory.calls + 1;
  memory.fail_after = true;
  for (size_t i = 50; i < 1000; i++) {
    besom_digest d = digest_at(&shapes[0], i);
    assert_int_equal(add(&m, &memory, d, 77, false, &limit), BESOM_OK);
    assert_true(besom__exceptions_has(&m, d));
    assert_sound(&m);
  }
  assert_true(m.forgotten > 900 && m.count >= 50);
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ size */

/* Of 48 bits more than a fingerprint: at most r + 82 bits of memory from 1 % of the keys on. */
static void an_exception_takes_few_bits(void **state) {
  (void)state;
  static const unsigned widths[] = {2, 8, 9, 12, 16, 24, 32};
  static const uint64_t keys[] = {50000, 342566};
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (size_t k = 0; k < 2; k++)
    for (size_t w = 0; w < 7; w++) {
      struct exception_set m;
      uint64_t slots = keys[k] + keys[k] / 8;
      unsigned quotient_bits = 64 - (unsigned)__builtin_clzll(slots);
      besom__exceptions_start(&m, slots);
      for (uint64_t i = 0; i < keys[k] / 32; i++) {
        besom_digest d = {mix64(i), mix64(~i)};
        assert_int_equal(add(&m, &memory, d, quotient_bits + widths[w] + 48, false, &no_limit),
                         BESOM_OK);
        double bits = 8.0 * (double)besom__exceptions_bytes(&m) / (double)m.count;
        if (m.count >= keys[k] / 100 && bits > widths[w] + 82)
          fail_msg("%g bits for a remainder of %u at %u exceptions of %u keys", bits, widths[w],
                   (unsigned)m.count, (unsigned)keys[k]);
      }
      assert_sound(&m);
      besom__exceptions_free(&m, &memory.api);
    }
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ files */

/* What a search or a change must not meet is found: whatever is loaded works. */
static void use(struct exception_set *m, failing_allocator *memory) {
  const struct exception_limit limit = {m->count + 5, .forget = true};
  assert_sound(m);
  for (size_t i = 0; i < 40; i++) {
    besom_digest d = digest_at(&shapes[1], i);
    besom_status status = add(m, memory, d, m->cells ? m->length : 77, false, &limit);
    assert_true(status == BESOM_RESERVE_FULL || besom__exceptions_has(m, d));
    if (i % 3) besom__exceptions_remove(m, d, false);
    assert_false(i % 3 && besom__exceptions_has(m, d));
  }
  assert_sound(m);
}

static bool load_and_use(const struct exception_set *m, failing_allocator *memory,
                         const uint8_t *bytes, uint64_t len) {
  struct exception_set loaded = *m;
  loaded.tags = NULL;
  besom_status status = besom__exceptions_load(&loaded, &memory->api, bytes, len);
  if (status == BESOM_OK)
    use(&loaded, memory);
  else
    assert_int_equal(status, BESOM_CORRUPT);
  besom__exceptions_free(&loaded, &memory->api);
  return status == BESOM_OK;
}

static void no_bit_makes_an_unsound_set(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  for (size_t shape = 0; shape < SHAPES; shape++) {
    struct exception_set m;
    besom__exceptions_start(&m, shapes[shape].slots);
    for (size_t i = 0; i < 20; i++)
      assert_int_equal(add(&m, &memory, digest_at(&shapes[shape], i), length_at(&shapes[shape], i),
                           i % 4 == 0, &no_limit),
                       BESOM_OK);
    uint64_t len = besom__exceptions_saved_bytes(&m), refused = 0;
    uint8_t *bytes = heap_array((size_t)len, 1);
    memcpy(bytes, m.tags, (size_t)len);
    for (uint64_t bit = 0; bit < 8 * len; bit++) {
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
      refused += !load_and_use(&m, &memory, bytes, len);
      bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > len);
    assert_true(load_and_use(&m, &memory, bytes, len));
    assert_false(load_and_use(&m, &memory, bytes, len - 1));
    struct exception_set wrong[] = {m, m, m, m, m, m, m};
    wrong[0].count++;
    wrong[1].listed++;
    wrong[2].hand = m.cells;
    wrong[3].length = 129;
    wrong[4].length = 48;
    wrong[5].cells = 0;
    wrong[6].cells = UINT64_MAX;
    for (size_t i = 0; i < 7; i++) assert_false(load_and_use(&wrong[i], &memory, bytes, len));
    free(bytes);
    besom__exceptions_free(&m, &memory.api);
  }
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* Only a forged file holds an exception twice. Removing takes both. */
static void a_repeated_exception_is_removed_at_once(void **state) {
  (void)state;
  failing_allocator memory;
  failing_allocator_init(&memory);
  struct exception_set m;
  besom__exceptions_start(&m, SLOTS);
  besom_digest d = digest_at(&shapes[0], 1);
  assert_int_equal(add(&m, &memory, d, 77, false, &no_limit), BESOM_OK);
  assert_int_equal(add(&m, &memory, d, 90, false, &no_limit), BESOM_OK);
  assert_int_equal(m.count, 1);
  besom__exceptions_remove(&m, d, false);
  /* a longer one first; then one of all keys that begin like it */
  besom_digest near = {d.hi, d.lo ^ 1};
  assert_int_equal(add(&m, &memory, d, 127, false, &no_limit), BESOM_OK);
  assert_int_equal(add(&m, &memory, (besom_digest){d.hi, d.lo ^ 1 << 20}, 77, false, &no_limit),
                   BESOM_OK);
  assert_true(besom__exceptions_has(&m, near));
  assert_true(besom__exceptions_remove(&m, d, false));
  assert_false(besom__exceptions_has(&m, d) || besom__exceptions_has(&m, near));
  assert_int_equal(m.count, 0);
  besom__exceptions_free(&m, &memory.api);
  failing_allocator_close(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_match_the_model),
      cmocka_unit_test(all_stored_bits_decide),
      cmocka_unit_test(numbers_survive_resizing),
      cmocka_unit_test(a_set_that_cannot_grow_stays_as_it_is),
      cmocka_unit_test(one_home_is_full_soon),
      cmocka_unit_test(old_exceptions_are_forgotten),
      cmocka_unit_test(a_no_list_is_never_forgotten),
      cmocka_unit_test(forgetting_needs_no_memory),
      cmocka_unit_test(an_exception_takes_few_bits),
      cmocka_unit_test(no_bit_makes_an_unsound_set),
      cmocka_unit_test(a_repeated_exception_is_removed_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
