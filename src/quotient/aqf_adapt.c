/*
 * How aqf adapts. With a store it extends the fingerprints that match the reported key, by bits of
 * the digests of their own keys. Without a store it adds the digest of the reported key to its
 * exceptions: so many bits of it that a member with the same fingerprint has them with probability
 * 2^-48.
 */
#include "core/options.h"
#include "quotient/aqf.h"
#include "quotient/match.h"

#define BITS_BEYOND_FINGERPRINT 48
#define EXCEPTIONS_OF_RESERVE 0.625 /* per key and reserve: 1/32 per key with the default reserve */
#define LEAST_EXCEPTIONS 64         /* of the default limit, for tiny filters */

/* ------------------------------------------------------------------ exceptions */

static besom_status read_option(struct aqf *a, const struct option *option, bool tombstones) {
  struct aqf_options *options = &a->options;
  const struct flag_option flags[] = {{"forget", "yes", "no", &options->forget},
                                      {"exceptions", "full", "short", &options->full_exceptions},
                                      {"tombstones", "yes", "no", &options->keep_tombstones},
                                      {"form", "published", "default", &options->published}};
  if (besom__option_is(option, "isa"))
    return besom__isa_parse(option->value.data, option->value.len, &a->base.isa);
  if (!besom__option_is(option, "max_exceptions"))
    return besom__option_flag(option, flags, tombstones ? 4 : 2);
  besom_status status = besom__option_number(option, &options->max_exceptions);
  bool in_range = options->max_exceptions && options->max_exceptions <= MOST_EXCEPTIONS;
  return status == BESOM_OK && !in_range ? BESOM_BAD_OPTION : status;
}

besom_status besom__aqf_options(struct aqf *a, const char *text, bool tombstones) {
  struct option option;
  besom_status status;
  a->base.isa = besom__isa_best();
  while ((status = besom__option_next(&text, &option)) == BESOM_OK) {
    status = read_option(a, &option, tombstones);
    if (status != BESOM_OK) return status;
  }
  return status == BESOM_END ? BESOM_OK : status;
}

uint64_t besom__aqf_exception_limit(const struct aqf *a) {
  if (a->options.max_exceptions) return a->options.max_exceptions + a->no_capacity;
  uint64_t most = (uint64_t)(EXCEPTIONS_OF_RESERVE * a->reserve * (double)a->base.head.capacity);
  return (most < LEAST_EXCEPTIONS ? LEAST_EXCEPTIONS : most) + a->no_capacity;
}

besom_status besom__aqf_set_reserve(besom_filter *f, uint64_t reports, bool forget) {
  aqf(f)->options.max_exceptions = reports;
  aqf(f)->options.forget = forget;
  return BESOM_OK;
}

unsigned besom__aqf_exception_length(const struct aqf *a, besom_digest d) {
  const struct qtable *t = &a->base.table;
  if (a->options.full_exceptions) return NUMBER_BITS;
  unsigned extension = 0;
  struct matching m = besom__matching_start(t, d);
  while (t->extended && besom__next_match(&m))
    if (m.fp.extension_bits > extension) extension = m.fp.extension_bits;
  unsigned length = 64 - leading_zeros(t->slots) + t->width + extension + BITS_BEYOND_FINGERPRINT;
  return length < NUMBER_BITS ? length : NUMBER_BITS;
}

besom_status besom__aqf_add_exception(struct aqf *a, besom_digest d, unsigned length, bool listed) {
  struct exception_set *m = &a->exceptions;
  struct exception_limit limit = {besom__aqf_exception_limit(a), a->options.forget};
  if (!m->slots) besom__exceptions_start(m, a->base.table.slots);
  struct exception e = {besom__exception_number(m, d), length, listed, .fresh = true};
  besom_status status = besom__exceptions_add(m, &a->base.head.allocator, &e, &limit);
  return status == BESOM_EVICTED && listed ? BESOM_OK : status; /* only reports tell it */
}

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
  if (!besom__locate_match(&quotient_filter(f)->table, match, &fp)) return BESOM_NOT_FOUND;
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
static besom_status plan_changes(const struct aqf *a, besom_digest d,
                                 struct extension_change *changes, unsigned *n) {
  struct matching m = besom__matching_start(&a->base.table, d);
  for (*n = 0; besom__next_match(&m); ++*n) {
    if (*n == MAX_EXTENSION_CHANGES) return BESOM_FULL;
    struct extension_change *c = &changes[*n];
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

/* With a reverse map: extends every match, or none. */
static besom_status adapt_by_keys(struct aqf *a, besom_digest d) {
  struct extension_change changes[MAX_EXTENSION_CHANGES];
  unsigned n, done = 0;
  besom_status status = plan_changes(a, d, changes, &n);
  for (; status == BESOM_OK && done < n; done += status == BESOM_OK) {
    struct extension_change *c = &changes[done];
    besom__locate_match(&a->base.table, c->match, &c->old);
    status = extend(a, &c->old, d, c->stored);
  }
  if (status != BESOM_OK) besom__aqf_undo_changes(a, changes, done);
  return status;
}

/* ------------------------------------------------------------------ operations */

/* Reporting an exception again refreshes it. */
besom_status besom__aqf_adapt(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  bool known = besom__exceptions_has(&a->exceptions, d);
  if (!known && !besom__aqf_contains(f, d)) return BESOM_OK;
  if (!known && a->reverse.digest_of) return adapt_by_keys(a, d);
  if (a->options.published) return BESOM_NEEDS_STORE;
  return besom__aqf_add_exception(a, d, besom__aqf_exception_length(a, d), false);
}

/* An entry of the no list is an exception, even if no fingerprint matches it yet. */
besom_status besom__aqf_no_add(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  return besom__aqf_add_exception(a, d, besom__aqf_exception_length(a, d), true);
}

unsigned besom__aqf_abilities(const besom_filter *f) {
  return f->kind->info.abilities | (const_aqf(f)->options.forget ? BESOM_FORGETS : 0);
}

besom_status besom__aqf_no_remove(besom_filter *f, besom_digest d) {
  return besom__exceptions_remove(&aqf(f)->exceptions, d, true) ? BESOM_OK : BESOM_NOT_FOUND;
}
