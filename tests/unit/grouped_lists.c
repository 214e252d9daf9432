/*
 * grouped with unusual lists: groups whose keys are all on one list, so that the group alone
 * decides and no key takes a bit; and more groups than its table begins with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/saved_filters.h"

enum { KEYS = 20 }; /* per group */

/* Groups are numbers of six digits. Those that `period` divides have yes keys, others no keys. */
typedef struct list {
  unsigned groups, period;
  bool yes;
  unsigned at;
  char key[32];
} list;

static bool is_yes(const list *l, unsigned group) {
  return group % l->period == 0;
}

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  while (l->at < l->groups * KEYS && is_yes(l, l->at / KEYS) != l->yes) l->at++;
  if (l->at == l->groups * KEYS) return BESOM_END;
  int len = snprintf(l->key, sizeof l->key, "%06u:%u", l->at / KEYS, l->at % KEYS);
  l->at++;
  *key = (besom_bytes){l->key, (size_t)len};
  return BESOM_OK;
}

static besom_status rewind_list(void *ctx) {
  ((list *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_filter *build(unsigned groups, unsigned period, const char *options) {
  list yes = {.groups = groups, .period = period, .yes = true}, no = yes;
  no.yes = false;
  besom_source from_yes = {.next = next, .rewind = rewind_list, .ctx = &yes};
  besom_source from_no = {.next = next, .rewind = rewind_list, .ctx = &no};
  besom_config config = {.kind = "grouped", .options = options};
  besom_filter *f = NULL;
  besom_input input = {.yes = &from_yes, .no = &from_no};
  assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
  return f;
}

static void assert_exact(const besom_filter *f, unsigned groups, unsigned period) {
  list all = {.groups = groups, .period = period};
  besom_statistics stats;
  besom_bytes key;
  for (unsigned yes = 0; yes < 2; yes++) {
    all.yes = yes;
    for (all.at = 0; next(&all, &key, NULL) == BESOM_OK;)
      assert_int_equal(besom_contains(f, key.data, key.len), yes);
  }
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_true(stats.expected_fpr >= 0 && stats.expected_fpr <= 1);
  assert_true(stats.load_factor >= 0 && stats.load_factor <= 1);
}

static void groups_of_one_list_are_answered_exactly(void **state) {
  (void)state;
  static const unsigned groups[] = {1, 2, 50, 3000}, periods[] = {1, 2, 7};
  static const char *const options[] = {"group=^(......)", "universe=closed,group=^(......)"};
  for (unsigned i = 0; i < 24; i++) {
    unsigned g = i % 4, p = i / 4 % 3;
    besom_filter *f = build(groups[g], periods[p], options[i / 12]), *copy = loaded_copy(f);
    assert_exact(f, groups[g], periods[p]);
    assert_exact(copy, groups[g], periods[p]);
    besom_free(copy);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_one_list_are_answered_exactly)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
