#include "harness/attacked_filter.h"

#include "besom_store.h"
#include "fail.h"

attacked_filter attacked_create(const besom_config *config, const besom_guard_config *how) {
  attacked_filter a = {0};
  if (!how) {
    check(besom_create(config, &a.own), "creating %s", config->kind);
    return a;
  }
  besom_guard_config guard = *how;
  besom_store *store;
  guard.filter = config;
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&guard, store, &a.guard), "opening a guard with %s", config->kind);
  return a;
}

void attacked_free(attacked_filter *a) {
  check(besom_guard_close(a->guard), "closing a guard");
  besom_free(a->own);
}

/* ------------------------------------------------------------------ statistics */

besom_guard_statistics attacked_guard_stats(const attacked_filter *a) {
  besom_guard_statistics stats;
  check(besom_guard_stats(a->guard, &stats), "statistics of a guard");
  return stats;
}

static besom_statistics own_stats(const attacked_filter *a) {
  besom_statistics stats;
  check(besom_stats(a->own, &stats), "statistics of a filter");
  return stats;
}

uint64_t attacked_bytes(const attacked_filter *a) {
  return a->guard ? attacked_guard_stats(a).filter_bytes : own_stats(a).bytes;
}

/* ------------------------------------------------------------------ keys */

static void insert(attacked_filter *a, uint64_t key) {
  if (a->guard) {
    check(besom_guard_put_u64(a->guard, key, NULL, 0, BESOM_PUT_NEW), "storing a key");
    return;
  }
  besom_status status = besom_insert_u64(a->own, key);
  if (status == BESOM_FULL) {
    check(besom_resize(a->own, 2 * own_stats(a).slots, NULL), "doubling a filter");
    status = besom_insert_u64(a->own, key);
  }
  check(status, "inserting a key");
}

void attacked_insert(attacked_filter *a, const key_stream *members, uint64_t from, uint64_t end) {
  for (uint64_t i = from; i < end; i++) {
    uint64_t key;
    members->generate(members, i, 1, &key);
    insert(a, key);
  }
}

static bool query_alone(attacked_filter *a, uint64_t key) {
  if (!besom_contains_u64(a->own, key)) return false;
  besom_status status = besom_adapt_u64(a->own, key);
  if (status != BESOM_EVICTED && status != BESOM_RESERVE_FULL) check(status, "adapting");
  return true;
}

static bool query_guard(attacked_filter *a, uint64_t key) {
  besom_status status = besom_guard_get_u64(a->guard, key, NULL);
  if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
  uint64_t before = a->false_positives;
  a->false_positives = attacked_guard_stats(a).false_positives;
  return a->false_positives != before;
}

bool attacked_query(attacked_filter *a, uint64_t key) {
  return a->guard ? query_guard(a, key) : query_alone(a, key);
}
