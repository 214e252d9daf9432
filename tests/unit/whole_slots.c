/*
 * form=published of aqf: further slots without tags. How many a fix and a count take, in both
 * forms; that files keep the form, and which files are refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_lists.h"
#include "besom_reverse.h"
#include "core/bits.h"
#include "support/checksums.h"
#include "support/counters.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { SLOTS = 40000, MEMBER_KEYS = 29000 };

static const uint8_t seed[16] = {7};
static const char *const published = "form=published";

static void assert_ok(besom_status status) {
  if (status != BESOM_OK) fail_msg("%s", besom_strerror(status));
}

/* ------------------------------------------------------------------ a filter and its keys */

/* The digests of the members by their matches: sorted by bucket, ranks are 0 in most buckets. */
struct stored {
  besom_match match;
  besom_digest digest;
};

struct bound {
  besom_filter *f;
  struct stored *keys;
  size_t n;
};

static int by_match(const void *a, const void *b) {
  const besom_match *x = &((const struct stored *)a)->match,
                    *y = &((const struct stored *)b)->match;
  if (x->bucket != y->bucket) return x->bucket < y->bucket ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  const struct bound *b = ctx;
  const struct stored wanted = {*match, {0, 0}},
                      *found = bsearch(&wanted, b->keys, b->n, sizeof *b->keys, by_match);
  (void)f;
  assert_non_null(found);
  *digest = found->digest;
  return BESOM_OK;
}

static void open_bound(struct bound *b, uint32_t width, const char *options) {
  besom_config config = {.kind = "aqf",
                         .slots = SLOTS,
                         .width = width,
                         .reserve = 0.2,
                         .seed = seed,
                         .options = options};
  besom_reverse reverse = {.ctx = b, .digest_of = digest_of};
  *b = (struct bound){.keys = heap_array(MEMBER_KEYS, sizeof *b->keys)};
  assert_ok(besom_create(&config, &b->f));
  assert_ok(besom_bind(b->f, &reverse));
  for (; b->n < MEMBER_KEYS; b->n++) {
    struct stored *key = &b->keys[b->n];
    key->digest = besom_hash_u64(b->f, key_u64(MEMBERS, b->n));
    assert_ok(besom_insert_at(b->f, key->digest, 0, &key->match));
  }
  qsort(b->keys, b->n, sizeof *b->keys, by_match);
}

static void close_bound(struct bound *b) {
  besom_free(b->f);
  free(b->keys);
}

static void assert_members(const besom_filter *f, size_t n) {
  const char *reason = NULL;
  if (besom_validate(f, &reason) != BESOM_OK) fail_msg("%s", reason);
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
}

static uint64_t used_slots(const besom_filter *f) {
  besom_statistics stats;
  assert_ok(besom_stats(f, &stats));
  return (uint64_t)llround(stats.load_factor * (double)stats.slots);
}

/* Reports false positives until so many fingerprints are extended. */
static void adapt(struct bound *b, uint64_t fingerprints) {
  for (uint64_t i = 0; counter_of(b->f, "extended") < fingerprints; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (!besom_contains_u64(b->f, key)) continue;
    assert_ok(besom_adapt_u64(b->f, key));
    assert_false(besom_contains_u64(b->f, key));
  }
}

/* ------------------------------------------------------------------ tests */

/*
 * A fix needs b bits or more with probability 2^-(b-1), and n further slots of p bits hold n p - 2.
 * docs/papers.md has these numbers, and those of the paper: n r bits.
 */
static void a_fix_takes_these_slots(void **state) {
  (void)state;
  static const struct {
    uint32_t width;
    const char *options;
    unsigned payload;
    double slots;
  } cases[] = {
      {8, NULL, 5, 1.129},  {8, "form=published", 8, 1.016},
      {4, NULL, 3, 1.571},  {4, "form=published", 4, 1.267},
      {10, NULL, 7, 1.031}, {10, "form=published", 10, 1.004},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bound b;
    double expected = 1;
    for (unsigned n = 1; n < 20; n++) expected += ldexp(1, 2 - (int)(n * cases[i].payload));
    assert_true(fabs(expected - cases[i].slots) < 0.001);
    open_bound(&b, cases[i].width, cases[i].options);
    uint64_t before = used_slots(b.f);
    adapt(&b, 2000);
    double extended = (double)counter_of(b.f, "extended"),
           slots = (double)(used_slots(b.f) - before) / extended;
    if (fabs(slots - expected) > 0.05) fail_msg("%g slots instead of %g", slots, expected);
    assert_members(b.f, MEMBER_KEYS);
    close_bound(&b);
  }
}

/* One further slot of 8 bits counts to 9 with a tag, and to 65 without. */
static void a_slot_counts_further_without_a_tag(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    besom_config config = {.kind = "aqf", .slots = 1000, .width = 8, .seed = seed};
    config.options = form ? published : NULL;
    besom_filter *f;
    assert_ok(besom_create(&config, &f));
    for (uint64_t n = 1, last = form ? 65 : 9; n <= last + 1; n++) {
      uint64_t count = 0;
      assert_ok(besom_insert_u64(f, key_u64(MEMBERS, 0)));
      assert_ok(besom_count_u64(f, key_u64(MEMBERS, 0), &count));
      assert_int_equal(count, n);
      assert_int_equal(used_slots(f), n == 1 ? 1 : n <= last ? 2 : 3);
    }
    assert_members(f, 1);
    besom_free(f);
  }
}

/* Zeros in a further slot: counts from 2 on have them. Neighbours come and go around them. */
static void slots_of_zeros_are_not_empty(void **state) {
  (void)state;
  besom_config config = {
      .kind = "aqf", .slots = 3000, .width = 2, .seed = seed, .options = published};
  besom_filter *f;
  random_stream random = {3};
  uint64_t counts[500] = {0}, copies = 0;
  assert_ok(besom_create(&config, &f));
  for (size_t step = 0; step < 30000; step++) {
    size_t i = (size_t)random_below(&random, 500);
    if (random_below(&random, 9) < 5) {
      besom_status status = besom_insert_u64(f, key_u64(MEMBERS, i));
      if (status == BESOM_FULL) continue;
      assert_ok(status);
      counts[i]++, copies++;
    } else if (counts[i]) {
      assert_ok(besom_remove_u64(f, key_u64(MEMBERS, i)));
      counts[i]--, copies--;
    }
    if (step % 1000) continue;
    const char *reason = NULL;
    if (besom_validate(f, &reason) != BESOM_OK) fail_msg("%s", reason);
    besom_statistics stats;
    assert_ok(besom_stats(f, &stats));
    assert_int_equal(stats.keys, copies);
    for (size_t k = 0; k < 500; k++)
      if (counts[k]) assert_true(besom_contains_u64(f, key_u64(MEMBERS, k)));
  }
  besom_free(f);
}

static void save(const besom_filter *f, memory_sink *sink) {
  memory_sink_init(sink);
  assert_ok(besom_save(f, &sink->api));
}

static besom_status load(memory_sink *sink, besom_filter **f) {
  fix_checksums(sink->data, sink->len);
  return besom_load(sink->data, sink->len, NULL, f);
}

/* Offsets in the parameters (docs/format.md), which are the first section. */
static uint8_t *parameter(memory_sink *sink, size_t offset) {
  return sink->data + load64(sink->data + 64 + 8) + offset;
}

static void files_keep_the_form(void **state) {
  (void)state;
  struct bound b;
  memory_sink sink, again;
  besom_filter *f;
  open_bound(&b, 5, published);
  adapt(&b, 1000);
  save(b.f, &sink);
  assert_int_equal(*parameter(&sink, 60), 4); /* version 0.2 refuses it: CORRUPT */
  assert_ok(load(&sink, &f));
  assert_members(f, MEMBER_KEYS);
  for (uint64_t i = 0; i < 50000; i++)
    assert_int_equal(besom_contains_u64(f, key_u64(NEGATIVES, i)),
                     besom_contains_u64(b.f, key_u64(NEGATIVES, i)));
  save(f, &again);
  assert_true(memory_sinks_equal(&sink, &again));
  besom_free(f);
  memory_sink_close(&again);
  store64(parameter(&sink, 104), 0); /* whole slots, and the default form */
  assert_int_equal(load(&sink, &f), BESOM_CORRUPT);
  memory_sink_close(&sink);
  close_bound(&b);
}

/* Version 0.2 wrote the published form with tags. It stays so: no merge with whole slots. */
static void files_with_tags_keep_them(void **state) {
  (void)state;
  struct bound b;
  memory_sink sink;
  besom_filter *f, *whole, *merged;
  open_bound(&b, 5, NULL);
  adapt(&b, 1000);
  save(b.f, &sink);
  store64(parameter(&sink, 104), 2);
  assert_ok(load(&sink, &f));
  assert_members(f, MEMBER_KEYS);
  uint64_t key = 0;
  while (!besom_contains_u64(f, key_u64(NEGATIVES, key))) key++;
  assert_int_equal(besom_adapt_u64(f, key_u64(NEGATIVES, key)), BESOM_NEEDS_STORE);
  besom_config config = {.kind = "aqf",
                         .slots = SLOTS,
                         .width = 5,
                         .reserve = 0.2,
                         .seed = seed,
                         .options = published};
  assert_ok(besom_create(&config, &whole));
  assert_int_equal(besom_merge(f, whole, &merged), BESOM_INCOMPATIBLE);
  assert_int_equal(besom_merge(whole, f, &merged), BESOM_INCOMPATIBLE);
  besom_free(whole);
  besom_free(f);
  memory_sink_close(&sink);
  close_bound(&b);
}

/* A diff of filters with whole slots lists their runs, and gives the new one. */
static void diffs_and_resizes_keep_it(void **state) {
  (void)state;
  for (int compact = 0; compact < 2; compact++) {
    struct bound b;
    memory_sink patch, fresh, patched;
    besom_filter *old, *out;
    open_bound(&b, 7, published);
    save(b.f, &fresh);
    assert_ok(load(&fresh, &old));
    memory_sink_close(&fresh);
    adapt(&b, 100);
    for (uint64_t i = 0; i < 100; i++) assert_ok(besom_insert_u64(b.f, key_u64(MORE_MEMBERS, i)));
    memory_sink_init(&patch);
    assert_ok(compact ? besom_diff_compact(old, b.f, &patch.api)
                      : besom_diff(old, b.f, &patch.api));
    assert_true(patch.len < 3000);
    assert_ok(besom_patch(old, patch.data, patch.len, &out));
    save(b.f, &fresh);
    save(out, &patched);
    assert_true(memory_sinks_equal(&fresh, &patched));
    assert_ok(besom_resize(out, 2 * SLOTS, NULL));
    assert_members(out, MEMBER_KEYS);
    assert_ok(besom_resize(out, SLOTS, NULL));
    assert_members(out, MEMBER_KEYS);
    for (uint64_t i = 0; i < 20000; i++)
      assert_int_equal(besom_contains_u64(out, key_u64(NEGATIVES, i)),
                       besom_contains_u64(b.f, key_u64(NEGATIVES, i)));
    memory_sink_close(&patch);
    memory_sink_close(&fresh);
    memory_sink_close(&patched);
    besom_free(out);
    besom_free(old);
    close_bound(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fix_takes_these_slots),
      cmocka_unit_test(a_slot_counts_further_without_a_tag),
      cmocka_unit_test(slots_of_zeros_are_not_empty),
      cmocka_unit_test(files_keep_the_form),
      cmocka_unit_test(files_with_tags_keep_them),
      cmocka_unit_test(diffs_and_resizes_keep_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
