#include "harness/dynamic_lists.h"

#include <math.h>

#include "besom_reverse.h"
#include "fail.h"
#include "workloads/key_stream.h"

/* ------------------------------------------------------------------ the reverse map */

/* A key of the store, by its rank. */
typedef struct wanted {
  const besom_filter *filter;
  uint32_t rank;
  besom_digest digest;
} wanted;

static besom_status hash_wanted(void *ctx, besom_place at, const besom_record *record) {
  wanted *w = ctx;
  if (at.rank != w->rank) return BESOM_OK;
  w->digest = besom_hash(w->filter, record->key.data, record->key.len);
  return BESOM_END;
}

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  besom_store *store = ctx;
  wanted w = {f, match->rank, {0, 0}};
  besom_status status =
      store->ops->get(store, (besom_place){.bucket = match->bucket}, hash_wanted, &w);
  *digest = w.digest;
  return status;
}

/* ------------------------------------------------------------------ adding keys */

static besom_status add(dynamic_lists *d, besom_bytes key, bool yes) {
  besom_match at;
  besom_digest digest = besom_hash(d->filter, key.data, key.len);
  besom_status status =
      yes ? besom_insert_at(d->filter, digest, 0, &at) : besom_no_add_at(d->filter, digest, &at);
  besom_place place = {.bucket = at.bucket, .rank = at.rank};
  besom_record record = {key, {NULL, 0}};
  return status == BESOM_OK ? d->store->ops->append(d->store, place, &record) : status;
}

static besom_status add_all(dynamic_lists *d, const besom_source *yes, const besom_source *no) {
  double y = 0, n = 0, n_yes = (double)yes->size_hint, n_no = (double)no->size_hint;
  besom_status status = BESOM_OK;
  check(yes->rewind(yes->ctx), "rewinding the yes list");
  check(no->rewind(no->ctx), "rewinding the no list");
  while (status == BESOM_OK && y + n < n_yes + n_no) {
    bool from_yes = n == n_no || (y < n_yes && y * n_no <= n * n_yes);
    const besom_source *from = from_yes ? yes : no;
    besom_bytes key;
    uint64_t weight = 1;
    check(from->next(from->ctx, &key, &weight), "reading a list");
    status = add(d, key, from_yes);
    y += from_yes;
    n += !from_yes;
  }
  return status;
}

/* The remainder width follows from the FPR and the keys of the yes list alone. */
static void make_empty(dynamic_lists *d, uint64_t n_yes, uint64_t keys, double rate,
                       double reserve) {
  uint8_t seed[16];
  hash_seed(BENCH_SEED, seed);
  besom_config config = {.kind = "yesno-dynamic", .reserve = reserve, .width = 2, .seed = seed};
  config.slots = (uint64_t)((double)keys / (0.95 - reserve)) + 1;
  while (ldexp((double)n_yes / (double)config.slots, -(int)config.width) > rate) config.width++;
  check(besom_create(&config, &d->filter), "creating a dynamic filter");
  check(besom_store_memory(NULL, &d->store), "creating a store");
  check(besom_bind(d->filter, &(besom_reverse){.digest_of = digest_of, .ctx = d->store}),
        "binding the filter");
}

dynamic_lists dynamic_lists_new(const besom_source *yes, const besom_source *no, double rate) {
  dynamic_lists d = {NULL, NULL, 0};
  uint64_t keys = yes->size_hint + no->size_hint;
  besom_status status = BESOM_FULL;
  bool lacks_room = true;
  for (double reserve = 0.01; lacks_room && reserve < 0.5; reserve += 0.01) {
    dynamic_lists_free(&d);
    make_empty(&d, yes->size_hint, keys, rate, reserve);
    status = add_all(&d, yes, no);
    lacks_room = status == BESOM_FULL || status == BESOM_RESERVE_FULL;
  }
  check(status, "filling a dynamic filter");
  besom_store_statistics calls;
  check(besom_store_stats(d.store, &calls), "statistics of the store");
  d.reads = (double)calls.reads / (double)keys;
  return d;
}

void dynamic_lists_free(dynamic_lists *d) {
  besom_free(d->filter);
  besom_store_close(d->store);
  *d = (dynamic_lists){NULL, NULL, 0};
}
