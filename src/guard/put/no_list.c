/*
 * The no list of a guard: keys that are certainly absent and shall never cost a read of the store.
 *
 * The filter has no entries for them. They are kept in bucket lists of their own, with the buckets
 * that the filter computes for them. Whenever a key of the no list and a member come into the same
 * bucket, the member's fingerprint is extended until it does not match: when a key is put on the
 * list, when a member is put, when either migrates, and when a filter was rebuilt. So the filter
 * pays only for the few keys of the no list that a fingerprint matches.
 */
#include "guard/put/no_list.h"
#include "guard/get/digest_list.h"
#include "guard/get/lookup.h"
#include "guard/migration/migration.h"
#include "guard/migration/read_ahead.h"
#include "guard/put/change.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/shared_commit.h"
#include "guard/transaction/transaction.h"
#include "guard/transaction/undo_log.h"

static const besom_bytes count_key = {"no keys", 7};

enum { RESTORE_KEYS = 256 }; /* keys of the no list that are separated between two scans */

/* ------------------------------------------------------------------ places and the count */

static besom_place no_place(const struct epoch *epoch, besom_digest digest) {
  const besom_filter *f = epoch->filter;
  return (besom_place){.epoch = epoch->number | NO_LISTS,
                       .bucket = f->kind->store->bucket_of(f, digest)};
}

static bool has_no_lists(const besom_guard *g) {
  const struct besom_kind *kind = g->current.filter->kind;
  return g->transactional && kind->store->bucket_of && KIND_HAS(kind, adapt, adapt) &&
         kind_abilities(kind) & BESOM_CAN_BUILD_NO;
}

/* As part of the open transaction. */
static besom_status set_count(besom_guard *g, uint64_t n) {
  uint8_t bytes[8];
  store64(bytes, n);
  besom_record record = {count_key, {bytes, sizeof bytes}};
  besom_status status = g->store->ops->table_put(g->store, BESOM_TABLE_MANIFEST, &record);
  if (status == BESOM_OK) __atomic_store_n(&g->no_keys, n, __ATOMIC_RELAXED);
  return status;
}

static besom_status read_count(void *ctx, const besom_record *record) {
  besom_guard *g = ctx;
  if (record->value.len != 8) return BESOM_CORRUPT;
  g->no_keys = load64(record->value.data);
  return BESOM_OK;
}

besom_status besom__no_list_open(besom_guard *g) {
  if (!has_no_lists(g)) return BESOM_OK;
  besom_status status =
      g->store->ops->table_get(g->store, BESOM_TABLE_MANIFEST, count_key, read_count, g);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ separating the two lists */

besom_status besom__no_list_read(besom_guard *g, const struct epoch *epoch, besom_digest digest,
                                 struct digest_list *out, uint64_t *reads) {
  *out = besom__digest_list(g, epoch->filter);
  if (LIKELY(!g->no_keys)) return BESOM_OK;
  count(g, reads, 1);
  besom_status status =
      g->store->ops->get(g->store, no_place(epoch, digest), besom__digest_list_add, out);
  if (status != BESOM_OK) besom__digest_list_free(out);
  return status;
}

bool besom__no_list_has(const struct digest_list *list, besom_digest digest, uint32_t *rank) {
  const besom_digest *d = digests_of(list);
  for (*rank = 0; *rank < list->n; ++*rank)
    if (d[*rank].hi == digest.hi && d[*rank].lo == digest.lo) return true;
  return false;
}

/* A full reserve is no failure for a member: its no keys may cost a read until the next rekey. */
static besom_status count_adapted(besom_guard *g, besom_status status) {
  bool full = status == BESOM_RESERVE_FULL || status == BESOM_FULL;
  if (status == BESOM_OK) return BESOM_OK;
  if (full) count(g, &g->stats.adapt_full, 1);
  if (full && g->rekey_at <= 1) g->rekey_wanted = true;
  return full || status == BESOM_IS_MEMBER || status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

besom_status besom__no_list_separate(besom_guard *g, besom_filter *f, const struct digest_list *no,
                                     besom_digest member, besom_match at) {
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < no->n && status == BESOM_OK; i++)
    status = count_adapted(g, besom_adapt_at(f, digests_of(no)[i], &at, member));
  return status;
}

static besom_status extend_matches(struct lookup *l) {
  besom_status status = besom__lookup_lists(l, &l->guard->stats.filter_reads);
  if (status == BESOM_OK && l->found) status = BESOM_IS_MEMBER;
  for (size_t i = 0; i < l->false_matches && status == BESOM_OK; i++)
    status = besom_adapt_at(l->epoch->filter, l->digest, &l->matches[i], l->stored[i]);
  return status;
}

/* Extends the fingerprints that match a key of the no list. IS_MEMBER if it is a member. */
static besom_status extend_matches_of(besom_guard *g, const struct epoch *epoch,
                                      besom_digest digest) {
  struct lookup l;
  if (!epoch->filter->queries->contains_digest(epoch->filter, digest)) return BESOM_OK;
  besom__lookup_begin(&l, g, epoch, digest, NULL);
  besom_status status = extend_matches(&l);
  besom__lookup_end(&l);
  return status;
}

/* ------------------------------------------------------------------ migration and rebuild */

besom_status besom__no_list_migrate(besom_guard *g, const besom_record *record) {
  besom_digest digest = key_digest(g->next.filter, &record->key);
  struct digest_list there;
  besom_status status = besom__no_list_read(g, &g->next, digest, &there, &g->stats.filter_reads);
  if (status != BESOM_OK) return status;
  besom_place at = no_place(&g->next, digest);
  at.rank = (uint32_t)there.n;
  besom__digest_list_free(&there);
  status = count_adapted(g, extend_matches_of(g, &g->next, digest));
  return status == BESOM_OK ? g->store->ops->append(g->store, at, record) : status;
}

besom_status besom__no_list_leave(besom_guard *g, uint64_t bucket) {
  besom_place at = {.epoch = g->current.number | NO_LISTS, .bucket = bucket};
  return g->store->ops->remove(g->store, at);
}

/* Keys of the no list that the filter matches. A store must not be read while it is scanned. */
struct matched {
  const besom_filter *filter;
  besom_digest keys[RESTORE_KEYS];
  size_t n;
  besom_place next; /* where the next scan begins */
  bool is_last;
};

/* A scan begins with a whole bucket, and some of its keys stay matched if the reserve is full. */
static bool is_before(besom_place at, besom_place next) {
  return at.bucket == next.bucket && at.rank < next.rank;
}

static besom_status collect_matched(void *ctx, besom_place at, const besom_record *record) {
  struct matched *m = ctx;
  if (is_before(at, m->next)) return BESOM_OK;
  if (m->n == RESTORE_KEYS) {
    m->next = at;
    m->is_last = false;
    return BESOM_END;
  }
  besom_digest digest = besom_hash(m->filter, record->key.data, record->key.len);
  if (besom_contains_digest(m->filter, digest)) m->keys[m->n++] = digest;
  return BESOM_OK;
}

besom_status besom__no_list_restore(besom_guard *g, const struct epoch *epoch) {
  struct matched m = {.filter = epoch->filter, .next = {.epoch = epoch->number | NO_LISTS}};
  besom_status status = BESOM_OK;
  while (g->no_keys && !m.is_last && status == BESOM_OK) {
    m.n = 0;
    m.is_last = true;
    status = g->store->ops->scan(g->store, m.next, collect_matched, &m);
    for (size_t i = 0; i < m.n && status == BESOM_OK; i++)
      status = count_adapted(g, extend_matches_of(g, epoch, m.keys[i]));
  }
  return status;
}

/* ------------------------------------------------------------------ changes */

/* One change of the no list: where it is, and what is there. */
struct no_change {
  const struct epoch *epoch;
  besom_digest digest;
  struct digest_list there;
  besom_place at; /* of the key, or of the end of its list */
  bool found;
};

static besom_status change_prepare(besom_guard *g, const besom_bytes *key, struct no_change *c) {
  if (!has_no_lists(g)) return BESOM_UNSUPPORTED;
  besom_status status = besom__guard_ready_to_change(g);
  if (status != BESOM_OK) return status;
  c->epoch = besom__guard_epoch_of(g, key, &c->digest);
  status = besom__no_list_read(g, c->epoch, c->digest, &c->there, &g->stats.put_reads);
  if (status != BESOM_OK) return status;
  c->at = no_place(c->epoch, c->digest);
  c->found = besom__no_list_has(&c->there, c->digest, &c->at.rank);
  return BESOM_OK;
}

/* RESERVE_FULL: nothing is stored, and a rekey, if it is allowed, will make room. */
static besom_status no_list_add(besom_guard *g, const struct no_change *c, const besom_bytes *key) {
  besom_record record = {*key, {NULL, 0}};
  besom_status status = keeps_images(g) ? besom__image_add(g, true, key, NULL) : BESOM_OK;
  if (status != BESOM_OK) return status;
  status = extend_matches_of(g, c->epoch, c->digest);
  if (status == BESOM_RESERVE_FULL && g->rekey_at <= 1) g->rekey_wanted = true;
  if (status != BESOM_OK) return status;
  status = g->store->ops->append(g->store, c->at, &record);
  if (status != BESOM_OK) return status;
  status = set_count(g, g->no_keys + 1);
  if (status != BESOM_OK) besom__guard_check_undo(g, g->store->ops->remove(g->store, c->at));
  return status;
}

/* A record cannot be put back in the middle of its list: half a change fails the transaction. */
static besom_status no_list_take_out(besom_guard *g, const struct no_change *c,
                                     const besom_bytes *key) {
  besom_status status =
      keeps_images(g) ? besom__image_add(g, true, key, &(besom_bytes){NULL, 0}) : BESOM_OK;
  if (status != BESOM_OK) return status;
  status = g->store->ops->remove(g->store, c->at);
  if (status != BESOM_OK) return status;
  status = set_count(g, g->no_keys - 1);
  besom__guard_check_undo(g, status);
  return status;
}

static besom_status no_list_apply(besom_guard *g, struct no_change *c, const besom_bytes *key) {
  besom_status status = besom__change_begin(g);
  if (status != BESOM_OK) return status;
  status = c->found ? no_list_take_out(g, c, key) : no_list_add(g, c, key);
  if (status == BESOM_OK) besom__migration_list_changed(g, c->epoch, c->at.bucket);
  return besom__change_end(g, status, OF_CALLER);
}

besom_status besom__no_list_put(besom_guard *g, const besom_bytes *key) {
  struct no_change c;
  besom_status status = change_prepare(g, key, &c);
  if (status != BESOM_OK) return status;
  if (!c.found)
    status = no_list_apply(g, &c, key);
  else if (g->shared.members)
    status = besom__shared_join(g); /* one of them may have put it on the list */
  besom__digest_list_free(&c.there);
  if (status == BESOM_RESERVE_FULL) besom__migration_advance(g); /* so that it can be repeated */
  besom__migration_finish_if_done(g);
  return status;
}

besom_status besom__no_list_delete(besom_guard *g, const besom_bytes *key) {
  struct no_change c;
  besom_status status = change_prepare(g, key, &c);
  if (status != BESOM_OK) return status;
  status = c.found ? no_list_apply(g, &c, key) : BESOM_NOT_FOUND;
  besom__digest_list_free(&c.there);
  return status;
}

static besom_status no_has(besom_guard *g, const besom_bytes *key) {
  struct before_image image;
  besom_digest digest;
  struct digest_list there;
  uint32_t rank;
  if (g->read_only) return BESOM_UNSUPPORTED;
  lock_read(g);
  if (UNLIKELY(has_images(g)) && besom__image_find(g, true, key, &image)) {
    unlock(g);
    return image.present ? BESOM_OK : BESOM_NOT_FOUND;
  }
  besom_status status = has_no_lists(g) ? ready_to_read(g) : BESOM_UNSUPPORTED;
  const struct epoch *epoch = status == BESOM_OK ? besom__guard_epoch_of(g, key, &digest) : NULL;
  if (epoch) status = besom__no_list_read(g, epoch, digest, &there, &g->stats.filter_reads);
  unlock(g);
  if (status != BESOM_OK) return status;
  bool found = besom__no_list_has(&there, digest, &rank);
  besom__digest_list_free(&there);
  return found ? BESOM_OK : BESOM_NOT_FOUND;
}

besom_status besom_guard_no_has(besom_guard *g, const void *key, size_t len) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  return is_own_process(&g->process) ? no_has(g, &(besom_bytes){key, len}) : BESOM_LOCKED;
}
