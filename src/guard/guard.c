/*
 * The loop around an adaptive filter: ask the filter, read the store, compare the keys, adapt.
 *
 * A lookup carries one key through it: the filter's matches, then, after one read of their bucket, the match that is
 * the key itself, or all those that another key stands behind. What follows is what get, put and delete differ in.
 * Filter and store must agree on every rank at all times, so a change that fails in one is undone in the other.
 */
#include <string.h>

#include "besom_store.h"
#include "filter.h"

enum {
  FEW_MATCHES = 8,     /* so many need no allocation; more are rare even in the smallest filters */
  MEMORY_BITS = 12,    /* false positives that are remembered: 2^12 at most */
  LOAN_HEAD_BYTES = 8, /* what stands in front of a value that is lent */
};

struct besom_guard {
  besom_filter *filter;
  besom_store *store;
  besom_allocator allocator;
  besom_adapt_policy adapt;
  besom_guard_statistics stats;
  uint64_t offences[1 << MEMORY_BITS];
};

static besom_place place_of(besom_match at) {
  return (besom_place){.bucket = at.bucket, .rank = at.rank};
}

/* ------------------------------------------------------------------ values on loan */

/* Copies a value for the caller to keep: a store's own bytes are gone with its next call. */
static besom_status lend(const besom_guard *g, besom_bytes from, besom_bytes *out) {
  if (from.len > SIZE_MAX - LOAN_HEAD_BYTES) return BESOM_NO_MEMORY;
  uint64_t size = (uint64_t)from.len + LOAN_HEAD_BYTES;
  uint8_t *loan = g->allocator.allocate(g->allocator.ctx, (size_t)size);
  if (!loan) return BESOM_NO_MEMORY;
  memcpy(loan, &size, sizeof size); /* for the allocator, when it comes back */
  if (from.len) memcpy(loan + LOAN_HEAD_BYTES, from.data, from.len);
  *out = (besom_bytes){loan + LOAN_HEAD_BYTES, from.len};
  return BESOM_OK;
}

void besom_guard_release(besom_guard *g, besom_bytes *value) {
  if (!g || !value || !value->data) return;
  uint8_t *loan = (uint8_t *)(uintptr_t)value->data - LOAN_HEAD_BYTES;
  uint64_t size;
  memcpy(&size, loan, sizeof size);
  g->allocator.release(g->allocator.ctx, loan, (size_t)size);
  *value = (besom_bytes){NULL, 0};
}

/* ------------------------------------------------------------------ looking a key up */

struct lookup {
  besom_guard *guard;
  besom_bytes key;
  besom_digest digest;
  besom_bytes *value; /* where to lend the key's value; NULL if it is not wanted */

  besom_match *matches; /* all n of them, in order; the store's answer to those before next is known */
  size_t n, next, end;  /* end: of those in the bucket that is being read */
  size_t refuted;       /* so many of the first matches are of other keys, */
  besom_digest *stored; /* with these digests */
  bool found;
  besom_match found_at;

  besom_match few_matches[FEW_MATCHES];
  besom_digest few_stored[FEW_MATCHES];
};

static bool is_key(const besom_guard *g, const void *key, size_t len) {
  return g && (key || !len) && len <= BESOM_GUARD_MAX_KEY;
}

static size_t many_matches_bytes(const struct lookup *l) {
  return l->n * (sizeof *l->matches + sizeof *l->stored);
}

static void lookup_end(struct lookup *l) {
  if (l->stored == l->few_stored) return;
  l->guard->allocator.release(l->guard->allocator.ctx, l->stored, many_matches_bytes(l));
}

/* Asks the filter. After OK the lookup is to be ended. */
static besom_status lookup_begin(struct lookup *l, besom_guard *g, const void *key, size_t len) {
  l->guard = g;
  l->key = (besom_bytes){key, len};
  l->digest = besom_hash(g->filter, key, len);
  l->value = NULL;
  l->matches = l->few_matches;
  l->stored = l->few_stored;
  l->refuted = 0;
  l->found = false;
  besom_status status = besom_matches(g->filter, l->digest, l->few_matches, FEW_MATCHES, &l->n);
  if (status != BESOM_OK || l->n <= FEW_MATCHES) return status;
  l->stored = g->allocator.allocate(g->allocator.ctx, many_matches_bytes(l));
  if (!l->stored) return BESOM_NO_MEMORY;
  l->matches = (besom_match *)(l->stored + l->n);
  size_t total;
  status = besom_matches(g->filter, l->digest, l->matches, l->n, &total);
  if (status != BESOM_OK) lookup_end(l);
  return status;
}

static bool bytes_equal(besom_bytes a, besom_bytes b) {
  return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

/* Shown the records of a bucket, judges those whose fingerprints match. */
static besom_status judge(void *ctx, besom_place at, const besom_record *record) {
  struct lookup *l = ctx;
  while (l->next < l->end && l->matches[l->next].rank < at.rank) l->next++; /* no record: neither found nor refuted */
  if (l->next == l->end) return BESOM_END;
  if (l->matches[l->next].rank != at.rank) return BESOM_OK;
  besom_match match = l->matches[l->next++];
  if (bytes_equal(record->key, l->key)) {
    l->found = true;
    l->found_at = match;
    besom_status status = l->value ? lend(l->guard, record->value, l->value) : BESOM_OK;
    return status == BESOM_OK ? BESOM_END : status;
  }
  l->matches[l->refuted] = match;
  l->stored[l->refuted++] = besom_hash(l->guard->filter, record->key.data, record->key.len);
  return l->next == l->end ? BESOM_END : BESOM_OK;
}

/* Reads each bucket of the matches, once. Matches of one bucket are neighbours; most kinds have but one. */
static besom_status lookup_read(struct lookup *l, uint64_t *reads) {
  besom_store *store = l->guard->store;
  besom_status status = BESOM_OK;
  for (l->end = 0; l->end < l->n && !l->found && status == BESOM_OK;) {
    uint64_t bucket = l->matches[l->end].bucket;
    l->next = l->end;
    while (l->end < l->n && l->matches[l->end].bucket == bucket) l->end++;
    ++*reads;
    status = store->ops->get(store, (besom_place){.bucket = bucket}, judge, l);
  }
  return status;
}

/* ------------------------------------------------------------------ get */

/*
 * Notes a false positive, and tells whether the key was noted before. Each key has one place, and the last to come has
 * it: so some of those who come round and round are caught in every round, however many they are, where a
 * queue that is too short would catch none.
 */
static bool seen_before(besom_guard *g, besom_digest offender) {
  uint64_t *place = &g->offences[offender.lo >> (64 - MEMORY_BITS)];
  bool seen = *place == offender.lo;
  *place = offender.lo;
  return seen;
}

static besom_status adapt_to(struct lookup *l) {
  besom_guard *g = l->guard;
  bool again = seen_before(g, l->digest);
  g->stats.false_positives++;
  g->stats.repeated_false_positives += again;
  if (g->adapt == BESOM_ADAPT_NEVER || (g->adapt == BESOM_ADAPT_SECOND && !again)) return BESOM_OK;
  for (size_t i = 0; i < l->refuted; i++) {
    besom_status status = besom_adapt_at(g->filter, l->digest, l->matches[i], l->stored[i]);
    if (status == BESOM_OK)
      g->stats.adapted++;
    else if (status == BESOM_FULL)
      g->stats.adapt_full++;
    else if (status != BESOM_MEMBER && status != BESOM_NOT_FOUND)
      return status; /* two keys of one digest we just told apart, as no filter can; and one may move as others adapt */
  }
  return BESOM_OK;
}

/* What the filter said yes to. */
static besom_status get_from_store(struct lookup *l) {
  besom_guard *g = l->guard;
  besom_status status = lookup_read(l, &g->stats.store_reads);
  if (status != BESOM_OK) return status;
  if (l->found) {
    g->stats.true_positives++;
    return BESOM_OK;
  }
  status = adapt_to(l);
  return status == BESOM_OK ? BESOM_NOT_FOUND : status;
}

besom_status besom_guard_get(besom_guard *g, const void *key, size_t len, besom_bytes *value) {
  if (value) *value = (besom_bytes){NULL, 0};
  if (!is_key(g, key, len)) return BESOM_INVALID;
  g->stats.queries++;
  struct lookup l;
  besom_status status = lookup_begin(&l, g, key, len);
  if (status != BESOM_OK) return status;
  l.value = value;
  if (l.n) {
    status = get_from_store(&l);
  } else {
    g->stats.filter_negatives++;
    status = BESOM_NOT_FOUND;
  }
  lookup_end(&l);
  if (status != BESOM_OK) besom_guard_release(g, value); /* a store may fail after it has shown the record */
  return status;
}

/* ------------------------------------------------------------------ put and delete */

/* The filter first, since it knows the rank; if the store fails, the filter's entry, the last of its list, goes again.
 */
static besom_status add(besom_guard *g, besom_digest digest, const besom_record *record) {
  besom_match at;
  besom_status status = besom_insert_at(g->filter, digest, 0, &at);
  if (status != BESOM_OK) return status;
  status = g->store->ops->append(g->store, place_of(at), record);
  if (status != BESOM_OK) {
    besom_remove_at(g->filter, at);
    return status;
  }
  g->stats.puts++;
  return BESOM_OK;
}

static besom_status replace(besom_guard *g, besom_match at, const besom_record *record) {
  besom_status status = g->store->ops->replace(g->store, place_of(at), record);
  g->stats.replaced += status == BESOM_OK;
  return status;
}

besom_status besom_guard_put(besom_guard *g, const void *key, size_t len, const void *value, size_t value_len) {
  if (!is_key(g, key, len) || (!value && value_len)) return BESOM_INVALID;
  besom_record record = {{key, len}, {value, value_len}};
  struct lookup l;
  besom_status status = lookup_begin(&l, g, key, len);
  if (status != BESOM_OK) return status;
  status = lookup_read(&l, &g->stats.put_reads);
  if (status == BESOM_OK) status = l.found ? replace(g, l.found_at, &record) : add(g, l.digest, &record);
  lookup_end(&l);
  return status;
}

besom_status besom_guard_put_new(besom_guard *g, const void *key, size_t len, const void *value, size_t value_len) {
  if (!is_key(g, key, len) || (!value && value_len)) return BESOM_INVALID;
  besom_record record = {{key, len}, {value, value_len}};
  return add(g, besom_hash(g->filter, key, len), &record);
}

static besom_status ready_to_remove(besom_filter *f, besom_match at) {
  return f->kind->ready_to_remove ? f->kind->ready_to_remove(f, at) : BESOM_OK;
}

/* The store first: a fingerprint without a record does no harm, a record without a fingerprint is lost. */
static besom_status take_out(besom_guard *g, besom_match at) {
  besom_status status = ready_to_remove(g->filter, at);
  if (status == BESOM_OK) status = g->store->ops->remove(g->store, place_of(at));
  if (status == BESOM_OK) status = besom_remove_at(g->filter, at);
  g->stats.deletes += status == BESOM_OK;
  return status;
}

besom_status besom_guard_delete(besom_guard *g, const void *key, size_t len) {
  if (!is_key(g, key, len)) return BESOM_INVALID;
  struct lookup l;
  besom_status status = lookup_begin(&l, g, key, len);
  if (status != BESOM_OK) return status;
  status = lookup_read(&l, &g->stats.delete_reads);
  if (status == BESOM_OK) status = l.found ? take_out(g, l.found_at) : BESOM_NOT_FOUND;
  lookup_end(&l);
  return status;
}

/* ------------------------------------------------------------------ opening and closing */

static bool is_store(const besom_store *store) {
  const besom_store_ops *ops = store ? store->ops : NULL;
  return ops && ops->append && ops->get && ops->replace && ops->remove && ops->scan && ops->close;
}

static bool filter_can(const besom_filter *f, besom_adapt_policy adapt) {
  unsigned needed = BESOM_CAN_MATCH | (adapt == BESOM_ADAPT_NEVER ? 0 : BESOM_CAN_ADAPT);
  return (f->kind->info.abilities & needed) == needed;
}

/* Shown a record that the store had from the start, gives it its fingerprint. */
static besom_status readmit(void *ctx, besom_place place, const besom_record *record) {
  besom_guard *g = ctx;
  besom_match at = {place.bucket, place.rank}, given;
  besom_digest digest = besom_hash(g->filter, record->key.data, record->key.len);
  if (g->filter->kind->readmit_at) return g->filter->kind->readmit_at(g->filter, digest, at);
  besom_status status = besom_insert_at(g->filter, digest, 0, &given);
  if (status != BESOM_OK) return status;
  return given.bucket == at.bucket && given.rank == at.rank ? BESOM_OK : BESOM_UNLIKE;
}

struct wanted {
  const besom_guard *guard;
  uint32_t rank;
  bool found;
  besom_digest digest;
};

static besom_status hash_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct wanted *wanted = ctx;
  if (at.rank != wanted->rank) return BESOM_OK;
  wanted->found = true;
  wanted->digest = besom_hash(wanted->guard->filter, record->key.data, record->key.len);
  return BESOM_END;
}

/* For kinds that look at the stored keys of their own accord. */
static besom_status digest_of(void *ctx, const besom_filter *f, besom_match match, besom_digest *digest) {
  (void)f;
  besom_guard *g = ctx;
  struct wanted wanted = {.guard = g, .rank = match.rank};
  g->stats.filter_reads++;
  besom_status status = g->store->ops->get(g->store, place_of(match), hash_wanted, &wanted);
  if (status != BESOM_OK) return status;
  if (!wanted.found) return BESOM_NOT_FOUND;
  *digest = wanted.digest;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ filters that move their fingerprints */

/* A copy of what the store has for a match: its own bytes are gone with its next call. */
struct copy {
  const besom_guard *guard;
  uint32_t rank;
  uint8_t *bytes; /* NULL: nothing */
  size_t size;
  besom_record record;
};

static besom_status copy_wanted(void *ctx, besom_place at, const besom_record *record) {
  struct copy *copy = ctx;
  if (at.rank != copy->rank) return BESOM_OK;
  size_t key_len = record->key.len, value_len = record->value.len;
  if (value_len > SIZE_MAX - 1 - key_len) return BESOM_NO_MEMORY;
  copy->size = key_len + value_len + 1; /* there is a byte, even of nothing */
  copy->bytes = copy->guard->allocator.allocate(copy->guard->allocator.ctx, copy->size);
  if (!copy->bytes) return BESOM_NO_MEMORY;
  if (key_len) memcpy(copy->bytes, record->key.data, key_len);
  if (value_len) memcpy(copy->bytes + key_len, record->value.data, value_len);
  copy->record = (besom_record){{copy->bytes, key_len}, {copy->bytes + key_len, value_len}};
  return BESOM_END;
}

static void copy_free(struct copy *copy) {
  if (copy->bytes) copy->guard->allocator.release(copy->guard->allocator.ctx, copy->bytes, copy->size);
}

/* Also after a failure the copy is to be freed: a store may fail after it has shown the record. */
static besom_status copy_take(struct copy *copy, besom_guard *g, besom_match match) {
  *copy = (struct copy){.guard = g, .rank = match.rank};
  g->stats.filter_reads++;
  return g->store->ops->get(g->store, place_of(match), copy_wanted, copy);
}

/* To a match that has nothing. */
static besom_status move_record(besom_store *store, const besom_record *record, besom_match from, besom_match to) {
  besom_status status = store->ops->append(store, place_of(to), record);
  if (status != BESOM_OK) return status;
  status = store->ops->remove(store, place_of(from));
  if (status != BESOM_OK) store->ops->remove(store, place_of(to));
  return status;
}

static besom_status swap_records(besom_store *store, const struct copy *of_a, const struct copy *of_b, besom_match a,
                                 besom_match b) {
  besom_status status = store->ops->replace(store, place_of(a), &of_b->record);
  if (status != BESOM_OK) return status;
  status = store->ops->replace(store, place_of(b), &of_a->record);
  if (status != BESOM_OK) store->ops->replace(store, place_of(a), &of_a->record);
  return status;
}

static besom_status exchange(void *ctx, const besom_filter *f, besom_match a, besom_match b) {
  (void)f;
  besom_guard *g = ctx;
  struct copy of_a, of_b = {0};
  besom_status status = copy_take(&of_a, g, a);
  if (status == BESOM_OK) status = copy_take(&of_b, g, b);
  if (status == BESOM_OK && of_a.bytes && of_b.bytes)
    status = swap_records(g->store, &of_a, &of_b, a, b);
  else if (status == BESOM_OK && of_a.bytes)
    status = move_record(g->store, &of_a.record, a, b);
  else if (status == BESOM_OK && of_b.bytes)
    status = move_record(g->store, &of_b.record, b, a);
  if (status == BESOM_OK) g->stats.moved += (of_a.bytes != NULL) + (of_b.bytes != NULL);
  copy_free(&of_a);
  copy_free(&of_b);
  return status;
}

/* A guard around the filter, which it takes over if it succeeds. */
static besom_status guard_new(const besom_guard_config *config, besom_filter *filter, besom_store *store,
                              besom_guard **out) {
  besom_guard *g = filter->allocator.allocate(filter->allocator.ctx, sizeof *g);
  if (!g) return BESOM_NO_MEMORY;
  g->filter = filter;
  g->store = store;
  g->allocator = filter->allocator;
  g->adapt = config->adapt;
  besom_reverse reverse = {.digest_of = digest_of, .ctx = g, .exchange = exchange};
  besom_status status = besom_bind(filter, &reverse);
  if (status == BESOM_OK) status = store->ops->scan(store, (besom_place){0}, readmit, g);
  if (status == BESOM_OK)
    *out = g;
  else
    filter->allocator.release(filter->allocator.ctx, g, sizeof *g);
  return status;
}

besom_status besom_guard_open(const besom_guard_config *config, besom_store *store, besom_guard **out) {
  if (!config || !out || !is_store(store) || (unsigned)config->adapt > BESOM_ADAPT_NEVER) return BESOM_INVALID;
  besom_filter *filter;
  besom_status status = besom_create(&config->filter, &filter);
  if (status != BESOM_OK) return status;
  status = filter_can(filter, config->adapt) ? guard_new(config, filter, store, out) : BESOM_UNSUPPORTED;
  if (status != BESOM_OK) besom_free(filter);
  return status;
}

void besom_guard_close(besom_guard *g) {
  if (!g) return;
  besom_allocator allocator = g->allocator;
  besom_free(g->filter);
  g->store->ops->close(g->store);
  allocator.release(allocator.ctx, g, sizeof *g);
}

besom_status besom_guard_stats(const besom_guard *g, besom_guard_statistics *stats) {
  if (!g || !stats) return BESOM_INVALID;
  *stats = g->stats;
  return BESOM_OK;
}

const besom_filter *besom_guard_filter(const besom_guard *g) {
  return g ? g->filter : NULL;
}
