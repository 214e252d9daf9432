/* Guards whose store, filter or memory limit has no room left: nothing that was acknowledged is
   taken back, a migration step fails alone, and the status says what is full. */
#include "guard_durable.h"

static subject *open_subject(const guard_setup *setup) {
  subject *s = heap_array(1, sizeof *s);
  subject_open(s, setup);
  s->store.directory = NULL;
  return s;
}

static void close_subject(subject *s) {
  assert_consistent(s);
  subject_close(s);
  free(s);
}

static void put_range(subject *s, size_t first, size_t end) {
  for (size_t k = first; k < end; k++) assert_int_equal(put(s, k, k + 1), BESOM_OK);
}

static guard_setup at_level(besom_durability durability) {
  guard_setup setup = small_guard("aqf", BESOM_LAYOUT_MERGED);
  setup.guard.durability = durability;
  return setup;
}

static void query_all(subject *s) {
  for (size_t k = 0; k < UNIVERSE; k++) assert_answer(s, k);
}

/* ------------------------------------------------------------------ a group is written */

/* The steps of a migration are part of the group. The filter of before is freed when the group is
   written, and not with some later put. */
static void sync_ends_a_migration_that_has_moved_all(void **state) {
  (void)state;
  guard_setup setup = at_level(BESOM_DURABLE_SYNC);
  setup.guard.step_items = UNIVERSE;
  subject *s = open_subject(&setup);
  put_range(s, 0, 30);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  put_range(s, 30, 31);
  assert_true(stats_of(s).migrating);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  assert_false(stats_of(s).migrating);
  close_subject(s);
}

/* ------------------------------------------------------------------ a group that stays */

static const besom_status failures[] = {BESOM_DISK_FULL, BESOM_IO, BESOM_READ_ONLY,
                                        BESOM_NO_MEMORY};
enum { FAILURES = sizeof failures / sizeof *failures };

/* Without a call of the store. */
static void assert_refused(subject *s, besom_status why) {
  uint64_t unwritten = stats_of(s).unwritten, calls = s->store.calls;
  assert_int_equal(put(s, 100, 1), why);
  assert_int_equal(put(s, 3, 1), why);
  assert_int_equal(delete_key(s, 3), why);
  assert_int_equal(besom_guard_no_put(s->guard, "no", 2), why);
  assert_int_equal(besom_guard_begin(s->guard), why);
  assert_int_equal(besom_guard_rekey(s->guard), why);
  assert_int_equal(besom_guard_step(s->guard, 1, NULL), why);
  assert_int_equal(stats_of(s).unwritten, unwritten);
  assert_int_equal(s->store.calls, calls);
  assert_consistent(s);
}

/* Only sync tries again. The changes are visible all the time. */
static void a_group_that_cannot_be_written_stays(void **state) {
  (void)state;
  for (unsigned i = 0; i < FAILURES; i++) {
    guard_setup setup = at_level(BESOM_DURABLE_SYNC);
    subject *s = open_subject(&setup);
    put_range(s, 0, 30);
    assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
    put_range(s, 30, 40);
    assert_int_equal(delete_key(s, 5), BESOM_OK);
    assert_int_equal(stats_of(s).unwritten, 11);
    s->store.failure = failures[i];
    s->store.largest_commit = 1;
    assert_int_equal(besom_guard_sync(s->guard), failures[i]);
    assert_refused(s, failures[i]);
    assert_int_equal(besom_guard_sync(s->guard), failures[i]);
    s->store.largest_commit = 0;
    assert_int_equal(put(s, 100, 1), failures[i]);
    assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
    assert_int_equal(stats_of(s).unwritten, 0);
    put_range(s, 100, 110);
    close_subject(s);
  }
}

/* close is the only call that gives up, and it says so. */
static void close_returns_why_changes_are_lost(void **state) {
  (void)state;
  guard_setup setup = at_level(BESOM_DURABLE_SYNC);
  subject *s = open_subject(&setup);
  put_range(s, 0, 30);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  put_range(s, 30, 40);
  s->store.failure = BESOM_DISK_FULL;
  s->store.largest_commit = 1;
  assert_int_equal(try_close_guard(s), BESOM_DISK_FULL);
  s->store.largest_commit = 0;
  for (size_t k = 30; k < 40; k++) s->values[k] = 0;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  close_subject(s);
}

/* A full group is written before the next put. If that fails, the put is refused. */
static void a_full_group_refuses_the_next_put(void **state) {
  (void)state;
  guard_setup setup = at_level(BESOM_DURABLE_SYNC);
  subject *s = open_subject(&setup);
  put_range(s, 0, 30);
  s->store.failure = BESOM_DISK_FULL;
  s->store.largest_commit = 1;
  besom_status status = BESOM_OK;
  unsigned puts = 0;
  for (; status == BESOM_OK && puts < 10000; puts++) status = put(s, puts % 40, 1 + puts);
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_true(puts > 4000 && stats_of(s).unwritten <= 4096 + 64);
  assert_refused(s, BESOM_DISK_FULL);
  s->store.largest_commit = 0;
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  unsigned commits = s->store.commits;
  for (unsigned i = 0; i < 4100; i++) assert_int_equal(put(s, i % 40, 1 + i), BESOM_OK);
  assert_in_range(s->store.commits, commits + 1, commits + 4); /* more if it was rekeyed */
  assert_int_equal(s->store.nondurable_commits, 0);
  close_subject(s);
}

/* ------------------------------------------------------------------ steps that fail */

/* A migration of some records that every put advances. */
static subject *migrating_subject(besom_durability durability, besom_layout layout) {
  guard_setup setup = {
      .filter = {.kind = "aqf", .capacity = 1000, .fpr = 0.01, .seed = seed},
      .guard = {.durability = durability, .layout = layout, .step_ns = UINT64_MAX}};
  setup.guard.step_items = 20;
  subject *s = open_subject(&setup);
  put_range(s, 0, 150);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  return s;
}

/* The commit of put and step fails for want of room; that of the put alone does not. */
static void a_put_is_committed_without_the_step(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 6; variant++) {
    subject *s = migrating_subject(variant % 2 ? BESOM_DURABLE_BATCH : BESOM_DURABLE_PUT,
                                   BESOM_LAYOUT_MERGED);
    put_range(s, 150, 152);
    uint64_t moved = stats_of(s).step_items;
    s->store.failure = variant < 4 ? BESOM_DISK_FULL : BESOM_NO_MEMORY;
    s->store.largest_commit = 10;
    bool batch = variant / 2 % 2;
    if (batch) assert_int_equal(begin(s), BESOM_OK);
    assert_int_equal(put(s, 152, 7), BESOM_OK);
    if (batch) s->store.largest_commit = 60; /* of the steps of put and commit, one is undone */
    if (batch) assert_int_equal(end_batch(s, true), BESOM_OK);
    assert_true(stats_of(s).failed_steps == 1 && stats_of(s).migrating);
    assert_consistent(s);
    s->store.largest_commit = 0;
    subject_crash(s);
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_consistent(s);
    assert_true(moved == 40 && stats_of(s).migrating);
    put_range(s, 160, 175);
    assert_false(stats_of(s).migration_pending);
    close_subject(s);
  }
}

/* The n-th call of a step fails, or one of the start or of the end of a migration: the put does
   not. */
static bool step_fails(besom_durability durability, besom_layout layout, bool batch, unsigned n) {
  subject *s = migrating_subject(durability, layout);
  s->store.failure = BESOM_DISK_FULL;
  if (batch) assert_int_equal(begin(s), BESOM_OK);
  put_range(s, 150, 153);
  s->store.calls = 0;
  uint64_t failed = 0;
  /* The put itself needs less than 8 calls: savepoint, lookup, append, table_put, its commit. */
  s->store.countdown = 8 + n;
  besom_status status = put(s, 160, 3);
  bool reached = !s->store.countdown;
  s->store.countdown = 0;
  failed = stats_of(s).failed_steps;
  assert_true(status == BESOM_OK || (status == BESOM_DISK_FULL && !failed));
  if (batch) assert_int_equal(end_batch(s, n % 2), BESOM_OK);
  assert_consistent(s);
  put_range(s, 161, 165);
  while (stats_of(s).migration_pending)
    assert_int_equal(besom_guard_step(s->guard, 50, NULL), BESOM_OK);
  close_subject(s);
  return reached;
}

static void a_step_that_fails_undoes_no_put(void **state) {
  (void)state;
  for (unsigned variant = 0; variant < 6; variant++) {
    besom_durability durability = (besom_durability)(variant % 3);
    besom_layout layout = variant % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED;
    unsigned n = 0;
    while (step_fails(durability, layout, variant >= 3, n)) n += 3;
    assert_true(n > 30);
  }
}

/* The store takes no commit for a while. Puts fail or wait (SYNC), and the migration goes on
   afterwards. */
static void a_migration_survives_a_full_disk(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    guard_setup setup = at_level(level);
    setup.filter.slots = 48;
    subject *s = open_subject(&setup);
    s->store.failure = BESOM_DISK_FULL;
    for (size_t k = 0; k < UNIVERSE; k++) {
      s->store.largest_commit = k % 3 ? 0 : 1 + (unsigned)k % 7;
      besom_status status = put(s, k, k + 1);
      assert_true(status == BESOM_OK || status == BESOM_DISK_FULL);
      if (k % 5 == 0) {
        besom_status stepped = besom_guard_step(s->guard, 9, NULL);
        assert_true(stepped == BESOM_OK || stepped == BESOM_DISK_FULL);
      }
      if (k % 40 == 0) assert_consistent(s);
      s->store.largest_commit = 0;
      assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
      if (k % 97 != 0) continue;
      subject_crash(s);
      assert_int_equal(subject_reopen(s), BESOM_OK);
      assert_consistent(s);
    }
    assert_true(members_of(s) > UNIVERSE / 2);
    close_subject(s);
  }
}

/* ------------------------------------------------------------------ who does the steps */

/* Gets neither commit nor migrate, whatever they find. */
static void gets_do_not_migrate(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    guard_setup setup = at_level(level);
    setup.filter.width = 2;
    setup.guard.rekey_at = 0.3;
    subject *s = open_subject(&setup);
    put_range(s, 0, 50);
    assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
    assert_false(stats_of(s).migration_pending);
    unsigned commits = s->store.commits;
    for (unsigned i = 0; i < 5; i++) query_all(s);
    assert_int_equal(s->store.commits, commits);
    assert_true(stats_of(s).migration_pending && !stats_of(s).migrating);
    assert_int_equal(besom_guard_step(s->guard, 10, NULL), BESOM_OK);
    commits = s->store.commits;
    besom_guard_statistics before = stats_of(s);
    query_all(s);
    assert_int_equal(s->store.commits, commits);
    assert_true(before.migrating && stats_of(s).step_items == before.step_items);
    while (stats_of(s).migration_pending)
      assert_int_equal(besom_guard_step(s->guard, 1000, NULL), BESOM_OK);
    assert_true(stats_of(s).rekeys >= 1 && stats_of(s).growths == 0);
    close_subject(s);
  }
}

/* The records that a put migrates are in its own commit. */
static void a_put_with_a_step_is_one_commit(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    subject *s = migrating_subject(level, BESOM_LAYOUT_MERGED);
    unsigned commits = s->store.commits;
    put_range(s, 150, 155);
    assert_int_equal(stats_of(s).step_items, 100);
    assert_int_equal(s->store.commits - commits, level == BESOM_DURABLE_SYNC ? 0 : 5);
    close_subject(s);
  }
}

/* However short the time is, a step moves something. */
static void steps_are_bounded_by_time(void **state) {
  (void)state;
  subject *s = migrating_subject(BESOM_DURABLE_PUT, BESOM_LAYOUT_MERGED);
  subject_close_guard(s);
  s->setup.guard.step_ns = 1;
  s->setup.guard.step_items = 1000;
  assert_int_equal(subject_reopen(s), BESOM_OK);
  put_range(s, 150, 170);
  besom_guard_statistics stats = stats_of(s);
  assert_true(stats.migrating && stats.steps == 20 && stats.step_items >= 20);
  assert_true(stats.largest_step <= 4);                               /* one list */
  assert_int_equal(besom_guard_step(s->guard, 1000, NULL), BESOM_OK); /* not bounded by time */
  assert_false(stats_of(s).migrating);
  close_subject(s);
}

/* Lists are not divided, and do not exceed the limit either. */
static void steps_are_bounded_by_records(void **state) {
  (void)state;
  guard_setup setup = at_level(BESOM_DURABLE_BATCH);
  setup.filter.width = 2; /* so that lists have several records */
  subject *s = open_subject(&setup);
  put_range(s, 0, 60);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  while (stats_of(s).migrating) assert_int_equal(besom_guard_step(s->guard, 5, NULL), BESOM_OK);
  assert_int_equal(stats_of(s).step_items, 60);
  assert_int_equal(stats_of(s).largest_step, 5);
  close_subject(s);
}

/* A rekey that could not start is still due. */
static void a_rekey_that_fails_to_start_is_pending(void **state) {
  (void)state;
  guard_setup setup = at_level(BESOM_DURABLE_PUT);
  setup.filter.width = 2;
  setup.guard.rekey_at = 0.3;
  subject *s = open_subject(&setup);
  put_range(s, 0, 50);
  for (unsigned i = 0; i < 5; i++) query_all(s);
  assert_true(stats_of(s).migration_pending);
  s->store.failure = BESOM_DISK_FULL;
  for (unsigned n = 1; n < 4; n++) { /* begin, the manifest, commit */
    s->store.countdown = n;
    assert_int_equal(besom_guard_step(s->guard, 1, NULL), BESOM_DISK_FULL);
    assert_true(stats_of(s).migration_pending && !stats_of(s).migrating);
    assert_int_equal(stats_of(s).rekeys, 0);
  }
  assert_int_equal(put(s, 50, 1), BESOM_OK);
  assert_int_equal(stats_of(s).rekeys, 1);
  close_subject(s);
}

/* A guard with more records than a transaction moves. */
static subject *large_subject(besom_durability durability, uint64_t records) {
  guard_setup setup = {
      .filter = {.kind = "aqf", .capacity = records + 1000, .fpr = 0.01, .seed = seed},
      .guard = {.durability = durability, .step_ns = UINT64_MAX}};
  subject *s = open_subject(&setup);
  assert_int_equal(besom_guard_begin(s->guard), BESOM_OK);
  for (uint64_t i = 0; i < records; i++)
    assert_int_equal(besom_guard_put_u64(s->guard, i, &i, 8, 0), BESOM_OK);
  assert_int_equal(besom_guard_commit(s->guard), BESOM_OK);
  assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
  return s;
}

static void close_large_subject(subject *s, uint64_t records) {
  for (uint64_t i = 0; i < records; i++)
    assert_int_equal(besom_guard_get_u64(s->guard, i, NULL), BESOM_OK);
  subject_close(s);
  free(s);
}

/* One call migrates as much as it is asked for, in commits of 16,384 records. */
static void a_large_step_is_several_commits(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    subject *s = large_subject(level, 36000);
    unsigned commits = s->store.commits;
    bool finished;
    assert_int_equal(besom_guard_step(s->guard, UINT64_MAX, &finished), BESOM_OK);
    assert_true(finished);
    assert_int_equal(s->store.commits - commits, 3 + 1); /* and the end of the migration */
    assert_int_equal(s->store.nondurable_commits, 0);
    close_large_subject(s, 36000);
  }
}

/* The transaction is in memory, and an abort has to undo it. */
static void a_batch_moves_some_thousand_records_at_most(void **state) {
  (void)state;
  subject *s = large_subject(BESOM_DURABLE_BATCH, 9000);
  for (unsigned keep = 0; keep < 2; keep++) {
    uint64_t before = stats_of(s).step_items;
    assert_int_equal(besom_guard_begin(s->guard), BESOM_OK);
    for (uint64_t i = 0; i < 100; i++)
      assert_int_equal(besom_guard_put_u64(s->guard, i, &i, 8, 0), BESOM_OK);
    assert_in_range(stats_of(s).step_items - before, 4096, 4096 + 64);
    assert_int_equal(keep ? besom_guard_commit(s->guard) : besom_guard_abort(s->guard), BESOM_OK);
    assert_int_equal(stats_of(s).keys, 9000);
  }
  close_large_subject(s, 9000);
}

/* ------------------------------------------------------------------ the size of the filter */

static uint64_t slots_of(const subject *s) {
  besom_statistics stats;
  assert_int_equal(besom_stats(besom_guard_filter(s->guard), &stats), BESOM_OK);
  return stats.slots;
}

/* Also if the filter is nearly full, and while puts go on. */
static void a_rekey_keeps_the_size(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "exaf", "taf", "utaf", "broom"};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    guard_setup setup = small_guard(kinds[i], BESOM_LAYOUT_MERGED);
    setup.guard.grow_at = 1;
    setup.guard.rekey_at = 2;
    subject *s = open_subject(&setup);
    size_t k = 0;
    besom_status status;
    while ((status = put(s, k, k + 1)) == BESOM_OK) k++;
    assert_int_equal(status, BESOM_FULL);
    uint64_t slots = slots_of(s);
    for (unsigned round = 0; round < 4; round++) {
      assert_int_equal(besom_guard_rekey(s->guard), BESOM_OK);
      assert_int_equal(put(s, 0, 1000 + round), BESOM_OK);  /* a new value, with a step */
      assert_int_equal(put(s, 300, 1), BESOM_FULL);         /* after all steps */
      assert_int_equal(delete_key(s, round + 1), BESOM_OK); /* makes room for one key */
      assert_int_equal(put(s, 200 + round, 1), BESOM_OK);
    }
    while (stats_of(s).migrating) assert_int_equal(besom_guard_step(s->guard, 9, NULL), BESOM_OK);
    assert_int_equal(slots_of(s), slots);
    assert_int_equal(stats_of(s).rekeys, 4);
    assert_int_equal(stats_of(s).growths, 0);
    assert_int_equal(stats_of(s).full_puts, 5);
    close_subject(s);
  }
}

static void the_filter_stays_within_its_limit(void **state) {
  (void)state;
  for (unsigned filters = 1; filters <= 3; filters++) {
    guard_setup setup = at_level(BESOM_DURABLE_PUT);
    setup.filter.width = 2;
    subject *s = open_subject(&setup);
    uint64_t bytes = stats_of(s).filter_bytes;
    subject_close_guard(s);
    s->setup.guard.max_filter_bytes = filters * bytes + bytes / 2;
    assert_int_equal(subject_reopen(s), BESOM_OK);
    besom_status status = BESOM_OK;
    for (size_t k = 0; k < UNIVERSE && status == BESOM_OK; k++) {
      status = put(s, k, k + 1);
      for (size_t j = 0; j < UNIVERSE; j += 3) assert_answer(s, j);
      assert_true(stats_of(s).filter_bytes <= s->setup.guard.max_filter_bytes);
    }
    assert_int_equal(status, BESOM_FULL);
    besom_guard_statistics stats = stats_of(s);
    assert_int_equal(stats.growths != 0, filters >= 3);
    /* Once per filter. */
    assert_in_range(stats.growths_refused, 1, 1 + stats.rekeys + stats.growths);
    assert_true(stats.full_puts && (filters > 1 || stats.rekeys_refused));
    if (filters == 1) assert_int_equal(besom_guard_rekey(s->guard), BESOM_NO_MEMORY);
    assert_int_equal(delete_key(s, 1), BESOM_OK);
    assert_int_equal(put(s, 1, 5), BESOM_OK);
    close_subject(s);
  }
}

/* ------------------------------------------------------------------ statuses */

static void fill_reserve_and_filter(subject *s) {
  besom_status status = BESOM_OK;
  put_range(s, 0, 50);
  for (size_t k = 100; k < UNIVERSE && status == BESOM_OK; k++)
    status = besom_guard_no_put(s->guard, s->keys.keys[k].data, s->keys.keys[k].len);
  assert_int_equal(status, BESOM_RESERVE_FULL);
  for (size_t k = 50; (status = put(s, k, 1)) == BESOM_OK && k < 100;) k++;
  assert_int_equal(status, BESOM_FULL);
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
}

/* Every call that writes returns why the store does not. */
static void store_refuses(subject *s, besom_status why) {
  bool gathered = s->setup.guard.durability == BESOM_DURABLE_SYNC;
  s->store.failure = why;
  if (gathered) assert_int_equal(put(s, 3, 80), BESOM_OK);
  s->store.dead = true;
  assert_int_equal(put(s, 4, 81), why);
  assert_int_equal(besom_guard_sync(s->guard), why);
  assert_int_equal(besom_guard_begin(s->guard), why);
  s->store.dead = false;
  assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  assert_int_equal(begin(s), BESOM_OK);
  assert_int_equal(put(s, 4, 82), BESOM_OK);
  s->store.dead = true;
  assert_int_equal(end_batch(s, true), why);
  s->store.dead = false;
}

static void each_shortage_has_its_status(void **state) {
  (void)state;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    guard_setup setup = at_level(level);
    setup.guard.grow_at = 1;
    setup.guard.rekey_at = 2;
    setup.filter.reserve = 0.01;
    setup.filter.width = 2;
    subject *s = open_subject(&setup);
    fill_reserve_and_filter(s);
    for (unsigned i = 0; i < FAILURES; i++) store_refuses(s, failures[i]);
    close_subject(s);
  }
}

/* ------------------------------------------------------------------ a store without savepoints */

/* Its steps are transactions of their own, and nothing is gathered. */
static void savepoints_are_optional(void **state) {
  (void)state;
  besom_store_ops ops = durable_ops;
  ops.set_savepoint = NULL;
  for (besom_durability level = BESOM_DURABLE_PUT; level <= BESOM_DURABLE_SYNC; level++) {
    guard_setup setup = at_level(level);
    setup.filter.slots = 48;
    subject *s = open_subject(&setup);
    subject_close_guard(s);
    s->store.head.ops = &ops;
    assert_int_equal(subject_reopen(s), BESOM_OK);
    random_stream random = {level};
    for (unsigned i = 0; i < 1500; i++) {
      size_t k = random_below(&random, 200);
      s->store.countdown = random_below(&random, 6) ? 0 : 1 + (unsigned)random_below(&random, 25);
      if (random_below(&random, 3) == 0)
        delete_key(s, k);
      else if (put(s, k, 1 + i) == BESOM_OK && i % 30 == 0)
        (void)besom_guard_rekey(s->guard);
      s->store.countdown = 0;
      if (i % 50 == 0 && i % 100) assert_int_equal(begin(s), BESOM_OK);
      if (i % 100 == 0 && s->in_batch) end_batch(s, i % 200);
      if (i % 100 == 0) assert_consistent(s);
    }
    if (s->in_batch) end_batch(s, true);
    assert_true(stats_of(s).growths && stats_of(s).unwritten == 0);
    subject_crash(s);
    assert_int_equal(subject_reopen(s), BESOM_OK);
    assert_consistent(s);
    s->store.head.ops = &durable_ops;
    close_subject(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sync_ends_a_migration_that_has_moved_all),
      cmocka_unit_test(a_group_that_cannot_be_written_stays),
      cmocka_unit_test(close_returns_why_changes_are_lost),
      cmocka_unit_test(a_full_group_refuses_the_next_put),
      cmocka_unit_test(a_put_is_committed_without_the_step),
      cmocka_unit_test(a_step_that_fails_undoes_no_put),
      cmocka_unit_test(a_migration_survives_a_full_disk),
      cmocka_unit_test(gets_do_not_migrate),
      cmocka_unit_test(a_put_with_a_step_is_one_commit),
      cmocka_unit_test(steps_are_bounded_by_time),
      cmocka_unit_test(steps_are_bounded_by_records),
      cmocka_unit_test(a_rekey_that_fails_to_start_is_pending),
      cmocka_unit_test(a_large_step_is_several_commits),
      cmocka_unit_test(a_batch_moves_some_thousand_records_at_most),
      cmocka_unit_test(a_rekey_keeps_the_size),
      cmocka_unit_test(the_filter_stays_within_its_limit),
      cmocka_unit_test(each_shortage_has_its_status),
      cmocka_unit_test(savepoints_are_optional),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
