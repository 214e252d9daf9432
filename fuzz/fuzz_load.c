/*
 * Hostile files: bytes that besom_load accepts must be a filter that works. The target corrects the
 * checksums of the input first, so that mutations reach the code behind them.
 */
#include <stdlib.h>
#include <string.h>

#include "besom_reverse.h"
#include "hostile_checks.h"
#include "support/checksums.h"
#include "support/counters.h"
#include "support/demand.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/reference.h"

enum { MAX_INPUT = 1 << 14, KEYS = 40 };

static bool is_valid(const besom_filter *f) {
  return besom_validate(f, NULL) == BESOM_OK;
}

static uint64_t keys_of(const besom_filter *f) {
  besom_statistics stats;
  demand(besom_stats(f, &stats) == BESOM_OK);
  return stats.keys;
}

/* The filter saves as the same bytes, and these load. */
static void save_and_load(const besom_filter *f, const uint8_t *data, size_t size) {
  memory_sink sink;
  besom_filter *copy = NULL;
  memory_sink_init(&sink);
  demand(besom_save(f, &sink.api) == BESOM_OK);
  demand(sink.len == size && memcmp(sink.data, data, size) == 0);
  demand(besom_load(sink.data, sink.len, NULL, &copy) == BESOM_OK);
  besom_free(copy);
  memory_sink_close(&sink);
}

static void iterate(const besom_filter *f) {
  if (!(besom_abilities(f) & BESOM_CAN_ITERATE)) return;
  size_t n = 0;
  address *stored = stored_addresses(f, &n); /* checks order, range and number */
  demand(stored && n == keys_of(f));
  free(stored);
}

/* f is compatible with itself. */
static void merge_with_itself(const besom_filter *f) {
  besom_filter *merged = NULL;
  besom_status status = besom_merge(f, f, &merged);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_RESERVE_FULL ||
         status == BESOM_UNSUPPORTED || status == BESOM_NEEDS_STORE);
  if (status != BESOM_OK) return;
  demand(is_valid(merged));
  for (size_t i = 0; i < KEYS; i++)
    demand(!besom_contains_u64(f, key_u64(MEMBERS, i)) ||
           besom_contains_u64(merged, key_u64(MEMBERS, i)));
  iterate(merged);
  besom_free(merged);
}

/* A yes stays a yes; a no becomes a yes only if adaptations, or bits of a pqf, were dropped. */
static void demand_answers(const besom_filter *f, const bool before[KEYS], bool dropped) {
  demand(is_valid(f));
  for (size_t i = 0; i < KEYS; i++) {
    bool yes = besom_contains_u64(f, key_u64(NEGATIVES, i));
    demand(yes == before[i] || (yes && dropped));
  }
}

static void resize(besom_filter *f) {
  besom_statistics stats;
  besom_stats(f, &stats);
  bool before[KEYS];
  uint64_t rebuilds = counter_of(f, "rebuilds");
  for (size_t i = 0; i < KEYS; i++) before[i] = besom_contains_u64(f, key_u64(NEGATIVES, i));
  if (stats.slots <= (1 << 16)) besom_resize(f, 2 * stats.slots, NULL);
  demand_answers(f, before, counter_of(f, "rebuilds") != rebuilds);
  besom_resize(f, stats.slots, NULL);
  besom_resize(f, stats.slots / 2, NULL);
  bool drops_bits = !strcmp(stats.kind, "pqf");
  demand_answers(f, before, drops_bits || counter_of(f, "rebuilds") != rebuilds);
}

/* Inserted keys are answered yes, and can be removed. */
static void insert_and_remove(besom_filter *f, bool every_change) {
  bool inserted[KEYS] = {false};
  for (size_t i = 0; i < KEYS; i++) {
    besom_status status = besom_insert_u64(f, key_u64(MEMBERS, i));
    demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_UNSUPPORTED ||
           status == BESOM_NO_MEMORY || status == BESOM_NEEDS_STORE);
    inserted[i] = status == BESOM_OK;
    demand(!every_change || is_valid(f));
  }
  demand(is_valid(f));
  for (size_t i = 0; i < KEYS; i++)
    demand(!inserted[i] || besom_contains_u64(f, key_u64(MEMBERS, i)));
  for (size_t i = 0; i < KEYS; i++) {
    if (!inserted[i]) continue;
    besom_status status = besom_remove_u64(f, key_u64(MEMBERS, i));
    demand(status == BESOM_OK || status == BESOM_UNSUPPORTED || status == BESOM_NEEDS_STORE);
    demand(!every_change || is_valid(f));
  }
  demand(is_valid(f));
}

/* Members of the loaded filter: removes all copies of each. Dropped adaptations may leave a yes. */
static void remove_members(besom_filter *f, bool every_change) {
  uint64_t rebuilds = counter_of(f, "rebuilds");
  for (size_t i = 0; i < (every_change ? 1000 : 100); i++) {
    uint64_t key = possible_member(i), n = 0;
    if (!besom_contains_u64(f, key) || besom_count_u64(f, key, &n) != BESOM_OK) continue;
    demand(n > 0);
    besom_status status = besom_remove_u64(f, key);
    while (status == BESOM_OK && --n) status = besom_remove_u64(f, key);
    if (status == BESOM_UNSUPPORTED || status == BESOM_NEEDS_STORE) return;
    demand(status == BESOM_OK);
    demand(!besom_contains_u64(f, key) || counter_of(f, "rebuilds") != rebuilds);
    demand(!every_change || is_valid(f));
  }
  demand(is_valid(f));
}

typedef struct new_members {
  size_t at;
  besom_u64_key key;
} new_members;

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  new_members *m = ctx;
  (void)weight;
  if (m->at == KEYS) return BESOM_END;
  m->key = besom_u64(key_u64(MEMBERS, m->at++));
  *key = (besom_bytes){m->key.bytes, sizeof m->key.bytes};
  return BESOM_OK;
}

/* Rebuilds the filter from other members: it holds these and nothing else. */
static void rekey(besom_filter *f) {
  static const uint8_t seed[16] = {9};
  new_members members = {0};
  besom_source yes = {.next = next_member, .size_hint = KEYS, .ctx = &members};
  besom_status status = besom_rekey(f, &yes, NULL, seed, NULL);
  demand(status == BESOM_OK || status == BESOM_FULL || status == BESOM_UNSUPPORTED ||
         status == BESOM_NEEDS_STORE);
  demand(is_valid(f));
  for (size_t i = 0; status == BESOM_OK && i < KEYS; i++)
    demand(besom_contains_u64(f, key_u64(MEMBERS, i)));
}

void check_loaded(besom_filter *f, const uint8_t *data, size_t size, bool every_change) {
  demand(is_valid(f));
  save_and_load(f, data, size);
  demand_counters(f);
  iterate(f);
  merge_with_itself(f);
  resize(f);
  insert_and_remove(f, every_change);
  remove_members(f, every_change);
  iterate(f);
  demand_counters(f);
  rekey(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > MAX_INPUT) return 0;
  uint8_t *repaired = heap_array(size, 1);
  if (size) memcpy(repaired, data, size);
  fix_checksums(repaired, size);
  besom_filter *f = NULL;
  if (besom_load(repaired, size, NULL, &f) == BESOM_OK) check_loaded(f, repaired, size, true);
  besom_free(f);
  free(repaired);
  return 0;
}
