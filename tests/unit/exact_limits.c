/* Limits hold exactly: what fits is taken, to the last slot. */
#include "besom_reverse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quotient/aqf/aqf.h"
#include "quotient/quotient_filter.h"
#include "quotient/yesno/yesno_table.h"
#include "support/heap.h"
#include "support/keys.h"

static const uint8_t seed[16] = "exactly so many";

static besom_filter *create(const besom_config *config) {
  besom_filter *f = NULL;
  assert_int_equal(besom_create(config, &f), BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

/* ------------------------------------------------------------------ the reserve */

/* Each offender shares one more bit with the member, so that one extension takes the reserve. */
static void one_fingerprint_can_take_the_whole_reserve(void **state) {
  (void)state;
  besom_config config = {.kind = "aqf", .slots = 100, .width = 8, .reserve = 0.1, .seed = seed};
  besom_filter *f = create(&config);
  besom_digest member = {UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210)};
  besom_match match;
  besom_status status = BESOM_OK;
  assert_int_equal(besom_insert_at(f, member, 0, &match), BESOM_OK);
  for (unsigned bit = 40; bit < 128 && status == BESOM_OK; bit++) {
    besom_digest offender = member;
    if (bit < 64)
      offender.hi ^= UINT64_C(1) << (63 - bit);
    else
      offender.lo ^= UINT64_C(1) << (127 - bit);
    if (besom_contains_digest(f, offender)) status = besom_adapt_at(f, offender, &match, member);
    assert_true(besom_contains_digest(f, offender) == (status != BESOM_OK));
  }
  assert_int_equal(status, BESOM_RESERVE_FULL);
  assert_true(stats_of(f).reserve_used == 1);
  assert_true(besom_contains_digest(f, member));
  besom_free(f);
}

/* ------------------------------------------------------------------ merging */

static besom_filter *filled(const besom_filter *like, uint64_t from, uint64_t n) {
  besom_filter *f = NULL;
  assert_int_equal(besom_create_like(like, &f), BESOM_OK);
  for (uint64_t i = from; i < from + n; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  return f;
}

/* Both inputs together have as many keys as one filter may have, or one more. */
static void assert_merging_is_exact(const char *kind) {
  besom_config config = {.kind = kind, .slots = 300, .width = 10, .seed = seed};
  besom_filter *empty = create(&config);
  uint64_t capacity = stats_of(empty).capacity;
  for (unsigned more = 0; more < 2; more++) {
    besom_filter *a = filled(empty, 0, capacity - 30), *b = filled(empty, capacity - 30, 30 + more);
    besom_filter *both = NULL;
    besom_status status = besom_merge(a, b, &both);
    assert_int_equal(status, more ? BESOM_FULL : BESOM_OK);
    for (uint64_t i = 0; status == BESOM_OK && i < capacity; i++)
      assert_true(besom_contains_u64(both, key_u64(MEMBERS, i)));
    besom_free(a);
    besom_free(b);
    besom_free(both);
  }
  besom_free(empty);
}

static void merging_takes_exactly_the_capacity(void **state) {
  (void)state;
  static const char *const kinds[] = {"qf", "aqf", "exaf", "broom", "utaf"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) assert_merging_is_exact(kinds[i]);
}

/* ------------------------------------------------------------------ loading a store */

typedef struct digest_array {
  besom_digest *digests;
  uint64_t n;
} digest_array;

static besom_status walk_array(void *ctx, besom_status (*add)(void *to, besom_digest d), void *to) {
  const digest_array *a = ctx;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < a->n && status == BESOM_OK; i++) status = add(to, a->digests[i]);
  return status;
}

static int compare_digests(const void *x, const void *y) {
  const besom_digest *a = x, *b = y;
  return (a->hi > b->hi) - (a->hi < b->hi);
}

/* A guard that is opened fills its filter so: one that was full must open again. */
static void a_store_that_fills_the_filter_can_be_loaded(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "exaf", "broom"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (uint64_t slots = 300; slots < 3000; slots += 2300)
      for (unsigned more = 0; more < 2; more++) {
        besom_config config = {.kind = kinds[i], .slots = slots, .width = 10, .seed = seed};
        besom_filter *f = create(&config);
        digest_array all = {.n = stats_of(f).capacity + more};
        all.digests = heap_array(all.n, sizeof *all.digests);
        for (uint64_t k = 0; k < all.n; k++)
          all.digests[k] = besom_hash_u64(f, key_u64(MEMBERS, k));
        qsort(all.digests, all.n, sizeof *all.digests, compare_digests);
        besom_status status = f->kind->store->bulk_load(f, &(struct digest_walk){walk_array, &all});
        assert_int_equal(status, more ? BESOM_FULL : BESOM_OK);
        for (uint64_t k = 0; k < all.n && !more; k++)
          assert_true(besom_contains_digest(f, all.digests[k]));
        free(all.digests);
        besom_free(f);
      }
}

/* ------------------------------------------------------------------ a table of two lists */

typedef struct list {
  uint64_t stream, n, next;
  besom_u64_key key;
} list;

static besom_status next_of_list(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  if (l->next == l->n) return BESOM_END;
  l->key = besom_u64(key_u64(l->stream, l->next++));
  *key = (besom_bytes){l->key.bytes, 8};
  *weight = 1;
  return BESOM_OK;
}

static besom_status rewind_list(void *ctx) {
  ((list *)ctx)->next = 0;
  return BESOM_OK;
}

/* The plan knows how many slots the extensions will take, so that none are left over. */
static void a_table_for_two_lists_is_as_full_as_planned(void **state) {
  (void)state;
  for (uint64_t factor = 1; factor <= 100; factor *= 10) {
    list yes = {.stream = MEMBERS, .n = 2000}, no = {.stream = NEGATIVES, .n = 2000 * factor};
    besom_source members = {next_of_list, rewind_list, yes.n, &yes};
    besom_source others = {next_of_list, rewind_list, no.n, &no};
    besom_config config = {.kind = "yesno", .fpr = 1.0 / 32, .seed = seed};
    besom_filter *f = NULL;
    besom_input input = {.yes = &members, .no = &others};
    assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
    double load = stats_of(f).load_factor;
    assert_true(load > 0.92 && load < 0.98);
    besom_free(f);
  }
}

static unsigned width_for(uint64_t n, double bits_per_key) {
  list yes = {.stream = MEMBERS, .n = n}, no = {.stream = NEGATIVES, .n = n};
  besom_source members = {next_of_list, rewind_list, n, &yes};
  besom_source others = {next_of_list, rewind_list, n, &no};
  besom_config config = {.kind = "yesno", .bits_per_key = bits_per_key, .seed = seed};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &members, .no = &others}, &f),
                   BESOM_OK);
  unsigned width = quotient_filter(f)->table.width;
  besom_free(f);
  return width;
}

/* The plan counts the filter itself, and 2 % for a table that turns out larger. */
static void a_budget_for_two_lists_is_used_to_the_last_bit(void **state) {
  (void)state;
  enum { KEYS = 1024 }; /* a power of two, so that the division is exact */
  for (unsigned width = 8; width < 16; width++) {
    struct qtable_shape shape = {.heads = true};
    besom__yesno_table_plan(KEYS, KEYS, width, width, &shape);
    double bytes = 1.02 * (double)besom__qtable_bytes(&shape) + (double)sizeof(struct aqf);
    assert_int_equal(width_for(KEYS, 8 * bytes / KEYS), width);
    assert_int_equal(width_for(KEYS, nextafter(8 * bytes / KEYS, 0)), width - 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_fingerprint_can_take_the_whole_reserve),
      cmocka_unit_test(merging_takes_exactly_the_capacity),
      cmocka_unit_test(a_store_that_fills_the_filter_can_be_loaded),
      cmocka_unit_test(a_table_for_two_lists_is_as_full_as_planned),
      cmocka_unit_test(a_budget_for_two_lists_is_used_to_the_last_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
