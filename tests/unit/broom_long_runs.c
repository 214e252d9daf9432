/*
 * broom with runs that are longer than a step: a round redraws such a run at once, with memory of
 * the filter's allocator. If there is none, the report or the insert fails and changes nothing.
 */
#include "papers/telescoping/slot_meta.h"
#include "slot_meta_subject.h"
#include "support/failing_allocator.h"
#include "support/saved_filters.h"

enum { SLOTS = 512, LONG_RUNS = 2, LONG = STEP_MAX_ENTRIES + 10, ROUNDS = 3 };

static uint64_t quotient_of(const subject *s, uint64_t key) {
  return (uint64_t)((unsigned __int128)besom_hash_u64(s->f, key).hi * SLOTS >> 64);
}

/* Some keys anywhere, and as many as a long run has at two quotients. */
static void fill(subject *s) {
  for (uint64_t i = 0; s->n < 100; i++) put(s, key_u64(MEMBERS, i));
  for (unsigned r = 0; r < LONG_RUNS; r++)
    for (uint64_t i = 1000; s->store[100 + 200 * r].n < LONG; i++)
      if (quotient_of(s, key_u64(MEMBERS, i)) == 100 + 200 * r) put(s, key_u64(MEMBERS, i));
}

static void open_with(subject *s, failing_allocator *memory, uint32_t width) {
  besom_config config = {
      .kind = "broom", .slots = SLOTS, .width = width, .seed = seed, .allocator = &memory->api};
  failing_allocator_init(memory);
  *s = (subject){.slots = SLOTS};
  assert_int_equal(besom_create(&config, &s->f), BESOM_OK);
  s->store = heap_array(SLOTS, sizeof *s->store);
  s->members = heap_array(SLOTS, sizeof *s->members);
  bind_filter(s);
  fill(s);
}

static void close_with(subject *s, failing_allocator *memory) {
  subject_close(s);
  assert_null(failing_allocator_verdict(memory));
  failing_allocator_close(memory);
}

/* Reports a key that is answered yes. Without memory for a long run nothing changes. */
static unsigned report(subject *s, failing_allocator *memory, uint64_t key) {
  if (!besom_contains_u64(s->f, key)) return 0;
  besom_filter *before = loaded_copy(s->f);
  memory->fail_at = memory->calls + 1;
  besom_status status = besom_adapt_u64(s->f, key);
  memory->fail_at = 0;
  if (status == BESOM_NO_MEMORY) {
    assert_same_bytes(s->f, before);
    assert_none_lost(s);
    assert_int_equal(besom_adapt_u64(s->f, key), BESOM_OK);
  } else {
    assert_int_equal(status, BESOM_OK);
  }
  besom_free(before);
  assert_false(besom_contains_u64(s->f, key));
  return status == BESOM_NO_MEMORY;
}

static void a_round_redraws_long_runs(void **state) {
  (void)state;
  for (uint32_t width = 5; width <= 8; width += 3) {
    subject s;
    failing_allocator memory;
    unsigned failures = 0;
    open_with(&s, &memory, width);
    for (uint64_t i = 0; counter_of(s.f, "rounds") < ROUNDS; i++)
      failures += report(&s, &memory, key_u64(NEGATIVES, i));
    assert_true(failures >= LONG_RUNS); /* each long run, in each round */
    assert_none_lost(&s);
    close_with(&s, &memory);
  }
}

/* Inserts take steps, too. */
static void an_insert_without_memory_changes_nothing(void **state) {
  (void)state;
  subject s;
  failing_allocator memory;
  unsigned failures = 0;
  open_with(&s, &memory, 8);
  uint64_t next = 0;
  while (counter_of(s.f, "rounds") < 1) report(&s, &memory, key_u64(NEGATIVES, next++));
  for (uint64_t i = 0; i < 100; i++) {
    besom_digest d = besom_hash_u64(s.f, key_u64(MORE_MEMBERS, i));
    besom_filter *before = loaded_copy(s.f);
    besom_match match;
    memory.fail_at = memory.calls + 1;
    besom_status status = besom_insert_at(s.f, d, 0, &match);
    memory.fail_at = 0;
    if (status == BESOM_NO_MEMORY) {
      assert_same_bytes(s.f, before);
      put(&s, key_u64(MORE_MEMBERS, i));
      failures++;
    } else {
      assert_int_equal(status, BESOM_OK);
      assert_int_equal(besom_remove_at(s.f, &match), BESOM_OK);
    }
    assert_none_lost(&s);
    besom_free(before);
  }
  assert_true(failures >= 1);
  close_with(&s, &memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_round_redraws_long_runs),
      cmocka_unit_test(an_insert_without_memory_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
