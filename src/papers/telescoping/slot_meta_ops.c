/*
 * The operations of exaf, broom, taf and utaf (slot_meta.h). Without metadata they are those of qf.
 */
#include <math.h>

#include "core/options.h"
#include "papers/telescoping/slot_meta.h"
#include "quotient/table/walk.h"

#define FETCH_AHEAD 16 /* keys of a batch */

/* ------------------------------------------------------------------ creating and freeing */

static void set_model(struct meta_filter *x) {
  if (x->policy->bytes || x->policy->pool) return;
  bool published = x->policy->form == FORM_PUBLISHED;
  if (x->policy->extensions && published)
    besom__code_for_published_extensions(&x->model);
  else if (x->policy->extensions)
    besom__code_for_extensions(&x->model);
  else if (published)
    besom__code_for_published_selectors(&x->model, x->base.table.width);
  else if (x->policy->form == FORM_EARLIER)
    besom__code_for_corollary_selectors(&x->model, x->base.table.width);
  else
    besom__code_for_selectors(&x->model, x->base.table.width);
}

static enum table_code code_of_policy(const struct meta_policy *policy) {
  if (policy->pool) return NO_CODE;
  return policy->bytes ? CODE_AND_BYTES : CODE;
}

struct meta_values {
  uint64_t isa, heads, form;
};

const struct option_row besom__meta_rows[META_ROWS] = {
    OPTION_ISA(meta_values),
    OPTION_WORDS(meta_values, heads, "yes, no", "no: leave out the third metadata word, as in qf"),
    OPTION_WORDS(meta_values, form, "default, published", "published: as in the paper"),
};

besom_status besom__meta_filter_create(besom_filter *f, const besom_config *config) {
  const struct meta_forms *forms = f->kind->policy;
  struct meta_filter *x = meta_filter(f);
  struct qtable_shape shape = {.code = code_of_policy(forms->own)};
  struct meta_values o;
  if (config->value_bits) return BESOM_INVALID;
  besom_status status = besom__options_read(&f->kind->options, config->options, &o);
  if (status != BESOM_OK) return status;
  x->base.isa = isa_of_option(o.isa);
  shape.heads = o.heads == 0;
  status = besom__quotient_geometry(config, sizeof(struct meta_filter), 0, &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, 0);
  status = besom__quotient_table_new(f, &shape, &x->base.table);
  x->policy = o.form ? forms->published : forms->own;
  if (status == BESOM_OK) set_model(x);
  return status;
}

besom_status besom__meta_filter_create_like(besom_filter *f, const besom_filter *model) {
  meta_filter(f)->policy = const_meta_filter(model)->policy;
  meta_filter(f)->model = const_meta_filter(model)->model;
  return besom__quotient_create_like(f, model);
}

/* ------------------------------------------------------------------ queries */

/* Without metadata: the number of matches, and the position of the last. */
static uint64_t slot_meta_find_equal(const besom_filter *f, besom_digest d, uint64_t *last) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  struct address a = hashed_key_of(const_meta_filter(f), d).at;
  return t->ops->find(t, a.quotient, remainder_of(a, t->width), last);
}

/* The first and the last slot of a run in a block. */
static struct run part_in_block(struct run run, uint64_t b) {
  return (struct run){run.start > 64 * b ? run.start : 64 * b,
                      run.end < 64 * b + 64 ? run.end - 1 : 64 * b + 63};
}

/* Reads at least the metadata of this part of a run. */
static void read_run_meta(const struct meta_filter *x, struct run part, slot_meta *meta) {
  uint64_t b = part.start / 64;
  const uint8_t *bytes = x->policy->bytes ? meta_bytes(x, b) : NULL;
  bool any = may_have_meta(x, part.start, part.end);
  if (any && !bytes)
    besom__meta_read(x, b, meta);
  else
    for (uint64_t i = part.start % 64; i <= part.end % 64; i++) meta[i] = any ? bytes[i] : 0;
}

/* A slot may match if it has the first remainder, or metadata that select another one. */
static void enter_block(struct scan *s, uint64_t b) {
  const struct meta_filter *x = s->filter;
  const struct qtable *t = &x->base.table;
  struct run part = part_in_block(s->run, b);
  uint64_t meta_filter = 0;
  s->block = b;
  read_run_meta(x, part, s->meta);
  for (uint64_t p = part.start; x->policy->remainder_varies && p <= part.end; p++)
    meta_filter |= (uint64_t)(s->meta[p % 64] != 0) << (p % 64);
  s->left =
      slots_equal(t, block_at(t, b), remainder_of(s->key.at, t->width), t->width) | meta_filter;
  s->left &= bits_between(part.start % 64, part.end % 64);
}

void besom__scan_start(struct scan *s, const struct meta_filter *x, besom_digest d) {
  s->filter = x;
  s->key = hashed_key_of(x, d);
  s->run = x->base.table.ops->run_of(&x->base.table, s->key.at.quotient);
  s->block = s->run.start / 64;
  s->left = 0;
  if (s->run.start < s->run.end) enter_block(s, s->block);
}

bool besom__scan_next(struct scan *s) {
  const struct meta_filter *x = s->filter;
  const struct qtable *t = &x->base.table;
  for (;;) {
    for (; s->left; s->left &= s->left - 1) {
      unsigned i = trailing_zeros(s->left);
      uint64_t remainder = slot_remainder(t, block_at(t, s->block), i, t->width);
      if (!x->policy->matches(&s->key, remainder, s->meta[i], t->width)) continue;
      s->left &= s->left - 1;
      s->position = 64 * s->block + i;
      s->meta_of_match = s->meta[i];
      return true;
    }
    if (64 * s->block + 64 >= s->run.end) return false;
    enter_block(s, s->block + 1);
  }
}

static __attribute__((noinline)) bool contains_by_scan(const struct meta_filter *x,
                                                       besom_digest d) {
  struct scan s;
  besom__scan_start(&s, x, d);
  return besom__scan_next(&s);
}

/* If remainders do not vary, metadata matter only to a query whose remainder matches. */
bool besom__meta_filter_contains_by_remainder(const besom_filter *f, besom_digest d) {
  const struct meta_filter *x = const_meta_filter(f);
  const struct qtable *t = &x->base.table;
  return t->ops->contains(t, d) != ANSWER_NO && (!x->meta_slots || contains_by_scan(x, d));
}

/*
 * If remainders vary, metadata matter to every query whose run has some; few have. No branch on
 * whether there is a run: it is unpredictable.
 */
static __attribute__((noinline)) bool contains_by_code(const struct meta_filter *x,
                                                       besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct block_run run;
  enum answer answer = t->ops->contains_run(t, d, &run);
  if (UNLIKELY(answer == ANSWER_ELSEWHERE)) return contains_by_scan(x, d);
  uint64_t code = block_code(run.block);
  bool meta = code >= x->model.none_below[run.end] &&
              besom__code_has_meta_from(&x->model, code, trailing_zeros(run.slots), run.end - 1);
  return UNLIKELY(meta) ? contains_by_scan(x, d) : answer != ANSWER_NO;
}

bool besom__meta_filter_contains_by_code(const besom_filter *f, besom_digest d) {
  const struct meta_filter *x = const_meta_filter(f);
  const struct qtable *t = &x->base.table;
  return x->meta_slots ? contains_by_code(x, d) : t->ops->contains(t, d) != ANSWER_NO;
}

/* The same with flags of the slots that have metadata. */
bool besom__meta_filter_contains_by_flags(const besom_filter *f, besom_digest d) {
  const struct meta_filter *x = const_meta_filter(f);
  const struct qtable *t = &x->base.table;
  enum answer answer = (x->meta_slots ? t->ops->contains_flagged : t->ops->contains)(t, d);
  return UNLIKELY(answer == ANSWER_MAYBE) ? contains_by_scan(x, d) : answer != ANSWER_NO;
}

/* Remainders do not vary, but are those of a round. */
static bool contains_in_round(const struct meta_filter *x, besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct address a = hashed_key_of(x, d).at;
  if (t->ops->contains_at(t, a.quotient, remainder_of(a, t->width)) == ANSWER_NO) return false;
  return !x->meta_slots || contains_by_scan(x, d);
}

bool besom__meta_filter_contains_by_round(const besom_filter *f, besom_digest d) {
  const struct meta_filter *x = const_meta_filter(f);
  return x->rounds.number ? contains_in_round(x, d)
                          : besom__meta_filter_contains_by_remainder(f, d);
}

/* Key by key, with prefetched blocks. */
static void contains_one_by_one(const struct meta_filter *x, const besom_digest *d, size_t n,
                                uint64_t *bitmap,
                                bool (*contains)(const struct meta_filter *x, besom_digest d)) {
  const struct qtable *t = &x->base.table;
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) bitmap[i / 64] = 0;
    if (i + FETCH_AHEAD < n) {
      const uint8_t *ahead = block_at(t, approximate_quotient(d[i + FETCH_AHEAD], t->slots) / 64);
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + 64);
    }
    bitmap[i / 64] |= (uint64_t)contains(x, d[i]) << (i % 64);
  }
}

/* The bytes of slots are outside the blocks: prefetches those that the second look will read. */
static void fetch_bytes(const struct qtable *t, const besom_digest *d, size_t n,
                        const uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      __builtin_prefetch(qtable_slot_bytes(t) +
                         approximate_quotient(d[i + trailing_zeros(left)], t->slots));
}

/*
 * Asks the table first. Then looks again at each yes that may be wrong; its block is in the cache
 * by now.
 */
void besom__meta_filter_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                      uint64_t *bitmap) {
  const struct meta_filter *x = const_meta_filter(f);
  const struct qtable *t = &x->base.table;
  if (x->rounds.number || (x->meta_slots && x->policy->remainder_varies && !x->policy->bytes)) {
    contains_one_by_one(x, d, n, bitmap, x->rounds.number ? contains_in_round : contains_by_code);
    return;
  }
  if (x->meta_slots && x->policy->bytes) {
    t->ops->contains_flagged_many(t, d, n, bitmap);
    fetch_bytes(t, d, n, bitmap);
  } else {
    t->ops->contains_many(t, d, n, bitmap);
  }
  for (size_t i = 0; x->meta_slots && i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      if (!contains_by_scan(x, d[i + j])) bitmap[i / 64] &= ~(UINT64_C(1) << j);
    }
}

besom_status besom__meta_filter_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct scan s;
  uint64_t last;
  if (!const_meta_filter(f)->meta_slots) {
    *n = slot_meta_find_equal(f, d, &last);
    return BESOM_OK;
  }
  besom__scan_start(&s, const_meta_filter(f), d);
  for (*n = 0; besom__scan_next(&s); ++*n) continue;
  return BESOM_OK;
}

besom_status besom__meta_filter_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                        size_t cap, size_t *total) {
  struct scan s;
  *total = 0;
  if (!f->kind->query.contains(f, d)) return BESOM_OK;
  besom__scan_start(&s, const_meta_filter(f), d);
  for (; besom__scan_next(&s); ++*total)
    if (*total < cap)
      out[*total] = (besom_match){s.key.at.quotient, (uint32_t)(s.position - s.run.start)};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ inserting */

/*
 * Moves the metadata of the shifted slots. If remainders depend on metadata that no longer fit,
 * rebuilds the blocks first; nothing after that can fail.
 */
static besom_status insert_among_meta(struct meta_filter *x, besom_digest d) {
  struct qtable *t = &x->base.table;
  uint64_t position = run_of(t, address_of(d, t->slots).quotient).end;
  struct shift shift = {position, first_empty_from(t, position, t->width), true};
  besom_status status = BESOM_OK;
  if (shift.to >= t->room) return BESOM_FULL;
  if (x->policy->remainder_varies && !besom__meta_shift_fits(x, shift))
    status = besom__meta_rebuild(x, shift.from / 64, shift.to / 64);
  if (status == BESOM_OK) status = t->ops->insert(t, d, NULL);
  if (status == BESOM_OK) besom__meta_shift(x, shift);
  return status;
}

/* The table has appended the digest's own remainder: replaces it. */
static void set_remainder_of_round(struct meta_filter *x, besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct address a = hashed_key_of(x, d).at;
  uint64_t last = run_of(t, a.quotient).end - 1;
  set_slot_remainder(t, block_at(t, last / 64), last % 64, remainder_of(a, t->width), t->width);
}

besom_status besom__meta_filter_insert(besom_filter *f, besom_digest d) {
  struct meta_filter *x = meta_filter(f);
  struct qtable *t = &x->base.table;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  besom_status status =
      LIKELY(!x->meta_slots) ? t->ops->insert(t, d, NULL) : insert_among_meta(x, d);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(x->rounds.number)) set_remainder_of_round(x, d);
  f->items++;
  return BESOM_OK;
}

besom_status besom__meta_filter_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                            size_t *done) {
  struct meta_filter *x = meta_filter(f);
  struct qtable *t = &x->base.table;
  besom_status status = BESOM_OK;
  *done = 0;
  if (x->meta_slots || x->rounds.number) {
    while (*done < n && (status = besom__meta_filter_insert(f, d[*done])) == BESOM_OK) ++*done;
    return status;
  }
  uint64_t left = f->capacity > f->items ? f->capacity - f->items : 0;
  size_t fitting = n < left ? n : (size_t)left;
  status = t->ops->insert_many(t, d, fitting, NULL, done);
  f->items += *done;
  return status == BESOM_OK && fitting < n ? BESOM_FULL : status;
}

besom_match besom__meta_filter_next_match(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  uint64_t q = address_of(d, t->slots).quotient;
  struct run run = run_of(t, q);
  return (besom_match){q, (uint32_t)(run.end - run.start)};
}

besom_status besom__meta_filter_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                          besom_match *match) {
  if (value) return BESOM_INVALID;
  besom_match next = besom__meta_filter_next_match(f, d);
  besom_status status = f->kind->change->insert(f, d);
  if (status == BESOM_OK) *match = next;
  return status;
}

/* ------------------------------------------------------------------ removing */

static bool slot_meta_locate(const struct qtable *t, besom_match match, uint64_t *position) {
  if (match.bucket >= t->slots) return false;
  struct run run = run_of(t, match.bucket);
  *position = run.start + match.rank;
  return match.rank < run.end - run.start;
}

static struct shift shift_to_remove(const struct qtable *t, uint64_t quotient, uint64_t position) {
  return (struct shift){position, last_of_cluster(t, quotient, position), false};
}

/* Makes sure that deleting the slot will not have to read stored keys. */
static besom_status make_ready(struct meta_filter *x, struct shift shift) {
  if (!x->meta_slots || !x->policy->remainder_varies || besom__meta_shift_fits(x, shift))
    return BESOM_OK;
  return besom__meta_rebuild(x, shift.from / 64, shift.to / 64);
}

besom_status besom__meta_filter_ready_to_remove(besom_filter *f, besom_match match) {
  const struct qtable *t = &quotient_filter(f)->table;
  uint64_t position;
  if (!slot_meta_locate(t, match, &position)) return BESOM_NOT_FOUND;
  return make_ready(meta_filter(f), shift_to_remove(t, match.bucket, position));
}

/* Updates the statistics. With a code, the shift counts the metadata itself. */
static void clear_byte(struct meta_filter *x, uint64_t position) {
  slot_meta meta[CODE_SLOTS];
  besom__meta_read(x, position / 64, meta);
  meta[position % 64] = 0;
  besom__meta_write(x, position / 64, meta);
}

static besom_status slot_meta_take_out(struct meta_filter *x, uint64_t q, uint64_t position) {
  struct qtable *t = &x->base.table;
  struct shift shift = shift_to_remove(t, q, position);
  besom_status status = make_ready(x, shift);
  if (status != BESOM_OK) return status;
  bool has_meta = x->meta_slots;
  if (has_meta && x->policy->bytes) clear_byte(x, position);
  t->ops->delete_slot(t, q, position);
  if (has_meta) besom__meta_shift(x, shift);
  x->base.head.items--;
  return BESOM_OK;
}

besom_status besom__meta_filter_remove_at(besom_filter *f, besom_match match) {
  uint64_t position;
  if (!slot_meta_locate(&quotient_filter(f)->table, match, &position)) return BESOM_NOT_FOUND;
  return slot_meta_take_out(meta_filter(f), match.bucket, position);
}

/*
 * Finds the match to remove. With a reverse map: the key's own. Else the longest one, the last
 * among equals, if remainders do not vary. If they vary, matches with different metadata may belong
 * to different keys, and the wrong one could be lost: NEEDS_STORE.
 */
static besom_status choose(const struct meta_filter *x, besom_digest d, uint64_t *position) {
  slot_meta chosen = 0;
  bool found = false;
  struct scan s;
  besom__scan_start(&s, x, d);
  while (besom__scan_next(&s)) {
    struct hashed_key key = s.key;
    besom_status status = x->reverse.digest_of ? besom__stored_key(x, s.position, &key) : BESOM_OK;
    if (status != BESOM_OK) return status;
    if (key.digest.hi != d.hi || key.digest.lo != d.lo) continue;
    if (found && x->policy->remainder_varies && s.meta_of_match != chosen && !x->reverse.digest_of)
      return BESOM_NEEDS_STORE;
    if (found && s.meta_of_match < chosen) continue;
    found = true;
    chosen = s.meta_of_match;
    *position = s.position;
  }
  return found ? BESOM_OK : BESOM_NOT_FOUND;
}

besom_status besom__meta_filter_remove(besom_filter *f, besom_digest d) {
  struct meta_filter *x = meta_filter(f);
  uint64_t position = 0;
  besom_status status;
  if (x->meta_slots || x->reverse.digest_of)
    status = choose(x, d, &position);
  else
    status = slot_meta_find_equal(f, d, &position) ? BESOM_OK : BESOM_NOT_FOUND;
  return status == BESOM_OK
             ? slot_meta_take_out(x, address_of(d, x->base.table.slots).quotient, position)
             : status;
}

/* Appends the copies one by one. If one does not fit, removes those before it. */
besom_status besom__meta_filter_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  const struct qtable *t = &quotient_filter(f)->table;
  uint64_t q = address_of(d, t->slots).quotient, done = 0;
  besom_status status = n > f->capacity - f->items ? BESOM_FULL : BESOM_OK;
  for (; done < n && status == BESOM_OK; done += status == BESOM_OK)
    status = besom__meta_filter_insert(f, d);
  for (; status != BESOM_OK && done; done--)
    slot_meta_take_out(meta_filter(f), q, run_of(t, q).end - 1);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

uint64_t besom__meta_filter_bucket_of(const besom_filter *f, besom_digest d) {
  return address_of(d, const_quotient_filter(f)->table.slots).quotient;
}

besom_status besom__meta_filter_bind(besom_filter *f, const besom_reverse *reverse) {
  meta_filter(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

besom_status besom__meta_filter_merge(const besom_filter *a, const besom_filter *b,
                                      besom_filter *into) {
  const struct qtable *x = &const_quotient_filter(a)->table, *y = &const_quotient_filter(b)->table;
  if (x->slots != y->slots || x->width != y->width || x->has_heads != y->has_heads)
    return BESOM_INCOMPATIBLE;
  if (const_meta_filter(a)->pool.budget != const_meta_filter(b)->pool.budget)
    return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  besom_status status = x->ops->merge(x, y, &quotient_filter(into)->table);
  bool unchanged = !const_meta_filter(a)->meta_slots && !const_meta_filter(b)->meta_slots;
  unchanged &= besom__rounds_equal(const_meta_filter(a), const_meta_filter(b));
  if (status != BESOM_OK || unchanged) return status;
  return besom__meta_merge(meta_filter(into), const_meta_filter(a), const_meta_filter(b));
}

/* If remainders do not vary, metadata stay valid and move along. Drops those that do not fit. */
static void carry_meta(void *into, const struct qtable_cursor *at, uint64_t position) {
  struct meta_filter *x = into;
  slot_meta meta[CODE_SLOTS];
  uint64_t code = block_code(block_at(at->table, at->position / 64));
  unsigned i = at->position % 64;
  if (!code_has_meta(&x->model, code, i, i)) return;
  besom__meta_decode(&x->model, code, meta);
  slot_meta carried = meta[i];
  besom__meta_read(x, position / 64, meta);
  meta[position % 64] = carried;
  if (!besom__meta_write(x, position / 64, meta)) x->rebuilds++;
}

/* If remainders vary, metadata are dropped, and the first remainder comes from the stored key. */
static besom_status find_first_remainder(const void *from, const struct qtable_cursor *at,
                                         uint64_t *remainder) {
  const struct meta_filter *x = from;
  struct hashed_key key;
  if (at->table != &x->base.table || !besom__meta_at(x, at->position)) return BESOM_OK;
  besom_status status = besom__stored_key(x, at->position, &key);
  if (status == BESOM_OK) *remainder = x->policy->remainder(&key, 0, x->base.table.width);
  return status;
}

besom_status besom__meta_filter_resize_start(besom_filter *fresh, const besom_filter *f,
                                             uint64_t slots) {
  const struct meta_filter *x = const_meta_filter(f);
  struct meta_filter *y = meta_filter(fresh);
  struct qtable_resize_hooks hooks = {.from = x, .into = y};
  fresh->capacity = besom__quotient_capacity(slots, 0);
  if (fresh->capacity < f->items) return BESOM_FULL;
  if (x->meta_slots && x->policy->remainder_varies && !x->reverse.digest_of)
    return BESOM_NEEDS_STORE;
  if (x->meta_slots && x->policy->remainder_varies) hooks.remainder = find_first_remainder;
  if (x->meta_slots && !x->policy->remainder_varies) hooks.placed = carry_meta;
  y->policy = x->policy;
  y->model = x->model;
  y->rebuilds = x->rebuilds;
  return besom__quotient_resize_start(fresh, f, slots, &hooks);
}

besom_status besom__meta_filter_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                            bool *finished) {
  struct meta_filter *y = meta_filter(fresh);
  uint64_t slots = y->base.table.slots, none;
  besom_status status = besom__quotient_resize_step(fresh, max, finished, &none);
  if (status != BESOM_OK) return status;
  if (y->base.table.slots != slots) { /* another doubling begins: count again */
    y->meta_slots = 0;
    memset(y->classes, 0, sizeof y->classes);
  }
  if (*finished) {
    set_model(y);
    y->reverse = meta_filter(f)->reverse;
  }
  return BESOM_OK;
}

besom_status besom__meta_filter_iter_next(const besom_filter *f, besom_iter *iter,
                                          besom_entry *entry) {
  const struct meta_filter *x = const_meta_filter(f);
  struct qtable_cursor *c = (struct qtable_cursor *)iter->state;
  if (!besom__qtable_next(c)) return BESOM_END;
  slot_meta n = besom__meta_at(x, c->position);
  *entry = (besom_entry){.quotient = c->quotient, .remainder = c->remainder, .count = 1};
  if (!x->policy->extensions) {
    entry->value = n;
  } else if (n) {
    entry->extension_bits = 63 - leading_zeros(n);
    entry->extension.hi = (uint64_t)n << (64 - entry->extension_bits);
  }
  return BESOM_OK;
}

/*
 * The reserve of these kinds is the room for metadata in each block. A block that is full drops its
 * adaptations, and an adversary who has collected false positives can use them again. The reserve
 * counts as used up when one block in 64 has done so: about two percent of all adaptations are lost
 * then.
 */
static double slot_meta_reserve_used(const struct meta_filter *x) {
  double limit = fmax(1, (double)x->base.table.slots / 64 / 64);
  return fmin(1, (double)x->rebuilds / limit);
}

void besom__meta_filter_stats(const besom_filter *f, struct stats_out *out) {
  besom_statistics *s = &out->common;
  const struct meta_filter *x = const_meta_filter(f);
  const struct qtable *t = &x->base.table;
  s->isa = besom__isa_name(x->base.isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t);
  s->load_factor = (double)f->items / (double)t->slots;
  s->expected_fpr = besom__quotient_fpr(f->items, t->slots, t->width);
  s->fpr_at_capacity = besom__quotient_fpr(f->capacity, t->slots, t->width);
  s->reserve_used = slot_meta_reserve_used(x);
  besom__add_counter(out, "extended", x->meta_slots);
  besom__add_counter(out, "rebuilds", x->rebuilds);
  besom__add_counter(out, "direct_corrections", x->corrections);
  if (x->policy->extensions) return;
  static const char *const names[META_CLASSES] = {"selector_0", "selector_1", "selector_2",
                                                  "selector_3", "selector_4", "selector_5",
                                                  "selector_6", "selector_7"};
  besom__add_counter(out, names[0], f->items - x->meta_slots);
  for (unsigned k = 1; k < META_CLASSES; k++) besom__add_counter(out, names[k], x->classes[k]);
}

const char *besom__meta_filter_validate(const besom_filter *f) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  if (f->items != t->used || t->further_slots)
    return "the number of items is not the number of used slots";
  if (f->items > f->capacity) return "the number of items exceeds the capacity";
  const char *wrong = besom__qtable_check(t);
  return wrong ? wrong : besom__meta_check(const_meta_filter(f));
}

/* ------------------------------------------------------------------ files */

void besom__meta_filter_save(const besom_filter *f, struct sections_out *out) {
  const struct meta_filter *x = const_meta_filter(f);
  besom__quotient_save(f, out);
  for (unsigned k = 1; k < META_CLASSES; k++) besom__write_u64(&out->parameters, x->classes[k]);
  besom__write_u64(&out->parameters, x->policy->form);
}

/* NULL if the kind has no such form. */
static const struct meta_policy *policy_of_form(const struct meta_forms *forms, uint64_t form) {
  const struct meta_policy *all[] = {forms->own, forms->published, forms->earlier};
  for (unsigned i = 0; i < 3; i++)
    if (all[i] && all[i]->form == form) return all[i];
  return NULL;
}

besom_status besom__meta_filter_load(besom_filter *f, struct sections_in *in) {
  const struct meta_forms *forms = f->kind->policy;
  struct meta_filter *x = meta_filter(f);
  besom_status status = besom__quotient_load(f, in, code_of_policy(forms->own));
  if (status != BESOM_OK) return status;
  for (unsigned k = 1; k < META_CLASSES; k++) {
    x->classes[k] = besom__read_u64(&in->parameters);
    if (x->classes[k] > x->base.table.used - x->meta_slots) status = BESOM_CORRUPT;
    if (status == BESOM_OK) x->meta_slots += x->classes[k];
  }
  const struct meta_policy *policy = policy_of_form(forms, besom__read_u64(&in->parameters));
  if (!policy || x->base.table.value_bits) status = BESOM_CORRUPT;
  if (f->capacity != besom__quotient_capacity(x->base.table.slots, 0)) status = BESOM_CORRUPT;
  x->policy = status == BESOM_OK ? policy : forms->own;
  if (status == BESOM_OK)
    set_model(x);
  else
    besom__quotient_destroy(f);
  return status;
}

const struct change_ops besom__meta_filter_change = {
    .insert = besom__meta_filter_insert,
    .insert_many = besom__meta_filter_insert_many,
    .insert_count = besom__meta_filter_insert_count,
    .remove = besom__meta_filter_remove,
};

const struct adapt_ops besom__meta_filter_reports = {
    .adapt = besom__meta_filter_adapt,
    .is_published = besom__meta_filter_is_published,
};

const struct store_ops besom__meta_filter_store = {
    .bucket_of = besom__meta_filter_bucket_of,
    .bind = besom__meta_filter_bind,
    .matches = besom__meta_filter_matches,
    .insert_at = besom__meta_filter_insert_at,
    .bulk_load = besom__quotient_bulk_load,
    .prepare_remove = besom__meta_filter_ready_to_remove,
    .remove_at = besom__meta_filter_remove_at,
    .adapt_at = besom__meta_filter_adapt_at,
};

const struct whole_ops besom__meta_filter_whole = {
    .merge = besom__meta_filter_merge,
    .resize_start = besom__meta_filter_resize_start,
    .resize_step = besom__meta_filter_resize_step,
    .append = besom__quotient_append_copies,
    .parts = &besom__quotient_copies_in_parts,
    .iter_start = besom__quotient_iter_start,
    .iter_next = besom__meta_filter_iter_next,
};

const struct file_ops besom__meta_filter_file = {
    .save = besom__meta_filter_save,
    .load = besom__meta_filter_load,
    .validate = besom__meta_filter_validate,
};
