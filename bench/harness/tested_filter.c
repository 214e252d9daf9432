#include "harness/tested_filter.h"

#include <stdlib.h>

#include "besom_store.h"
#include "fail.h"
#include "harness/timing.h"

enum { WIDTH = 8, CHUNK = 4096 };

const char *const adapt_mode_names[ADAPT_MODES] = {"qf", "aqf_exceptions", "aqf_store"};

static besom_guard *create_guard(const besom_config *config) {
  besom_store *store;
  besom_guard *guard;
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&(besom_guard_config){.filter = config, .grow_at = 1, .rekey_at = 2},
                         store, &guard),
        "creating a guard");
  return guard;
}

static void put_new(besom_guard *guard, uint64_t key) {
  check(besom_guard_put_u64(guard, key, NULL, 0, BESOM_PUT_NEW), "storing a key");
}

static void fill_guard(besom_guard *guard, const key_stream *members, uint64_t n) {
  uint64_t keys[CHUNK];
  for (uint64_t done = 0; done < n;) {
    size_t chunk = n - done < CHUNK ? (size_t)(n - done) : CHUNK;
    members->generate(members, done, chunk, keys);
    for (size_t i = 0; i < chunk; i++) put_new(guard, keys[i]);
    done += chunk;
  }
}

tested_filter tested_filter_create_from(adapt_mode mode, const besom_config *config,
                                        const key_stream *members, uint64_t n, driver *d) {
  tested_filter tested = {.adapts = mode == ADAPT_EXCEPTIONS};
  if (mode != ADAPT_STORE) {
    tested.filter = tested.own = drive_filled(d, config, members, n);
    return tested;
  }
  tested.guard = create_guard(config);
  tested.filter = besom_guard_filter(tested.guard);
  fill_guard(tested.guard, members, n);
  return tested;
}

tested_filter tested_filter_create_guard(const besom_config *config, uint64_t key_seed,
                                         uint64_t members) {
  return tested_filter_create_with(ADAPT_STORE, config, key_seed, members, NULL);
}

tested_filter tested_filter_create_rekeying(const besom_config *config, uint64_t key_seed,
                                            uint64_t members) {
  tested_filter tested = tested_filter_create_guard(config, key_seed, members);
  tested.rekeying = allocate(1, sizeof *tested.rekeying);
  *tested.rekeying = (rekeying){.config = *config, .key_seed = key_seed, .members = members};
  tested.rekeying->config.seed = tested.rekeying->seed;
  return tested;
}

static void rekey(tested_filter *tested) {
  rekeying *r = tested->rekeying;
  hash_seed(random_at(r->key_seed, ++r->count), r->seed);
  check(besom_guard_close(tested->guard), "closing a guard");
  key_stream members = stream_members(r->key_seed);
  tested->guard = create_guard(&r->config);
  tested->filter = besom_guard_filter(tested->guard);
  fill_guard(tested->guard, &members, r->members);
}

tested_filter tested_filter_create_with(adapt_mode mode, const besom_config *config,
                                        uint64_t key_seed, uint64_t members, driver *d) {
  key_stream stream = stream_members(key_seed);
  return tested_filter_create_from(mode, config, &stream, members, d);
}

tested_filter tested_filter_create(adapt_mode mode, const filter_setup *s, driver *d) {
  uint8_t seed[16];
  hash_seed(s->filter_seed, seed);
  besom_config config = {.kind = mode == ADAPT_NEVER ? "qf" : "aqf",
                         .slots = s->slots,
                         .width = WIDTH,
                         .seed = seed,
                         .reserve = mode == ADAPT_NEVER ? 0 : s->reserve};
  return tested_filter_create_with(mode, &config, s->key_seed, s->members, d);
}

void tested_filter_free(tested_filter *tested) {
  check(besom_guard_close(tested->guard), "closing a guard");
  besom_free(tested->own);
  free(tested->rekeying);
  *tested = (tested_filter){0};
}

/* A guard with a full reserve holds further false positives itself. */
static bool adapt_by_store(tested_filter *tested, uint64_t key) {
  besom_guard_statistics before, after;
  check(besom_guard_stats(tested->guard, &before), "statistics of a guard");
  besom_status status = besom_guard_get_u64(tested->guard, key, NULL);
  if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
  check(besom_guard_stats(tested->guard, &after), "statistics of a guard");
  tested->not_taken += after.adapted == before.adapted;
  return after.adapt_full == before.adapt_full;
}

static bool adapt_by_exception(tested_filter *tested, uint64_t key) {
  besom_status status = besom_adapt_u64(tested->own, key);
  if (status != BESOM_RESERVE_FULL && status != BESOM_EVICTED) check(status, "adapting");
  tested->not_taken += status == BESOM_RESERVE_FULL;
  return status != BESOM_RESERVE_FULL;
}

bool tested_filter_query(tested_filter *tested, uint64_t key) {
  if (!besom_contains_u64(tested->filter, key)) return false;
  if (tested->guard) {
    bool adapted = adapt_by_store(tested, key);
    tested->reserve_full += !adapted;
    if (!adapted && tested->rekeying) rekey(tested);
  } else if (tested->adapts)
    tested->reserve_full += !adapt_by_exception(tested, key);
  return true;
}

void tested_filter_insert(tested_filter *tested, uint64_t key) {
  if (tested->guard)
    put_new(tested->guard, key);
  else
    check(besom_insert_u64(tested->own, key), "inserting a key");
}

void tested_filter_remove(tested_filter *tested, uint64_t key) {
  if (tested->guard)
    check(besom_guard_delete_u64(tested->guard, key), "deleting a key");
  else
    check(besom_remove_u64(tested->own, key), "removing a key");
}

besom_statistics tested_filter_stats(const tested_filter *tested) {
  besom_statistics stats;
  check(besom_stats(tested->filter, &stats), "statistics of a filter");
  return stats;
}

double tested_filter_query_all(tested_filter *tested, const uint64_t *keys, uint64_t n,
                               uint64_t *hits) {
  uint64_t yes = 0;
  double start = cpu_seconds();
  for (uint64_t i = 0; i < n; i++) yes += tested_filter_query(tested, keys[i]);
  *hits = yes;
  return cpu_seconds() - start;
}

double tested_filter_extra_bits(const tested_filter *tested, double reserve) {
  besom_statistics stats = tested_filter_stats(tested);
  return stats.reserve_used * reserve * 8 * (double)stats.bytes / (double)stats.keys;
}
