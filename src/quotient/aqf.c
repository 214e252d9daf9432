/*
 * aqf: the adaptive quotient filter (Wen et al., "Adaptive Quotient Filters", 2024). A quotient filter
 * whose fingerprints can grow: told that a key was a false positive, it lengthens the fingerprints that
 * matched by further bits of their own keys' digests until they match no more. Those come from the stored
 * keys. Without a store it keeps the offender's digest instead, as a mark.
 *
 * A removed key's fingerprint can stay as a tombstone, if it had been lengthened: should the key come back, so does
 * what was learnt.
 *
 * Runs are not sorted: a new fingerprint goes to the end of its run, so that its rank among those with its
 * remainder is the number of earlier ones, for ever.
 */
#include <math.h>

#include "core/address.h"
#include "core/memory.h"
#include "quotient/aqf.h"
#include "quotient/match.h"
#include "quotient/walk.h"

#define MAX_COUNT (UINT64_C(1) << 62)
#define NO_ENTRY_BYTES 24 /* a mark takes 23 at most, but for what growing its table leaves free */
#define TAG_MARKS SECTION_TAG('M', 'A', 'R', 'K')

/* ------------------------------------------------------------------ life */

besom_status besom__aqf_make(besom_filter *f, const besom_config *config, enum table_code code) {
  struct aqf *a = aqf(f);
  struct qtable_shape shape = {.width = AQF_MIN_WIDTH,
                               .heads = true,
                               .code = code,
                               .value_bits = config->value_bits + (code == TAGS)};
  a->reserve = config->reserve != 0 ? config->reserve : AQF_DEFAULT_ROOM;
  besom_status status = besom__quotient_plan(config, sizeof(struct aqf), a->reserve, &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, a->reserve);
  return besom__quotient_table(f, &shape, &a->base.table);
}

static besom_status create(besom_filter *f, const besom_config *config) {
  struct aqf *a = aqf(f);
  a->no_capacity = config->no_capacity;
  besom_status status =
      besom__quotient_options(config->options, &a->base.isa, "tombstones", &a->keep_tombstones);
  return status == BESOM_OK ? besom__aqf_make(f, config, NO_CODE) : status;
}

besom_status besom__aqf_create_like(besom_filter *f, const besom_filter *model) {
  aqf(f)->reserve = const_aqf(model)->reserve;
  aqf(f)->no_capacity = const_aqf(model)->no_capacity;
  aqf(f)->keep_tombstones = const_aqf(model)->keep_tombstones;
  return besom__quotient_create_like(f, model);
}

void besom__aqf_destroy(besom_filter *f) {
  besom__marks_free(&aqf(f)->marks, &f->allocator);
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
  return LIKELY(!a->marks.count) || !besom__marks_has(&a->marks, d);
}

/* The table's answers, and where they could be wrong a second look, at blocks that are in the cache by now. */
void besom__aqf_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                              uint64_t *bitmap) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  t->ops->contains_many(t, d, n, bitmap);
  if (LIKELY(!t->extended && !a->marks.count)) return;
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      if (!besom__aqf_contains(f, d[i + j])) bitmap[i / 64] &= ~(UINT64_C(1) << j);
    }
}

/* The longest match, the last of equals: the one that is most likely the key's own, and the newest copy. */
static bool longest_match(const struct aqf *a, besom_digest d, struct long_fingerprint *longest) {
  struct matching m = besom__matching_start(&a->base.table, d);
  bool found = false;
  for (; besom__next_match(&m); found = true)
    if (!found || m.fp.extension_bits >= longest->extension_bits) *longest = m.fp;
  return found;
}

/* ------------------------------------------------------------------ room */

uint64_t besom__aqf_reserve(const struct aqf *a) {
  return (uint64_t)(a->reserve * (double)a->base.table.slots);
}

uint64_t besom__aqf_mark_bytes(const struct aqf *a) {
  uint64_t bytes = (uint64_t)(a->reserve * (double)besom__qtable_size(&a->base.table));
  return (bytes < 1024 ? 1024 : bytes) /* something, even in the smallest */ +
         NO_ENTRY_BYTES * a->no_capacity;
}

/* Takes a fingerprint into the books, or out of them. */
static void enter(struct aqf *a, const struct long_fingerprint *fp) {
  a->books.slots += extension_slots_of(fp, a->base.table.width);
  a->books.tombstones += fp->count == 0;
  a->books.no_entries += fp->tagged;
  a->base.table.extended += is_extended(fp);
}

static void strike(struct aqf *a, const struct long_fingerprint *fp) {
  a->books.slots -= extension_slots_of(fp, a->base.table.width);
  a->books.tombstones -= fp->count == 0;
  a->books.no_entries -= fp->tagged;
  a->base.table.extended -= is_extended(fp);
}

besom_status besom__aqf_rewrite(struct aqf *a, const struct long_fingerprint *old,
                                const struct long_fingerprint *now) {
  besom_status status = besom__long_write(&a->base.table, now);
  if (status != BESOM_OK) return status;
  enter(a, now);
  strike(a, old);
  return BESOM_OK;
}

void besom__aqf_take_out(struct aqf *a, const struct long_fingerprint *fp) {
  besom__long_remove(&a->base.table, fp);
  strike(a, fp);
}

/* Writes it longer than it was, if the reserve has room for that. */
static besom_status rewrite_in_reserve(struct aqf *a, const struct long_fingerprint *old,
                                       const struct long_fingerprint *now) {
  unsigned width = a->base.table.width;
  uint64_t more = extension_slots_of(now, width) - extension_slots_of(old, width);
  return a->books.slots + more > besom__aqf_reserve(a) ? BESOM_FULL
                                                       : besom__aqf_rewrite(a, old, now);
}

/* ------------------------------------------------------------------ members */

struct long_fingerprint besom__aqf_last_of_run(const struct aqf *a, besom_digest d) {
  uint64_t quotient = address_of(d, a->base.table.slots).quotient;
  return besom__long_read(&a->base.table, quotient, run_of(&a->base.table, quotient).end - 1);
}

static unsigned slots_to_raise(const struct aqf *a, const struct long_fingerprint *fp, uint64_t n) {
  unsigned width = a->base.table.width;
  return member_slots_of(fp->count + n, width) - member_slots_of(fp->count, width);
}

static besom_status raise_count(struct aqf *a, const struct long_fingerprint *fp, uint64_t n) {
  struct long_fingerprint raised = *fp;
  raised.count += n;
  if (member_slots(a) + slots_to_raise(a, fp, n) > a->base.head.capacity) return BESOM_FULL;
  return besom__aqf_rewrite(a, fp, &raised);
}

/* A fingerprint for each, where a count would take more slots; n is small then. */
static besom_status append_copies(struct aqf *a, besom_digest d, uint64_t n) {
  struct qtable *t = &a->base.table;
  if (member_slots(a) + n > a->base.head.capacity) return BESOM_FULL;
  for (uint64_t done = 0; done < n; done++) {
    besom_status status = t->ops->insert(t, d, NULL);
    if (status == BESOM_OK) continue;
    for (; done; done--) {
      struct long_fingerprint fp = besom__aqf_last_of_run(a, d);
      besom__aqf_take_out(a, &fp);
    }
    return status;
  }
  return BESOM_OK;
}

/* A key with a fingerprint of its own, n times. */
static besom_status append_new(struct aqf *a, besom_digest d, uint64_t n) {
  struct qtable *t = &a->base.table;
  if (besom__long_slots(n, 0, t->width) > n) return append_copies(a, d, n);
  if (member_slots(a) + besom__long_slots(n, 0, t->width) > a->base.head.capacity)
    return BESOM_FULL;
  besom_status status = t->ops->insert(t, d, NULL);
  if (status != BESOM_OK || n == 1) return status;
  struct long_fingerprint fp = besom__aqf_last_of_run(a, d);
  status = raise_count(a, &fp, n - 1);
  if (status != BESOM_OK) besom__aqf_take_out(a, &fp);
  return status;
}

static besom_status insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct aqf *a = aqf(f);
  struct long_fingerprint fp;
  if (f->items > MAX_COUNT || n > MAX_COUNT - f->items) return BESOM_FULL;
  bool raise = longest_match(a, d, &fp) && besom__long_counts(fp.count, n, a->base.table.width);
  /* A new fingerprint would match more than a tombstone that comes back. */
  if (!raise && a->books.tombstones) raise = besom__find_tombstone(&a->base.table, d, &fp);
  besom_status status = raise ? raise_count(a, &fp, n) : append_new(a, d, n);
  if (status != BESOM_OK) return status;
  f->items += n;
  if (a->marks.count) besom__marks_remove(&a->marks, d);
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
    return insert_count(f, d, 1); /* the run has the remainder: a look at the whole */
  f->items++;
  if (UNLIKELY(a->marks.count)) besom__marks_remove(&a->marks, d);
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
    if (a->marks.count == 0 && left)
      status = t->ops->insert_many(t, d + *done, n - *done < left ? n - *done : (size_t)left,
                                   &present, &some);
    f->items += some;
    *done += some;
    if (status != BESOM_OK || *done == n) break;
    status = insert(f, d[*done]); /* there already, or marked, or no room: one by one */
    *done += status == BESOM_OK;
  }
  return status;
}

/*
 * Leaves a tombstone, if that is wanted and there is something to keep and room for it. Not in front of a store: its
 * keys come back at the end of their bucket.
 */
static bool bury(struct aqf *a, const struct long_fingerprint *fp) {
  struct long_fingerprint tombstone = *fp;
  tombstone.count = tombstone.value = 0;
  if (!a->keep_tombstones || !fp->extension_bits || a->reverse.digest_of) return false;
  return rewrite_in_reserve(a, fp, &tombstone) == BESOM_OK;
}

besom_status besom__aqf_remove(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  struct long_fingerprint fp;
  if (besom__marks_has(&a->marks, d) || !longest_match(a, d, &fp)) return BESOM_NOT_FOUND;
  f->items--;
  if (fp.count == 1) {
    if (!bury(a, &fp)) besom__aqf_take_out(a, &fp);
    return BESOM_OK;
  }
  struct long_fingerprint less = fp;
  less.count--;
  return besom__aqf_rewrite(a, &fp, &less);
}

besom_status besom__aqf_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct matching m = besom__matching_start(&const_quotient(f)->table, d);
  *n = 0;
  if (besom__marks_has(&const_aqf(f)->marks, d)) return BESOM_OK;
  while (besom__next_match(&m)) *n += m.fp.count;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ values */

besom_status besom__aqf_get_value(const besom_filter *f, besom_digest d, uint64_t *value) {
  struct matching m = besom__matching_start(&const_quotient(f)->table, d);
  if (!own_value_bits(m.table)) return BESOM_INVALID;
  if (besom__marks_has(&const_aqf(f)->marks, d) || !besom__next_match(&m)) return BESOM_NOT_FOUND;
  *value = m.fp.value;
  return BESOM_OK;
}

static void put_value(struct qtable *t, uint64_t position, uint64_t value) {
  set_slot_value(t, block_at(t, position / 64), position % 64, value);
}

besom_status besom__aqf_set_value(besom_filter *f, besom_digest d, uint64_t value) {
  struct matching m = besom__matching_start(&quotient(f)->table, d);
  if (!own_value_bits(m.table) || value >> own_value_bits(m.table)) return BESOM_INVALID;
  if (besom__marks_has(&aqf(f)->marks, d) || !besom__next_match(&m)) return BESOM_NOT_FOUND;
  uint64_t position = m.fp.position;
  if (besom__next_match(&m)) return BESOM_AMBIGUOUS;
  put_value(&quotient(f)->table, position, value);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ in front of a store */

besom_status besom__aqf_bind(besom_filter *f, const besom_reverse *reverse) {
  if (!has_buckets(&quotient(f)->table)) return BESOM_INVALID;
  aqf(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

static uint64_t bucket_of_digest(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient(f)->table;
  struct address at = address_of(d, t->slots);
  return bucket_of(t, at.quotient, remainder_of(at, t->width));
}

besom_status besom__aqf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total) {
  const struct qtable *t = &const_quotient(f)->table;
  *total = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  if (!t->ops->contains(t, d) || besom__marks_has(&const_aqf(f)->marks, d)) return BESOM_OK;
  struct matching m = besom__matching_start(&const_quotient(f)->table, d);
  for (; besom__next_match(&m); ++*total)
    if (*total < cap)
      out[*total] = (besom_match){bucket_of(t, m.fp.quotient, m.fp.remainder), m.rank};
  return BESOM_OK;
}

static besom_status insert_at(besom_filter *f, besom_digest d, uint64_t value, besom_match *match) {
  struct aqf *a = aqf(f);
  struct qtable *t = &a->base.table;
  if (!has_buckets(t) || value >> t->value_bits) return BESOM_INVALID;
  besom_status status = append_new(a, d, 1);
  if (status != BESOM_OK) return status;
  struct long_fingerprint fp = besom__aqf_last_of_run(a, d);
  put_value(t, fp.position, value);
  uint64_t last, equal = t->ops->find(t, fp.quotient, fp.remainder, &last);
  *match = (besom_match){bucket_of(t, fp.quotient, fp.remainder), (uint32_t)(equal - 1)};
  if (a->books.tombstones) match->rank = besom__last_rank(t, fp.quotient, fp.remainder);
  f->items++;
  if (a->marks.count) besom__marks_remove(&a->marks, d);
  return BESOM_OK;
}

static besom_status remove_at(besom_filter *f, besom_match match) {
  struct long_fingerprint fp;
  if (!besom__locate_match(&quotient(f)->table, match, &fp)) return BESOM_NOT_FOUND;
  besom__aqf_take_out(aqf(f), &fp);
  f->items -= fp.count;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ adapting */

static besom_status lengthen(struct aqf *a, const struct long_fingerprint *fp,
                             besom_digest offender, besom_digest stored) {
  struct long_fingerprint longer;
  besom_status status = besom__lengthened(&a->base.table, fp, offender, stored, &longer);
  if (status != BESOM_OK || longer.extension_bits == fp->extension_bits) return status;
  return rewrite_in_reserve(a, fp, &longer);
}

static besom_status adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                             besom_digest stored) {
  struct long_fingerprint fp;
  if (!besom__locate_match(&quotient(f)->table, match, &fp)) return BESOM_NOT_FOUND;
  return lengthen(aqf(f), &fp, offender, stored);
}

besom_status besom__aqf_ask_key(const struct aqf *a, struct lengthening *l) {
  const besom_filter *f = a->view_of ? a->view_of : &a->base.head;
  return a->reverse.digest_of(a->reverse.ctx, f, l->match, &l->stored);
}

/* Looks at every match before the first is changed: one may be the key itself. */
static besom_status plan_changes(const struct aqf *a, besom_digest d, struct lengthening *changes,
                                 unsigned *n) {
  struct matching m = besom__matching_start(&a->base.table, d);
  for (*n = 0; besom__next_match(&m); ++*n) {
    if (*n == MAX_LENGTHENINGS) return BESOM_FULL;
    struct lengthening *c = &changes[*n];
    c->match = (besom_match){bucket_of(m.table, m.fp.quotient, m.fp.remainder), m.rank};
    besom_status status = besom__aqf_ask_key(a, c);
    if (status != BESOM_OK) return status;
    if (c->stored.hi == d.hi && c->stored.lo == d.lo) return BESOM_IS_MEMBER;
  }
  return BESOM_OK;
}

void besom__aqf_take_back(struct aqf *a, const struct lengthening *l, unsigned n) {
  while (n--) {
    struct long_fingerprint now, old = l[n].old;
    besom__locate_match(&a->base.table, l[n].match, &now);
    old.position = now.position; /* it may have moved; its rank has not */
    besom__aqf_rewrite(a, &now, &old);
  }
}

/* Bound: every match is lengthened, or none. */
static besom_status adapt_by_keys(struct aqf *a, besom_digest d) {
  struct lengthening changes[MAX_LENGTHENINGS];
  unsigned n, done = 0;
  besom_status status = plan_changes(a, d, changes, &n);
  for (; status == BESOM_OK && done < n; done += status == BESOM_OK) {
    struct lengthening *c = &changes[done];
    besom__locate_match(&a->base.table, c->match, &c->old);
    status = lengthen(a, &c->old, d, c->stored);
  }
  if (status != BESOM_OK) besom__aqf_take_back(a, changes, done);
  return status;
}

besom_status besom__aqf_adapt(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  if (!besom__aqf_contains(f, d)) return BESOM_OK;
  if (a->reverse.digest_of) return adapt_by_keys(a, d);
  return besom__aqf_no_add(f, d);
}

/* An entry of the no list is a mark, whether a fingerprint matches it now or only later. */
besom_status besom__aqf_no_add(besom_filter *f, besom_digest d) {
  struct aqf *a = aqf(f);
  return besom__marks_add(&a->marks, &f->allocator, d, besom__aqf_mark_bytes(a));
}

besom_status besom__aqf_no_remove(besom_filter *f, besom_digest d) {
  return besom__marks_remove(&aqf(f)->marks, d) ? BESOM_OK : BESOM_NOT_FOUND;
}

/* ------------------------------------------------------------------ whole filters */

/* A mark of one filter stays if the other one does not hold the key. */
static besom_status merge_marks(struct aqf *into, const besom_filter *from,
                                const besom_filter *other) {
  const struct marks *m = &const_aqf(from)->marks;
  for (uint64_t i = 0; i < m->size; i++) {
    besom_digest d = m->places[i];
    if ((d.hi == 0 && d.lo == 0) || besom__aqf_contains(other, d)) continue;
    besom_status status =
        besom__marks_add(&into->marks, &into->base.head.allocator, d, besom__aqf_mark_bytes(into));
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

besom_status besom__aqf_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct qtable *x = &const_quotient(a)->table, *y = &const_quotient(b)->table;
  struct aqf *out = aqf(into);
  if (x->slots != y->slots || x->width != y->width || x->value_bits != y->value_bits)
    return BESOM_INCOMPATIBLE;
  const struct books *p = &const_aqf(a)->books, *q = &const_aqf(b)->books;
  out->books = (struct books){p->slots + q->slots, p->tombstones + q->tombstones,
                              p->no_entries + q->no_entries};
  out->keep_tombstones |= const_aqf(b)->keep_tombstones;
  if (a->items > MAX_COUNT || b->items > MAX_COUNT - a->items) return BESOM_FULL;
  if (member_slots(const_aqf(a)) + member_slots(const_aqf(b)) > into->capacity) return BESOM_FULL;
  if (out->books.slots > besom__aqf_reserve(out)) return BESOM_FULL;
  besom_status status = x->ops->merge(x, y, &out->base.table);
  if (status == BESOM_OK) status = merge_marks(out, a, b);
  if (status == BESOM_OK) status = merge_marks(out, b, a);
  into->items = a->items + b->items;
  return status;
}

besom_status besom__aqf_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct aqf *a = const_aqf(f);
  aqf(fresh)->reserve = a->reserve;
  aqf(fresh)->no_capacity = a->no_capacity;
  aqf(fresh)->keep_tombstones = a->keep_tombstones;
  aqf(fresh)->books = a->books;
  fresh->capacity = besom__quotient_capacity(slots, a->reserve);
  if (fresh->capacity < member_slots(a) && slots < a->base.table.slots) return BESOM_FULL;
  unsigned doublings =
      slots > a->base.table.slots ? trailing_zeros(slots / a->base.table.slots) : 0;
  if (a->base.table.width < AQF_MIN_WIDTH + doublings) return BESOM_INVALID;
  return besom__quotient_resize_start(fresh, f, slots, NULL);
}

/* Marks and binding do not depend on the size: they go over as they are. */
besom_status besom__aqf_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                    bool *finished) {
  struct aqf *a = aqf(fresh);
  besom_status status = besom__quotient_resize_step(fresh, max, finished, &a->books.slots);
  if (status != BESOM_OK || !*finished) return status;
  if (member_slots(a) > fresh->capacity) return BESOM_FULL;
  if (a->base.table.slots < aqf(f)->base.table.slots && a->books.slots > besom__aqf_reserve(a))
    return BESOM_FULL;
  a->marks = aqf(f)->marks;
  a->reverse = aqf(f)->reverse;
  aqf(f)->marks = (struct marks){0};
  return BESOM_OK;
}

void besom__aqf_stats(const besom_filter *f, besom_statistics *s) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  uint64_t heads = t->used - t->further_slots - a->books.tombstones - a->books.no_entries,
           reserve = f->kind == &besom__yesno ? 0 : besom__aqf_reserve(a);
  s->isa = besom__isa_name(a->base.isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t) + a->marks.size * sizeof *a->marks.places;
  s->load = (double)t->used / (double)t->slots;
  s->expected_fpr = besom__quotient_rate(heads, t->slots, t->width);
  s->fpr_at_capacity = besom__quotient_rate(f->capacity, t->slots, t->width);
  s->extended = t->extended;
  s->tombstones = a->books.tombstones;
  s->no_entries = a->books.no_entries;
  s->marks = a->marks.count;
  double by_slots = reserve ? (double)a->books.slots / (double)reserve : 0;
  double by_marks =
      (double)(a->marks.count * sizeof *a->marks.places) / (double)besom__aqf_mark_bytes(a) * 8 / 7;
  s->reserve_used =
      fmin(1, fmax(by_slots, by_marks)); /* growing may take a little more than it frees */
}

static const char *check_fingerprint(const struct aqf *a, const struct long_fingerprint *fp) {
  bool may_be_tombstone = a->keep_tombstones && fp->extension_bits && !fp->value;
  if (!fp->count && !may_be_tombstone) return "a fingerprint has a count of 0";
  if (fp->count > MAX_COUNT) return "a fingerprint has a count that no filter reaches";
  return besom__long_check(&a->base.table, fp);
}

const char *besom__aqf_validate(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  const struct qtable *t = &a->base.table;
  const char *wrong = besom__qtable_check(t);
  if (wrong) return wrong;
  struct aqf counted = {.base.table.width = t->width};
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  while (besom__qtable_next(&c)) {
    struct long_fingerprint fp = {.count = 1};
    if (UNLIKELY(c.slots > 1 ||
                 has_tags(t))) { /* else there is nothing in a single slot that could be wrong */
      fp = besom__long_read(t, c.quotient, c.position);
      wrong = check_fingerprint(a, &fp);
      if (wrong) return wrong;
      enter(&counted, &fp);
    }
    if (fp.count > MAX_COUNT - counted.base.head.items)
      return "there are more items than can be counted";
    counted.base.head.items += is_member(&fp) ? fp.count : 0;
  }
  if (counted.base.head.items != f->items) return "the number of items is wrong";
  if (counted.books.slots != a->books.slots) return "the number of slots of extensions is wrong";
  if (counted.base.table.extended != t->extended) return "the number of extensions is wrong";
  if (counted.books.tombstones != a->books.tombstones) return "the number of tombstones is wrong";
  if (counted.books.no_entries != a->books.no_entries) return "the number of no entries is wrong";
  if (member_slots(a) > f->capacity) return "there are more items than the capacity";
  return besom__marks_check(&a->marks);
}

/* ------------------------------------------------------------------ files */

/* Places of marks are saved as they are in memory, which is little-endian on every machine that has a fast path. */
void besom__aqf_save(const besom_filter *f, struct sections_out *out) {
  const struct aqf *a = const_aqf(f);
  besom__quotient_save(&a->base.table, out);
  besom__write_double(&out->parameters, a->reserve);
  besom__write_u64(&out->parameters, a->books.slots);
  besom__write_u64(&out->parameters, a->base.table.extended);
  besom__write_u64(&out->parameters, a->marks.count);
  besom__write_u64(&out->parameters, a->keep_tombstones);
  besom__write_u64(&out->parameters, a->books.tombstones);
  if (a->no_capacity) besom__write_u64(&out->parameters, a->no_capacity);
  add_section(out, TAG_MARKS, a->marks.places, a->marks.size * sizeof *a->marks.places);
}

static besom_status load_marks(besom_filter *f, const struct section *saved, uint64_t count) {
  struct marks *m = &aqf(f)->marks;
  uint64_t size = saved->len / sizeof *m->places;
  if (saved->len % sizeof *m->places || count > size) return BESOM_CORRUPT;
  if (size == 0) return BESOM_OK;
  besom_digest *places = besom__allocate(&f->allocator, (size_t)saved->len);
  if (!places) return BESOM_NO_MEMORY;
  memcpy(places, saved->data, (size_t)saved->len);
  *m = (struct marks){places, size, count};
  return besom__marks_check(m)
             ? BESOM_CORRUPT
             : BESOM_OK; /* in trusted files, too: a full set would be walked for ever */
}

/* A static one is full from the start, at whatever load. */
static bool has_its_capacity(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  return f->kind == &besom__yesno ||
         f->capacity == besom__quotient_capacity(a->base.table.slots, a->reserve);
}

besom_status besom__aqf_load(besom_filter *f, struct sections_in *in) {
  struct aqf *a = aqf(f);
  besom_status status =
      besom__quotient_load(f, in, f->kind == &besom__yesno_dynamic ? TAGS : NO_CODE);
  if (status != BESOM_OK) return status;
  a->reserve = besom__read_double(&in->parameters);
  a->books.slots = besom__read_u64(&in->parameters);
  a->base.table.extended = besom__read_u64(&in->parameters);
  uint64_t marks = besom__read_u64(&in->parameters), keep = besom__read_u64(&in->parameters);
  a->keep_tombstones = keep;
  a->books.tombstones = besom__read_u64(&in->parameters);
  bool has_no_capacity = f->kind != &besom__yesno_dynamic && in->parameters.at < in->parameters.end;
  a->no_capacity = has_no_capacity ? besom__read_u64(&in->parameters) : 0;
  const struct section *saved = take_section(in, TAG_MARKS);
  bool sound = saved && a->base.table.has_heads && a->base.table.width >= AQF_MIN_WIDTH &&
               a->reserve > 0 && a->reserve <= 0.5 && a->books.slots <= a->base.table.used &&
               a->books.tombstones <= a->base.table.extended && keep <= 1 && has_its_capacity(f) &&
               has_no_capacity == (a->no_capacity != 0) && a->no_capacity <= MAX_CAPACITY;
  status = sound ? load_marks(f, saved, marks) : BESOM_CORRUPT;
  if (status != BESOM_OK) besom__aqf_destroy(f);
  return status;
}

const struct besom_kind besom__aqf = {
    .info = {AQF_NAME, AQF_SUMMARY, AQF_ABILITIES},
    .size = sizeof(struct aqf),
    .concurrent = &besom__aqf_concurrent,
    .create = create,
    .create_like = besom__aqf_create_like,
    .build = besom__yesno_build,
    .destroy = besom__aqf_destroy,
    .table = besom__quotient_table_of,
    .contains = besom__aqf_contains,
    .contains_many = besom__aqf_contains_many,
    .insert = insert,
    .insert_many = insert_many,
    .insert_count = insert_count,
    .remove = besom__aqf_remove,
    .count = besom__aqf_count,
    .adapt = besom__aqf_adapt,
    .no_add = besom__aqf_no_add,
    .no_remove = besom__aqf_no_remove,
    .get_value = besom__aqf_get_value,
    .set_value = besom__aqf_set_value,
    .bucket_of = bucket_of_digest,
    .bind = besom__aqf_bind,
    .matches = besom__aqf_matches,
    .insert_at = insert_at,
    .admit = besom__quotient_admit,
    .remove_at = remove_at,
    .adapt_at = adapt_at,
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
