/*
 * yesno-dynamic against a model: two lists of digests in the order of their insertion. After every
 * change the filter is exact on both lists, and every fingerprint has exactly the length that the
 * other list requires.
 *
 *     yesno_dynamic --write-golden   writes the golden file with no entries instead
 */
#include "yesno_dynamic_subject.h"

#include "core/bits.h"
#include "support/checksums.h"

#define GOLDEN BESOM_SOURCE_DIR "/tests/golden/yesno-dynamic-lists-v1.besom"

/* The table has no room, or the reserve. */
static bool is_full(besom_status status) {
  return status == BESOM_FULL || status == BESOM_RESERVE_FULL;
}

/* Saves and loads the filter, then doubles its size and halves it again: nothing changes. */
static void reload(model *m, bool resize) {
  memory_sink sink;
  besom_statistics stats;
  save_to(&sink, m->f);
  besom_free(m->f);
  assert_ok(besom_load(sink.data, sink.len, NULL, &m->f));
  memory_sink_close(&sink);
  bind_model(m);
  if (!resize) return;
  assert_ok(besom_stats(m->f, &stats));
  assert_ok(besom_resize(m->f, 2 * stats.slots, NULL));
  assert_exact(m);
  besom_status status = besom_resize(m->f, stats.slots, NULL);
  assert_true(status == BESOM_OK || is_full(status));
}

/* ------------------------------------------------------------------ laws */

typedef struct outcomes {
  size_t done[BESOM_DISK_FULL + 1]; /* by status */
} outcomes;

/* A random change. If it fails, nothing has changed. */
static void random_change(model *m, random_stream *random, outcomes *seen) {
  size_t i = (size_t)random_below(random, UNIVERSE);
  enum list to = random_below(random, 3) ? NO : YES;
  memory_sink before;
  save_to(&before, m->f);
  m->reads = 0;
  m->fail_at = random_below(random, 4) ? 0 : 1 + random_below(random, 3);
  m->lies = random_below(random, 10) == 0;
  besom_status status;
  if (m->list[i] == NEITHER || (m->list[i] != to && random_below(random, 3) == 0))
    status = add(m, i, to);
  else
    status = drop(m, i);
  m->fail_at = 0;
  m->lies = false;
  assert_true((size_t)status < sizeof seen->done / sizeof *seen->done);
  seen->done[status]++;
  if (status == BESOM_OK)
    memory_sink_close(&before);
  else
    assert_bytes(m->f, &before);
}

static void run_lists(besom_config config, size_t steps, unsigned deepest, bool resize,
                      outcomes *seen) {
  model *m = model_open(config, config.slots + config.width, deepest);
  random_stream random = {config.width};
  for (size_t step = 0; step < steps; step++) {
    random_change(m, &random, seen);
    if (step % 100 == 99) reload(m, resize);
    if (step % 4 == 0) assert_exact(m);
  }
  model_close(m);
}

/*
 * Both lists grow and shrink in filters with few slots and narrow remainders, in which everything
 * collides.
 */
static void both_lists_are_exact_at_any_time(void **state) {
  (void)state;
  static const struct {
    uint64_t slots;
    uint32_t width;
    double room;
  } shapes[] = {{1, 2, 0.5},   {10, 2, 0.5},  {64, 2, 0.5}, {100, 3, 0.5},
                {200, 7, 0.4}, {300, 8, 0.3}, {7, 13, 0.5}};
  outcomes seen = {{0}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    besom_config config = config_of(shapes[s].slots, shapes[s].width, shapes[s].room);
    config.options = s % 2 ? "isa=portable" : NULL;
    run_lists(config, 2000, 100, s % 3 == 0 && shapes[s].width > 2, &seen);
  }
  static const besom_status wanted[] = {BESOM_OK, BESOM_FULL,      BESOM_RESERVE_FULL,
                                        BESOM_IO, BESOM_IS_MEMBER, BESOM_INVALID};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_true(seen.done[wanted[i]] > 10);
}

/*
 * All keys are in the last run, and the table ends before its capacity is used: changes fail half
 * way.
 */
static void full_at_the_end_of_the_table_changes_nothing(void **state) {
  (void)state;
  size_t no_place = 0;
  for (uint64_t number = 0; number < 10; number++) {
    model *m = model_open(config_of(200, 5, 0.5), number, 40);
    for (size_t i = 0; i < UNIVERSE; i++) m->universe[i].hi |= UINT64_C(0xff) << 56;
    for (size_t i = 0; i < UNIVERSE; i++) {
      memory_sink before;
      besom_statistics stats;
      save_to(&before, m->f);
      if (is_full(add(m, i, i % 3 ? YES : NO))) {
        assert_ok(besom_stats(m->f, &stats));
        no_place += stats.keys + counter_of(m->f, "no_entries") < stats.capacity &&
                    stats.reserve_used < 0.9;
        assert_bytes(m->f, &before);
      } else {
        memory_sink_close(&before);
      }
    }
    assert_exact(m);
    model_close(m);
  }
  assert_true(no_place > 10);
}

/* All remainders are 0, so that slots after the end of a run look like a part of it. */
static void runs_of_equal_remainders_are_kept_apart(void **state) {
  (void)state;
  for (uint32_t width = 2; width < 9; width++) {
    model *m = model_open(config_of(64, width, 0.5), width, 100);
    random_stream random = {width};
    outcomes seen = {{0}};
    for (size_t i = 0; i < UNIVERSE; i++)
      m->universe[i].hi &= ~((UINT64_MAX >> 6) & ~(UINT64_MAX >> (6 + width)));
    for (size_t step = 0; step < 1000; step++) {
      random_change(m, &random, &seen);
      if (step % 4 == 0) assert_exact(m);
    }
    model_close(m);
  }
}

/* Keys that no filter can distinguish are refused. */
static void indistinguishable_keys_are_refused(void **state) {
  (void)state;
  model *m = model_open(config_of(10, 64 - 4, 0.5), 1, 1);
  assert_ok(add(m, 0, YES));
  m->universe[1] = m->universe[0];
  m->universe[1].lo ^= 1;
  besom_status status = add(m, 1, NO);
  assert_true(status == BESOM_OK || is_full(status));
  assert_exact(m);
  model_close(m);
  m = model_open(config_of(10, 2, 0.5), 1, 1);
  assert_ok(add(m, 0, YES));
  m->universe[1] = m->universe[0];
  m->universe[1].lo ^= 1;
  assert_int_equal(add(m, 1, NO), BESOM_RESERVE_FULL);
  assert_exact(m);
  model_close(m);
}

/*
 * Without no entries nothing but remainders is needed: the bytes are those of a filter with only
 * the members.
 */
static void without_no_entries_nothing_is_left_of_them(void **state) {
  (void)state;
  for (uint32_t width = 2; width < 10; width++) {
    besom_config config = config_of(150, width, 0.5);
    model *m = model_open(config, width, 60);
    random_stream random = {width};
    outcomes seen = {{0}};
    for (size_t step = 0; step < 300; step++) random_change(m, &random, &seen);
    for (size_t i = 0; i < UNIVERSE; i++)
      if (m->list[i] == NO) assert_ok(drop(m, i));
    assert_exact(m);
    besom_statistics stats;
    assert_ok(besom_stats(m->f, &stats));
    assert_int_equal(counter_of(m->f, "extended"), 0);
    assert_true(stats.reserve_used == 0);
    besom_filter *members = NULL;
    besom_match match;
    memory_sink sink;
    assert_ok(besom_create(&config, &members));
    for (size_t e = 0; e < m->n; e++) {
      size_t i = m->entries[e].i;
      assert_ok(besom_insert_at(members, m->universe[i], i % 8, &match));
    }
    save_to(&sink, members);
    assert_bytes(m->f, &sink);
    besom_free(members);
    model_close(m);
  }
}

/*
 * A removal reads no key. An insert reads only keys that the table cannot distinguish from the new
 * one.
 */
static void keys_are_read_only_where_fingerprints_meet(void **state) {
  (void)state;
  model *m = model_open(config_of(300, 12, 0.4), 3, 1); /* all digests differ early */
  for (size_t i = 0; i < UNIVERSE; i++) assert_ok(add(m, i, i % 2 ? YES : NO));
  assert_int_equal(m->reads, 0);
  model_close(m);
  m = model_open(config_of(100, 2, 0.5), 3, 60);
  for (size_t i = 0; i < 60; i++) assert_true(add(m, i, i % 2 ? YES : NO) != BESOM_INVALID);
  assert_true(m->reads > 0);
  m->reads = 0;
  while (m->n) assert_ok(drop(m, m->entries[m->n / 2].i));
  assert_int_equal(m->reads, 0);
  assert_exact(m);
  model_close(m);
}

static void without_a_store_changes_are_refused(void **state) {
  (void)state;
  besom_match match = {0, 0};
  size_t done = 1, total = 0;
  model *m = model_open(config_of(100, 4, 0.5), 4, 30);
  assert_ok(besom_bind(m->f, NULL));
  assert_int_equal(add(m, 0, NO), BESOM_NEEDS_STORE);
  assert_ok(add(m, 1, YES)); /* there is nothing to compare it with */
  bind_model(m);
  assert_ok(add(m, 0, NO));
  assert_ok(besom_bind(m->f, NULL));
  assert_int_equal(add(m, 2, YES), BESOM_NEEDS_STORE);
  assert_int_equal(add(m, 2, NO), BESOM_NEEDS_STORE);
  assert_int_equal(besom_insert_digest(m->f, m->universe[2]), BESOM_NEEDS_STORE);
  assert_int_equal(besom_insert_many_digest(m->f, m->universe + 2, 2, &done), BESOM_NEEDS_STORE);
  assert_int_equal(done, 0);
  assert_int_equal(besom_insert_count(m->f, "key", 3, 2), BESOM_NEEDS_STORE);
  assert_int_equal(besom_remove_digest(m->f, m->universe[1]), BESOM_NEEDS_STORE);
  assert_int_equal(besom_no_add_at(m->f, m->universe[2], NULL), BESOM_INVALID);
  assert_int_equal(besom_no_add_at(NULL, m->universe[2], &match), BESOM_INVALID);
  assert_int_equal(besom_no_matches(m->f, m->universe[2], NULL, 1, &total), BESOM_INVALID);
  assert_int_equal(besom_no_matches(m->f, m->universe[2], NULL, 0, NULL), BESOM_INVALID);
  assert_int_equal(besom_no_remove_at(m->f, &(besom_match){UINT64_MAX, 0}), BESOM_NOT_FOUND);
  assert_exact(m);
  assert_ok(drop(m, 0)); /* this reads no key */
  assert_ok(drop(m, 1));
  assert_exact(m);
  model_close(m);
}

/* A bound filter adapts by its no list; one that is not bound has exceptions, which persist. */
static void only_without_a_store_reports_are_exceptions(void **state) {
  (void)state;
  besom_match match = {0, 0};
  size_t total = 1;
  model *m = model_open(config_of(100, 4, 0.5), 4, 30);
  assert_ok(add(m, 0, YES));
  assert_ok(add(m, 1, NO));
  besom_digest wrong = m->universe[0];
  wrong.lo ^= UINT64_C(1) << 40; /* behind the bits that extensions have here */
  assert_true(besom_contains_digest(m->f, wrong));
  assert_int_equal(besom_adapt_digest(m->f, wrong), BESOM_UNSUPPORTED);
  assert_int_equal(besom_no_add(m->f, "key", 3), BESOM_UNSUPPORTED);
  assert_int_equal(besom_abilities(m->f) & (BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST), 0);
  assert_ok(besom_bind(m->f, NULL));
  assert_true(besom_abilities(m->f) & BESOM_STORES_EXCEPTIONS);
  assert_ok(besom_adapt_digest(m->f, wrong));
  assert_false(besom_contains_digest(m->f, wrong));
  assert_exact(m);
  bind_model(m);
  assert_int_equal(besom_abilities(m->f) & (BESOM_CAN_ADAPT | BESOM_CAN_NO_LIST), 0);
  assert_false(besom_contains_digest(m->f, wrong));
  assert_ok(besom_matches(m->f, wrong, &match, 1, &total));
  assert_int_equal(total, 0);
  assert_exact(m);
  model_close(m);
}

/* Copies that besom_insert counted before there was a no list are extended together. */
static void copies_are_extended_together(void **state) {
  (void)state;
  model *m = model_open(config_of(100, 8, 0.5), 5, 30);
  uint64_t n = 0;
  assert_ok(m->f->kind->change->insert_count(m->f, m->universe[0], 5));
  /* a long common prefix */
  m->universe[1] = (besom_digest){m->universe[0].hi ^ 1, m->universe[0].lo};
  m->entries[m->n++] = (entry){0, 0, YES};
  besom_match match;
  size_t total;
  assert_ok(besom_matches(m->f, m->universe[0], &match, 1, &total));
  m->entries[0].bucket = match.bucket;
  assert_ok(add(m, 1, NO));
  assert_ok(m->f->kind->query.count(m->f, m->universe[0], &n));
  assert_int_equal(n, 5);
  assert_false(besom_contains_digest(m->f, m->universe[1]));
  assert_ok(besom_validate(m->f, NULL));
  assert_ok(drop(m, 1));
  assert_ok(m->f->kind->query.count(m->f, m->universe[1], &n));
  assert_int_equal(n, 5);
  assert_ok(besom_validate(m->f, NULL));
  model_close(m);
}

/* ------------------------------------------------------------------ merging */

/* Every second key, into one list or the other. */
static void fill_half(model *m, size_t half) {
  for (size_t i = half; i < UNIVERSE; i += 2) {
    besom_status status = add(m, i, i % 3 ? YES : NO);
    assert_true(status == BESOM_OK || is_full(status));
  }
}

static void assert_merged(besom_config config, uint64_t number, outcomes *seen) {
  model *a = model_open(config, number, 40), *b = model_open(config, number, 40);
  fill_half(a, 0);
  fill_half(b, 1);
  besom_filter *both = NULL;
  besom_status status = besom_merge(a->f, b->f, &both);
  seen->done[status]++;
  if (status == BESOM_OK) {
    for (size_t e = 0; e < b->n; e++) {
      a->entries[a->n++] = b->entries[e];
      a->list[b->entries[e].i] = b->entries[e].list;
    }
    besom_free(a->f);
    a->f = both;
    bind_model(a);
    assert_exact(a);
    while (a->n) assert_ok(drop(a, a->entries[a->n / 3].i));
  }
  model_close(a);
  model_close(b);
}

static void merged_lists_are_exact(void **state) {
  (void)state;
  outcomes seen = {{0}};
  for (uint64_t number = 0; number < 40; number++) {
    besom_config config = config_of(500, 2 + number % 5, 0.5);
    assert_merged(config, number, &seen);
  }
  for (uint64_t number = 0; number < 10; number++)
    assert_merged(config_of(200, 2, 0.45), number, &seen);
  assert_true(seen.done[BESOM_OK] > 10 &&
              seen.done[BESOM_FULL] + seen.done[BESOM_RESERVE_FULL] > 0);
}

static void merging_without_keys_is_refused(void **state) {
  (void)state;
  model *a = model_open(config_of(100, 4, 0.5), 7, 1),
        *b = model_open(config_of(100, 4, 0.5), 7, 1);
  besom_filter *both = NULL;
  assert_ok(add(a, 0, YES));
  assert_ok(add(b, 0, NO));
  assert_int_equal(besom_merge(a->f, b->f, &both), BESOM_IS_MEMBER);
  b->lies = true;
  assert_int_equal(besom_merge(a->f, b->f, &both), BESOM_INVALID);
  b->fail_at = b->reads + 1;
  assert_int_equal(besom_merge(a->f, b->f, &both), BESOM_IO);
  assert_ok(besom_bind(a->f, NULL));
  assert_int_equal(besom_merge(a->f, b->f, &both), BESOM_NEEDS_STORE);
  assert_null(both);
  assert_ok(drop(b, 0));
  assert_ok(besom_merge(a->f, b->f, &both));
  besom_free(both);
  model_close(a);
  model_close(b);
}

/* ------------------------------------------------------------------ files */

static model *some_lists(void) {
  model *m = model_open(config_of(100, 5, 0.5), 6, 40);
  for (size_t i = 0; i < 60; i++) {
    besom_status status = add(m, i, i % 3 ? YES : NO);
    assert_true(status == BESOM_OK || is_full(status));
  }
  assert_exact(m);
  return m;
}

/* Offsets in the parameters (docs/format.md), which are the first section. */
enum { CODE_AT = 60, KEEP_AT = 104, EXCEPTIONS_AT = 152, NO_ENTRIES_AT = 192 };

static besom_status load_with(memory_sink *sink, size_t offset, uint32_t value) {
  besom_filter *f = NULL;
  uint8_t *at = sink->data + load64(sink->data + 64 + 8) + offset, saved[4];
  memcpy(saved, at, 4);
  for (unsigned i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
  fix_checksums(sink->data, sink->len);
  besom_status status = besom_load(sink->data, sink->len, NULL, &f);
  memcpy(at, saved, 4);
  besom_free(f);
  return status;
}

static void wrong_parameters_are_refused(void **state) {
  (void)state;
  model *m = some_lists();
  memory_sink sink;
  uint32_t no_entries = (uint32_t)counter_of(m->f, "no_entries");
  save_to(&sink, m->f);
  assert_ok(load_with(&sink, NO_ENTRIES_AT, no_entries)); /* unchanged */
  assert_int_equal(load_with(&sink, NO_ENTRIES_AT, no_entries + 1), BESOM_CORRUPT);
  assert_int_equal(load_with(&sink, NO_ENTRIES_AT, UINT32_MAX), BESOM_CORRUPT);
  assert_int_equal(load_with(&sink, CODE_AT, 0), BESOM_CORRUPT);
  assert_int_equal(load_with(&sink, CODE_AT, 1), BESOM_CORRUPT);
  assert_int_equal(load_with(&sink, EXCEPTIONS_AT, 1), BESOM_CORRUPT);
  assert_int_equal(load_with(&sink, KEEP_AT, 1), BESOM_CORRUPT);
  memory_sink_close(&sink);
  model_close(m);
}

/*
 * A flipped bit of the table is found, or makes another filter that is sound, and on which every
 * operation is safe.
 */
static void no_bit_makes_an_unsound_filter(void **state) {
  (void)state;
  model *m = some_lists();
  besom_filter *original = m->f;
  memory_sink sink;
  save_to(&sink, original);
  size_t bits = load64(sink.data + 64 + 32 + 8), len = load64(sink.data + 64 + 32 + 16), sound = 0;
  for (size_t i = 0; i < 8 * len; i++) {
    besom_match match;
    sink.data[bits + i / 8] ^= (uint8_t)(1 << (i % 8));
    fix_checksums(sink.data, sink.len);
    if (besom_load(sink.data, sink.len, NULL, &m->f) == BESOM_OK) {
      sound++;
      assert_ok(besom_validate(m->f, NULL));
      for (size_t e = 0; e < m->n; e++)
        if (m->entries[e].list == NO)
          besom_no_remove_at(m->f, &(besom_match){m->entries[e].bucket, 0});
      besom_insert_at(m->f, m->universe[UNIVERSE - 1], 0, &match);
      assert_ok(besom_validate(m->f, NULL));
      besom_free(m->f);
    }
    sink.data[bits + i / 8] ^= (uint8_t)(1 << (i % 8));
  }
  assert_true(sound > 0 && sound < 2 * len);
  m->f = original;
  memory_sink_close(&sink);
  model_close(m);
}

static void a_golden_file_with_no_entries_still_loads(void **state) {
  (void)state;
  model *m = some_lists();
  memory_sink made;
  save_to(&made, m->f);
  besom_free(m->f);
  assert_ok(besom_open(GOLDEN, NULL, &m->f));
  bind_model(m);
  assert_exact(m);
  assert_bytes(m->f, &made);
  while (m->n) assert_ok(drop(m, m->entries[0].i));
  assert_exact(m);
  model_close(m);
}

static void write_golden(void **state) {
  (void)state;
  model *m = some_lists();
  assert_ok(besom_save_file(m->f, GOLDEN));
  model_close(m);
}

int main(int argc, char **argv) {
  const struct CMUnitTest golden[] = {cmocka_unit_test(write_golden)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_lists_are_exact_at_any_time),
      cmocka_unit_test(full_at_the_end_of_the_table_changes_nothing),
      cmocka_unit_test(runs_of_equal_remainders_are_kept_apart),
      cmocka_unit_test(indistinguishable_keys_are_refused),
      cmocka_unit_test(without_no_entries_nothing_is_left_of_them),
      cmocka_unit_test(keys_are_read_only_where_fingerprints_meet),
      cmocka_unit_test(without_a_store_changes_are_refused),
      cmocka_unit_test(only_without_a_store_reports_are_exceptions),
      cmocka_unit_test(copies_are_extended_together),
      cmocka_unit_test(merged_lists_are_exact),
      cmocka_unit_test(merging_without_keys_is_refused),
      cmocka_unit_test(wrong_parameters_are_refused),
      cmocka_unit_test(no_bit_makes_an_unsound_filter),
      cmocka_unit_test(a_golden_file_with_no_entries_still_loads),
  };
  if (argc == 2 && !strcmp(argv[1], "--write-golden"))
    return cmocka_run_group_tests(golden, NULL, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
