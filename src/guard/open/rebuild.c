/* Rebuilding a filter from the bucket lists of a store: one scan in bucket order. */
#include "guard/get/reverse_map.h"
#include "guard/migration/migration.h"
#include "guard/open/open.h"
#include "guard/put/no_list.h"

enum { TICKS = 4096 }; /* records per call of the progress callback */

/* A scan of one epoch that fills its filter. */
struct refill {
  besom_guard *guard;
  const struct epoch *epoch;
  const besom_progress *progress;
  uint64_t done, total;
  besom_place expected; /* the next record of the same list */
  besom_status (*add)(void *to, besom_digest digest);
  void *to;
};

static besom_status rebuild_tick(struct refill *r) {
  return ++r->done % TICKS ? BESOM_OK : besom__tick(r->progress, r->done, r->total);
}

/* INCOMPATIBLE if the record is not at the position that the filter gives it. */
static besom_status check_position(struct refill *r, besom_place at, besom_digest digest) {
  const besom_filter *f = r->epoch->filter;
  uint32_t rank = r->done && at.bucket == r->expected.bucket ? r->expected.rank : 0;
  r->expected = (besom_place){at.epoch, rank + 1, at.bucket};
  return at.rank == rank && f->kind->store->bucket_of(f, digest) == at.bucket ? BESOM_OK
                                                                              : BESOM_INCOMPATIBLE;
}

static besom_status add_record(void *ctx, besom_place at, const besom_record *record) {
  struct refill *r = ctx;
  besom_digest digest = besom_hash(r->epoch->filter, record->key.data, record->key.len);
  besom_status status = check_position(r, at, digest);
  if (status == BESOM_OK) status = r->add(r->to, digest);
  return status == BESOM_OK ? rebuild_tick(r) : status;
}

static besom_status rebuild_run(void *ctx, besom_status (*add)(void *to, besom_digest digest),
                                void *to) {
  struct refill *r = ctx;
  r->add = add;
  r->to = to;
  besom_store *store = r->guard->store;
  return store->ops->scan(store, (besom_place){.epoch = r->epoch->number}, add_record, r);
}

/* Inserts records one by one: for kinds without a bulk load, and for kinds that must be told the
   position of each fingerprint. */
static besom_status restore_record(void *ctx, besom_place position, const besom_record *record) {
  struct refill *r = ctx;
  besom_filter *f = r->epoch->filter;
  besom_match at = {position.bucket, position.rank}, given = at;
  besom_digest digest = besom_hash(f, record->key.data, record->key.len);
  besom_status status = f->kind->store->restore_at ? f->kind->store->restore_at(f, digest, at)
                                                   : besom_insert_at(f, digest, 0, &given);
  if (status != BESOM_OK) return status;
  return given.bucket == at.bucket && given.rank == at.rank ? rebuild_tick(r) : BESOM_INCOMPATIBLE;
}

static uint64_t records_of(const besom_store *store) {
  besom_store_statistics stats;
  return besom_store_stats(store, &stats) == BESOM_OK ? stats.records : 0;
}

besom_status besom__guard_refill(besom_guard *g, const struct epoch *epoch,
                                 const besom_progress *progress) {
  struct refill r = {.guard = g, .epoch = epoch, .progress = progress};
  if (progress) r.total = records_of(g->store);
  const struct besom_kind *kind = epoch->filter->kind;
  if (kind->store->bulk_load && kind->store->bucket_of)
    return kind->store->bulk_load(epoch->filter, &(struct digest_walk){rebuild_run, &r});
  return g->store->ops->scan(g->store, (besom_place){.epoch = epoch->number}, restore_record, &r);
}

struct filter_params besom__guard_filter_params(const struct epoch *epoch) {
  struct filter_params params = {.hash = epoch->filter->hasher.id, .epoch = epoch->number};
  memcpy(params.seed, epoch->filter->hasher.seed, SEED_BYTES);
  besom__guard_geometry(epoch->filter, &params.slots, &params.width);
  return params;
}

/* Creates the filter and fills it from the store. */
static besom_status rebuild_epoch(besom_guard *g, const struct filter_params *params,
                                  struct epoch *out) {
  struct epoch fresh = {NULL, params->epoch};
  besom_status status = besom__guard_filter_new(g, besom__hash_name(params->hash), params->seed,
                                                params->slots, params->width, &fresh.filter);
  if (status != BESOM_OK) return status;
  status = besom__guard_bind(g, fresh.filter);
  if (status == BESOM_OK) status = besom__guard_refill(g, &fresh, NULL);
  if (status == BESOM_OK) status = besom__no_list_restore(g, &fresh);
  if (status == BESOM_OK)
    *out = fresh;
  else
    besom_free(fresh.filter);
  return status;
}

/* next NULL: there is no next epoch. */
static besom_status rebuild_filters(besom_guard *g, const struct filter_params *current,
                                    const struct filter_params *next) {
  struct epoch fresh = {NULL, 0}, fresh_next = {NULL, 0};
  besom_status status = rebuild_epoch(g, current, &fresh);
  if (status == BESOM_OK && next) status = rebuild_epoch(g, next, &fresh_next);
  if (status != BESOM_OK) {
    besom_free(fresh.filter);
    return status;
  }
  besom_free(g->current.filter);
  besom_free(g->next.filter);
  g->current = fresh;
  g->next = fresh_next;
  return BESOM_OK;
}

besom_status besom__guard_rebuild(besom_guard *g) {
  struct filter_params current = besom__guard_filter_params(&g->current), next = {.epoch = 0};
  if (g->next.filter) next = besom__guard_filter_params(&g->next);
  return rebuild_filters(g, &current, g->next.filter ? &next : NULL);
}

besom_status besom__guard_restore(besom_guard *g) {
  besom_status status =
      rebuild_filters(g, &g->old_current, g->start.migrating ? &g->old_next : NULL);
  if (status == BESOM_OK) besom__guard_set_grow_threshold(g);
  return status;
}
