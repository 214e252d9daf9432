/*
 * Chains of maplets against a model: whatever layer a pair is in, and whatever happens to the
 * chain, the key's values are among its candidates; and a candidate that was reported is not.
 */
#include "besom_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/keys.h"
#include "support/memory_sink.h"

enum { KEYS = 300, VALUES = 8 };

struct chain {
  besom_filter *f;
  random_stream random;
  uint8_t count[KEYS][VALUES];
  bool reported[KEYS][VALUES]; /* and not inserted since */
  uint64_t members;
};

static void assert_status(besom_status expected, besom_status actual) {
  if (expected != actual)
    fail_msg("%s instead of %s", besom_strerror(actual), besom_strerror(expected));
}

static unsigned candidates_of_key(const struct chain *c, size_t i) {
  uint64_t out[VALUES];
  size_t n;
  unsigned found = 0;
  besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
  assert_status(BESOM_OK, besom_get_values(c->f, key.bytes, 8, out, VALUES, &n));
  for (size_t k = 0; k < n; k++) {
    assert_true(!k || out[k - 1] < out[k]);
    found |= 1u << out[k];
  }
  return found;
}

static void check_chain(const struct chain *c) {
  const char *reason = NULL;
  besom_statistics stats;
  for (size_t i = 0; i < KEYS; i++) {
    unsigned found = candidates_of_key(c, i);
    uint64_t copies = 0, counted = 0;
    for (unsigned v = 0; v < VALUES; v++) {
      if (c->count[i][v]) assert_true(found >> v & 1);
      if (c->reported[i][v]) assert_false(found >> v & 1);
      copies += c->count[i][v];
    }
    assert_int_equal(besom_contains_u64(c->f, key_u64(MEMBERS, i)), found != 0);
    if (besom_count_u64(c->f, key_u64(MEMBERS, i), &counted) == BESOM_OK)
      assert_true(counted >= copies);
  }
  if (besom_validate(c->f, &reason) != BESOM_OK) fail_msg("%s", reason);
  besom_stats(c->f, &stats);
  if (!(besom_abilities(c->f) & BESOM_IS_SET)) assert_int_equal(stats.keys, c->members);
}

static void put(struct chain *c, size_t i, unsigned v) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
  if (c->count[i][v] == 200) return;
  assert_status(BESOM_OK, besom_insert_value(c->f, key.bytes, 8, v));
  c->count[i][v]++;
  c->members++;
  c->reported[i][v] = false;
}

static void change_pair(struct chain *c, size_t i, unsigned v, bool set) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
  unsigned by = (unsigned)random_below(&c->random, VALUES);
  if (c->count[i][v] && !set && by % 2) {
    assert_status(BESOM_OK, besom_remove_value(c->f, key.bytes, 8, v));
    c->count[i][v]--;
    c->members--;
  } else if (c->count[i][v] && !set) {
    assert_status(BESOM_OK, besom_replace_value(c->f, key.bytes, 8, v, by));
    c->count[i][v]--;
    c->count[i][by]++;
    c->reported[i][by] = false;
  } else if (!c->count[i][v]) {
    bool was = candidates_of_key(c, i) >> v & 1;
    assert_status(BESOM_OK, besom_adapt_value(c->f, key.bytes, 8, v));
    c->reported[i][v] |= was;
  }
}

/* ------------------------------------------------------------------ whole chains */

static void take_chain(struct chain *c, besom_filter *f) {
  besom_free(c->f);
  c->f = f;
}

static void reload_chain(struct chain *c) {
  memory_sink sink;
  besom_filter *loaded = NULL;
  memory_sink_init(&sink);
  assert_status(BESOM_OK, besom_save(c->f, &sink.api));
  assert_int_equal(sink.data[8], 2);
  assert_status(BESOM_OK, besom_load(sink.data, sink.len, NULL, &loaded));
  memory_sink_close(&sink);
  take_chain(c, loaded);
}

static void merge_chain(struct chain *c) {
  struct chain other = {.random = c->random};
  besom_filter *both = NULL;
  assert_status(BESOM_OK, besom_create_like(c->f, &other.f));
  for (size_t n = 0; n < 60; n++)
    put(&other, random_below(&c->random, KEYS), (unsigned)random_below(&c->random, VALUES));
  assert_status(BESOM_OK, besom_merge(c->f, other.f, &both));
  for (size_t i = 0; i < KEYS; i++)
    for (unsigned v = 0; v < VALUES; v++) {
      c->count[i][v] = (uint8_t)(c->count[i][v] + other.count[i][v]);
      c->reported[i][v] &= !(candidates_of_key(&other, i) >> v & 1); /* it may have the pair */
    }
  c->members += other.members;
  besom_free(other.f);
  take_chain(c, both);
}

struct chain_pairs {
  const struct chain *c;
  size_t at;
  unsigned given;
  uint64_t key;
};

static besom_status next_chain_pair(void *ctx, besom_bytes *key, uint64_t *value) {
  struct chain_pairs *p = ctx;
  for (; p->at < KEYS * VALUES; p->at++, p->given = 0) {
    *value = p->at % VALUES;
    if (p->given >= p->c->count[p->at / VALUES][*value]) continue;
    p->given++;
    p->key = little_endian(key_u64(MEMBERS, p->at / VALUES));
    *key = (besom_bytes){&p->key, 8};
    return BESOM_OK;
  }
  return BESOM_END;
}

static void rekey_chain(struct chain *c) {
  struct chain_pairs pairs = {.c = c};
  besom_pair_source source = {.next = next_chain_pair, .ctx = &pairs};
  assert_status(BESOM_OK, besom_rekey_pairs(c->f, &source, NULL, NULL));
  memset(c->reported, 0, sizeof c->reported);
}

static void run_chain(const char *options, uint64_t seed, double fpr) {
  uint8_t bytes[16] = {(uint8_t)seed};
  besom_config config = {.kind = "scaling",
                         .options = options,
                         .capacity = 20,
                         .fpr = fpr,
                         .value_bits = 3,
                         .seed = bytes};
  struct chain c = {.random = {seed}};
  assert_status(BESOM_OK, besom_create(&config, &c.f));
  bool set = besom_abilities(c.f) & BESOM_IS_SET;
  assert_true(besom_abilities(c.f) & BESOM_IS_MAPLET);
  for (size_t n = 0; n < 1500; n++) {
    size_t i = random_below(&c.random, KEYS);
    unsigned v = (unsigned)random_below(&c.random, VALUES);
    if (random_below(&c.random, 5) < 2)
      put(&c, i, v);
    else
      change_pair(&c, i, v, set);
    if (n % 300 == 299) reload_chain(&c);
    if (n % 500 == 250 && !set) merge_chain(&c);
    if (n % 500 == 400 && !set) rekey_chain(&c);
    if (n % 25 == 24) check_chain(&c);
  }
  assert_non_null(besom_layer(c.f, 1)); /* it has grown */
  check_chain(&c);
  besom_free(c.f);
}

static void a_chain_holds_the_values_of_its_keys(void **state) {
  (void)state;
  const char *plain = "base=aqf,maplet=yes,max_exceptions=5000";
  for (uint64_t seed = 1; seed <= 3; seed++) {
    run_chain(plain, seed, 0.3);
    run_chain(plain, seed, 1.0 / 64);
    run_chain("base=aqf,maplet=yes,max_exceptions=5000,repeats=ignore", seed, 0.3);
  }
}

static void a_chain_is_saved_with_its_reports(void **state) {
  (void)state;
  besom_config config = {.kind = "scaling",
                         .options = "base=aqf,maplet=yes,forget=yes,max_exceptions=7",
                         .capacity = 20,
                         .fpr = 0.5,
                         .value_bits = 3};
  struct chain c = {.random = {1}};
  assert_status(BESOM_OK, besom_create(&config, &c.f));
  for (size_t i = 0; i < 50; i++) put(&c, i, (unsigned)(i % VALUES));
  size_t reported = 0;
  for (size_t i = 50; i < KEYS && reported < 7; i++) {
    bool was = candidates_of_key(&c, i);
    assert_status(BESOM_OK, besom_adapt_u64(c.f, key_u64(MEMBERS, i)));
    if (!was) continue;
    reported++;
    for (unsigned v = 0; v < VALUES; v++) c.reported[i][v] = reported == 7;
  }
  reload_chain(&c);
  check_chain(&c);
  besom_free(c.f);
}

static void other_chains_have_no_maplets(void **state) {
  (void)state;
  static const struct {
    const char *kind, *options;
    uint32_t value_bits;
  } configs[] = {{"scaling", "base=qf,maplet=yes", 3},
                 {"scaling", "base=aqf,maplet=yes", 0},
                 {"cached", "base=aqf,maplet=yes", 3},
                 {"stacked", "base=aqf,maplet=yes", 3},
                 {"qf", "maplet=yes", 3}};
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    besom_config config = {.kind = configs[i].kind,
                           .options = configs[i].options,
                           .capacity = 100,
                           .value_bits = configs[i].value_bits};
    besom_filter *f = NULL;
    assert_int_not_equal(besom_create(&config, &f), BESOM_OK);
    assert_null(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_holds_the_values_of_its_keys),
      cmocka_unit_test(a_chain_is_saved_with_its_reports),
      cmocka_unit_test(other_chains_have_no_maplets),
  };
  return cmocka_run_group_tests_name("scaling_maplet", tests, NULL, NULL);
}
