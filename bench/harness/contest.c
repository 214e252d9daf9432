#include "harness/contest.h"

#include <stdio.h>

#include "besom_store.h"
#include "fail.h"
#include "workloads/key_stream.h"

enum { STEP_ITEMS = 256, EXCEPTION_BITS = 80 };

static const double exception_share = 0.12; /* of the memory of ADAPT */

const char *const design_names[DESIGNS] = {"bloom",        "ribbon", "learned", "stacked_bloom",
                                           "stacked_fuse", "cached", "adapt",   "adapt_store"};

static const struct {
  const char *kind, *options;
} kinds[DESIGNS] = {{"bloom", NULL},
                    {"ribbon", NULL},
                    {"learned", NULL},
                    {"stacked", "base=bloom"},
                    {"stacked", "base=fuse"},
                    {"cached", "base=bloom"},
                    {"aqf", NULL},
                    {"aqf", "form=published"}};

bool design_is_trained(design d) {
  return d == LEARNED || d == STACKED_BLOOM || d == STACKED_FUSE;
}

bool design_is_dynamic(design d) {
  return d == ADAPT || d == ADAPT_STORE;
}

/* ------------------------------------------------------------------ creating */

static besom_filter *build(const besom_config *config, text_list *members, besom_workload *sample) {
  besom_source yes = text_list_source(members, members->n), no = {0};
  besom_filter *f;
  if (sample) no = besom_workload_source(sample);
  check(besom_build(config, &(besom_input){.yes = &yes, .no = sample ? &no : NULL}, &f),
        "building %s", config->kind);
  return f;
}

static besom_guard *fill_guard(const besom_config *config, const text_list *members) {
  besom_store *store;
  besom_guard *guard;
  besom_guard_config g = {.filter = config, .grow_at = 1, .rekey_at = 1};
  check(besom_store_memory(NULL, &store), "creating a store");
  check(besom_guard_open(&g, store, &guard), "opening a guard");
  for (size_t i = 0; i < members->n; i++)
    check(besom_guard_put(guard, members->lines[i].data, members->lines[i].len, NULL, 0,
                          BESOM_PUT_NEW),
          "storing a key");
  return guard;
}

static besom_guard_statistics guard_stats(const contestant *c) {
  besom_guard_statistics stats;
  check(besom_guard_stats(c->guard, &stats), "statistics of a guard");
  return stats;
}

static void note_memory(contestant *c) {
  besom_statistics stats;
  if (c->own) check(besom_stats(c->own, &stats), "statistics of a filter");
  uint64_t bytes = c->own ? stats.bytes : guard_stats(c).filter_bytes;
  if (bytes > c->most_bytes) c->most_bytes = bytes;
}

contestant contestant_create(design d, double bits, text_list *members, besom_workload *sample,
                             uint64_t seed) {
  uint8_t hash[16];
  char options[64];
  hash_seed(seed, hash);
  besom_config config = {.kind = kinds[d].kind,
                         .options = kinds[d].options,
                         .capacity = members->n,
                         .bits_per_key = bits,
                         .seed = hash};
  contestant c = {.design = d};
  if (d == ADAPT) {
    double exceptions = exception_share * bits * (double)members->n / EXCEPTION_BITS;
    snprintf(options, sizeof options, "forget=yes,max_exceptions=%.0f", exceptions);
    config.options = options;
    config.bits_per_key = (1 - exception_share) * bits;
  }
  if (d == ADAPT_STORE)
    c.guard = fill_guard(&config, members);
  else
    c.own = build(&config, members, design_is_trained(d) ? sample : NULL);
  note_memory(&c);
  return c;
}

void contestant_free(contestant *c) {
  check(besom_guard_close(c->guard), "closing a guard");
  besom_free(c->own);
  *c = (contestant){0};
}

/* ------------------------------------------------------------------ querying */

static bool query_guard(contestant *c, besom_bytes key) {
  if (!c->migrating && !besom_contains(besom_guard_filter(c->guard), key.data, key.len))
    return false;
  besom_status status = besom_guard_get(c->guard, key.data, key.len, NULL);
  if (status != BESOM_NOT_FOUND) fail("a key that was never stored: %s", besom_strerror(status));
  uint64_t before = c->false_positives;
  c->false_positives = guard_stats(c).false_positives;
  if (c->false_positives == before) return false;
  bool finished;
  check(besom_guard_step(c->guard, STEP_ITEMS, &finished), "a step");
  c->migrating = !finished;
  return true;
}

static bool query_own(contestant *c, besom_bytes key) {
  if (!besom_contains(c->own, key.data, key.len)) return false;
  if (c->design != ADAPT && c->design != CACHED) return true;
  besom_status status = besom_adapt(c->own, key.data, key.len);
  if (status != BESOM_EVICTED && status != BESOM_RESERVE_FULL) check(status, "adapting");
  return true;
}

bool contestant_query(contestant *c, besom_bytes key) {
  bool hit = c->guard ? query_guard(c, key) : query_own(c, key);
  if (hit) note_memory(c);
  return hit;
}

void contestant_insert(contestant *c, besom_bytes key) {
  if (c->guard)
    check(besom_guard_put(c->guard, key.data, key.len, NULL, 0, BESOM_PUT_NEW), "storing a key");
  else
    check(besom_insert(c->own, key.data, key.len), "inserting a key");
}

void contestant_remove(contestant *c, besom_bytes key) {
  if (c->guard)
    check(besom_guard_delete(c->guard, key.data, key.len), "deleting a key");
  else
    check(besom_remove(c->own, key.data, key.len), "removing a key");
}
