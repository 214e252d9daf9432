/* Transactions of a sidecar: what the application tells before and after it commits. */
#define _GNU_SOURCE /* pthread_rwlock */
#include "core/sort.h"
#include "sidecar/sidecar.h"

/* ------------------------------------------------------------------ lists of digests */

besom_status besom__digest_vector_reserve(struct digest_vector *v, const besom_allocator *a) {
  if (v->n < v->cap) return BESOM_OK;
  size_t cap = v->cap ? 2 * v->cap : 64;
  besom_digest *at =
      besom__enlarge(a, v->at, v->n * sizeof *at, v->cap * sizeof *at, cap * sizeof *at);
  if (!at) return BESOM_NO_MEMORY;
  v->at = at;
  v->cap = cap;
  return BESOM_OK;
}

void besom__digest_vector_free(struct digest_vector *v, const besom_allocator *a) {
  besom__release(a, v->at, v->cap * sizeof *v->at);
  *v = (struct digest_vector){0};
}

static bool digests_equal(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

static size_t count_of(const struct digest_vector *v, besom_digest digest) {
  size_t n = 0;
  for (size_t i = 0; i < v->n; i++) n += digests_equal(v->at[i], digest);
  return n;
}

void besom__sidecar_prune_removes(besom_sidecar *s) {
  struct digest_vector *v = &s->removes;
  size_t kept = 0;
  besom__sort_digests(v->at, v->n, 0);
  for (size_t i = 0, end; i < v->n; i = end) {
    for (end = i + 1; end < v->n && digests_equal(v->at[end], v->at[i]);) end++;
    size_t most = end - i > 1 ? 1 + count_of(&s->inserts, v->at[i]) : 1;
    for (size_t k = i; k < end && k - i < most; k++) v->at[kept++] = v->at[k];
  }
  v->n = kept;
}

/* ------------------------------------------------------------------ the filter */

/* A kind that does not scale: twice the slots, and twice the false-positive rate. */
static besom_status grow(besom_filter *f) {
  besom_statistics stats;
  besom_status status = besom_stats(f, &stats);
  if (status == BESOM_OK) status = besom_resize(f, 2 * stats.slots, NULL);
  return status == BESOM_NO_MEMORY ? status : status == BESOM_OK ? BESOM_OK : BESOM_FULL;
}

besom_status besom__sidecar_add(besom_sidecar *s, besom_filter *f, besom_digest digest) {
  if (s->keep_removed && besom_contains_digest(f, digest)) return BESOM_OK;
  if (s->is_static) return BESOM_FULL;
  besom_status status = besom_insert_digest(f, digest);
  if (status != BESOM_FULL) return status;
  status = grow(f);
  return status == BESOM_OK ? besom_insert_digest(f, digest) : status;
}

/* NOT_FOUND: an exception denies the digest. Its fingerprint stays, which is harmless. */
void besom__sidecar_take_out(besom_sidecar *s, besom_filter *f, besom_digest digest) {
  if (s->keep_removed)
    s->stats.kept++;
  else
    s->stats.left += besom_remove_digest(f, digest) == BESOM_NOT_FOUND;
}

/* Of a static kind, nobody knows whether a key that was told of was there. */
void besom__sidecar_count(besom_sidecar *s, uint64_t inserts, uint64_t removes) {
  if (s->is_static && inserts + removes) s->key_count = UNKNOWN_COUNT;
  if (s->key_count != UNKNOWN_COUNT) s->key_count += inserts - removes;
}

/* ------------------------------------------------------------------ telling */

besom_status besom_sidecar_insert(besom_sidecar *s, const void *key, size_t len) {
  if (!s || !s->is_open || (!key && len)) return BESOM_INVALID;
  besom_status status = besom__sidecar_mark_in_use(s);
  if (status == BESOM_OK) status = besom__digest_vector_reserve(&s->inserts, &s->allocator);
  if (status != BESOM_OK) return status;
  besom_digest digest = besom_hash(s->filter, key, len);
  sidecar_lock(s);
  status = besom__sidecar_add(s, s->filter, digest);
  if (status == BESOM_FULL && s->is_static) {
    s->stale = true;
    status = BESOM_OK;
  }
  if (status == BESOM_OK) {
    s->inserts.at[s->inserts.n++] = digest;
    s->recent[s->inserted++ % RECENT_INSERTS] = digest;
    s->changed = true;
  }
  sidecar_unlock(s);
  return status;
}

besom_status besom_sidecar_remove(besom_sidecar *s, const void *key, size_t len) {
  if (!s || !s->is_open || (!key && len)) return BESOM_INVALID;
  s->has_removed = true;
  if (!besom_sidecar_may_contain(s, key, len)) return BESOM_NOT_FOUND;
  besom_status status = besom__sidecar_mark_in_use(s);
  sidecar_lock(s);
  if (status == BESOM_OK) status = besom__digest_vector_reserve(&s->removes, &s->allocator);
  sidecar_unlock(s);
  if (status != BESOM_OK) return status;
  besom_digest digest = besom_hash(s->filter, key, len);
  sidecar_lock(s); /* reports look at the list */
  s->removes.at[s->removes.n++] = digest;
  sidecar_unlock(s);
  return BESOM_OK;
}

besom_status besom_sidecar_stamp(besom_sidecar *s, uint64_t stamp) {
  if (!s || s->log.number) return BESOM_INVALID;
  besom_status status = stamp == s->stamp ? BESOM_OK : besom__sidecar_mark_in_use(s);
  if (status != BESOM_OK) return status;
  sidecar_lock(s);
  s->changed |= stamp != s->stamp;
  s->stamp = stamp;
  sidecar_unlock(s);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ begin and end */

/* Forgets the open transaction. The first `kept` of its inserts stay for the next record. */
static void close_transaction(besom_sidecar *s, size_t kept) {
  s->inserts.n = s->carried = kept;
  s->removes.n = 0;
  s->logged_inserts = s->logged_removes = 0;
  s->wrote_record = s->is_open = false;
}

static void sidecar_commit(besom_sidecar *s) {
  for (size_t i = 0; i < s->removes.n; i++) besom__sidecar_take_out(s, s->filter, s->removes.at[i]);
  s->stats.inserts += s->inserts.n;
  s->stats.removes += s->removes.n;
  besom__sidecar_count(s, s->inserts.n, s->removes.n);
  s->changed |= s->removes.n > 0;
  s->committed = s->inserted;
  if (s->wrote_record) {
    s->position++;
    s->position_session = s->session;
    s->stamp = s->logged_stamp = s->record_stamp;
    s->oldest = s->trimmed_to;
    s->stats.logged += s->inserts.n + s->removes.n;
  }
  if (s->has_removed) sidecar_leave_snapshots(s);
  s->has_removed = false;
  if (s->wrote_record || !s->has_log) s->is_unknown = false;
  close_transaction(s, 0);
}

/* Takes back the inserts of this transaction: no exception was made for them meanwhile. Those that
   were carried may be committed: for them a filter stays stale. */
static void abort_transaction(besom_sidecar *s) {
  for (size_t i = s->carried; i < s->inserts.n; i++)
    besom__sidecar_take_out(s, s->filter, s->inserts.at[i]);
  s->stats.aborted++;
  if (s->carried == 0) s->committed = s->inserted;
  if (s->carried == 0) s->stale = s->was_stale;
  close_transaction(s, s->carried);
}

/*
 * If its record is in the log, the next one replaces it: another session tells them apart. Until
 * that is committed, reports may come from a state that the log's position does not name.
 */
static void leave_unknown(besom_sidecar *s) {
  s->stats.unknown++;
  s->key_count = UNKNOWN_COUNT;
  s->session++;
  s->is_unknown = true;
  close_transaction(s, s->inserts.n);
}

besom_status besom_sidecar_begin(besom_sidecar *s) {
  if (!s || sidecar_is_foreign(s)) return BESOM_INVALID;
  besom_status status = besom__sidecar_check_lock(s);
  if (status != BESOM_OK) return status;
  sidecar_lock(s);
  if (s->is_open) leave_unknown(s);
  s->is_open = true;
  s->was_stale = s->stale;
  s->writer = pthread_self();
  sidecar_unlock(s);
  return BESOM_OK;
}

/* A failed checkpoint is tried again after some more changes. Nothing is lost: the log has them. */
static void save_when_due(besom_sidecar *s) {
  if (!s->has_log || s->is_unknown || s->stats.logged < s->checkpoint_due) return;
  besom_statistics stats;
  if (besom__sidecar_filter_stats(s, &stats) != BESOM_OK) return;
  uint64_t items = s->checkpoint_items ? s->checkpoint_items : 65536 + stats.keys / 2;
  if (s->stats.logged < items) {
    s->checkpoint_due = items;
    return;
  }
  bool saved = sidecar_save_present(s) == BESOM_OK;
  s->checkpoint_due = saved ? items : s->stats.logged + items / 4 + 1;
}

besom_status besom_sidecar_end(besom_sidecar *s, besom_sidecar_outcome outcome) {
  if (!s || !s->is_open || (unsigned)outcome > BESOM_SIDECAR_UNKNOWN) return BESOM_INVALID;
  bool all_logged = s->logged_inserts == s->inserts.n && s->logged_removes == s->removes.n;
  if (outcome == BESOM_SIDECAR_COMMITTED && s->has_log && !all_logged) return BESOM_INVALID;
  sidecar_lock(s);
  if (!s->has_log) besom__sidecar_prune_removes(s); /* else log_to did it */
  if (outcome == BESOM_SIDECAR_COMMITTED)
    sidecar_commit(s);
  else if (outcome == BESOM_SIDECAR_ABORTED)
    abort_transaction(s);
  else
    leave_unknown(s);
  sidecar_unlock(s);
  if (outcome == BESOM_SIDECAR_COMMITTED) save_when_due(s);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ sync and rebuild */

besom_status besom_sidecar_sync(besom_sidecar *s) {
  if (!s || sidecar_is_foreign(s)) return BESOM_INVALID;
  if (s->is_open || s->is_unknown) return BESOM_BUSY;
  return sidecar_save_present(s);
}

/*
 * Reports with an older read point are refused: the digests of recent inserts are of the old seed,
 * and the scan may have read keys that nobody told of. So the exchange counts as an insert, whose
 * place in recent is not read. No transaction is open: all inserts are committed. Returns the old
 * filter.
 */
static besom_filter *exchange_filter(besom_sidecar *s, besom_filter *fresh,
                                     struct saved_numbers n) {
  sidecar_lock(s);
  besom_filter *old = s->filter;
  s->filter = fresh;
  s->stale = false;
  s->stamp = n.stamp;
  s->key_count = n.count;
  sidecar_leave_snapshots(s);
  s->recent_from = s->committed = ++s->inserted;
  s->stats.kept = 0;
  s->stats.origin = BESOM_SIDECAR_REBUILT;
  sidecar_unlock(s);
  return old;
}

static uint64_t stamp_now(const besom_sidecar *s) {
  return s->log.number ? s->log.number(s->log.ctx, NULL) : s->stamp;
}

/* The new filter is saved first: with it, the file is valid for the same position of the log. */
besom_status besom_sidecar_rebuild(besom_sidecar *s) {
  besom_filter *fresh;
  if (!s || sidecar_is_foreign(s)) return BESOM_INVALID;
  if (s->is_open || s->is_unknown) return BESOM_BUSY;
  struct saved_numbers n = {.stamp = stamp_now(s)};
  besom_status status = besom__sidecar_check_lock(s);
  if (status == BESOM_OK) status = besom__sidecar_build(s, &fresh, &n.count);
  if (status != BESOM_OK) return status;
  /* Another writer was there: it is not known which state was read. No state has number 0. */
  if (stamp_now(s) != n.stamp) n.stamp = 0;
  status = besom__sidecar_save(s, fresh, n);
  besom_free(status == BESOM_OK ? exchange_filter(s, fresh, n) : fresh);
  return status;
}
