/* Guards of kinds that relocate fingerprints (acf-*): records move with them, also if the store
   fails. */
#include "guard_subject.h"

static const double rates[] = {0.4, 0.1, 0.01};
enum { RATES = sizeof rates / sizeof *rates };

static bool relocates(const besom_kind_info *kind) {
  return (kind->abilities & BESOM_CAN_MATCH) && !(kind->abilities & BESOM_CAN_INSERT);
}

static besom_config relocating_config(const besom_kind_info *kind, double rate) {
  return (besom_config){.kind = kind->name, .capacity = MAX_MEMBERS, .fpr = rate, .seed = seed};
}

static void for_each_relocating(void (*law)(subject *s), besom_adapt_policy adapt) {
  unsigned kinds = 0;
  for (size_t i = 0; besom_kinds(i); i++)
    for (size_t r = 0; relocates(besom_kinds(i)) && r < RATES; r++) {
      failing_allocator memory;
      failing_allocator_init(&memory);
      besom_config config = relocating_config(besom_kinds(i), rates[r]);
      config.allocator = &memory.api;
      subject *s = heap_array(1, sizeof *s);
      subject_open_only(s, config, adapt);
      law(s);
      subject_close(s);
      assert_null(failing_allocator_verdict(&memory));
      failing_allocator_close(&memory);
      free(s);
      kinds++;
    }
  assert_true(kinds > 0);
}

/* ------------------------------------------------------------------ answers */

static void one_operation(subject *s, random_stream *random, uint64_t limit) {
  size_t k = random_below(random, UNIVERSE);
  uint64_t choice = random_below(random, 100);
  if (choice < 50) {
    assert_answer(s, k);
  } else if (choice < 80 && s->members <= limit) {
    if (s->members < limit || s->values[k])
      assert_int_equal(put(s, k, 1 + random_next(random) % 1000000), BESOM_OK);
  } else {
    assert_delete(s, k);
  }
}

static void random_operations(subject *s) {
  random_stream random = {1};
  for (unsigned i = 0; i < 6000; i++) {
    one_operation(s, &random, i / 1000 % 2 ? MAX_MEMBERS / 4 : MAX_MEMBERS);
    if (i % 250 == 0) assert_consistent(s);
  }
  assert_consistent(s);
  besom_guard_statistics stats = guard_stats(s);
  assert_int_equal(stats.queries,
                   stats.filter_negatives + stats.true_positives + stats.false_positives);
  assert_int_equal(stats.puts - stats.deletes, s->members);
}

static void answers_are_exact_while_records_move(void **state) {
  (void)state;
  for_each_relocating(random_operations, BESOM_ADAPT_ALWAYS);
  for_each_relocating(random_operations, BESOM_ADAPT_SECOND);
  for_each_relocating(random_operations, BESOM_ADAPT_NEVER);
}

/* Every kick moves one record: one append and one remove. */
static void moves_match_kicks(subject *s) {
  put_some(s, MAX_MEMBERS);
  besom_guard_statistics stats = guard_stats(s);
  assert_int_equal(stats.moved, filter_counter(s, "kicks"));
  assert_true(stats.moved == 0 || stats.filter_reads >= 2 * stats.moved);
  assert_int_equal(store_stats(s).appends, stats.puts + stats.moved);
  assert_int_equal(store_stats(s).removes, stats.moved);
  assert_consistent(s);
}

static void moved_records_are_counted(void **state) {
  (void)state;
  for_each_relocating(moves_match_kicks, BESOM_ADAPT_NEVER);
}

/* ------------------------------------------------------------------ failures */

/* One call of the store fails in each operation: all answers are exact afterwards. */
static void store_fails(subject *s) {
  random_stream random = {2};
  unsigned failed = 0;
  for (unsigned i = 0; i < 1500; i++) {
    size_t k = random_below(&random, UNIVERSE);
    s->store.countdown = 1 + (unsigned)random_below(&random, 12);
    besom_status status;
    if (random_below(&random, 2))
      status = get(s, k, NULL);
    else if (s->members < MAX_MEMBERS && random_below(&random, 3))
      status = put(s, k, 1 + random_next(&random) % 1000000);
    else
      status = delete_key(s, k);
    assert_true(status == BESOM_OK || status == BESOM_NOT_FOUND || status == BESOM_IO);
    failed += status == BESOM_IO;
    s->store.countdown = 0;
    assert_structure(s);
    if (i % 50 == 0) assert_consistent(s);
  }
  assert_true(failed > 20);
  assert_consistent(s);
}

static void a_failing_store_loses_nothing(void **state) {
  (void)state;
  for_each_relocating(store_fails, BESOM_ADAPT_ALWAYS);
}

static void memory_fails(subject *s) {
  random_stream random = {3};
  failing_allocator *memory = memory_of(s);
  unsigned failed = 0;
  for (unsigned i = 0; i < 800; i++) {
    size_t k = random_below(&random, UNIVERSE);
    memory->fail_at = memory->calls + 1 + random_below(&random, 4);
    besom_status status =
        s->members < MAX_MEMBERS ? put(s, k, 1 + random_next(&random) % 1000000) : delete_key(s, k);
    if (status == BESOM_NOT_FOUND) status = get(s, k, NULL);
    memory->fail_at = 0;
    assert_true(status == BESOM_OK || status == BESOM_NOT_FOUND || status == BESOM_NO_MEMORY);
    failed += status == BESOM_NO_MEMORY;
    assert_structure(s);
  }
  assert_true(failed > 0);
  assert_consistent(s);
}

static void a_failed_allocation_loses_nothing(void **state) {
  (void)state;
  for_each_relocating(memory_fails, BESOM_ADAPT_ALWAYS);
}

/* ------------------------------------------------------------------ reopening */

static void reopen(subject *s) {
  put_some(s, MAX_MEMBERS);
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k); /* some adaptations move records */
  assert_int_equal(besom_guard_close(s->guard), BESOM_OK);
  s->guard = NULL;
  guard_setup other = s->setup;
  other.filter.seed = (const uint8_t *)"another secret !";
  assert_int_equal(open_guard(&other, &s->store.head, &s->guard), BESOM_INCOMPATIBLE);
  assert_null(s->guard);
  assert_int_equal(open_guard(&s->setup, &s->store.head, &s->guard), BESOM_OK);
  assert_consistent(s);
  s->store.closed = 0;
}

static void a_guard_reopens_a_store_with_records(void **state) {
  (void)state;
  for_each_relocating(reopen, BESOM_ADAPT_ALWAYS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_exact_while_records_move),
      cmocka_unit_test(moved_records_are_counted),
      cmocka_unit_test(a_failing_store_loses_nothing),
      cmocka_unit_test(a_failed_allocation_loses_nothing),
      cmocka_unit_test(a_guard_reopens_a_store_with_records),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
