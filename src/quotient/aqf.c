/*
 * aqf: the adaptive quotient filter (Wen et al., "Adaptive Quotient Filters", 2024). A quotient
 * filter whose fingerprints can be extended. When a false positive is reported, the filter extends
 * every matching fingerprint by further bits of the digest of its own key until it no longer
 * matches. The digests come from the stored keys, through the reverse map. Without a store the
 * filter adds the digest of the reported key to its exceptions instead.
 *
 * The fingerprint of a removed key can stay as a tombstone if it has an extension. If the key is
 * inserted again, its fixes are still there.
 *
 * Runs are not sorted. A new fingerprint goes to the end of its run, so that its rank among the
 * fingerprints with the same remainder is the number of earlier ones, and never changes while these
 * stay.
 *
 * This file has the kind and the operations on single keys. aqf_adapt.c has adaptation and the no
 * list, aqf_resize.c merging and resizing, aqf_file.c validation and files.
 */
#include <math.h>

#include "core/address.h"
#include "quotient/aqf.h"
#include "quotient/match.h"
#include "quotient/quotient_calls.h"
#include "quotient/walk.h"

/* ------------------------------------------------------------------ creating and freeing */

besom_status besom__aqf_make(besom_filter *f, const besom_config *config, enum table_code code) {
  struct aqf *a = aqf(f);
  struct qtable_shape shape = {.width = AQF_MIN_WIDTH,
                               .heads = true,
                               .code = code,
                               .value_bits = config->value_bits + (code == TAGS)};
  a->reserve = config->reserve != 0 ? config->reserve : AQF_DEFAULT_RESERVE;
  besom_status status = besom__counting_geometry(config, sizeof(struct aqf), a->reserve, true,
                                                 &shape, &a->base.repeats);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, a->reserve);
  return besom__quotient_table_new(f, &shape, &a->base.table);
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct aqf *a = aqf(f);
  a->no_capacity = config->no_capacity;
  besom_status status = besom__aqf_options(a, config->options, true);
  return status == BESOM_OK ? besom__aqf_make(f, config, NO_CODE) : status;
}

besom_status besom__aqf_create_like(besom_filter *f, const besom_filter *model) {
  aqf(f)->reserve = const_aqf(model)->reserve;
  aqf(f)->no_capacity = const_aqf(model)->no_capacity;
  aqf(f)->options = const_aqf(model)->options;
  return besom__quotient_create_like(f, model);
}

void besom__aqf_destroy(besom_filter *f) {
  besom__exceptions_free(&aqf(f)->exceptions, &f->allocator);
  besom__quotient_destroy(f);
}

/* ------------------------------------------------------------------ queries */

bool besom__aqf_contains(const besom_filter *f, besom_digest d) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  enum answer answer = t->ops->contains(t, d);
  if (answer == ANSWER_NO) return false;
  if (UNLIKELY(answer == ANSWER_MAYBE)) {
    struct matching m = besom__matching_start(&a->base.table, d);
    if (!besom__next_match(&m)) return false;
  }
  return LIKELY(!a->exceptions.count) || !besom__exceptions_has(&a->exceptions, d);
}

/* Keys of a batch that are looked up together. A multiple of 64. */
#define BATCH_KEYS 512

/* Looks again where the table is unsure; the blocks are in the cache by now. */
static void query_extended(const struct aqf *a, const besom_digest *d, size_t n, uint64_t *bitmap) {
  const struct qtable *t = &a->base.table;
  uint64_t unsure[BATCH_KEYS / 64];
  t->ops->contains_many_exactly(t, d, n, bitmap, unsure);
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = unsure[i / 64]; left; left &= left - 1) {
      struct matching m = besom__matching_start(t, d[i + trailing_zeros(left)]);
      if (besom__next_match(&m)) bitmap[i / 64] |= left & (0 - left);
    }
}

/* Clears the yes of each exception. */
static void deny_exceptions(const struct exception_set *m, const besom_digest *d, size_t n,
                            uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64) {
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      besom__exceptions_prefetch(m, d[i + trailing_zeros(left)]);
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      if (besom__exceptions_has(m, d[i + trailing_zeros(left)]))
        bitmap[i / 64] &= ~(left & (0 - left));
  }
}

void besom__aqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  for (size_t i = 0, some; i < n; i += some) {
    some = n - i < BATCH_KEYS ? n - i : BATCH_KEYS;
    if (UNLIKELY(t->extended))
      query_extended(a, d + i, some, bitmap + i / 64);
    else
      t->ops->contains_many(t, d + i, some, bitmap + i / 64);
    if (UNLIKELY(a->exceptions.count))
      deny_exceptions(&a->exceptions, d + i, some, bitmap + i / 64);
  }
}

/*
 * The longest match, and the last among equally long ones: most likely the fingerprint of the key
 * itself, and its newest copy.
 */
static bool longest_match(const struct aqf *a, besom_digest d, struct fingerprint *longest) {
  struct matching m = besom__matching_start(&a->base.table, d);
  bool found = false;
  for (; besom__next_match(&m); found = true)
    if (!found || m.fp.extension_bits >= longest->extension_bits) *longest = m.fp;
  return found;
}

static unsigned longest_match_bits(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  struct fingerprint fp;
  if (t->ops->contains(t, d) == ANSWER_NO || !longest_match(const_aqf(f), d, &fp)) return 0;
  return t->width + fp.extension_bits;
}

/* ------------------------------------------------------------------ counters and reserve */

uint64_t besom__aqf_reserve(const struct aqf *a) {
  return (uint64_t)(a->reserve * (double)a->base.table.slots);
}

/* Counts what a fingerprint takes from the reserve, and whether it is a tombstone or a no entry. */
void besom__aqf_add_to_counters(struct aqf *a, const struct fingerprint *fp) {
  a->counters.slots += extension_slots_of(fp, a->base.table.width);
  a->counters.tombstones += fp->count == 0;
  a->counters.no_entries += fp->tagged;
  a->base.table.extended += is_extended(fp);
}

static void sub_from_counters(struct aqf *a, const struct fingerprint *fp) {
  a->counters.slots -= extension_slots_of(fp, a->base.table.width);
  a->counters.tombstones -= fp->count == 0;
  a->counters.no_entries -= fp->tagged;
  a->base.table.extended -= is_extended(fp);
}

besom_status besom__aqf_rewrite(struct aqf *a, const struct fingerprint *old,
                                const struct fingerprint *now) {
  besom_status status = besom__fingerprint_write(&a->base.table, now);
  if (status != BESOM_OK) return status;
  besom__aqf_add_to_counters(a, now);
  sub_from_counters(a, old);
  return BESOM_OK;
}

void besom__aqf_delete(struct aqf *a, const struct fingerprint *fp) {
  besom__fingerprint_remove(&a->base.table, fp);
  sub_from_counters(a, fp);
}

besom_status besom__aqf_rewrite_in_reserve(struct aqf *a, const struct fingerprint *old,
                                           const struct fingerprint *now) {
  unsigned width = a->base.table.width;
  uint64_t more = extension_slots_of(now, width) - extension_slots_of(old, width);
  return a->counters.slots + more > besom__aqf_reserve(a) ? BESOM_FULL
                                                          : besom__aqf_rewrite(a, old, now);
}

/* ------------------------------------------------------------------ members */

struct fingerprint besom__aqf_last_of_run(const struct aqf *a, besom_digest d) {
  uint64_t quotient = address_of(d, a->base.table.slots).quotient;
  return besom__fingerprint_read(&a->base.table, quotient,
                                 run_of(&a->base.table, quotient).end - 1);
}

static unsigned slots_to_raise(const struct aqf *a, const struct fingerprint *fp, uint64_t n) {
  unsigned width = a->base.table.width;
  return member_slots_of(fp->count + n, width) - member_slots_of(fp->count, width);
}

static besom_status raise_count(struct aqf *a, const struct fingerprint *fp, uint64_t n) {
  struct fingerprint raised = *fp;
  raised.count += n;
  if (member_slots(a) + slots_to_raise(a, fp, n) > a->base.head.capacity) return BESOM_FULL;
  return besom__aqf_rewrite(a, fp, &raised);
}

/* Appends n fingerprints, for tables in which a count would take more slots. n is small then. */
static besom_status append_copies(struct aqf *a, besom_digest d, uint64_t n) {
  struct qtable *t = &a->base.table;
  if (member_slots(a) + n > a->base.head.capacity) return BESOM_FULL;
  for (uint64_t done = 0; done < n; done++) {
    besom_status status = t->ops->insert(t, d, NULL);
    if (status == BESOM_OK) continue;
    for (; done; done--) {
      struct fingerprint fp = besom__aqf_last_of_run(a, d);
      besom__aqf_delete(a, &fp);
    }
    return status;
  }
  return BESOM_OK;
}

/* Appends a fingerprint of its own for the key, with a count of n. */
static besom_status append_new(struct aqf *a, besom_digest d, uint64_t n) {
  struct qtable *t = &a->base.table;
  if (besom__fingerprint_slots(n, 0, t->width) > n) return append_copies(a, d, n);
  if (member_slots(a) + besom__fingerprint_slots(n, 0, t->width) > a->base.head.capacity)
    return BESOM_FULL;
  besom_status status = t->ops->insert(t, d, NULL);
  if (status != BESOM_OK || n == 1) return status;
  struct fingerprint fp = besom__aqf_last_of_run(a, d);
  status = raise_count(a, &fp, n - 1);
  if (status != BESOM_OK) besom__aqf_delete(a, &fp);
  return status;
}

static besom_status insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = aqf(f);
  struct fingerprint fp;
  if (f->items > AQF_MAX_COUNT || n > AQF_MAX_COUNT - f->items) return BESOM_FULL;
  bool raise =
      longest_match(a, d, &fp) && besom__fingerprint_can_count(fp.count, n, a->base.table.width);
  /* Prefer a tombstone that the key can revive: a new fingerprint would match more keys. */
  if (!raise && a->counters.tombstones) raise = besom__find_tombstone(&a->base.table, d, &fp);
  besom_status status = raise ? raise_count(a, &fp, n) : append_new(a, d, n);
  if (status != BESOM_OK) return status;
  f->items += n;
  if (a->exceptions.count) besom__exceptions_remove(&a->exceptions, d, false);
  return BESOM_OK;
}

static besom_status insert(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  bool present = false;
  if (UNLIKELY(member_slots(a) >= f->capacity)) return insert_count(f, d, 1);
  besom_status status = t->ops->insert(t, d, &present);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(present))
    return insert_count(f, d, 1); /* the remainder is in the run: compare whole fingerprints */
  f->items++;
  if (UNLIKELY(a->exceptions.count)) besom__exceptions_remove(&a->exceptions, d, false);
  return BESOM_OK;
}

static besom_status insert_many(besom_filter *f, const besom_digest *d, size_t n, size_t *done) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK;) {
    bool present = false;
    size_t some = 0;
    uint64_t left = f->capacity > member_slots(a) ? f->capacity - member_slots(a) : 0;
    if (a->exceptions.count == 0 && left)
      status = t->ops->insert_many(t, d + *done, n - *done < left ? n - *done : (size_t)left,
                                   &present, &some);
    f->items += some;
    *done += some;
    if (status != BESOM_OK || *done == n) break;
    status = insert(f, d[*done]); /* present, or an exception, or at capacity: one by one */
    *done += status == BESOM_OK;
  }
  return status;
}

/*
 * Turns the fingerprint into a tombstone. Returns false if tombstones are off, if there is no
 * extension to keep, or if the reserve has no space.
 */
static bool leave_tombstone(struct aqf *a, const struct fingerprint *fp) {
  struct fingerprint tombstone = *fp;
  tombstone.count = tombstone.value = 0;
  if (!a->options.keep_tombstones || !fp->extension_bits) return false;
  return besom__aqf_rewrite_in_reserve(a, fp, &tombstone) == BESOM_OK;
}

/* For fingerprints of several slots: one of them may be the longest match. */
static besom_status remove_longest(struct aqf *a, besom_digest d) {
  struct fingerprint fp;
  if (!longest_match(a, d, &fp)) return BESOM_NOT_FOUND;
  a->base.head.items--;
  if (fp.count == 1) {
    if (!leave_tombstone(a, &fp)) besom__aqf_delete(a, &fp);
    return BESOM_OK;
  }
  struct fingerprint less = fp;
  less.count--;
  return besom__aqf_rewrite(a, &fp, &less);
}

besom_status besom__aqf_remove(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  if (besom__exceptions_has(&a->exceptions, d)) return BESOM_NOT_FOUND;
  enum answer removed = t->ops->remove_last(t, d);
  if (UNLIKELY(removed == ANSWER_MAYBE)) return remove_longest(a, d);
  if (removed == ANSWER_NO) return BESOM_NOT_FOUND;
  f->items--;
  return BESOM_OK;
}

besom_status besom__aqf_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *n = 0;
  if (besom__exceptions_has(&const_aqf(f)->exceptions, d)) return BESOM_OK;
  if (LIKELY(t->ops->count(t, d, n) != ANSWER_MAYBE)) return BESOM_OK;
  *n = 0;
  struct matching m = besom__matching_start(t, d);
  while (besom__next_match(&m)) *n += m.fp.count;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ values */

besom_status besom__aqf_get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct matching m = besom__matching_start(&const_quotient_filter(f)->table, d);
  if (!own_value_bits(m.table)) return BESOM_INVALID;
  if (besom__exceptions_has(&const_aqf(f)->exceptions, d) || !besom__next_match(&m))
    return BESOM_NOT_FOUND;
  *value = m.fp.value;
  return BESOM_OK;
}

static void put_value(struct qtable *t, uint64_t position, uint64_t value) {
  set_slot_value(t, block_at(t, position / 64), position % 64, value);
}

besom_status besom__aqf_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct matching m = besom__matching_start(&quotient_filter(f)->table, d);
  if (!own_value_bits(m.table) || value >> own_value_bits(m.table)) return BESOM_INVALID;
  if (besom__exceptions_has(&aqf(f)->exceptions, d) || !besom__next_match(&m))
    return BESOM_NOT_FOUND;
  uint64_t position = m.fp.position;
  if (besom__next_match(&m)) return BESOM_AMBIGUOUS;
  put_value(&quotient_filter(f)->table, position, value);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ in front of a store */

besom_status besom__aqf_bind(besom_filter *f, const besom_reverse *reverse) {
  if (!has_buckets(&quotient_filter(f)->table)) return BESOM_INVALID;
  aqf(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

static uint64_t bucket_of_digest(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  struct address at = address_of(d, t->slots);
  return bucket_of(t, at.quotient, remainder_of(at, t->width));
}

besom_status besom__aqf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *total = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  if (!t->ops->contains(t, d) || besom__exceptions_has(&const_aqf(f)->exceptions, d))
    return BESOM_OK;
  struct matching m = besom__matching_start(&const_quotient_filter(f)->table, d);
  for (; besom__next_match(&m); ++*total)
    if (*total < cap)
      out[*total] = (besom_match){bucket_of(t, m.fp.quotient, m.fp.remainder), m.rank};
  return BESOM_OK;
}

/*
 * The fingerprint of a key that was just appended takes over the extension of the longest tombstone
 * that is a prefix of its digest. A store needs the key at the end of its bucket, so the tombstone
 * itself cannot be revived.
 */
static void inherit_tombstone(struct aqf *a, besom_digest d) {
  struct fingerprint tombstone;
  if (!a->counters.tombstones || !besom__find_tombstone(&a->base.table, d, &tombstone)) return;
  besom__aqf_delete(a, &tombstone);
  struct fingerprint fp = besom__aqf_last_of_run(a, d), extended = fp;
  extended.extension = tombstone.extension;
  extended.extension_bits = tombstone.extension_bits;
  (void)besom__aqf_rewrite(a, &fp, &extended); /* without space it stays short: no key is lost */
}

static besom_status insert_at(besom_filter *f, besom_digest d, uint64_t value, besom_match *match) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  if (!has_buckets(t) || value >> t->value_bits) return BESOM_INVALID;
  besom_status status = append_new(a, d, 1);
  if (status != BESOM_OK) return status;
  struct fingerprint fp = besom__aqf_last_of_run(a, d);
  put_value(t, fp.position, value);
  inherit_tombstone(a, d);
  uint64_t last, equal = t->ops->find(t, fp.quotient, fp.remainder, &last);
  *match = (besom_match){bucket_of(t, fp.quotient, fp.remainder), (uint32_t)(equal - 1)};
  if (a->counters.tombstones) match->rank = besom__last_rank(t, fp.quotient, fp.remainder);
  f->items++;
  if (a->exceptions.count) besom__exceptions_remove(&a->exceptions, d, false);
  return BESOM_OK;
}

static besom_status remove_at(besom_filter *f, besom_match match) {
  struct fingerprint fp;
  if (!besom__locate_match(&quotient_filter(f)->table, match, &fp)) return BESOM_NOT_FOUND;
  if (!leave_tombstone(aqf(f), &fp)) besom__aqf_delete(aqf(f), &fp);
  f->items -= fp.count;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ statistics */

void besom__aqf_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  uint64_t heads = t->used - t->further_slots - a->counters.tombstones - a->counters.no_entries,
           reserve = is_kind(f->kind, &besom__yesno) ? 0 : besom__aqf_reserve(a);
  s->isa = besom__isa_name(a->base.isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t) + besom__exceptions_bytes(&a->exceptions);
  s->load_factor = (double)t->used / (double)t->slots;
  s->expected_fpr = besom__quotient_fpr(heads, t->slots, t->width);
  s->capacity = besom__quotient_keys(f);
  s->fpr_at_capacity = besom__quotient_fpr(s->capacity, t->slots, t->width);
  besom__add_counter(out, "extended", t->extended);
  besom__add_counter(out, "tombstones", a->counters.tombstones);
  besom__add_counter(out, "no_entries", a->counters.no_entries);
  besom__add_counter(out, "exceptions", a->exceptions.count);
  if (!has_tags(t)) {
    besom__add_counter(out, "exception_limit", besom__aqf_exception_limit(a));
    besom__add_counter(out, "forgotten", a->exceptions.forgotten);
  }
  double by_slots = reserve ? (double)a->counters.slots / (double)reserve : 0;
  double by_exceptions = (double)a->exceptions.count / (double)besom__aqf_exception_limit(a);
  /* after a resize there may be slightly more than fits */
  s->reserve_used = fmin(1, fmax(by_slots, by_exceptions));
}

/* ------------------------------------------------------------------ the kind */

const struct query_calls *besom__aqf_query_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_query(f);
  return calls ? &calls->aqf_queries : NULL;
}

static const struct insert_calls *insert_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_insert(f);
  return calls ? &calls->aqf_inserts : NULL;
}

const struct besom_kind besom__aqf = {
    .info = {AQF_NAME, AQF_SUMMARY, AQF_ABILITIES},
    .size = sizeof(struct aqf),
    .takes_repeats = true,
    .abilities = besom__aqf_abilities,
    .concurrent = &besom__aqf_concurrent,
    .create = create,
    .create_like = besom__aqf_create_like,
    .build = besom__yesno_build,
    .destroy = besom__aqf_destroy,
    .run_diff = &besom__quotient_run_diff,
    .query_calls = besom__aqf_query_calls,
    .insert_calls = insert_calls,
    .contains = besom__aqf_contains,
    .contains_many = besom__aqf_contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .insert_count = insert_count,
    .longest_match = longest_match_bits,
    .exceptions = &besom__aqf_layer_exceptions,
    .remove = besom__aqf_remove,
    .count = besom__aqf_count,
    .adapt = besom__aqf_adapt,
    .set_reserve = besom__aqf_set_reserve,
    .no_add = besom__aqf_no_add,
    .no_remove = besom__aqf_no_remove,
    .get_value = besom__aqf_get_value,
    .set_value = besom__aqf_set_value,
    .bucket_of = bucket_of_digest,
    .bind = besom__aqf_bind,
    .matches = besom__aqf_matches,
    .insert_at = insert_at,
    .bulk_load = besom__quotient_bulk_load,
    .remove_at = remove_at,
    .adapt_at = besom__aqf_adapt_at,
    .merge = besom__aqf_merge,
    .resize_start = besom__aqf_resize_start,
    .resize_step = besom__aqf_resize_step,
    .append = besom__quotient_append_counts,
    .iter_start = besom__quotient_iter_start,
    .iter_next = besom__quotient_iter_next,
    .stats = besom__aqf_stats,
    .validate = besom__aqf_validate,
    .save = besom__aqf_save,
    .load = besom__aqf_load,
};
