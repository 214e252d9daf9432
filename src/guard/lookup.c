/* Looking a key up: the filter's matches, the records behind them, and what get makes of it. */
#include "guard/guard.h"

const struct side *besom__guard_side(const besom_guard *g, const struct key *key,
                                     besom_digest *digest) {
  *digest = key_digest(g->now.filter, key);
  if (LIKELY(!g->next.filter) ||
      g->now.filter->kind->bucket_of(g->now.filter, *digest) >= g->frontier)
    return &g->now;
  *digest = key_digest(g->next.filter, key);
  return &g->next;
}

/* ------------------------------------------------------------------ the filter */

static size_t many_matches_bytes(const struct lookup *l) {
  return l->n * (sizeof *l->matches + sizeof *l->stored);
}

void besom__lookup_end(struct lookup *l) {
  if (l->stored != l->few_stored)
    besom__release(&l->guard->allocator, l->stored, many_matches_bytes(l));
}

besom_status besom__lookup_digest(struct lookup *l, besom_guard *g, const struct side *side,
                                  besom_digest digest) {
  l->guard = g;
  l->key = NULL;
  l->side = side;
  l->digest = digest;
  l->value = NULL;
  l->matches = l->few_matches;
  l->stored = l->few_stored;
  l->refuted = 0;
  l->found = false;
  besom_status status = besom_matches(side->filter, digest, l->few_matches, FEW_MATCHES, &l->n);
  if (status != BESOM_OK || l->n <= FEW_MATCHES) return status;
  l->stored = besom__allocate(&g->allocator, many_matches_bytes(l));
  if (!l->stored) return BESOM_NO_MEMORY;
  l->matches = (besom_match *)(l->stored + l->n);
  size_t total;
  status = besom_matches(side->filter, digest, l->matches, l->n, &total);
  if (status != BESOM_OK) besom__lookup_end(l);
  return status;
}

besom_status besom__lookup_begin(struct lookup *l, besom_guard *g, const struct key *key) {
  besom_digest digest;
  const struct side *side = besom__guard_side(g, key, &digest);
  besom_status status = besom__lookup_digest(l, g, side, digest);
  l->key = key;
  return status;
}

/* ------------------------------------------------------------------ the store */

static bool is_same_key(const struct lookup *l, besom_bytes key, besom_digest *digest) {
  if (l->key && bytes_equal(key, l->key->bytes)) return true;
  *digest = besom_hash(l->side->filter, key.data, key.len);
  return !l->key && digest->hi == l->digest.hi && digest->lo == l->digest.lo;
}

/* Shown the records of a bucket: is it the key, or another one that a fingerprint which matches stands for? */
static besom_status judge(void *ctx, besom_place at, const besom_record *record) {
  struct lookup *l = ctx;
  besom_digest digest;
  if (is_same_key(l, record->key, &digest)) {
    l->found = true;
    l->found_at = (besom_match){at.bucket, at.rank};
    besom_status status =
        l->value ? besom__guard_lend(l->guard, record->value, l->value) : BESOM_OK;
    return status == BESOM_OK ? BESOM_END : status;
  }
  while (l->next < l->end && l->matches[l->next].rank < at.rank)
    l->next++; /* no record: neither found nor refuted */
  if (l->next == l->end || l->matches[l->next].rank != at.rank) return BESOM_OK;
  l->matches[l->refuted] = l->matches[l->next++];
  l->stored[l->refuted++] = digest;
  return BESOM_OK;
}

/* Matches of one bucket are neighbours; most kinds have but one. */
besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  besom_status status = BESOM_OK;
  for (l->end = 0; l->end < l->n && !l->found && status == BESOM_OK;) {
    besom_place place = place_of(l->side->epoch, l->matches[l->end]);
    l->next = l->end;
    while (l->end < l->n && l->matches[l->end].bucket == place.bucket) l->end++;
    count(l->guard, reads, 1);
    status = store->ops->get(store, place, judge, l);
  }
  return status;
}

static besom_status take_value(void *ctx, const besom_record *record) {
  struct lookup *l = ctx;
  l->found = true;
  return l->value ? besom__guard_lend(l->guard, record->value, l->value) : BESOM_OK;
}

besom_status besom__lookup_key(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  if (!l->n) return BESOM_OK;
  if (l->guard->layout == BESOM_LAYOUT_MERGED) return besom__lookup_lists(l, reads);
  count(l->guard, reads, 1);
  besom_status status =
      store->ops->table_get(store, BESOM_TABLE_KEYS, l->key->bytes, take_value, l);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ get */

/* A query for a key that is not there; who fills a window begins the next. */
static void count_absent(besom_guard *g, bool wrong) {
  if (wrong) count(g, &g->window_false, 1);
  if (count(g, &g->window_queries, 1) != WINDOW) return;
  uint64_t false_ones = __atomic_exchange_n(&g->window_false, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&g->last_false, false_ones, __ATOMIC_RELAXED);
  __atomic_store_n(&g->window_queries, 0, __ATOMIC_RELAXED);
  count(g, &g->windows, 1);
}

static besom_status false_positive(struct lookup *l) {
  besom_guard *g = l->guard;
  count(g, &g->stats.false_positives, 1);
  count_absent(g, true);
  if (g->locks) {
    besom__guard_queue(l);
    return BESOM_OK;
  }
  besom_status status = BESOM_OK;
  if (g->layout == BESOM_LAYOUT_SPLIT && g->adapt != BESOM_ADAPT_NEVER)
    status = besom__lookup_lists(l, &g->stats.store_reads);
  return status == BESOM_OK ? besom__guard_adapt(l) : status;
}

/* The filter has said no. */
static besom_status deny(besom_guard *g) {
  count(g, &g->stats.filter_negatives, 1);
  count_absent(g, false);
  return BESOM_NOT_FOUND;
}

/* The filter has said yes: is it right? */
static besom_status answer(struct lookup *l) {
  besom_guard *g = l->guard;
  besom_status status = besom__lookup_key(l, &g->stats.store_reads);
  if (status != BESOM_OK) return status;
  if (l->found) {
    count(g, &g->stats.true_positives, 1);
    return BESOM_OK;
  }
  if (!l->n) return deny(g);
  status = false_positive(l);
  return status == BESOM_OK ? BESOM_NOT_FOUND : status;
}

/* A key that may be there: the readers' lock is held. */
static besom_status look_up(besom_guard *g, const struct key *key, const struct side *side,
                            besom_digest digest, besom_bytes *value) {
  struct lookup l;
  besom_status status = besom__lookup_digest(&l, g, side, digest);
  if (status != BESOM_OK) return status;
  l.key = key;
  l.value = value;
  status = answer(&l);
  besom__lookup_end(&l);
  return status;
}

/* Most keys that are asked for in vain end at the filter: for these nothing else is made ready. */
static besom_status get(besom_guard *g, const struct key *key, besom_bytes *value) {
  besom_digest digest;
  count(g, &g->stats.queries, 1);
  lock_read(g);
  besom_status status = ready_to_read(g);
  const struct side *side = status == BESOM_OK ? besom__guard_side(g, key, &digest) : NULL;
  bool maybe = side && besom_contains_digest(side->filter, digest);
  if (maybe)
    status = look_up(g, key, side, digest, value);
  else if (side)
    status = deny(g);
  unlock(g);
  if (!maybe) return status;
  if (status != BESOM_OK)
    besom_guard_release(g, value); /* a store may fail after it has shown the record */
  if (!g->locks) besom__guard_work(g);
  return status;
}

besom_status besom_guard_get(besom_guard *g, const void *key, size_t len, besom_bytes *value) {
  if (value) *value = (besom_bytes){NULL, 0};
  return is_key(g, key, len) ? get(g, &(struct key){{key, len}, NULL}, value) : BESOM_INVALID;
}

besom_status besom_guard_get_u64(besom_guard *g, uint64_t key, besom_bytes *value) {
  uint8_t bytes[8];
  store64(bytes, key);
  if (value) *value = (besom_bytes){NULL, 0};
  return g ? get(g, &(struct key){{bytes, sizeof bytes}, &key}, value) : BESOM_INVALID;
}
