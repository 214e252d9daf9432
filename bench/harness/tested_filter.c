#include "harness/tested_filter.h"

#include "besom_store.h"
#include "fail.h"
#include "harness/timing.h"

enum { WIDTH = 8, PIECE = 4096 };

const char *const learning_names[LEARNINGS] = {"qf", "aqf_marks", "aqf_store"};

static besom_guard *create_guard(const besom_config *config) {
  besom_store *store;
  besom_guard *guard;
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&(besom_guard_config){.filter = *config, .grow_at = 1, .rekey_at = 2},
                         store, &guard),
        "creating a guard");
  return guard;
}

static void put_new(besom_guard *guard, uint64_t key) {
  uint8_t bytes[8];
  key_bytes(key, bytes);
  check(besom_guard_put_new(guard, bytes, sizeof bytes, NULL, 0), "storing a key");
}

static void fill_guard(besom_guard *guard, const key_stream *members, uint64_t n) {
  uint64_t keys[PIECE];
  for (uint64_t done = 0; done < n;) {
    size_t piece = n - done < PIECE ? (size_t)(n - done) : PIECE;
    members->generate(members, done, piece, keys);
    for (size_t i = 0; i < piece; i++) put_new(guard, keys[i]);
    done += piece;
  }
}

learner learner_create_of(learning way, const besom_config *config, const key_stream *members,
                          uint64_t n, driver *d) {
  learner l = {.adapts = way == MARKS};
  if (way != STORE) {
    l.filter = l.own = drive_filled(d, config, members, n);
    return l;
  }
  l.guard = create_guard(config);
  l.filter = besom_guard_filter(l.guard);
  fill_guard(l.guard, members, n);
  return l;
}

learner learner_create_guard(const besom_config *config, uint64_t key_seed, uint64_t members) {
  return learner_create_as(STORE, config, key_seed, members, NULL);
}

learner learner_create_as(learning way, const besom_config *config, uint64_t key_seed,
                          uint64_t members, driver *d) {
  key_stream stream = stream_members(key_seed);
  return learner_create_of(way, config, &stream, members, d);
}

learner learner_create(learning way, const setting *s, driver *d) {
  uint8_t seed[16];
  hash_seed(s->filter_seed, seed);
  besom_config config = {.kind = way == NEVER ? "qf" : "aqf",
                         .slots = s->slots,
                         .width = WIDTH,
                         .seed = seed,
                         .reserve = way == NEVER ? 0 : s->reserve};
  return learner_create_as(way, &config, s->key_seed, s->members, d);
}

void learner_free(learner *l) {
  besom_guard_close(l->guard);
  besom_free(l->own);
  *l = (learner){0};
}

static bool learn_by_store(learner *l, uint64_t key) {
  uint8_t bytes[8];
  besom_guard_statistics before, after;
  key_bytes(key, bytes);
  check(besom_guard_stats(l->guard, &before), "statistics of a guard");
  besom_status status = besom_guard_get(l->guard, bytes, sizeof bytes, NULL);
  if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
  check(besom_guard_stats(l->guard, &after), "statistics of a guard");
  return after.adapt_full == before.adapt_full;
}

static bool learn_by_mark(learner *l, uint64_t key) {
  besom_status status = besom_adapt_u64(l->own, key);
  if (status != BESOM_FULL) check(status, "adapting");
  return status == BESOM_OK;
}

bool learner_ask(learner *l, uint64_t key) {
  if (!besom_contains_u64(l->filter, key)) return false;
  if (l->guard)
    l->adapt_full += !learn_by_store(l, key);
  else if (l->adapts)
    l->adapt_full += !learn_by_mark(l, key);
  return true;
}

void learner_insert(learner *l, uint64_t key) {
  if (l->guard)
    put_new(l->guard, key);
  else
    check(besom_insert_u64(l->own, key), "inserting a key");
}

void learner_remove(learner *l, uint64_t key) {
  uint8_t bytes[8];
  key_bytes(key, bytes);
  if (l->guard)
    check(besom_guard_delete(l->guard, bytes, sizeof bytes), "deleting a key");
  else
    check(besom_remove_u64(l->own, key), "removing a key");
}

besom_statistics learner_stats(const learner *l) {
  besom_statistics stats;
  check(besom_stats(l->filter, &stats), "statistics of a filter");
  return stats;
}

double learner_ask_all(learner *l, const uint64_t *keys, uint64_t n, uint64_t *hits) {
  uint64_t yes = 0;
  double start = cpu_seconds();
  for (uint64_t i = 0; i < n; i++) yes += learner_ask(l, keys[i]);
  *hits = yes;
  return cpu_seconds() - start;
}

double learner_extra_bits(const learner *l, double reserve) {
  besom_statistics stats = learner_stats(l);
  return stats.reserve_used * reserve * 8 * (double)stats.bytes / (double)stats.items;
}
