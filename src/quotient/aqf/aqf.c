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
 * list, aqf_resize.c merging and resizing, aqf_file.c validation and files, aqf_maplet.c the form
 * with maplet=yes.
 */
#include <math.h>

#include "core/hash.h"
#include "kinds.h"
#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"
#include "quotient/quotient_calls.h"
#include "quotient/table/walk.h"

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

struct aqf_values {
  uint64_t isa, tombstones, form, maplet, repeats;
};

static const struct option_row aqf_rows[] = {
    OPTION_ISA(aqf_values),
    OPTION_WORDS(aqf_values, tombstones, "no, yes", "keep the extensions of removed keys"),
    OPTION_WORDS(aqf_values, form, "default, published", "published: reports need the store"),
    OPTION_WORDS(aqf_values, maplet, "no, yes", "a key has a set of values; needs `value_bits`"),
    OPTION_WORDS(aqf_values, repeats, "count, ignore",
                 "of a maplet: a pair that may be there is not inserted again"),
};

static const char *aqf_conflict(const void *values) {
  const struct aqf_values *o = values;
  return o->repeats && !o->maplet ? "repeats=ignore needs maplet=yes" : NULL;
}

static besom_status aqf_create(besom_filter *f, const besom_config *config) {
  struct aqf *a = aqf(f);
  struct aqf_values o;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  a->base.isa = isa_of_option(o.isa);
  a->options.keep_tombstones = o.tombstones;
  a->options.published = o.form;
  if (o.maplet) {
    if (!config->value_bits || a->options.keep_tombstones || a->options.published ||
        !f->kind->maplet)
      return BESOM_INVALID;
    f->kind = f->kind->maplet;
    f->is_set |= o.repeats;
  }
  enum table_code code = o.maplet ? VALUES_BEHIND : o.form ? WHOLE_SLOTS : NO_CODE;
  return besom__aqf_make(f, config, code);
}

besom_status besom__aqf_create_like(besom_filter *f, const besom_filter *model) {
  aqf(f)->reserve = const_aqf(model)->reserve;
  aqf(f)->options = const_aqf(model)->options;
  if (model->kind->map) f->kind = model->kind;
  return besom__quotient_create_like(f, model);
}

/* ------------------------------------------------------------------ queries */

/* Compares whole fingerprints. */
static __attribute__((noinline)) bool matches_one(const struct qtable *t, besom_digest d) {
  struct matching m = besom__matching_start(t, d);
  return besom__next_match(&m);
}

bool besom__aqf_contains(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  enum answer answer = t->ops->contains(t, d);
  return UNLIKELY(answer == ANSWER_MAYBE) ? matches_one(t, d) : answer != ANSWER_NO;
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
      if (matches_one(t, d[i + trailing_zeros(left)])) bitmap[i / 64] |= left & (0 - left);
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
  }
}

bool besom__aqf_longest_match(const struct aqf *a, besom_digest d, const uint64_t *value,
                              struct fingerprint *longest) {
  struct matching m = besom__matching_start(&a->base.table, d);
  bool found = false;
  while (besom__next_match(&m)) {
    if (value && m.fp.value != *value) continue;
    if (!found || m.fp.extension_bits >= longest->extension_bits) *longest = m.fp;
    found = true;
  }
  return found;
}

static unsigned longest_match_bits(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  struct fingerprint fp;
  if (t->ops->contains(t, d) == ANSWER_NO || !besom__aqf_longest_match(const_aqf(f), d, NULL, &fp))
    return 0;
  return t->width + fp.extension_bits;
}

/* ------------------------------------------------------------------ counters and reserve */

uint64_t besom__aqf_reserve(const struct aqf *a) {
  return (uint64_t)(a->reserve * (double)a->base.table.slots);
}

/* Counts what a fingerprint takes from the reserve, and whether it is a tombstone or a no entry. */
void besom__aqf_add_to_counters(struct aqf *a, const struct fingerprint *fp) {
  a->counters.slots += extension_slots_of(fp, further_payload_of(&a->base.table));
  a->counters.tombstones += fp->count == 0;
  a->counters.no_entries += fp->tagged;
  a->counters.extensions |= fp->extension_bits != 0;
  a->base.table.extended += is_extended(&a->base.table, fp);
}

static void sub_from_counters(struct aqf *a, const struct fingerprint *fp) {
  a->counters.slots -= extension_slots_of(fp, further_payload_of(&a->base.table));
  a->counters.tombstones -= fp->count == 0;
  a->counters.no_entries -= fp->tagged;
  a->base.table.extended -= is_extended(&a->base.table, fp);
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
  unsigned payload = further_payload_of(&a->base.table);
  uint64_t more = extension_slots_of(now, payload) - extension_slots_of(old, payload);
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
  unsigned payload = further_payload_of(&a->base.table);
  return member_slots_of(fp->count + n, payload) - member_slots_of(fp->count, payload);
}

besom_status besom__aqf_raise_count(struct aqf *a, const struct fingerprint *fp, uint64_t n) {
  struct fingerprint raised = *fp;
  raised.count += n;
  if (member_slots(a) + slots_to_raise(a, fp, n) > a->base.head.capacity) return BESOM_FULL;
  return besom__aqf_rewrite(a, fp, &raised);
}

/* Appends one slot. */
static besom_status aqf_append_slot(struct aqf *a, besom_digest d, uint64_t value) {
  struct qtable *t = &a->base.table;
  besom_status status = t->ops->insert(t, d, NULL);
  if (status == BESOM_OK && value)
    besom__aqf_put_value(t, besom__aqf_last_of_run(a, d).position, value);
  return status;
}

/* Appends n fingerprints, for tables in which a count would take more slots. n is small then. */
static besom_status append_copies(struct aqf *a, besom_digest d, uint64_t n, uint64_t value) {
  if (member_slots(a) + n > a->base.head.capacity) return BESOM_FULL;
  for (uint64_t done = 0; done < n; done++) {
    besom_status status = aqf_append_slot(a, d, value);
    if (status == BESOM_OK) continue;
    for (; done; done--) {
      struct fingerprint fp = besom__aqf_last_of_run(a, d);
      besom__aqf_delete(a, &fp);
    }
    return status;
  }
  return BESOM_OK;
}

besom_status besom__aqf_append_new(struct aqf *a, besom_digest d, uint64_t n, uint64_t value) {
  unsigned slots = besom__fingerprint_slots(n, 0, further_payload_of(&a->base.table));
  if (slots > n) return append_copies(a, d, n, value);
  if (member_slots(a) + slots > a->base.head.capacity) return BESOM_FULL;
  besom_status status = aqf_append_slot(a, d, value);
  if (status != BESOM_OK || n == 1) return status;
  struct fingerprint fp = besom__aqf_last_of_run(a, d);
  status = besom__aqf_raise_count(a, &fp, n - 1);
  if (status != BESOM_OK) besom__aqf_delete(a, &fp);
  return status;
}

static besom_status aqf_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = aqf(f);
  struct fingerprint fp;
  if (f->items > AQF_MAX_COUNT || n > AQF_MAX_COUNT - f->items) return BESOM_FULL;
  bool raise = besom__aqf_longest_match(a, d, NULL, &fp) &&
               besom__fingerprint_can_count(fp.count, n, further_payload_of(&a->base.table));
  /* Prefer a tombstone that the key can revive: a new fingerprint would match more keys. */
  if (!raise && a->counters.tombstones) raise = besom__find_tombstone(&a->base.table, d, &fp);
  besom_status status =
      raise ? besom__aqf_raise_count(a, &fp, n) : besom__aqf_append_new(a, d, n, 0);
  if (status != BESOM_OK) return status;
  f->items += n;
  return BESOM_OK;
}

static besom_status aqf_insert(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  bool present = false;
  if (UNLIKELY(member_slots(a) >= f->capacity)) return aqf_insert_count(f, d, 1);
  besom_status status = t->ops->insert(t, d, &present);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(present))
    return aqf_insert_count(f, d, 1); /* the remainder is in the run: compare whole fingerprints */
  f->items++;
  return BESOM_OK;
}

static besom_status aqf_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                    size_t *done) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK;) {
    bool present = false;
    size_t some = 0;
    uint64_t left = f->capacity > member_slots(a) ? f->capacity - member_slots(a) : 0;
    if (left)
      status = t->ops->insert_many(t, d + *done, n - *done < left ? n - *done : (size_t)left,
                                   &present, &some);
    f->items += some;
    *done += some;
    if (status != BESOM_OK || *done == n) break;
    status = aqf_insert(f, d[*done]); /* present, or at capacity: one by one */
    *done += status == BESOM_OK;
  }
  return status;
}

/* For sets: one walk finds the place of the key and whether its remainder is there. */
static besom_status aqf_insert_absent(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  bool present = false;
  if (LIKELY(member_slots(a) < f->capacity)) {
    besom_status status = t->ops->insert(t, d, &present);
    if (status == BESOM_OK && !present) {
      f->items++;
      return BESOM_OK;
    }
  }
  return besom__aqf_contains(f, d) ? BESOM_OK : aqf_insert_count(f, d, 1);
}

static besom_status aqf_insert_absent_many(besom_filter *f, const besom_digest *d, size_t n,
                                           size_t *done) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  besom_status status = BESOM_OK;
  for (*done = 0; *done < n && status == BESOM_OK;) {
    bool present = false;
    size_t some = 0;
    uint64_t left = f->capacity > member_slots(a) ? f->capacity - member_slots(a) : 0;
    if (left) /* FULL: the next key may be there already */
      (void)t->ops->insert_many(t, d + *done, n - *done < left ? n - *done : (size_t)left, &present,
                                &some);
    f->items += some;
    *done += some;
    if (*done == n) break;
    /* One key is there already: others may be, too. */
    status =
        besom__set_insert_batch(f, d + *done, n - *done < SET_BATCH ? n - *done : SET_BATCH, &some);
    *done += some;
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

/* A lower count takes no more slots. */
void besom__aqf_remove_copy(struct aqf *a, const struct fingerprint *fp) {
  struct fingerprint less = *fp;
  less.count--;
  a->base.head.items--;
  if (less.count)
    (void)besom__aqf_rewrite(a, fp, &less);
  else if (!leave_tombstone(a, fp))
    besom__aqf_delete(a, fp);
}

/* For fingerprints of several slots: one of them may be the longest match. */
static besom_status remove_longest(struct aqf *a, besom_digest d) {
  struct fingerprint fp;
  if (!besom__aqf_longest_match(a, d, NULL, &fp)) return BESOM_NOT_FOUND;
  besom__aqf_remove_copy(a, &fp);
  return BESOM_OK;
}

besom_status besom__aqf_remove(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  enum answer removed = t->ops->remove_last(t, d);
  if (UNLIKELY(removed == ANSWER_MAYBE)) return remove_longest(a, d);
  if (removed == ANSWER_NO) return BESOM_NOT_FOUND;
  f->items--;
  return BESOM_OK;
}

besom_status besom__aqf_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *n = 0;
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
  if (!besom__next_match(&m)) return BESOM_NOT_FOUND;
  *value = m.fp.value;
  return BESOM_OK;
}

besom_status besom__aqf_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct matching m = besom__matching_start(&quotient_filter(f)->table, d);
  if (!own_value_bits(m.table) || value >> own_value_bits(m.table)) return BESOM_INVALID;
  if (!besom__next_match(&m)) return BESOM_NOT_FOUND;
  struct fingerprint fp = m.fp;
  if (fp.count > 1 || besom__next_match(&m)) return BESOM_AMBIGUOUS;
  besom__aqf_put_value(&quotient_filter(f)->table, fp.position, value);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ in front of a store */

besom_status besom__aqf_bind(besom_filter *f, const besom_reverse *reverse) {
  if (!has_buckets(&quotient_filter(f)->table)) return BESOM_INVALID;
  aqf(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

uint64_t besom__aqf_bucket_of(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_aqf(f)->base.table;
  struct address at = address_of(d, t->slots);
  return bucket_of(t, at.quotient, remainder_of(at, t->width));
}

besom_status besom__aqf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total) {
  const struct qtable *t = &const_aqf(f)->base.table;
  *total = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  struct matching m = besom__matching_start(t, d);
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

/* Beside fingerprints with the same remainder, or with a value. Sets the rank. */
static besom_status insert_into_minirun(struct aqf *a, besom_digest d, uint64_t value,
                                        uint32_t *rank) {
  struct qtable *t = &a->base.table;
  struct address at = address_of(d, t->slots);
  uint64_t last, remainder = remainder_of(at, t->width);
  besom_status status = besom__aqf_append_new(a, d, 1, value);
  if (status != BESOM_OK) return status;
  inherit_tombstone(a, d);
  *rank = (uint32_t)(t->ops->find(t, at.quotient, remainder, &last) - 1);
  if (a->counters.tombstones) *rank = besom__last_rank(t, at.quotient, remainder);
  return BESOM_OK;
}

/* Most runs have no slot with the remainder, so no tombstone of the key either: the walk that
   inserts it finds that out, and the rank is 0. */
static besom_status aqf_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                  besom_match *match) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  bool other = value;
  if (!has_buckets(t) || value >> t->value_bits) return BESOM_INVALID;
  if (UNLIKELY(member_slots(a) >= f->capacity)) return BESOM_FULL;
  *match = (besom_match){besom__aqf_bucket_of(f, d), 0};
  besom_status status = LIKELY(!other) ? t->ops->insert(t, d, &other) : BESOM_OK;
  if (UNLIKELY(other)) status = insert_into_minirun(a, d, value, &match->rank);
  f->items += status == BESOM_OK;
  return status;
}

static besom_status aqf_remove_at(besom_filter *f, besom_match match) {
  struct fingerprint fp;
  if (!besom__locate_match(&quotient_filter(f)->table, match, &fp)) return BESOM_NOT_FOUND;
  if (!leave_tombstone(aqf(f), &fp)) besom__aqf_delete(aqf(f), &fp);
  f->items -= fp.count;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ statistics */

/* After a resize there may be slightly more than fits. */
static double aqf_reserve_used(const besom_filter *f) {
  uint64_t reserve = besom__aqf_reserve(const_aqf(f));
  return reserve ? fmin(1, (double)const_aqf(f)->counters.slots / (double)reserve) : 0;
}

void besom__aqf_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  uint64_t heads = t->used - t->further_slots - a->counters.tombstones - a->counters.no_entries;
  s->isa = besom__isa_name(a->base.isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t);
  s->load_factor = (double)t->used / (double)t->slots;
  s->expected_fpr = besom__quotient_fpr(heads, t->slots, t->width);
  s->capacity = besom__quotient_keys(f);
  s->fpr_at_capacity = besom__quotient_fpr(s->capacity, t->slots, t->width);
  besom__add_counter(out, "extended", t->extended);
  besom__add_counter(out, "tombstones", a->counters.tombstones);
  besom__add_counter(out, "no_entries", a->counters.no_entries);
  s->reserve_used = is_kind(f->kind, &besom__yesno) ? 0 : aqf_reserve_used(f);
}

/* ------------------------------------------------------------------ the kind */

const struct query_calls *besom__aqf_query_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_query(f);
  return calls ? &calls->aqf_queries : NULL;
}

static const struct insert_calls *aqf_insert_calls(const besom_filter *f) {
  const struct quotient_calls *calls = besom__calls_to_insert(f);
  return calls ? &calls->aqf_inserts : NULL;
}

const struct file_ops besom__aqf_files = {
    .save = besom__aqf_save,
    .load = besom__aqf_load,
    .validate = besom__aqf_validate,
    .run_diff = &besom__quotient_run_diff,
};

const struct besom_kind besom__aqf = {
    .name = AQF_NAME,
    .summary = AQF_SUMMARY,
    .also = BESOM_CAN_REKEY,
    .size = sizeof(struct aqf),
    .options = {OPTION_ROWS(aqf_rows), .conflict = aqf_conflict},
    .takes_repeats = true,
    .concurrent = &besom__aqf_concurrent,
    .maplet = &besom__aqf_maplet,
    .create = aqf_create,
    .create_like = besom__aqf_create_like,
    .destroy = besom__quotient_destroy,
    .visit_blocks = besom__quotient_visit,
    .stats = besom__aqf_stats,
    .query = {.few_keys = 4,
              .calls = besom__aqf_query_calls,
              .contains = besom__aqf_contains,
              .contains_many = besom__aqf_contains_many,
              .prefetch = besom__quotient_prefetch,
              .longest_match = longest_match_bits,
              .prefix_bits = besom__aqf_prefix_bits,
              .count = besom__aqf_count,
              .get_value = besom__aqf_get_value},
    .change =
        &(const struct change_ops){.calls = aqf_insert_calls,
                                   .remove_calls = NOT_IN_SMALL_CODE(besom__quotient_remove_calls),
                                   .insert = aqf_insert,
                                   .insert_many = aqf_insert_many,
                                   .insert_absent = aqf_insert_absent,
                                   .insert_absent_many = aqf_insert_absent_many,
                                   .insert_count = aqf_insert_count,
                                   .remove = besom__aqf_remove,
                                   .set_value = besom__aqf_set_value},
    .adapt = &(const struct adapt_ops){.exception_slots = besom__aqf_exception_slots,
                                       .adapt = besom__aqf_adapt,
                                       .is_published = besom__aqf_is_published},
    .store = &(const struct store_ops){.bucket_of = besom__aqf_bucket_of,
                                       .bind = besom__aqf_bind,
                                       .matches = besom__aqf_matches,
                                       .insert_at = aqf_insert_at,
                                       .bulk_load = besom__quotient_bulk_load,
                                       .remove_at = aqf_remove_at,
                                       .adapt_at = besom__aqf_adapt_at,
                                       .reserve_used = aqf_reserve_used},
    .whole = &(const struct whole_ops){.merge = besom__aqf_merge,
                                       .resize_start = besom__aqf_resize_start,
                                       .resize_step = besom__aqf_resize_step,
                                       .append = besom__quotient_append_counts,
                                       .parts = &besom__quotient_counts_in_parts,
                                       .iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .build = &(const struct build_ops){.takes_no = BESOM_CAN_BUILD_NO, .build = besom__yesno_build},
    .file = &besom__aqf_files,
};
