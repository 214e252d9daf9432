/* A diff, applied to the old filter, makes the new filter. */
#include <stdlib.h>

#include "filters.h"

enum { N = 3000, CHANGED = 40 };

/* Two filters that differ in some keys, and in adaptations if the kind adapts. */
static void make_two(const subject *s, size_t n, size_t changed, besom_filter **old,
                     besom_filter **fresh) {
  besom_config config = config_of(s, n + changed, 1.0 / 128);
  uint64_t *keys = keys_u64(MEMBERS, n), *others = keys_u64(MORE_MEMBERS, changed);
  *old = make_of_u64(s, &config, keys, n);
  for (size_t i = 0; i < changed; i++) keys[i * (n / (changed + 1))] = others[i];
  *fresh = make_of_u64(s, &config, keys, n);
  if (can(s, BESOM_CAN_ADAPT) && !needs_store(s))
    for (size_t i = 0; i < changed; i++) besom_adapt_u64(*fresh, key_u64(NEGATIVES, i));
  free(keys);
  free(others);
}

static besom_filter *patched(const besom_filter *old, const memory_sink *patch) {
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_patch(old, patch->data, patch->len, &f));
  return f;
}

/* The forms of a patch. */
static besom_status diff_in_form(unsigned form, const besom_filter *old, const besom_filter *fresh,
                                 const besom_sink *sink) {
  return form ? besom_diff_compact(old, fresh, sink) : besom_diff(old, fresh, sink);
}

static void a_patch_makes_the_new_filter_of_the_old(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {1, 2, 70, N}, changes[] = {0, 1, 1, CHANGED};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    besom_filter *old, *fresh;
    memory_sink patch;
    make_two(s, sizes[i], changes[i], &old, &fresh);
    memory_sink_init(&patch);
    for (unsigned form = 0; form < 2; form++) {
      patch.len = 0;
      assert_status(BESOM_OK, diff_in_form(form, old, fresh, &patch.api));
      besom_filter *made = patched(old, &patch), *other = NULL;
      assert_same_bytes(made, fresh);
      if (changes[i])
        assert_status(BESOM_INCOMPATIBLE, besom_patch(fresh, patch.data, patch.len, &other));
      besom_free(made);
    }
    besom_free(old);
    besom_free(fresh);
    memory_sink_close(&patch);
  }
}

/* The new filter may be much larger than the old one and the patch. */
static void a_patch_may_make_a_much_larger_filter(void **state) {
  const subject *s = subject_of(state);
  enum { KEYS = 1000, LARGE = 300 };
  besom_config small = config_of(s, KEYS, 1.0 / 128), large = config_of(s, LARGE * KEYS, 1.0 / 128);
  uint64_t *keys = keys_u64(MEMBERS, KEYS);
  besom_filter *old = make_of_u64(s, &small, keys, KEYS),
               *fresh = make_of_u64(s, &large, keys, KEYS);
  memory_sink patch;
  memory_sink_init(&patch);
  assert_status(BESOM_OK, besom_diff(old, fresh, &patch.api));
  besom_filter *made = patched(old, &patch);
  assert_same_bytes(made, fresh);
  besom_free(made);
  besom_free(old);
  besom_free(fresh);
  memory_sink_close(&patch);
  free(keys);
}

static void damaged_patches_are_refused(void **state) {
  const subject *s = subject_of(state);
  besom_filter *old, *fresh;
  memory_sink patch;
  make_two(s, 300, 10, &old, &fresh);
  memory_sink_init(&patch);
  assert_status(BESOM_OK, besom_diff(old, fresh, &patch.api));
  random_stream random = {7};
  for (size_t i = 0; i < 400; i++) {
    besom_filter *f = NULL;
    size_t at = (size_t)random_below(&random, patch.len);
    uint8_t flip = (uint8_t)(1u << random_below(&random, 8));
    patch.data[at] ^= flip;
    besom_status status = besom_patch(old, patch.data, patch.len, &f);
    if (status == BESOM_OK) assert_same_bytes(f, fresh); /* unused bits at the end of a chunk */
    besom_free(f);
    patch.data[at] ^= flip;
    f = NULL;
    assert_true(besom_patch(old, patch.data, at, &f) != BESOM_OK);
  }
  besom_free(old);
  besom_free(fresh);
  memory_sink_close(&patch);
}

static void bad_arguments_make_no_patch(void **state) {
  const subject *s = subject_of(state);
  besom_filter *old, *fresh, *f = NULL;
  memory_sink patch;
  make_two(s, 100, 3, &old, &fresh);
  memory_sink_init(&patch);
  assert_status(BESOM_INVALID, besom_diff(NULL, fresh, &patch.api));
  assert_status(BESOM_INVALID, besom_diff(old, NULL, &patch.api));
  assert_status(BESOM_INVALID, besom_diff(old, fresh, NULL));
  assert_status(BESOM_INVALID, besom_patch(old, NULL, 3, &f));
  assert_status(BESOM_INVALID, besom_patch(NULL, "abc", 3, &f));
  assert_status(BESOM_CORRUPT, besom_patch(old, "abc", 3, &f));
  besom_free(old);
  besom_free(fresh);
  memory_sink_close(&patch);
}

const law patch_laws[] = {
    LAW(a_patch_makes_the_new_filter_of_the_old, EVERY_SUBJECT, 0),
    LAW(a_patch_may_make_a_much_larger_filter, EVERY_KIND, 0),
    LAW(damaged_patches_are_refused, EVERY_KIND, 0),
    LAW(bad_arguments_make_no_patch, EVERY_KIND, 0),
    {0},
};
