/* Changes of single keys and of batches: check the arguments, hash the key, call the kind. */
#include "api/filter_calls.h"
#include "exceptions/reports.h"

static besom_digest filter_digest_of(struct reader r, const void *key, size_t len) {
  return hash_bytes(&r.filter->hasher, key, len);
}

/* -------------------------------------------------------------- insert */

besom_status besom_insert_count(besom_filter *f, const void *key, size_t len, uint64_t n) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, change, insert_count, (key || !len) && n > 0);
  besom_digest d = filter_digest_of(r, key, len);
  besom_status status = r.filter->kind->change->insert_count(r.filter, d, n);
  if (status == BESOM_OK) forget_reports_of(r.filter, &d, 1);
  return leave(r, status);
}

/* Hashes and inserts some keys, no more than a batch. */
static besom_status filter_insert_some(besom_filter *f, struct key_array keys, size_t from,
                                       size_t n, size_t *done) {
  besom_digest batch[HASH_BATCH];
  struct reader r;
  *done = 0;
  ENTER_TO_CHANGE(r, f, change, insert_many, true);
  hash_key_array(&r.filter->hasher, keys, from, n, batch);
  besom_status status = besom__insert_digests(r.filter, batch, n, done);
  forget_reports_of(r.filter, batch, *done);
  return leave(r, status);
}

/* Few keys, one by one. f is no NULL, and the keys are valid. */
static besom_status filter_insert_few(besom_filter *f, struct key_array keys, size_t n,
                                      size_t *done) {
  besom_status status = BESOM_OK;
  size_t i;
  for (i = 0; i < n; i++) {
    status = keys.bytes ? f->inserts->insert(f, keys.bytes[i].data, keys.bytes[i].len)
                        : f->inserts->insert_u64(f, keys.integers[i]);
    if (status != BESOM_OK) break;
  }
  *done = i;
  return status;
}

static besom_status insert_keys(besom_filter *f, struct key_array keys, size_t n, size_t *done) {
  size_t ignored, inserted;
  if (!done) done = &ignored;
  *done = 0;
  if (!f || !key_array_valid(keys, n)) return BESOM_INVALID;
  if (are_few_keys(f, n)) return filter_insert_few(f, keys, n, done);
  besom_status status = filter_insert_some(f, keys, 0, n < HASH_BATCH ? n : HASH_BATCH, done);
  for (size_t i = HASH_BATCH; i < n && status == BESOM_OK; i += HASH_BATCH) {
    status = filter_insert_some(f, keys, i, n - i < HASH_BATCH ? n - i : HASH_BATCH, &inserted);
    *done += inserted;
  }
  return status;
}

besom_status besom_insert_many(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct key_array){.bytes = keys}, n, done);
}

besom_status besom_insert_many_u64(besom_filter *f, const uint64_t *keys, size_t n, size_t *done) {
  return insert_keys(f, (struct key_array){.integers = keys}, n, done);
}

besom_status besom_insert_many_digest(besom_filter *f, const besom_digest *digests, size_t n,
                                      size_t *done) {
  size_t ignored;
  if (!done) done = &ignored;
  *done = 0;
  struct reader r;
  ENTER_TO_CHANGE(r, f, change, insert_many, digests || !n);
  besom_status status = besom__insert_digests(r.filter, digests, n, done);
  forget_reports_of(r.filter, digests, *done);
  return leave(r, status);
}

/* -------------------------------------------------------------- values */

besom_status besom_set_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, change, set_value, key || !len);
  besom_digest d = filter_digest_of(r, key, len);
  return leave(r, is_reported(r.filter, d) ? BESOM_NOT_FOUND
                                           : r.filter->kind->change->set_value(r.filter, d, value));
}

/* -------------------------------------------------------------- reports */

besom_status besom_set_reserve(besom_filter *f, uint64_t reports, bool forget) {
  struct reader r;
  besom_status status = enter_to_report(f, reports > 0 && reports <= MOST_EXCEPTIONS, &r);
  if (status != BESOM_OK) return status;
  if (!takes_reports(r.filter) && !r.filter->kind->map) return leave(r, BESOM_UNSUPPORTED);
  r.filter->reports.most = reports;
  r.filter->reports.forget = forget;
  return leave(r, BESOM_OK);
}

besom_status besom_adapt(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  besom_status status = enter_to_report(f, key || !len, &r);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(r.filter->domains.labels))
    return leave(r, adapted(besom__domain_adapt(r.filter, key, len)));
  bool yes = r.filter->kind->keeps_reports || r.filter->base_queries.contains(r.filter, key, len);
  return leave(r, adapted(besom__report(r.filter, filter_digest_of(r, key, len), yes)));
}

besom_status besom_adapt_digest(besom_filter *f, besom_digest digest) {
  struct reader r;
  besom_status status = enter_to_report(f, true, &r);
  if (status != BESOM_OK) return status;
  bool yes =
      r.filter->kind->keeps_reports || r.filter->base_queries.contains_digest(r.filter, digest);
  return leave(r, adapted(besom__report(r.filter, digest, yes)));
}

besom_status besom_no_add(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  besom_status status = enter_to_report(f, key || !len, &r);
  if (status != BESOM_OK) return status;
  const struct besom_kind *kind = r.filter->kind;
  besom_digest d = filter_digest_of(r, key, len);
  if (!takes_reports(r.filter))
    status = KIND_HAS(kind, adapt, no_add) ? kind->adapt->no_add(r.filter, d) : BESOM_UNSUPPORTED;
  else
    status = besom__reports_add(r.filter, d, true);
  return leave(r, adapted(status));
}

besom_status besom_no_remove(besom_filter *f, const void *key, size_t len) {
  struct reader r;
  besom_status status = enter_to_report(f, key || !len, &r);
  if (status != BESOM_OK) return status;
  const struct besom_kind *kind = r.filter->kind;
  besom_digest d = filter_digest_of(r, key, len);
  if (!takes_reports(r.filter))
    status =
        KIND_HAS(kind, adapt, no_remove) ? kind->adapt->no_remove(r.filter, d) : BESOM_UNSUPPORTED;
  else
    status = besom__reports_remove(r.filter, d, true) ? BESOM_OK : BESOM_NOT_FOUND;
  return leave(r, status);
}
