/* False positives: counting them, adapting the filter, and the queue from readers to writers. */
#include "guard/get/adapt.h"
#include "guard/get/lookup.h"
#include "guard/transaction/transaction.h"

/* ------------------------------------------------------------------ counting */

static struct false_positive false_positive_of(const struct lookup *l) {
  besom_bytes key = *l->key;
  struct false_positive fp = {
      .digest = l->digest, .epoch = l->epoch->number, .len = (uint32_t)key.len};
  size_t kept = key.len < sizeof fp.key ? key.len : sizeof fp.key;
  if (kept) memcpy(fp.key, key.data, kept);
  return fp;
}

/*
 * Space-Saving (Metwally et al. 2005). A key that is not in the table replaces the one with the
 * lowest count and inherits that count as its error. So count is an upper bound of the key's false
 * positives and count - error a lower bound, and every key with more than total / OFFENDERS false
 * positives is in the table. Keys with the same length and the same first bytes have one id:
 * reports show no more of a key.
 */
static void count_offender(besom_guard *g, const struct false_positive *fp) {
  uint64_t id = besom__checksum(fp->key, sizeof fp->key) + fp->len;
  struct offender *lowest = &g->offenders[0];
  for (struct offender *x = g->offenders; x < g->offenders + OFFENDERS; x++) {
    if (x->api.count && x->id == id) {
      x->api.count++;
      return;
    }
    if (x->api.count < lowest->api.count) lowest = x;
  }
  lowest->id = id;
  lowest->api =
      (besom_offender){.count = lowest->api.count + 1, .error = lowest->api.count, .len = fp->len};
  memcpy(lowest->api.key, fp->key, sizeof fp->key);
}

/*
 * Remembers a false positive. Returns whether the key was remembered already. The table is
 * direct-mapped and a new digest replaces the old one: if keys repeat in a cycle that is longer
 * than the table, some are still recognized in every round. A FIFO queue would recognize none.
 */
static bool seen_before(besom_guard *g, besom_digest digest) {
  uint64_t *cell = &g->recent[digest.lo >> (64 - RECENT_BITS)];
  bool seen = *cell == digest.lo;
  *cell = digest.lo;
  return seen;
}

/* Updates the counters. Returns whether the policy says to adapt. */
static bool record_false_positive(besom_guard *g, const struct false_positive *fp) {
  bool repeated = seen_before(g, fp->digest);
  count(g, &g->stats.repeated_false_positives, repeated);
  count_offender(g, fp);
  return g->adapt == BESOM_ADAPT_ALWAYS || (g->adapt == BESOM_ADAPT_SECOND && repeated);
}

/* ------------------------------------------------------------------ adapting */

static double reserve_used(const besom_filter *f) {
  besom_statistics stats;
  return besom_stats(f, &stats) == BESOM_OK ? stats.reserve_used : 0;
}

void besom__guard_check_reserve(besom_guard *g, const besom_filter *f) {
  if (g->rekey_at > 1) return;
  double used = f->kind->store->reserve_used ? f->kind->store->reserve_used(f) : reserve_used(f);
  if (used >= g->rekey_at) g->rekey_wanted = true;
}

/* IS_MEMBER: two keys have one digest, which no filter can tell apart. NOT_FOUND: the fingerprint
   was relocated while the filter adapted to an earlier match. Neither is an error. RESERVE_FULL and
   FULL both say that the reserve is used up. */
static besom_status adapt_false_matches(struct lookup *l) {
  besom_guard *g = l->guard;
  for (size_t i = 0; i < l->false_matches; i++) {
    besom_filter *f = l->epoch->filter;
    besom_status status = f->kind->store->adapt_at(f, l->digest, l->matches[i], l->stored[i]);
    bool full = status == BESOM_RESERVE_FULL || status == BESOM_FULL;
    if (status == BESOM_OK)
      count(g, &g->stats.adapted, 1);
    else if (full)
      count(g, &g->stats.adapt_full, 1);
    else if (status != BESOM_IS_MEMBER && status != BESOM_NOT_FOUND)
      return status;
    if (full && g->rekey_at <= 1) g->rekey_wanted = true;
  }
  if (l->false_matches) besom__guard_check_reserve(g, l->epoch->filter);
  return BESOM_OK;
}

/* Kinds that relocate fingerprints move records of the store when they adapt. */
static besom_status adapt_filter(struct lookup *l) {
  besom_guard *g = l->guard;
  if (moves_records(g) && g->transactional) {
    besom_status status = besom__guard_flush_full(g);
    if (status == BESOM_OK) status = besom__change_begin(g);
    return status == BESOM_OK ? besom__change_end(g, adapt_false_matches(l), OF_GUARD) : status;
  }
  lock_write(g);
  besom_status status = adapt_false_matches(l);
  unlock(g);
  return status;
}

/* A record that cannot be moved (the disk is full) does not make the answer of a get wrong. */
besom_status besom__guard_adapt(struct lookup *l) {
  struct false_positive fp = false_positive_of(l);
  if (!record_false_positive(l->guard, &fp)) return BESOM_OK;
  besom_status status = adapt_filter(l);
  return moves_records(l->guard) && l->guard->transactional ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ the queue to writers */

void besom__guard_queue(struct lookup *l) {
  besom_guard *g = l->guard;
  lock_queue(g);
  bool room = g->queue.n < QUEUE_LENGTH;
  if (room) g->queue.at[(g->queue.first + g->queue.n++) % QUEUE_LENGTH] = false_positive_of(l);
  unlock_queue(g);
  count(g, room ? &g->stats.queued : &g->stats.queue_drops, 1);
  if (g->background) besom__background_wake(g->background);
}

static bool next_queued(besom_guard *g, struct false_positive *fp) {
  lock_queue(g);
  bool any = g->queue.n;
  if (any) {
    *fp = g->queue.at[g->queue.first];
    g->queue.first = (g->queue.first + 1) % QUEUE_LENGTH;
    g->queue.n--;
  }
  unlock_queue(g);
  return any;
}

/* Looks the key up again. Since the reader's lookup it may have been inserted, or the records of
   its matches may have changed. */
static besom_status adapt_queued(besom_guard *g, const struct false_positive *fp) {
  const struct epoch *epoch =
      g->next.filter && fp->epoch == g->next.number ? &g->next : &g->current;
  struct lookup l;
  if (epoch->number != fp->epoch) return BESOM_OK; /* the digest is by a hash that is gone */
  if (!epoch->filter->queries->contains_digest(epoch->filter, fp->digest)) return BESOM_OK;
  besom__lookup_begin(&l, g, epoch, fp->digest, NULL);
  besom_status status = besom__lookup_lists(&l, &g->stats.filter_reads);
  if (status == BESOM_OK && !l.found && l.false_matches) status = adapt_filter(&l);
  besom__lookup_end(&l);
  return status;
}

besom_status besom__guard_apply_queue(besom_guard *g) {
  struct false_positive fp;
  besom_status status = BESOM_OK;
  if (!g->locks) return BESOM_OK;
  for (size_t i = 0; i < QUEUE_LENGTH && status == BESOM_OK && next_queued(g, &fp); i++) {
    lock_queue(g); /* readers may call besom_guard_offenders */
    bool adapt = record_false_positive(g, &fp);
    unlock_queue(g);
    if (adapt) status = adapt_queued(g, &fp);
  }
  return status;
}
