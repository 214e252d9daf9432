/*
 * Calls on filters of every kind: the forms of a call give the same result, batches of any length
 * with an invalid argument are answered yes, what is not a file of a filter is named, and the
 * counters of a large filter tell its huge pages where the system does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_reverse.h"
#include "support/failing_allocator.h"
#include "support/keys.h"
#include "support/saved_filters.h"
#include "support/temp_files.h"

enum { N = 300, BATCH = 200 };

typedef struct list {
  uint64_t at, key;
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == N) return BESOM_END;
  l->key = little_endian(key_u64(MEMBERS, l->at++));
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

static besom_status rewind_list(void *ctx) {
  ((list *)ctx)->at = 0;
  return BESOM_OK;
}

/* NULL if the kind needs a store to be built. */
static besom_filter *build(const char *kind, const char *hash) {
  list l = {0};
  besom_source yes = {.next = next, .rewind = rewind_list, .size_hint = N, .ctx = &l};
  besom_config config = {.kind = kind, .hash = hash, .capacity = 2 * N};
  besom_filter *f = NULL;
  besom_status status = besom_build(&config, &(besom_input){.yes = &yes}, &f);
  if (status != BESOM_OK) assert_int_equal(status, BESOM_NEEDS_STORE);
  return f;
}

/* ------------------------------------------------------------------ forms of a call */

static void assert_forms_agree(const besom_filter *f, uint64_t key) {
  besom_u64_key bytes = besom_u64(key);
  besom_bytes string = {bytes.bytes, sizeof bytes.bytes};
  besom_digest d = besom_hash_u64(f, key), of_bytes = besom_hash(f, string.data, string.len);
  uint64_t bitmap = 0, of_u64 = 0;
  assert_true(d.hi == of_bytes.hi && d.lo == of_bytes.lo);
  bool yes = besom_contains(f, string.data, string.len);
  assert_int_equal(besom_contains_u64(f, key), yes);
  assert_int_equal(besom_contains_many(f, &string, 1, &bitmap), BESOM_OK);
  assert_int_equal(besom_contains_many_u64(f, &key, 1, &of_u64), BESOM_OK);
  assert_int_equal(bitmap, yes);
  assert_int_equal(of_u64, yes);
  if (yes) assert_true(besom_contains_digest(f, d)); /* without the key it may be yes more often */
  assert_int_equal(besom_contains_many_digest(f, &d, 1, &bitmap), BESOM_OK);
  assert_int_equal(bitmap, besom_contains_digest(f, d));
}

static void forms_of_a_query_agree(void **state) {
  (void)state;
  static const char *const hashes[] = {"xxh3", "sip"};
  for (size_t k = 0; besom_kinds(k); k++)
    for (size_t h = 0; h < 2; h++) {
      besom_filter *f = build(besom_kinds(k)->name, hashes[h]);
      for (uint64_t i = 0; f && i < N; i++) {
        assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
        assert_forms_agree(f, key_u64(MEMBERS, i));
        assert_forms_agree(f, key_u64(NEGATIVES, i));
      }
      besom_free(f);
    }
}

/* A kind that has no such operation says so before it looks at the argument. */
static void changes_that_a_kind_lacks_are_unsupported(void **state) {
  (void)state;
  besom_digest absent = {1, 2};
  besom_source no_rewind = {.next = next}, no_next = {.rewind = rewind_list};
  size_t done = 1;
  for (size_t k = 0; besom_kinds(k); k++) {
    besom_filter *f = build(besom_kinds(k)->name, NULL);
    if (!f) continue;
    unsigned can = besom_abilities(f);
    besom_status removed = besom_remove_digest(f, absent), adapted = besom_adapt_digest(f, absent);
    assert_int_equal(removed == BESOM_UNSUPPORTED, !(can & BESOM_CAN_REMOVE));
    assert_int_equal(adapted == BESOM_UNSUPPORTED, !(can & BESOM_CAN_ADAPT));
    besom_status inserted = besom_insert_many_digest(f, NULL, 1, &done);
    assert_int_equal(inserted, can & (BESOM_CAN_INSERT | BESOM_INSERTS_LATER) ? BESOM_INVALID
                                                                              : BESOM_UNSUPPORTED);
    assert_int_equal(done, 0);
    besom_status bound = besom_bind_source(f, NULL);
    besom_status refused = bound == BESOM_UNSUPPORTED ? BESOM_UNSUPPORTED : BESOM_INVALID;
    assert_int_equal(besom_bind_source(f, &no_rewind), refused);
    assert_int_equal(besom_bind_source(f, &no_next), refused);
    refused = besom_set_reserve(f, 0, false);
    assert_true(refused == BESOM_INVALID || refused == BESOM_UNSUPPORTED);
    assert_int_equal(besom_set_reserve(f, (UINT64_C(1) << 40) + 1, false), refused);
    besom_free(f);
  }
}

/* No false negatives, whatever the caller does. */
static void an_invalid_batch_is_answered_yes(void **state) {
  (void)state;
  besom_bytes strings[BATCH] = {{NULL, 0}};
  besom_filter *f = build("qf", NULL);
  strings[BATCH - 1].len = 1; /* of NULL */
  for (size_t n = 0; n <= BATCH; n += 40) {
    uint64_t bitmap[BATCH / 64 + 1] = {0};
    besom_bytes *from = strings + (BATCH - n);
    assert_int_equal(besom_contains_many(NULL, from, n, bitmap), BESOM_INVALID);
    for (size_t i = 0; i < BATCH; i++) assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, i < n);
    if (n) assert_int_equal(besom_contains_many(f, from, n, bitmap), BESOM_INVALID);
    assert_int_equal(besom_contains_many_digest(NULL, NULL, n, bitmap), BESOM_INVALID);
    for (size_t i = 0; i < BATCH; i++) assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, i < n);
    assert_int_equal(besom_contains_many_digest(f, NULL, 1, NULL), BESOM_INVALID);
  }
  besom_free(f);
}

/* ------------------------------------------------------------------ builds */

static besom_status build_with(besom_config config, const besom_progress *progress,
                               besom_filter **out) {
  list l = {0};
  besom_source yes = {.next = next, .rewind = rewind_list, .size_hint = N, .ctx = &l};
  return besom_build(&config, &(besom_input){.yes = &yes, .progress = progress}, out);
}

static void assert_built(besom_config config, const besom_progress *progress) {
  besom_filter *f = NULL;
  besom_statistics stats;
  assert_int_equal(build_with(config, progress, &f), BESOM_OK);
  for (uint64_t i = 0; i < N; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  if (config.slots) assert_int_equal(stats.slots, config.slots);
  if (config.bits_per_key > 0) assert_true(8.0 * (double)stats.bytes <= config.bits_per_key * N);
  besom_free(f);
}

/* Members of a configuration that determine others. */
static void configurations_are_built_as_asked_for(void **state) {
  (void)state;
  const besom_progress silent = {NULL, NULL};
  const char *cached = "base=qf,cache_bits=20000";
  assert_built((besom_config){.kind = "yesno", .slots = 600}, NULL);
  assert_built((besom_config){.kind = "yesno", .slots = 600, .width = 9}, NULL);
  assert_built((besom_config){.kind = "yesno", .bits_per_key = 200}, NULL);
  assert_built((besom_config){.kind = "cached", .capacity = N, .options = cached}, NULL);
  assert_built(
      (besom_config){.kind = "cached", .capacity = N, .bits_per_key = 150, .options = cached},
      NULL);
  for (size_t k = 0; besom_kinds(k); k++) { /* progress without a callback */
    besom_filter *f = NULL;
    besom_config config = {.kind = besom_kinds(k)->name, .capacity = N};
    besom_status status = build_with(config, &silent, &f);
    assert_true(status == BESOM_OK || status == BESOM_NEEDS_STORE);
    besom_free(f);
  }
}

static besom_status next_copy(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == N) return BESOM_END;
  l->key = little_endian(key_u64(MEMBERS, l->at++ < N / 2 ? 0 : l->at));
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

/* More copies than a cell of fuse counts. */
static void many_copies_of_a_key_are_one_member(void **state) {
  (void)state;
  static const char *const kinds[] = {"fuse", "ribbon", "yesno"};
  for (size_t i = 0; i < 3; i++) {
    list l = {0};
    besom_source yes = {.next = next_copy, .rewind = rewind_list, .size_hint = N, .ctx = &l};
    besom_config config = {.kind = kinds[i], .capacity = N};
    besom_filter *f = NULL;
    besom_statistics stats;
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes}, &f), BESOM_OK);
    assert_int_equal(besom_stats(f, &stats), BESOM_OK);
    assert_int_equal(stats.keys, 1 + N / 2);
    for (l.at = 0; l.at < N;) {
      besom_bytes key;
      assert_int_equal(next_copy(&l, &key, NULL), BESOM_OK);
      assert_true(besom_contains(f, key.data, key.len));
    }
    besom_free(f);
  }
}

/* The members again, and no reports: of kinds that cannot adapt, a no list is UNSUPPORTED. */
static void a_rekey_with_a_no_list_needs_a_kind_that_adapts(void **state) {
  (void)state;
  for (size_t k = 0; besom_kinds(k); k++) {
    besom_filter *f = build(besom_kinds(k)->name, NULL);
    list l = {0}, none = {.at = N};
    besom_source yes = {.next = next, .rewind = rewind_list, .size_hint = N, .ctx = &l};
    besom_source no = {.next = next, .ctx = &none};
    if (f && besom_abilities(f) & BESOM_CAN_REKEY) {
      bool adapts = besom_abilities(f) & BESOM_CAN_ADAPT;
      besom_status expected = adapts ? BESOM_OK : BESOM_UNSUPPORTED;
      assert_int_equal(besom_rekey(f, &yes, &no, NULL, NULL), expected);
      for (uint64_t i = 0; i < N; i++) assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
    }
    besom_free(f);
  }
}

/* As of plain filters, but the patch is not made run by run: other threads may change them. */
static void concurrent_filters_have_a_diff(void **state) {
  (void)state;
  static const uint8_t seed[16] = "a diff of both";
  for (uint32_t flags = 0; flags < 4; flags++) {
    besom_config config = {.kind = "aqf", .capacity = N, .seed = seed};
    besom_filter *old = NULL, *fresh = NULL, *made = NULL;
    config.flags = flags & 1 ? BESOM_CONCURRENT : 0;
    assert_int_equal(besom_create(&config, &old), BESOM_OK);
    config.flags = flags & 2 ? BESOM_CONCURRENT : 0;
    assert_int_equal(besom_create(&config, &fresh), BESOM_OK);
    for (uint64_t i = 0; i < N / 2; i++) {
      assert_int_equal(besom_insert_u64(old, i), BESOM_OK);
      assert_int_equal(besom_insert_u64(fresh, i + 10), BESOM_OK);
    }
    memory_sink patch;
    memory_sink_init(&patch);
    assert_int_equal(besom_diff(old, fresh, &patch.api), BESOM_OK);
    assert_int_equal(besom_patch(old, patch.data, patch.len, &made), BESOM_OK);
    assert_same_bytes(made, fresh);
    memory_sink_close(&patch);
    besom_free(old);
    besom_free(fresh);
    besom_free(made);
  }
}

/* Two plain filters, and their patch, which is made run by run. */
static void make_patch_of_runs(besom_filter **old, besom_filter **fresh, memory_sink *patch) {
  static const uint8_t seed[16] = "a patch of runs";
  besom_config config = {.kind = "aqf", .capacity = N, .seed = seed};
  assert_int_equal(besom_create(&config, old), BESOM_OK);
  assert_int_equal(besom_create(&config, fresh), BESOM_OK);
  for (uint64_t i = 0; i < N / 2; i++) {
    assert_int_equal(besom_insert_u64(*old, i), BESOM_OK);
    assert_int_equal(besom_insert_u64(*fresh, i + 10), BESOM_OK);
  }
  memory_sink_init(patch);
  assert_int_equal(besom_diff(*old, *fresh, &patch->api), BESOM_OK);
}

/* A filter with the saved bytes of f, in memory that may fail. */
static besom_filter *shared_copy(const besom_filter *f, const failing_allocator *memory) {
  besom_filter *copy = NULL;
  memory_sink saved;
  memory_sink_init(&saved);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_load(saved.data, saved.len, &memory->api, &copy), BESOM_OK);
  assert_int_equal(besom_share(copy), BESOM_OK);
  memory_sink_close(&saved);
  return copy;
}

/* A publisher has plain filters; the consumer has made its own concurrent. */
static void a_patch_of_plain_filters_fits_a_concurrent_one(void **state) {
  (void)state;
  besom_filter *old, *fresh, *made = NULL;
  memory_sink patch;
  failing_allocator memory;
  failing_allocator_init(&memory);
  make_patch_of_runs(&old, &fresh, &patch);
  besom_filter *shared = shared_copy(old, &memory);
  besom_status status = BESOM_NO_MEMORY;
  uint64_t failed = 0;
  for (; status == BESOM_NO_MEMORY; failed++) {
    size_t live = memory.live_blocks;
    memory.fail_at = memory.calls + failed + 1;
    status = besom_patch(shared, patch.data, patch.len, &made);
    memory.fail_at = 0;
    if (status == BESOM_NO_MEMORY) {
      assert_null(made);
      assert_int_equal(memory.live_blocks, live);
      assert_same_bytes(shared, old);
    }
  }
  assert_int_equal(status, BESOM_OK);
  assert_true(failed > 2);
  assert_same_bytes(made, fresh);
  assert_same_bytes(shared, old);
  memory_sink_close(&patch);
  besom_free(old);
  besom_free(fresh);
  besom_free(shared);
  besom_free(made);
  assert_null(failing_allocator_verdict(&memory));
  failing_allocator_close(&memory);
}

/* ------------------------------------------------------------------ files and pages */

static void assert_not_a_filter(const char *path) {
  besom_fault fault = {NULL, 1};
  besom_filter *f = NULL;
  assert_int_equal(besom_open(path, &(besom_open_options){.fault = &fault}, &f), BESOM_CORRUPT);
  assert_null(f);
  assert_non_null(fault.what);
  assert_int_equal(fault.offset, 0);
  assert_int_equal(besom_open(path, NULL, &f), BESOM_CORRUPT);
}

static void what_is_not_a_filter_is_named(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path empty = temp_dir_file(&dir, "empty"), short_file = temp_dir_file(&dir, "short");
  assert_true(write_whole_file(empty.text, "", 0));
  assert_true(write_whole_file(short_file.text, "b", 1));
  assert_not_a_filter(empty.text);
  assert_not_a_filter(short_file.text);
  assert_not_a_filter(dir.path);
  besom_fault fault = {"old", 1};
  besom_filter *f = NULL;
  temp_path none = temp_dir_file(&dir, "none");
  assert_int_equal(besom_open(none.text, &(besom_open_options){.fault = &fault}, &f), BESOM_IO);
  assert_null(fault.what);
  temp_dir_remove(&dir);
}

/* 4 MB: huge pages, if the system has them and tells. */
static void counters_of_a_large_filter_tell_its_huge_pages(void **state) {
  (void)state;
  static const uint32_t flags[] = {0, BESOM_CONCURRENT};
  for (size_t i = 0; i < 2; i++) {
    besom_config config = {.kind = "aqf", .slots = 1 << 22, .width = 5, .flags = flags[i]};
    besom_filter *f = NULL;
    besom_statistics stats;
    besom_counter counters[64];
    assert_int_equal(besom_create(&config, &f), BESOM_OK);
    assert_int_equal(besom_stats(f, &stats), BESOM_OK);
    size_t n = besom_counters(f, counters, 64), told = 0;
    assert_true(n && n < 64);
    for (size_t c = 0; c < n; c++)
      if (!strcmp(counters[c].name, "huge_page_bytes")) {
        assert_true(counters[c].value <= stats.bytes + (2 << 21));
        told++;
      }
    assert_true(told <= 1);
    besom_free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_of_a_query_agree),
      cmocka_unit_test(changes_that_a_kind_lacks_are_unsupported),
      cmocka_unit_test(an_invalid_batch_is_answered_yes),
      cmocka_unit_test(configurations_are_built_as_asked_for),
      cmocka_unit_test(many_copies_of_a_key_are_one_member),
      cmocka_unit_test(a_rekey_with_a_no_list_needs_a_kind_that_adapts),
      cmocka_unit_test(concurrent_filters_have_a_diff),
      cmocka_unit_test(a_patch_of_plain_filters_fits_a_concurrent_one),
      cmocka_unit_test(what_is_not_a_filter_is_named),
      cmocka_unit_test(counters_of_a_large_filter_tell_its_huge_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
