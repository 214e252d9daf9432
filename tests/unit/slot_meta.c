/*
 * exaf, taf, utaf and broom in front of a store: no key is lost, whatever the order of operations,
 * at all widths that the papers use, from one slot on, up to the capacity. And selectors are
 * distributed as the paper says.
 */
#include "slot_meta_subject.h"

#include <math.h>

#include "file/container.h"
#include "quotient/quotient_filter.h"
#include "support/temp_files.h"
#include "support/u64_forms.h"

static void no_key_is_lost_whatever_happens(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 5, 63, 64, 65, 100, 129, 300, 1000, 4096};
  for (size_t k = 0; k < KINDS; k++)
    for (uint32_t width = 4; width <= 16; width++)
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 4096 || width % 4 == 0)
          interleave(kinds[k], sizes[i], width, (width + i) % 3 ? NULL : other_options[k]);
}

/*
 * The published taf loses 106 of 15,564 keys here: it sets selectors that do not fit to 0 and
 * leaves the remainders.
 */
static void inserting_after_adapting_loses_no_key(void **state) {
  (void)state;
  enum { SLOTS = 1 << 14, MEMBERS_FIRST = SLOTS / 2 };
  for (size_t k = 0; k < KINDS; k++) {
    subject s;
    subject_open(&s, kinds[k], SLOTS, 8, NULL);
    for (size_t i = 0; i < MEMBERS_FIRST; i++) put(&s, key_u64(MEMBERS, i));
    for (size_t i = 0; i < 60 * SLOTS; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
    uint64_t rebuilds = counter_of(s.f, "rebuilds");
    assert_true(rebuilds > 0 || k >= UTAF);
    for (size_t i = MEMBERS_FIRST; i < 15564; i++) put(&s, key_u64(MEMBERS, i));
    assert_int_equal(s.n, 15564);
    assert_true(counter_of(s.f, "rebuilds") > rebuilds || k >= UTAF);
    assert_none_lost(&s);
    subject_close(&s);
  }
}

/*
 * Each of q queries raises the selector of a member with probability 1 in slots * 2^width, whatever
 * its value: selectors follow a Poisson distribution. They also stay below the bound of Corollary
 * 3.
 */
static void selectors_are_as_the_paper_says(void **state) {
  (void)state;
  enum { SLOTS = 1 << 14, WIDTH = 6, ROUNDS = 16 };
  static const char *const selector_names[] = {"selector_0", "selector_1", "selector_2",
                                               "selector_3", "selector_4"};
  subject s;
  subject_open(&s, "utaf", SLOTS, WIDTH, NULL);
  while (s.n < SLOTS * 9 / 10) put(&s, key_u64(MEMBERS, s.n));
  for (size_t i = 0; i < (size_t)ROUNDS * SLOTS; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
  double mean = ROUNDS / ldexp(1, WIDTH), share = exp(-mean), bound = 0, term = 1;
  for (unsigned k = 0; k < 5; k++) {
    double expected = share * (double)s.n, deviation = sqrt(expected) + 1;
    double found = (double)counter_of(s.f, selector_names[k]);
    assert_true(fabs(found - expected) < 5 * deviation);
    if (k) {
      term *= ROUNDS * (double)SLOTS / (double)s.n / k; /* c^k / k!, with c queries per key */
      bound += term;
      assert_true(found < ldexp(bound, -(int)(k * WIDTH)) * (double)s.n + 5 * deviation);
    }
    share *= mean / (k + 1);
  }
  assert_int_equal(counter_of(s.f, "rebuilds"), 0);
  subject_close(&s);
}

/*
 * When each false positive is reported, a filter with space left in its reserve repeats next to
 * none.
 */
static void false_positives_are_hardly_repeated(void **state) {
  (void)state;
  enum { SLOTS = 1 << 13, ASKED = 4 * SLOTS };
  for (size_t k = 0; k < KINDS; k++) {
    subject s;
    size_t first = 0, again = 0;
    subject_open(&s, kinds[k], SLOTS, 8, NULL);
    while (s.n < SLOTS * 9 / 10) put(&s, key_u64(MEMBERS, s.n));
    for (size_t round = 0; round < 2; round++)
      for (size_t i = 0; i < ASKED; i++) {
        uint64_t key = key_u64(NEGATIVES, i);
        *(round ? &again : &first) += besom_contains_u64(s.f, key);
        query_and_adapt(&s, key);
      }
    assert_in_range(first, ASKED / 256 / 2, ASKED / 256 * 2);
    assert_true(again * 20 < first);
    subject_close(&s);
  }
}

/* What a taf cannot do without a store it refuses, and changes nothing. */
static void without_a_store_a_taf_does_what_is_safe(void **state) {
  (void)state;
  enum { SLOTS = 512 };
  subject s;
  subject_open(&s, "taf", SLOTS, 4, NULL);
  for (size_t i = 0; i < SLOTS / 2; i++) put(&s, key_u64(MEMBERS, i));
  for (size_t i = 0; i < 8 * SLOTS; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
  assert_int_equal(besom_bind(s.f, NULL), BESOM_OK);
  size_t refused = 0, inserted = 0, removed = 0;
  for (size_t i = SLOTS / 2; i < SLOTS * 9 / 10; i++) {
    besom_status status = besom_insert_u64(s.f, key_u64(MEMBERS, i));
    assert_true(status == BESOM_OK || status == BESOM_NEEDS_STORE);
    if (status == BESOM_OK) s.members[s.n++] = key_u64(MEMBERS, i), inserted++;
    if (status == BESOM_NEEDS_STORE) refused++;
    assert_none_lost(&s);
  }
  while (s.n && removed < SLOTS / 3) {
    besom_status status = besom_remove_u64(s.f, s.members[s.n - 1]);
    if (status == BESOM_NEEDS_STORE) break;
    assert_int_equal(status, BESOM_OK);
    s.n--;
    removed++;
    assert_none_lost(&s);
  }
  assert_true(refused > 0 && inserted > 0 && removed > 0);
  subject_close(&s);
}

/* The slots after the last quotient are used up before the capacity: no copy is left behind. */
static void copies_that_do_not_fit_among_metadata_are_taken_back(void **state) {
  (void)state;
  enum { SLOTS = 700, COPIES = 300 };
  for (size_t k = 0; k < KINDS; k++) {
    subject s;
    subject_open(&s, kinds[k], SLOTS, 5, NULL);
    while (s.n < SLOTS / 2) put(&s, key_u64(MEMBERS, s.n));
    for (size_t i = 0; i < 4 * SLOTS; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
    uint64_t last = key_u64(MORE_MEMBERS, 0), extended = counter_of(s.f, "extended");
    for (size_t i = 1; i < 10 * SLOTS; i++)
      if (besom_hash_u64(s.f, key_u64(MORE_MEMBERS, i)).hi > besom_hash_u64(s.f, last).hi)
        last = key_u64(MORE_MEMBERS, i);
    assert_int_equal(insert_count_u64(s.f, last, COPIES), BESOM_FULL);
    assert_none_lost(&s);
    assert_true(extended > 0 && counter_of(s.f, "extended") > extended / 2);
    subject_close(&s);
  }
}

static void query_everything(const besom_filter *f) {
  uint64_t keys[512], bitmap[8];
  for (size_t i = 0; i < 512; i++) keys[i] = key_u64(NEGATIVES, i);
  assert_int_equal(besom_contains_many_u64(f, keys, 512, bitmap), BESOM_OK);
  for (size_t i = 0; i < 512; i++) besom_contains_u64(f, keys[i]);
  besom_iter iter = {.filter = f};
  besom_entry entry;
  for (size_t i = 0; i < 10000 && besom_iter_next(&iter, &entry) == BESOM_OK;) i++;
}

/* Calls that read the whole table, and look for the stored keys of its slots. */
static void copy_everything(const besom_filter *f, const char *path) {
  besom_filter *copy = NULL;
  besom_statistics stats;
  if (besom_merge(f, f, &copy) == BESOM_OK) besom_free(copy);
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_int_equal(besom_open(path, &(besom_open_options){.flags = BESOM_OPEN_TRUSTED}, &copy),
                   BESOM_OK);
  (void)besom_resize(copy, 2 * stats.slots, NULL);
  besom_free(copy);
}

/* Whatever the bits are, also in a file that is not checked. */
static void corrupt_metadata_do_not_crash(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "damaged.besom");
  random_stream random = {5};
  for (size_t k = 0; k < KINDS; k++) {
    subject s;
    memory_sink saved;
    besom_filter *f = NULL;
    subject_open(&s, kinds[k], 700, 5, NULL);
    while (s.n < 660) put(&s, key_u64(MEMBERS, s.n));
    for (size_t i = 0; i < 3000; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
    memory_sink_init(&saved);
    assert_int_equal(besom_save(s.f, &saved.api), BESOM_OK);
    for (size_t round = 0; round < 200; round++) {
      uint8_t *damaged = heap_array(saved.len, 1);
      memcpy(damaged, saved.data, saved.len);
      if (round % 4 == 0) memset(damaged + saved.len / 2, round % 8 ? 0xff : 0, saved.len / 4);
      for (size_t flips = 1 + round; flips; flips--) {
        size_t at = 512 + (size_t)random_below(&random, saved.len - 512); /* after the parameters */
        damaged[at] ^= (uint8_t)(1u << random_below(&random, 8));
      }
      assert_true(write_whole_file(path.text, damaged, saved.len));
      free(damaged);
      assert_int_equal(besom_open(path.text, NULL, &f), BESOM_CORRUPT);
      assert_int_equal(
          besom_open(path.text,
                     &(besom_open_options){.flags = BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED}, &f),
          BESOM_OK);
      assert_true(counter_of(f, "extended") > 0);
      query_everything(f);
      copy_everything(f, path.text);
      besom_free(f);
    }
    memory_sink_close(&saved);
    subject_close(&s);
  }
  temp_dir_remove(&dir);
}

/* Where the saved bytes have the filter's table. */
static uint8_t *saved_table(const memory_sink *saved, const struct qtable *t) {
  for (size_t at = 0; at + t->stride <= saved->len; at += 8)
    if (!memcmp(saved->data + at, t->blocks, t->stride)) return saved->data + at;
  return NULL;
}

/*
 * Offsets that point behind the table, in a file that is not checked. Merging two filters with many
 * metadata looks for the stored keys of blocks whose metadata do not fit.
 */
static void wrong_offsets_end_no_search_too_late(void **state) {
  (void)state;
  static const uint8_t offsets[] = {254, 255};
  for (size_t k = 0; k < 2 * KINDS; k++) {
    subject s;
    memory_sink saved;
    besom_filter *f = NULL, *merged = NULL;
    subject_open(&s, kinds[k / 2], 64, 4, NULL);
    while (s.n < 28) put(&s, key_u64(MEMBERS, s.n));
    for (size_t i = 0; i < 3000; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
    memory_sink_init(&saved);
    assert_int_equal(besom_save(s.f, &saved.api), BESOM_OK);
    const struct qtable *t = &const_quotient_filter(s.f)->table;
    uint8_t *table = saved_table(&saved, t);
    assert_non_null(table);
    for (uint64_t b = 0; b < t->room / 64; b++) table[b * t->stride] = offsets[k % 2];
    assert_int_equal(besom__container_load(saved.data, saved.len, NULL, false, BESOM_OPEN_TRUSTED,
                                           &(besom_fault){0}, &f),
                     BESOM_OK);
    if (besom_merge(f, f, &merged) == BESOM_OK) besom_free(merged);
    (void)besom_resize(f, 256, NULL);
    besom_free(f);
    memory_sink_close(&saved);
    subject_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_is_lost_whatever_happens),
      cmocka_unit_test(inserting_after_adapting_loses_no_key),
      cmocka_unit_test(selectors_are_as_the_paper_says),
      cmocka_unit_test(false_positives_are_hardly_repeated),
      cmocka_unit_test(without_a_store_a_taf_does_what_is_safe),
      cmocka_unit_test(copies_that_do_not_fit_among_metadata_are_taken_back),
      cmocka_unit_test(corrupt_metadata_do_not_crash),
      cmocka_unit_test(wrong_offsets_end_no_search_too_late),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
