/* Queries, reports and statistics of a sidecar. */
#define _GNU_SOURCE /* pthread_rwlock */
#include "sidecar/sidecar.h"

bool besom_sidecar_may_contain(const besom_sidecar *s, const void *key, size_t len) {
  if (!s || sidecar_is_foreign(s)) return true;
  sidecar_lock_shared(s);
  bool yes = sidecar_answers_yes(s) || besom_contains(s->filter, key, len);
  sidecar_unlock(s);
  return yes;
}

/* The filter has all keys of the state with this stamp. */
static bool is_complete_for(const besom_sidecar *s, uint64_t stamp) {
  return !sidecar_answers_yes(s) && stamp >= s->oldest_snapshot && stamp <= s->stamp;
}

bool besom_sidecar_may_contain_at(const besom_sidecar *s, const void *key, size_t len,
                                  uint64_t stamp) {
  if (!s || sidecar_is_foreign(s)) return true;
  sidecar_lock_shared(s);
  bool yes = !is_complete_for(s, stamp) || besom_contains(s->filter, key, len);
  sidecar_unlock(s);
  return yes;
}

static void answer_yes(size_t n, uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) bitmap[i / 64] |= UINT64_C(1) << i % 64;
}

/* In a child of fork, which must not look at the filter: the parent may have been changing it. */
static besom_status answer_yes_unasked(const besom_bytes *keys, size_t n, uint64_t *bitmap) {
  if (n && (!keys || !bitmap)) return BESOM_INVALID;
  for (size_t i = 0; i < n; i++)
    if (!keys[i].data && keys[i].len) return BESOM_INVALID;
  if (n) memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
  answer_yes(n, bitmap);
  return BESOM_OK;
}

besom_status besom_sidecar_may_contain_many(const besom_sidecar *s, const besom_bytes *keys,
                                            size_t n, uint64_t *bitmap) {
  if (!s) return BESOM_INVALID;
  if (sidecar_is_foreign(s)) return answer_yes_unasked(keys, n, bitmap);
  sidecar_lock_shared(s);
  besom_status status = besom_contains_many(s->filter, keys, n, bitmap);
  if (status == BESOM_OK && sidecar_answers_yes(s)) answer_yes(n, bitmap);
  sidecar_unlock(s);
  return status;
}

uint64_t besom_sidecar_read_point(const besom_sidecar *s) {
  if (!s) return 0;
  sidecar_lock_shared(s);
  uint64_t point = s->committed;
  sidecar_unlock(s);
  return point;
}

/* ------------------------------------------------------------------ reports */

/* OK if the digest was certainly not inserted since the point. */
static besom_status check_not_inserted(const besom_sidecar *s, besom_digest digest,
                                       uint64_t point) {
  if (point < s->recent_from || s->inserted - point > RECENT_INSERTS) return BESOM_BUSY;
  for (uint64_t i = point; i < s->inserted; i++) {
    besom_digest recent = s->recent[i % RECENT_INSERTS];
    if (recent.hi == digest.hi && recent.lo == digest.lo) return BESOM_IS_MEMBER;
  }
  return BESOM_OK;
}

/* The open transaction takes the key out. An exception would keep its fingerprint from being
   removed. The list is short, or a report is refused: that costs a read at most. */
static bool may_be_taken_out(const besom_sidecar *s, besom_digest digest) {
  enum { SEARCHED = 4096 };
  if (s->removes.n > SEARCHED) return true;
  for (size_t i = 0; i < s->removes.n; i++)
    if (s->removes.at[i].hi == digest.hi && s->removes.at[i].lo == digest.lo) return true;
  return false;
}

/* What a thread reads in its own write transaction may be undone: a key that is absent there can be
   a member. */
static besom_status sidecar_adapt(besom_sidecar *s, const void *key, size_t len, uint64_t point) {
  if (sidecar_answers_yes(s) || atomic_load(&s->saving) ||
      (s->is_open && pthread_equal(s->writer, pthread_self())))
    return BESOM_BUSY;
  besom_digest digest = besom_hash(s->filter, key, len);
  if (may_be_taken_out(s, digest)) return BESOM_BUSY;
  besom_status status = check_not_inserted(s, digest, point);
  return status == BESOM_OK ? besom_adapt(s->filter, key, len) : status;
}

/* stamp: of the snapshot that was read, or NULL. */
static besom_status sidecar_report(besom_sidecar *s, const void *key, size_t len, uint64_t point,
                                   const uint64_t *stamp) {
  if (!s || (!key && len) || sidecar_is_foreign(s)) return BESOM_INVALID;
  if (atomic_load(&s->saving)) return BESOM_BUSY; /* does not wait, and does not make others wait */
  sidecar_lock(s);
  besom_status status = BESOM_BUSY;
  if (point > s->inserted)
    status = BESOM_INVALID;
  else if (!stamp || is_complete_for(s, *stamp))
    status = sidecar_adapt(s, key, len, point);
  bool accepted = status == BESOM_OK || status == BESOM_EVICTED;
  s->changed |= accepted;
  s->stats.reports += accepted;
  s->stats.forgotten += status == BESOM_EVICTED;
  s->stats.late_reports += status == BESOM_BUSY || status == BESOM_IS_MEMBER;
  sidecar_unlock(s);
  return accepted ? BESOM_OK : status;
}

besom_status besom_sidecar_report(besom_sidecar *s, const void *key, size_t len, uint64_t point) {
  return sidecar_report(s, key, len, point, NULL);
}

/* A key that is absent in a later state may be in one that the filter is asked for: nobody told of
   its removal yet. */
besom_status besom_sidecar_report_at(besom_sidecar *s, const void *key, size_t len, uint64_t point,
                                     uint64_t stamp) {
  return sidecar_report(s, key, len, point, &stamp);
}

/* ------------------------------------------------------------------ statistics */

besom_status besom__sidecar_filter_stats(const besom_sidecar *s, besom_statistics *stats) {
  sidecar_lock_shared(s);
  besom_status status = besom_stats(s->filter, stats);
  sidecar_unlock(s);
  return status;
}

/* Each layer of a filter that has grown costs a probe per query. */
static bool rebuild_is_due(const besom_sidecar *s, const besom_statistics *filter) {
  enum { MANY_LAYERS = 5 };
  double fpr = s->filter_config.fpr;
  return s->stale || besom_layer(s->filter, MANY_LAYERS - 1) ||
         (s->stats.kept > 1000 && s->stats.kept > filter->keys / 2) ||
         (fpr > 0 && filter->expected_fpr > 2 * fpr);
}

besom_status besom_sidecar_stats_sized(const besom_sidecar *s, besom_sidecar_statistics *stats,
                                       size_t size) {
  besom_statistics filter;
  if (!s || !stats) return BESOM_INVALID;
  sidecar_lock_shared(s);
  besom_sidecar_statistics all = s->stats;
  besom_status status = besom_stats(s->filter, &filter);
  if (status == BESOM_OK) all.rebuild_due = rebuild_is_due(s, &filter);
  sidecar_unlock(s);
  if (status != BESOM_OK) return status;
  all.keys = filter.keys;
  all.filter_bytes = filter.bytes;
  all.expected_fpr = filter.expected_fpr;
  besom_copy_struct(stats, size, &all, sizeof all);
  return BESOM_OK;
}

const char *besom_sidecar_problem(const besom_sidecar *s) {
  if (!s) return NULL;
  sidecar_lock_shared(s);
  const char *problem = s->problem;
  sidecar_unlock(s);
  return problem;
}

const besom_filter *besom_sidecar_filter(const besom_sidecar *s) {
  return s ? s->filter : NULL;
}

void *besom_sidecar_log_ctx(const besom_sidecar *s) {
  return s && s->has_log ? s->log.ctx : NULL;
}
