/*
 * The adaptive stacked filter never denies a member: while members come, memory or the source
 * fails, filters are tiny, or bytes are damaged.
 */
#include "adaptive_stacked_support.h"

#include "support/counters.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/memory_sink.h"

static void save_to(memory_sink *sink, const besom_filter *f) {
  memory_sink_init(sink);
  assert_int_equal(besom_save(f, &sink->api), BESOM_OK);
}

/*
 * Whenever the source or an allocation fails, there is a status and the filter is unchanged. It
 * learns when they work again.
 */
static void failures_change_nothing(void **state) {
  (void)state;
  besom_status status;
  failing_allocator memory;
  failing_allocator_init(&memory);
  besom_filter *f = make("negatives=40000,lifetime=1000000", 10, &memory.api);
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  member_source members;
  members_open(&members, MEMBERS_OF);
  assert_int_equal(besom_bind_source(f, &members.api), BESOM_OK);
  double one_layer = stats_of(f).expected_fpr;
  size_t failed = 0, lost_memory = 0;
  for (size_t i = 0; i < 600000; i++) {
    uint64_t key = key_u64(NEGATIVES, zipf_draw(&z));
    if (!besom_contains_u64(f, key)) continue;
    memory_sink before, after;
    bool look = failed < 200;
    if (look) {
      save_to(&before, f);
      if (failed % 2)
        members.fail_at = members.calls + 1 + failed * 37 % 4000;
      else
        memory.fail_at = memory.calls + 1;
    }
    status = besom_adapt_u64(f, key);
    if (status != BESOM_OK) {
      assert_true(look && (status == BESOM_IO || status == BESOM_NO_MEMORY));
      save_to(&after, f);
      assert_true(memory_sinks_equal(&before, &after));
      memory_sink_close(&after);
      lost_memory += status == BESOM_NO_MEMORY;
      memory.fail_at = members.fail_at = 0;
      if (status == BESOM_NO_MEMORY && !counter_of(f, "exceptions"))
        assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
      failed++;
    }
    memory.fail_at = members.fail_at = 0;
    if (look) memory_sink_close(&before);
  }
  assert_true(failed >= 200 && lost_memory > 50 && lost_memory < failed);
  assert_holds(f, MEMBERS_OF);
  assert_true(members.passes > 100);
  double rate = (double)ask(f, &z, 0, 200000, &status) / 200000;
  assert_true(rate < 0.5 * one_layer); /* it has learned */
  zipf_free(&z);
  besom_free(f);
  const char *verdict = failing_allocator_verdict(&memory);
  if (verdict) fail_msg("%s", verdict);
  failing_allocator_close(&memory);
}

/* A source that omits many members is detected, and nothing is built from it. */
static void a_source_with_too_few_members_is_refused(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,lifetime=1000000", 10, 1);
  s.members.n = MEMBERS_OF / 2;
  ask(s.f, &s.z, 0, 600000, &s.last);
  assert_int_equal(s.last, BESOM_INVALID);
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

/* Members are inserted at any time, also during a pass. Half of them are reported before. */
static void members_may_come_at_any_time(void **state) {
  (void)state;
  enum { EARLY = 500 };
  besom_config config = {.kind = "adaptive-stacked",
                         .options = "negatives=40000,lifetime=300000",
                         .seed = seed,
                         .capacity = MEMBERS_OF,
                         .bits_per_key = 10};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  member_source members;
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  members_open(&members, 0);
  assert_int_equal(besom_bind_source(f, &members.api), BESOM_OK);
  size_t n = 0;
  for (size_t i = 0; n < MEMBERS_OF; i++) {
    besom_status status;
    uint64_t key = key_u64(MEMBERS, n);
    if (n % 2 && besom_contains_u64(f, key)) assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
    assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
    members.n = ++n;
    ask(f, &z, 0, n < EARLY ? 20 : 100, &status);
    assert_int_equal(status, BESOM_OK);
    if (n % 100 == 0) assert_holds(f, n);
    if (n % 1000 == 0) { /* save, load, bind again */
      memory_sink saved;
      besom_filter *copy = NULL;
      save_to(&saved, f);
      assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_OK);
      memory_sink again;
      save_to(&again, copy);
      assert_true(memory_sinks_equal(&saved, &again));
      memory_sink_close(&saved), memory_sink_close(&again);
      besom_free(f);
      f = copy;
      assert_holds(f, n);
      assert_int_equal(besom_bind_source(f, &members.api), BESOM_OK);
    }
  }
  assert_true(members.passes > 0);
  zipf_free(&z);
  besom_free(f);
}

/* Thousands of members are inserted while the third layer is filled, too late for the source. */
static void members_may_come_during_a_pass(void **state) {
  (void)state;
  enum { EARLY = 20000, ALL = 30000, AT_ONCE = 1000 };
  besom_config config = {.kind = "adaptive-stacked",
                         .options = "negatives=40000,lifetime=1000000",
                         .seed = seed,
                         .capacity = ALL,
                         .fpr = 0.02,
                         .reserve = 0.3};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  member_source members;
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  members_open(&members, EARLY);
  assert_int_equal(besom_bind_source(f, &members.api), BESOM_OK);
  size_t n = 0, reports = 0;
  for (; n < EARLY; n++) assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, n)), BESOM_OK);
  while (n < ALL && reports < 100000) {
    uint64_t key = key_u64(NEGATIVES, zipf_draw(&z));
    if (!besom_contains_u64(f, key)) continue;
    assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
    reports++;
    if (members.passes < 2) continue;
    uint64_t some[AT_ONCE];
    for (size_t i = 0; i < AT_ONCE; i++) some[i] = key_u64(MEMBERS, n + i);
    if (n / AT_ONCE % 2)
      assert_int_equal(besom_insert_many_u64(f, some, AT_ONCE, NULL), BESOM_OK);
    else
      for (size_t i = 0; i < AT_ONCE; i++) assert_int_equal(besom_insert_u64(f, some[i]), BESOM_OK);
    members.n = n += AT_ONCE;
    assert_holds(f, n);
  }
  assert_int_equal(n, ALL);
  assert_int_equal(members.passes, 2);
  assert_true(stats_of(f).fpr_at_capacity < 0.0199); /* it has its third layer */
  zipf_free(&z);
  besom_free(f);
}

/* The smallest numbers of members, bits and negatives. */
static void tiny_filters_hold_their_members(void **state) {
  (void)state;
  static const char *const options[] = {"negatives=1", "negatives=10,lifetime=1",
                                        "skew=0,lifetime=100", "skew=300,objective=final"};
  for (size_t o = 0; o < 4; o++)
    for (uint64_t n = 1; n < 200; n = 3 * n + 1) {
      besom_config config = {.kind = "adaptive-stacked",
                             .options = options[o],
                             .seed = seed,
                             .capacity = n,
                             .fpr = 0.5};
      besom_filter *f = NULL;
      member_source members;
      assert_int_equal(besom_create(&config, &f), BESOM_OK);
      members_open(&members, n);
      assert_int_equal(besom_bind_source(f, &members.api), BESOM_OK);
      for (size_t i = 0; i < n; i++)
        assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
      for (size_t i = 0; i < 5000; i++) {
        uint64_t key = key_u64(NEGATIVES, i % 300);
        if (besom_contains_u64(f, key)) assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
      }
      assert_holds(f, n);
      besom_free(f);
    }
}

static void damaged_bytes_are_refused(void **state) {
  (void)state;
  stage s;
  besom_filter *none = NULL;
  stage_open(&s, "negatives=40000,lifetime=1000000", 10, 1);
  ask(s.f, &s.z, 0, 400000, &s.last);
  memory_sink saved;
  save_to(&saved, s.f);
  for (size_t i = 0; i < saved.len; i += i < 2000 ? 1 : 97) {
    assert_true(besom_load(saved.data, i, NULL, &none) != BESOM_OK && !none);
    saved.data[i] ^= 16;
    assert_true(besom_load(saved.data, saved.len, NULL, &none) != BESOM_OK && !none);
    saved.data[i] ^= 16;
  }
  memory_sink_close(&saved);
  stage_close(&s);
}

/* Damaged bytes with valid checksums are refused, or give a filter that can be used. */
static void repaired_damage_does_no_harm(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,lifetime=1000000", 10, 1);
  ask(s.f, &s.z, 0, 400000, &s.last);
  memory_sink saved;
  save_to(&saved, s.f);
  random_stream random = {3};
  size_t accepted = 0;
  for (size_t round = 0; round < 1000; round++) {
    besom_filter *damaged = load_damaged(&saved, &random, round);
    if (!damaged) continue;
    assert_int_equal(besom_bind_source(damaged, &s.members.api), BESOM_OK);
    ask(damaged, &s.z, 0, 3000, &s.last);
    besom_insert_u64(damaged, key_u64(MORE_MEMBERS, round));
    besom_free(damaged);
    accepted++;
  }
  assert_true(accepted > 0);
  memory_sink_close(&saved);
  stage_close(&s);
}

/* Loading does not count up to a number in the file. */
static void enormous_numbers_are_refused_at_once(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,lifetime=1000000", 10, 1);
  memory_sink saved;
  save_to(&saved, s.f);
  for (size_t at = 64; at + 32 <= saved.len && at < 1000; at += 8) {
    uint8_t before[32]; /* four numbers */
    besom_filter *damaged = NULL;
    memcpy(before, saved.data + at, sizeof before);
    memset(saved.data + at, 0xff, sizeof before);
    besom__container_fix_checksums(saved.data, saved.len);
    besom_load(saved.data, saved.len, NULL, &damaged);
    besom_free(damaged);
    memcpy(saved.data + at, before, sizeof before);
  }
  memory_sink_close(&saved);
  stage_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures_change_nothing),
      cmocka_unit_test(a_source_with_too_few_members_is_refused),
      cmocka_unit_test(members_may_come_at_any_time),
      cmocka_unit_test(members_may_come_during_a_pass),
      cmocka_unit_test(tiny_filters_hold_their_members),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(repaired_damage_does_no_harm),
      cmocka_unit_test(enormous_numbers_are_refused_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
