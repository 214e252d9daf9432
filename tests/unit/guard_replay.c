/*
 * Replayed false positives without a writer: they are held in memory, so that they are not
 * repeated, and no key that is put later is denied by them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/keys.h"

enum { KEYS = 20000, REPLAYED = 120 };

typedef struct replay {
  besom_guard *g;
  uint64_t found[REPLAYED]; /* absent keys that were false positives */
  uint64_t next;            /* of the absent keys */
} replay;

/* A store in memory whose gets are counted. */
static uint64_t reads;
static besom_store_ops counted;
static besom_status (*uncounted_get)(besom_store *, besom_place, besom_store_visit, void *);

static besom_status counted_get(besom_store *store, besom_place at, besom_store_visit visit,
                                void *ctx) {
  reads++;
  return uncounted_get(store, at, visit, ctx);
}

static besom_store *counted_store(void) {
  besom_store *store;
  assert_int_equal(besom_store_memory(NULL, &store), BESOM_OK);
  counted = *store->ops;
  uncounted_get = counted.get;
  counted.get = counted_get;
  store->ops = &counted;
  return store;
}

typedef struct shape {
  bool threads;
  double fpr, reserve; /* fpr 0: 1/256 */
  uint64_t capacity, keys, step_items, max_filter_bytes;
  const char *seed;
} shape;

static besom_guard *guard_shaped(const shape *s) {
  besom_config filter = {.kind = "aqf",
                         .capacity = s->capacity,
                         .fpr = s->fpr ? s->fpr : 1.0 / 256,
                         .reserve = s->reserve,
                         .seed = (const uint8_t *)s->seed};
  besom_guard_config config = {.filter = &filter,
                               .threads = s->threads,
                               .step_items = s->step_items,
                               .max_filter_bytes = s->max_filter_bytes};
  besom_guard *g;
  assert_int_equal(besom_guard_open(&config, counted_store(), &g), BESOM_OK);
  for (uint64_t i = 0; i < s->keys; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "v", 1, BESOM_PUT_NEW), BESOM_OK);
  return g;
}

static besom_guard *guard_of(bool threads, double reserve, uint64_t capacity, uint64_t keys,
                             const char *seed) {
  return guard_shaped(&(shape){
      .threads = threads, .reserve = reserve, .capacity = capacity, .keys = keys, .seed = seed});
}

static besom_guard *guard_with(bool threads, double reserve, uint64_t keys, const char *seed) {
  return guard_of(threads, reserve, 2 * keys, keys, seed);
}

static besom_guard_statistics stats_of(const besom_guard *g) {
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(g, &stats), BESOM_OK);
  return stats;
}

/* Reads of the store count, which are cheaper to ask for than the statistics. */
static bool is_false_positive(besom_guard *g, uint64_t key) {
  uint64_t before = reads;
  assert_int_equal(besom_guard_get_u64(g, key, NULL), BESOM_NOT_FOUND);
  return reads > before;
}

/* Returns how many were found. With a front there are few. */
static size_t collect(replay *r, size_t n) {
  enum { MOST_QUERIES = 60000 };
  size_t found = 0;
  for (unsigned i = 0; i < MOST_QUERIES && found < n; i++) {
    r->found[found] = key_u64(NEGATIVES, r->next++);
    found += is_false_positive(r->g, r->found[found]);
  }
  return found;
}

static size_t repeated(const replay *r, size_t n) {
  size_t again = 0;
  for (size_t i = 0; i < n; i++) again += is_false_positive(r->g, r->found[i]);
  return again;
}

/* ------------------------------------------------------------------ protection */

static void a_false_positive_is_not_repeated_without_a_writer(void **state) {
  (void)state;
  static const uint8_t seed[16] = "replayed";
  for (int threads = 0; threads < 2; threads++) {
    replay r = {.g = guard_with(threads, 0.0005, KEYS, (const char *)seed)};
    assert_int_equal(collect(&r, REPLAYED), REPLAYED);
    for (int round = 0; round < 3; round++) assert_int_equal(repeated(&r, REPLAYED), 0);
    besom_guard_statistics stats = stats_of(r.g);
    assert_true(stats.exceptions > 0);
    assert_int_equal(stats.rekeys, 0);
    for (uint64_t i = 0; i < KEYS; i++)
      assert_int_equal(besom_guard_get_u64(r.g, key_u64(MEMBERS, i), NULL), BESOM_OK);
    besom_guard_close(r.g);
  }
}

/* Many keys per call are the same. */
static void get_many_asks_the_table_too(void **state) {
  (void)state;
  static const uint8_t seed[16] = "many";
  replay r = {.g = guard_with(true, 0, KEYS, (const char *)seed)};
  assert_int_equal(collect(&r, 60), 60);
  besom_u64_key bytes[60];
  besom_bytes keys[60];
  for (size_t i = 0; i < 60; i++) {
    bytes[i] = besom_u64(r.found[i]);
    keys[i] = (besom_bytes){bytes[i].bytes, 8};
  }
  uint64_t found[2] = {0}, before = reads;
  assert_int_equal(besom_guard_get_many(r.g, keys, 60, NULL, found), BESOM_OK);
  assert_true(found[0] == 0 && found[1] == 0);
  assert_int_equal(reads, before);
  besom_guard_close(r.g);
}

/* An adversary replays what it has collected with every second query. Nobody writes. From the
   second window on the replayed rate is at most the target. */
typedef struct adversary {
  besom_guard *g;
  double target;
  uint64_t bad[200000], n, next, random;
} adversary;

static void attack_for(adversary *a, unsigned windows) {
  enum { QUERIES = 100000, MOST = sizeof a->bad / sizeof *a->bad };
  for (unsigned w = 0; w < windows; w++) {
    uint64_t replayed = 0, again = 0;
    for (unsigned q = 0; q < QUERIES / 2; q++) {
      uint64_t key = key_u64(NEGATIVES, a->next++);
      if (is_false_positive(a->g, key) && a->n < MOST) a->bad[a->n++] = key;
      if (!a->n) continue;
      a->random = a->random * UINT64_C(6364136223846793005) + 1;
      replayed++;
      again += is_false_positive(a->g, a->bad[(a->random >> 33) % a->n]);
    }
    assert_true(w == 0 || (double)again <= a->target * (double)replayed);
  }
}

static void assert_members(besom_guard *g, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    assert_int_equal(besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL), BESOM_OK);
}

static void the_replayed_rate_stays_below_the_target(void **state) {
  (void)state;
  static const uint8_t seed[16] = "windows";
  for (int threads = 0; threads < 2; threads++) {
    adversary *a = calloc(1, sizeof *a);
    a->g = guard_of(threads, threads ? 0 : 0.001, KEYS, KEYS, (const char *)seed);
    a->target = 1.0 / 256;
    uint64_t first_bytes = stats_of(a->g).filter_bytes;
    attack_for(a, 3);
    besom_guard_statistics stats = stats_of(a->g);
    assert_int_equal(stats.rekeys, 0);
    assert_true(stats.filter_bytes <= 2 * first_bytes + 32768);
    assert_members(a->g, KEYS);
    besom_guard_close(a->g);
    free(a);
  }
}

/* At a rate of 1/16 the adversary soon has more false positives of both filters than the table of
   exceptions has room for: fronts are replaced. If there is memory for one only, it goes first. */
static void a_front_that_is_used_up_is_replaced(void **state) {
  (void)state;
  static const uint8_t seed[16] = "used up";
  for (int limited = 0; limited < 2; limited++) {
    adversary *a = calloc(1, sizeof *a);
    shape s = {.threads = limited,
               .fpr = 1.0 / 16,
               .reserve = 0.001,
               .capacity = KEYS,
               .keys = KEYS,
               .seed = (const char *)seed};
    besom_guard *measured = guard_shaped(&s);
    uint64_t first_bytes = stats_of(measured).filter_bytes;
    besom_guard_close(measured);
    if (limited) s.max_filter_bytes = 2 * first_bytes + 20000;
    a->g = guard_shaped(&s);
    a->target = 1.0 / 16;
    attack_for(a, 12);
    assert_int_equal(stats_of(a->g).rekeys, 0);
    assert_true(stats_of(a->g).filter_bytes <= (limited ? 2 : 3) * first_bytes + 20000);
    assert_members(a->g, KEYS);
    besom_guard_close(a->g);
    free(a);
  }
}

/* Without memory for a front, health says what is missing. */
static void without_memory_health_says_so(void **state) {
  (void)state;
  static const uint8_t seed[16] = "memory";
  for (int limited = 0; limited < 2; limited++) {
    shape s = {.threads = true, .capacity = KEYS, .keys = KEYS, .seed = (const char *)seed};
    if (limited) s.max_filter_bytes = 60000;
    replay r = {.g = guard_shaped(&s)};
    for (unsigned i = 0; i < 400000; i++) is_false_positive(r.g, key_u64(NEGATIVES, r.next++));
    besom_health health;
    const char *sentence;
    assert_int_equal(besom_guard_health(r.g, &health, &sentence), BESOM_OK);
    assert_int_equal(health, limited ? BESOM_HEALTH_WARNING : BESOM_HEALTH_OK);
    assert_int_equal(!limited, !strstr(sentence, "needs a writer, background or memory"));
    besom_guard_close(r.g);
  }
}

/* The writer has begun a rekey, moved some records, and writes no more. */
static void a_migration_that_waits_leaves_the_protection(void **state) {
  (void)state;
  static const uint8_t seed[16] = "waits";
  for (int threads = 0; threads < 2; threads++) {
    adversary *a = calloc(1, sizeof *a);
    bool finished;
    a->g = guard_of(threads, 0.001, KEYS, KEYS, (const char *)seed);
    a->target = 1.0 / 256;
    assert_int_equal(besom_guard_rekey(a->g), BESOM_OK);
    assert_int_equal(besom_guard_step(a->g, KEYS / 3, &finished), BESOM_OK);
    assert_false(finished);
    attack_for(a, 3);
    assert_true(stats_of(a->g).migrating);
    assert_members(a->g, KEYS);
    assert_int_equal(besom_guard_step(a->g, UINT64_MAX, &finished), BESOM_OK);
    assert_true(finished);
    assert_members(a->g, KEYS);
    besom_guard_close(a->g);
    free(a);
  }
}

/* During a rekey the reserve of the old filter is used up again. That says nothing about the new
   filter. */
static void a_rekeyed_filter_is_not_rekeyed_at_once(void **state) {
  (void)state;
  static const uint8_t seed[16] = "at once";
  replay r = {.g = guard_of(false, 0.001, KEYS, KEYS, (const char *)seed)};
  bool finished;
  assert_int_equal(besom_guard_rekey(r.g), BESOM_OK);
  assert_int_equal(besom_guard_step(r.g, 100, &finished), BESOM_OK);
  assert_int_equal(collect(&r, 100), 100);
  assert_true(stats_of(r.g).adapt_full > 0);
  assert_int_equal(besom_guard_step(r.g, UINT64_MAX, &finished), BESOM_OK);
  assert_true(finished);
  assert_false(stats_of(r.g).migration_pending);
  assert_int_equal(besom_guard_step(r.g, 100, &finished), BESOM_OK);
  assert_int_equal(stats_of(r.g).rekeys, 1);
  besom_guard_close(r.g);
}

/* ------------------------------------------------------------------ no false negative */

static void a_key_that_is_put_is_found(void **state) {
  (void)state;
  static const uint8_t seed[16] = "put";
  replay r = {.g = guard_with(true, 0, KEYS, (const char *)seed)};
  assert_int_equal(collect(&r, 100), 100);
  for (size_t i = 0; i < 100; i++) {
    uint64_t key = r.found[i];
    if (i % 2) assert_int_equal(besom_guard_begin(r.g), BESOM_OK);
    assert_int_equal(besom_guard_put_u64(r.g, key, "v", 1, 0), BESOM_OK);
    assert_int_equal(besom_guard_get_u64(r.g, key, NULL), BESOM_OK);
    if (i % 2) assert_int_equal(besom_guard_commit(r.g), BESOM_OK);
    assert_int_equal(besom_guard_get_u64(r.g, key, NULL), BESOM_OK);
  }
  besom_guard_close(r.g);
}

/* A batch deletes a member, its thread sees a false positive of it, and the batch is aborted. */
static void a_key_that_an_abort_brings_back_is_found(void **state) {
  (void)state;
  static const uint8_t seed[16] = "abort";
  unsigned seen = 0;
  besom_guard *g = guard_with(true, 0, KEYS, (const char *)seed);
  for (uint64_t i = 0; i < KEYS && seen < 10; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    assert_int_equal(besom_guard_begin(g), BESOM_OK);
    assert_int_equal(besom_guard_delete_u64(g, key), BESOM_OK);
    seen += is_false_positive(g, key); /* another member's fingerprint matches it */
    assert_int_equal(besom_guard_abort(g), BESOM_OK);
    assert_int_equal(besom_guard_get_u64(g, key, NULL), BESOM_OK);
  }
  assert_true(seen > 0);
  besom_guard_close(g);
}

static void a_key_that_a_merge_brings_is_found(void **state) {
  (void)state;
  static const uint8_t seed[16] = "merge";
  replay r = {.g = guard_with(true, 0, 2000, (const char *)seed)};
  assert_int_equal(collect(&r, 20), 20);
  besom_guard *from = guard_of(true, 0, 4000, 0, (const char *)seed);
  for (size_t i = 0; i < 20; i++)
    assert_int_equal(besom_guard_put_u64(from, r.found[i], "v", 1, 0), BESOM_OK);
  assert_int_equal(besom_guard_merge(r.g, from), BESOM_OK);
  for (size_t i = 0; i < 20; i++)
    assert_int_equal(besom_guard_get_u64(r.g, r.found[i], NULL), BESOM_OK);
  besom_guard_close(from);
  besom_guard_close(r.g);
}

/* Through a growth and a rekey, with puts of keys that were false positives before. */
static void migrations_deny_nothing(void **state) {
  (void)state;
  static const uint8_t seed[16] = "migrations";
  replay r = {.g = guard_with(true, 0.001, 1000, (const char *)seed)};
  for (unsigned round = 0; round < 6; round++) {
    size_t n = collect(&r, 60);
    if (round % 2) besom_guard_rekey(r.g);
    for (size_t i = 0; i < n; i++) {
      assert_int_equal(besom_guard_put_u64(r.g, r.found[i], "v", 1, 0), BESOM_OK);
      is_false_positive(r.g, key_u64(NEGATIVES, r.next++));
    }
    for (size_t i = 0; i < n; i++)
      assert_int_equal(besom_guard_get_u64(r.g, r.found[i], NULL), BESOM_OK);
    for (uint64_t i = 0; i < 1000; i++)
      assert_int_equal(besom_guard_get_u64(r.g, key_u64(MEMBERS, i), NULL), BESOM_OK);
  }
  besom_guard_close(r.g);
}

/* False positives until the scan for a front has begun. */
static void begin_front(replay *r) {
  uint64_t bytes = stats_of(r->g).filter_bytes;
  while (stats_of(r->g).filter_bytes < bytes + 20000) /* more than the exceptions take */
    is_false_positive(r->g, key_u64(NEGATIVES, r->next++));
}

static void find_false_positives(replay *r, unsigned n) {
  while (n) n -= is_false_positive(r->g, key_u64(NEGATIVES, r->next++));
}

/* A batch deletes keys while the scan for a front passes them, some or all, and is aborted. */
static void a_front_made_in_a_batch_denies_nothing_after_an_abort(void **state) {
  (void)state;
  static const uint8_t seed[16] = "scan";
  for (int half = 0; half < 2; half++) {
    replay r = {.g = guard_with(true, 0, KEYS, (const char *)seed)};
    begin_front(&r);
    assert_int_equal(besom_guard_begin(r.g), BESOM_OK);
    for (uint64_t i = 0; i < 2000; i++)
      assert_int_equal(besom_guard_delete_u64(r.g, key_u64(MEMBERS, i)), BESOM_OK);
    find_false_positives(&r, half ? 20 : 60);
    assert_int_equal(besom_guard_abort(r.g), BESOM_OK);
    find_false_positives(&r, 60);
    assert_members(r.g, KEYS);
    besom_guard_close(r.g);
  }
}

/* Keys are put behind the scan, and a migration moves records while it runs. */
static void a_front_has_what_is_put_during_its_scan(void **state) {
  (void)state;
  static const uint8_t seed[16] = "puts";
  for (int migrates = 0; migrates < 2; migrates++) {
    replay r = {.g = guard_with(true, 0, KEYS, (const char *)seed)};
    uint64_t keys = KEYS;
    bool finished;
    if (migrates) assert_int_equal(besom_guard_rekey(r.g), BESOM_OK);
    begin_front(&r);
    for (unsigned i = 0; i < 60; i++) {
      find_false_positives(&r, 1);
      for (unsigned k = 0; k < 20 && !migrates; k++)
        assert_int_equal(besom_guard_put_u64(r.g, key_u64(MEMBERS, keys++), "v", 1, 0), BESOM_OK);
      if (migrates) assert_int_equal(besom_guard_step(r.g, 200, &finished), BESOM_OK);
    }
    assert_true(stats_of(r.g).migrating == (bool)migrates);
    assert_members(r.g, keys);
    besom_guard_close(r.g);
  }
}

/* Random changes, batches and aborts beside a front that is made, asked and dropped: all members
   are found at any time. */
static void a_front_denies_no_member(void **state) {
  (void)state;
  enum { UNIVERSE = 3000, STEPS = 60000 };
  static const uint8_t seed[16] = "front";
  for (int round = 0; round < 4; round++) {
    bool threads = round / 2;
    /* A high rate and slow migrations, so that fronts are made while records move. */
    besom_guard *g = guard_shaped(&(shape){.threads = threads,
                                           .fpr = round % 2 ? 1.0 / 16 : 0,
                                           .reserve = 0.001,
                                           .capacity = 2 * UNIVERSE,
                                           .step_items = round % 2 ? 2 : 0,
                                           .seed = (const char *)seed});
    bool *has = calloc(UNIVERSE, 1), *before = calloc(UNIVERSE, 1), batch = false;
    uint64_t random = 7, next = 0;
    for (unsigned step = 0; step < STEPS; step++) {
      random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
      uint64_t what = (random >> 40) % 100, i = (random >> 20) % UNIVERSE;
      uint64_t key = key_u64(MEMBERS, i);
      if (what < 4) {
        besom_status status =
            has[i] ? besom_guard_delete_u64(g, key) : besom_guard_put_u64(g, key, "v", 1, 0);
        assert_int_equal(status, BESOM_OK);
        has[i] = !has[i];
      } else if (what == 4 && !batch && (random >> 50) % 8 == 0) {
        assert_int_equal(besom_guard_begin(g), BESOM_OK);
        memcpy(before, has, UNIVERSE);
        batch = true;
      } else if (what == 5 && batch) {
        bool abort = (random >> 50) % 4 == 0;
        assert_int_equal(abort ? besom_guard_abort(g) : besom_guard_commit(g), BESOM_OK);
        if (abort) memcpy(has, before, UNIVERSE);
        batch = false;
      } else if (what < 70) {
        assert_int_equal(besom_guard_get_u64(g, key_u64(NEGATIVES, next++), NULL), BESOM_NOT_FOUND);
      } else {
        assert_int_equal(besom_guard_get_u64(g, key, NULL), has[i] ? BESOM_OK : BESOM_NOT_FOUND);
      }
    }
    free(has);
    free(before);
    besom_guard_close(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_false_positive_is_not_repeated_without_a_writer),
      cmocka_unit_test(the_replayed_rate_stays_below_the_target),
      cmocka_unit_test(a_front_that_is_used_up_is_replaced),
      cmocka_unit_test(without_memory_health_says_so),
      cmocka_unit_test(a_migration_that_waits_leaves_the_protection),
      cmocka_unit_test(a_rekeyed_filter_is_not_rekeyed_at_once),
      cmocka_unit_test(get_many_asks_the_table_too),
      cmocka_unit_test(a_key_that_is_put_is_found),
      cmocka_unit_test(a_key_that_an_abort_brings_back_is_found),
      cmocka_unit_test(a_key_that_a_merge_brings_is_found),
      cmocka_unit_test(migrations_deny_nothing),
      cmocka_unit_test(a_front_made_in_a_batch_denies_nothing_after_an_abort),
      cmocka_unit_test(a_front_has_what_is_put_during_its_scan),
      cmocka_unit_test(a_front_denies_no_member),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
