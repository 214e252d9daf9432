/*
 * What broom has in addition to exaf: a budget, fingerprints that are separated at insert, and
 * rounds that redraw a few runs at a time. slot_meta.c tests it with operations in random order.
 */
#include <stdio.h>

#include "papers/telescoping/slot_meta.h"
#include "quotient/table/walk.h"
#include "slot_meta_subject.h"

static const struct meta_filter *inside(const subject *s) {
  return const_meta_filter(s->f);
}

static bool between_rounds(const subject *s) {
  return inside(s)->rounds.frontier == s->slots;
}

static uint64_t longest_run(const subject *s) {
  uint64_t longest = 0;
  for (size_t q = 0; q < s->slots; q++)
    if (s->store[q].n > longest) longest = s->store[q].n;
  return longest;
}

static void fill(subject *s, double load) {
  for (size_t i = 0; s->n < (size_t)((double)s->slots * load); i++) put(s, key_u64(MEMBERS, i));
}

static size_t matches_of(const subject *s, uint64_t key) {
  size_t total = 0;
  assert_int_equal(besom_matches(s->f, besom_hash_u64(s->f, key), NULL, 0, &total), BESOM_OK);
  return total;
}

/* Queries until the given number of rounds has begun. Returns the number of the next key. */
static uint64_t query_until_round(subject *s, uint64_t rounds, uint64_t next) {
  while (counter_of(s->f, "rounds") < rounds) query_and_adapt(s, key_u64(NEGATIVES, next++));
  return next;
}

static void no_key_is_lost_at_any_budget(void **state) {
  (void)state;
  uint64_t sizes[] = {1, 7, 64, 200, 1100};
  for (uint64_t budget = MIN_BUDGET; budget <= MAX_BUDGET; budget += budget < 4 ? 1 : 5)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (uint32_t width = 4; width <= 16; width += 4) {
        char options[64];
        snprintf(options, sizeof options, "budget=%u%s", (unsigned)budget,
                 i % 2 ? ",rounds=amortized" : "");
        interleave("broom", sizes[i], width, options);
      }
  interleave("broom", 1 << 16, 6, NULL);
}

/*
 * An operation redraws a few runs, up to the one with the eighth entry, and each key is read once
 * per round. Queries read nothing. Inserts and removals of keys that match nothing read nothing,
 * either, while there is no round.
 */
static void steps_are_bounded(void **state) {
  (void)state;
  for (uint32_t width = 4; width <= 10; width += 3) {
    subject s;
    subject_open(&s, "broom", 1200, width, NULL);
    fill(&s, 0.9);
    uint64_t longest = longest_run(&s), moved = 0, rounds = 0, begun_with = 0;
    for (uint64_t i = 0; rounds < 4; i++) {
      uint64_t key = key_u64(NEGATIVES, i), frontier = inside(&s)->rounds.frontier;
      s.reads = 0;
      size_t matches = matches_of(&s, key);
      besom_contains_u64(s.f, key);
      assert_int_equal(s.reads, 0);
      query_and_adapt(&s, key);
      assert_true(s.reads <= matches + (STEP_ENTRIES - 1) + longest);
      if (!matches) assert_int_equal(s.reads, 0);
      if (!matches) assert_int_equal(inside(&s)->rounds.frontier, frontier);
      if (counter_of(s.f, "rounds") != rounds) {
        if (rounds) assert_int_equal(moved, begun_with);
        rounds = counter_of(s.f, "rounds");
        begun_with = s.n;
        moved = 0;
        frontier = 0;
      }
      if (matches && rounds) moved += s.reads - matches;
      if (matches && !between_rounds(&s)) assert_true(inside(&s)->rounds.frontier > frontier);
    }
    assert_none_lost(&s);
    subject_close(&s);
  }
}

static void other_operations_take_steps_too(void **state) {
  (void)state;
  subject s;
  subject_open(&s, "broom", 2000, 6, NULL);
  fill(&s, 0.7);
  query_until_round(&s, 1, 0);
  uint64_t frontier = inside(&s)->rounds.frontier, longest = longest_run(&s) + 1;
  for (size_t i = 0; i < 20; i++) {
    s.reads = 0;
    put(&s, key_u64(MORE_MEMBERS, i));
    assert_true(s.reads <= 8 + STEP_ENTRIES - 1 + longest);
    assert_none_lost(&s);
  }
  assert_true(inside(&s)->rounds.frontier > frontier + 100);
  frontier = inside(&s)->rounds.frontier;
  for (size_t i = 0; i < 20; i++) { /* by key; the store is updated afterwards */
    besom_match match = own_match(&s, s.members[0]);
    assert_int_equal(besom_remove_u64(s.f, s.members[0]), BESOM_OK);
    list *l = &s.store[match.bucket];
    memmove(l->keys + match.rank, l->keys + match.rank + 1,
            (--l->n - match.rank) * sizeof *l->keys);
    s.members[0] = s.members[--s.n];
    assert_none_lost(&s);
  }
  assert_true(inside(&s)->rounds.frontier > frontier + 100);
  subject_close(&s);
}

/* The new round begins before the budget is spent: only runs that are redrawn lose their fixes. */
static void a_fix_lasts_until_its_run_is_redrawn(void **state) {
  (void)state;
  enum { SLOTS = 1 << 12, MOST = 1 << 16 };
  subject s;
  uint64_t *fixed = heap_array(MOST, sizeof *fixed);
  uint64_t *fixed_in = heap_array(MOST, sizeof *fixed_in); /* by round */
  size_t n = 0, checked = 0;
  subject_open(&s, "broom", SLOTS, 8, NULL);
  fill(&s, 0.9);
  for (uint64_t i = 0; counter_of(s.f, "rounds") < 3; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(s.f, key)) continue;
    query_and_adapt(&s, key);
    uint64_t q = address_of(besom_hash_u64(s.f, key), SLOTS).quotient;
    const struct rounds *r = &inside(&s)->rounds;
    fixed[n] = key;
    fixed_in[n++] = r->number - (q >= r->frontier);
    assert_true(n < MOST && stats_of(s.f).reserve_used < 1);
    for (size_t j = n % 64; j < n; j += 64) {
      q = address_of(besom_hash_u64(s.f, fixed[j]), SLOTS).quotient;
      if (fixed_in[j] != r->number - (q >= r->frontier)) continue;
      assert_false(besom_contains_u64(s.f, fixed[j]));
      checked++;
    }
  }
  assert_true(n > SLOTS / 2 && checked > 10 * n);
  assert_int_equal(counter_of(s.f, "direct_corrections"), n);
  free(fixed);
  free(fixed_in);
  subject_close(&s);
}

/* No fingerprint of a run is a prefix of another one: no member is a false positive of another. */
static void assert_unique(const subject *s) {
  for (size_t i = 0; i < s->n; i++) assert_int_equal(matches_of(s, s->members[i]), 1);
}

static void fingerprints_of_members_are_unique(void **state) {
  (void)state;
  for (uint32_t width = 5; width <= 8; width++) {
    subject s;
    subject_open(&s, "broom", 2000, width, width % 2 ? NULL : "rounds=amortized");
    fill(&s, 0.9);
    /* only equal fingerprints cause reads */
    assert_true((s.reads > 0 || width > 6) && s.reads < s.n / 10);
    assert_unique(&s);
    for (size_t i = 0; i < 300; i++) take_out(&s, i);
    for (size_t i = 0; i < 300; i++) put(&s, key_u64(MORE_MEMBERS, i));
    assert_unique(&s);
    uint64_t next = query_until_round(&s, 2, 0);
    while (!between_rounds(&s)) query_and_adapt(&s, key_u64(NEGATIVES, next++));
    assert_unique(&s);
    subject_close(&s);
  }
}

/* Short remainders, a small budget: separating members would take most of it. They stay as they
   are, and inserts read nothing. */
static void members_do_not_spend_a_small_budget(void **state) {
  (void)state;
  for (uint32_t width = 1; width <= 2; width++) {
    subject s;
    subject_open(&s, "broom", 2000, width, "budget=2");
    fill(&s, 0.9);
    assert_int_equal(s.reads, 0);
    assert_int_equal(counter_of(s.f, "rounds"), 0);
    subject_close(&s);
  }
}

/* In a round, many keys per call are queried by other code than before the first one. */
static void queries_of_many_keys_agree_in_a_round(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 63, 64, 65, 128, 200};
  subject s;
  subject_open(&s, "broom", 500, 4, NULL);
  fill(&s, 0.8);
  query_until_round(&s, 2, 0);
  uint64_t keys[201], bitmap[5];
  for (uint64_t i = 0; i < 201; i++) keys[i] = key_u64(i % 2 ? MEMBERS : NEGATIVES, i);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    size_t n = sizes[k], words = (n + 63) / 64;
    memset(bitmap, 0xff, sizeof bitmap);
    assert_int_equal(besom_contains_many_u64(s.f, keys, n, bitmap), BESOM_OK);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, besom_contains_u64(s.f, keys[i]));
    if (n % 64) assert_int_equal(bitmap[n / 64] >> (n % 64), 0);
    assert_true(bitmap[words] == UINT64_MAX);
  }
  subject_close(&s);
}

static void inserting_a_key_that_matches_nothing_reads_nothing(void **state) {
  (void)state;
  subject s;
  subject_open(&s, "broom", 1000, 5, NULL);
  while (s.n < 900) {
    uint64_t key = key_u64(MEMBERS, s.n);
    size_t matches = matches_of(&s, key);
    s.reads = 0;
    put(&s, key);
    assert_int_equal(s.reads, matches);
  }
  subject_close(&s);
}

static void saved(const subject *s, memory_sink *sink) {
  memory_sink_init(sink);
  assert_int_equal(besom_save(s->f, &sink->api), BESOM_OK);
}

/*
 * All runs at once, when the budget is spent: every key is read. If one cannot be read, nothing has
 * changed.
 */
/* The store is changed after the call, so each key has a run of its own. */
static void a_bound_filter_takes_many_keys_per_call(void **state) {
  (void)state;
  enum { MANY = 50, SLOTS = 4000 };
  subject s;
  besom_digest digests[MANY];
  uint64_t keys[MANY];
  subject_open(&s, "broom", SLOTS, 7, NULL);
  for (uint64_t i = 0, n = 0; n < MANY; i++) {
    keys[n] = key_u64(MEMBERS, i);
    digests[n] = besom_hash_u64(s.f, keys[n]);
    list *l = &s.store[address_of(digests[n], SLOTS).quotient];
    if (l->n) continue;
    l->keys = heap_array(1, sizeof *l->keys);
    l->keys[l->n++] = keys[n++];
  }
  size_t done = 0;
  assert_int_equal(besom_insert_many_digest(s.f, digests, MANY, &done), BESOM_OK);
  assert_int_equal(done, MANY);
  for (s.n = 0; s.n < MANY; s.n++) s.members[s.n] = keys[s.n];
  assert_none_lost(&s);
  for (uint64_t i = 0; i < 20000; i++) query_and_adapt(&s, key_u64(NEGATIVES, i));
  assert_none_lost(&s);
  /* The call stops at the first key that it cannot insert. */
  s.reads = 0;
  s.fail_at = 1;
  besom_digest twice[] = {besom_hash_u64(s.f, key_u64(MORE_MEMBERS, 1)), digests[0], digests[1]};
  if (besom_contains_digest(s.f, twice[0])) fail_msg("this key needs the store, too");
  assert_int_equal(besom_insert_many_digest(s.f, twice, 3, &done), BESOM_IO);
  assert_int_equal(done, 1);
  subject_close(&s);
}

static void an_amortized_round_runs_at_once(void **state) {
  (void)state;
  subject s;
  size_t failed = 0;
  subject_open(&s, "broom", 500, 6, "rounds=amortized");
  fill(&s, 0.9);
  for (uint64_t i = 0; counter_of(s.f, "rounds") < 3; i++) {
    uint64_t key = key_u64(NEGATIVES, i), rounds = counter_of(s.f, "rounds");
    size_t matches = matches_of(&s, key);
    if (!matches) continue;
    for (size_t at = 1; at < s.n; at += 97) {
      memory_sink before, after;
      saved(&s, &before);
      s.reads = 0;
      s.fail_at = at;
      besom_status status = besom_adapt_u64(s.f, key);
      s.fail_at = 0;
      saved(&s, &after);
      assert_true(status == BESOM_OK || status == BESOM_IO);
      if (status == BESOM_IO) assert_true(memory_sinks_equal(&before, &after));
      failed += status == BESOM_IO;
      memory_sink_close(&before);
      memory_sink_close(&after);
      if (status == BESOM_OK) break;
    }
    if (counter_of(s.f, "rounds") == rounds) {
      query_and_adapt(&s, key);
      if (counter_of(s.f, "rounds") == rounds) continue;
      assert_int_equal(s.reads % s.n, s.reads - s.n);
    }
    assert_true(between_rounds(&s));
    assert_false(besom_contains_u64(s.f, key));
    assert_none_lost(&s);
  }
  assert_true(failed > 10);
  subject_close(&s);
}

/* A copy of the filter behaves as the filter does, also from the middle of a round. */
static void a_file_keeps_the_round(void **state) {
  (void)state;
  subject s;
  memory_sink before, after;
  subject_open(&s, "broom", 2000, 7, NULL);
  fill(&s, 0.9);
  uint64_t next = query_until_round(&s, 2, 0);
  assert_false(between_rounds(&s));
  assert_true(inside(&s)->rounds.frontier > 0);
  saved(&s, &before);
  save_and_load(&s);
  saved(&s, &after);
  assert_true(memory_sinks_equal(&before, &after));
  assert_int_equal(counter_of(s.f, "rounds"), 2);
  assert_false(between_rounds(&s));
  assert_none_lost(&s);
  for (size_t i = 0; i < 5000; i++) query_and_adapt(&s, key_u64(NEGATIVES, next + i));
  memory_sink went_on, resumed;
  saved(&s, &went_on);
  besom_free(s.f);
  assert_int_equal(besom_load(before.data, before.len, NULL, &s.f), BESOM_OK);
  bind_filter(&s);
  for (size_t i = 0; i < 5000; i++) query_and_adapt(&s, key_u64(NEGATIVES, next + i));
  saved(&s, &resumed);
  assert_true(memory_sinks_equal(&went_on, &resumed));
  memory_sink_close(&before);
  memory_sink_close(&after);
  memory_sink_close(&went_on);
  memory_sink_close(&resumed);
  subject_close(&s);
}

/*
 * Filters in the same round merge without their keys. Else the keys of the second filter are
 * needed.
 */
static void filters_of_different_rounds_merge_with_their_keys(void **state) {
  (void)state;
  subject a, b;
  besom_filter *both, *like;
  subject_open(&a, "broom", 2000, 7, NULL);
  subject_open(&b, "broom", 2000, 7, NULL);
  for (size_t i = 0; i < 900; i++) put(&a, key_u64(MEMBERS, i));
  for (size_t i = 0; i < 900; i++) put(&b, key_u64(MORE_MEMBERS, i));
  query_until_round(&a, 1, 0);
  assert_int_equal(besom_create_like(a.f, &like), BESOM_OK);
  assert_int_equal(besom_merge(a.f, like, &both), BESOM_OK);
  assert_int_equal(counter_of(both, "rounds"), 1);
  besom_free(both);
  besom_free(like);
  for (size_t i = 0; i < 2; i++) {
    subject *first = i ? &a : &b, *second = i ? &b : &a;
    assert_int_equal(besom_bind(second->f, NULL), BESOM_OK);
    assert_int_equal(besom_merge(first->f, second->f, &both), BESOM_NEEDS_STORE);
    bind_filter(second);
    second->fail_at = 400;
    second->reads = 0;
    assert_int_equal(besom_merge(first->f, second->f, &both), BESOM_IO);
    second->fail_at = 0;
    assert_int_equal(besom_merge(first->f, second->f, &both), BESOM_OK);
    assert_int_equal(besom_validate(both, NULL), BESOM_OK);
    assert_int_equal(counter_of(both, "rounds"), counter_of(first->f, "rounds"));
    for (size_t j = 0; j < 900; j++) assert_true(besom_contains_u64(both, key_u64(MEMBERS, j)));
    for (size_t j = 0; j < 900; j++)
      assert_true(besom_contains_u64(both, key_u64(MORE_MEMBERS, j)));
    besom_free(both);
  }
  besom_config other = {
      .kind = "broom", .slots = 2000, .width = 7, .seed = seed, .options = "budget=4"};
  assert_int_equal(besom_create(&other, &like), BESOM_OK);
  assert_int_equal(besom_merge(a.f, like, &both), BESOM_INCOMPATIBLE);
  besom_free(like);
  subject_close(&a);
  subject_close(&b);
}

/*
 * Fingerprints of later rounds are as good as the first ones: the false-positive rate stays the
 * same.
 */
static void rounds_keep_the_rate(void **state) {
  (void)state;
  enum { SLOTS = 1 << 13, ASKED = 1 << 17 };
  subject s;
  subject_open(&s, "broom", SLOTS, 6, NULL);
  fill(&s, 0.9);
  for (uint64_t rounds = 1; rounds <= 2; rounds++) {
    uint64_t next = query_until_round(&s, rounds, rounds << 32);
    while (!between_rounds(&s)) query_and_adapt(&s, key_u64(NEGATIVES, next++));
    uint64_t keys[64], bitmap[1], hits = 0;
    for (uint64_t i = 0; i < ASKED; i += 64) {
      for (uint64_t j = 0; j < 64; j++) keys[j] = key_u64(NEGATIVES, (rounds << 40) + i + j);
      assert_int_equal(besom_contains_many_u64(s.f, keys, 64, bitmap), BESOM_OK);
      hits += popcount(bitmap[0]);
      for (uint64_t j = 0; j < 64; j += 21)
        assert_int_equal(besom_contains_u64(s.f, keys[j]), bitmap[0] >> j & 1);
    }
    double rate = (double)hits / ASKED, most = stats_of(s.f).expected_fpr;
    assert_true(rate < 1.05 * most && rate > 0.8 * most); /* extensions lower it slightly */
  }
  subject_close(&s);
}

static void options_are_checked(void **state) {
  (void)state;
  static const char *const bad[] = {"budget=1", "budget=16", "budget=",  "budget=x",
                                    "rounds=",  "rounds=no", "heads=no", "form=mine"};
  static const char *const good[] = {
      "budget=2",     "budget=15",      "rounds=deamortized", "rounds=amortized,isa=portable",
      "rounds=rekey", "form=published", "form=default"};
  besom_config config = {.kind = "broom", .slots = 100, .width = 8, .seed = seed};
  besom_filter *f = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    config.options = bad[i];
    assert_int_equal(besom_create(&config, &f), BESOM_BAD_OPTION);
  }
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    config.options = good[i];
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    assert_int_equal(besom_insert_u64(f, 1), BESOM_OK);
    bool stores = besom_abilities(f) & BESOM_STORES_EXCEPTIONS;
    assert_int_equal(besom_adapt_u64(f, 1), stores ? BESOM_OK : BESOM_NEEDS_STORE);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_key_is_lost_at_any_budget),
      cmocka_unit_test(steps_are_bounded),
      cmocka_unit_test(other_operations_take_steps_too),
      cmocka_unit_test(a_fix_lasts_until_its_run_is_redrawn),
      cmocka_unit_test(fingerprints_of_members_are_unique),
      cmocka_unit_test(members_do_not_spend_a_small_budget),
      cmocka_unit_test(queries_of_many_keys_agree_in_a_round),
      cmocka_unit_test(inserting_a_key_that_matches_nothing_reads_nothing),
      cmocka_unit_test(a_bound_filter_takes_many_keys_per_call),
      cmocka_unit_test(an_amortized_round_runs_at_once),
      cmocka_unit_test(a_file_keeps_the_round),
      cmocka_unit_test(filters_of_different_rounds_merge_with_their_keys),
      cmocka_unit_test(rounds_keep_the_rate),
      cmocka_unit_test(options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
