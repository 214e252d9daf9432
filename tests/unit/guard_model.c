/* Guards over stores with transactions: random operations agree with a map. */
#include "guard_durable.h"

/* ------------------------------------------------------------------ random operations */

static void change_something(subject *s, random_stream *random, uint64_t limit) {
  size_t k = random_below(random, UNIVERSE);
  uint64_t members = members_of(s);
  if ((random_below(random, 3) && members < limit) || (s->values[k] && random_below(random, 2))) {
    besom_status status = put(s, k, 1 + random_next(random) % 1000000);
    assert_int_equal(status, BESOM_OK);
  } else {
    besom_status expected = s->values[k] ? BESOM_OK : BESOM_NOT_FOUND;
    assert_int_equal(delete_key(s, k), expected);
  }
}

/* Adds the statistics to a sum: a new guard starts from 0. */
static void add_statistics(const subject *s, besom_guard_statistics *sum) {
  besom_guard_statistics stats = stats_of(s);
  sum->growths += stats.growths;
  sum->rekeys += stats.rekeys;
  sum->adapted += stats.adapted;
  assert_int_equal(stats.failed_steps, 0);
}

/* Closes or kills the guard and opens it again. With SYNC a kill loses what was not synced. */
static void open_again(subject *s, bool kill, besom_guard_statistics *sum) {
  add_statistics(s, sum);
  if (kill && s->setup.guard.durability == BESOM_DURABLE_SYNC) {
    if (s->in_batch) assert_int_equal(end_batch(s, false), BESOM_OK);
    assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  }
  if (kill)
    subject_crash(s);
  else
    subject_close_guard(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_int_equal(stats_of(s).rebuilt, kill);
}

static void rare_operation(subject *s, random_stream *random, besom_guard_statistics *sum) {
  switch (random_below(random, 6)) {
  case 0:
    if (s->in_batch)
      assert_int_equal(end_batch(s, random_below(random, 2)), BESOM_OK);
    else
      assert_int_equal(begin(s), BESOM_OK);
    break;
  case 1:
    assert_int_equal(besom_guard_sync(s->guard), s->in_batch ? BESOM_BUSY : BESOM_OK);
    break;
  case 2: {
    besom_status status = besom_guard_rekey(s->guard);
    bool migrates = besom_guard_filter(s->guard) && strncmp(s->setup.filter.kind, "acf", 3) != 0;
    assert_true(status == (migrates ? BESOM_OK : BESOM_UNSUPPORTED) || status == BESOM_BUSY);
    break;
  }
  case 3:
    assert_int_equal(besom_guard_step(s->guard, 1 + random_below(random, 50), NULL), BESOM_OK);
    break;
  default:
    if (random_below(random, 6) == 0) open_again(s, random_below(random, 2), sum);
  }
}

static void random_operations(const guard_setup *setup, unsigned operations) {
  subject *s = heap_array(1, sizeof *s);
  random_stream random = {setup->guard.layout + 10 * setup->guard.durability};
  besom_guard_statistics sum = {0};
  subject_open(s, setup);
  for (unsigned i = 0; i < operations; i++) {
    uint64_t choice = random_below(&random, 100), limit = i / 500 % 2 ? 20 : 390;
    if (choice < 40)
      assert_answer(s, random_below(&random, UNIVERSE));
    else if (choice < 94)
      change_something(s, &random, limit);
    else
      rare_operation(s, &random, &sum);
    if (i % 250 == 0) assert_consistent(s);
  }
  if (s->in_batch) assert_int_equal(end_batch(s, true), BESOM_OK);
  open_again(s, false, &sum);
  assert_consistent(s);
  subject_close(s);
  free(s);
  assert_true(sum.adapted);
  if (strncmp(setup->filter.kind, "acf", 3) != 0) assert_true(sum.growths && sum.rekeys);
}

static void for_each_guard(void (*law)(const guard_setup *setup)) {
  unsigned kinds = 0;
  for (size_t i = 0; besom_kinds(i); i++)
    for (unsigned variant = 0; works_with_stores(besom_kinds(i)) && variant < 6;
         variant++, kinds++) {
      guard_setup setup =
          small_guard(besom_kinds(i)->name, variant % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED);
      setup.guard.durability = (besom_durability)(variant / 2);
      if (!strcmp(setup.filter.kind, "aqf") && variant > 1) setup.filter.options = "tombstones=yes";
      law(&setup);
    }
  assert_true(kinds >= 6 * 4);
}

static void agrees(const guard_setup *setup) {
  random_operations(setup, 4000);
}

static void random_operations_agree_with_a_map(void **state) {
  (void)state;
  for_each_guard(agrees);
}

/* ------------------------------------------------------------------ single laws */

/* A step migrates at most max_items records in one transaction, and queries are served
   meanwhile. */
static void steps_are_bounded(void **state) {
  (void)state;
  for (unsigned k = 1; k <= 64; k *= 4) {
    subject *s = heap_array(1, sizeof *s);
    guard_setup setup = {.filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.001, .seed = seed},
                         .guard = {.step_items = k}};
    subject_open(s, &setup);
    for (size_t i = 0; i < 300; i++) assert_int_equal(put(s, i, i + 1), BESOM_OK);
    assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
    assert_int_equal(besom_guard_rekey(s->guard), BESOM_BUSY);
    bool finished = false;
    unsigned steps = 0;
    for (; !finished; steps++) {
      besom_store_statistics before, after;
      besom_store_stats(s->store.inner, &before);
      assert_int_equal(besom_guard_step(s->guard, k, &finished), BESOM_OK);
      besom_store_stats(s->store.inner, &after);
      assert_true(after.appends - before.appends <= k);
      assert_true(after.removes - before.removes <= k);
      assert_true(after.commits - before.commits <= 2);
      for (size_t i = steps % 7; i < UNIVERSE; i += 7) assert_answer(s, i);
    }
    assert_true(stats_of(s).steps >= 300 / k); /* queries do some of them */
    assert_int_equal(stats_of(s).step_items, 300);
    assert_true(stats_of(s).largest_step <= k);
    assert_consistent(s);
    subject_close(s);
    free(s);
  }
}

/* Each put during a migration does one step of step_items records. */
static void each_put_migrates_step_items(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = {.filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.001},
                       .guard = {.step_items = 10, .step_ns = UINT64_MAX}};
  subject_open(s, &setup);
  for (size_t i = 0; i < 300; i++) assert_int_equal(put(s, i, i + 1), BESOM_OK);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  assert_true(stats_of(s).migrating);
  unsigned puts = 0;
  for (; stats_of(s).migrating; puts++) assert_int_equal(put(s, 300 + puts, puts + 1), BESOM_OK);
  assert_true(puts >= 30 && puts <= 34);
  assert_true(stats_of(s).largest_step <= 10);
  assert_consistent(s);
  subject_close(s);
  free(s);
}

/* After several growths the filter still has the target false-positive rate. */
static void growth_keeps_the_false_positive_rate(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = {.filter = {.kind = "aqf", .capacity = 20, .fpr = 0.01, .seed = seed}};
  subject_open(s, &setup);
  besom_statistics first, last;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &first), BESOM_OK);
  for (size_t i = 0; i < UNIVERSE; i++) assert_int_equal(put(s, i, i + 1), BESOM_OK);
  while (stats_of(s).migrating) assert_int_equal(besom_guard_step(s->guard, 1000, NULL), BESOM_OK);
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &last), BESOM_OK);
  assert_true(stats_of(s).growths >= 4);
  assert_true(last.capacity >= UNIVERSE && last.fpr_at_capacity <= 0.01);
  assert_int_equal(last.width, first.width);
  assert_consistent(s);
  subject_close(s);
  free(s);
}

/* A batch in which the filter doubles several times; it begins before or during a migration. */
static void batch_in_which_it_grows(const char *kind, besom_layout layout, bool migrating) {
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = {.filter = {.kind = kind, .capacity = 20, .fpr = 0.01, .seed = seed},
                       .guard = {.layout = layout, .step_items = 10, .step_ns = UINT64_MAX}};
  subject_open(s, &setup);
  for (size_t k = 0; k < 15; k++) assert_int_equal(put(s, k, k + 500), BESOM_OK);
  if (migrating) assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  for (unsigned variant = 0; variant < 2; variant++) { /* aborted, then committed */
    assert_int_equal(begin(s), BESOM_OK);
    for (size_t k = 0; k < UNIVERSE; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
    for (size_t k = 0; k < UNIVERSE; k += 5) assert_int_equal(delete_key(s, k), BESOM_OK);
    assert_true(stats_of(s).growths >= 4);
    assert_consistent(s);
    assert_int_equal(end_batch(s, variant), BESOM_OK);
    assert_int_equal(stats_of(s).migrating, migrating && !variant);
    assert_consistent(s);
  }
  subject_crash(s);
  assert_int_equal(subject_reopen(s), BESOM_OK);
  assert_consistent(s);
  subject_close(s);
  free(s);
}

static void a_batch_can_be_larger_than_the_filter(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "exaf", "taf", "utaf"};
  for (unsigned i = 0; i < 16; i++)
    batch_in_which_it_grows(kinds[i / 4], i % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                            i / 2 % 2);
}

static besom_status stop_at_third(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  return ++*(unsigned *)ctx == 3 ? BESOM_END : BESOM_OK;
}

static void scans_have_bounds(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    subject *s = heap_array(1, sizeof *s);
    guard_setup setup = small_guard("aqf", layout);
    subject_open(s, &setup);
    for (size_t i = 0; i < 200; i++) assert_int_equal(put(s, i, i + 1), BESOM_OK);
    besom_bytes none = {NULL, 0}, from = s->keys.keys[50], to = s->keys.keys[60];
    if (compare_bytes(from, to) > 0) from = to, to = s->keys.keys[50];
    unsigned n = 0;
    assert_int_equal(besom_guard_scan(s->guard, none, none, stop_at_third, &n), BESOM_OK);
    assert_int_equal(n, 3);
    uint64_t expected = 0;
    for (size_t k = 0; k < 200; k++)
      expected +=
          compare_bytes(s->keys.keys[k], from) >= 0 && compare_bytes(s->keys.keys[k], to) < 0;
    seen all = {.subject = s};
    besom_status status = besom_guard_scan(s->guard, from, to, see, &all);
    assert_int_equal(status, layout == BESOM_LAYOUT_SPLIT ? BESOM_OK : BESOM_UNSUPPORTED);
    if (status == BESOM_OK) assert_int_equal(all.n, expected);
    assert_int_equal(besom_guard_scan(NULL, none, none, see, &all), BESOM_INVALID);
    assert_int_equal(besom_guard_scan(s->guard, none, none, NULL, &all), BESOM_INVALID);
    subject_close(s);
    free(s);
  }
}

static void integer_keys_are_their_bytes(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(s, &setup);
  const uint64_t key = UINT64_C(0x0102030405060708);
  const uint8_t bytes[8] = {8, 7, 6, 5, 4, 3, 2, 1};
  besom_bytes value;
  assert_int_equal(besom_guard_put_u64(s->guard, key, "x", 1, 0), BESOM_OK);
  assert_int_equal(besom_guard_get(s->guard, bytes, 8, &value), BESOM_OK);
  assert_memory_equal(value.data, "x", 1);
  besom_guard_release(s->guard, &value);
  assert_int_equal(besom_guard_put(s->guard, bytes, 8, "yy", 2, 0), BESOM_OK);
  assert_int_equal(besom_guard_get_u64(s->guard, key, &value), BESOM_OK);
  assert_int_equal(value.len, 2);
  besom_guard_release(s->guard, &value);
  assert_int_equal(besom_guard_delete_u64(s->guard, key), BESOM_OK);
  assert_int_equal(besom_guard_get_u64(s->guard, key, NULL), BESOM_NOT_FOUND);
  assert_int_equal(besom_guard_put_u64(s->guard, key + 1, "z", 1, BESOM_PUT_NEW), BESOM_OK);
  assert_int_equal(besom_guard_get_u64(s->guard, key + 1, NULL), BESOM_OK);
  subject_close(s);
  free(s);
}

static void longest_and_empty_keys(void **state) {
  (void)state;
  uint8_t *key = heap_array(BESOM_GUARD_MAX_KEY + 1, 1);
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    subject *s = heap_array(1, sizeof *s);
    guard_setup setup = small_guard("aqf", layout);
    subject_open(s, &setup);
    assert_int_equal(besom_guard_put(s->guard, key, BESOM_GUARD_MAX_KEY, "long", 4, 0), BESOM_OK);
    assert_int_equal(besom_guard_put(s->guard, NULL, 0, "short", 5, 0), BESOM_OK);
    assert_int_equal(besom_guard_put(s->guard, key, BESOM_GUARD_MAX_KEY + 1, "", 0, 0),
                     BESOM_INVALID);
    assert_int_equal(besom_guard_get(s->guard, key, BESOM_GUARD_MAX_KEY, NULL), BESOM_OK);
    assert_int_equal(besom_guard_get(s->guard, key, BESOM_GUARD_MAX_KEY - 1, NULL),
                     BESOM_NOT_FOUND);
    assert_int_equal(besom_guard_get(s->guard, NULL, 0, NULL), BESOM_OK);
    subject_close_guard(s);
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_int_equal(besom_guard_delete(s->guard, key, BESOM_GUARD_MAX_KEY), BESOM_OK);
    assert_int_equal(besom_guard_delete(s->guard, NULL, 0), BESOM_OK);
    assert_int_equal(stats_of(s).keys, 0);
    subject_close(s);
    free(s);
  }
  free(key);
}

static void statistics_tell_offenders_and_rates(void **state) {
  (void)state;
  subject *s = heap_array(1, sizeof *s);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  setup.guard.adapt = BESOM_ADAPT_NEVER;
  subject_open(s, &setup);
  for (size_t i = 0; i < 60; i++) assert_int_equal(put(s, i, i + 1), BESOM_OK);
  size_t worst = 60;
  while (!besom_contains(besom_guard_filter(s->guard), s->keys.keys[worst].data,
                         s->keys.keys[worst].len))
    worst++;
  for (unsigned i = 0; i < 100; i++) assert_answer(s, worst);
  for (size_t k = 60; k < UNIVERSE; k++) assert_answer(s, k);
  besom_offender offenders[3];
  size_t n = 0;
  assert_int_equal(besom_guard_offenders(s->guard, offenders, 3, &n), BESOM_OK);
  assert_int_equal(n, 3);
  assert_true(offenders[0].count >= 101 && offenders[0].count - offenders[0].error <= 101);
  assert_int_equal(offenders[0].len, s->keys.keys[worst].len);
  for (size_t i = 1; i < n; i++)
    assert_true(offenders[i - 1].count - offenders[i - 1].error >=
                offenders[i].count - offenders[i].error);
  besom_guard_statistics stats = stats_of(s);
  assert_int_equal(stats.puts, 60);
  assert_false(stats.migrating);
  assert_true(stats.observed_fpr > 0 && stats.observed_fpr < 1 && stats.current_fpr > 0 &&
              stats.window_fpr == 0);
  for (unsigned i = 0; i < 4096; i++) assert_answer(s, worst);
  assert_true(stats_of(s).window_fpr > 0.5);
  subject_close(s);
  free(s);
}

/* ------------------------------------------------------------------ merging */

static void merge_two(const char *kind, besom_layout layout) {
  subject *a = heap_array(1, sizeof *a), *b = heap_array(1, sizeof *b);
  guard_setup setup = {
      .filter = {.kind = kind, .slots = 400, .width = 3, .seed = seed, .reserve = 0.3},
      .guard = {.layout = layout}};
  subject_open(a, &setup);
  subject_open(b, &setup);
  for (size_t k = 0; k < 100; k++) assert_int_equal(put(a, k, k + 1), BESOM_OK);
  for (size_t k = 90; k < 200; k++) assert_int_equal(put(b, k, 1000 + k), BESOM_OK);
  for (size_t k = 0; k < UNIVERSE; k += 2) assert_answer(a, k), assert_answer(b, k);
  assert_int_equal(begin(b), BESOM_OK);
  assert_int_equal(besom_guard_merge(a->guard, b->guard), BESOM_BUSY);
  assert_int_equal(end_batch(b, true), BESOM_OK);
  a->store.countdown = 200;
  assert_int_equal(besom_guard_merge(a->guard, b->guard), BESOM_IO);
  assert_consistent(a);
  uint64_t puts = stats_of(a).puts;
  besom_status status = besom_guard_merge(a->guard, b->guard);
  assert_int_equal(stats_of(a).puts - puts, status == BESOM_OK ? 100 : 0);
  if (status == BESOM_OK) {
    for (size_t k = 100; k < 200; k++) a->values[k] = b->values[k];
  } else {
    assert_true(strcmp(kind, "aqf") != 0 && status == BESOM_NEEDS_STORE); /* taf: see besom_merge */
  }
  assert_consistent(a);
  assert_consistent(b);
  subject_close_guard(a);
  assert_int_equal(subject_reopen(a), BESOM_OK);
  assert_consistent(a);
  subject_close(a);
  subject_close(b);
  free(a);
  free(b);
}

static void guards_can_be_merged(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    merge_two("aqf", layout);
    merge_two("exaf", layout);
    merge_two("taf", layout);
  }
}

static besom_status put_unless_there(void *ctx, besom_bytes key, besom_bytes value) {
  subject *into = ctx;
  besom_status status = besom_guard_get(into->guard, key.data, key.len, NULL);
  if (status != BESOM_NOT_FOUND) return status;
  return besom_guard_put(into->guard, key.data, key.len, value.data, value.len, 0);
}

/* What besom_guard.h says to do then: put the records of the other guard. */
static void adaptations_that_do_not_fit(besom_layout layout) {
  subject *a = heap_array(1, sizeof *a), *b = heap_array(1, sizeof *b);
  besom_bytes none = {NULL, 0};
  guard_setup setup = {
      .filter = {.kind = "aqf", .slots = 400, .width = 3, .seed = seed, .reserve = 0.05},
      .guard = {.layout = layout, .grow_at = 0.9, .rekey_at = 0.9}};
  subject_open(a, &setup);
  subject_open(b, &setup);
  for (size_t k = 0; k < 100; k++) assert_int_equal(put(a, k, k + 1), BESOM_OK);
  for (size_t k = 90; k < 200; k++) assert_int_equal(put(b, k, 1000 + k), BESOM_OK);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(a, k), assert_answer(b, k);
  assert_int_equal(besom_guard_merge(a->guard, b->guard), BESOM_RESERVE_FULL);
  assert_consistent(a);
  assert_consistent(b);
  assert_int_equal(besom_guard_scan(b->guard, none, none, put_unless_there, a), BESOM_OK);
  for (size_t k = 100; k < 200; k++) a->values[k] = b->values[k];
  assert_consistent(a);
  assert_consistent(b);
  subject_close(a);
  subject_close(b);
  free(a);
  free(b);
}

static void a_merge_without_reserve_can_be_done_by_puts(void **state) {
  (void)state;
  adaptations_that_do_not_fit(BESOM_LAYOUT_MERGED);
  adaptations_that_do_not_fit(BESOM_LAYOUT_SPLIT);
}

static void incompatible_guards_are_not_merged(void **state) {
  (void)state;
  subject *a = heap_array(1, sizeof *a), *b = heap_array(1, sizeof *b);
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  subject_open(a, &setup);
  setup.filter.seed = (const uint8_t *)"another secret !";
  subject_open(b, &setup);
  assert_int_equal(besom_guard_merge(a->guard, b->guard), BESOM_INCOMPATIBLE);
  assert_int_equal(besom_guard_merge(a->guard, a->guard), BESOM_INVALID);
  assert_int_equal(besom_guard_merge(a->guard, NULL), BESOM_INVALID);
  assert_int_equal(besom_guard_merge(NULL, b->guard), BESOM_INVALID);
  subject_close(b);
  setup = small_guard("aqf", BESOM_LAYOUT_SPLIT);
  subject_open(b, &setup);
  assert_int_equal(besom_guard_merge(a->guard, b->guard), BESOM_INCOMPATIBLE);
  subject_close(a);
  subject_close(b);
  free(a);
  free(b);
}

/* On disk: fewer operations, and no durability level that syncs with every put. */
static void random_operations_agree_on_disk(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 4; variant++) {
    guard_setup setup = small_guard("aqf", variant % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED);
    setup.guard.durability = variant / 2 ? BESOM_DURABLE_SYNC : BESOM_DURABLE_BATCH;
    random_operations(&setup, 1500);
  }
}

int main(void) {
  const struct CMUnitTest on_disk[] = {cmocka_unit_test(random_operations_agree_on_disk)};
  if (ON_DISK) return cmocka_run_group_tests(on_disk, NULL, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations_agree_with_a_map),
      cmocka_unit_test(steps_are_bounded),
      cmocka_unit_test(each_put_migrates_step_items),
      cmocka_unit_test(growth_keeps_the_false_positive_rate),
      cmocka_unit_test(a_batch_can_be_larger_than_the_filter),
      cmocka_unit_test(scans_have_bounds),
      cmocka_unit_test(integer_keys_are_their_bytes),
      cmocka_unit_test(longest_and_empty_keys),
      cmocka_unit_test(statistics_tell_offenders_and_rates),
      cmocka_unit_test(guards_can_be_merged),
      cmocka_unit_test(a_merge_without_reserve_can_be_done_by_puts),
      cmocka_unit_test(incompatible_guards_are_not_merged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
