/*
 * The partition quotient filter against a model: bins that spill, entries that come back, both bins
 * of the backyard full, damaged tables, and tables filled to their capacity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "partition/backyard.h"
#include "support/heap.h"
#include "support/keys.h"
#include "unit/pqf_load.h"

static const char *const isas[] = {"isa=portable", "isa=avx2", "isa=avx512"};

/* A rate of each layout. */
static const double rates[BIN_LAYOUTS] = {1.0 / 256, 0x1p-11, 0x1p-16, 0x1p-20, 0x1p-28};

static besom_filter *pqf_new(uint64_t capacity, double fpr, const char *options) {
  static const uint8_t seed[16] = {1, 2, 3};
  besom_config config = {
      .kind = "pqf", .capacity = capacity, .fpr = fpr, .options = options, .seed = seed};
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_BAD_OPTION) return NULL; /* not on this machine */
  assert_int_equal(status, BESOM_OK);
  return f;
}

static void assert_sound(const besom_filter *f) {
  const char *reason = "";
  if (besom_validate(f, &reason) != BESOM_OK) fail_msg("%s", reason);
}

static besom_status count_of(const besom_filter *f, besom_digest d, uint64_t *n) {
  return f->kind->query.count(f, d, n);
}

static besom_status insert_count_of(besom_filter *f, besom_digest d, uint64_t n) {
  return f->kind->change->insert_count(f, d, n);
}

/* The digest of the entry with this number of the bin, 0 to minis << width - 1. */
static besom_digest digest_in_bin(const struct pqf *p, uint64_t bin, uint64_t number) {
  unsigned width = pqf_width(p);
  unsigned __int128 place = ((unsigned __int128)bin * p->layout->minis << width) + number,
                    places = (unsigned __int128)p->bins * p->layout->minis << width;
  /* place / places as a fraction of 2^64, rounded up */
  return (besom_digest){(uint64_t)((place << 64) / places) + 1, 0};
}

/* ------------------------------------------------------------------ every order of operations */

enum { NUMBERS = 24, MODEL_STEPS = 4000 };

struct model {
  besom_filter *f;
  besom_digest digests[NUMBERS];
  unsigned copies[NUMBERS];
};

static void assert_answers(const struct model *m, bool all) {
  besom_digest batch[NUMBERS];
  uint64_t bitmap[1] = {0}, items = 0;
  memcpy(batch, m->digests, sizeof batch);
  assert_int_equal(besom_contains_many_digest(m->f, batch, NUMBERS, bitmap), BESOM_OK);
  for (unsigned i = 0; i < NUMBERS; i++) {
    uint64_t n = 0;
    assert_int_equal(besom_contains_digest(m->f, m->digests[i]), m->copies[i] > 0);
    assert_int_equal(bitmap[0] >> i & 1, m->copies[i] > 0);
    items += m->copies[i];
    if (!all) continue;
    assert_int_equal(count_of(m->f, m->digests[i], &n), BESOM_OK);
    assert_int_equal(n, m->copies[i]);
  }
  if (all) assert_sound(m->f);
  besom_statistics stats;
  besom_stats(m->f, &stats);
  assert_int_equal(stats.keys, items);
}

static void model_insert(struct model *m, unsigned i) {
  besom_status status = besom_insert_digest(m->f, m->digests[i]);
  if (m->copies[i] == PQF_MAX_COPIES) assert_int_equal(status, BESOM_FULL);
  m->copies[i] += status == BESOM_OK;
}

static void model_insert_some(struct model *m, unsigned i, unsigned n) {
  besom_status status = insert_count_of(m->f, m->digests[i], n);
  if (m->copies[i] + n > PQF_MAX_COPIES) assert_int_equal(status, BESOM_FULL);
  if (status == BESOM_OK) m->copies[i] += n;
}

static void model_remove(struct model *m, unsigned i) {
  assert_int_equal(besom_remove_digest(m->f, m->digests[i]),
                   m->copies[i] ? BESOM_OK : BESOM_NOT_FOUND);
  m->copies[i] -= m->copies[i] > 0;
}

/* All entries belong to two bins, so that these spill, are full, and get entries back. */
static void model_run(struct model *m, uint64_t seed) {
  const struct pqf *p = const_pqf_of(m->f);
  random_stream random = {seed};
  uint64_t all = (uint64_t)p->layout->minis << pqf_width(p);
  for (unsigned i = 0; i < NUMBERS; i++)
    m->digests[i] =
        digest_in_bin(p, i % 2, i / 2 % 6 * (all / 6) + i / 12 + random_below(&random, 2) * 64);
  for (unsigned step = 0; step < MODEL_STEPS; step++) {
    unsigned i = (unsigned)random_below(&random, NUMBERS), phase = step / 500 % 3;
    unsigned dice = (unsigned)random_below(&random, 10);
    if (dice < (phase == 0 ? 7 : phase == 1 ? 3 : 5))
      model_insert(m, i);
    else if (dice == 9)
      model_insert_some(m, i, 1 + (unsigned)random_below(&random, 5));
    else
      model_remove(m, i);
    if (step % 16 == 0) assert_answers(m, step % 64 == 0);
  }
}

static void removes_undo_spills_in_every_order(void **state) {
  (void)state;
  for (unsigned rate = 0; rate < BIN_LAYOUTS; rate++)
    for (unsigned isa = 0; isa < 3; isa++)
      for (uint64_t seed = 0; seed < 2; seed++) {
        struct model m = {.f = pqf_new(2000, rates[rate], isas[isa])};
        if (!m.f) continue;
        assert_int_equal(const_pqf_of(m.f)->layout->bits, bin_layouts[rate].bits);
        model_run(&m, seed);
        besom_free(m.f);
      }
}

/* What a bin holds does not depend on the order, and every instruction set makes the same table. */
static void all_instruction_sets_make_the_same_filter(void **state) {
  (void)state;
  for (unsigned rate = 0; rate < BIN_LAYOUTS; rate++) {
    besom_filter *expected = pqf_new(3000, rates[rate], isas[0]);
    for (unsigned isa = 0; isa < 3; isa++) {
      besom_filter *f = pqf_new(3000, rates[rate], isas[isa]);
      if (!f) continue;
      for (uint64_t i = 0; i < 3000; i++)
        assert_int_equal(besom_insert_u64(f, key_u64(1, i)), BESOM_OK);
      for (uint64_t i = 0; i < 1500; i++)
        assert_int_equal(besom_remove_u64(f, key_u64(1, i)), BESOM_OK);
      assert_sound(f);
      const struct pqf *p = const_pqf_of(f);
      size_t bytes = (size_t)besom__pqf_bytes(p->layout, p->bins);
      if (isa) assert_memory_equal(p->yards, const_pqf_of(expected)->yards, bytes);
      if (isa)
        besom_free(f);
      else
        besom_free(expected), expected = f;
    }
    besom_free(expected);
  }
}

/* ------------------------------------------------------------------ every query of a bin */

/* One bin and half of its backyard are full, and all values of the bin are asked. */
static void assert_no_other_value_is_found(const char *isa, double rate, uint64_t seed) {
  besom_filter *f = pqf_new(4000, rate, isa);
  if (!f) return;
  const struct pqf *p = const_pqf_of(f);
  random_stream random = {seed};
  uint64_t all = (uint64_t)p->layout->minis << pqf_width(p);
  uint8_t *copies = heap_array((size_t)all, 1);
  memset(copies, 0, (size_t)all);
  for (unsigned i = 0; i < p->layout->slots + p->layout->yard_slots; i++) {
    uint64_t number = random_below(&random, all);
    copies[number] += besom_insert_digest(f, digest_in_bin(p, 3, number)) == BESOM_OK;
  }
  for (uint64_t number = 0; number < all; number++)
    if (besom_contains_digest(f, digest_in_bin(p, 3, number)) != (copies[number] > 0))
      fail_msg("%s, %u bits, seed %u: number %u", isa, p->layout->bits, (unsigned)seed,
               (unsigned)number);
  free(copies);
  besom_free(f);
}

static void queries_find_no_other_value(void **state) {
  (void)state;
  for (unsigned rate = 0; rate < BIN_LAYOUTS && bin_layouts[rate].bits <= 12; rate++)
    for (unsigned isa = 0; isa < 3; isa++)
      for (uint64_t seed = 0; seed < 8; seed++)
        assert_no_other_value_is_found(isas[isa], rates[rate], seed);
}

/* ------------------------------------------------------------------ full */

/* More entries of one bin than its slots and those of its two yards. */
static void a_full_backyard_is_full_and_loses_nothing(void **state) {
  (void)state;
  for (unsigned rate = 0; rate < BIN_LAYOUTS; rate++) {
    besom_filter *f = pqf_new(4000, rates[rate], NULL);
    const struct pqf *p = const_pqf_of(f);
    const struct bin_layout *l = p->layout;
    unsigned room = l->slots + 2u * l->yard_slots, n = 0;
    uint64_t step = ((uint64_t)l->minis << pqf_width(p)) / (room + 8);
    while (besom_insert_digest(f, digest_in_bin(p, 3, (room + 7 - n) * step)) == BESOM_OK) n++;
    assert_int_equal(n, room);
    assert_sound(f);
    for (unsigned i = 0; i < n; i++)
      assert_true(besom_contains_digest(f, digest_in_bin(p, 3, (room + 7 - i) * step)));
    assert_int_equal(insert_count_of(f, digest_in_bin(p, 3, 0), 3), BESOM_FULL);
    for (unsigned i = 0; i < n; i++)
      assert_int_equal(besom_remove_digest(f, digest_in_bin(p, 3, (room + 7 - i) * step)),
                       BESOM_OK);
    assert_sound(f);
    besom_free(f);
  }
}

/* A bin of the backyard that is full gives entries to others. */
static void entries_of_the_backyard_make_room(void **state) {
  (void)state;
  besom_filter *f = pqf_new(100000, 1.0 / 256, NULL);
  const struct pqf *p = const_pqf_of(f);
  const struct bin_layout *l = p->layout;
  struct yard_pair pair = yards_of(p, 0);
  unsigned inserted = 0, per_bin = l->slots + 4;
  /* Every bin with one of the two yards of bin 0 has 4 entries there or in its other yard. */
  for (uint64_t bin = 1; bin < p->bins; bin++) {
    struct yard_pair of_bin = yards_of(p, bin);
    bool shares = false;
    for (unsigned i = 0; i < 4; i++) shares |= of_bin.number[i / 2] == pair.number[i % 2];
    for (unsigned i = 0; shares && i < per_bin; i++, inserted++)
      assert_int_equal(besom_insert_digest(f, digest_in_bin(p, bin, i * 200)), BESOM_OK);
  }
  for (unsigned i = 0; i < l->slots + 2u * l->yard_slots; i++, inserted++)
    assert_int_equal(besom_insert_digest(f, digest_in_bin(p, 0, i * 60)), BESOM_OK);
  assert_int_equal(yard_count(yard_at(p, pair.number[0])), l->yard_slots);
  besom_statistics stats;
  besom_stats(f, &stats);
  assert_int_equal(stats.keys, inserted);
  assert_sound(f);
  besom_free(f);
}

/* ------------------------------------------------------------------ capacity */

static void a_table_holds_its_capacity(void **state) {
  (void)state;
  static const uint64_t capacities[] = {10, 100, 1000, 20000};
  for (unsigned rate = 0; rate < BIN_LAYOUTS; rate++)
    for (unsigned i = 0; i < 4; i++)
      assert_int_equal(
          pqf_full_early(capacities[i], rates[rate], 40000 / capacities[i] > 50 ? 50 : 2, i % 2),
          0);
}

/* ------------------------------------------------------------------ damage */

/* Every single bit of a small filter: validate sees it, or the filter holds other keys. */
static void damage_every_bit(double rate) {
  besom_filter *f = pqf_new(120, rate, NULL);
  struct pqf *p = pqf_of(f);
  const struct bin_layout *l = p->layout;
  size_t bytes = (size_t)besom__pqf_bytes(l, p->bins);
  unsigned of_first = l->slots + 15u; /* the first bin spills */
  uint64_t step = ((uint64_t)l->minis << pqf_width(p)) / (of_first + 2);
  for (unsigned i = 0; i < of_first; i++)
    assert_int_equal(besom_insert_digest(f, digest_in_bin(p, 0, i * step)), BESOM_OK);
  for (unsigned i = 0; i < 60; i++) assert_int_equal(besom_insert_u64(f, key_u64(1, i)), BESOM_OK);
  assert_sound(f);
  unsigned seen = 0, headers = 0;
  for (size_t bit = 0; bit < 8 * bytes; bit++) {
    p->yards[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool bad = besom_validate(f, NULL) == BESOM_CORRUPT;
    seen += bad;
    size_t in_front =
        p->yards + bit / 8 < p->front ? SIZE_MAX : bit - 8 * (size_t)(p->front - p->yards);
    if (in_front != SIZE_MAX && in_front % (8u * l->bytes) <= bin_mark_at(l)) {
      headers++;
      if (!bad) fail_msg("bit %zu of a header", in_front % (8u * l->bytes));
    }
    for (unsigned i = 0; i < 60; i++) besom_contains_u64(f, key_u64(2, i)); /* no access outside */
    p->yards[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  assert_true(headers == p->bins * (bin_mark_at(l) + 1) && seen > headers);
  assert_sound(f);
  besom_free(f);
}

static void validate_sees_damage(void **state) {
  (void)state;
  damage_every_bit(rates[0]);
  damage_every_bit(rates[1]);
}

/* ------------------------------------------------------------------ geometry */

static void shrink_to_half(double rate) {
  besom_filter *f = pqf_new(20000, rate, NULL);
  besom_statistics before, after;
  besom_stats(f, &before);
  for (uint64_t i = 0; i < 8000; i++) besom_insert_u64(f, key_u64(1, i));
  if (const_pqf_of(f)->bins % 2) {
    besom_status odd = besom_resize(f, before.slots * 2, NULL);
    assert_int_equal(odd, BESOM_OK);
    besom_stats(f, &before);
  }
  assert_int_equal(besom_resize(f, before.slots / 2, NULL), BESOM_OK);
  besom_stats(f, &after);
  assert_int_equal(after.slots, before.slots / 2);
  assert_int_equal(after.width, const_pqf_of(f)->layout->bits);
  assert_int_equal(after.keys, 8000);
  for (uint64_t i = 0; i < 8000; i++) assert_true(besom_contains_u64(f, key_u64(1, i)));
  assert_sound(f);
  besom_free(f);
}

static void shrinking_drops_bits_that_do_not_fit(void **state) {
  (void)state;
  for (unsigned rate = 0; rate < BIN_LAYOUTS; rate++) shrink_to_half(rates[rate]);
}

static void layouts_fit_their_bins(void **state) {
  (void)state;
  for (unsigned i = 0; i < BIN_LAYOUTS; i++) {
    const struct bin_layout *l = &bin_layouts[i];
    unsigned end_of_bytes = bin_header_bytes(l) + byte_rows(l) * l->slots;
    assert_true(!i || l->bits > bin_layouts[i - 1].bits);
    assert_int_equal(l->bits, 8 * byte_rows(l) + (has_half_bytes(l) ? 4 : 0));
    assert_int_equal(l->minis % 2, 1);
    assert_true(bin_mark_at(l) < 64 && l->fan <= MAX_FAN && l->minis <= 1 << l->mini_bits);
    assert_true(8 * end_of_bytes + (has_half_bytes(l) ? 4u * l->slots : 0) <= 8u * l->bytes);
    assert_true(2u * l->fan + l->yard_slots <= 64);
    assert_true(64 + l->yard_slots * yard_entry_bits(l) <= 8 * YARD_BYTES);
    assert_true(l->slots + 2u * l->yard_slots > PQF_MAX_COPIES);
    if (!has_half_bytes(l)) continue;
    /* as long_rows_insert knows it */
    assert_true(l->bytes == BIN_LINE_BYTES && bin_header_bytes(l) == 8 && byte_rows(l) == 1);
    assert_true(end_of_bytes > 32 && half_byte_at(l, 0) >= 256 + 64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layouts_fit_their_bins),
      cmocka_unit_test(removes_undo_spills_in_every_order),
      cmocka_unit_test(all_instruction_sets_make_the_same_filter),
      cmocka_unit_test(queries_find_no_other_value),
      cmocka_unit_test(a_full_backyard_is_full_and_loses_nothing),
      cmocka_unit_test(entries_of_the_backyard_make_room),
      cmocka_unit_test(a_table_holds_its_capacity),
      cmocka_unit_test(validate_sees_damage),
      cmocka_unit_test(shrinking_drops_bits_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
