/*
 * How aqf adapts with a store: it extends the fingerprints that match the reported key, by bits of
 * the digests of their own keys. Without a store the key becomes an exception
 * (exceptions/reports.h).
 */
#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"

/* ------------------------------------------------------------------ extensions */

static besom_status extend(struct aqf *a, const struct fingerprint *fp, besom_digest offender,
                           besom_digest stored) {
  struct fingerprint extended;
  besom_status status = besom__fingerprint_extend(&a->base.table, fp, offender, stored, &extended);
  if (status != BESOM_OK || extended.extension_bits == fp->extension_bits) return status;
  return besom__aqf_rewrite_in_reserve(a, fp, &extended);
}

besom_status besom__aqf_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                 besom_digest stored) {
  struct fingerprint fp;
  if (!besom__locate_match(&aqf(f)->base.table, match, &fp)) return BESOM_NOT_FOUND;
  return extend(aqf(f), &fp, offender, stored);
}

besom_status besom__aqf_stored_digest(const struct aqf *a, struct extension_change *c) {
  const besom_filter *f = a->view_of ? a->view_of : &a->base.head;
  return a->reverse.digest_of(a->reverse.ctx, f, &c->match, &c->stored);
}

/*
 * Collects all matches and their stored digests before anything changes: one may be the reported
 * key.
 */
static besom_status plan_changes(const struct aqf *a, besom_digest d, const uint64_t *value,
                                 struct extension_change *changes, unsigned *n) {
  struct matching m = besom__matching_start(&a->base.table, d);
  *n = 0;
  while (besom__next_match(&m)) {
    if (value && m.fp.value != *value) continue;
    if (*n == MAX_EXTENSION_CHANGES) return BESOM_FULL;
    struct extension_change *c = &changes[(*n)++];
    c->match = (besom_match){bucket_of(m.table, m.fp.quotient, m.fp.remainder), m.rank};
    besom_status status = besom__aqf_stored_digest(a, c);
    if (status != BESOM_OK) return status;
    if (c->stored.hi == d.hi && c->stored.lo == d.lo) return BESOM_IS_MEMBER;
  }
  return BESOM_OK;
}

void besom__aqf_undo_changes(struct aqf *a, const struct extension_change *l, unsigned n) {
  while (n--) {
    struct fingerprint now, old = l[n].old;
    besom__locate_match(&a->base.table, l[n].match, &now);
    old.position = now.position; /* the position may have changed; the rank has not */
    besom__aqf_rewrite(a, &now, &old);
  }
}

besom_status besom__aqf_adapt_by_keys(struct aqf *a, besom_digest d, const uint64_t *value) {
  struct extension_change changes[MAX_EXTENSION_CHANGES];
  unsigned n, done = 0;
  bool had_extensions = a->counters.extensions;
  besom_status status = plan_changes(a, d, value, changes, &n);
  for (; status == BESOM_OK && done < n; done += status == BESOM_OK) {
    struct extension_change *c = &changes[done];
    besom__locate_match(&a->base.table, c->match, &c->old);
    status = extend(a, &c->old, d, c->stored);
  }
  if (status == BESOM_OK) return BESOM_OK;
  besom__aqf_undo_changes(a, changes, done);
  a->counters.extensions = had_extensions;
  return status;
}

/* ------------------------------------------------------------------ operations */

besom_status besom__aqf_adapt(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  return a->reverse.digest_of ? besom__aqf_adapt_by_keys(a, d, NULL) : BESOM_NEEDS_STORE;
}

bool besom__aqf_is_published(const besom_filter *f) {
  return const_aqf(f)->options.published;
}

/* An extension may be of any length. With whole slots, what counts is extended, too. */
unsigned besom__aqf_prefix_bits(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  bool whole = a->base.table.code == WHOLE_SLOTS,
       extended = whole ? a->counters.extensions : a->base.table.extended != 0;
  return extended ? 0 : besom__quotient_prefix_bits(f);
}

uint64_t besom__aqf_exception_slots(const besom_filter *f) {
  return const_aqf(f)->base.table.slots;
}
