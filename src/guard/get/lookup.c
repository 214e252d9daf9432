/* Lookup of a key: the matches of the filter, the records in their buckets, and get. */
#include "guard/get/lookup.h"
#include "guard/get/adapt.h"
#include "guard/get/denials.h"
#include "guard/get/front.h"
#include "guard/get/value_copy.h"
#include "guard/open/open.h"
#include "guard/transaction/before_images.h"
#include "guard/transaction/undo_log.h"

const struct epoch *besom__guard_epoch_of(const besom_guard *g, const besom_bytes *key,
                                          besom_digest *digest) {
  *digest = key_digest(g->current.filter, key);
  if (LIKELY(!g->next.filter) ||
      g->current.filter->kind->store->bucket_of(g->current.filter, *digest) >= g->frontier)
    return &g->current;
  *digest = key_digest(g->next.filter, key);
  return &g->next;
}

/* ------------------------------------------------------------------ the filter */

static uint64_t many_matches_bytes(const struct lookup *l) {
  return (uint64_t)l->n * (sizeof *l->matches + sizeof *l->stored);
}

void besom__lookup_begin(struct lookup *l, besom_guard *g, const struct epoch *epoch,
                         besom_digest digest, const besom_bytes *key) {
  l->guard = g;
  l->key = key;
  l->epoch = epoch;
  l->digest = digest;
  l->value = NULL;
  l->matched = false;
  l->matches = l->few_matches;
  l->n = 0;
  l->stored = l->few_stored;
  l->false_matches = 0;
  l->found = false;
}

void besom__lookup_end(struct lookup *l) {
  if (l->stored != l->few_stored)
    besom__release(&l->guard->allocator, l->stored, many_matches_bytes(l));
}

static besom_status find_many_matches(struct lookup *l) {
  const besom_filter *f = l->epoch->filter;
  besom_digest *stored = besom__allocate(&l->guard->allocator, many_matches_bytes(l));
  if (!stored) return BESOM_NO_MEMORY;
  l->stored = stored;
  l->matches = (besom_match *)(stored + l->n);
  size_t total;
  return f->kind->store->matches(f, l->digest, l->matches, l->n, &total);
}

/* Most lookups need no matches: the first record of the bucket has the key. */
static besom_status find_matches(struct lookup *l) {
  const besom_filter *f = l->epoch->filter;
  l->matched = true;
  besom_status status = f->kind->store->matches(f, l->digest, l->few_matches, FEW_MATCHES, &l->n);
  return status != BESOM_OK || l->n <= FEW_MATCHES ? status : find_many_matches(l);
}

/* ------------------------------------------------------------------ the store */

/* The key, or if only its digest is known, a key with that digest. */
static bool is_same_key(const struct lookup *l, besom_bytes key) {
  if (l->key) return bytes_equal(key, *l->key);
  besom_digest digest = key_digest(l->epoch->filter, &key);
  return digest.hi == l->digest.hi && digest.lo == l->digest.lo;
}

/* Visits the record of the key. */
static besom_status take_record(void *ctx, const besom_record *record) {
  struct lookup *l = ctx;
  l->found = true;
  return l->value ? besom__value_copy(l->guard, record->value, l->value) : BESOM_OK;
}

/* Visits the records of a bucket. A record is the key, or that of a false match, or neither. */
static besom_status compare_record(void *ctx, besom_place at, const besom_record *record) {
  struct lookup *l = ctx;
  if (is_same_key(l, record->key)) {
    l->found_at = (besom_match){at.bucket, at.rank};
    besom_status status = take_record(l, record);
    return status == BESOM_OK ? BESOM_END : status;
  }
  if (!l->matched) {
    besom_status status = find_matches(l);
    if (status != BESOM_OK) return status;
    l->end = l->n;
  }
  if (l->next < l->end && l->matches[l->next].rank == at.rank) {
    l->matches[l->false_matches] = l->matches[l->next++];
    l->stored[l->false_matches++] = key_digest(l->epoch->filter, &record->key);
  }
  /* A record has the rank of its fingerprint. So after the last match none can have the key. */
  return l->next < l->end ? BESOM_OK : BESOM_END;
}

static besom_status read_bucket(struct lookup *l, uint64_t bucket, uint64_t *reads) {
  besom_store *store = l->guard->store;
  besom_place at = {.epoch = l->epoch->number, .bucket = bucket};
  count(l->guard, reads, 1);
  return store->ops->get(store, at, compare_record, l);
}

/* Kinds that relocate fingerprints: the matches say which buckets to read. Those of one bucket are
   adjacent. */
static besom_status read_matched_buckets(struct lookup *l, uint64_t *reads) {
  besom_status status = find_matches(l);
  for (l->end = 0; l->end < l->n && !l->found && status == BESOM_OK;) {
    uint64_t bucket = l->matches[l->end].bucket;
    l->next = l->end;
    while (l->end < l->n && l->matches[l->end].bucket == bucket) l->end++;
    status = read_bucket(l, bucket, reads);
  }
  return status;
}

besom_status besom__lookup_lists(struct lookup *l, uint64_t *reads) {
  const besom_filter *f = l->epoch->filter;
  if (!f->kind->store->bucket_of) return read_matched_buckets(l, reads);
  l->next = l->end = 0;
  return read_bucket(l, f->kind->store->bucket_of(f, l->digest), reads);
}

besom_status besom__lookup_key(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  if (l->guard->layout == BESOM_LAYOUT_MERGED) return besom__lookup_lists(l, reads);
  count(l->guard, reads, 1);
  besom_status status = store->ops->table_get(store, BESOM_TABLE_KEYS, *l->key, take_record, l);
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ get */

/* A window of negative queries is complete. Other readers may have counted some of the next one
   already. */
static __attribute__((noinline)) void next_window(besom_guard *g) {
  uint64_t window_false = __atomic_exchange_n(&g->rates.window_false, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&g->rates.last_false, window_false, __ATOMIC_RELAXED);
}

static inline void count_absent(besom_guard *g) {
  if (UNLIKELY(count(g, &g->rates.absent, 1) % WINDOW == 0)) next_window(g);
}

void besom__count_absent(besom_guard *g, size_t n) {
  uint64_t absent = count(g, &g->rates.absent, n);
  if (absent / WINDOW != (absent - n) / WINDOW) next_window(g);
}

/* Adapts, or leaves it to a writer. A key that the filter goes on to answer yes for is a denial.
   NOT_FOUND, or why the filter could not be adapted. */
static besom_status handle_false_positive(struct lookup *l) {
  besom_guard *g = l->guard;
  besom_status status = BESOM_OK;
  bool denied = g->locks;
  count_absent(g);
  count(g, &g->rates.window_false, 1);
  count(g, &g->stats.false_positives, 1);
  if (g->locks) {
    besom__guard_queue(l);
  } else {
    uint64_t full = g->stats.adapt_full;
    if (g->layout == BESOM_LAYOUT_SPLIT && g->adapt != BESOM_ADAPT_NEVER)
      status = besom__lookup_lists(l, &g->stats.store_reads);
    if (status == BESOM_OK) status = besom__guard_adapt(l);
    denied = g->stats.adapt_full != full;
  }
  if (denied) {
    besom__denials_add(g, l->epoch->number, l->digest);
    besom__front_advance(g);
  }
  return status == BESOM_OK ? BESOM_NOT_FOUND : status;
}

/* The filter answered no, or the key is known to be absent. */
static besom_status deny(besom_guard *g) {
  besom_status status = guard_check_lock(g);
  if (UNLIKELY(status != BESOM_OK)) return status;
  count_absent(g);
  return BESOM_NOT_FOUND;
}

static bool is_denied(const besom_guard *g, const besom_bytes *key, const struct epoch *epoch,
                      besom_digest digest) {
  return has_denial(g, epoch->number, digest) || is_denied_by_front(g, key);
}

besom_status besom__lookup_get(besom_guard *g, const besom_bytes *key, const struct epoch *epoch,
                               besom_digest digest, besom_bytes *value) {
  struct lookup l;
  if (UNLIKELY(denies_some(g)) && is_denied(g, key, epoch, digest)) return deny(g);
  besom__lookup_begin(&l, g, epoch, digest, key);
  l.value = value;
  count(g, &g->stats.queries, 1);
  besom_status status = besom__lookup_key(&l, &g->stats.store_reads);
  if (status == BESOM_OK && !l.found)
    status = handle_false_positive(&l);
  else if (status == BESOM_OK)
    count(g, &g->stats.true_positives, 1);
  besom__lookup_end(&l);
  if (status != BESOM_OK && value && value->data)
    besom_guard_release(g, value); /* the store failed after it had shown the record */
  return status;
}

besom_status besom__guard_ask(besom_guard *g, const besom_bytes *key, besom_bytes *value,
                              bool *maybe) {
  besom_digest digest;
  const struct epoch *epoch = besom__guard_epoch_of(g, key, &digest);
  *maybe = epoch->filter->queries->contains_digest(epoch->filter, digest);
  return *maybe ? besom__lookup_get(g, key, epoch, digest, value) : deny(g);
}

/* The key is changed by a transaction that is not committed: answers from its committed state. */
static besom_status answer_from_image(besom_guard *g, const struct before_image *image,
                                      besom_bytes *value) {
  if (!image->present) return deny(g);
  count(g, &g->stats.queries, 1);
  count(g, &g->stats.true_positives, 1);
  return value ? besom__value_copy(g, image->value, value) : BESOM_OK;
}

besom_status besom__guard_ask_committed(besom_guard *g, const besom_bytes *key,
                                        besom_bytes *value) {
  bool maybe;
  struct before_image image;
  if (UNLIKELY(has_images(g)) && besom__image_find(g, false, key, &image))
    return answer_from_image(g, &image, value);
  besom_status status = ready_to_read(g);
  if (status == BESOM_OK) return besom__guard_ask(g, key, value, &maybe);
  count(g, &g->stats.queries, 1);
  return status;
}

/* Any key, also during a migration. */
static besom_status get(besom_guard *g, const besom_bytes *key, besom_bytes *value) {
  if (UNLIKELY(g->read_only)) return besom__reader_get(g, key, value);
  lock_read(g);
  besom_status status = besom__guard_ask_committed(g, key, value);
  end_get(g);
  return status;
}

static __attribute__((noinline)) besom_status get_any(besom_guard *g, const void *key, size_t len,
                                                      besom_bytes *value) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  return is_own_process(&g->process) ? get(g, &(besom_bytes){key, len}, value) : BESOM_LOCKED;
}

static __attribute__((noinline)) besom_status get_present(besom_guard *g, const void *key,
                                                          besom_bytes *value) {
  besom_digest digest = hash_u64(&g->current.filter->hasher, load64(key));
  return besom__lookup_get(g, &(besom_bytes){key, 8}, &g->current, digest, value);
}

/* Most absent keys are answered by the filter. This is the short way for keys of 8 bytes: the
   filter's own call hashes and searches, and a lookup is set up only after a yes. */
besom_status besom_guard_get(besom_guard *g, const void *key, size_t len, besom_bytes *value) {
  if (value) *value = (besom_bytes){NULL, 0};
  if (UNLIKELY(!g || !key || len != 8 || !g->plain || !*g->process.page))
    return get_any(g, key, len, value);
  const besom_filter *f = g->plain;
  if (f->queries->contains_u64(f, load64(key))) return get_present(g, key, value);
  if (UNLIKELY(++g->rates.absent % WINDOW == 0)) next_window(g);
  return BESOM_NOT_FOUND;
}
