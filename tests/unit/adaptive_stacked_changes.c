/*
 * The adaptive stacked filter never denies a member: while members come, memory or the source
 * fails, filters are tiny, or bytes are damaged.
 */
#include "adaptive_stacked_support.h"

#include <stdio.h>

#include "papers/adaptive_stacked/asf.h"
#include "support/checksums.h"
#include "support/counters.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/memory_sink.h"

static void save_to(memory_sink *sink, const besom_filter *f) {
  memory_sink_init(sink);
  assert_int_equal(besom_save(f, &sink->api), BESOM_OK);
}

/* Reports a false positive. */
static void report_one(besom_filter *f) {
  uint64_t i = 0;
  while (!besom_contains_u64(f, key_u64(NEGATIVES, i))) i++;
  assert_int_equal(besom_adapt_u64(f, key_u64(NEGATIVES, i)), BESOM_OK);
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
  assert_true(rate < 0.52 * one_layer); /* it has learned */
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

static const char *const bases[] = {"bloom", "blocked-bloom", "qf", "cf", "vacuum"};
enum { BASES = 5 };

/* A second insert changes nothing, also in a full filter and over bases that count. */
static void a_second_insert_takes_no_room(void **state) {
  (void)state;
  enum { N = 100 };
  for (size_t b = 0; b < BASES; b++) {
    char options[40];
    snprintf(options, sizeof options, "base=%s", bases[b]);
    besom_config config = {
        .kind = "adaptive-stacked", .options = options, .seed = seed, .capacity = N};
    besom_filter *f = NULL;
    uint64_t same[N + 1];
    size_t done = 0;
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    uint64_t capacity = stats_of(f).capacity;
    for (uint64_t i = 0; i < capacity + 1; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, 0)), BESOM_OK);
    for (size_t i = 0; i < N + 1; i++) same[i] = key_u64(MEMBERS, 1);
    assert_int_equal(besom_insert_many_u64(f, same, N + 1, &done), BESOM_OK);
    assert_int_equal(done, N + 1);
    assert_int_equal(stats_of(f).keys, 2);
    size_t n = 2;
    while (besom_insert_u64(f, key_u64(MEMBERS, n)) == BESOM_OK) n++;
    assert_true(n >= N);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
    assert_holds(f, n);
    besom_free(f);
  }
}

/* Inserts keys that only a further layer denies: the first layer has them already. */
static void insert_denied(besom_filter *f) {
  size_t n = 0;
  for (size_t i = 0; i < NEGATIVES_OF; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(besom_layer(f, 0), key) || besom_contains_u64(f, key)) continue;
    assert_int_equal(besom_insert_u64(f, key), BESOM_OK);
    assert_true(besom_contains_u64(f, key));
    n++;
  }
  assert_true(n > 0);
}

/* Members are inserted again at times; the source gives each of them once. */
static void it_learns_after_second_inserts(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    char options[80];
    snprintf(options, sizeof options, "negatives=40000,lifetime=1000000,base=%s", bases[b]);
    stage s;
    stage_open(&s, options, 0, 1);
    double one_layer = stats_of(s.f).expected_fpr;
    for (size_t i = 0; i < 200; i++) {
      assert_int_equal(besom_insert_u64(s.f, key_u64(MEMBERS, i * 17)), BESOM_OK);
      ask(s.f, &s.z, 0, 1000, &s.last);
      assert_int_equal(s.last, BESOM_OK);
    }
    assert_true(s.members.passes > 0);
    assert_true((double)ask(s.f, &s.z, 0, 40000, &s.last) / 40000 < 0.7 * one_layer);
    insert_denied(s.f);
    assert_holds(s.f, MEMBERS_OF);
    stage_close(&s);
  }
}

/* Older versions kept copies in the first layer; their files are read. */
static void it_learns_in_a_file_with_copies(void **state) {
  (void)state;
  enum { HELD = MEMBERS_OF - 100 };
  for (size_t b = 2; b < BASES; b++) {
    char options[80];
    snprintf(options, sizeof options, "negatives=40000,lifetime=1000000,base=%s", bases[b]);
    stage s;
    stage_open(&s, options, 0, 1);
    besom_filter *old = NULL;
    assert_int_equal(besom_create_like(s.f, &old), BESOM_OK);
    besom_filter *first = asf(old)->layers[0];
    for (size_t i = 0; i < MEMBERS_OF; i++)
      assert_int_equal(besom_insert_u64(first, key_u64(MEMBERS, i % HELD)), BESOM_OK);
    old->items = first->items;
    memory_sink saved;
    save_to(&saved, old);
    besom_free(old), besom_free(s.f);
    assert_int_equal(besom_load(saved.data, saved.len, NULL, &s.f), BESOM_OK);
    memory_sink_close(&saved);
    s.members.n = HELD;
    assert_int_equal(besom_bind_source(s.f, &s.members.api), BESOM_OK);
    double one_layer = stats_of(s.f).expected_fpr;
    ask(s.f, &s.z, 0, 200000, &s.last);
    assert_int_equal(s.last, BESOM_OK);
    assert_true((double)ask(s.f, &s.z, 0, 40000, &s.last) / 40000 < 0.7 * one_layer);
    assert_holds(s.f, HELD);
    stage_close(&s);
  }
}

/* Begins to fill another first layer, and reports a false positive: the first step. */
static void begin_another_first(stage *s) {
  struct asf *a = asf(s->f);
  assert_int_equal(besom__asf_make_first(a, &a->plan, &a->first), BESOM_OK);
  a->another = a->objective;
  besom__asf_begin_pass(a, FILL_FIRST);
  report_one(s->f);
}

/* Members that are read twice, or inserted during the pass, are in the new first layer once. */
static void another_first_layer_has_no_copies(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    char options[40];
    snprintf(options, sizeof options, "base=%s", bases[b]);
    stage s;
    stage_open(&s, options, 0, 1);
    s.members.distinct = MEMBERS_OF;
    s.members.n = 5 * MEMBERS_OF; /* two steps */
    begin_another_first(&s);
    assert_int_equal(asf(s.f)->pass, FILL_FIRST);
    for (size_t i = 0; i < 100; i++)
      assert_int_equal(besom_insert_u64(s.f, key_u64(MEMBERS, i)), BESOM_OK);
    report_one(s.f);
    assert_int_equal(asf(s.f)->pass, NO_PASS);
    assert_int_equal(counter_of(s.f, "rebuilds"), 1);
    assert_true(stats_of(s.f).keys <= MEMBERS_OF);
    assert_holds(s.f, MEMBERS_OF);
    stage_close(&s);
  }
}

/* If the new first layer has no room for what is read, the filter keeps the one that it has. */
static void another_first_layer_may_be_too_small(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    char options[40];
    snprintf(options, sizeof options, "base=%s", bases[b]);
    stage s;
    memory_sink before, after;
    stage_open(&s, options, 0, 1);
    s.members.n = 4 * MEMBERS_OF;
    save_to(&before, s.f);
    begin_another_first(&s);
    assert_int_equal(asf(s.f)->pass, NO_PASS);
    assert_int_equal(asf(s.f)->remedy, REPLANNED); /* so it is not tried again at once */
    asf(s.f)->remedy = NOTHING;
    save_to(&after, s.f);
    assert_true(memory_sinks_equal(&before, &after));
    memory_sink_close(&before), memory_sink_close(&after);
    assert_holds(s.f, MEMBERS_OF);
    stage_close(&s);
  }
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
    fix_checksums(saved.data, saved.len);
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
      cmocka_unit_test(a_second_insert_takes_no_room),
      cmocka_unit_test(it_learns_after_second_inserts),
      cmocka_unit_test(it_learns_in_a_file_with_copies),
      cmocka_unit_test(another_first_layer_has_no_copies),
      cmocka_unit_test(another_first_layer_may_be_too_small),
      cmocka_unit_test(tiny_filters_hold_their_members),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(repaired_damage_does_no_harm),
      cmocka_unit_test(enormous_numbers_are_refused_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
