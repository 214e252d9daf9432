/*
 * The form of aqf with maplet=yes (besom_map.h): a fingerprint per pair of a key and a value. Two
 * members with equal fingerprints have a fingerprint each; equal pairs are counted in one. So an
 * answer is the set of values of all fingerprints that match.
 *
 * All fingerprints that match a digest are prefixes of each other. So to take a pair out, the
 * longest one with its value is right, also if it is that of another key: the shorter one of this
 * key stays, and matches the other key, too.
 *
 * A reported pair becomes an exception (exceptions/pairs.h) or, with a store, an extension.
 */
#include "exceptions/pairs.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"

static unsigned maplet_value_bits(const besom_filter *f) {
  return own_value_bits(&const_quotient_filter(f)->table);
}

/* ------------------------------------------------------------------ queries */

/* Iterates over the fingerprints that match a digest and whose pair was not reported. */
struct candidates {
  const besom_filter *filter;
  besom_digest digest;
  struct matching matching;
};

static struct candidates candidates_of(const besom_filter *f, besom_digest d) {
  return (struct candidates){f, d, besom__matching_start(&const_quotient_filter(f)->table, d)};
}

static bool next_candidate(struct candidates *c) {
  while (besom__next_match(&c->matching))
    if (!pair_is_denied(c->filter, c->digest, c->matching.fp.value)) return true;
  return false;
}

static bool maplet_contains(const besom_filter *f, besom_digest d) {
  if (!besom__aqf_contains(f, d)) return false;
  if (!has_pairs(f)) return true;
  struct candidates c = candidates_of(f, d);
  return next_candidate(&c);
}

static void maplet_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                 uint64_t *bitmap) {
  besom__aqf_contains_many(f, d, n, bitmap);
  if (has_pairs(f)) besom__pairs_deny(f, d, n, bitmap);
}

static besom_status maplet_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct candidates c = candidates_of(f, d);
  for (*n = 0; next_candidate(&c);) *n += c.matching.fp.count;
  return BESOM_OK;
}

static size_t maplet_get(const besom_filter *f, besom_digest d, uint64_t *out, size_t room) {
  if (!besom__aqf_contains(f, d)) return 0;
  struct candidates c = candidates_of(f, d);
  size_t kept = 0, all = 0;
  bool complete = true;
  for (; next_candidate(&c); all++)
    complete &= besom__keep_value(out, &kept, room, c.matching.fp.value);
  return complete ? kept : all;
}

static size_t maplet_get_many(const besom_filter *f, const besom_digest *d, size_t n, uint64_t *out,
                              size_t room, size_t *starts) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  uint64_t values[VALUES_BATCH];
  uint8_t answers[VALUES_BATCH];
  size_t at = starts[0] = 0;
  for (size_t i = 0; i < n; i++) {
    size_t here = i % VALUES_BATCH, left = n - i, more = 0;
    if (!here)
      t->ops->values_many(t, d + i, left < VALUES_BATCH ? left : VALUES_BATCH, values, answers);
    if (answers[here] == ANSWER_YES && !has_pairs(f) && at < room) {
      out[at] = values[here];
      more = 1;
    } else if (answers[here] != ANSWER_NO) {
      more = maplet_get(f, d[i], out + at, room - at);
    }
    if (more > room - at) return i;
    starts[i + 1] = at += more;
  }
  return n;
}

/* The value of all candidates. Errors: NOT_FOUND, AMBIGUOUS. */
static besom_status maplet_only_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct candidates c = candidates_of(f, d);
  if (!next_candidate(&c)) return BESOM_NOT_FOUND;
  uint64_t first = c.matching.fp.value;
  while (next_candidate(&c))
    if (c.matching.fp.value != first) return BESOM_AMBIGUOUS;
  *value = first;
  return BESOM_OK;
}

static void maplet_visit(const besom_filter *f, besom_digest d,
                         bool (*found)(void *ctx, uint64_t value, uint64_t count), void *ctx) {
  if (!besom__aqf_contains(f, d)) return;
  struct candidates c = candidates_of(f, d);
  while (next_candidate(&c) && found(ctx, c.matching.fp.value, c.matching.fp.count)) continue;
}

static unsigned maplet_longest(const besom_filter *f, besom_digest d, uint64_t value) {
  struct fingerprint fp;
  if (!besom__aqf_longest_match(const_aqf(f), d, &value, &fp)) return 0;
  return const_quotient_filter(f)->table.width + fp.extension_bits;
}

static besom_status maplet_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                   size_t cap, size_t *total) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *total = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  struct candidates c = candidates_of(f, d);
  for (; next_candidate(&c); ++*total)
    if (*total < cap) {
      const struct fingerprint *fp = &c.matching.fp;
      out[*total] = (besom_match){bucket_of(t, fp->quotient, fp->remainder), c.matching.rank};
    }
  return BESOM_OK;
}

/* ------------------------------------------------------------------ inserts */

static besom_status maplet_insert_copies(besom_filter *f, besom_digest d, uint64_t n,
                                         uint64_t value) {
  struct aqf *a = aqf(f);
  struct fingerprint fp;
  if (f->items > AQF_MAX_COUNT || n > AQF_MAX_COUNT - f->items) return BESOM_FULL;
  bool known = besom__aqf_longest_match(a, d, &value, &fp);
  if (!known || !f->is_set) {
    bool raise =
        known && besom__fingerprint_can_count(fp.count, n, further_payload_of(&a->base.table));
    besom_status status =
        raise ? besom__aqf_raise_count(a, &fp, n) : besom__aqf_append_new(a, d, n, value);
    if (status != BESOM_OK) return status;
    f->items += n;
  }
  besom__pair_forget(f, d, value);
  return BESOM_OK;
}

static besom_status maplet_insert_pair(besom_filter *f, besom_digest d, uint64_t n,
                                       uint64_t value) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  bool present = n > 1 || member_slots(a) >= f->capacity;
  prefetch_values_from(t, address_of(d, t->slots).quotient);
  besom_status status = present ? BESOM_OK : t->ops->insert(t, d, &present);
  if (status != BESOM_OK) return status;
  if (present) return maplet_insert_copies(f, d, n, value); /* equal remainders, or no room */
  f->items++;
  if (value) besom__aqf_put_value(t, besom__aqf_last_of_run(a, d).position, value);
  besom__pair_forget(f, d, value);
  return BESOM_OK;
}

static besom_status maplet_insert_values(besom_filter *f, const besom_digest *d,
                                         const uint64_t *values, size_t n, size_t *done) {
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK)
    status = maplet_insert_pair(f, d[*done], 1, values ? values[*done] : 0);
  return status;
}

static besom_status maplet_insert(besom_filter *f, besom_digest d) {
  return maplet_insert_pair(f, d, 1, 0);
}

static besom_status maplet_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                       size_t *done) {
  return maplet_insert_values(f, d, NULL, n, done);
}

static besom_status maplet_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  return maplet_insert_copies(f, d, n, 0);
}

static besom_status maplet_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                     besom_match *match) {
  besom_status status = besom__aqf.store->insert_at(f, d, value, match);
  if (status == BESOM_OK) besom__pair_forget(f, d, value);
  return status;
}

static besom_status maplet_remove_at(besom_filter *f, besom_match match) {
  return besom__aqf.store->remove_at(f, match);
}

/* ------------------------------------------------------------------ removing and replacing */

static besom_status maplet_remove_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct fingerprint fp;
  if (!besom__aqf_longest_match(aqf(f), d, &value, &fp) || pair_is_denied(f, d, value))
    return BESOM_NOT_FOUND;
  besom__aqf_remove_copy(aqf(f), &fp);
  return BESOM_OK;
}

static besom_status maplet_remove(besom_filter *f, besom_digest d) {
  uint64_t value;
  besom_status status = maplet_only_value(f, d, &value);
  return status == BESOM_OK ? maplet_remove_value(f, d, value) : status;
}

/*
 * Takes the copy out first: in a full table its slot may be the only one. If the new pair is
 * refused, the slots of the copy are free again.
 */
static besom_status replace_copy(besom_filter *f, besom_digest d, const struct fingerprint *fp,
                                 uint64_t value) {
  struct fingerprint less = *fp;
  less.count--;
  (void)besom__aqf_rewrite(aqf(f), fp, &less);
  besom_status status = maplet_insert_copies(f, d, 1, value);
  if (status == BESOM_OK)
    f->items--;
  else
    (void)besom__aqf_rewrite(aqf(f), &less, fp);
  return status;
}

/* The fingerprint may be another key's: then that of this key is shorter, and serves both. */
static besom_status maplet_replace(besom_filter *f, besom_digest d, uint64_t old, uint64_t value) {
  struct fingerprint fp;
  if (!besom__aqf_longest_match(aqf(f), d, &old, &fp) || pair_is_denied(f, d, old))
    return BESOM_NOT_FOUND;
  if (old == value) return BESOM_OK;
  if (fp.count > 1) return replace_copy(f, d, &fp, value);
  besom__aqf_put_value(&quotient_filter(f)->table, fp.position, value);
  besom__pair_forget(f, d, value);
  return BESOM_OK;
}

static besom_status maplet_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct candidates c = candidates_of(f, d);
  if (value >> maplet_value_bits(f)) return BESOM_INVALID;
  if (!next_candidate(&c)) return BESOM_NOT_FOUND;
  struct fingerprint fp = c.matching.fp;
  if (fp.count > 1 || next_candidate(&c)) return BESOM_AMBIGUOUS;
  besom__aqf_put_value(&quotient_filter(f)->table, fp.position, value);
  besom__pair_forget(f, d, value);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ reports */

static besom_status maplet_adapt_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct fingerprint fp;
  if (!besom__aqf_longest_match(aqf(f), d, &value, &fp)) return BESOM_OK;
  if (!aqf(f)->reverse.digest_of || pair_is_denied(f, d, value))
    return besom__pair_report(f, d, value); /* a known one is refreshed */
  return besom__aqf_adapt_by_keys(aqf(f), d, &value);
}

static besom_status maplet_adapt(besom_filter *f, besom_digest d) {
  if (aqf(f)->reverse.digest_of) return besom__aqf_adapt(f, d);
  return besom__pair_report_all(f, d);
}

/* ------------------------------------------------------------------ whole maplets */

/* The digests have their first bits in common, 128 less value_bits: two buckets at most. */
static bool maplet_may_hold_in(const besom_filter *f, besom_digest d, uint64_t value) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  unsigned known = 128 - maplet_value_bits(f), bucket = besom__quotient_prefix_bits(f);
  struct address at = address_of(d, t->slots);
  struct matching m = besom__minirun_start(t, at.quotient, remainder_of(at, t->width));
  while (besom__next_of_minirun(&m)) {
    if (!is_member(&m.fp) || m.fp.value != value) continue;
    bool is_known = bucket + m.fp.extension_bits <= known;
    if (!is_known || besom__fingerprint_matches(&m.fp, at.rest, t->width)) return true;
  }
  return false;
}

static bool maplet_may_hold(const besom_filter *f, besom_digest first, besom_digest last,
                            uint64_t value) {
  if (besom__quotient_prefix_bits(f) > 128 - maplet_value_bits(f)) return true;
  return maplet_may_hold_in(f, first, value) || maplet_may_hold_in(f, last, value);
}

static const char *maplet_validate(const besom_filter *f) {
  const char *wrong = besom__aqf_validate(f);
  return wrong || besom__pairs_are_sound(f) ? wrong : "a reported pair has the wrong length";
}

/* ------------------------------------------------------------------ the kind */

/* The calls of a filter without exceptions do for a maplet that has none. */
static const struct query_calls *maplet_query_calls(const besom_filter *f) {
  return has_pairs(f) ? NULL : besom__aqf_query_calls(f);
}

static unsigned maplet_abilities(const besom_filter *f) {
  return (kind_abilities(f->kind) & ~(f->bound ? (unsigned)BESOM_STORES_EXCEPTIONS : 0)) |
         (f->reports.forget ? BESOM_FORGETS : 0);
}

static const struct map_ops maplet_ops = {
    .value_bits = maplet_value_bits,
    .insert = maplet_insert_pair,
    .insert_many = maplet_insert_values,
    .remove = maplet_remove_value,
    .replace = maplet_replace,
    .get = maplet_get,
    .get_many = maplet_get_many,
    .adapt = maplet_adapt_value,
    .visit = maplet_visit,
    .longest = maplet_longest,
    .may_hold = maplet_may_hold,
};

const struct besom_kind besom__aqf_maplet = {
    .name = AQF_NAME,
    .summary = AQF_SUMMARY,
    .also = BESOM_STORES_EXCEPTIONS | BESOM_IS_MAPLET,
    .size = sizeof(struct aqf),
    .takes_repeats = true,
    .keeps_reports = true,
    .map = &maplet_ops,
    .create_like = besom__aqf_create_like,
    .destroy = besom__quotient_destroy,
    .visit_blocks = besom__quotient_visit,
    .stats = besom__aqf_stats,
    .abilities = maplet_abilities,
    .query = {.calls = maplet_query_calls,
              .contains = maplet_contains,
              .contains_many = maplet_contains_many,
              .prefetch = besom__quotient_prefetch,
              .count = maplet_count,
              .get_value = maplet_only_value},
    .change = &(const struct change_ops){.insert = maplet_insert,
                                         .insert_many = maplet_insert_many,
                                         .insert_count = maplet_insert_count,
                                         .remove = maplet_remove,
                                         .set_value = maplet_set_value},
    .adapt = &(const struct adapt_ops){.exception_slots = besom__aqf_exception_slots,
                                       .adapt = maplet_adapt},
    .store = &(const struct store_ops){.bucket_of = besom__aqf_bucket_of,
                                       .bind = besom__aqf_bind,
                                       .matches = maplet_matches,
                                       .insert_at = maplet_insert_at,
                                       .remove_at = maplet_remove_at,
                                       .adapt_at = besom__aqf_adapt_at},
    .whole = &(const struct whole_ops){.merge = besom__aqf_merge,
                                       .resize_start = besom__aqf_resize_start,
                                       .resize_step = besom__aqf_resize_step,
                                       .iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .file = &(const struct file_ops){.run_diff = &besom__quotient_run_diff,
                                     .validate = maplet_validate,
                                     .save = besom__aqf_save,
                                     .load = besom__aqf_load},
};
