/* The adaptive stacked filter learns, and learns anew when the queries change. */
#include "adaptive_stacked_support.h"

#include <stdio.h>

#include "support/counters.h"
#include "support/memory_sink.h"

/* Memory, copies included, is within the budget, but for the rounding of small layers. */
static void assert_errs_less(const char *options, double bits) {
  enum { QUERIES = 400000 };
  stage s;
  stage_open(&s, options, bits, 1);
  double one_layer = stats_of(s.f).expected_fpr;
  ask(s.f, &s.z, 0, QUERIES, &s.last);
  assert_int_equal(s.last, BESOM_OK);
  assert_true(s.members.passes >= 1); /* it has a third layer */
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
  assert_errs_less("negatives=40000,lifetime=1000000,form=published", 10);
  assert_errs_less("negatives=40000,objective=final,form=published", 10);
  assert_errs_less("negatives=40000,lifetime=1000000,layers=5", 14);
  assert_errs_less("negatives=40000,lifetime=1000000,layers=7", 0);
}

/* The share of false positives, without reporting them. */
static double rate_of(const besom_filter *f, zipf_sampler *z, size_t queries) {
  size_t wrong = 0;
  for (size_t i = 0; i < queries; i++)
    wrong += besom_contains_u64(f, key_u64(NEGATIVES, zipf_draw(z)));
  return (double)wrong / (double)queries;
}

/*
 * The third layer is used long before the second is full, and both are extended. In the published
 * form it is not made before.
 */
static void it_denies_before_the_second_layer_is_full(void **state) {
  (void)state;
  for (int published = 0; published < 2; published++) {
    stage s;
    stage_open(&s, published ? "negatives=40000,form=published" : "negatives=40000", 0, 1);
    double before = rate_of(s.f, &s.z, 100000), last = before;
    uint64_t passes = 0, extended = 0;
    for (size_t i = 0; i < 40 && stats_of(s.f).reserve_used < 0.7; i++) {
      ask(s.f, &s.z, 0, 5000, &s.last);
      if (passes == s.members.passes || s.members.at < MEMBERS_OF) continue;
      passes = s.members.passes;
      last = rate_of(s.f, &s.z, 100000);
      extended++;
    }
    assert_true(stats_of(s.f).reserve_used < 0.9);
    if (published)
      assert_true(extended == 0 && last == before);
    else
      assert_true(extended > 2 && last < 0.5 * before);
    assert_holds(s.f, MEMBERS_OF);
    stage_close(&s);
  }
}

/* A report that comes late is denied like an early one. */
static void what_is_reported_is_denied_soon(void **state) {
  (void)state;
  enum { KEYS = 30 };
  stage s;
  stage_open(&s, "negatives=40000,layers=7", 0, 1);
  for (size_t i = 0, found = 0; found < KEYS; i++) {
    uint64_t key = key_u64(OTHER_MEMBERS, i);
    size_t reports = 0;
    if (!besom_contains_u64(s.f, key)) continue;
    for (; besom_contains_u64(s.f, key) && reports < 200; reports++)
      assert_int_equal(besom_adapt_u64(s.f, key), BESOM_OK);
    assert_true(reports < 200);
    found++;
  }
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

static besom_status next_query(void *ctx, besom_bytes *key, uint64_t *weight) {
  member_source *m = ctx;
  if (m->at == m->n) return BESOM_END;
  uint64_t k = key_u64(NEGATIVES, m->at++);
  for (int i = 0; i < 8; i++) m->key[i] = (uint8_t)(k >> (8 * i));
  *weight = 1 + NEGATIVES_OF / m->at;
  *key = (besom_bytes){m->key, 8};
  return BESOM_OK;
}

/*
 * Built with a sample of queries, it plans for the measured distribution instead of a skew. The
 * configured one would make it a filter of one layer.
 */
static void a_sample_replaces_the_skew(void **state) {
  (void)state;
  member_source members, queries = {.n = NEGATIVES_OF};
  besom_source no = {.next = next_query, .ctx = &queries};
  besom_config config = {.kind = "adaptive-stacked",
                         .options = "skew=0,lifetime=1000000",
                         .seed = seed,
                         .bits_per_key = 12};
  besom_filter *f = NULL, *copy = NULL, *like = NULL;
  members_open(&members, MEMBERS_OF);
  assert_int_equal(first_member(&members), BESOM_OK);
  members.api.size_hint = MEMBERS_OF;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &members.api, .no = &no}, &f),
                   BESOM_OK);
  assert_holds(f, MEMBERS_OF);
  memory_sink saved;
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_OK);
  assert_int_equal(besom_create_like(f, &like), BESOM_OK);
  memory_sink_close(&saved);
  besom_free(f), besom_free(like);
  assert_int_equal(besom_bind_source(copy, &members.api), BESOM_OK);
  double before = stats_of(copy).expected_fpr;
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  besom_status status;
  ask(copy, &z, 0, 300000, &status);
  assert_true(besom_layer(copy, 2) != NULL);
  assert_int_equal(counter_of(copy, "rebuilds"), 0);
  assert_true((double)ask(copy, &z, 0, 200000, &status) / 200000 < 0.6 * before);
  assert_holds(copy, MEMBERS_OF);
  zipf_free(&z);
  besom_free(copy);
}

/* Kinds that can insert and be planned with are layers, too; others are refused. */
static void every_base_learns(void **state) {
  (void)state;
  static const char *const bases[] = {"bloom", "blocked-bloom", "cf", "vacuum", "qf"};
  for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
    char options[80];
    snprintf(options, sizeof options, "negatives=40000,lifetime=1000000,base=%s", bases[b]);
    stage s;
    stage_open(&s, options, 0, 1);
    double one_layer = stats_of(s.f).expected_fpr;
    ask(s.f, &s.z, 0, 400000, &s.last);
    assert_int_equal(s.last, BESOM_OK);
    assert_true((double)ask(s.f, &s.z, 0, 200000, &s.last) / 200000 < 0.6 * one_layer);
    for (unsigned i = 0; besom_layer(s.f, i); i++)
      assert_string_equal(stats_of(besom_layer(s.f, i)).kind, bases[b]);
    assert_holds(s.f, MEMBERS_OF);
    memory_sink saved, again;
    besom_filter *copy = NULL;
    memory_sink_init(&saved), memory_sink_init(&again);
    assert_int_equal(besom_save(s.f, &saved.api), BESOM_OK);
    assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_OK);
    assert_int_equal(besom_save(copy, &again.api), BESOM_OK);
    assert_true(memory_sinks_equal(&saved, &again));
    memory_sink_close(&saved), memory_sink_close(&again);
    assert_holds(copy, MEMBERS_OF);
    besom_free(copy);
    stage_close(&s);
  }
  static const char *const bad[] = {
      "base=fuse", "base=aqf", "base=x",     "layers=4",
      "layers=1",  "layers=9", "form=other", "form=published,layers=5",
      "skew=301",  "width=3",  "objective=x"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    besom_filter *f = NULL;
    besom_config config = {.kind = "adaptive-stacked", .options = bad[i], .capacity = 1000};
    assert_int_equal(besom_create(&config, &f), BESOM_BAD_OPTION);
  }
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
 * If the configured skew is wrong, the published form plans again, reads the members again, and
 * then accepts its rate. It expects hardly any false positives and has far more, so that chance
 * does not matter.
 */
static void the_published_form_plans_anew_when_the_skew_is_wrong(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,skew=150,lifetime=1000000,form=published", 12, 0.3);
  ask(s.f, &s.z, 0, 900000, &s.last);
  assert_int_equal(s.last, BESOM_OK);
  uint64_t rebuilds = counter_of(s.f, "rebuilds");
  assert_true(rebuilds >= 2);
  assert_holds(s.f, MEMBERS_OF);
  ask(s.f, &s.z, 0, 900000, &s.last);
  assert_true(counter_of(s.f, "rebuilds") <= rebuilds + 2); /* it does not plan again */
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

/* The other form sees that the skew explains the rate, and keeps what it has learned. */
static void a_wrong_skew_is_no_reason_to_forget(void **state) {
  (void)state;
  stage s;
  stage_open(&s, "negatives=40000,skew=130,lifetime=1000000", 12, 0.8);
  ask(s.f, &s.z, 0, 1500000, &s.last);
  assert_int_equal(s.last, BESOM_OK);
  assert_true(stats_of(s.f).reserve_used == 1); /* complete, so the rate is monitored */
  /* else it would learn again, and then plan again; once may be by chance */
  assert_true(counter_of(s.f, "rebuilds") <= 1);
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

/*
 * One in five negative queries repeats a false positive that the filter has not fixed yet. There
 * are more false positives than the plan has room for, so a larger second layer is built. In the
 * published form the second layer is never full and nothing is denied.
 */
static void an_adversary_gains_nothing(void **state) {
  (void)state;
  enum { UNIVERSE = 6000, QUERIES = 600000, LAST = 100000 };
  for (int published = 0; published < 2; published++) {
    stage s;
    stage_open(&s, published ? "form=published" : NULL, 20, 1);
    uint64_t found[UNIVERSE], wrong = 0;
    size_t n = 0;
    random_stream random = {11};
    for (size_t i = 0; i < QUERIES; i++) {
      bool attacks = n > 0 && i % 5 == 0;
      size_t at = (size_t)random_below(&random, attacks ? n : UNIVERSE);
      uint64_t key = attacks ? found[at] : key_u64(OTHER_MEMBERS, at);
      bool yes = besom_contains_u64(s.f, key);
      if (yes) assert_int_equal(besom_adapt_u64(s.f, key), BESOM_OK);
      if (yes && !attacks && n < UNIVERSE) found[n++] = key;
      if (!yes && attacks) found[at] = found[--n];
      wrong += yes && i >= QUERIES - LAST;
    }
    assert_true(published ? wrong > LAST / 10 : wrong < LAST / 100);
    assert_holds(s.f, MEMBERS_OF);
    stage_close(&s);
  }
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

/* Queries of which one in `often` is for a fresh key, the others for hot ones. */
static void ask_fresh(besom_filter *f, const uint64_t *hot, size_t n, size_t often,
                      size_t queries) {
  static uint64_t fresh = 1000000;
  for (size_t i = 0; i < queries; i++) {
    uint64_t key = i % often ? hot[i % n] : key_u64(NEGATIVES, fresh++);
    if (besom_contains_u64(f, key)) assert_int_equal(besom_adapt_u64(f, key), BESOM_OK);
  }
}

/*
 * A rate that is far below the expected one is expected from then on, or planned for. So a rate
 * that is ten times as high, and still below what was expected first, is noticed.
 */
static void a_rate_that_is_too_low_is_noticed(void **state) {
  (void)state;
  enum { HOT = 2000, QUERIES = 600000 };
  stage s;
  uint64_t hot[HOT];
  stage_open(&s, "skew=75,negatives=40000,lifetime=1000000,form=published", 12, 1);
  for (size_t k = 0; k < HOT; k++) hot[k] = key_u64(MORE_MEMBERS, k);
  ask_fresh(s.f, hot, HOT, 40, QUERIES);
  assert_true(stats_of(s.f).reserve_used == 1);
  ask_fresh(s.f, hot, HOT, 4, QUERIES);
  assert_true(counter_of(s.f, "rebuilds") >= 1);
  assert_holds(s.f, MEMBERS_OF);
  stage_close(&s);
}

static void without_its_members_it_cannot_learn(void **state) {
  (void)state;
  besom_filter *f = make(NULL, 10, NULL);
  member_source members;
  zipf_sampler z = zipf_new(1, NEGATIVES_OF);
  besom_status status;
  /* it stores exceptions instead, up to the limit */
  (void)ask(f, &z, 0, 100000, &status);
  assert_true(status == BESOM_OK || status == BESOM_RESERVE_FULL);
  assert_true(besom_abilities(f) & BESOM_STORES_EXCEPTIONS);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_learns_what_is_often_asked),
      cmocka_unit_test(it_denies_before_the_second_layer_is_full),
      cmocka_unit_test(what_is_reported_is_denied_soon),
      cmocka_unit_test(a_sample_replaces_the_skew),
      cmocka_unit_test(every_base_learns),
      cmocka_unit_test(it_learns_anew_when_popular_keys_change),
      cmocka_unit_test(the_published_form_plans_anew_when_the_skew_is_wrong),
      cmocka_unit_test(a_wrong_skew_is_no_reason_to_forget),
      cmocka_unit_test(an_adversary_gains_nothing),
      cmocka_unit_test(one_layer_is_not_for_ever),
      cmocka_unit_test(a_rate_that_is_too_low_is_noticed),
      cmocka_unit_test(without_its_members_it_cannot_learn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
