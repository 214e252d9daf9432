/*
 * The published attack on adaptive cuckoo filters (Reviriego et al.; section 2.5 of the paper on
 * adaptive quotient filters). A fingerprint has few states and cycles through them. So the
 * adversary finds keys that are false positives in turn, without end. It sees only which of its
 * queries are false positives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/heap.h"
#include "support/keys.h"

enum { MEMBERS_STORED = 2000, QUERIES = 60000, CYCLES = 12, REPLAYS = 10 };

static besom_guard *open_guard(const char *kind, const char *options, double reserve) {
  besom_config filter = {.kind = kind,
                         .options = options,
                         .seed = (const uint8_t *)"an open secret..",
                         .capacity = MEMBERS_STORED,
                         .fpr = 1.0 / 32,
                         .reserve = reserve};
  besom_guard_config config = {.filter = &filter, .rekey_at = 2};
  besom_store *store = NULL;
  besom_guard *g = NULL;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < MEMBERS_STORED; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_int_equal(besom_guard_put(g, &key, sizeof key, "", 0, BESOM_PUT_NEW), BESOM_OK);
  }
  return g;
}

/* An adversary could tell by the time of the answer whether the store was read. */
static bool was_false_positive(besom_guard *g, uint64_t key) {
  besom_guard_statistics before, after;
  besom_guard_stats(g, &before);
  assert_int_equal(besom_guard_get(g, &key, sizeof key, NULL), BESOM_NOT_FOUND);
  besom_guard_stats(g, &after);
  return after.false_positives > before.false_positives;
}

/* Queries all keys in turn, and moves the false positives to the front. */
static size_t sift(besom_guard *g, uint64_t *keys, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (was_false_positive(g, keys[i])) keys[kept++] = keys[i];
  return kept;
}

typedef struct outcome {
  size_t collected, loops; /* false positives at first, and those left after CYCLES rounds */
  double fpr; /* false-positive rate of the remaining keys when they are queried again */
  uint64_t adapt_full;
} outcome;

static outcome attack(const char *kind, const char *options, double reserve, size_t queries) {
  besom_guard *g = open_guard(kind, options, reserve);
  uint64_t *keys = keys_u64(NEGATIVES, queries);
  outcome o = {.collected = sift(g, keys, queries)};
  o.loops = o.collected;
  for (unsigned c = 0; c < CYCLES; c++) o.loops = sift(g, keys, o.loops);
  size_t hits = 0;
  for (unsigned r = 0; r < REPLAYS; r++)
    for (size_t i = 0; i < o.loops; i++) hits += was_false_positive(g, keys[i]);
  o.fpr = o.loops ? (double)hits / (double)(REPLAYS * o.loops) : 0;
  besom_guard_statistics stats;
  besom_guard_stats(g, &stats);
  o.adapt_full = stats.adapt_full;
  for (uint64_t i = 0; i < MEMBERS_STORED; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_int_equal(besom_guard_get(g, &key, sizeof key, NULL), BESOM_OK);
  }
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  free(keys);
  print_message(
      "%s %s: %zu collected, %zu in loops, false-positive rate of these %.2f, adapt full %llu\n",
      kind, options ? options : "", o.collected, o.loops, o.fpr, (unsigned long long)o.adapt_full);
  return o;
}

/*
 * At least sixteen times the target rate, without end. With three selector bits the attack takes
 * more queries.
 */
static void selectors_fall_to_an_adaptation_loop(void **state) {
  (void)state;
  static const char *const options[] = {"selector_bits=1", "selector_bits=2"};
  for (size_t i = 0; i < 2; i++) {
    outcome o = attack("acf-cyclic", options[i], 0, QUERIES);
    assert_true(o.loops > 20 && o.fpr > 0.5);
  }
}

static void fingerprints_that_grow_do_not(void **state) {
  (void)state;
  outcome o = attack("aqf", NULL, 0.5, QUERIES);
  assert_true(o.collected > 300);
  assert_int_equal(o.adapt_full, 0);
  assert_int_equal(o.loops, 0);
}

/*
 * Selectors that only increase do not cycle. A key can be a false positive again after another key
 * of its run was one (Theorem 1 of the telescoping paper, case 2), but by chance, and less likely
 * each time. A full block drops its metadata, so taf and exaf are attacked with no more keys than
 * their blocks can hold metadata for.
 */
static void selectors_that_only_go_up_do_not(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    size_t queries;
  } attacks[] = {{"utaf", QUERIES}, {"taf", QUERIES / 20}, {"exaf", QUERIES / 60}};
  for (size_t i = 0; i < 3; i++) {
    outcome o = attack(attacks[i].kind, NULL, 0, attacks[i].queries);
    assert_true(o.collected > attacks[i].queries / 64);
    assert_int_equal(o.adapt_full, 0);
    assert_int_equal(o.loops, 0);
  }
}

/*
 * With more keys, and without rekeys, the adversary causes one rebuild of a block after the other,
 * and each undoes the fixes of the last.
 */
static void full_blocks_do(void **state) {
  (void)state;
  outcome o = attack("taf", NULL, 0, QUERIES);
  assert_true(o.loops > 20 && o.fpr > 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(selectors_fall_to_an_adaptation_loop),
      cmocka_unit_test(fingerprints_that_grow_do_not),
      cmocka_unit_test(selectors_that_only_go_up_do_not),
      cmocka_unit_test(full_blocks_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
