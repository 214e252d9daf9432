/*
 * Hostile files, opened with every combination of flags. Without TRUSTED and CHECKSUMS, besom_open
 * must accept what besom_load accepts, and the filters must answer alike. With them, damaged bits
 * may give wrong answers, but no call may crash or run forever. The target corrects the checksums
 * of the input first, so that mutations reach the code behind them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "besom_reverse.h"
#include "file/container.h"
#include "hostile_checks.h"
#include "kind.h"
#include "support/checksums.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { MOST_BYTES = 1 << 14, KEYS = 60, ALL_FLAGS = 7 };

/* A file in memory with these bytes. */
static void write_file(const uint8_t *data, size_t size, char path[32]) {
  static int file = -1;
  if (file < 0) file = memfd_create("fuzz_open", 0);
  demand(file >= 0 && ftruncate(file, 0) == 0);
  demand(pwrite(file, data, size, 0) == (ssize_t)size);
  snprintf(path, 32, "/proc/self/fd/%d", file);
}

static void check_status(besom_status status, const besom_fault *fault, size_t size) {
  demand(status == BESOM_OK || status == BESOM_CORRUPT || status == BESOM_NEWER_VERSION ||
         status == BESOM_NO_MEMORY);
  demand((status == BESOM_CORRUPT) == (fault->what != NULL) && fault->offset <= size);
}

static besom_status open_file(const char *path, unsigned flags, size_t size, besom_filter **out) {
  besom_fault fault;
  besom_open_options options = {.flags = flags, .fault = &fault};
  besom_status status = besom_open(path, &options, out);
  check_status(status, &fault, size);
  return status;
}

besom_status open_block(const uint8_t *block, size_t size, unsigned flags, besom_filter **out) {
  besom_fault fault = {NULL, 0};
  besom_status status =
      besom__container_load(block, size, NULL, flags & BESOM_OPEN_MMAP, flags, &fault, out);
  check_status(status, &fault, size);
  if (status == BESOM_OK) (*out)->mapping_size = 0; /* besom_free must not unmap the block */
  return status;
}

/* ------------------------------------------------------------------ checked files */

static void demand_equal_answers(const besom_filter *a, const besom_filter *b) {
  for (size_t i = 0; i < KEYS; i++)
    demand(besom_contains_u64(a, possible_member(i)) == besom_contains_u64(b, possible_member(i)));
}

static void demand_read_only(besom_filter *f) {
  demand(!(besom_abilities(f) & BESOM_CAN_INSERT));
  besom_status status = besom_insert_u64(f, key_u64(MEMBERS, 0));
  demand(status == BESOM_READ_ONLY || status == BESOM_UNSUPPORTED);
}

void check_checked(besom_filter *f, const besom_filter *loaded, bool mapped) {
  demand(besom_validate(f, NULL) == BESOM_OK);
  demand_equal_answers(f, loaded);
  demand_counters(f);
  if (mapped) demand_read_only(f);
}

/* ------------------------------------------------------------------ files that are not checked */

static void query(const besom_filter *f) {
  uint64_t keys[KEYS], bitmap[(KEYS + 63) / 64], number;
  for (size_t i = 0; i < KEYS; i++) {
    besom_u64_key key = besom_u64(keys[i] = possible_member(i));
    (void)besom_contains_u64(f, keys[i]);
    (void)besom_count_u64(f, keys[i], &number);
    (void)besom_get_value(f, key.bytes, sizeof key.bytes, &number);
  }
  (void)besom_contains_many_u64(f, keys, KEYS, bitmap);
}

static void iterate(const besom_filter *f) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  besom_statistics stats;
  demand(besom_stats(f, &stats) == BESOM_OK);
  uint64_t left = 2 * stats.slots + 10000;
  while (left && besom_iter_next(&iter, &entry) == BESOM_OK) left--;
  demand(left); /* it ends */
}

static void save(const besom_filter *f) {
  memory_sink sink;
  memory_sink_init(&sink);
  (void)besom_save(f, &sink.api);
  memory_sink_close(&sink);
}

static void change(besom_filter *f) {
  for (size_t i = 0; i < KEYS; i++) {
    (void)besom_remove_u64(f, possible_member(i));
    (void)besom_insert_u64(f, key_u64(MEMBERS, i));
    (void)besom_adapt_u64(f, key_u64(NEGATIVES, i));
  }
}

static void merge_and_change(const besom_filter *f) {
  besom_filter *merged = NULL;
  if (besom_merge(f, f, &merged) == BESOM_OK) change(merged);
  besom_free(merged);
}

static void diff_and_patch(const besom_filter *f) {
  memory_sink patch;
  besom_filter *fresh = NULL;
  memory_sink_init(&patch);
  if (besom_diff(f, f, &patch.api) == BESOM_OK) (void)besom_patch(f, patch.data, patch.len, &fresh);
  besom_free(fresh);
  memory_sink_close(&patch);
}

/* A damaged number of slots may be a large one. */
static void resize(besom_filter *f) {
  besom_statistics stats;
  demand(besom_stats(f, &stats) == BESOM_OK);
  if (stats.slots <= MOST_BYTES) (void)besom_resize(f, 2 * stats.slots, NULL);
  (void)besom_resize(f, stats.slots / 2, NULL);
  query(f);
  iterate(f);
}

typedef struct few_members {
  size_t given;
  besom_u64_key key;
} few_members;

static besom_status next_of_few(void *ctx, besom_bytes *key, uint64_t *weight) {
  few_members *m = ctx;
  (void)weight;
  if (m->given == KEYS) return BESOM_END;
  m->key = besom_u64(key_u64(MEMBERS, m->given++));
  *key = (besom_bytes){m->key.bytes, sizeof m->key.bytes};
  return BESOM_OK;
}

static void rekey(besom_filter *f) {
  static const uint8_t seed[16] = {9};
  few_members members = {0};
  besom_source yes = {.next = next_of_few, .size_hint = KEYS, .ctx = &members};
  (void)besom_rekey(f, &yes, NULL, seed, NULL);
  query(f);
}

void check_unchecked(besom_filter *f, bool mapped) {
  query(f);
  iterate(f);
  save(f);
  demand_counters(f);
  (void)besom_validate(f, NULL);
  merge_and_change(f);
  diff_and_patch(f);
  if (mapped) {
    demand_read_only(f);
    return;
  }
  resize(f);
  change(f);
  rekey(f);
}

/* ------------------------------------------------------------------ the target */

static void open_checked(const char *path, unsigned flags, size_t size, const besom_filter *loaded,
                         besom_status expected) {
  besom_filter *f = NULL;
  demand(open_file(path, flags, size, &f) == expected);
  if (expected == BESOM_OK) check_checked(f, loaded, flags & BESOM_OPEN_MMAP);
  besom_free(f);
}

static void open_unchecked(const char *path, unsigned flags, size_t size) {
  besom_filter *f = NULL;
  if (open_file(path, flags, size, &f) == BESOM_OK) check_unchecked(f, flags & BESOM_OPEN_MMAP);
  besom_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size || size > MOST_BYTES) return 0;
  uint8_t *repaired = heap_array(size, 1);
  memcpy(repaired, data, size);
  fix_checksums(repaired, size);
  char path[32];
  write_file(repaired, size, path);
  besom_filter *loaded = NULL;
  besom_status status = besom_load(repaired, size, NULL, &loaded);
  for (unsigned flags = 0; flags <= ALL_FLAGS; flags++)
    if (flags & (BESOM_OPEN_TRUSTED | BESOM_OPEN_CHECKSUMS))
      open_unchecked(path, flags, size);
    else
      open_checked(path, flags, size, loaded, status);
  besom_free(loaded);
  free(repaired);
  return 0;
}
