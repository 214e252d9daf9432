/*
 * The no list of a guard. Its keys cost no read of the store, whatever happens to members, list,
 * filter and process; members and the answers are as without it.
 */
#include "guard_durable.h"

typedef struct lists {
  subject s;
  bool no[UNIVERSE], no_before[UNIVERSE];
  uint64_t rekeys, growths, restored;
  unsigned checked; /* calls of assert_list in which no key might cost a read */
} lists;

/* A large reserve: most keys collide. */
static guard_setup setup_of(besom_layout layout, besom_durability durability) {
  guard_setup setup = small_guard("aqf", layout);
  setup.filter.reserve = 0.5;
  setup.filter.width = 5;
  setup.guard.durability = durability;
  return setup;
}

static besom_bytes key_of(const lists *l, size_t k) {
  return l->s.keys.keys[k];
}

static besom_status no_put(lists *l, size_t k) {
  besom_status status = besom_guard_no_put(l->s.guard, key_of(l, k).data, key_of(l, k).len);
  if (status == BESOM_OK) l->no[k] = true;
  return status;
}

static besom_status no_delete(lists *l, size_t k) {
  besom_status status = besom_guard_no_delete(l->s.guard, key_of(l, k).data, key_of(l, k).len);
  if (status == BESOM_OK) l->no[k] = false;
  return status;
}

static uint64_t no_keys_of(const lists *l) {
  uint64_t n = 0;
  for (size_t k = 0; k < UNIVERSE; k++) n += l->no[k];
  return n;
}

/* A key of the no list costs no read, unless the reserve was full for it. */
static void assert_list(lists *l) {
  uint64_t reads = stats_of(&l->s).store_reads;
  assert_int_equal(stats_of(&l->s).no_keys, no_keys_of(l));
  for (size_t k = 0; k < UNIVERSE; k++) {
    besom_bytes key = key_of(l, k);
    assert_int_equal(besom_guard_no_has(l->s.guard, key.data, key.len),
                     l->no[k] ? BESOM_OK : BESOM_NOT_FOUND);
    if (l->no[k]) assert_answer(&l->s, k);
  }
  if (stats_of(&l->s).adapt_full) return;
  assert_int_equal(stats_of(&l->s).store_reads, reads);
  l->checked++;
}

static void change_member(lists *l, random_stream *random, uint64_t limit) {
  size_t k = random_below(random, UNIVERSE);
  besom_status deleted = l->s.values[k] ? BESOM_OK : BESOM_NOT_FOUND;
  if (l->no[k])
    assert_int_equal(put(&l->s, k, 2), BESOM_IS_MEMBER);
  else if (members_of(&l->s) < limit && random_below(random, 3))
    assert_int_equal(put(&l->s, k, 1 + random_next(random) % 1000000), BESOM_OK);
  else
    assert_int_equal(delete_key(&l->s, k), deleted);
}

static void change_list(lists *l, random_stream *random) {
  size_t k = random_below(random, UNIVERSE);
  if (l->s.values[k]) {
    assert_int_equal(no_put(l, k), BESOM_IS_MEMBER);
  } else if (random_below(random, 3)) {
    besom_status status = no_put(l, k);
    assert_true(status == BESOM_OK || status == BESOM_RESERVE_FULL);
  } else {
    besom_status deleted = l->no[k] ? BESOM_OK : BESOM_NOT_FOUND;
    assert_int_equal(no_delete(l, k), deleted);
  }
}

static void batch(lists *l, random_stream *random) {
  if (!l->s.in_batch) {
    assert_int_equal(begin(&l->s), BESOM_OK);
    memcpy(l->no_before, l->no, sizeof l->no);
    return;
  }
  bool keep = random_below(random, 2);
  assert_int_equal(end_batch(&l->s, keep), BESOM_OK);
  if (!keep) memcpy(l->no, l->no_before, sizeof l->no);
}

static void open_again(lists *l, bool kill) {
  besom_guard_statistics stats = stats_of(&l->s);
  l->rekeys += stats.rekeys;
  l->growths += stats.growths;
  l->restored += kill;
  if (l->s.in_batch) memcpy(l->no, l->no_before, sizeof l->no);
  if (kill) {
    if (l->s.in_batch) assert_int_equal(end_batch(&l->s, false), BESOM_OK);
    assert_int_equal(besom_guard_sync(l->s.guard), BESOM_OK);
    subject_crash(&l->s);
  } else {
    subject_close_guard(&l->s);
  }
  assert_int_equal(subject_reopen(&l->s), BESOM_OK);
}

static void rare_operation(lists *l, random_stream *random) {
  switch (random_below(random, 4)) {
  case 0:
    batch(l, random);
    break;
  case 1:
    (void)besom_guard_rekey(l->s.guard);
    break;
  case 2:
    assert_int_equal(besom_guard_step(l->s.guard, 1 + random_below(random, 50), NULL), BESOM_OK);
    break;
  default:
    if (random_below(random, 6) == 0) open_again(l, random_below(random, 2));
  }
}

static void random_operations(const guard_setup *setup) {
  lists *l = heap_array(1, sizeof *l);
  random_stream random = {setup->guard.layout + 10 * setup->guard.durability};
  subject_open(&l->s, setup);
  for (unsigned i = 0; i < 4000; i++) {
    uint64_t choice = random_below(&random, 100);
    if (choice < 20)
      assert_answer(&l->s, random_below(&random, UNIVERSE));
    else if (choice < 60)
      change_member(l, &random, i / 500 % 2 ? 20 : 200);
    else if (choice < 94)
      change_list(l, &random);
    else
      rare_operation(l, &random);
    if (i % 100 == 0) assert_list(l);
    if (i % 500 == 0) assert_consistent(&l->s);
  }
  open_again(l, true);
  assert_list(l);
  assert_consistent(&l->s);
  assert_true(l->rekeys && l->growths && l->restored && l->checked > 20);
  subject_close(&l->s);
  free(l);
}

static void no_key_costs_a_read(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 6; variant++) {
    guard_setup setup = setup_of(variant % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                                 (besom_durability)(variant / 2));
    random_operations(&setup);
  }
}

/* Every store call of a change fails once. Then nothing has changed, or all of it. */
static void a_failing_store_changes_nothing(void **state) {
  (void)state;
  guard_setup setup = setup_of(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT);
  lists *l = heap_array(1, sizeof *l);
  subject_open(&l->s, &setup);
  for (size_t k = 0; k < 60; k++) assert_int_equal(put(&l->s, k, k + 1), BESOM_OK);
  for (size_t k = 100; k < 200; k++) assert_int_equal(no_put(l, k), BESOM_OK);
  for (size_t k = 200; k < 240; k++) {
    besom_status status = BESOM_IO;
    for (unsigned call = 1; status != BESOM_OK; call++) {
      l->s.store.countdown = call;
      status = k % 3 ? no_put(l, k) : k % 2 ? no_delete(l, k - 100) : put(&l->s, k, k);
      l->s.store.countdown = 0;
      assert_true(status == BESOM_OK || status == BESOM_IO);
      assert_list(l);
    }
  }
  assert_consistent(&l->s);
  subject_close(&l->s);
  free(l);
}

/* The rollback reads the lists of the buckets that have lost a key. If a read fails, the next call
   repeats the rollback. */
static void a_rollback_that_fails_loses_no_key(void **state) {
  (void)state;
  bool failed = true;
  for (unsigned call = 1; failed; call++) {
    guard_setup setup = setup_of(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT);
    lists *l = heap_array(1, sizeof *l);
    subject_open(&l->s, &setup);
    l->s.store.directory = NULL;
    for (size_t k = 0; k < 40; k++) assert_int_equal(put(&l->s, k, k + 1), BESOM_OK);
    for (size_t k = 100; k < 130; k++) assert_int_equal(no_put(l, k), BESOM_OK);
    assert_int_equal(begin(&l->s), BESOM_OK);
    for (size_t k = 0; k < 12; k++) assert_int_equal(delete_key(&l->s, k), BESOM_OK);
    l->s.store.countdown = call;
    assert_int_equal(end_batch(&l->s, false), BESOM_OK);
    failed = l->s.store.countdown == 0;
    l->s.store.countdown = 0;
    assert_int_equal(besom_guard_step(l->s.guard, 1, NULL), BESOM_OK);
    assert_list(l);
    assert_consistent(&l->s);
    subject_close(&l->s);
    free(l);
  }
}

/* A batch that is aborted gives members back without their extensions. */
static void an_aborted_delete_keeps_the_lists_apart(void **state) {
  (void)state;
  guard_setup setup = setup_of(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT);
  lists *l = heap_array(1, sizeof *l);
  setup.filter.slots = 400;
  subject_open(&l->s, &setup);
  for (size_t k = 0; k < 100; k++) assert_int_equal(put(&l->s, k, k + 1), BESOM_OK);
  for (size_t k = 100; k < UNIVERSE; k++) assert_int_equal(no_put(l, k), BESOM_OK);
  assert_int_equal(begin(&l->s), BESOM_OK);
  for (size_t k = 0; k < 100; k++) assert_int_equal(delete_key(&l->s, k), BESOM_OK);
  assert_int_equal(end_batch(&l->s, false), BESOM_OK);
  assert_list(l);
  assert_int_equal(l->checked, 1);
  assert_consistent(&l->s);
  subject_close(&l->s);
  free(l);
}

/* A step migrates keys of both lists, together at most as many as it was told. */
static void steps_are_bounded(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 8; variant++) {
    unsigned max = 1u << variant / 2;
    size_t members = variant % 2 ? 100 : 300;
    guard_setup setup = setup_of(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT);
    lists *l = heap_array(1, sizeof *l);
    bool finished = false;
    setup.filter.slots = 800;
    setup.filter.width = 10;
    setup.guard.step_items = max;
    subject_open(&l->s, &setup);
    for (size_t k = 0; k < members; k++) assert_int_equal(put(&l->s, k, k + 1), BESOM_OK);
    for (size_t k = members; k < UNIVERSE; k++) assert_int_equal(no_put(l, k), BESOM_OK);
    assert_int_equal(besom_guard_rekey(l->s.guard), BESOM_OK);
    for (unsigned steps = 0; !finished; steps++) {
      if (steps % 5 == 2 && max < 8) { /* a list that was read ahead changes */
        size_t k = members + steps % (UNIVERSE - members);
        assert_int_equal(l->no[k] ? no_delete(l, k) : no_put(l, k), BESOM_OK);
      }
      assert_int_equal(besom_guard_step(l->s.guard, max, &finished), BESOM_OK);
      assert_true(stats_of(&l->s).largest_step <= max);
      if (steps % 8 == 0) assert_list(l);
    }
    assert_true(stats_of(&l->s).steps >= 300 / max);
    assert_list(l);
    assert_true(l->checked > 1);
    assert_consistent(&l->s);
    subject_close(&l->s);
    free(l);
  }
}

/* Each call of the store fails once. A step that failed is repeated, and nothing was left out. */
static void a_failing_store_only_delays_a_migration(void **state) {
  (void)state;
  guard_setup setup = setup_of(BESOM_LAYOUT_MERGED, BESOM_DURABLE_PUT);
  lists *l = heap_array(1, sizeof *l);
  bool finished = false;
  unsigned failed = 0;
  setup.filter.slots = 500;
  setup.filter.width = 3;
  subject_open(&l->s, &setup);
  for (size_t k = 0; k < 60; k++) assert_int_equal(put(&l->s, k, k + 1), BESOM_OK);
  for (size_t k = 60; k < UNIVERSE; k++) assert_int_equal(no_put(l, k), BESOM_OK);
  assert_int_equal(besom_guard_rekey(l->s.guard), BESOM_OK);
  for (unsigned call = 1; !finished;) {
    l->s.store.countdown = call;
    besom_status status = besom_guard_step(l->s.guard, 4, &finished);
    l->s.store.countdown = 0;
    assert_true(status == BESOM_OK || status == BESOM_IO);
    failed += status == BESOM_IO;
    call = status == BESOM_IO ? call + 1 : 1;
  }
  assert_true(failed > 100);
  assert_list(l);
  assert_int_equal(l->checked, 1);
  assert_consistent(&l->s);
  subject_close(&l->s);
  free(l);
}

/* The list takes no room in the filter: a thousand keys beside ten members. */
static void a_long_list_takes_next_to_nothing(void **state) {
  (void)state;
  besom_store *store;
  besom_guard *g;
  besom_config filter = {.kind = "aqf", .capacity = 1000, .fpr = 1.0 / 256, .seed = seed};
  besom_guard_config config = {.filter = &filter};
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  assert_int_equal(besom_guard_open(&config, store, &g), BESOM_OK);
  for (uint64_t i = 0; i < 1000; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "", 0, 0), BESOM_OK);
  for (uint64_t i = 0; i < 10000; i++) {
    besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
    assert_int_equal(besom_guard_no_put(g, key.bytes, 8), BESOM_OK);
  }
  besom_guard_statistics before, after;
  assert_int_equal(besom_guard_stats(g, &before), BESOM_OK);
  assert_int_equal(before.no_keys, 10000);
  assert_true(before.filter_bytes * 8 < 20 * 1000); /* bits for members */
  for (uint64_t i = 0; i < 10000; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, i), NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_stats(g, &after), BESOM_OK);
  assert_int_equal(after.store_reads, before.store_reads);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
}

static void what_is_not_possible_is_refused(void **state) {
  (void)state;
  static const char *const others[] = {"exaf", "taf", "broom", "acf-cyclic"};
  for (size_t i = 0; i < 4; i++) {
    guard_setup setup = small_guard(others[i], BESOM_LAYOUT_MERGED);
    subject *s = heap_array(1, sizeof *s);
    subject_open(s, &setup);
    assert_int_equal(besom_guard_no_put(s->guard, "a", 1), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_no_delete(s->guard, "a", 1), BESOM_UNSUPPORTED);
    assert_int_equal(besom_guard_no_has(s->guard, "a", 1), BESOM_UNSUPPORTED);
    subject_close(s);
    free(s);
  }
  assert_int_equal(besom_guard_no_put(NULL, "a", 1), BESOM_INVALID);
  assert_int_equal(besom_guard_no_delete(NULL, "a", 1), BESOM_INVALID);
  assert_int_equal(besom_guard_no_has(NULL, "a", 1), BESOM_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_costs_a_read),
      cmocka_unit_test(a_failing_store_changes_nothing),
      cmocka_unit_test(a_rollback_that_fails_loses_no_key),
      cmocka_unit_test(an_aborted_delete_keeps_the_lists_apart),
      cmocka_unit_test(steps_are_bounded),
      cmocka_unit_test(a_failing_store_only_delays_a_migration),
      cmocka_unit_test(a_long_list_takes_next_to_nothing),
      cmocka_unit_test(what_is_not_possible_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
