/* Queries: check the arguments, hash the key, call the kind. */
#include <string.h>

#include "api/filter_calls.h"
#include "exceptions/reports.h"

/* -------------------------------------------------------------- one key */

besom_digest besom_hash(const besom_filter *f, const void *key, size_t len) {
  if (!f || (!key && len)) return (besom_digest){0, 0};
  struct reader r = besom__reader_enter(f);
  besom_digest d = hash_bytes(&r.filter->hasher, key, len);
  besom__reader_leave(r);
  return d;
}

besom_digest besom_hash_u64(const besom_filter *f, uint64_t key) {
  if (!f) return (besom_digest){0, 0};
  struct reader r = besom__reader_enter(f);
  besom_digest d = hash_u64(&r.filter->hasher, key);
  besom__reader_leave(r);
  return d;
}

besom_status besom_count(const besom_filter *f, const void *key, size_t len, uint64_t *n) {
  if (!f || !n || (!key && len)) return BESOM_INVALID;
  if (!f->kind->query.count || f->is_set) return BESOM_UNSUPPORTED;
  struct reader r = besom__reader_enter(f);
  besom_digest d = hash_bytes(&r.filter->hasher, key, len);
  *n = 0;
  besom_status status =
      is_reported(r.filter, d) ? BESOM_OK : r.filter->kind->query.count(r.filter, d, n);
  besom__reader_leave(r);
  return status;
}

besom_status besom_get_value(const besom_filter *f, const void *key, size_t len, uint64_t *value) {
  if (!f || !value || (!key && len)) return BESOM_INVALID;
  if (!f->kind->query.get_value) return BESOM_UNSUPPORTED;
  struct reader r = besom__reader_enter(f);
  besom_digest d = hash_bytes(&r.filter->hasher, key, len);
  besom_status status = is_reported(r.filter, d)
                            ? BESOM_NOT_FOUND
                            : r.filter->kind->query.get_value(r.filter, d, value);
  besom__reader_leave(r);
  return status;
}

besom_status besom_bind_groups(besom_filter *f, const besom_grouping *grouping) {
  if (!f || (grouping && !grouping->group_of)) return BESOM_INVALID;
  if (!f->kind->query.bind_groups) return BESOM_UNSUPPORTED;
  return f->kind->query.bind_groups(f, grouping);
}

/* -------------------------------------------------------------- many keys */

static besom_status answer_all_yes(size_t n, uint64_t *bitmap) {
  for (size_t i = 0; bitmap && i < n; i += 64)
    bitmap[i / 64] = n - i < 64 ? bits_below((unsigned)(n - i)) : ~UINT64_C(0);
  return BESOM_INVALID;
}

/* One by one, for kinds that look at the keys, and for few keys. The arguments are valid. */
static besom_status contains_each(const besom_filter *f, struct key_array keys, size_t n,
                                  uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) {
    bool yes = keys.bytes ? f->queries->contains(f, keys.bytes[i].data, keys.bytes[i].len)
                          : f->queries->contains_u64(f, keys.integers[i]);
    if (i % 64 == 0) bitmap[i / 64] = 0;
    bitmap[i / 64] |= (uint64_t)yes << (i % 64);
  }
  return BESOM_OK;
}

static besom_status contains_keys(const besom_filter *f, struct key_array keys, size_t n,
                                  uint64_t *bitmap) {
  if (!f || !bitmap || !key_array_valid(keys, n)) return answer_all_yes(n, bitmap);
  bool by_key = f->kind->query.contains_key || (keys.bytes && besom_domain_labels(f, NULL));
  if (UNLIKELY(by_key) || (keys.bytes && are_few_keys(f, n)))
    return contains_each(f, keys, n, bitmap);
  besom_digest batch[HASH_BATCH];
  for (size_t i = 0; i < n; i += HASH_BATCH) {
    size_t some = n - i < HASH_BATCH ? n - i : HASH_BATCH;
    struct reader r = besom__reader_enter(f);
    hash_key_array(&r.filter->hasher, keys, i, some, batch);
    r.filter->kind->query.contains_many(r.filter, batch, some, bitmap + i / 64);
    if (has_reports(r.filter)) besom__reports_deny(r.filter, batch, some, bitmap + i / 64);
    besom__reader_leave(r);
  }
  return BESOM_OK;
}

/* Calls that jump here need no stack frame for one key. */
#define NOINLINE static __attribute__((noinline))

NOINLINE besom_status contains_few_u64(const besom_filter *f, const uint64_t *keys, size_t n,
                                       uint64_t *bitmap) {
  uint64_t word = 0;
  for (size_t i = 0; i < n; i++) word |= (uint64_t)f->queries->contains_u64(f, keys[i]) << i;
  *bitmap = word;
  return BESOM_OK;
}

NOINLINE besom_status contains_few_digests(const besom_filter *f, const besom_digest *digests,
                                           size_t n, uint64_t *bitmap) {
  uint64_t word = 0;
  for (size_t i = 0; i < n; i++) word |= (uint64_t)f->queries->contains_digest(f, digests[i]) << i;
  *bitmap = word;
  return BESOM_OK;
}

NOINLINE besom_status contains_digests(const besom_filter *f, const besom_digest *digests, size_t n,
                                       uint64_t *bitmap) {
  struct reader r = besom__reader_enter(f);
  r.filter->kind->query.contains_many(r.filter, digests, n, bitmap);
  if (has_reports(r.filter)) besom__reports_deny(r.filter, digests, n, bitmap);
  besom__reader_leave(r);
  return BESOM_OK;
}

besom_status besom_contains_many(const besom_filter *f, const besom_bytes *keys, size_t n,
                                 uint64_t *bitmap) {
  return contains_keys(f, (struct key_array){.bytes = keys}, n, bitmap);
}

besom_status besom_contains_many_u64(const besom_filter *f, const uint64_t *keys, size_t n,
                                     uint64_t *bitmap) {
  if (LIKELY(f && keys && bitmap)) {
    if (n == 1) {
      *bitmap = f->queries->contains_u64(f, *keys);
      return BESOM_OK;
    }
    if (are_few_keys(f, n)) return contains_few_u64(f, keys, n, bitmap);
  }
  return contains_keys(f, (struct key_array){.integers = keys}, n, bitmap);
}

besom_status besom_contains_many_digest(const besom_filter *f, const besom_digest *digests,
                                        size_t n, uint64_t *bitmap) {
  if (LIKELY(f && digests && bitmap)) {
    if (n == 1) {
      *bitmap = f->queries->contains_digest(f, *digests);
      return BESOM_OK;
    }
    return are_few_keys(f, n) ? contains_few_digests(f, digests, n, bitmap)
                              : contains_digests(f, digests, n, bitmap);
  }
  return n || !f || !bitmap ? answer_all_yes(n, bitmap) : BESOM_OK;
}
