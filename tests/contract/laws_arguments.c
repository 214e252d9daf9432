/* NULL, invalid and impossible arguments: a status, not a crash. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"

/* ------------------------------------------------------------------ the library */

static void every_status_has_a_message(void **state) {
  (void)state;
  for (int i = -3; i < 100; i++) {
    const char *sentence = besom_strerror((besom_status)i);
    assert_non_null(sentence);
    assert_true(strlen(sentence) > 1 && sentence[strlen(sentence) - 1] != '.');
  }
  for (int i = 0; i <= BESOM_LOCKED; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(besom_strerror((besom_status)i), besom_strerror((besom_status)k));
}

static void the_version_is_that_of_the_header(void **state) {
  (void)state;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", BESOM_VERSION_MAJOR, BESOM_VERSION_MINOR,
           BESOM_VERSION_PATCH);
  assert_string_equal(besom_version(), version);
}

static void kinds_have_distinct_names(void **state) {
  (void)state;
  size_t n = 0;
  for (; besom_kinds(n); n++) {
    assert_true(strlen(besom_kinds(n)->name) > 0);
    assert_true(strlen(besom_kinds(n)->summary) > 0);
    for (size_t k = 0; k < n; k++)
      assert_string_not_equal(besom_kinds(n)->name, besom_kinds(k)->name);
  }
  assert_true(n > 0);
  assert_null(besom_kinds(n));
  assert_null(besom_kinds(SIZE_MAX));
}

/* NULL excludes no key. */
static void a_null_filter_answers_yes(void **state) {
  (void)state;
  uint64_t keys[3] = {1, 2, 3}, bitmap[1] = {0};
  besom_digest digests[3] = {{0, 0}};
  besom_bytes strings[3] = {{"a", 1}, {"b", 1}, {"", 0}};
  assert_true(besom_contains(NULL, "a", 1));
  assert_true(besom_contains_u64(NULL, 1));
  assert_true(besom_contains_digest(NULL, digests[0]));
  besom_contains_many(NULL, strings, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  bitmap[0] = 0;
  besom_contains_many_u64(NULL, keys, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  bitmap[0] = 0;
  besom_contains_many_digest(NULL, digests, 3, bitmap);
  assert_int_equal(bitmap[0], 7);
  assert_int_equal(besom_hash(NULL, "a", 1).hi, 0);
  assert_int_equal(besom_hash(NULL, "a", 1).lo, 0);
  assert_int_equal(besom_hash_u64(NULL, 1).hi, 0);
}

/* Functions that change a filter, or read more than an answer, with NULL. */
static void a_null_filter_is_invalid(void **state) {
  (void)state;
  besom_digest digest = {1, 2};
  besom_bytes string = {"a", 1};
  uint64_t n = 0, key = 1;
  size_t done = 9;
  const char *reason;
  besom_statistics stats;
  assert_status(BESOM_INVALID, besom_insert(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_insert_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_insert_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_insert_many(NULL, &string, 1, &done));
  assert_status(BESOM_INVALID, besom_insert_many_u64(NULL, &key, 1, NULL));
  assert_status(BESOM_INVALID, besom_insert_many_digest(NULL, &digest, 1, &done));
  assert_status(BESOM_INVALID, besom_remove(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_remove_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_remove_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_count(NULL, "a", 1, &n));
  assert_status(BESOM_INVALID, besom_count_u64(NULL, 1, &n));
  assert_status(BESOM_INVALID, besom_count_digest(NULL, digest, &n));
  assert_status(BESOM_INVALID, besom_adapt(NULL, "a", 1));
  assert_status(BESOM_INVALID, besom_adapt_u64(NULL, 1));
  assert_status(BESOM_INVALID, besom_adapt_digest(NULL, digest));
  assert_status(BESOM_INVALID, besom_grow(NULL, 64));
  assert_status(BESOM_INVALID, besom_shrink(NULL, 64));
  assert_status(BESOM_INVALID, besom_stats(NULL, &stats));
  assert_status(BESOM_INVALID, besom_validate(NULL, &reason));
  assert_status(BESOM_INVALID, besom_validate(NULL, NULL));
  besom_free(NULL);
}

static besom_status write_nowhere(void *ctx, const void *data, size_t len) {
  (void)ctx, (void)data, (void)len;
  return BESOM_OK;
}

static void missing_arguments_are_invalid(void **state) {
  (void)state;
  besom_filter *out = NULL;
  besom_iter *iter = NULL;
  besom_entry entry;
  besom_config config = {0};
  besom_sink sink = {.write = write_nowhere};
  assert_status(BESOM_INVALID, besom_create(NULL, &out));
  assert_status(BESOM_INVALID, besom_create(&config, &out)); /* no kind */
  assert_status(BESOM_INVALID, besom_create_like(NULL, &out));
  assert_status(BESOM_INVALID, besom_build(NULL, NULL, NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_build_sorted(NULL, NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_merge(NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_iter_open(NULL, &iter));
  assert_status(BESOM_INVALID, besom_iter_next(NULL, &entry));
  besom_iter_close(NULL);
  assert_status(BESOM_INVALID, besom_save(NULL, &sink));
  assert_status(BESOM_INVALID, besom_save_file(NULL, "/nowhere"));
  assert_status(BESOM_INVALID, besom_load(NULL, 100, NULL, &out));
  assert_status(BESOM_INVALID, besom_load_file(NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_open_mmap(NULL, 0, &out));
  assert_status(BESOM_INVALID,
                besom_open_mmap("/nowhere", ~BESOM_TRUSTED, &out)); /* unknown flags */
  assert_status(BESOM_CORRUPT, besom_load("", 0, NULL, &out));
  assert_null(out);
  assert_null(iter);
}

/* ------------------------------------------------------------------ each kind */

/* besom_create and besom_build both fail. */
static void assert_no_filter(besom_status expected, const besom_config *config) {
  besom_filter *f = NULL;
  uint64_t key = 1;
  array_source source;
  source_of_u64(&source, &key, 1);
  assert_status(expected, besom_build(config, &source.api, NULL, NULL, &f));
  assert_null(f);
  besom_status status = besom_create(config, &f);
  if (status != BESOM_UNSUPPORTED) assert_status(expected, status);
  assert_null(f);
}

static void impossible_numbers_are_invalid(void **state) {
  const subject *s = subject_of(state);
  const double bad_rates[] = {-0.5, 1, 1.5, -0x1p-60, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof bad_rates / sizeof *bad_rates; i++) {
    besom_config config = config_of(s, 100, bad_rates[i]);
    assert_no_filter(BESOM_INVALID, &config);
  }
  const double bad_bits[] = {-1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof bad_bits / sizeof *bad_bits; i++) {
    besom_config config = config_of(s, 100, 0);
    config.bits = bad_bits[i];
    assert_no_filter(BESOM_INVALID, &config);
  }
  const uint64_t bad_capacities[] = {(UINT64_C(1) << 44) + 1, UINT64_C(1) << 63, UINT64_MAX};
  for (size_t i = 0; i < sizeof bad_capacities / sizeof *bad_capacities; i++) {
    besom_config config = config_of(s, bad_capacities[i], 0);
    assert_no_filter(BESOM_INVALID, &config);
    config = config_of(s, 100, 0);
    config.max_capacity = bad_capacities[i];
    assert_no_filter(BESOM_INVALID, &config);
    config = geometry_of(s, bad_capacities[i], 8);
    assert_no_filter(BESOM_INVALID, &config);
  }
  besom_config both = config_of(s, 100, 0.01), wide = geometry_of(s, 100, 65),
               none = config_of(s, 0, 0);
  both.bits = 12;
  assert_no_filter(BESOM_INVALID, &both);
  assert_no_filter(BESOM_INVALID, &wide);
  besom_filter *f = NULL;
  bool is_created = can(s, BESOM_CAN_INSERT) || needs_store(s);
  assert_status(is_created ? BESOM_INVALID : BESOM_UNSUPPORTED, besom_create(&none, &f));
}

/* A flag that no kind knows, and a flag that some kinds do not support. */
static void flags_are_known_or_refused(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 100, 0);
  config.flags = BESOM_CONCURRENT | 1u << 20;
  assert_no_filter(BESOM_INVALID, &config);
  config.flags = BESOM_CONCURRENT;
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status != BESOM_OK) {
    assert_no_filter(BESOM_UNSUPPORTED, &config);
    return;
  }
  assert_string_equal(stats_of(f).kind, s->kind->name);
  besom_free(f);
}

/* Extreme false-positive rates and bits per key: the filter keeps them, or there is none. */
static void extreme_configurations_are_kept_or_refused(void **state) {
  const subject *s = subject_of(state);
  const double rates[] = {0x1p-40, 0x1p-60, 0x1p-64, 0x1p-80, 0x1p-300, 0x1p-1074, 0.999999};
  const double bits[] = {0x1p-1074, 0.001, 0.5, 1, 2, 3, 4, 100, 1000, 1e18, 1e300};
  enum { N = 1000 };
  uint64_t *keys = keys_u64(MEMBERS, N);
  for (size_t i = 0; i < sizeof rates / sizeof *rates + sizeof bits / sizeof *bits; i++) {
    besom_config config = config_of(s, N, 0);
    if (i < sizeof rates / sizeof *rates)
      config.fpr = rates[i];
    else
      config.bits = bits[i - sizeof rates / sizeof *rates];
    besom_filter *f = NULL;
    array_source source;
    source_of_u64(&source, keys, N);
    besom_status status = besom_build(&config, &source.api, NULL, NULL, &f);
    assert_true(status == BESOM_OK || status == BESOM_INVALID);
    if (status != BESOM_OK) continue;
    besom_statistics stats = stats_of(f);
    if (config.fpr != 0) assert_true(stats.fpr_at_capacity <= config.fpr);
    /* In so small a filter the struct may add a bit per key. */
    else
      assert_true(8.0 * (double)stats.bytes <= config.bits * N * 1.02 + 8 * 512);
    assert_holds_u64(f, keys, N);
    besom_free(f);
  }
  free(keys);
}

static void unknown_names_are_refused(void **state) {
  const subject *s = subject_of(state);
  const char *const kinds[] = {"", "no such kind", "QF", " qf", "qf "};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    besom_config config = config_of(s, 100, 0);
    config.kind = kinds[i];
    assert_no_filter(BESOM_UNKNOWN_KIND, &config);
  }
  const char *const options[] = {"foo=1",
                                 "isa=",
                                 ",",
                                 "isa",
                                 "=",
                                 "=portable",
                                 "isa=portable,",
                                 ",isa=",
                                 "isa=x",
                                 ";;",
                                 "isa=portabl",
                                 "isa=avx2 ",
                                 "foo",
                                 "isa=portable,foo=1",
                                 " ",
                                 "ISA=portable",
                                 "isa==portable",
                                 "isa=portable,,"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    besom_config config = config_of(s, 100, 0);
    config.options = options[i];
    assert_no_filter(BESOM_BAD_OPTION, &config);
  }
  const char *const hashes[] = {"", "md5", "XXH3", "xxh3 ", "si", "sipp"};
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
    besom_config config = config_of(s, 100, 0);
    config.hash = hashes[i];
    assert_no_filter(BESOM_BAD_OPTION, &config);
  }
}

static void missing_pointers_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0), *out = NULL;
  besom_config config = config_of(s, 10, 0);
  besom_sink no_write = {.write = NULL};
  uint64_t key = 1, bitmap[1] = {0};
  besom_bytes bad = {NULL, 5};
  assert_status(BESOM_INVALID, besom_create(&config, NULL));
  assert_status(BESOM_INVALID, besom_create_like(f, NULL));
  assert_status(BESOM_INVALID, besom_build(&config, NULL, NULL, NULL, &out));
  assert_status(BESOM_INVALID,
                besom_build(&config, &(besom_source){.next = NULL}, NULL, NULL, &out));
  assert_status(BESOM_INVALID, besom_build_sorted(&config, NULL, NULL, &out));
  assert_status(BESOM_INVALID,
                besom_build_sorted(&config, &(besom_digest_source){.next = NULL}, NULL, &out));
  assert_status(BESOM_INVALID, besom_contains_many(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many(f, &bad, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many_u64(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_contains_many_u64(f, &key, 1, NULL));
  assert_status(BESOM_INVALID, besom_contains_many_digest(f, NULL, 1, bitmap));
  assert_status(BESOM_INVALID, besom_stats(f, NULL));
  assert_status(BESOM_OK, besom_validate(f, NULL));
  assert_status(BESOM_INVALID, besom_merge(f, NULL, &out));
  assert_status(BESOM_INVALID, besom_merge(NULL, f, &out));
  assert_status(BESOM_INVALID, besom_merge(f, f, NULL));
  assert_status(BESOM_INVALID, besom_iter_open(f, NULL));
  assert_status(BESOM_INVALID, besom_save(f, NULL));
  assert_status(BESOM_INVALID, besom_save(f, &no_write));
  assert_status(BESOM_INVALID, besom_save_file(f, NULL));
  assert_status(BESOM_INVALID, besom_load("x", 1, NULL, NULL));
  assert_status(BESOM_INVALID, besom_load_file("x", NULL, NULL));
  assert_status(BESOM_INVALID, besom_open_mmap("x", 0, NULL));
  besom_allocator hollow = {0};
  config.allocator = &hollow;
  assert_no_filter(BESOM_INVALID, &config);
  assert_null(out);
  besom_free(f);
}

static void missing_keys_are_invalid(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0);
  besom_bytes bad[2] = {{"good", 4}, {NULL, 5}};
  uint64_t n = 0;
  besom_hash(f, NULL, 5);
  besom_contains(f, NULL, 5); /* any answer is correct */
  if (can(s, BESOM_CAN_INSERT)) {
    assert_status(BESOM_INVALID, besom_insert(f, NULL, 5));
    assert_status(BESOM_INVALID, besom_insert_many(f, NULL, 1, NULL));
    assert_status(BESOM_INVALID, besom_insert_many(f, bad, 2, NULL));
    assert_status(BESOM_INVALID, besom_insert_many_u64(f, NULL, 1, NULL));
    assert_status(BESOM_INVALID, besom_insert_many_digest(f, NULL, 1, NULL));
    assert_status(BESOM_OK, besom_insert_many(f, NULL, 0, NULL)); /* no keys: no error */
  }
  if (can(s, BESOM_CAN_REMOVE)) assert_status(BESOM_INVALID, besom_remove(f, NULL, 5));
  if (can(s, BESOM_CAN_COUNT)) {
    assert_status(BESOM_INVALID, besom_count(f, NULL, 5, &n));
    assert_status(BESOM_INVALID, besom_count(f, "a", 1, NULL));
    assert_status(BESOM_INVALID, besom_count_u64(f, 1, NULL));
  }
  besom_free(f);
}

/* A call that the abilities do not allow is UNSUPPORTED and changes nothing. */
static void what_a_kind_cannot_do_is_unsupported(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 10, 0), *same = make_of_members(s, 10, 0), *out = NULL;
  besom_config config = config_of(s, 10, 0);
  besom_iter *iter = NULL;
  uint64_t n = 0;
  if (!can(s, BESOM_CAN_INSERT) && can(s, CAN_BUILD)) {
    assert_status(BESOM_UNSUPPORTED, besom_create(&config, &out));
  }
  if (!can(s, BESOM_CAN_INSERT) && !can(s, BESOM_INSERTS_LATER) && can(s, CAN_BUILD)) {
    assert_status(BESOM_UNSUPPORTED, besom_insert_u64(f, 1));
    assert_status(BESOM_UNSUPPORTED, besom_insert_many_u64(f, &n, 1, NULL));
  }
  if (!can(s, BESOM_CAN_REMOVE))
    assert_status(BESOM_UNSUPPORTED, besom_remove_u64(f, key_u64(MEMBERS, 0)));
  if (!can(s, BESOM_CAN_COUNT)) assert_status(BESOM_UNSUPPORTED, besom_count_u64(f, 1, &n));
  if (!can(s, BESOM_CAN_MERGE)) assert_status(BESOM_UNSUPPORTED, besom_merge(f, f, &out));
  if (!can(s, BESOM_CAN_ITERATE)) assert_status(BESOM_UNSUPPORTED, besom_iter_open(f, &iter));
  if (!can(s, BESOM_CAN_ADAPT)) {
    assert_status(BESOM_UNSUPPORTED, besom_adapt(f, "a", 1));
    assert_status(BESOM_UNSUPPORTED, besom_adapt_u64(f, 1));
    assert_status(BESOM_UNSUPPORTED, besom_adapt_digest(f, (besom_digest){1, 2}));
  }
  if (!can(s, BESOM_CAN_NO_LIST_AT)) {
    besom_match match = {0, 0};
    size_t total = 0;
    assert_status(BESOM_UNSUPPORTED, besom_no_add_at(f, (besom_digest){1, 2}, &match));
    assert_status(BESOM_UNSUPPORTED, besom_no_matches(f, (besom_digest){1, 2}, &match, 1, &total));
    assert_status(BESOM_UNSUPPORTED, besom_no_remove_at(f, match));
  }
  assert_null(out);
  assert_same_bytes(f, same);
  besom_free(f);
  besom_free(same);
}

const law argument_laws[] = {
    LAW(every_status_has_a_message, THE_LIBRARY, 0),
    LAW(the_version_is_that_of_the_header, THE_LIBRARY, 0),
    LAW(kinds_have_distinct_names, THE_LIBRARY, 0),
    LAW(a_null_filter_answers_yes, THE_LIBRARY, 0),
    LAW(a_null_filter_is_invalid, THE_LIBRARY, 0),
    LAW(missing_arguments_are_invalid, THE_LIBRARY, 0),
    LAW(flags_are_known_or_refused, EVERY_KIND, 0),
    LAW(impossible_numbers_are_invalid, EVERY_KIND, 0),
    LAW(extreme_configurations_are_kept_or_refused, EVERY_KIND, CAN_BUILD),
    LAW(unknown_names_are_refused, EVERY_KIND, 0),
    LAW(missing_pointers_are_invalid, EVERY_KIND, 0),
    LAW(missing_keys_are_invalid, EVERY_KIND, 0),
    LAW(what_a_kind_cannot_do_is_unsupported, EVERY_KIND, 0),
    {0},
};
