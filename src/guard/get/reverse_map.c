/*
 * The reverse map: from a fingerprint of the filter to its stored key. In the merged layout the map
 * is the database itself, in the split layout the bucket lists beside it. The filter reads keys
 * from it and, if it relocates fingerprints, has their records moved.
 */
#include "guard/get/reverse_map.h"
#include "guard/put/change.h"
#include "guard/transaction/undo_log.h"

static uint32_t reverse_map_epoch_of(const besom_guard *g, const besom_filter *f) {
  return f == g->next.filter ? g->next.number : g->current.number;
}

/* ------------------------------------------------------------------ reading keys */

struct key_read {
  const besom_filter *filter;
  uint32_t rank;
  bool found;
  besom_digest digest;
};

static besom_status hash_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct key_read *read = ctx;
  if (at.rank != read->rank) return BESOM_OK;
  read->found = true;
  read->digest = besom_hash(read->filter, record->key.data, record->key.len);
  return BESOM_END;
}

static besom_status reverse_map_digest_of(void *ctx, const besom_filter *f,
                                          const besom_match *match, besom_digest *digest) {
  besom_guard *g = ctx;
  struct key_read read = {.filter = f, .rank = match->rank};
  count(g, &g->stats.filter_reads, 1);
  besom_status status = g->store->ops->get(
      g->store, position_of(reverse_map_epoch_of(g, f), *match), hash_wanted, &read);
  if (status != BESOM_OK) return status;
  if (!read.found) return BESOM_NOT_FOUND;
  *digest = read.digest;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ moving records */

/* A copy of the record of a match: the bytes that a store shows are valid until its next call. */
struct copy {
  const besom_guard *guard;
  besom_place position;
  uint8_t *bytes; /* NULL: there is no record */
  size_t size;
  besom_record record;
};

static besom_status copy_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct copy *copy = ctx;
  if (at.rank != copy->position.rank) return BESOM_OK;
  size_t key_len = record->key.len, value_len = record->value.len;
  if (value_len > SIZE_MAX - 1 - key_len) return BESOM_NO_MEMORY;
  copy->size = key_len + value_len + 1; /* never 0, also for an empty record */
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

/* Free the copy also after a failure: a store may fail after it has shown the record. */
static besom_status copy_take(struct copy *copy, besom_guard *g, besom_place position) {
  *copy = (struct copy){.guard = g, .position = position};
  count(g, &g->stats.filter_reads, 1);
  return g->store->ops->get(g->store, position, copy_wanted, copy);
}

/* Moves a record to a position that has none. */
static besom_status move_record(besom_guard *g, const struct copy *from, besom_place to) {
  besom_store *store = g->store;
  besom_status status = store->ops->append(store, to, &from->record);
  if (status != BESOM_OK) return status;
  status = store->ops->remove(store, from->position);
  if (status != BESOM_OK) besom__guard_check_undo(g, store->ops->remove(store, to));
  return status;
}

static besom_status swap_records(besom_guard *g, const struct copy *a, const struct copy *b) {
  besom_store *store = g->store;
  besom_status status = store->ops->replace(store, a->position, &b->record);
  if (status != BESOM_OK) return status;
  status = store->ops->replace(store, b->position, &a->record);
  if (status != BESOM_OK)
    besom__guard_check_undo(g, store->ops->replace(store, a->position, &a->record));
  return status;
}

static besom_status exchange_copies(besom_guard *g, const struct copy *a, const struct copy *b) {
  if (a->bytes && b->bytes) return swap_records(g, a, b);
  if (a->bytes) return move_record(g, a, b->position);
  return b->bytes ? move_record(g, b, a->position) : BESOM_OK;
}

static besom_status exchange(void *ctx, const besom_filter *f, const besom_match *a,
                             const besom_match *b) {
  besom_guard *g = ctx;
  struct copy of_a, of_b = {0};
  /* Two entries here, and one for the insert that this may be part of. */
  besom_status status = besom__undo_make_room(g, 3);
  if (status != BESOM_OK) return status;
  status = copy_take(&of_a, g, position_of(reverse_map_epoch_of(g, f), *a));
  if (status == BESOM_OK) status = copy_take(&of_b, g, position_of(reverse_map_epoch_of(g, f), *b));
  if (status == BESOM_OK) status = exchange_copies(g, &of_a, &of_b);
  if (status == BESOM_OK) {
    count(g, &g->stats.moved, (of_a.bytes != NULL) + (of_b.bytes != NULL));
    besom__undo_add(g, f, *a, true);
    besom__undo_add(g, f, *b, true);
  }
  copy_free(&of_a);
  copy_free(&of_b);
  return status;
}

besom_status besom__guard_bind(besom_guard *g, besom_filter *f) {
  besom_reverse reverse = {.digest_of = reverse_map_digest_of, .ctx = g, .exchange = exchange};
  return besom_bind(f, &reverse);
}
