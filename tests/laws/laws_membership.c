/* The basic laws: a member is always answered yes, and an empty filter answers no to every key. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"
#include "support/temp_files.h"

static const size_t capacities[] = {1, 2, 3, 63, 64, 65, 100, 1000, 12345, 40000};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

/* Large capacities with some rates only: small ones cover what depends on the rate. */
static bool is_tested(size_t capacity, int log_fpr) {
  if (capacity > 20000) return log_fpr == 1 || log_fpr == 8 || log_fpr == 20;
  return capacity < 10000 || log_fpr % 3 == 1;
}

/* Calls try for every capacity, with false-positive rates from 2^-1 to 2^-20. */
static void for_all_sizes(const subject *s,
                          void (*try)(const subject *s, const besom_config *config)) {
  for (int c = 0; c < CAPACITIES; c++)
    for (int log_fpr = 1; log_fpr <= 20; log_fpr++) {
      if (!is_tested(capacities[c], log_fpr)) continue;
      besom_config config = config_of(s, capacities[c], ldexp(1, -log_fpr));
      try(s, &config);
    }
}

static void try_u64(const subject *s, const besom_config *config) {
  size_t n = (size_t)config->capacity;
  uint64_t *keys = keys_u64(MEMBERS, n), *bitmap = heap_array((n + 63) / 64, sizeof *bitmap);
  besom_filter *f = make_of_u64(s, config, keys, n);
  assert_holds_u64(f, keys, n);
  assert_status(BESOM_OK, besom_contains_many_u64(f, keys, n, bitmap));
  for (size_t i = 0; i < n; i++) assert_true(bitmap[i / 64] >> (i % 64) & 1);
  besom_free(f);
  free(bitmap);
  free(keys);
}

static void no_false_negatives_of_u64(void **state) {
  for_all_sizes(subject_of(state), try_u64);
}

static void assert_holds_bytes(const besom_filter *f, const byte_keys *keys) {
  uint64_t *bitmap = heap_array((keys->n + 63) / 64, sizeof *bitmap);
  for (size_t i = 0; i < keys->n; i++)
    assert_true(besom_contains(f, keys->keys[i].data, keys->keys[i].len));
  assert_status(BESOM_OK, besom_contains_many(f, keys->keys, keys->n, bitmap));
  for (size_t i = 0; i < keys->n; i++) assert_true(bitmap[i / 64] >> (i % 64) & 1);
  free(bitmap);
}

static void try_bytes(const subject *s, const besom_config *config) {
  byte_keys keys = byte_keys_new(MEMBERS, (size_t)config->capacity);
  besom_filter *f = make_of_bytes(s, config, keys.keys, keys.n);
  assert_holds_bytes(f, &keys);
  besom_free(f);
  if (can(s, BESOM_CAN_INSERT)) {
    size_t done = 0;
    f = make_empty(config);
    assert_status(BESOM_OK, besom_insert_many(f, keys.keys, keys.n, &done));
    assert_int_equal(done, keys.n);
    assert_holds_bytes(f, &keys);
    besom_free(f);
  }
  byte_keys_free(&keys);
}

static void no_false_negatives_of_byte_strings(void **state) {
  for_all_sizes(subject_of(state), try_bytes);
}

static void assert_holds_digests(const besom_filter *f, const besom_digest *digests, size_t n) {
  uint64_t *bitmap = heap_array((n + 63) / 64, sizeof *bitmap);
  for (size_t i = 0; i < n; i++) assert_true(besom_contains_digest(f, digests[i]));
  assert_status(BESOM_OK, besom_contains_many_digest(f, digests, n, bitmap));
  for (size_t i = 0; i < n; i++) assert_true(bitmap[i / 64] >> (i % 64) & 1);
  free(bitmap);
}

/* The first half one by one, the second half in one call. */
static void try_digests(const subject *s, const besom_config *config) {
  (void)s;
  size_t n = (size_t)config->capacity, done = 0;
  besom_filter *f = make_empty(config);
  uint64_t *keys = keys_u64(MEMBERS, n);
  besom_digest *digests = digests_of_u64(f, keys, n);
  for (size_t i = 0; i < n / 2; i++) assert_status(BESOM_OK, besom_insert_digest(f, digests[i]));
  assert_status(BESOM_OK, besom_insert_many_digest(f, digests + n / 2, n - n / 2, &done));
  assert_int_equal(done, n - n / 2);
  assert_holds_digests(f, digests, n);
  assert_holds_u64(f, keys, n);
  besom_free(f);
  free(digests);
  free(keys);
}

static void no_false_negatives_of_digests(void **state) {
  for_all_sizes(subject_of(state), try_digests);
}

/* Digests at both ends of the range: the first and the last slot. */
static void no_false_negatives_at_the_ends_of_the_table(void **state) {
  const subject *s = subject_of(state);
  static const besom_digest ends[] = {
      {0, 0},          {0, 1},          {0, UINT64_MAX},          {1, 0},
      {UINT64_MAX, 0}, {UINT64_MAX, 1}, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX - 1, 7}};
  for (int c = 0; c < CAPACITIES; c++) {
    besom_config config = config_of(s, capacities[c] + 8, 0);
    besom_filter *f = make_empty(&config);
    for (size_t i = 0; i < 8; i++) assert_status(BESOM_OK, besom_insert_digest(f, ends[i]));
    assert_holds_digests(f, ends, 8);
    assert_valid(f);
    besom_free(f);
  }
}

/* The keys are heap blocks of exactly their length: asan detects any read past the end. */
static void no_byte_past_a_key_is_read(void **state) {
  const subject *s = subject_of(state);
  byte_keys keys = byte_keys_new(MEMBERS, LONGEST_KEY + 1);
  besom_config config = config_of(s, keys.n, 0);
  for (size_t i = 0; i < keys.n; i++) {
    unsigned char *exact = malloc(keys.keys[i].len ? keys.keys[i].len : 1);
    assert_non_null(exact);
    memcpy(exact, keys.keys[i].data, keys.keys[i].len);
    keys.keys[i].data = exact + (keys.keys[i].len == 0);
  }
  besom_filter *f = make_of_bytes(s, &config, keys.keys, keys.n);
  assert_holds_bytes(f, &keys);
  besom_free(f);
  for (size_t i = 0; i < keys.n; i++)
    free((unsigned char *)keys.keys[i].data - (keys.keys[i].len == 0));
  byte_keys_free(&keys);
}

/* As the header says: both forms of a key have the same digest and the same answer. */
static void a_u64_is_its_eight_little_endian_bytes(void **state) {
  const subject *s = subject_of(state);
  enum { N = 1000 };
  besom_filter *f = make_of_members(s, N, 0);
  for (size_t i = 0; i < 2 * N; i++) {
    uint64_t key = i < N ? key_u64(MEMBERS, i) : key_u64(NEGATIVES, i);
    unsigned char bytes[8];
    for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)(key >> (8 * b));
    besom_digest of_number = besom_hash_u64(f, key), of_bytes = besom_hash(f, bytes, 8);
    assert_int_equal(of_number.hi, of_bytes.hi);
    assert_int_equal(of_number.lo, of_bytes.lo);
    assert_int_equal(besom_contains_u64(f, key), besom_contains(f, bytes, 8));
    assert_int_equal(besom_contains_u64(f, key), besom_contains_digest(f, of_number));
  }
  besom_free(f);
}

/* For n around multiples of 64: words past the result are not written, bits past it are 0. */
static void contains_many_agrees_with_contains(void **state) {
  const subject *s = subject_of(state);
  static const size_t sizes[] = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000};
  besom_filter *f = make_of_members(s, 500, 0.25);
  uint64_t keys[1000], bitmap[17], of_digests[17];
  for (size_t i = 0; i < 1000; i++) keys[i] = key_u64(i % 2 ? MEMBERS : NEGATIVES, i);
  besom_digest *digests = digests_of_u64(f, keys, 1000);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    size_t n = sizes[k], words = (n + 63) / 64;
    memset(bitmap, 0xff, sizeof bitmap);
    assert_status(BESOM_OK, besom_contains_many_u64(f, keys, n, bitmap));
    for (size_t i = 0; i < n; i++)
      assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, besom_contains_u64(f, keys[i]));
    if (n % 64) assert_int_equal(bitmap[n / 64] >> (n % 64), 0);
    assert_true(bitmap[words] == UINT64_MAX);
    memset(of_digests, 0xff, sizeof of_digests);
    assert_status(BESOM_OK, besom_contains_many_digest(f, digests, n, of_digests));
    assert_memory_equal(bitmap, of_digests, sizeof bitmap);
  }
  free(digests);
  besom_free(f);
}

static void an_empty_filter_says_no(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 1000, 0.5);
  besom_filter *f = make_empty(&config);
  assert_int_equal(count_false_positives(f, 1000000), 0);
  assert_int_equal(stats_of(f).keys, 0);
  assert_valid(f);
  besom_free(f);
}

/* malloc is likely to return the memory of the full filter that was just freed. */
static void an_empty_filter_says_no_in_used_memory(void **state) {
  const subject *s = subject_of(state);
  for (int c = 0; c < CAPACITIES; c++) {
    size_t n = capacities[c];
    besom_config config = config_of(s, n, 0);
    besom_filter *full = make_of_members(s, n, 0), *like = NULL;
    assert_status(BESOM_OK, besom_create_like(full, &like));
    assert_int_equal(count_false_positives(like, 2000), 0);
    besom_free(like);
    besom_free(full);
    besom_filter *empty = make_empty(&config);
    assert_int_equal(count_false_positives(empty, 2000), 0);
    for (size_t i = 0; i < n; i++) assert_false(besom_contains_u64(empty, key_u64(MEMBERS, i)));
    assert_valid(empty);
    besom_free(empty);
  }
}

/* The caller may free what the configuration points to. */
static void no_pointer_of_the_configuration_is_kept(void **state) {
  const subject *s = subject_of(state);
  char kind[32], options[32], hash[32];
  uint8_t seed[16];
  besom_config config = config_of(s, 100, 0);
  config.kind = strcpy(kind, config.kind);
  config.options = config.options ? strcpy(options, config.options) : NULL;
  config.hash = strcpy(hash, config.hash);
  config.seed = memcpy(seed, config.seed, sizeof seed);
  uint64_t *keys = keys_u64(MEMBERS, 100);
  besom_filter *f = make_of_u64(s, &config, keys, 100);
  memset(kind, 'x', sizeof kind - 1);
  memset(options, 'x', sizeof options - 1);
  memset(hash, 'x', sizeof hash - 1);
  memset(seed, 'x', sizeof seed);
  memset(&config, 0x55, sizeof config);
  assert_holds_u64(f, keys, 100);
  assert_string_equal(stats_of(f).kind, s->kind->name);
  assert_string_equal(stats_of(f).hash, s->hash);
  besom_free(f);
  free(keys);
}

/* Without a seed every filter has a different hash. */
static void seeds_are_random_by_default(void **state) {
  const subject *s = subject_of(state);
  besom_config config = config_of(s, 10, 0);
  config.seed = NULL;
  uint64_t key = 42;
  besom_filter *a = make_of_u64(s, &config, &key, 1), *b = make_of_u64(s, &config, &key, 1);
  assert_true(besom_hash_u64(a, 1).hi != besom_hash_u64(b, 1).hi);
  assert_holds_u64(a, &key, 1);
  assert_holds_u64(b, &key, 1);
  besom_free(a);
  besom_free(b);
}

/* Members, absent keys, and digests at both ends of the table. */
static void prefetch_some(const besom_filter *f) {
  static const besom_digest ends[] = {
      {0, 0}, {0, UINT64_MAX}, {UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}};
  for (int i = 0; i < 4; i++) besom_prefetch_digest(f, ends[i]);
  for (size_t i = 0; i < 1000; i++) {
    besom_prefetch_u64(f, key_u64(MEMBERS, i));
    besom_prefetch_digest(f, besom_hash_u64(f, key_u64(NEGATIVES, i)));
  }
}

static void prefetch_in_file(const besom_filter *f) {
  temp_dir dir;
  besom_filter *mapped = NULL;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "filter.besom");
  assert_status(BESOM_OK, besom_save_file(f, path.text));
  assert_status(BESOM_OK, open_file(path.text, BESOM_OPEN_MMAP, &mapped));
  prefetch_some(mapped);
  assert_same_bytes(mapped, f);
  besom_free(mapped);
  temp_dir_remove(&dir);
}

/* Of an empty filter, of members, of reported keys, of mapped files: nothing changes. */
static void prefetching_changes_nothing(void **state) {
  const subject *s = subject_of(state);
  enum { N = 1000 };
  memory_sink before;
  for (size_t n = 0; n <= N; n += N) {
    besom_config config = config_of(s, N, 0);
    uint64_t *keys = keys_u64(MEMBERS, N);
    besom_filter *f = make_of_u64(s, &config, keys, n);
    for (uint64_t i = 0; i < 3; i++) {
      uint64_t key = key_u64(NEGATIVES, i);
      besom_status status = besom_no_add(f, &key, sizeof key);
      assert_true(status == BESOM_OK || status == BESOM_UNSUPPORTED);
    }
    save_to(&before, f);
    prefetch_some(f);
    assert_holds_u64(f, keys, n);
    assert_bytes(f, &before);
    if (s->same_format) prefetch_in_file(f);
    besom_free(f);
    free(keys);
  }
  prefetch_some(NULL);
}

const law membership_laws[] = {
    LAW(no_false_negatives_of_u64, EVERY_SUBJECT, 0),
    LAW(no_false_negatives_of_byte_strings, EVERY_SUBJECT, 0),
    LAW(no_false_negatives_of_digests, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(no_false_negatives_at_the_ends_of_the_table, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(no_byte_past_a_key_is_read, EVERY_SUBJECT, 0),
    LAW(a_u64_is_its_eight_little_endian_bytes, EVERY_SUBJECT, 0),
    LAW(contains_many_agrees_with_contains, EVERY_SUBJECT, 0),
    LAW(an_empty_filter_says_no, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(an_empty_filter_says_no_in_used_memory, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(prefetching_changes_nothing, EVERY_SUBJECT, 0),
    LAW(no_pointer_of_the_configuration_is_kept, EVERY_SUBJECT, 0),
    LAW(seeds_are_random_by_default, EVERY_SUBJECT, 0),
    {0},
};
