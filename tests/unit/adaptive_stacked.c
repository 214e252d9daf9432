/* The adaptive stacked filter: that it learns and relearns, and that it never denies a member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/counters.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/zipf_sampler.h"

static const uint8_t seed[16] = {9};

/* ------------------------------------------------------------------ filters with their members */

enum { MEMBERS_OF = 4000, NEGATIVES_OF = 40000 };

typedef struct member_source {
  besom_source api;
  uint64_t n, at, passes;
  uint64_t end;     /* end of this pass: n when it was last rewound */
  uint64_t fail_at; /* the call of next that fails, counted over all passes; 0: none */
  uint64_t calls;
  uint8_t key[8];
} member_source;

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  (void)weight;
  if (++m->calls == m->fail_at) return BESOM_IO;
  if (m->at == m->end) return BESOM_END;
  uint64_t k = key_u64(MEMBERS, m->at++);
  for (int i = 0; i < 8; i++) m->key[i] = (uint8_t)(k >> (8 * i));
  *key = (besom_bytes){m->key, 8};
  return BESOM_OK;
}

static besom_status first_member(void *ctx) {
  member_source *m = ctx;
  m->at = 0;
  m->end = m->n;
  m->passes++;
  return BESOM_OK;
}

static void members_open(member_source *m, uint64_t n) {
  *m = (member_source){.n = n};
  m->api = (besom_source){.next = next_member, .rewind = first_member, .ctx = m};
}

static besom_filter *make(const char *options, double bits, const besom_allocator *allocator) {
  besom_config config = {.kind = "adaptive-stacked",
                         .options = options,
                         .seed = seed,
                         .capacity = MEMBERS_OF,
                         .bits_per_key = bits,
                         .fpr = bits > 0 ? 0 : 0.02,
                         .reserve = bits > 0 ? 0 : 0.3,
                         .allocator = allocator};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (size_t i = 0; i < MEMBERS_OF; i++) {
    besom_status status = besom_insert_u64(f, key_u64(MEMBERS, i));
    assert_int_equal(status, BESOM_OK);
  }
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static void assert_holds(const besom_filter *f, size_t n) {
  const char *wrong = NULL;
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  if (besom_validate(f, &wrong) != BESOM_OK) fail_msg("%s", wrong);
}

/* Queries non-members, with ranks that begin at `shift`, and reports false positives. */
static size_t ask(besom_filter *f, zipf_sampler *z, size_t shift, size_t queries,
                  besom_status *last) {
  size_t wrong = 0;
  *last = BESOM_OK;
  for (size_t i = 0; i < queries; i++) {
    uint64_t key = key_u64(NEGATIVES, shift + zipf_draw(z));
    if (!besom_contains_u64(f, key)) continue;
    wrong++;
    *last = besom_adapt_u64(f, key);
    if (*last != BESOM_OK) break;
  }
  return wrong;
}

/* A full filter that is bound to its members, and a generator of negative queries. */
typedef struct stage {
  besom_filter *f;
  member_source members;
  zipf_sampler z;
  besom_status last; /* the status of the last report */
} stage;

static void stage_open(stage *s, const char *options, double bits, double skew) {
  *s = (stage){.f = make(options, bits, NULL), .z = zipf_new(skew, NEGATIVES_OF)};
  members_open(&s->members, MEMBERS_OF);
  assert_int_equal(besom_bind_source(s->f, &s->members.api), BESOM_OK);
}

static void stage_close(stage *s) {
  zipf_free(&s->z);
  besom_free(s->f);
}

static void assert_errs_less(const char *options, double bits) {
  enum { QUERIES = 400000 };
  stage s;
  stage_open(&s, options, bits, 1);
  double one_layer = stats_of(s.f).expected_fpr;
  ask(s.f, &s.z, 0, QUERIES, &s.last);
  assert_int_equal(s.last, BESOM_OK);
  assert_true(s.members.passes >= 2); /* it has a third layer */
  double learnt = (double)ask(s.f, &s.z, 0, QUERIES, &s.last) / QUERIES;
  assert_true(learnt < 0.6 * one_layer);
  if (bits > 0) assert_true(stats_of(s.f).bits_per_key < 1.05 * bits);
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

static void it_learns_what_is_often_asked(void **state) {
  (void)state;
  assert_errs_less("negatives=40000,lifetime=1000000", 10);
  assert_errs_less("negatives=40000,lifetime=1000000", 0);
  assert_errs_less("negatives=40000,objective=final", 10);
}

/* The frequent keys change: the rate rises, and the layers are dropped and learned again. */
static void it_learns_anew_when_popular_keys_change(void **state) {
  (void)state;
  enum { QUERIES = 400000 };
  stage s;
  stage_open(&s, "negatives=40000,lifetime=1000000", 10, 1);
  ask(s.f, &s.z, 0, QUERIES, &s.last);
  double before = (double)ask(s.f, &s.z, 0, QUERIES, &s.last) / QUERIES;
  assert_int_equal(counter_of(s.f, "rebuilds"), 0);
  ask(s.f, &s.z, 1000000, QUERIES, &s.last);
  assert_true(counter_of(s.f, "rebuilds") >= 1);
  double after = (double)ask(s.f, &s.z, 1000000, QUERIES, &s.last) / QUERIES;
  assert_true(after < 2.5 * before); /* a few keys have most of the queries, so chance matters */
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

/*
 * If the configured skew is wrong, it plans again, reads the members again, and then accepts its
 * rate.
 */
static void it_plans_anew_when_the_skew_is_wrong(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,skew=150,lifetime=1000000", 10, 0.3);
  ask(s.f, &s.z, 0, 600000, &s.last);
  assert_int_equal(s.last, BESOM_OK);
  uint64_t rebuilds = counter_of(s.f, "rebuilds");
  assert_true(rebuilds >= 2);
  assert_holds(s.f, MEMBERS_OF);
  ask(s.f, &s.z, 0, 600000, &s.last);
  assert_true(counter_of(s.f, "rebuilds") <= rebuilds + 2); /* it does not plan again */
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

static unsigned layers_of(const besom_filter *f) {
  unsigned n = 0;
  uint64_t slots = 0;
  for (; besom_layer(f, n); n++) slots += stats_of(besom_layer(f, n)).slots;
  assert_int_equal(slots, stats_of(f).slots);
  assert_null(besom_layer(f, SIZE_MAX));
  return n;
}

/* Finds n false positives. */
static void false_positives(const besom_filter *f, uint64_t *out, size_t n) {
  for (size_t i = 0, found = 0; found < n; i++)
    if (besom_contains_u64(f, key_u64(OTHER_MEMBERS, i))) out[found++] = key_u64(OTHER_MEMBERS, i);
}

/*
 * Queries of which one in `often` is for a hot key. Returns the number of false positives among
 * these.
 */
static size_t ask_hot(besom_filter *f, const uint64_t *hot, size_t n, size_t often,
                      size_t queries) {
  static uint64_t fresh;
  size_t wrong = 0;
  for (size_t i = 0; i < queries; i++) {
    uint64_t key = i % often ? key_u64(NEGATIVES, fresh++) : hot[i / often % n];
    if (!besom_contains_u64(f, key)) continue;
    wrong += i % often == 0;
    assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
  }
  return wrong;
}

/*
 * With a configured skew of 0 it has one layer. When it has far more false positives than expected,
 * it learns more layers.
 */
static void one_layer_is_not_for_ever(void **state) {
  (void)state;
  enum { HOT = 20 };
  stage s;
  uint64_t hot[HOT];
  stage_open(&s, "negatives=40000,skew=0,lifetime=1000000", 10, 1);
  false_positives(s.f, hot, HOT);
  ask_hot(s.f, hot, HOT, SIZE_MAX, 100000);
  assert_int_equal(layers_of(s.f), 1);
  assert_int_equal(counter_of(s.f, "rebuilds"), 0); /* the rate is as expected */
  ask_hot(s.f, hot, HOT, 4, 200000);
  assert_true(counter_of(s.f, "rebuilds") >= 1);
  assert_int_equal(layers_of(s.f), 3);
  assert_true(ask_hot(s.f, hot, HOT, 4, 40000) < 1000); /* of 10000 */
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

/* Half of the expected rate is a reason to plan again, as one and a half of it is. */
static void a_rate_that_is_too_low_is_noticed(void **state) {
  (void)state;
  enum { HOT = 2000 };
  stage s;
  uint64_t hot[HOT];
  stage_open(&s, "negatives=40000,skew=75,lifetime=1000000", 10.5, 1);
  for (size_t i = 0; i < HOT; i++) hot[i] = key_u64(MORE_MEMBERS, i);
  for (size_t i = 0; i < 400000; i++) { /* nineteen of twenty queries are for the hot keys */
    uint64_t key = i % 20 ? hot[i % HOT] : key_u64(NEGATIVES, i);
    if (besom_contains_u64(s.f, key)) assert_int_equal(besom_adapt_u64(s.f, key), BESOM_OK);
  }
  assert_true(counter_of(s.f, "rebuilds") >= 1);
  assert_int_equal(layers_of(s.f), 3);
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

static void without_its_members_it_cannot_learn(void **state) {
  (void)state;
  besom_filter *f = make(NULL, 10, NULL);
  member_source members;
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  besom_status status;
  assert_int_equal(ask(f, &z, 0, 100000, &status), 1);
  assert_int_equal(status, BESOM_NEEDS_STORE);
  members_open(&members, MEMBERS_OF);
  members.api.rewind = NULL;
  assert_int_equal(besom_bind_source(f, &members.api), BESOM_INVALID);
  assert_int_equal(besom_bind_source(NULL, NULL), BESOM_INVALID);
  besom_config config = {.kind = "bloom", .capacity = 10};
  besom_filter *bloom = NULL;
  assert_int_equal(besom_create(&config, &bloom), BESOM_OK);
  assert_int_equal(besom_bind_source(bloom, NULL), BESOM_UNSUPPORTED);
  besom_free(bloom);
  zipf_free(&z);
  besom_free(f);
}

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
  assert_true(members.passes > 2);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_learns_what_is_often_asked),
      cmocka_unit_test(it_learns_anew_when_popular_keys_change),
      cmocka_unit_test(it_plans_anew_when_the_skew_is_wrong),
      cmocka_unit_test(one_layer_is_not_for_ever),
      cmocka_unit_test(a_rate_that_is_too_low_is_noticed),
      cmocka_unit_test(without_its_members_it_cannot_learn),
      cmocka_unit_test(failures_change_nothing),
      cmocka_unit_test(a_source_with_too_few_members_is_refused),
      cmocka_unit_test(members_may_come_at_any_time),
      cmocka_unit_test(members_may_come_during_a_pass),
      cmocka_unit_test(tiny_filters_hold_their_members),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(repaired_damage_does_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
