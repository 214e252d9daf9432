/*
 * Any allocation of any call may fail, continued from laws_memory.c: diff and patch, builds of
 * static kinds, reports and rekeying. The result is a status, no leak, and unchanged filters.
 */
#include <stdlib.h>

#include "filters.h"
#include "support/failing_allocator.h"

enum { N = 300, CHANGED = 20, REPORTS = 40 };

/* Two filters that differ in some keys, the patch between them, and what a call made. */
typedef struct attempt {
  const subject *s;
  failing_allocator memory;
  besom_config config;
  uint64_t *keys, *changed;
  besom_filter *old, *fresh, *result;
  memory_sink patch, old_bytes, fresh_bytes, written;
  size_t done; /* reports that were accepted */
} attempt;

typedef besom_status (*attempted_call)(attempt *a);

static besom_status try_diff(attempt *a) {
  return besom_diff(a->old, a->fresh, &a->written.api);
}

static besom_status try_patch(attempt *a) {
  return besom_patch(a->old, a->patch.data, a->patch.len, &a->result);
}

static besom_status try_build(attempt *a) {
  array_source yes;
  source_of_u64(&yes, a->keys, N);
  return besom_build(&a->config, &(besom_input){.yes = &yes.api}, &a->result);
}

/* As besom_diff needs it: with the seed and the geometry of another filter. */
static besom_status try_build_like(attempt *a) {
  array_source yes;
  source_of_u64(&yes, a->changed, N);
  besom_input input = {.yes = &yes.api, .like = a->old};
  return besom_build(&a->config, &input, &a->result);
}

static besom_status try_rekey(attempt *a) {
  array_source yes;
  source_of_u64(&yes, a->keys, N);
  return besom_rekey(a->old, &yes.api, NULL, (const uint8_t *)"sixteen bytes...", NULL);
}

static besom_status try_adapt(attempt *a) {
  for (size_t i = 0; i < REPORTS; i++) {
    besom_status status = besom_adapt_u64(a->old, key_u64(NEGATIVES, i));
    if (status == BESOM_NO_MEMORY) return status;
    a->done = i + 1;
  }
  return BESOM_OK;
}

static void attempt_init(attempt *a, const subject *s) {
  *a = (attempt){.s = s, .keys = keys_u64(MEMBERS, N), .changed = keys_u64(MEMBERS, N)};
  failing_allocator_init(&a->memory);
  memory_sink_init(&a->patch);
  memory_sink_init(&a->written);
  a->config = config_of(s, N + CHANGED, 1.0 / 32);
  a->config.allocator = &a->memory.api;
  for (size_t i = 0; i < CHANGED; i++) a->changed[i * (N / CHANGED)] = key_u64(MORE_MEMBERS, i);
  a->old = make_of_u64(s, &a->config, a->keys, N);
  a->fresh = make_of_u64(s, &a->config, a->changed, N);
  assert_status(BESOM_OK, besom_diff(a->old, a->fresh, &a->patch.api));
  save_to(&a->old_bytes, a->old);
  save_to(&a->fresh_bytes, a->fresh);
}

static void attempt_close(attempt *a) {
  besom_free(a->old);
  besom_free(a->fresh);
  besom_free(a->result);
  assert_no_error(failing_allocator_verdict(&a->memory));
  failing_allocator_close(&a->memory);
  memory_sink_close(&a->patch);
  memory_sink_close(&a->written);
  memory_sink_close(&a->old_bytes);
  memory_sink_close(&a->fresh_bytes);
  free(a->keys);
  free(a->changed);
}

static void assert_saves_as(const besom_filter *f, const memory_sink *bytes) {
  memory_sink now;
  save_to(&now, f);
  assert_true(memory_sinks_equal(&now, bytes));
  memory_sink_close(&now);
}

static void assert_unchanged(attempt *a, size_t live_blocks) {
  assert_null(a->result);
  assert_int_equal(a->memory.live_blocks, live_blocks);
  assert_saves_as(a->old, &a->old_bytes);
  assert_saves_as(a->fresh, &a->fresh_bytes);
}

/* Reports before the failed one stay; the members do in any case. */
static void assert_reported(attempt *a) {
  assert_valid(a->old);
  assert_holds_u64(a->old, a->keys, N);
  assert_status(BESOM_OK, try_adapt(a));
}

/* Returns whether an allocation failed. A call may succeed with less memory, more slowly. */
static bool fails_cleanly_at(attempt *a, attempted_call call, uint64_t n, bool fail_after) {
  size_t live_blocks = a->memory.live_blocks;
  a->memory.fail_at = a->memory.calls + n;
  a->memory.fail_after = fail_after;
  besom_status status = call(a);
  bool failed = a->memory.calls >= a->memory.fail_at;
  a->memory.fail_at = 0;
  if (status == BESOM_OK) return failed;
  assert_status(BESOM_NO_MEMORY, status);
  assert_true(failed);
  if (call == try_adapt)
    assert_reported(a);
  else
    assert_unchanged(a, live_blocks);
  return true;
}

static void assert_fails_cleanly(const subject *s, attempted_call call) {
  for (int fail_after = 0; fail_after < 2; fail_after++) {
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
      attempt a;
      attempt_init(&a, s);
      failed = fails_cleanly_at(&a, call, n, fail_after);
      attempt_close(&a);
    }
  }
}

static void the_nth_allocation_of_a_diff_or_patch_may_fail(void **state) {
  const subject *s = subject_of(state);
  assert_fails_cleanly(s, try_diff);
  assert_fails_cleanly(s, try_patch);
}

static bool can_build_like(const subject *s) {
  attempt a;
  attempt_init(&a, s);
  besom_status status = try_build_like(&a);
  attempt_close(&a);
  return status != BESOM_UNSUPPORTED;
}

static void the_nth_allocation_of_a_build_may_fail(void **state) {
  const subject *s = subject_of(state);
  assert_fails_cleanly(s, try_build);
  if (can_build_like(s)) assert_fails_cleanly(s, try_build_like);
}

static void the_nth_allocation_of_a_report_may_fail(void **state) {
  const subject *s = subject_of(state);
  if (adapts_without_keys(s)) assert_fails_cleanly(s, try_adapt);
}

static void the_nth_allocation_of_a_rekey_may_fail(void **state) {
  assert_fails_cleanly(subject_of(state), try_rekey);
}

const law memory_call_laws[] = {
    LAW(the_nth_allocation_of_a_diff_or_patch_may_fail, EVERY_KIND, 0),
    LAW(the_nth_allocation_of_a_build_may_fail, EVERY_KIND, CAN_BUILD),
    LAW(the_nth_allocation_of_a_report_may_fail, EVERY_KIND, BESOM_CAN_ADAPT),
    LAW(the_nth_allocation_of_a_rekey_may_fail, EVERY_KIND, BESOM_CAN_REKEY),
    {0},
};
