/* From the lists of a store to the filter in front of it: one scan, in the order of buckets. */
#include "guard/guard.h"

enum { TICKS = 4096 }; /* records between two of them */

/* A scan of one epoch on its way into the filter of it. */
struct refilling {
  besom_guard *guard;
  const struct side *side;
  const besom_progress *progress;
  uint64_t done, total;
  besom_place due; /* the next record of the same list */
  besom_status (*give)(void *to, besom_digest digest);
  void *to;
};

static besom_status tick(struct refilling *r) {
  return ++r->done % TICKS ? BESOM_OK : besom__tick(r->progress, r->done, r->total);
}

/* Is the record where the filter would have it? */
static besom_status check_place(struct refilling *r, besom_place at, besom_digest digest) {
  const besom_filter *f = r->side->filter;
  uint32_t rank = r->done && at.bucket == r->due.bucket ? r->due.rank : 0;
  r->due = (besom_place){at.epoch, rank + 1, at.bucket};
  return at.rank == rank && f->kind->bucket_of(f, digest) == at.bucket ? BESOM_OK
                                                                       : BESOM_INCOMPATIBLE;
}

static besom_status give_record(void *ctx, besom_place at, const besom_record *record) {
  struct refilling *r = ctx;
  besom_digest digest = besom_hash(r->side->filter, record->key.data, record->key.len);
  besom_status status = check_place(r, at, digest);
  if (status == BESOM_OK) status = r->give(r->to, digest);
  return status == BESOM_OK ? tick(r) : status;
}

static besom_status run(void *ctx, besom_status (*give)(void *to, besom_digest digest), void *to) {
  struct refilling *r = ctx;
  r->give = give;
  r->to = to;
  besom_store *store = r->guard->store;
  return store->ops->scan(store, (besom_place){.epoch = r->side->epoch}, give_record, r);
}

/* One by one, for kinds that cannot take all at once, or have to be told where each one was. */
static besom_status readmit(void *ctx, besom_place place, const besom_record *record) {
  struct refilling *r = ctx;
  besom_filter *f = r->side->filter;
  besom_match at = {place.bucket, place.rank}, given = at;
  besom_digest digest = besom_hash(f, record->key.data, record->key.len);
  besom_status status = f->kind->readmit_at ? f->kind->readmit_at(f, digest, at)
                                            : besom_insert_at(f, digest, 0, &given);
  if (status != BESOM_OK) return status;
  return given.bucket == at.bucket && given.rank == at.rank ? tick(r) : BESOM_INCOMPATIBLE;
}

static uint64_t records_of(const besom_store *store) {
  besom_store_statistics stats;
  return besom_store_stats(store, &stats) == BESOM_OK ? stats.records : 0;
}

besom_status besom__guard_refill(besom_guard *g, const struct side *side,
                                 const besom_progress *progress) {
  struct refilling r = {.guard = g, .side = side, .progress = progress};
  if (progress) r.total = records_of(g->store);
  const struct besom_kind *kind = side->filter->kind;
  if (kind->admit && kind->bucket_of)
    return kind->admit(side->filter, &(struct digest_walk){run, &r});
  return g->store->ops->scan(g->store, (besom_place){.epoch = side->epoch}, readmit, &r);
}

struct origin besom__guard_origin(const struct side *side) {
  struct origin o = {.hash = side->filter->hasher.id, .epoch = side->epoch};
  memcpy(o.seed, side->filter->hasher.seed, SEED_BYTES);
  besom__guard_geometry(side->filter, &o.slots, &o.width);
  return o;
}

/* The filter that it says, with what the store has. */
static besom_status remake(besom_guard *g, const struct origin *o, struct side *out) {
  struct side fresh = {NULL, o->epoch};
  besom_status status = besom__guard_filter_new(g, besom__hash_name(o->hash), o->seed, o->slots,
                                                o->width, &fresh.filter);
  if (status != BESOM_OK) return status;
  status = besom__guard_bind(g, fresh.filter);
  if (status == BESOM_OK) status = besom__guard_refill(g, &fresh, NULL);
  if (status == BESOM_OK)
    *out = fresh;
  else
    besom_free(fresh.filter);
  return status;
}

/* next NULL: there is none. */
static besom_status remake_both(besom_guard *g, const struct origin *now,
                                const struct origin *next) {
  struct side fresh = {NULL, 0}, fresh_next = {NULL, 0};
  besom_status status = remake(g, now, &fresh);
  if (status == BESOM_OK && next) status = remake(g, next, &fresh_next);
  if (status != BESOM_OK) {
    besom_free(fresh.filter);
    return status;
  }
  besom_free(g->now.filter);
  besom_free(g->next.filter);
  g->now = fresh;
  g->next = fresh_next;
  return BESOM_OK;
}

besom_status besom__guard_rebuild(besom_guard *g) {
  struct origin now = besom__guard_origin(&g->now), next = {.epoch = 0};
  if (g->next.filter) next = besom__guard_origin(&g->next);
  return remake_both(g, &now, g->next.filter ? &next : NULL);
}

besom_status besom__guard_restore(besom_guard *g) {
  besom_status status = remake_both(g, &g->now_before, g->before.moving ? &g->next_before : NULL);
  if (status == BESOM_OK) besom__guard_sized(g);
  return status;
}
