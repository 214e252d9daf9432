/*
 * The hot calls on one key: queries, inserts and removes. A filter points at one table of each
 * (struct query_calls, insert_calls, remove_calls in kind.h), chosen when the filter is made. So a
 * public call has no branches for what the filter is: concurrent, mapped, busy, of which hash.
 */
#include "api/snapshot.h"
#include "exceptions/reports.h"

#define NOINLINE static __attribute__((noinline))

/* -------------------------------------------------------------- public calls */

bool besom_contains(const besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(!f || (!key && len))) return true;
  return f->queries->contains(f, key, len);
}

bool besom_contains_u64(const besom_filter *f, uint64_t key) {
  if (UNLIKELY(!f)) return true;
  return f->queries->contains_u64(f, key);
}

bool besom_contains_digest(const besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return true;
  return f->queries->contains_digest(f, digest);
}

besom_status besom_insert(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(!f || (!key && len)))
    return f && !KIND_HAS(f->kind, change, insert) ? BESOM_UNSUPPORTED : BESOM_INVALID;
  return f->inserts->insert(f, key, len);
}

besom_status besom_insert_u64(besom_filter *f, uint64_t key) {
  if (UNLIKELY(!f)) return BESOM_INVALID;
  return f->inserts->insert_u64(f, key);
}

besom_status besom_insert_digest(besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return BESOM_INVALID;
  return f->inserts->insert_digest(f, digest);
}

static bool can_remove(const besom_filter *f) {
  return KIND_HAS(f->kind, change, remove) && !f->is_set;
}

besom_status besom_remove(besom_filter *f, const void *key, size_t len) {
  if (UNLIKELY(!f || (!key && len))) return f && !can_remove(f) ? BESOM_UNSUPPORTED : BESOM_INVALID;
  return f->removes->remove(f, key, len);
}

besom_status besom_remove_digest(besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return BESOM_INVALID;
  return f->removes->remove_digest(f, digest);
}

/* -------------------------------------------------------------- queries of any kind */

static bool general_contains(const besom_filter *f, const void *key, size_t len) {
  return f->kind->query.contains(f, hash_bytes(&f->hasher, key, len));
}

static bool general_contains_u64(const besom_filter *f, uint64_t key) {
  return f->kind->query.contains(f, hash_u64(&f->hasher, key));
}

static bool general_contains_digest(const besom_filter *f, besom_digest d) {
  return f->kind->query.contains(f, d);
}

static const struct query_calls general_queries = {
    .contains = general_contains,
    .contains_u64 = NOT_IN_MODULE(general_contains_u64),
    .contains_digest = general_contains_digest,
};

/* Of kinds that look at the key itself. */
static bool keyed_contains(const besom_filter *f, const void *key, size_t len) {
  return f->kind->query.contains_key(f, key, len, hash_bytes(&f->hasher, key, len));
}

static bool keyed_contains_u64(const besom_filter *f, uint64_t key) {
  uint8_t bytes[8];
  store64(bytes, key);
  return f->kind->query.contains_key(f, bytes, sizeof bytes, hash_u64(&f->hasher, key));
}

static const struct query_calls keyed_queries = {
    .contains = keyed_contains,
    .contains_u64 = NOT_IN_MODULE(keyed_contains_u64),
    .contains_digest = general_contains_digest,
};

/* Of lists of domains. */
static bool domain_contains(const besom_filter *f, const void *key, size_t len) {
  return besom__domain_contains(f, key, len, NULL);
}

static const struct query_calls domain_queries = {
    .contains = domain_contains,
    .contains_u64 = NOT_IN_MODULE(general_contains_u64),
    .contains_digest = general_contains_digest,
};

/*
 * Of concurrent filters: the current filter has tables of its own. Most calls come from a thread
 * that has a reader slot (snapshot.h); the others enter by the general way.
 */
NOINLINE bool snapshot_contains_slowly(const besom_filter *f, const void *key, size_t len) {
  struct reader r = besom__snapshot_enter(f);
  bool answer = r.filter->queries->contains(r.filter, key, len);
  besom__reader_leave(r);
  return answer;
}

static bool snapshot_contains(const besom_filter *f, const void *key, size_t len) {
  struct reader_slot *slot = free_slot(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_contains_slowly(f, key, len);
  slot_enter(f->snapshot, slot);
  const besom_filter *now = current_filter(f->snapshot);
  bool answer = now->queries->contains(now, key, len);
  slot_leave(slot);
  return answer;
}

NOINLINE bool snapshot_contains_u64_slowly(const besom_filter *f, uint64_t key) {
  struct reader r = besom__snapshot_enter(f);
  bool answer = r.filter->queries->contains_u64(r.filter, key);
  besom__reader_leave(r);
  return answer;
}

static bool snapshot_contains_u64(const besom_filter *f, uint64_t key) {
  struct reader_slot *slot = free_slot(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_contains_u64_slowly(f, key);
  slot_enter(f->snapshot, slot);
  const besom_filter *now = current_filter(f->snapshot);
  bool answer = now->queries->contains_u64(now, key);
  slot_leave(slot);
  return answer;
}

NOINLINE bool snapshot_contains_digest_slowly(const besom_filter *f, besom_digest d) {
  struct reader r = besom__snapshot_enter(f);
  bool answer = r.filter->queries->contains_digest(r.filter, d);
  besom__reader_leave(r);
  return answer;
}

static bool snapshot_contains_digest(const besom_filter *f, besom_digest d) {
  struct reader_slot *slot = free_slot(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_contains_digest_slowly(f, d);
  slot_enter(f->snapshot, slot);
  const besom_filter *now = current_filter(f->snapshot);
  bool answer = now->queries->contains_digest(now, d);
  slot_leave(slot);
  return answer;
}

static const struct query_calls snapshot_queries = {
    .contains = snapshot_contains,
    .contains_u64 = NOT_IN_MODULE(snapshot_contains_u64),
    .contains_digest = snapshot_contains_digest,
};

/*
 * Of filters with exceptions: a no of the base is final, a yes is looked up. Arguments are volatile
 * so that they wait on the stack: it would take more instructions to free registers for them, and
 * most answers are no. Such an answer is returned in the register that it is in, where the compiler
 * would write a 0 first.
 */
#define RETURN_AS_IT_IS(answer) \
  do {                          \
    __asm__("" : "+r"(answer)); \
    return answer;              \
  } while (0)

NOINLINE bool unless_reported(const besom_filter *f, const void *key, size_t len) {
  return !exceptions_deny(f->exceptions, hash_bytes(&f->hasher, key, len));
}

static bool reports_contains(const besom_filter *f, const void *key, size_t len) {
  return f->base_queries.contains(f, key, len) && unless_reported(f, key, len);
}

NOINLINE bool unless_reported_u64(const besom_filter *f, uint64_t key) {
  return !besom__exceptions_has(f->exceptions, hash_u64(&f->hasher, key));
}

static bool reports_contains_u64(const besom_filter *f, uint64_t key) {
  return f->base_queries.contains_u64(f, key) && unless_reported_u64(f, key);
}

/* The hint needs half of the digest. */
NOINLINE bool unless_reported_xxh3_u64(const besom_filter *f, uint64_t key) {
  if (LIKELY(!exceptions_hint(f->exceptions, xxh3_u64(&f->hasher, key).hi))) return true;
  return unless_reported_u64(f, key);
}

static bool reports_contains_xxh3_u64(const besom_filter *f, uint64_t key) {
  const besom_filter *volatile filter = f;
  volatile uint64_t kept = key;
  bool yes = f->base_queries.contains_u64(f, key);
  if (UNLIKELY(yes)) return unless_reported_xxh3_u64(filter, kept);
  RETURN_AS_IT_IS(yes);
}

NOINLINE bool unless_reported_digest(const besom_filter *f, besom_digest d) {
  return !exceptions_deny(f->exceptions, d);
}

static bool reports_contains_digest(const besom_filter *f, besom_digest d) {
  const besom_filter *volatile filter = f;
  volatile besom_digest kept = d;
  bool yes = f->base_queries.contains_digest(f, d);
  if (UNLIKELY(yes)) return unless_reported_digest(filter, (besom_digest){kept.hi, kept.lo});
  RETURN_AS_IT_IS(yes);
}

static const struct query_calls reports_queries = {
    .contains = reports_contains,
    .contains_u64 = NOT_IN_MODULE(reports_contains_u64),
    .contains_digest = reports_contains_digest,
};

static const struct query_calls reports_xxh3_queries = {
    .contains = reports_contains,
    .contains_u64 = NOT_IN_MODULE(reports_contains_xxh3_u64),
    .contains_digest = reports_contains_digest,
};

/* Of lists of domains with exceptions: a name is denied if each entry that answers it is. */
static const struct query_calls domain_reports_queries = {
    .contains = domain_contains,
    .contains_u64 = NOT_IN_MODULE(reports_contains_u64),
    .contains_digest = reports_contains_digest,
};

/* -------------------------------------------------------------- prefetching */

/* A reported key is looked up after a yes: its tag is prefetched, too. */
ALWAYS_INLINE void filter_prefetch(const besom_filter *f, besom_digest d) {
  if (LIKELY(f->kind->query.prefetch)) f->kind->query.prefetch(f, d);
  if (has_reports(f)) besom__exceptions_prefetch(f->exceptions, d);
}

NOINLINE void snapshot_prefetch(const besom_filter *f, besom_digest d) {
  struct reader r = besom__snapshot_enter(f);
  filter_prefetch(r.filter, d);
  besom__reader_leave(r);
}

void besom_prefetch_digest(const besom_filter *f, besom_digest digest) {
  if (UNLIKELY(!f)) return;
  if (UNLIKELY(f->snapshot))
    snapshot_prefetch(f, digest);
  else
    filter_prefetch(f, digest);
}

NOINLINE void snapshot_prefetch_u64(const besom_filter *f, uint64_t key) {
  struct reader r = besom__snapshot_enter(f);
  filter_prefetch(r.filter, hash_u64(&r.filter->hasher, key));
  besom__reader_leave(r);
}

void besom_prefetch_u64(const besom_filter *f, uint64_t key) {
  if (UNLIKELY(!f)) return;
  if (UNLIKELY(f->snapshot))
    snapshot_prefetch_u64(f, key);
  else
    filter_prefetch(f, hash_u64(&f->hasher, key));
}

/* -------------------------------------------------------------- inserts of any kind */

static besom_status general_insert(besom_filter *f, const void *key, size_t len) {
  return f->kind->change->insert(f, hash_bytes(&f->hasher, key, len));
}

static besom_status general_insert_u64(besom_filter *f, uint64_t key) {
  return f->kind->change->insert(f, hash_u64(&f->hasher, key));
}

static besom_status general_insert_digest(besom_filter *f, besom_digest d) {
  return f->kind->change->insert(f, d);
}

static const struct insert_calls general_inserts = {
    .insert = NOT_IN_READER(general_insert),
    .insert_u64 = NOT_IN_READER(general_insert_u64),
    .insert_digest = NOT_IN_READER(general_insert_digest),
};

/* Enters a free slot; NULL: not entered, because there is none or because writers may not enter. */
ALWAYS_INLINE struct reader_slot *slot_to_write(struct snapshot_handle *h) {
  struct reader_slot *slot = free_slot(h);
  if (UNLIKELY(!slot)) return NULL;
  slot_enter(h, slot);
  if (writers_may_enter(h)) return slot;
  slot_leave(slot);
  return NULL;
}

NOINLINE besom_status snapshot_insert_slowly(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  besom_status status = besom__snapshot_enter_to_write(f, &r);
  if (status != BESOM_OK) return status;
  status = r.filter->inserts->insert(r.filter, key, len);
  besom__reader_leave(r);
  return status;
}

static besom_status snapshot_insert(besom_filter *f, const void *key, size_t len) {
  struct reader_slot *slot = slot_to_write(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_insert_slowly(f, key, len);
  besom_filter *now = current_filter(f->snapshot);
  besom_status status = now->inserts->insert(now, key, len);
  slot_leave(slot);
  return status;
}

NOINLINE besom_status snapshot_insert_u64_slowly(besom_filter *f, uint64_t key) {
  struct reader r;
  besom_status status = besom__snapshot_enter_to_write(f, &r);
  if (status != BESOM_OK) return status;
  status = r.filter->inserts->insert_u64(r.filter, key);
  besom__reader_leave(r);
  return status;
}

static besom_status snapshot_insert_u64(besom_filter *f, uint64_t key) {
  struct reader_slot *slot = slot_to_write(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_insert_u64_slowly(f, key);
  besom_filter *now = current_filter(f->snapshot);
  besom_status status = now->inserts->insert_u64(now, key);
  slot_leave(slot);
  return status;
}

NOINLINE besom_status snapshot_insert_digest_slowly(besom_filter *f, besom_digest d) {
  struct reader r;
  besom_status status = besom__snapshot_enter_to_write(f, &r);
  if (status != BESOM_OK) return status;
  status = r.filter->inserts->insert_digest(r.filter, d);
  besom__reader_leave(r);
  return status;
}

static besom_status snapshot_insert_digest(besom_filter *f, besom_digest d) {
  struct reader_slot *slot = slot_to_write(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_insert_digest_slowly(f, d);
  besom_filter *now = current_filter(f->snapshot);
  besom_status status = now->inserts->insert_digest(now, d);
  slot_leave(slot);
  return status;
}

static const struct insert_calls snapshot_inserts = {
    .insert = NOT_IN_READER(snapshot_insert),
    .insert_u64 = NOT_IN_READER(snapshot_insert_u64),
    .insert_digest = NOT_IN_READER(snapshot_insert_digest),
};

static const struct insert_calls *choose_inserts(const besom_filter *f);

/* Of filters with exceptions: removes that of a key that was inserted. */
static besom_status reports_insert_digest(besom_filter *f, besom_digest d) {
  besom_status status = choose_inserts(f)->insert_digest(f, d);
  if (status == BESOM_OK) besom__reports_remove(f, d, false);
  return status;
}

static besom_status reports_insert(besom_filter *f, const void *key, size_t len) {
  return reports_insert_digest(f, hash_bytes(&f->hasher, key, len));
}

static besom_status reports_insert_u64(besom_filter *f, uint64_t key) {
  return reports_insert_digest(f, hash_u64(&f->hasher, key));
}

static const struct insert_calls reports_inserts = {
    .insert = NOT_IN_READER(reports_insert),
    .insert_u64 = NOT_IN_READER(reports_insert_u64),
    .insert_digest = NOT_IN_READER(reports_insert_digest),
};

/* Filters that take no inserts, for a reason that does not depend on the key. */
static besom_status why_not(const besom_filter *f) {
  if (!KIND_HAS(f->kind, change, insert)) return BESOM_UNSUPPORTED;
  return f->mapping ? BESOM_READ_ONLY : BESOM_BUSY;
}

static besom_status refuse_insert(besom_filter *f, const void *key, size_t len) {
  (void)key, (void)len;
  return why_not(f);
}

static besom_status refuse_insert_u64(besom_filter *f, uint64_t key) {
  (void)key;
  return why_not(f);
}

static besom_status refuse_insert_digest(besom_filter *f, besom_digest d) {
  (void)d;
  return why_not(f);
}

static const struct insert_calls refusing_inserts = {
    .insert = refuse_insert,
    .insert_u64 = refuse_insert_u64,
    .insert_digest = refuse_insert_digest,
};

/* -------------------------------------------------------------- removes of any kind */

static besom_status general_remove(besom_filter *f, const void *key, size_t len) {
  return f->kind->change->remove(f, hash_bytes(&f->hasher, key, len));
}

static besom_status general_remove_digest(besom_filter *f, besom_digest d) {
  return f->kind->change->remove(f, d);
}

static const struct remove_calls general_removes = {NOT_IN_READER(general_remove),
                                                    NOT_IN_READER(general_remove_digest)};

NOINLINE besom_status snapshot_remove_slowly(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  besom_status status = besom__snapshot_enter_to_write(f, &r);
  if (status != BESOM_OK) return status;
  status = r.filter->removes->remove(r.filter, key, len);
  besom__reader_leave(r);
  return status;
}

static besom_status snapshot_remove(besom_filter *f, const void *key, size_t len) {
  struct reader_slot *slot = slot_to_write(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_remove_slowly(f, key, len);
  besom_filter *now = current_filter(f->snapshot);
  besom_status status = now->removes->remove(now, key, len);
  slot_leave(slot);
  return status;
}

NOINLINE besom_status snapshot_remove_digest_slowly(besom_filter *f, besom_digest d) {
  struct reader r;
  besom_status status = besom__snapshot_enter_to_write(f, &r);
  if (status != BESOM_OK) return status;
  status = r.filter->removes->remove_digest(r.filter, d);
  besom__reader_leave(r);
  return status;
}

static besom_status snapshot_remove_digest(besom_filter *f, besom_digest d) {
  struct reader_slot *slot = slot_to_write(f->snapshot);
  if (UNLIKELY(!slot)) return snapshot_remove_digest_slowly(f, d);
  besom_filter *now = current_filter(f->snapshot);
  besom_status status = now->removes->remove_digest(now, d);
  slot_leave(slot);
  return status;
}

static const struct remove_calls snapshot_removes = {NOT_IN_READER(snapshot_remove),
                                                     NOT_IN_READER(snapshot_remove_digest)};

/* Of filters with exceptions: a reported key is absent. */
static besom_status reports_remove_digest(besom_filter *f, besom_digest d) {
  return exceptions_deny(f->exceptions, d) ? BESOM_NOT_FOUND : f->kind->change->remove(f, d);
}

static besom_status reports_remove_key(besom_filter *f, const void *key, size_t len) {
  return reports_remove_digest(f, hash_bytes(&f->hasher, key, len));
}

static const struct remove_calls reports_removes = {NOT_IN_READER(reports_remove_key),
                                                    NOT_IN_READER(reports_remove_digest)};

static besom_status why_no_remove(const besom_filter *f) {
  if (!can_remove(f)) return BESOM_UNSUPPORTED;
  return f->mapping ? BESOM_READ_ONLY : BESOM_BUSY;
}

static besom_status refuse_remove(besom_filter *f, const void *key, size_t len) {
  (void)key, (void)len;
  return why_no_remove(f);
}

static besom_status refuse_remove_digest(besom_filter *f, besom_digest d) {
  (void)d;
  return why_no_remove(f);
}

static const struct remove_calls refusing_removes = {refuse_remove, refuse_remove_digest};

/* -------------------------------------------------------------- choosing */

static const struct query_calls *choose_queries(const besom_filter *f) {
  const struct besom_kind *kind = f->kind;
  if (f->domains.labels) return &domain_queries;
  const struct query_calls *own = kind->query.calls ? kind->query.calls(f) : NULL;
  if (own) return own;
  return kind->query.contains_key ? &keyed_queries : &general_queries;
}

static const struct insert_calls *choose_inserts(const besom_filter *f) {
  const struct besom_kind *kind = f->kind;
  if (!KIND_HAS(kind, change, insert) || f->mapping || f->task) return &refusing_inserts;
  if (f->is_set && !kind->map) return NOT_IN_READER(&besom__set_inserts);
  const struct insert_calls *own = KIND_HAS(kind, change, calls) ? kind->change->calls(f) : NULL;
  return own ? own : &general_inserts;
}

static const struct remove_calls *choose_removes(const besom_filter *f) {
  if (!can_remove(f) || f->mapping || f->task) return &refusing_removes;
  if (has_reports(f)) return &reports_removes;
  const struct remove_calls *own =
      f->kind->change->remove_calls ? f->kind->change->remove_calls(f) : NULL;
  return own ? own : &general_removes;
}

void besom__choose_calls(besom_filter *f) {
  if (f->snapshot) return; /* set once, by besom__snapshot_calls: other threads are reading them */
  f->generation++;
  f->queries = choose_queries(f);
  f->base_queries = *f->queries;
  f->inserts = choose_inserts(f);
  f->removes = choose_removes(f);
  if (!has_reports(f)) return;
  f->queries = f->domains.labels           ? &domain_reports_queries
               : f->hasher.id == HASH_XXH3 ? &reports_xxh3_queries
                                           : &reports_queries;
  if (f->inserts != &refusing_inserts) f->inserts = &reports_inserts;
}

void besom__snapshot_calls(besom_filter *f) {
  f->generation++;
  f->queries = &snapshot_queries;
  f->inserts = KIND_HAS(f->kind, change, insert) ? &snapshot_inserts : &refusing_inserts;
  f->removes = can_remove(f) ? &snapshot_removes : &refusing_removes;
}
