/* How the filter sees the stored keys: reads them, and, if it moves its fingerprints, has the records move along. */
#include "guard/guard.h"

static uint32_t epoch_of(const besom_guard *g, const besom_filter *f) {
  return f == g->next.filter ? g->next.epoch : g->now.epoch;
}

/* ------------------------------------------------------------------ reading */

struct wanted {
  const besom_filter *filter;
  uint32_t rank;
  bool found;
  besom_digest digest;
};

static besom_status hash_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct wanted *wanted = ctx;
  if (at.rank != wanted->rank) return BESOM_OK;
  wanted->found = true;
  wanted->digest = besom_hash(wanted->filter, record->key.data, record->key.len);
  return BESOM_END;
}

static besom_status digest_of(void *ctx, const besom_filter *f, besom_match match,
                              besom_digest *digest) {
  besom_guard *g = ctx;
  struct wanted wanted = {.filter = f, .rank = match.rank};
  count(g, &g->stats.filter_reads, 1);
  besom_status status =
      g->store->ops->get(g->store, place_of(epoch_of(g, f), match), hash_wanted, &wanted);
  if (status != BESOM_OK) return status;
  if (!wanted.found) return BESOM_NOT_FOUND;
  *digest = wanted.digest;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ moving */

/* A copy of what the store has for a match: its own bytes are gone with its next call. */
struct copy {
  const besom_guard *guard;
  besom_place place;
  uint8_t *bytes; /* NULL: nothing */
  size_t size;
  besom_record record;
};

static besom_status copy_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct copy *copy = ctx;
  if (at.rank != copy->place.rank) return BESOM_OK;
  size_t key_len = record->key.len, value_len = record->value.len;
  if (value_len > SIZE_MAX - 1 - key_len) return BESOM_NO_MEMORY;
  copy->size = key_len + value_len + 1; /* there is a byte, even of nothing */
  copy->bytes = besom__allocate(&copy->guard->allocator, copy->size);
  if (!copy->bytes) return BESOM_NO_MEMORY;
  if (key_len) memcpy(copy->bytes, record->key.data, key_len);
  if (value_len) memcpy(copy->bytes + key_len, record->value.data, value_len);
  copy->record = (besom_record){{copy->bytes, key_len}, {copy->bytes + key_len, value_len}};
  return BESOM_END;
}

static void copy_free(struct copy *copy) {
  if (copy->bytes) besom__release(&copy->guard->allocator, copy->bytes, copy->size);
}

/* Also after a failure the copy is to be freed: a store may fail after it has shown the record. */
static besom_status copy_take(struct copy *copy, besom_guard *g, besom_place place) {
  *copy = (struct copy){.guard = g, .place = place};
  count(g, &g->stats.filter_reads, 1);
  return g->store->ops->get(g->store, place, copy_wanted, copy);
}

/* To a place that has nothing. */
static besom_status move_record(besom_store *store, const struct copy *from, besom_place to) {
  besom_status status = store->ops->append(store, to, &from->record);
  if (status != BESOM_OK) return status;
  status = store->ops->remove(store, from->place);
  if (status != BESOM_OK) store->ops->remove(store, to);
  return status;
}

static besom_status swap_records(besom_store *store, const struct copy *a, const struct copy *b) {
  besom_status status = store->ops->replace(store, a->place, &b->record);
  if (status != BESOM_OK) return status;
  status = store->ops->replace(store, b->place, &a->record);
  if (status != BESOM_OK) store->ops->replace(store, a->place, &a->record);
  return status;
}

static besom_status exchange_copies(besom_store *store, const struct copy *a,
                                    const struct copy *b) {
  if (a->bytes && b->bytes) return swap_records(store, a, b);
  if (a->bytes) return move_record(store, a, b->place);
  return b->bytes ? move_record(store, b, a->place) : BESOM_OK;
}

static besom_status exchange(void *ctx, const besom_filter *f, besom_match a, besom_match b) {
  besom_guard *g = ctx;
  struct copy of_a, of_b = {0};
  besom_status status =
      besom__log_reserve(g, 3); /* and one for the insert that this may be part of */
  if (status != BESOM_OK) return status;
  status = copy_take(&of_a, g, place_of(epoch_of(g, f), a));
  if (status == BESOM_OK) status = copy_take(&of_b, g, place_of(epoch_of(g, f), b));
  if (status == BESOM_OK) status = exchange_copies(g->store, &of_a, &of_b);
  if (status == BESOM_OK) {
    count(g, &g->stats.moved, (of_a.bytes != NULL) + (of_b.bytes != NULL));
    besom__log_add(g, f, a, true);
    besom__log_add(g, f, b, true);
  }
  copy_free(&of_a);
  copy_free(&of_b);
  return status;
}

besom_status besom__guard_bind(besom_guard *g, besom_filter *f) {
  besom_reverse reverse = {.digest_of = digest_of, .ctx = g, .exchange = exchange};
  return besom_bind(f, &reverse);
}
