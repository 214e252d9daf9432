/* Tasks: growing, shrinking and rekeying in steps. The filter is unchanged until the last step. */
#include <stdlib.h>

#include "filters.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/reference.h"

enum { N = 500, NO_KEYS = 40 };

/* ------------------------------------------------------------------ the filter */

/* A filter that has adapted, and the arguments of tasks. */
typedef struct fixture {
  const subject *s;
  failing_allocator memory;
  besom_filter *f;
  uint64_t *members, *negatives;
  array_source yes, no;
  memory_sink before; /* f before the task */
} fixture;

/* The digest of the member with this match. */
static bool digest_of_match(const fixture *x, besom_match wanted, besom_digest *digest) {
  for (size_t i = 0; i < N; i++) {
    besom_match found[8];
    size_t total = 0;
    *digest = besom_hash_u64(x->f, x->members[i]);
    assert_status(BESOM_OK, besom_matches(x->f, *digest, found, 8, &total));
    for (size_t k = 0; k < total && k < 8; k++)
      if (found[k].bucket == wanted.bucket && found[k].rank == wanted.rank) return true;
  }
  return false;
}

/* Fixes a false positive given the stored key: a fingerprint is extended. */
static void lengthen_for(const fixture *x, uint64_t key) {
  besom_digest offender = besom_hash_u64(x->f, key), stored;
  besom_match match;
  size_t total = 0;
  assert_status(BESOM_OK, besom_matches(x->f, offender, &match, 1, &total));
  if (total == 1 && digest_of_match(x, match, &stored))
    assert_status(BESOM_OK, besom_adapt_at(x->f, offender, &match, stored));
}

/*
 * Fixes some false positives, in each way that the kind supports. Not in kinds with selectors:
 * these could not be resized without the keys afterwards.
 */
static void adapt_some(const fixture *x) {
  bool by_mark = adapts_without_keys(x->s);
  size_t wrong = 0;
  for (size_t i = 0; wrong < 10 && i < 10000 && !counter_of(x->f, "selector_0"); i++) {
    if (!besom_contains_u64(x->f, key_u64(NEGATIVES, i))) continue;
    bool by_match = can(x->s, BESOM_CAN_MATCH) && !can(x->s, BESOM_CAN_NO_LIST_AT);
    if ((wrong++ % 2 && by_match) || !by_mark)
      lengthen_for(x, key_u64(NEGATIVES, i));
    else
      assert_status(BESOM_OK, besom_adapt_u64(x->f, key_u64(NEGATIVES, i)));
  }
}

static void fixture_init(fixture *x, const subject *s) {
  *x =
      (fixture){.s = s, .members = keys_u64(MEMBERS, N), .negatives = keys_u64(NEGATIVES, NO_KEYS)};
  failing_allocator_init(&x->memory);
  besom_config config = config_of(s, N + 50, 1.0 / 16);
  config.allocator = &x->memory.api;
  if (can(s, BESOM_CAN_RESIZE)) config.max_capacity = 8 * N;
  config.reserve = 0.3;
  x->f = make_of_u64(s, &config, x->members, N);
  if (can(s, BESOM_CAN_COUNT))
    assert_status(BESOM_OK, besom_insert_u64(x->f, x->members[7])); /* a second copy */
  if (can(s, BESOM_CAN_RESIZE))
    assert_status(BESOM_OK, besom_resize(x->f, 2 * stats_of(x->f).slots, NULL)); /* to shrink */
  if (can(s, BESOM_CAN_ADAPT)) adapt_some(x);
  source_of_u64(&x->yes, x->members, N);
  source_of_u64(&x->no, x->negatives, NO_KEYS);
  save_to(&x->before, x->f);
}

static void fixture_close(fixture *x) {
  besom_free(x->f);
  assert_no_error(failing_allocator_verdict(&x->memory));
  failing_allocator_close(&x->memory);
  memory_sink_close(&x->before);
  free(x->members);
  free(x->negatives);
}

/* ------------------------------------------------------------------ the operations */

static const uint8_t new_seed[16] = "another besom's";

static besom_status double_slots(fixture *x, besom_task **task) {
  return besom_resize(x->f, 2 * stats_of(x->f).slots, task);
}

static besom_status quadruple_slots(fixture *x, besom_task **task) {
  return besom_resize(x->f, 4 * stats_of(x->f).slots, task);
}

static besom_status halve_slots(fixture *x, besom_task **task) {
  return besom_resize(x->f, stats_of(x->f).slots / 2, task);
}

static besom_status rekey(fixture *x, besom_task **task) {
  return besom_rekey(x->f, &x->yes.api, NULL, new_seed, task);
}

static besom_status rekey_with_no_list(fixture *x, besom_task **task) {
  return besom_rekey(x->f, &x->yes.api, &x->no.api, new_seed, task);
}

/* Can a rekeyed filter answer no to the keys of a no list? */
static bool accepts_no_list(const subject *s) {
  return can(s, BESOM_CAN_ADAPT) && adapts_without_keys(s);
}

typedef struct work {
  besom_status (*start)(fixture *x, besom_task **task); /* as a task, or at once if it is NULL */
  unsigned needs;
  size_t visits; /* of every fingerprint */
  size_t reads;  /* calls of the sources */
  bool uses_no_list;
} work;

static const work all_work[] = {
    {double_slots, BESOM_CAN_RESIZE, 2, 0},
    {quadruple_slots, BESOM_CAN_RESIZE, 4, 0},
    {halve_slots, BESOM_CAN_RESIZE, 1, 0},
    {rekey, BESOM_CAN_REKEY, 0, N + 1},
    {rekey_with_no_list, BESOM_CAN_REKEY, 0, N + 1 + NO_KEYS + 1, true},
};
enum { ALL_WORK = sizeof all_work / sizeof *all_work };

/* Tests the law with every operation that the kind supports. */
static void for_all_work(void **state, void (*holds)(const subject *s, const work *w)) {
  const subject *s = subject_of(state);
  size_t tried = 0;
  for (size_t i = 0; i < ALL_WORK; i++)
    if (can(s, all_work[i].needs) && (accepts_no_list(s) || !all_work[i].uses_no_list))
      holds(s, &all_work[i]), tried++;
  if (!tried) skip();
}

static besom_task *begin(const work *w, fixture *x) {
  besom_task *task = NULL;
  assert_status(BESOM_OK, w->start(x, &task));
  assert_non_null(task);
  return task;
}

static void assert_as_before(const fixture *x) {
  memory_sink now;
  save_to(&now, x->f);
  assert_true(memory_sinks_equal(&now, &x->before));
  memory_sink_close(&now);
  assert_holds_u64(x->f, x->members, N);
  assert_valid(x->f);
}

/* The result of the same operation on an equal filter in one call. */
static void assert_done(const fixture *x, const work *w) {
  fixture twin;
  fixture_init(&twin, x->s);
  assert_status(BESOM_OK, w->start(&twin, NULL));
  assert_same_bytes(x->f, twin.f);
  assert_holds_u64(x->f, x->members, N);
  assert_valid(x->f);
  fixture_close(&twin);
}

static void assert_usable(const fixture *x) {
  assert_status(BESOM_OK, besom_insert_u64(x->f, key_u64(MORE_MEMBERS, 0)));
  assert_true(besom_contains_u64(x->f, key_u64(MORE_MEMBERS, 0)));
  assert_valid(x->f);
}

/* ------------------------------------------------------------------ laws */

static void assert_keys_are_busy(const fixture *x) {
  besom_filter *f = x->f;
  uint64_t key = x->members[0];
  besom_bytes bytes = {"key", 3};
  besom_digest d = besom_hash_u64(f, key);
  size_t done = 1;
  assert_status(BESOM_BUSY, besom_insert(f, "key", 3));
  assert_status(BESOM_BUSY, besom_insert_u64(f, key));
  assert_status(BESOM_BUSY, besom_insert_digest(f, d));
  assert_status(BESOM_BUSY, besom_insert_many(f, &bytes, 1, &done));
  assert_int_equal(done, 0);
  assert_status(BESOM_BUSY, besom_insert_many_u64(f, &key, 1, NULL));
  assert_status(BESOM_BUSY, besom_insert_many_digest(f, &d, 1, &done));
  if (can(x->s, BESOM_CAN_REMOVE)) assert_status(BESOM_BUSY, besom_remove_u64(f, key));
  if (can(x->s, BESOM_CAN_ADAPT))
    assert_status(BESOM_BUSY, besom_adapt_u64(f, key_u64(NEGATIVES, 0)));
  if (can(x->s, BESOM_CAN_VALUE)) assert_status(BESOM_BUSY, set_value_u64(f, key, 1));
  if (!can(x->s, BESOM_CAN_MATCH)) return;
  besom_match match;
  size_t total;
  assert_status(BESOM_OK, besom_matches(f, d, &match, 1, &total));
  assert_status(BESOM_BUSY, insert_count_u64(f, key, 2));
  assert_status(BESOM_BUSY, besom_bind(f, NULL));
  assert_status(BESOM_BUSY, besom_insert_at(f, d, 0, &match));
  assert_status(BESOM_BUSY, besom_remove_at(f, &match));
  if (!can(x->s, BESOM_CAN_NO_LIST_AT))
    assert_status(BESOM_BUSY, besom_adapt_at(f, (besom_digest){~d.hi, 0}, &match, d));
  if (!can(x->s, BESOM_CAN_NO_LIST_AT)) return;
  assert_status(BESOM_BUSY, besom_no_add_at(f, (besom_digest){~d.hi, 0}, &match));
  assert_status(BESOM_BUSY, besom_no_remove_at(f, &match));
}

/* A second task, and functions that use a task, too. */
static void assert_busy(fixture *x) {
  assert_keys_are_busy(x);
  size_t calls = x->yes.calls + x->no.calls;
  for (size_t i = 0; i < ALL_WORK; i++) {
    besom_task *second = NULL;
    if (!can(x->s, all_work[i].needs) || (all_work[i].uses_no_list && !can(x->s, BESOM_CAN_ADAPT)))
      continue;
    assert_status(BESOM_BUSY, all_work[i].start(x, &second));
    assert_status(BESOM_BUSY, all_work[i].start(x, NULL));
    assert_null(second);
  }
  assert_int_equal(x->yes.calls + x->no.calls, calls);
}

/* Calls that read work as before; filters that are made from this one have no task. */
static void assert_readable(const fixture *x) {
  assert_as_before(x);
  if (can(x->s, BESOM_CAN_ITERATE)) {
    size_t n = 0;
    free(stored_addresses(x->f, &n));
    assert_true(n >= N);
  }
  besom_filter *like = NULL, *merged = NULL;
  assert_status(BESOM_OK, besom_create_like(x->f, &like));
  assert_status(BESOM_OK, besom_insert_u64(like, x->members[0]));
  if (can(x->s, BESOM_CAN_MERGE)) {
    assert_status(BESOM_OK, besom_merge(x->f, like, &merged));
    assert_holds_u64(merged, x->members, N);
  }
  besom_free(like);
  besom_free(merged);
}

static void answers_in_steps(const subject *s, const work *w) {
  static const uint64_t sizes[] = {1, 7, 1000, UINT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    fixture x;
    fixture_init(&x, s);
    besom_task *task = begin(w, &x);
    bool finished = false;
    for (size_t step = 0; !finished; step++) {
      if (step % 97 == 0) {
        assert_busy(&x);
        assert_readable(&x);
      }
      assert_status(BESOM_OK, besom_task_step(task, sizes[i], &finished));
    }
    assert_done(&x, w);
    assert_usable(&x);
    fixture_close(&x);
  }
}

static void a_filter_is_unchanged_until_its_task_ends(void **state) {
  for_all_work(state, answers_in_steps);
}

static size_t count_fingerprints(const besom_filter *f) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  size_t n = 0;
  while (besom_iter_next(&iter, &entry) == BESOM_OK) n++;
  return n;
}

/*
 * No step exceeds its maximum, and the number of steps is close to the minimum. A kind may resize
 * by a factor of four in one pass.
 */
static void has_short_steps(const subject *s, const work *w) {
  for (uint64_t max = 1; max < 3 * N; max = 3 * max + 1) {
    fixture x;
    fixture_init(&x, s);
    size_t once = w->visits ? count_fingerprints(x.f) : 0, minimum = w->visits * once + w->reads;
    besom_task *task = begin(w, &x);
    bool finished = false;
    size_t steps = 0;
    for (; !finished; steps++) {
      size_t calls = x.yes.calls + x.no.calls;
      assert_status(BESOM_OK, besom_task_step(task, max, &finished));
      assert_true(x.yes.calls + x.no.calls - calls <= max);
    }
    assert_true(steps * max >= once + w->reads);
    assert_true(steps <= (minimum + w->visits) / max + 3);
    fixture_close(&x);
  }
}

static void steps_are_bounded(void **state) {
  for_all_work(state, has_short_steps);
}

/* Cancels after every number of steps. */
static void can_be_cancelled(const subject *s, const work *w) {
  fixture x;
  fixture_init(&x, s);
  size_t blocks = x.memory.live_blocks;
  bool finished = false;
  for (size_t steps = 0; !finished; steps++) {
    source_of_u64(&x.yes, x.members, N);
    source_of_u64(&x.no, x.negatives, NO_KEYS);
    besom_task *task = begin(w, &x);
    for (size_t i = 0; i < steps && !finished; i++)
      assert_status(BESOM_OK, besom_task_step(task, 29, &finished));
    if (finished) break;
    besom_task_cancel(task);
    assert_int_equal(x.memory.live_blocks, blocks);
    assert_as_before(&x);
  }
  assert_done(&x, w);
  fixture_close(&x);
}

static void a_cancelled_task_leaves_no_trace(void **state) {
  for_all_work(state, can_be_cancelled);
}

/* The allocations of begin and of the steps fail. */
static void may_lack_memory(const subject *s, const work *w) {
  for (uint64_t n = 1;; n++) {
    fixture x;
    fixture_init(&x, s);
    size_t blocks = x.memory.live_blocks;
    besom_task *task = NULL;
    bool finished = false;
    x.memory.fail_at = x.memory.calls + n;
    besom_status status = w->start(&x, &task);
    while (status == BESOM_OK && !finished) status = besom_task_step(task, 100, &finished);
    bool failed = x.memory.calls >= x.memory.fail_at;
    x.memory.fail_at = 0;
    if (failed) {
      /* a report without memory is RESERVE_FULL */
      assert_status(status == BESOM_RESERVE_FULL && w->uses_no_list ? status : BESOM_NO_MEMORY,
                    status);
      assert_false(finished);
      assert_int_equal(x.memory.live_blocks, blocks);
      assert_as_before(&x);
      assert_usable(&x);
    }
    fixture_close(&x);
    if (!failed) break;
  }
}

static void a_task_without_memory_leaves_no_trace(void **state) {
  for_all_work(state, may_lack_memory);
}

/* fixture_close checks for leaks. */
static void can_be_freed(const subject *s, const work *w) {
  for (size_t steps = 0; steps < 12; steps++) {
    fixture x;
    fixture_init(&x, s);
    besom_task *task = begin(w, &x);
    bool finished = false;
    for (size_t i = 0; i < steps && !finished; i++)
      assert_status(BESOM_OK, besom_task_step(task, 150, &finished));
    fixture_close(&x);
  }
}

static void freeing_a_filter_frees_its_task(void **state) {
  for_all_work(state, can_be_freed);
}

static void is_ended_by_nonsense(const subject *s, const work *w) {
  for (size_t i = 0; i < 2; i++) {
    fixture x;
    fixture_init(&x, s);
    size_t blocks = x.memory.live_blocks;
    bool finished = true;
    besom_task *task = begin(w, &x);
    assert_status(BESOM_INVALID, besom_task_step(task, i, i ? NULL : &finished));
    assert_int_equal(finished, i);
    assert_int_equal(x.memory.live_blocks, blocks);
    assert_as_before(&x);
    assert_usable(&x);
    fixture_close(&x);
  }
}

static void an_invalid_argument_ends_a_task(void **state) {
  for_all_work(state, is_ended_by_nonsense);
}

static void no_task_is_invalid(void **state) {
  (void)state;
  bool finished = true;
  besom_task *task = NULL;
  array_source source;
  source_of_u64(&source, NULL, 0);
  assert_status(BESOM_INVALID, besom_task_step(NULL, 1, &finished));
  assert_status(BESOM_INVALID, besom_task_step(NULL, 1, NULL));
  assert_status(BESOM_INVALID, besom_resize(NULL, 64, &task));
  assert_status(BESOM_INVALID, besom_resize(NULL, 64, NULL));
  assert_status(BESOM_INVALID, besom_rekey(NULL, &source.api, NULL, NULL, &task));
  assert_status(BESOM_INVALID, besom_rekey(NULL, &source.api, NULL, NULL, NULL));
  assert_null(task);
  besom_task_cancel(NULL);
}

/*
 * Sizes that are refused at once are refused as a task, too. A task for the current size ends with
 * its first step.
 */
static void impossible_sizes_are_refused_at_once(void **state) {
  fixture x;
  fixture_init(&x, subject_of(state));
  besom_task *task = NULL;
  bool finished = false;
  uint64_t slots = stats_of(x.f).slots;
  size_t blocks = x.memory.live_blocks;
  const uint64_t wrong[] = {0, slots + 1, slots * 3, slots << stats_of(x.f).width, UINT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_status(BESOM_INVALID, besom_resize(x.f, wrong[i], &task));
    assert_status(BESOM_INVALID, besom_resize(x.f, wrong[i], NULL));
  }
  assert_status(slots % 4 ? BESOM_INVALID : BESOM_FULL, besom_resize(x.f, slots / 4, &task));
  assert_null(task);
  assert_int_equal(x.memory.live_blocks, blocks);
  assert_status(BESOM_OK, besom_resize(x.f, slots, &task));
  assert_keys_are_busy(&x);
  assert_status(BESOM_OK, besom_task_step(task, 1, &finished));
  assert_true(finished);
  assert_int_equal(x.memory.live_blocks, blocks);
  assert_as_before(&x);
  assert_usable(&x);
  fixture_close(&x);
}

/* Runs the task until it ends with this status. */
static void assert_rekey_ends(fixture *x, const besom_source *yes, const besom_source *no,
                              besom_status expected) {
  besom_task *task = NULL;
  bool finished = false;
  besom_status status = besom_rekey(x->f, yes, no, new_seed, &task);
  while (status == BESOM_OK && !finished) status = besom_task_step(task, 10, &finished);
  assert_status(expected, status);
  assert_false(finished);
  assert_as_before(x);
}

static void a_failing_source_ends_a_rekey(void **state) {
  fixture x;
  fixture_init(&x, subject_of(state));
  size_t blocks = x.memory.live_blocks;
  const besom_bytes missing[] = {{"a", 1}, {NULL, 5}};
  uint64_t *too_many = keys_u64(MORE_MEMBERS, 100 * N);
  for (size_t at = 0; at <= N; at += 50) {
    source_of_u64(&x.yes, x.members, N);
    x.yes.fail_at = at;
    assert_rekey_ends(&x, &x.yes.api, NULL, BESOM_IO);
  }
  for (size_t at = 0; accepts_no_list(subject_of(state)) && at <= NO_KEYS; at += 10) {
    source_of_u64(&x.yes, x.members, N);
    source_of_u64(&x.no, x.negatives, NO_KEYS);
    x.no.fail_at = at;
    x.no.status = BESOM_CANCELLED;
    assert_rekey_ends(&x, &x.yes.api, &x.no.api, BESOM_CANCELLED);
  }
  source_of_bytes(&x.yes, missing, 2);
  assert_rekey_ends(&x, &x.yes.api, NULL, BESOM_INVALID);
  source_of_u64(&x.yes, too_many, 100 * N);
  assert_rekey_ends(&x, &x.yes.api, NULL, BESOM_FULL);
  assert_rekey_ends(&x, NULL, NULL, BESOM_INVALID);
  assert_rekey_ends(&x, &x.yes.api, &(besom_source){.next = NULL}, BESOM_INVALID);
  assert_int_equal(x.memory.live_blocks, blocks);
  assert_usable(&x);
  free(too_many);
  fixture_close(&x);
}

/* Only keys of the no list that are false positives need adapting. */
static void a_rekey_answers_no_to_the_no_list(void **state) {
  fixture x;
  const subject *s = subject_of(state);
  if (accepts_no_list(s)) skip();
  fixture_init(&x, s);
  uint64_t *many = keys_u64(NEGATIVES, 10 * N);
  source_of_u64(&x.no, many, 10 * N);
  assert_rekey_ends(&x, &x.yes.api, &x.no.api, BESOM_NEEDS_STORE);
  source_of_u64(&x.yes, x.members, N);
  source_of_u64(&x.no, many, 0);
  assert_status(BESOM_OK, besom_rekey(x.f, &x.yes.api, &x.no.api, new_seed, NULL));
  assert_holds_u64(x.f, x.members, N);
  free(many);
  fixture_close(&x);
}

const law task_laws[] = {
    LAW(a_filter_is_unchanged_until_its_task_ends, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(steps_are_bounded, EVERY_KIND, BESOM_CAN_INSERT | BESOM_CAN_ITERATE),
    LAW(a_cancelled_task_leaves_no_trace, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(a_task_without_memory_leaves_no_trace, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(freeing_a_filter_frees_its_task, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(an_invalid_argument_ends_a_task, EVERY_KIND, BESOM_CAN_INSERT),
    LAW(no_task_is_invalid, THE_LIBRARY, 0),
    LAW(impossible_sizes_are_refused_at_once, EVERY_KIND, BESOM_CAN_INSERT | BESOM_CAN_RESIZE),
    LAW(a_failing_source_ends_a_rekey, EVERY_KIND, BESOM_CAN_INSERT | BESOM_CAN_REKEY),
    LAW(a_rekey_answers_no_to_the_no_list, EVERY_KIND,
        BESOM_CAN_INSERT | BESOM_CAN_REKEY | BESOM_CAN_ADAPT),
    {0},
};
