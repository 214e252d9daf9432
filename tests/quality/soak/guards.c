/*
 * soak_guards --seed S --amount OPERATIONS --kind KIND [--episode E]: random operations on a guard
 * over a store in memory, compared with a map. Geometry, layout, durability, adapting, growth and
 * faults follow from the seed of an episode. Calls of the store and allocations fail, one at a time
 * or for a while; the guard is closed and killed. A change that was acknowledged is there, one that
 * was refused is not, and once nothing fails any more the guard works.
 */
#define _DEFAULT_SOURCE 1 /* setenv */
#include "batch.h"
#include "support/failing_allocator.h"
#include "unit/guard_durable.h"

enum { OPERATIONS_OF_A_GUARD = 3000, MANY = 12, CHECK_EVERY = 150 };

typedef struct results {
  uint64_t operations, changes, failed_calls, batches, growths, rekeys, adaptations, closes, kills;
  uint64_t no_list, guards;
} results;

typedef struct episode {
  subject s;
  failing_allocator memory;
  random_stream random;
  uint64_t universe; /* keys that are used: 0 to universe - 1 */
  uint64_t limit;    /* members; below it most changes are puts */
  bool has_no_list, faults, may_be_full;
  bool was_full; /* the reserve: a key of the no list may cost a read until a rekey */
  bool no[UNIVERSE], no_before[UNIVERSE];
  results *r;
} episode;

static uint64_t below(episode *e, uint64_t n) {
  return random_below(&e->random, n);
}

static bool chance(episode *e, uint64_t n) {
  return below(e, n) == 0;
}

/* ------------------------------------------------------------------ the guard */

static guard_setup random_setup(episode *e, const char *kind) {
  static const uint64_t step_items[] = {1, 2, 7, 64};
  static const double grow_at[] = {0, 0.5, 0.85, 1}, rekey_at[] = {0.3, 0.9, 1, 2};
  bool is_acf = !strncmp(kind, "acf", 3), is_aqf = !strcmp(kind, "aqf");
  guard_setup setup = small_guard(kind, chance(e, 2) ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED);
  if (!is_acf) {
    setup.filter.slots = 16 + below(e, chance(e, 2) ? 60 : 250);
    setup.filter.width = 2 + (uint32_t)below(e, 8);
    setup.filter.reserve = 0.1 + 0.1 * (double)below(e, 5);
    setup.guard.grow_at = grow_at[below(e, 4)];
    setup.guard.rekey_at = rekey_at[below(e, 4)];
    e->may_be_full = setup.guard.grow_at == 1 || setup.guard.grow_at == 0;
  }
  if (is_aqf && chance(e, 3)) setup.filter.options = "tombstones=yes";
  setup.guard.durability = (besom_durability)below(e, 3);
  setup.guard.adapt = (besom_adapt_policy)below(e, 3);
  setup.guard.step_items = step_items[below(e, 4)];
  setup.guard.threads = chance(e, 3);
  setup.guard.read_uncommitted = chance(e, 2);
  if (!is_acf && chance(e, 6)) {
    setup.guard.max_filter_bytes = 1 + below(e, 4000);
    e->may_be_full = true;
  }
  setup.filter.allocator = &e->memory.api;
  e->has_no_list = is_aqf && chance(e, 2);
  return setup;
}

static void stop_faults(episode *e) {
  e->s.store.countdown = 0;
  e->s.store.dead = false;
  e->memory.fail_at = 0;
  e->memory.fail_after = false;
}

/* One call of the store or one allocation fails, or all do for a while. */
static void change_faults(episode *e) {
  if (!e->faults) return;
  if (e->s.store.dead || e->memory.fail_after) {
    if (chance(e, 3)) stop_faults(e);
  } else if (chance(e, 40)) {
    e->s.store.dead = true;
  } else if (chance(e, 12)) {
    e->s.store.countdown = 1 + (unsigned)below(e, 20);
  } else if (chance(e, 12)) {
    e->memory.fail_at = e->memory.calls + 1 + below(e, 20);
    e->memory.fail_after = chance(e, 5);
  }
}

/* Whether a call succeeded. Otherwise the reason must be a fault. */
static bool succeeded(episode *e, besom_status status) {
  if (status == BESOM_OK) return true;
  bool full = e->may_be_full && status == BESOM_FULL;
  if (!full && !(e->faults && (status == BESOM_IO || status == BESOM_NO_MEMORY)))
    fail_msg("%s", besom_strerror(status));
  e->r->failed_calls += !full;
  return false;
}

/* ------------------------------------------------------------------ operations */

static void query(episode *e, size_t k) {
  subject *s = &e->s;
  besom_bytes key = s->keys.keys[k], value;
  besom_status status = besom_guard_get(s->guard, key.data, key.len, &value);
  if (status != BESOM_NOT_FOUND && !succeeded(e, status)) return;
  assert_int_equal(status == BESOM_OK, s->values[k] != 0);
  if (status == BESOM_OK) assert_value(value, s->values[k]);
  besom_guard_release(s->guard, &value);
}

static void query_many(episode *e) {
  subject *s = &e->s;
  besom_bytes keys[MANY], values[MANY];
  size_t chosen[MANY], n = 1 + below(e, MANY);
  uint64_t found = 0;
  for (size_t i = 0; i < n; i++) keys[i] = s->keys.keys[chosen[i] = below(e, e->universe)];
  if (!succeeded(e, besom_guard_get_many(s->guard, keys, n, values, &found))) return;
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(found >> i & 1, s->values[chosen[i]] != 0);
    if (found >> i & 1) assert_value(values[i], s->values[chosen[i]]);
    besom_guard_release(s->guard, &values[i]);
  }
}

static void put_one(episode *e, size_t k) {
  besom_status status = put(&e->s, k, 1 + random_next(&e->random) % 1000000);
  if (!e->no[k])
    succeeded(e, status);
  else if (status != BESOM_IS_MEMBER)
    assert_false(succeeded(e, status));
}

static void delete_one(episode *e, size_t k) {
  bool is_member = e->s.values[k];
  besom_status status = delete_key(&e->s, k);
  if (status == BESOM_NOT_FOUND)
    assert_false(is_member);
  else if (succeeded(e, status))
    assert_true(is_member);
}

/* In a batch a part of the records may stay after a failure, so it is only done outside. */
static void put_many(episode *e) {
  subject *s = &e->s;
  besom_bytes keys[MANY], values[MANY];
  uint8_t bytes[MANY][MAX_VALUE];
  size_t chosen[MANY], n = 1 + below(e, MANY);
  uint64_t first = 1 + random_next(&e->random) % 1000000;
  bool refused = false;
  for (size_t i = 0; i < n; i++) {
    keys[i] = s->keys.keys[chosen[i] = below(e, e->universe)];
    values[i] = make_value(bytes[i], first + i);
    refused |= e->no[chosen[i]];
  }
  besom_status status = besom_guard_put_many(s->guard, keys, values, n, 0);
  if (refused && status == BESOM_IS_MEMBER) return;
  if (!succeeded(e, status)) return;
  assert_false(refused);
  for (size_t i = 0; i < n; i++) s->values[chosen[i]] = first + i;
}

static void change_member(episode *e) {
  size_t k = below(e, e->universe);
  bool more = members_of(&e->s) < e->limit;
  e->r->changes++;
  if (more && !e->s.in_batch && chance(e, 8))
    put_many(e);
  else if (chance(e, 3) == more)
    delete_one(e, k);
  else
    put_one(e, k);
}

static void change_no_list(episode *e) {
  size_t k = below(e, e->universe);
  besom_bytes key = e->s.keys.keys[k];
  bool adds = !chance(e, 3);
  besom_status status = adds ? besom_guard_no_put(e->s.guard, key.data, key.len)
                             : besom_guard_no_delete(e->s.guard, key.data, key.len);
  e->r->no_list++;
  if (status == BESOM_IS_MEMBER)
    assert_true(adds && e->s.values[k]);
  else if (status == BESOM_NOT_FOUND)
    assert_false(adds || e->no[k]);
  else if (status == BESOM_RESERVE_FULL)
    assert_true(adds);
  else if (succeeded(e, status))
    assert_true(adds ? !e->s.values[k] : e->no[k]), e->no[k] = adds;
}

static void begin_or_end_batch(episode *e) {
  subject *s = &e->s;
  if (!s->in_batch) {
    if (!succeeded(e, begin(s))) return;
    memcpy(e->no_before, e->no, sizeof e->no);
    e->r->batches++;
    return;
  }
  bool keep = !chance(e, 3), kept = succeeded(e, end_batch(s, keep)) && keep;
  if (!kept) memcpy(e->no, e->no_before, sizeof e->no);
}

static void rekey(episode *e) {
  besom_status status = besom_guard_rekey(e->s.guard);
  bool refused = e->s.setup.guard.max_filter_bytes && status == BESOM_NO_MEMORY;
  if (status != BESOM_UNSUPPORTED && status != BESOM_BUSY && !refused) succeeded(e, status);
}

/* ------------------------------------------------------------------ the whole guard */

/* A key of the list costs no read, unless the reserve was full for it. */
static void assert_no_list(episode *e) {
  uint64_t n = 0, reads = stats_of(&e->s).store_reads;
  for (size_t k = 0; k < e->universe; k++) {
    besom_bytes key = e->s.keys.keys[k];
    n += e->no[k];
    assert_int_equal(besom_guard_no_has(e->s.guard, key.data, key.len),
                     e->no[k] ? BESOM_OK : BESOM_NOT_FOUND);
    if (e->no[k]) assert_answer(&e->s, k);
  }
  assert_int_equal(stats_of(&e->s).no_keys, n);
  e->was_full |= stats_of(&e->s).adapt_full > 0;
  if (!e->was_full) assert_int_equal(stats_of(&e->s).store_reads, reads);
}

/* Nothing fails any more: the guard agrees with the map. In a batch, too. */
static void check(episode *e) {
  stop_faults(e);
  if (!e->s.in_batch) assert_int_equal(besom_guard_sync(e->s.guard), BESOM_OK);
  assert_consistent(&e->s);
  if (e->has_no_list) assert_no_list(e);
}

static void add_statistics(episode *e) {
  besom_guard_statistics stats = stats_of(&e->s);
  e->r->growths += stats.growths;
  e->r->rekeys += stats.rekeys;
  e->r->adaptations += stats.adapted;
  e->was_full |= stats.adapt_full > 0;
}

/* An open batch ends with the guard. What SYNC gathers is written before. */
static void open_again(episode *e, bool kill) {
  subject *s = &e->s;
  stop_faults(e);
  if (s->in_batch) memcpy(e->no, e->no_before, sizeof e->no);
  if (s->in_batch && s->setup.guard.durability == BESOM_DURABLE_SYNC)
    assert_int_equal(end_batch(s, false), BESOM_OK);
  if (s->setup.guard.durability == BESOM_DURABLE_SYNC)
    assert_int_equal(besom_guard_sync(s->guard), BESOM_OK);
  add_statistics(e);
  if (kill)
    subject_crash(s);
  else
    subject_close_guard(s);
  for (unsigned fails_at = 1; e->faults && fails_at; fails_at = fails_at < 40 ? 3 * fails_at : 0) {
    s->store.countdown = fails_at;
    besom_status status = subject_reopen(s);
    s->store.countdown = 0;
    if (succeeded(e, status)) return;
  }
  assert_int_equal(subject_reopen(s), BESOM_OK);
  if (!e->faults && !kill && s->store.directory) assert_int_equal(stats_of(s).rebuilt, 0);
}

static void rare_operation(episode *e) {
  switch (below(e, 8)) {
  case 0:
  case 1:
  case 2:
    begin_or_end_batch(e);
    break;
  case 3:
    rekey(e);
    break;
  case 4:
    if (!e->s.in_batch) succeeded(e, besom_guard_sync(e->s.guard));
    break;
  case 5:
  case 6:
    succeeded(e, besom_guard_step(e->s.guard, 1 + below(e, 50), NULL));
    break;
  default:
    if (!chance(e, 6)) break;
    bool kill = chance(e, 2);
    open_again(e, kill);
    *(kill ? &e->r->kills : &e->r->closes) += 1;
  }
}

static void operation(episode *e) {
  uint64_t choice = below(e, 100);
  change_faults(e);
  e->r->operations++;
  if (choice < 30)
    query(e, below(e, e->universe));
  else if (choice < 34)
    query_many(e);
  else if (choice < 45 && e->has_no_list)
    change_no_list(e);
  else if (choice < 90)
    change_member(e);
  else
    rare_operation(e);
}

static void run_guard(const char *kind, uint64_t first, results *r) {
  episode *e = heap_array(1, sizeof *e);
  *e = (episode){.random = {mix64(first)}, .r = r};
  failing_allocator_init(&e->memory);
  guard_setup setup = random_setup(e, kind);
  e->faults = !chance(e, 4);
  e->universe = 30 + below(e, UNIVERSE - 29);
  subject_open(&e->s, &setup);
  if (!chance(e, 4)) e->s.store.directory = NULL; /* files are slow */
  for (unsigned i = 0; i < OPERATIONS_OF_A_GUARD; i++) {
    if (i % 500 == 0) e->limit = below(e, e->universe);
    operation(e);
    if (i % CHECK_EVERY == 0) check(e);
  }
  check(e);
  add_statistics(e);
  subject_close(&e->s);
  assert_null(failing_allocator_verdict(&e->memory));
  failing_allocator_close(&e->memory);
  free(e);
  r->guards++;
}

/* ------------------------------------------------------------------ the program */

typedef struct run {
  const char *kind;
  results total;
} run;

static void run_episode(void *ctx, uint64_t first) {
  run *of = ctx;
  run_guard(of->kind, first, &of->total);
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--kind");
  const besom_kind_info *kind = NULL;
  for (size_t i = 0; besom_kinds(i) && request.row; i++)
    if (!strcmp(besom_kinds(i)->name, request.row)) kind = besom_kinds(i);
  if (!kind || !works_with_stores(kind)) return fputs("--kind: no such adaptive kind\n", stderr), 2;
  run of = {.kind = request.row};
  const results *r = &of.total;
  setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion prints its line and aborts */
  batch_run(request, &r->operations, run_episode, &of);
  count counts[] = {
      {"operations", r->operations},   {"changes", r->changes}, {"failed_calls", r->failed_calls},
      {"batches", r->batches},         {"growths", r->growths}, {"rekeys", r->rekeys},
      {"adaptations", r->adaptations}, {"closes", r->closes},   {"kills", r->kills},
      {"no_list_changes", r->no_list}, {"guards", r->guards}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}
