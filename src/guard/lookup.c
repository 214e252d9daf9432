/* Lookup of a key: the matches of the filter, the records in their buckets, and get. */
#include "guard/guard.h"

const struct epoch *besom__guard_epoch_of(const besom_guard *g, const besom_bytes *key,
                                          besom_digest *digest) {
  *digest = key_digest(g->current.filter, key);
  if (LIKELY(!g->next.filter) ||
      g->current.filter->kind->bucket_of(g->current.filter, *digest) >= g->frontier)
    return &g->current;
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

besom_status besom__lookup_digest(struct lookup *l, besom_guard *g, const struct epoch *epoch,
                                  besom_digest digest) {
  l->guard = g;
  l->key = NULL;
  l->epoch = epoch;
  l->digest = digest;
  l->value = NULL;
  l->matches = l->few_matches;
  l->stored = l->few_stored;
  l->false_matches = 0;
  l->found = false;
  besom_status status = besom_matches(epoch->filter, digest, l->few_matches, FEW_MATCHES, &l->n);
  if (status != BESOM_OK || l->n <= FEW_MATCHES) return status;
  l->stored = besom__allocate(&g->allocator, many_matches_bytes(l));
  if (!l->stored) return BESOM_NO_MEMORY;
  l->matches = (besom_match *)(l->stored + l->n);
  size_t total;
  status = besom_matches(epoch->filter, digest, l->matches, l->n, &total);
  if (status != BESOM_OK) besom__lookup_end(l);
  return status;
}

besom_status besom__lookup_begin(struct lookup *l, besom_guard *g, const besom_bytes *key) {
  besom_digest digest;
  const struct epoch *epoch = besom__guard_epoch_of(g, key, &digest);
  besom_status status = besom__lookup_digest(l, g, epoch, digest);
  l->key = key;
  return status;
}

/* ------------------------------------------------------------------ the store */

static bool is_same_key(const struct lookup *l, besom_bytes key, besom_digest *digest) {
  if (l->key && bytes_equal(key, *l->key)) return true;
  *digest = besom_hash(l->epoch->filter, key.data, key.len);
  return !l->key && digest->hi == l->digest.hi && digest->lo == l->digest.lo;
}

/* Visits the records of a bucket. A record is the key, or that of a false match, or neither. */
static besom_status compare_record(void *ctx, besom_place at, const besom_record *record) {
  struct lookup *l = ctx;
  besom_digest digest;
  if (is_same_key(l, record->key, &digest)) {
    l->found = true;
    l->found_at = (besom_match){at.bucket, at.rank};
    besom_status status =
        l->value ? besom__value_copy(l->guard, record->value, l->value) : BESOM_OK;
    return status == BESOM_OK ? BESOM_END : status;
  }
  while (l->next < l->end && l->matches[l->next].rank < at.rank)
    l->next++; /* a match without a record: a delete is being committed */
  if (l->next == l->end || l->matches[l->next].rank != at.rank) return BESOM_OK;
  l->matches[l->false_matches] = l->matches[l->next++];
  l->stored[l->false_matches++] = digest;
  return BESOM_OK;
}

/* Matches of one bucket are adjacent. Most kinds have all matches of a key in one bucket. */
besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  besom_status status = BESOM_OK;
  for (l->end = 0; l->end < l->n && !l->found && status == BESOM_OK;) {
    besom_place position = position_of(l->epoch->number, l->matches[l->end]);
    l->next = l->end;
    while (l->end < l->n && l->matches[l->end].bucket == position.bucket) l->end++;
    count(l->guard, reads, 1);
    status = store->ops->get(store, position, compare_record, l);
  }
  return status;
}

static besom_status copy_value(void *ctx, const besom_record *record) {
  struct lookup *l = ctx;
  l->found = true;
  return l->value ? besom__value_copy(l->guard, record->value, l->value) : BESOM_OK;
}

besom_status besom__lookup_key(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  if (!l->n) return BESOM_OK;
  if (l->guard->layout == BESOM_LAYOUT_MERGED) return besom__lookup_lists(l, reads);
  count(l->guard, reads, 1);
  besom_status status = store->ops->table_get(store, BESOM_TABLE_KEYS, *l->key, copy_value, l);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ get */

/* Counts a negative query. The one that fills the window starts the next. */
static void count_absent(besom_guard *g, bool false_positive) {
  if (false_positive) count(g, &g->window_false, 1);
  if (count(g, &g->window_queries, 1) != WINDOW) return;
  uint64_t window_false = __atomic_exchange_n(&g->window_false, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&g->last_false, window_false, __ATOMIC_RELAXED);
  __atomic_store_n(&g->window_queries, 0, __ATOMIC_RELAXED);
  count(g, &g->windows, 1);
}

static besom_status handle_false_positive(struct lookup *l) {
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

/* The filter answered no. */
static besom_status count_negative(besom_guard *g) {
  count(g, &g->stats.filter_negatives, 1);
  count_absent(g, false);
  return BESOM_NOT_FOUND;
}

/* The filter answered yes: asks the store. */
static besom_status answer(struct lookup *l) {
  besom_guard *g = l->guard;
  besom_status status = besom__lookup_key(l, &g->stats.store_reads);
  if (status != BESOM_OK) return status;
  if (l->found) {
    count(g, &g->stats.true_positives, 1);
    return BESOM_OK;
  }
  if (!l->n) return count_negative(g);
  status = handle_false_positive(l);
  return status == BESOM_OK ? BESOM_NOT_FOUND : status;
}

/* Looks up a key that the filter answered yes for. The read lock is held. */
static besom_status look_up(besom_guard *g, const besom_bytes *key, const struct epoch *epoch,
                            besom_digest digest, besom_bytes *value) {
  struct lookup l;
  besom_status status = besom__lookup_digest(&l, g, epoch, digest);
  if (status != BESOM_OK) return status;
  l.key = key;
  l.value = value;
  status = answer(&l);
  besom__lookup_end(&l);
  return status;
}

/* The key is changed by a transaction that is not committed: answers from its committed state. */
static besom_status answer_from_image(besom_guard *g, const struct before_image *image,
                                      besom_bytes *value) {
  if (!image->present) return count_negative(g);
  count(g, &g->stats.true_positives, 1);
  return value ? besom__value_copy(g, image->value, value) : BESOM_OK;
}

/* Most absent keys are answered by the filter, so a lookup is set up only after a yes. */
besom_status besom__guard_ask(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                              bool *maybe) {
  besom_digest digest;
  const struct epoch *epoch = besom__guard_epoch_of(g, key, &digest);
  *maybe = besom_contains_digest(epoch->filter, digest);
  if (!*maybe) return count_negative(g);
  besom_status status = look_up(g, key, epoch, digest, value);
  if (status != BESOM_OK)
    besom_guard_release(g, value); /* the store failed after it had shown the record */
  return status;
}

static besom_status get(besom_guard *g, const besom_bytes *key, besom_bytes *value) {
  bool maybe;
  struct before_image image;
  count(g, &g->stats.queries, 1);
  if (UNLIKELY(g->read_only)) return besom__reader_get(g, key, value);
  lock_read(g);
  besom_status status;
  if (UNLIKELY(has_images(g)) && besom__image_find(g, false, key, &image)) {
    status = answer_from_image(g, &image, value);
  } else {
    status = ready_to_read(g);
    if (status == BESOM_OK) status = besom__guard_ask(g, key, value, &maybe);
  }
  unlock(g);
  return status;
}

besom_status besom_guard_get(besom_guard *g, const void *key, size_t len, besom_bytes *value) {
  if (value) *value = (besom_bytes){NULL, 0};
  if (!is_key(g, key, len)) return BESOM_INVALID;
  return in_own_process(g) ? get(g, &(besom_bytes){key, len}, value) : BESOM_LOCKED;
}
