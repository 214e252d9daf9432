/* Damaged, truncated and random bytes: an error, not a crash. Most useful with asan. */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/heap.h"
#include "support/temp_files.h"

static void save_small_filter(const subject *s, memory_sink *saved) {
  besom_filter *f = make_of_members(s, 20, 0.1);
  save_to(saved, f);
  besom_free(f);
}

/* From a heap block of exactly this length, so that asan detects a read past its end. */
static besom_status load_exactly(const uint8_t *data, size_t len, besom_filter **out) {
  uint8_t *exact = heap_array(len, 1);
  memcpy(exact, data, len);
  *out = NULL;
  besom_status status = besom_load(exact, len, NULL, out);
  free(exact);
  return status;
}

static void assert_refused(const uint8_t *data, size_t len) {
  besom_filter *f = NULL;
  besom_status status = load_exactly(data, len, &f);
  if (status == BESOM_NEWER_VERSION) status = BESOM_CORRUPT;
  assert_status(BESOM_CORRUPT, status);
  assert_null(f);
}

static void cut_bytes_are_refused(void **state) {
  memory_sink saved;
  save_small_filter(subject_of(state), &saved);
  for (size_t len = 0; len < saved.len; len++) assert_refused(saved.data, len);
  memory_sink_close(&saved);
}

static void every_flipped_bit_is_noticed(void **state) {
  memory_sink saved;
  save_small_filter(subject_of(state), &saved);
  for (size_t bit = 0; bit < 8 * saved.len; bit++) {
    saved.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_refused(saved.data, saved.len);
    saved.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  memory_sink_close(&saved);
}

/* Random bytes, and random bytes after a valid beginning. */
static void noise_is_refused(void **state) {
  memory_sink saved;
  save_small_filter(subject_of(state), &saved);
  random_stream random = {1};
  for (size_t round = 0; round < 5000; round++) {
    size_t len = (size_t)random_below(&random, saved.len + 1);
    size_t kept = round % 2 ? (size_t)random_below(&random, len + 1) : 0;
    uint8_t *noise = heap_array(len, 1);
    memcpy(noise, saved.data, kept);
    for (size_t i = kept; i < len; i++) noise[i] = (uint8_t)random_next(&random);
    if (len < saved.len || memcmp(noise, saved.data, len)) assert_refused(noise, len);
    free(noise);
  }
  memory_sink_close(&saved);
}

/* All ones and all zeros in the header fields: lengths of 2^64 - 1, 0 slots. */
static void absurd_fields_are_refused(void **state) {
  memory_sink saved;
  save_small_filter(subject_of(state), &saved);
  uint8_t *damaged = heap_array(saved.len, 1);
  for (size_t at = 0; at + 8 <= saved.len; at += 4)
    for (int fill = 0; fill < 256; fill += 255) {
      memcpy(damaged, saved.data, saved.len);
      memset(damaged + at, fill, 8);
      if (memcmp(damaged, saved.data, saved.len)) assert_refused(damaged, saved.len);
    }
  free(damaged);
  memory_sink_close(&saved);
}

/*
 * Any answer is correct: with BESOM_OPEN_TRUSTED, wrong answers are the risk of the caller, crashes
 * not.
 */
static void call_all_queries(const besom_filter *f) {
  uint64_t n = 0;
  const char *reason = NULL;
  besom_statistics stats;
  memory_sink sink;
  for (size_t i = 0; i < 300; i++) {
    besom_contains_u64(f, key_u64(MEMBERS, i));
    besom_count_u64(f, key_u64(MEMBERS, i), &n);
  }
  count_false_positives(f, 300);
  besom_stats(f, &stats);
  besom_validate(f, &reason);
  memory_sink_init(&sink);
  besom_save(f, &sink.api);
  memory_sink_close(&sink);
}

static void iterate_everything(const besom_filter *f) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  size_t most = (size_t)stats_of(f).slots * 2 + 10000;
  while (besom_iter_next(&iter, &entry) == BESOM_OK && most) most--;
  assert_true(most > 0); /* iterating ends */
}

/* A filter merged from damaged ones can be changed, which must not crash, either. */
static void change_everything(const besom_filter *damaged) {
  besom_filter *merged = NULL;
  if (besom_merge(damaged, damaged, &merged) != BESOM_OK) return;
  for (size_t i = 0; i < 300; i++) {
    besom_remove_u64(merged, key_u64(MEMBERS, i * 7));
    besom_insert_u64(merged, key_u64(MORE_MEMBERS, i));
    besom_adapt_u64(merged, key_u64(NEGATIVES, i));
  }
  besom_free(merged);
}

/* The mapping ends with the file: a read far outside crashes. */
static void trusted_damage_is_no_crash(void **state) {
  const subject *s = subject_of(state);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "damaged.besom");
  besom_filter *f = make_of_members(s, 3000, 0.1);
  memory_sink saved;
  save_to(&saved, f);
  besom_free(f);
  random_stream random = {2};
  for (size_t round = 0; round < 150; round++) {
    uint8_t *damaged = heap_array(saved.len, 1);
    memcpy(damaged, saved.data, saved.len);
    if (round % 3 == 0) memset(damaged + saved.len / 2, round % 2 ? 0xff : 0, saved.len / 4);
    for (size_t flips = 1 + round % 40; flips; flips--)
      damaged[random_below(&random, saved.len)] ^= (uint8_t)(1u << random_below(&random, 8));
    assert_true(write_whole_file(path.text, damaged, saved.len));
    free(damaged);
    besom_status status = open_file(path.text, BESOM_OPEN_MMAP, &f);
    assert_true(status == BESOM_CORRUPT || status == BESOM_NEWER_VERSION);
    besom_fault fault = {0};
    besom_open_options options = {.flags = BESOM_OPEN_MMAP, .fault = &fault};
    assert_int_equal(besom_open(path.text, &options, &f), status);
    assert_true(status == BESOM_NEWER_VERSION || (fault.what && fault.offset <= saved.len));
    assert_int_equal(open_file(path.text, BESOM_OPEN_MMAP | BESOM_OPEN_CHECKSUMS, &f), status);
    if (open_file(path.text, BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED, &f) != BESOM_OK) continue;
    call_all_queries(f);
    iterate_everything(f);
    change_everything(f);
    besom_free(f);
  }
  memory_sink_close(&saved);
  temp_dir_remove(&dir);
}

/* A file truncated after its header is refused even with BESOM_OPEN_TRUSTED. */
static void cut_files_are_refused(void **state) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "cut.besom");
  memory_sink saved;
  save_small_filter(subject_of(state), &saved);
  for (size_t len = 0; len < saved.len; len += 1 + len / 16) {
    besom_filter *f = NULL;
    assert_true(write_whole_file(path.text, saved.data, len));
    assert_status(BESOM_CORRUPT, besom_open(path.text, NULL, &f));
    assert_status(BESOM_CORRUPT, open_file(path.text, BESOM_OPEN_MMAP, &f));
    assert_status(BESOM_CORRUPT, open_file(path.text, BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED, &f));
    assert_null(f);
  }
  memory_sink_close(&saved);
  temp_dir_remove(&dir);
}

const law hostile_laws[] = {
    LAW(cut_bytes_are_refused, EVERY_KIND, 0),
    LAW(every_flipped_bit_is_noticed, EVERY_KIND, 0),
    LAW(noise_is_refused, EVERY_KIND, 0),
    LAW(absurd_fields_are_refused, EVERY_KIND, 0),
    LAW(trusted_damage_is_no_crash, EVERY_KIND, 0),
    LAW(cut_files_are_refused, EVERY_KIND, 0),
    {0},
};
