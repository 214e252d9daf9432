/*
 * The quotient table against a model: the list of remainders of each quotient, in order of arrival.
 * After each operation the checker verifies every invariant; the cursor must return the model's
 * order.
 */
#include "quotient/table/quotient_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/hash.h"
#include "quotient/table/table_resize.h"
#include "support/heap.h"
#include "support/keys.h"

static uint64_t key_at(uint64_t seed, uint64_t i) {
  return mix64(seed * UINT64_C(0x9e3779b97f4a7c15) + i);
}

/* ------------------------------------------------------------------ model */

struct model {
  uint64_t slots, used;
  struct list {
    uint64_t *remainders;
    size_t n, cap;
  } * lists;
};

static struct model model_new(uint64_t slots) {
  return (struct model){slots, 0, heap_array(slots, sizeof(struct list))};
}

static void model_free(struct model *m) {
  for (uint64_t q = 0; q < m->slots; q++) free(m->lists[q].remainders);
  free(m->lists);
}

static void model_append(struct model *m, uint64_t quotient, uint64_t remainder) {
  struct list *l = &m->lists[quotient];
  if (l->n == l->cap)
    l->remainders = heap_resize(l->remainders, (l->cap = 2 * l->cap + 4) * sizeof *l->remainders);
  l->remainders[l->n++] = remainder;
  m->used++;
}

/* Removes the last of those with this remainder; false if there is none. */
static bool model_remove(struct model *m, uint64_t quotient, uint64_t remainder) {
  struct list *l = &m->lists[quotient];
  for (size_t i = l->n; i-- > 0;)
    if (l->remainders[i] == remainder) {
      memmove(l->remainders + i, l->remainders + i + 1, (--l->n - i) * sizeof *l->remainders);
      m->used--;
      return true;
    }
  return false;
}

static uint64_t model_count(const struct model *m, uint64_t quotient, uint64_t remainder) {
  uint64_t count = 0;
  for (size_t i = 0; i < m->lists[quotient].n; i++)
    count += m->lists[quotient].remainders[i] == remainder;
  return count;
}

/* ------------------------------------------------------------------ helpers */

static struct qtable new_table(struct qtable_shape shape, enum isa isa) {
  struct qtable t;
  besom__qtable_init(&t, &shape, isa, heap_array(1, besom__qtable_bytes(&shape)));
  return t;
}

static void free_table(struct qtable *t) {
  free(t->blocks);
}

static void assert_sound(const struct qtable *t) {
  const char *wrong = besom__qtable_check(t);
  if (wrong) fail_msg("%s", wrong);
}

static void assert_same_order(const struct qtable *t, const struct model *m) {
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  for (uint64_t q = 0; q < m->slots; q++)
    for (size_t i = 0; i < m->lists[q].n; i++) {
      assert_true(besom__qtable_next(&c));
      assert_int_equal(c.quotient, q);
      assert_int_equal(c.remainder, m->lists[q].remainders[i]);
    }
  assert_false(besom__qtable_next(&c));
  assert_int_equal(t->used, m->used);
}

/* A digest with this quotient and remainder, half a remainder above the smallest. */
static besom_digest digest_for(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  long double where =
      ((long double)quotient + ((long double)remainder + 0.5L) / ldexpl(1, t->width)) / t->slots;
  besom_digest d = {(uint64_t)ldexpl(where, 64), 0};
  for (int step = 0; step < 64; step++) { /* if long double is as coarse as double: step */
    struct address a = address_of(d, t->slots);
    if (a.quotient == quotient && remainder_of(a, t->width) == remainder) return d;
    d.hi +=
        a.quotient < quotient || (a.quotient == quotient && remainder_of(a, t->width) < remainder)
            ? 1
            : -1;
  }
  fail_msg("no digest for quotient %llu", (unsigned long long)quotient);
  return d;
}

struct situation {
  struct qtable_shape shape;
  enum isa isa;
  bool shared;             /* use the operations for tables that threads share */
  uint64_t few_remainders; /* draw from so many, so that runs collide */
  uint64_t few_quotients;
};

static void one_operation(struct qtable *t, struct model *m, const struct situation *s,
                          uint64_t random) {
  uint64_t most = t->width < 64 ? (UINT64_C(1) << t->width) : UINT64_MAX;
  uint64_t quotient = (random >> 8) % s->few_quotients * (t->slots / s->few_quotients);
  uint64_t remainder =
      key_at(7, random >> 20) % (s->few_remainders < most ? s->few_remainders : most);
  besom_digest d = digest_for(t, quotient, remainder);
  uint64_t last, counted, count = t->ops->find(t, quotient, remainder, &last);
  assert_int_equal(count, model_count(m, quotient, remainder));
  assert_int_equal(t->ops->count(t, d, &counted), count ? ANSWER_YES : ANSWER_NO);
  assert_int_equal(counted, count);
  assert_int_equal(t->ops->contains(t, d) != ANSWER_NO, count > 0);
  if (random % 8 < 5) {
    besom_status status = t->ops->insert(t, d, NULL);
    if (status == BESOM_OK)
      model_append(m, quotient, remainder);
    else
      assert_int_equal(status, BESOM_FULL);
  } else if (random % 8 == 5) {
    assert_int_equal(t->ops->remove_last(t, d), count ? ANSWER_YES : ANSWER_NO);
    assert_int_equal(model_remove(m, quotient, remainder), count > 0);
  } else if (count) {
    t->ops->delete_slot(t, quotient, last);
    assert_true(model_remove(m, quotient, remainder));
  }
}

static void random_operations(const struct situation *s, unsigned steps, uint64_t seed) {
  struct qtable t = new_table(s->shape, s->isa);
  struct model m = model_new(s->shape.slots);
  if (s->shared) t.ops = t.ops->shared;
  for (unsigned i = 0; i < steps; i++) {
    one_operation(&t, &m, s, key_at(seed, i));
    assert_sound(&t);
    if (i % 64 == 0) assert_same_order(&t, &m);
  }
  assert_same_order(&t, &m);
  model_free(&m);
  free_table(&t);
}

/* ------------------------------------------------------------------ laws */

static void random_operations_match_the_model(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 63, 64, 65, 200, 1000};
  static const unsigned widths[] = {1, 3, 7, 8, 9, 10, 14, 16, 17, 31, 40}; /* 1: without heads */
  for (unsigned i = 0; i < 2 * 2 * (besom__isa_best() + 1u); i++)
    for (unsigned size = 0; size < 7; size++)
      for (unsigned w = 0; w < 11; w++) {
        struct situation s = {
            .shape = {sizes[size], widths[w], i & 1 && widths[w] > 1, i & 2, size % 3 * 5},
            .isa = (enum isa)(i / 4),
            .shared = (size + w) % 2};
        s.few_quotients = size % 2 ? sizes[size] : (sizes[size] + 2) / 3;
        s.few_remainders = w % 2 ? 3 : 1000;
        random_operations(&s, 300, i * 100 + size * 11 + w);
      }
}

/* Insert until the table is full: FULL changes nothing, and removing loses nothing else. */
static void a_table_can_be_filled_to_its_last_slot(void **state) {
  (void)state;
  for (int heads = 0; heads < 2; heads++) {
    struct qtable t = new_table((struct qtable_shape){300, 9, heads, false, 0}, besom__isa_best());
    struct model m = model_new(300);
    uint64_t i = 0;
    for (;; i++) {
      uint64_t q = key_at(1, i) % 300, r = key_at(2, i) % 512;
      if (t.ops->insert(&t, digest_for(&t, q, r), NULL) != BESOM_OK) break;
      model_append(&m, q, r);
    }
    assert_true(i >= 300);
    assert_sound(&t);
    assert_same_order(&t, &m);
    while (i-- > 0) {
      uint64_t q = key_at(1, i) % 300, r = key_at(2, i) % 512;
      assert_int_equal(t.ops->remove_last(&t, digest_for(&t, q, r)), ANSWER_YES);
      assert_sound(&t);
    }
    assert_int_equal(t.used, 0);
    for (size_t b = 0; b < besom__qtable_size(&t); b++) assert_int_equal(t.blocks[b], 0);
    model_free(&m);
    free_table(&t);
  }
}

/* Runs of thousands of slots saturate the offsets of many blocks; removing makes them exact. */
static void offsets_saturate_and_recover(void **state) {
  (void)state;
  for (int heads = 0; heads < 2; heads++) {
    struct qtable t =
        new_table((struct qtable_shape){20000, 8, heads, false, 0}, besom__isa_best());
    for (unsigned i = 0; i < 9000; i++) {
      uint64_t q = i % 10 ? 5 : key_at(3, i) % 20000;
      assert_int_equal(t.ops->insert(&t, digest_for(&t, q, i % 256), NULL), BESOM_OK);
      if (i % 100 == 0) assert_sound(&t);
    }
    assert_sound(&t);
    for (unsigned i = 0; i < 9000; i++) {
      uint64_t q = i % 10 ? 5 : key_at(3, i) % 20000;
      assert_int_equal(t.ops->remove_last(&t, digest_for(&t, q, i % 256)), ANSWER_YES);
      if (i % 50 == 0) assert_sound(&t);
    }
    assert_int_equal(t.used, 0);
    assert_sound(&t);
    free_table(&t);
  }
}

static void fill_random(struct qtable *t, struct model *m, uint64_t n, uint64_t seed) {
  for (uint64_t i = 0; i < n; i++) {
    besom_digest d = {key_at(seed, 2 * i), key_at(seed, 2 * i + 1)};
    struct address a = address_of(d, t->slots);
    assert_int_equal(t->ops->insert(t, d, NULL), BESOM_OK);
    model_append(m, a.quotient, remainder_of(a, t->width));
  }
}

static void check_merging(struct qtable_shape shape, enum isa isa) {
  struct qtable a = new_table(shape, isa), b = new_table(shape, isa), into = new_table(shape, isa);
  struct model x = model_new(shape.slots), y = model_new(shape.slots);
  fill_random(&a, &x, 600, 10);
  fill_random(&b, &y, 500, 11);
  assert_int_equal(a.ops->merge(&a, &b, &into), BESOM_OK);
  assert_sound(&into);
  for (uint64_t q = 0; q < shape.slots; q++)
    for (size_t i = 0; i < y.lists[q].n; i++) model_append(&x, q, y.lists[q].remainders[i]);
  assert_same_order(&into, &x);
  model_free(&x), model_free(&y);
  free_table(&a), free_table(&b), free_table(&into);
}

static void merging_appends_one_run_to_the_other(void **state) {
  (void)state;
  static const unsigned widths[] = {2, 8, 9, 11, 16, 40};
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
    for (enum isa isa = ISA_PORTABLE; isa <= besom__isa_best(); isa++)
      check_merging((struct qtable_shape){1234, widths[w], w % 2, false, 0}, isa);
}

static void resize_in_steps(const struct qtable *from, struct qtable *into) {
  struct qtable_resizing r;
  bool finished = false;
  besom__qtable_resize_start(&r, from, into);
  while (!finished) assert_int_equal(besom__qtable_resize_step(&r, 7, &finished), BESOM_OK);
}

static void doubling_and_halving_keep_digests_and_order(void **state) {
  (void)state;
  static const unsigned widths[] = {2, 8, 9, 17, 33, 64};
  for (unsigned w = 0; w < 6; w++) {
    struct qtable_shape shape = {999, widths[w], w % 2, false, 0},
                        twice = {1998, widths[w] - 1, w % 2, false, 0};
    struct qtable small = new_table(shape, besom__isa_best()),
                  large = new_table(twice, besom__isa_best());
    struct qtable back = new_table(shape, besom__isa_best());
    struct model m = model_new(999);
    fill_random(&small, &m, 940, w);
    resize_in_steps(&small, &large);
    assert_sound(&large);
    for (uint64_t i = 0; i < 940; i++)
      assert_true(
          large.ops->contains(&large, (besom_digest){key_at(w, 2 * i), key_at(w, 2 * i + 1)}));
    resize_in_steps(&large, &back);
    assert_sound(&back);
    assert_int_equal(back.used, 940);
    for (uint64_t q = 0; q < 999; q++)
      for (size_t i = 0; i < m.lists[q].n; i++) {
        uint64_t last;
        assert_int_equal(back.ops->find(&back, q, m.lists[q].remainders[i], &last),
                         model_count(&m, q, m.lists[q].remainders[i]));
      }
    model_free(&m);
    free_table(&small), free_table(&large), free_table(&back);
  }
}

/* A fingerprint of several slots: insert a slot after its head; the others do not change. */
static void fingerprints_may_take_further_slots(void **state) {
  (void)state;
  struct qtable t = new_table((struct qtable_shape){500, 8, true, true, 0}, besom__isa_best());
  struct model m = model_new(500);
  fill_random(&t, &m, 350, 20);
  for (unsigned i = 0; i < 150; i++) {
    struct qtable_cursor c;
    besom__qtable_first(&t, &c);
    for (uint64_t skip = key_at(21, i) % 350 + 1; skip; skip--) assert_true(besom__qtable_next(&c));
    assert_int_equal(t.ops->insert_slot(&t, c.quotient, c.position + 1, key_at(22, i) % 255 + 1),
                     BESOM_OK);
    assert_sound(&t);
  }
  assert_int_equal(t.used, 500);
  t.used = m.used; /* the model has no further slots */
  assert_same_order(&t, &m);
  t.used = 500;
  for (unsigned i = 0; i < 150; i++) { /* and delete them again */
    struct qtable_cursor c;
    besom__qtable_first(&t, &c);
    do assert_true(besom__qtable_next(&c));
    while (c.slots == 1);
    t.ops->delete_slot(&t, c.quotient, c.position + 1);
    assert_sound(&t);
  }
  assert_same_order(&t, &m);
  model_free(&m);
  free_table(&t);
}

/* Positions above 2^32. The pages in between are never touched, so this takes little memory. */
static void slot_numbers_are_64_bits_wide(void **state) {
  (void)state;
  struct qtable_shape shape = {(UINT64_C(1) << 32) + 12345, 1, false, false, 0};
  struct qtable t = new_table(shape, besom__isa_best());
  for (unsigned i = 0; i < 100; i++) {
    uint64_t q = shape.slots - 1 - i * 7;
    assert_int_equal(t.ops->insert(&t, digest_for(&t, q, i % 2), NULL), BESOM_OK);
    assert_int_equal(t.ops->insert(&t, digest_for(&t, q, i % 2), NULL), BESOM_OK);
  }
  for (unsigned i = 0; i < 100; i++) {
    uint64_t q = shape.slots - 1 - i * 7, last;
    assert_int_equal(t.ops->find(&t, q, i % 2, &last), 2);
    assert_int_equal(t.ops->find(&t, q, 1 - i % 2, &last), 0);
    assert_true(last >= UINT64_C(1) << 32);
    t.ops->delete_slot(&t, q, last);
    assert_int_equal(t.ops->find(&t, q, i % 2, &last), 1);
  }
  free_table(&t);
}

/* The checker detects any single flipped bit of metadata. */
static void the_checker_sees_flipped_bits(void **state) {
  (void)state;
  struct qtable t = new_table((struct qtable_shape){150, 8, true, false, 0}, besom__isa_best());
  struct model m = model_new(150);
  fill_random(&t, &m, 100, 30);
  assert_sound(&t);
  for (size_t b = 0; b < t.room / 64; b++)
    for (unsigned bit = 0; bit < 8 * t.stride; bit++) {
      if (bit / 8 >= t.remainders_at && bit / 8 < t.heads_at)
        continue; /* a used slot may have any remainder */
      uint8_t *byte = block_at(&t, b) + bit / 8;
      *byte ^= (uint8_t)(1 << bit % 8);
      if (!besom__qtable_check(&t)) fail_msg("block %zu bit %u", b, bit);
      *byte ^= (uint8_t)(1 << bit % 8);
    }
  model_free(&m);
  free_table(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_match_the_model),
      cmocka_unit_test(a_table_can_be_filled_to_its_last_slot),
      cmocka_unit_test(offsets_saturate_and_recover),
      cmocka_unit_test(merging_appends_one_run_to_the_other),
      cmocka_unit_test(doubling_and_halving_keep_digests_and_order),
      cmocka_unit_test(fingerprints_may_take_further_slots),
      cmocka_unit_test(slot_numbers_are_64_bits_wide),
      cmocka_unit_test(the_checker_sees_flipped_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
