/*
 * Many keys per call. A call takes its keys in chunks. All keys of a chunk are hashed and asked of
 * the filter together, so that its memory accesses overlap. What the filter answers yes to is then
 * read in the order of the store, so that neighbours share pages.
 */
#include "guard/get/front.h"
#include "guard/get/lookup.h"
#include "guard/open/open.h"
#include "guard/put/change.h"
#include "guard/transaction/undo_log.h"

enum { CHUNK = 256 }; /* a multiple of 64 */

/* The keys of a chunk. Arrays are indexed like keys. */
struct chunk {
  const besom_bytes *keys;
  size_t n;
  const struct epoch *current; /* the epoch of all keys, if no migration runs */
  bool migrating;
  const struct epoch *epochs[CHUNK]; /* of each key, during a migration */
  besom_digest digests[CHUNK];       /* in that epoch */
  uint64_t maybe[CHUNK / 64];        /* the filter answered yes */
  uint16_t order[CHUNK];             /* keys to visit, in the order of the store */
  size_t visits;
};

static bool has_bit(const uint64_t *bitmap, size_t i) {
  return bitmap[i / 64] >> (i % 64) & 1;
}

static const struct epoch *many_epoch_of(const struct chunk *c, size_t i) {
  return LIKELY(!c->migrating) ? c->current : c->epochs[i];
}

/* ------------------------------------------------------------------ the filter */

/* During a migration: asks the next filter for the keys that belong to it. */
static void ask_next(struct chunk *c, const besom_guard *g) {
  besom_digest digests[CHUNK];
  uint64_t maybe[CHUNK / 64];
  size_t n = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->epochs[i] == &g->next) digests[n++] = c->digests[i];
  if (!n) return;
  besom_contains_many_digest(g->next.filter, digests, n, maybe);
  for (size_t i = 0, k = 0; i < c->n; i++) {
    if (c->epochs[i] != &g->next) continue;
    uint64_t bit = UINT64_C(1) << (i % 64);
    c->maybe[i / 64] = has_bit(maybe, k++) ? c->maybe[i / 64] | bit : c->maybe[i / 64] & ~bit;
  }
}

/* The current filter is asked for all keys: few batches meet a migration. */
static void ask_filters(struct chunk *c, const besom_guard *g) {
  const struct hasher *hasher = &g->current.filter->hasher;
  c->current = &g->current;
  c->migrating = g->next.filter;
  for (size_t i = 0; i < c->n; i++)
    c->digests[i] = hash_bytes(hasher, c->keys[i].data, c->keys[i].len);
  besom_contains_many_digest(g->current.filter, c->digests, c->n, c->maybe);
  if (LIKELY(!c->migrating)) return;
  for (size_t i = 0; i < c->n; i++)
    c->epochs[i] = besom__guard_epoch_of(g, &c->keys[i], &c->digests[i]);
  ask_next(c, g);
}

/* ------------------------------------------------------------------ the order of the store */

static int many_compare_keys(besom_bytes a, besom_bytes b) {
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_digests(besom_digest a, besom_digest b) {
  if (a.hi != b.hi) return a.hi < b.hi ? -1 : 1;
  return (a.lo > b.lo) - (a.lo < b.lo);
}

/* Bucket lists are in the order of digests, the table KEYS in that of keys. Equal keys stay in the
   caller's order. */
static bool comes_before(const struct chunk *c, bool by_key, unsigned a, unsigned b) {
  int order = 0;
  if (by_key)
    order = many_compare_keys(c->keys[a], c->keys[b]);
  else if (many_epoch_of(c, a) != many_epoch_of(c, b))
    order = many_epoch_of(c, a) == c->current ? -1 : 1;
  else
    order = compare_digests(c->digests[a], c->digests[b]);
  return order ? order < 0 : a < b;
}

/* Shell's sort, with the gaps of Ciura (2001): it needs no memory. */
static void sort_visits(struct chunk *c, bool by_key) {
  static const unsigned gaps[] = {132, 57, 23, 10, 4, 1};
  for (size_t k = 0; k < sizeof gaps / sizeof *gaps; k++)
    for (size_t i = gaps[k]; i < c->visits; i++) {
      uint16_t moved = c->order[i];
      size_t j = i;
      for (; j >= gaps[k] && comes_before(c, by_key, moved, c->order[j - gaps[k]]); j -= gaps[k])
        c->order[j] = c->order[j - gaps[k]];
      c->order[j] = moved;
    }
}

/* ------------------------------------------------------------------ get */

static void list_maybe(struct chunk *c, bool by_key) {
  c->visits = 0;
  for (size_t word = 0; word < (c->n + 63) / 64; word++)
    for (uint64_t left = c->maybe[word]; left; left &= left - 1)
      c->order[c->visits++] = (uint16_t)(64 * word + trailing_zeros(left));
  sort_visits(c, by_key);
}

/* Clears the bits of keys that are not there. After a failure the rest is not read. An adaptation
   may move records: if that fails, the filter must follow before the next key. */
static besom_status read_maybe(struct chunk *c, besom_guard *g, besom_bytes *values) {
  besom_status status = BESOM_OK;
  for (size_t k = 0; k < c->visits && status == BESOM_OK; k++) {
    unsigned i = c->order[k];
    status = ready_to_read(g);
    if (UNLIKELY(status != BESOM_OK)) break;
    status = besom__lookup_get(g, &c->keys[i], many_epoch_of(c, i), c->digests[i],
                               values ? &values[i] : NULL);
    if (status != BESOM_NOT_FOUND) continue;
    c->maybe[i / 64] &= ~(UINT64_C(1) << (i % 64));
    status = BESOM_OK;
  }
  return status;
}

/* One key after the other. */
static besom_status get_each(struct chunk *c, besom_guard *g, besom_bytes *values,
                             besom_status (*get)(besom_guard *g, const besom_bytes *key,
                                                 besom_bytes *value)) {
  memset(c->maybe, 0, sizeof c->maybe);
  for (size_t i = 0; i < c->n; i++) {
    besom_status status = get(g, &c->keys[i], values ? &values[i] : NULL);
    if (status != BESOM_OK && status != BESOM_NOT_FOUND) return status;
    c->maybe[i / 64] |= (uint64_t)(status == BESOM_OK) << (i % 64);
  }
  return BESOM_OK;
}

static besom_status get_together(struct chunk *c, besom_guard *g, besom_bytes *values) {
  besom_status status = ready_to_read(g);
  if (status != BESOM_OK) return status;
  ask_filters(c, g);
  list_maybe(c, g->layout == BESOM_LAYOUT_SPLIT);
  if (c->visits < c->n) status = guard_check_lock(g);
  if (status != BESOM_OK) return status;
  besom__count_absent(g, c->n - c->visits);
  return read_maybe(c, g, values);
}

/* Read-only: each get compares the store's commit number, so there is nothing to share. Changes
   that are not committed hide behind images, which are looked up by key. */
static besom_status get_chunk(struct chunk *c, besom_guard *g, besom_bytes *values) {
  if (g->read_only) return get_each(c, g, values, besom__reader_get);
  lock_read(g);
  besom_status status = has_images(g) ? get_each(c, g, values, besom__guard_ask_committed)
                                      : get_together(c, g, values);
  end_get(g);
  return status;
}

static bool are_keys(const besom_guard *g, const besom_bytes *keys, size_t n) {
  if (!g || (!keys && n)) return false;
  for (size_t i = 0; i < n; i++)
    if (!is_key(g, keys[i].data, keys[i].len)) return false;
  return true;
}

besom_status besom_guard_get_many(besom_guard *g, const besom_bytes *keys, size_t n,
                                  besom_bytes *values, uint64_t *found) {
  if (values) memset(values, 0, n * sizeof *values);
  if (!are_keys(g, keys, n)) return BESOM_INVALID;
  besom_status status = is_own_process(&g->process) ? BESOM_OK : BESOM_LOCKED;
  struct chunk c;
  for (size_t i = 0; i < n && status == BESOM_OK; i += CHUNK) {
    c.keys = keys + i;
    c.n = n - i < CHUNK ? n - i : CHUNK;
    status = get_chunk(&c, g, values ? values + i : NULL);
    if (found && status == BESOM_OK)
      memcpy(found + i / 64, c.maybe, (c.n + 63) / 64 * sizeof *found);
  }
  if (status != BESOM_OK && values)
    for (size_t i = 0; i < n; i++) besom_guard_release(g, &values[i]);
  return status;
}

/* ------------------------------------------------------------------ put */

/* Asking the filter brings its lines into the cache, where the puts find them. */
static besom_status put_chunk(struct chunk *c, besom_guard *g, const besom_bytes *values,
                              unsigned flags) {
  besom_status status = BESOM_OK;
  lock_read(g);
  ask_filters(c, g);
  unlock(g);
  for (c->visits = 0; c->visits < c->n; c->visits++) c->order[c->visits] = (uint16_t)c->visits;
  sort_visits(c, g->layout == BESOM_LAYOUT_SPLIT);
  for (size_t k = 0; k < c->n && status == BESOM_OK; k++) {
    const besom_bytes *key = &c->keys[c->order[k]], *value = &values[c->order[k]];
    status = besom_guard_put(g, key->data, key->len, value->data, value->len, flags);
  }
  return status;
}

static besom_status put_chunks(besom_guard *g, const besom_bytes *keys, const besom_bytes *values,
                               size_t n, unsigned flags) {
  besom_status status = g->locks ? BESOM_OK : besom__guard_resync(g);
  struct chunk c;
  for (size_t i = 0; i < n && status == BESOM_OK; i += CHUNK) {
    c.keys = keys + i;
    c.n = n - i < CHUNK ? n - i : CHUNK;
    status = put_chunk(&c, g, values + i, flags);
  }
  return status;
}

static bool are_values(const besom_bytes *values, size_t n) {
  if (!values && n) return false;
  for (size_t i = 0; i < n; i++)
    if (!values[i].data && values[i].len) return false;
  return true;
}

besom_status besom_guard_put_many(besom_guard *g, const besom_bytes *keys,
                                  const besom_bytes *values, size_t n, unsigned flags) {
  if (!are_keys(g, keys, n) || !are_values(values, n) || flags & ~BESOM_PUT_NEW)
    return BESOM_INVALID;
  if (!is_own_process(&g->process)) return BESOM_LOCKED;
  if (!n) return BESOM_OK;
  if (!g->transactional || besom__has_batch(g)) return put_chunks(g, keys, values, n, flags);
  besom_status status = besom_guard_begin(g);
  if (status != BESOM_OK) return status;
  status = put_chunks(g, keys, values, n, flags);
  if (status == BESOM_OK) return besom_guard_commit(g);
  besom_guard_abort(g);
  return status;
}
