/*
 * Chains of qf and aqf layers that insert, remove, adapt and merge in any order. At a rate of 1/4
 * most keys match fingerprints of several layers, so that a remove that takes the wrong one loses a
 * member within a few steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/checksums.h"
#include "support/counters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/saved_filters.h"
#include "support/u64_forms.h"

enum { FIRST = 20, LAYERS = 6, UNIVERSE = 3000 };

static const uint8_t seed[16] = {5};
static const char *const bases[] = {"base=qf", "base=aqf"};

/* A chain, and what it must hold. Keys from UNIVERSE on are never inserted. */
struct trial {
  besom_filter *f;
  random_stream random;
  uint32_t copies[UNIVERSE];
  bool reported[2 * UNIVERSE]; /* and not inserted since */
  uint64_t keys;
};

static besom_config config_of(const char *options) {
  return (besom_config){
      .kind = "scaling", .options = options, .seed = seed, .capacity = FIRST, .fpr = 0.25};
}

static besom_filter *make(const besom_config *config) {
  besom_filter *f = NULL;
  assert_int_equal(besom_create(config, &f), BESOM_OK);
  return f;
}

static struct trial *trial_new(const besom_config *config, uint64_t random) {
  struct trial *t = heap_array(1, sizeof *t);
  t->f = make(config);
  t->random = (random_stream){random};
  return t;
}

static void trial_free(struct trial *t) {
  besom_free(t->f);
  free(t);
}

static uint64_t key(size_t i) {
  return key_u64(MEMBERS, i);
}

static size_t layers_of(const besom_filter *f) {
  size_t n = 0;
  while (besom_layer(f, n)) n++;
  return n;
}

static bool adapts(const besom_filter *f) {
  return besom_abilities(f) & BESOM_CAN_ADAPT;
}

static void assert_valid(const besom_filter *f) {
  const char *wrong = NULL;
  if (besom_validate(f, &wrong) != BESOM_OK) fail_msg("%s", wrong);
}

static void assert_right(const struct trial *t, const besom_filter *f) {
  besom_statistics stats;
  assert_valid(f);
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  assert_int_equal(stats.keys, t->keys);
  for (size_t i = 0; i < UNIVERSE; i++) {
    uint64_t n = 0;
    assert_int_equal(besom_count_u64(f, key(i), &n), BESOM_OK);
    assert_true(n >= t->copies[i]);
    assert_int_equal(besom_contains_u64(f, key(i)), n > 0);
  }
  for (size_t i = 0; i < 2 * UNIVERSE; i++)
    if (t->reported[i]) assert_false(besom_contains_u64(f, key(i)));
}

/* contains_many answers like contains. */
static void assert_batches(const besom_filter *f) {
  uint64_t *keys = keys_u64(MEMBERS, 2 * UNIVERSE), bitmap[2 * UNIVERSE / 64 + 1];
  assert_int_equal(besom_contains_many_u64(f, keys, 2 * UNIVERSE, bitmap), BESOM_OK);
  for (size_t i = 0; i < 2 * UNIVERSE; i++)
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, besom_contains_u64(f, keys[i]));
  free(keys);
}

static void insert_copies(struct trial *t, size_t i, uint64_t n) {
  if (n == 1)
    assert_int_equal(besom_insert_u64(t->f, key(i)), BESOM_OK);
  else
    assert_int_equal(insert_count_u64(t->f, key(i), n), BESOM_OK);
  t->copies[i] += (uint32_t)n;
  t->keys += n;
  t->reported[i] = false;
}

static void remove_one(struct trial *t, size_t i) {
  if (t->copies[i]) {
    assert_int_equal(besom_remove_u64(t->f, key(i)), BESOM_OK);
    t->copies[i]--;
    t->keys--;
  } else if (!besom_contains_u64(t->f, key(i))) {
    assert_int_equal(besom_remove_u64(t->f, key(i)), BESOM_NOT_FOUND);
  }
}

/* The reserve is small: RESERVE_FULL is allowed, and changes nothing. */
static void report(struct trial *t, size_t i) {
  if (!adapts(t->f) || (i < UNIVERSE && t->copies[i])) return;
  bool yes = besom_contains_u64(t->f, key(i));
  besom_status status = besom_adapt_u64(t->f, key(i));
  assert_true(status == BESOM_OK || (status == BESOM_RESERVE_FULL && yes));
  assert_int_equal(besom_contains_u64(t->f, key(i)), status == BESOM_RESERVE_FULL);
  /* A key that is answered no for another reason may become a yes. */
  if (yes && status == BESOM_OK) t->reported[i] = true;
}

static void step(struct trial *t, bool rising) {
  size_t i = (size_t)random_below(&t->random, UNIVERSE);
  uint64_t dice = random_below(&t->random, 20);
  if (dice < 3)
    report(t, (size_t)random_below(&t->random, 2 * UNIVERSE));
  else if (dice < (rising ? 15 : 6))
    insert_copies(t, i, dice < 5 ? 1 + random_below(&t->random, 12) : 1);
  else
    remove_one(t, i);
}

static void replace(besom_filter **f, besom_filter *by) {
  besom_free(*f);
  *f = by;
}

/* Fills the chain up to six layers, then removes almost everything, several times. */
static void run(struct trial *t, size_t steps) {
  for (size_t s = 0; s < steps; s++) {
    step(t, s / 3000 % 2 == 0);
    if (s % 1500 == 0) assert_right(t, t->f);
    if (s % 2500 == 0) replace(&t->f, loaded_copy(t->f));
  }
  assert_right(t, t->f);
  assert_batches(t->f);
}

static void remove_everything(struct trial *t) {
  for (size_t i = 0; i < UNIVERSE; i++)
    while (t->copies[i]) remove_one(t, i);
  assert_right(t, t->f);
  for (size_t i = 0; i < 2 * UNIVERSE; i++) assert_false(besom_contains_u64(t->f, key(i)));
}

static void random_changes_cause_no_false_negative(void **state) {
  (void)state;
  for (size_t base = 0; base < 2; base++)
    for (uint64_t random = 1; random <= 3; random++) {
      besom_config config = config_of(bases[base]);
      struct trial *t = trial_new(&config, random);
      run(t, 12000);
      assert_true(layers_of(t->f) >= LAYERS);
      remove_everything(t);
      trial_free(t);
    }
}

/* The number of keys that fill four layers. */
static size_t keys_of_four_layers(const besom_config *config) {
  besom_filter *f = make(config);
  size_t n = 0;
  for (; layers_of(f) < 5; n++) assert_int_equal(besom_insert_u64(f, key(n)), BESOM_OK);
  besom_free(f);
  return n - 1;
}

/* Keys that come and go take the room of those that left, in whatever layer it is. */
static void removed_keys_leave_room(void **state) {
  (void)state;
  for (size_t base = 0; base < 2; base++) {
    besom_config config = config_of(bases[base]);
    size_t full = keys_of_four_layers(&config);
    struct trial *t = trial_new(&config, 1);
    for (size_t i = 0; i < full; i++) insert_copies(t, i, 1);
    for (size_t i = 0; i < 100; i++) {
      remove_one(t, i % UNIVERSE);
      insert_copies(t, (i + full) % UNIVERSE, 1);
    }
    assert_right(t, t->f);
    assert_int_equal(layers_of(t->f), 4);
    trial_free(t);
  }
}

/* What was learned is there in new layers, after save and load, and ends with an insert. */
static void reports_survive_new_layers(void **state) {
  (void)state;
  besom_config config = config_of("base=aqf");
  config.reserve = 0.5;
  struct trial *t = trial_new(&config, 1);
  for (size_t i = 0; i < FIRST; i++) insert_copies(t, i, 1);
  for (size_t i = 0; i < 200; i++) report(t, UNIVERSE + i);
  for (size_t i = 1000; i < 1020; i++) report(t, i);
  assert_int_equal(no_add_u64(t->f, key(2 * UNIVERSE - 1)), BESOM_OK);
  t->reported[2 * UNIVERSE - 1] = true;
  uint64_t reported = counter_of(t->f, "exceptions");
  assert_true(reported > 10);
  for (size_t i = FIRST; i < 50 * FIRST; i++) insert_copies(t, i, 1);
  assert_true(layers_of(t->f) >= LAYERS);
  assert_int_equal(counter_of(t->f, "exceptions"), reported);
  for (size_t i = 200; i < 260; i++) report(t, UNIVERSE + i);
  replace(&t->f, loaded_copy(t->f));
  assert_right(t, t->f);
  assert_batches(t->f);
  for (size_t i = 1000; i < 1020; i++) insert_copies(t, i, 1 + i % 3);
  assert_right(t, t->f);
  assert_int_equal(no_remove_u64(t->f, key(2 * UNIVERSE - 1)), BESOM_OK);
  assert_int_equal(no_remove_u64(t->f, key(2 * UNIVERSE - 1)), BESOM_NOT_FOUND);
  trial_free(t);
}

static void values_are_found_in_every_layer(void **state) {
  (void)state;
  enum { KEYS = 2000 };
  besom_config config = config_of("base=aqf");
  config.fpr = 1e-6;
  config.value_bits = 11;
  besom_filter *f = make(&config);
  uint64_t value = 0;
  for (size_t i = 0; i < KEYS; i++) {
    assert_int_equal(besom_insert_u64(f, key(i)), BESOM_OK);
    assert_int_equal(set_value_u64(f, key(i), i % 2048), BESOM_OK);
  }
  assert_true(layers_of(f) >= LAYERS);
  replace(&f, loaded_copy(f));
  for (size_t i = 0; i < KEYS; i++) {
    assert_int_equal(get_value_u64(f, key(i), &value), BESOM_OK);
    assert_int_equal(value, i % 2048);
  }
  assert_int_equal(get_value_u64(f, key(KEYS), &value), BESOM_NOT_FOUND);
  assert_int_equal(set_value_u64(f, key(KEYS), 1), BESOM_NOT_FOUND);
  assert_int_equal(set_value_u64(f, key(0), 2048), BESOM_INVALID);
  /* A second copy in another layer: which value is meant? */
  assert_int_equal(besom_insert_u64(f, key(0)), BESOM_OK);
  assert_int_equal(set_value_u64(f, key(0), 1), BESOM_AMBIGUOUS);
  assert_int_equal(no_add_u64(f, key(1)), BESOM_OK);
  assert_int_equal(get_value_u64(f, key(1), &value), BESOM_NOT_FOUND);
  besom_free(f);
}

/* From one key on, and with more copies than any layer so far has slots. */
static void a_chain_is_never_full(void **state) {
  (void)state;
  for (size_t base = 0; base < 2; base++) {
    besom_config config = config_of(bases[base]);
    config.capacity = 1;
    config.fpr = 1e-18; /* the later layers cannot have a lower rate */
    besom_filter *f = make(&config);
    uint64_t n = 0;
    for (size_t i = 0; i < 3000; i++) assert_int_equal(besom_insert_u64(f, key(i)), BESOM_OK);
    assert_int_equal(insert_count_u64(f, key(0), 9000), BESOM_OK);
    if (base == 1) assert_int_equal(insert_count_u64(f, key(1), UINT64_C(1) << 40), BESOM_OK);
    assert_int_equal(insert_count_u64(f, key(0), UINT64_MAX), BESOM_FULL);
    assert_valid(f);
    assert_int_equal(besom_count_u64(f, key(0), &n), BESOM_OK);
    assert_int_equal(n, 9001);
    for (size_t i = 0; i < 3000; i++) assert_true(besom_contains_u64(f, key(i)));
    besom_free(f);
  }
}

/* The layers that were added for many copies are freed, and the reports stay. */
static void no_memory_for_many_copies_changes_nothing(void **state) {
  (void)state;
  for (uint64_t failing = 1; failing <= 8; failing++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    besom_config config = {.kind = "scaling",
                           .options = "base=aqf",
                           .seed = seed,
                           .capacity = 1,
                           .fpr = 0.25,
                           .allocator = &memory.api};
    besom_filter *f = make(&config);
    assert_int_equal(besom_insert_u64(f, key(0)), BESOM_OK);
    assert_int_equal(no_add_u64(f, key(UNIVERSE)), BESOM_OK);
    memory_sink before, after;
    memory_sink_init(&before), memory_sink_init(&after);
    assert_int_equal(besom_save(f, &before.api), BESOM_OK);
    memory.fail_at = memory.calls + failing;
    memory.fail_after = true;
    besom_status status = insert_count_u64(f, key(1), UINT64_C(1) << 60);
    assert_true(status == BESOM_NO_MEMORY || failing > 4);
    if (status == BESOM_NO_MEMORY) {
      assert_int_equal(besom_save(f, &after.api), BESOM_OK);
      assert_int_equal(before.len, after.len);
      assert_memory_equal(before.data, after.data, after.len);
    }
    assert_false(besom_contains_u64(f, key(UNIVERSE)));
    memory_sink_close(&before), memory_sink_close(&after);
    besom_free(f);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* Layers that are added after loading are like those before. */
static void options_are_saved(void **state) {
  (void)state;
  besom_config config = config_of("base=qf,isa=portable,heads=no");
  besom_filter *f = make(&config), *copy = loaded_copy(f);
  for (size_t i = 0; i < 500; i++) {
    assert_int_equal(besom_insert_u64(f, key(i)), BESOM_OK);
    assert_int_equal(besom_insert_u64(copy, key(i)), BESOM_OK);
  }
  besom_statistics of_f, of_copy;
  assert_int_equal(besom_stats(f, &of_f), BESOM_OK);
  assert_int_equal(besom_stats(copy, &of_copy), BESOM_OK);
  assert_true(layers_of(f) > 3 && of_f.bytes == of_copy.bytes);
  besom_free(f);
  besom_free(copy);
}

/* ------------------------------------------------------------------ memory and rates */

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats = {0};
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

/* A chain that never grows costs no more than 1.1 times a filter of its base. */
static void the_first_layer_is_as_small_as_a_filter(void **state) {
  (void)state;
  const double rates[] = {0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 1.0 / 256, 0.001, 0.0001, 1e-6};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    besom_config chain = {.kind = "scaling", .options = "base=aqf", .capacity = 100000},
                 plain = {.kind = "aqf", .capacity = 100000};
    chain.fpr = plain.fpr = rates[i];
    besom_filter *f = make(&chain), *g = make(&plain);
    assert_true((double)stats_of(f).bytes <= 1.1 * (double)stats_of(g).bytes);
    besom_free(f), besom_free(g);
  }
}

/* However long the chain is, and also if it was loaded on the way. */
static void the_rates_of_all_layers_add_up_to_the_target(void **state) {
  (void)state;
  for (size_t base = 0; base < 2; base++)
    for (double rate = 0.25; rate > 0.001; rate /= 3) {
      besom_config config = config_of(bases[base]);
      config.fpr = rate;
      besom_filter *f = make(&config);
      double sum = 0;
      for (size_t i = 0; layers_of(f) < 12; i++) {
        assert_int_equal(besom_insert_u64(f, key(i)), BESOM_OK);
        if (i == 5 * FIRST) replace(&f, loaded_copy(f));
      }
      for (size_t i = 0; besom_layer(f, i); i++) sum += stats_of(besom_layer(f, i)).fpr_at_capacity;
      assert_true(sum <= rate && sum > rate / 2);
      besom_free(f);
    }
}

static void expansion_sets_the_size_of_new_layers(void **state) {
  (void)state;
  const char *const wrong[] = {"expansion=0", "expansion=1", "expansion=3", "expansion=x",
                               "expansion=131072"};
  const char *const options[] = {"base=aqf,expansion=8", "base=bloom,expansion=8"};
  besom_filter *f = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    besom_config config = config_of(wrong[i]);
    assert_int_equal(besom_create(&config, &f), BESOM_BAD_OPTION);
  }
  for (size_t base = 0; base < 2; base++) {
    besom_config config = config_of(options[base]);
    f = make(&config);
    for (size_t i = 0; i < 50 * FIRST; i++) {
      if (i % 100 == 0) replace(&f, loaded_copy(f));
      assert_int_equal(besom_insert_u64(f, key(i)), BESOM_OK);
    }
    assert_int_equal(layers_of(f), 3);
    uint64_t capacity = stats_of(besom_layer(f, 0)).capacity;
    assert_true(stats_of(besom_layer(f, 1)).capacity >= 8 * capacity);
    assert_true(stats_of(besom_layer(f, 2)).capacity >= 64 * capacity);
    for (size_t i = 0; i < 50 * FIRST; i++) assert_true(besom_contains_u64(f, key(i)));
    besom_free(f);
  }
}

/* ------------------------------------------------------------------ merging */

/* What both hold; a report is kept unless the other chain held the key. */
static struct trial *merge_trials(const struct trial *a, const struct trial *b) {
  struct trial *t = heap_array(1, sizeof *t);
  t->random = (random_stream){99};
  besom_status status = besom_merge(a->f, b->f, &t->f);
  assert_int_equal(status, BESOM_OK);
  t->keys = a->keys + b->keys;
  for (size_t i = 0; i < UNIVERSE; i++) t->copies[i] = a->copies[i] + b->copies[i];
  for (size_t i = 0; i < 2 * UNIVERSE; i++)
    t->reported[i] = (a->reported[i] && !besom_contains_u64(b->f, key(i))) ||
                     (b->reported[i] && !besom_contains_u64(a->f, key(i)));
  return t;
}

static void merged_chains_hold_both(void **state) {
  (void)state;
  for (size_t base = 0; base < 2; base++)
    for (size_t steps = 100; steps <= 3000; steps += 2900) {
      besom_config config = config_of(bases[base]);
      config.reserve = base ? 0.4 : 0;
      struct trial *a = trial_new(&config, 1), *b = trial_new(&config, 2);
      run(a, 3000), run(b, steps);
      struct trial *both = merge_trials(a, b);
      assert_right(both, both->f);
      run(both, 4000);
      struct trial *more = merge_trials(both, a);
      assert_right(more, more->f);
      run(more, 2000);
      remove_everything(more);
      trial_free(a), trial_free(b), trial_free(both), trial_free(more);
    }
}

/* Full layers of one size become one layer of the next size. */
static void many_chains_merge_into_few_layers(void **state) {
  (void)state;
  enum { CHAINS = 15, KEYS = 190 };
  for (size_t base = 0; base < 2; base++) {
    besom_config config = config_of(bases[base]);
    config.fpr = 0.001;
    struct trial *all = trial_new(&config, 1);
    for (size_t chain = 0; chain < CHAINS; chain++) {
      struct trial *one = trial_new(&config, chain);
      for (size_t i = 0; i < KEYS; i++) insert_copies(one, chain * KEYS + i, 1 + (i % 5 == 0));
      assert_int_equal(layers_of(one->f), 4);
      for (size_t i = 0; i < UNIVERSE; i++) report(one, UNIVERSE + i);
      struct trial *merged = merge_trials(all, one);
      trial_free(all), trial_free(one);
      all = merged;
      assert_right(all, all->f);
      replace(&all->f, loaded_copy(all->f));
    }
    assert_true(layers_of(all->f) <= 24); /* of 60: about one per size for 1, 2, 4 and 8 chains */
    run(all, 2000);
    remove_everything(all);
    trial_free(all);
  }
}

static void a_chain_merged_too_often_is_full(void **state) {
  (void)state;
  besom_config config = config_of("base=aqf");
  struct trial *a = trial_new(&config, 1);
  for (size_t i = 0; i < 1200; i++) insert_copies(a, i, 1);
  besom_filter *all = loaded_copy(a->f), *next = NULL;
  besom_status status;
  for (size_t merges = 0; (status = besom_merge(all, a->f, &next)) == BESOM_OK; merges++) {
    assert_true(merges < 1000);
    replace(&all, next);
    assert_valid(all);
  }
  assert_int_equal(status, BESOM_FULL);
  for (size_t i = 0; i < 5000; i++) assert_int_equal(besom_insert_u64(all, key(i)), BESOM_OK);
  besom_free(all);
  trial_free(a);
}

static void chains_of_other_geometry_are_incompatible(void **state) {
  (void)state;
  besom_config config = config_of("base=aqf"), others[] = {config, config, config, config, config};
  others[0].capacity = 2 * FIRST;
  others[1].fpr = 0.1;
  others[2].value_bits = 3;
  others[3].options = "base=qf";
  others[4].options = "base=aqf,expansion=4";
  besom_filter *f = make(&config), *out = NULL;
  for (size_t i = 0; i < 5; i++) {
    besom_filter *other = make(&others[i]);
    assert_int_equal(besom_merge(f, other, &out), BESOM_INCOMPATIBLE);
    besom_free(other);
  }
  besom_free(f);
}

/* It would be saved without these bytes, so that equal filters would have two files. */
static void a_text_that_is_no_option_is_corrupt(void **state) {
  besom_config config = config_of("heads=no");
  besom_filter *f = make(&config), *copy = NULL;
  memory_sink saved;
  uint8_t *at = NULL;
  (void)state;
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  for (size_t i = 0; i + 8 < saved.len && !at; i++)
    if (!memcmp(saved.data + i, "heads=no", 8)) at = saved.data + i;
  assert_non_null(at);
  memcpy(at, "\3\0\0\0\0\0\0\0", 8);
  fix_checksums(saved.data, saved.len);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_CORRUPT);
  memory_sink_close(&saved);
  besom_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_changes_cause_no_false_negative),
      cmocka_unit_test(removed_keys_leave_room),
      cmocka_unit_test(reports_survive_new_layers),
      cmocka_unit_test(values_are_found_in_every_layer),
      cmocka_unit_test(a_chain_is_never_full),
      cmocka_unit_test(no_memory_for_many_copies_changes_nothing),
      cmocka_unit_test(options_are_saved),
      cmocka_unit_test(the_first_layer_is_as_small_as_a_filter),
      cmocka_unit_test(the_rates_of_all_layers_add_up_to_the_target),
      cmocka_unit_test(expansion_sets_the_size_of_new_layers),
      cmocka_unit_test(merged_chains_hold_both),
      cmocka_unit_test(many_chains_merge_into_few_layers),
      cmocka_unit_test(a_chain_merged_too_often_is_full),
      cmocka_unit_test(chains_of_other_geometry_are_incompatible),
      cmocka_unit_test(a_text_that_is_no_option_is_corrupt),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
