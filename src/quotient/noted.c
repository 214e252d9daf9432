/* The operations of exaf, broom, taf and utaf (noted.h). As long as there is no note they are those of qf. */
#include "quotient/noted.h"

#include "quotient/walk.h"

#define FETCH_AHEAD 16 /* keys of a batch */

/* ------------------------------------------------------------------ life */

static void set_model(struct noted *x) {
  if (x->policy->bytes || x->policy->pool) return;
  if (x->policy->strings)
    besom__code_for_strings(&x->model);
  else
    besom__code_for_selectors(&x->model, x->base.table.width);
}

static enum table_code code_of_policy(const struct note_policy *policy) {
  if (policy->pool) return NO_CODE;
  return policy->bytes ? CODE_AND_BYTES : CODE;
}

besom_status besom__noted_create(besom_filter *f, const besom_config *config,
                                 const struct note_policy *policy) {
  struct noted *x = noted(f);
  struct qtable_shape shape = {.heads = true, .code = code_of_policy(policy)};
  if (config->value_bits) return BESOM_INVALID;
  besom_status status =
      besom__quotient_options(config->options, &x->base.isa, "heads", &shape.heads);
  if (status == BESOM_OK) status = besom__quotient_plan(config, sizeof(struct noted), 0, &shape);
  if (status != BESOM_OK) return status;
  f->capacity = besom__quotient_capacity(shape.slots, 0);
  status = besom__quotient_table(f, &shape, &x->base.table);
  x->policy = policy;
  if (status == BESOM_OK) set_model(x);
  return status;
}

besom_status besom__noted_create_like(besom_filter *f, const besom_filter *model) {
  noted(f)->policy = const_noted(model)->policy;
  noted(f)->model = const_noted(model)->model;
  return besom__quotient_create_like(f, model);
}

/* ------------------------------------------------------------------ queries */

/* Without notes: how many there are, and where the last is. */
static uint64_t find_equal(const besom_filter *f, besom_digest d, uint64_t *last) {
  const struct qtable *t = &const_quotient(f)->table;
  struct address a = seeker_of(const_noted(f), d).at;
  return t->ops->find(t, a.quotient, remainder_of(a, t->width), last);
}

/* The part of a run that is in a block: its first and its last slot. */
static struct run part_in_block(struct run run, uint64_t b) {
  return (struct run){run.start > 64 * b ? run.start : 64 * b,
                      run.end < 64 * b + 64 ? run.end - 1 : 64 * b + 63};
}

/* At least the notes of this part of a run. */
static void read_notes(const struct noted *x, struct run part, note *notes) {
  uint64_t b = part.start / 64;
  const uint8_t *bytes = x->policy->bytes ? note_bytes(x, b) : NULL;
  bool any = may_have_notes(x, part.start, part.end);
  if (any && !bytes)
    besom__notes_read(x, b, notes);
  else
    for (uint64_t i = part.start % 64; i <= part.end % 64; i++) notes[i] = any ? bytes[i] : 0;
}

/* Slots that may match have the first remainder, or a note that says which one they have. */
static void enter_block(struct scan *s, uint64_t b) {
  const struct noted *x = s->filter;
  const struct qtable *t = &x->base.table;
  struct run part = part_in_block(s->run, b);
  uint64_t noted = 0;
  s->block = b;
  read_notes(x, part, s->notes);
  for (uint64_t p = part.start; x->policy->moves && p <= part.end; p++)
    noted |= (uint64_t)(s->notes[p % 64] != 0) << (p % 64);
  s->left = slots_equal(t, block_at(t, b), remainder_of(s->key.at, t->width), t->width) | noted;
  s->left &= bits_between(part.start % 64, part.end % 64);
}

void besom__scan_start(struct scan *s, const struct noted *x, besom_digest d) {
  s->filter = x;
  s->key = seeker_of(x, d);
  s->run = x->base.table.ops->run_of(&x->base.table, s->key.at.quotient);
  s->block = s->run.start / 64;
  s->left = 0;
  if (s->run.start < s->run.end) enter_block(s, s->block);
}

bool besom__scan_next(struct scan *s) {
  const struct noted *x = s->filter;
  const struct qtable *t = &x->base.table;
  for (;;) {
    for (; s->left; s->left &= s->left - 1) {
      unsigned i = trailing_zeros(s->left);
      uint64_t remainder = slot_remainder(t, block_at(t, s->block), i, t->width);
      if (!x->policy->matches(&s->key, remainder, s->notes[i], t->width)) continue;
      s->left &= s->left - 1;
      s->position = 64 * s->block + i;
      s->note = s->notes[i];
      return true;
    }
    if (64 * s->block + 64 >= s->run.end) return false;
    enter_block(s, s->block + 1);
  }
}

static __attribute__((noinline)) bool contains_by_scan(const struct noted *x, besom_digest d) {
  struct scan s;
  besom__scan_start(&s, x, d);
  return besom__scan_next(&s);
}

/* Where remainders stay, notes only matter to a remainder that matches. */
bool besom__noted_contains_by_remainder(const besom_filter *f, besom_digest d) {
  const struct noted *x = const_noted(f);
  const struct qtable *t = &x->base.table;
  return t->ops->contains(t, d) != ANSWER_NO && (!x->notes || contains_by_scan(x, d));
}

/*
 * Else they matter to every query whose run has some; few have. Whether there is a run at all cannot be guessed, so
 * there is no branch for it.
 */
static __attribute__((noinline)) bool contains_by_code(const struct noted *x, besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct block_run run;
  enum answer answer = t->ops->contains_run(t, d, &run);
  if (UNLIKELY(answer == ANSWER_ELSEWHERE)) return contains_by_scan(x, d);
  uint64_t code = block_code(run.block);
  bool notes = code >= x->model.none_below[run.end] &&
               besom__code_reaches(&x->model, code, trailing_zeros(run.slots), run.end - 1);
  return UNLIKELY(notes) ? contains_by_scan(x, d) : answer != ANSWER_NO;
}

bool besom__noted_contains_by_code(const besom_filter *f, besom_digest d) {
  const struct noted *x = const_noted(f);
  const struct qtable *t = &x->base.table;
  return x->notes ? contains_by_code(x, d) : t->ops->contains(t, d) != ANSWER_NO;
}

/* The same where slots with notes are marked. */
bool besom__noted_contains_by_marks(const besom_filter *f, besom_digest d) {
  const struct noted *x = const_noted(f);
  const struct qtable *t = &x->base.table;
  enum answer answer = (x->notes ? t->ops->contains_unmarked : t->ops->contains)(t, d);
  return UNLIKELY(answer == ANSWER_MAYBE) ? contains_by_scan(x, d) : answer != ANSWER_NO;
}

/* Where remainders stay, but are not the digests' own. */
static bool contains_in_round(const struct noted *x, besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct address a = seeker_of(x, d).at;
  if (t->ops->contains_at(t, a.quotient, remainder_of(a, t->width)) == ANSWER_NO) return false;
  return !x->notes || contains_by_scan(x, d);
}

bool besom__noted_contains_by_round(const besom_filter *f, besom_digest d) {
  const struct noted *x = const_noted(f);
  return x->rounds.number ? contains_in_round(x, d) : besom__noted_contains_by_remainder(f, d);
}

/* One by one, with the blocks on their way from memory. */
static void contains_one_by_one(const struct noted *x, const besom_digest *d, size_t n,
                                uint64_t *bitmap,
                                bool (*contains)(const struct noted *x, besom_digest d)) {
  const struct qtable *t = &x->base.table;
  for (size_t i = 0; i < n; i++) {
    if (i % 64 == 0) bitmap[i / 64] = 0;
    if (i + FETCH_AHEAD < n) {
      const uint8_t *ahead = block_at(t, quotient_near(d[i + FETCH_AHEAD], t->slots) / 64);
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + 64);
    }
    bitmap[i / 64] |= (uint64_t)contains(x, d[i]) << (i % 64);
  }
}

/* Notes that are bytes are beside the table: for a second look all of them are sent for at once. */
static void fetch_bytes(const struct qtable *t, const besom_digest *d, size_t n,
                        const uint64_t *bitmap) {
  for (size_t i = 0; i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1)
      __builtin_prefetch(qtable_slot_bytes(t) +
                         quotient_near(d[i + trailing_zeros(left)], t->slots));
}

/* The table's answers, and where they could be wrong a second look, at blocks that are in the cache by now. */
void besom__noted_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                uint64_t *bitmap) {
  const struct noted *x = const_noted(f);
  const struct qtable *t = &x->base.table;
  if (x->rounds.number || (x->notes && x->policy->moves && !x->policy->bytes)) {
    contains_one_by_one(x, d, n, bitmap, x->rounds.number ? contains_in_round : contains_by_code);
    return;
  }
  if (x->notes && x->policy->bytes) {
    t->ops->contains_unmarked_many(t, d, n, bitmap);
    fetch_bytes(t, d, n, bitmap);
  } else {
    t->ops->contains_many(t, d, n, bitmap);
  }
  for (size_t i = 0; x->notes && i < n; i += 64)
    for (uint64_t left = bitmap[i / 64]; left; left &= left - 1) {
      unsigned j = trailing_zeros(left);
      if (!contains_by_scan(x, d[i + j])) bitmap[i / 64] &= ~(UINT64_C(1) << j);
    }
}

besom_status besom__noted_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct scan s;
  uint64_t last;
  if (!const_noted(f)->notes) {
    *n = find_equal(f, d, &last);
    return BESOM_OK;
  }
  besom__scan_start(&s, const_noted(f), d);
  for (*n = 0; besom__scan_next(&s); ++*n) continue;
  return BESOM_OK;
}

besom_status besom__noted_matches(const besom_filter *f, besom_digest d, besom_match *out,
                                  size_t cap, size_t *total) {
  struct scan s;
  *total = 0;
  if (!f->kind->contains(f, d)) return BESOM_OK;
  besom__scan_start(&s, const_noted(f), d);
  for (; besom__scan_next(&s); ++*total)
    if (*total < cap)
      out[*total] = (besom_match){s.key.at.quotient, (uint32_t)(s.position - s.run.start)};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ inserting */

/*
 * Notes on the way move along. Where remainders depend on notes that do not fit any more, the blocks are made anew
 * before: after that there is nothing that could fail.
 */
static besom_status insert_among_notes(struct noted *x, besom_digest d) {
  struct qtable *t = &x->base.table;
  uint64_t position = run_of(t, address_of(d, t->slots).quotient).end;
  struct shift shift = {position, first_empty_from(t, position, t->width), true};
  besom_status status = BESOM_OK;
  if (shift.to >= t->room) return BESOM_FULL;
  if (x->policy->moves && !besom__shift_fits(x, shift))
    status = besom__notes_rebuild(x, shift.from / 64, shift.to / 64);
  if (status == BESOM_OK) status = t->ops->insert(t, d, NULL);
  if (status == BESOM_OK) besom__shift_notes(x, shift);
  return status;
}

/* The table has appended the digest's own remainder. */
static void set_remainder_of_round(struct noted *x, besom_digest d) {
  const struct qtable *t = &x->base.table;
  struct address a = seeker_of(x, d).at;
  uint64_t last = run_of(t, a.quotient).end - 1;
  set_slot_remainder(t, block_at(t, last / 64), last % 64, remainder_of(a, t->width), t->width);
}

besom_status besom__noted_insert(besom_filter *f, besom_digest d) {
  struct noted *x = noted(f);
  struct qtable *t = &x->base.table;
  if (UNLIKELY(f->items >= f->capacity)) return BESOM_FULL;
  besom_status status = LIKELY(!x->notes) ? t->ops->insert(t, d, NULL) : insert_among_notes(x, d);
  if (status != BESOM_OK) return status;
  if (UNLIKELY(x->rounds.number)) set_remainder_of_round(x, d);
  f->items++;
  return BESOM_OK;
}

besom_status besom__noted_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                      size_t *done) {
  struct noted *x = noted(f);
  struct qtable *t = &x->base.table;
  besom_status status = BESOM_OK;
  *done = 0;
  if (x->notes || x->rounds.number) {
    while (*done < n && (status = besom__noted_insert(f, d[*done])) == BESOM_OK) ++*done;
    return status;
  }
  uint64_t left = f->capacity > f->items ? f->capacity - f->items : 0;
  size_t fitting = n < left ? n : (size_t)left;
  status = t->ops->insert_many(t, d, fitting, NULL, done);
  f->items += *done;
  return status == BESOM_OK && fitting < n ? BESOM_FULL : status;
}

besom_match besom__noted_next_match(const besom_filter *f, besom_digest d) {
  const struct qtable *t = &const_quotient(f)->table;
  uint64_t q = address_of(d, t->slots).quotient;
  struct run run = run_of(t, q);
  return (besom_match){q, (uint32_t)(run.end - run.start)};
}

besom_status besom__noted_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                    besom_match *match) {
  if (value) return BESOM_INVALID;
  besom_match next = besom__noted_next_match(f, d);
  besom_status status = f->kind->insert(f, d);
  if (status == BESOM_OK) *match = next;
  return status;
}

/* ------------------------------------------------------------------ removing */

static bool locate(const struct qtable *t, besom_match match, uint64_t *position) {
  if (match.bucket >= t->slots) return false;
  struct run run = run_of(t, match.bucket);
  *position = run.start + match.rank;
  return match.rank < run.end - run.start;
}

static struct shift shift_to_remove(const struct qtable *t, uint64_t position) {
  return (struct shift){position, cluster_end_from(t, position) - 1, false};
}

/* Sees to it that nothing has to be read while the slot is taken out. */
static besom_status make_ready(struct noted *x, struct shift shift) {
  if (!x->notes || !x->policy->moves || besom__shift_fits(x, shift)) return BESOM_OK;
  return besom__notes_rebuild(x, shift.from / 64, shift.to / 64);
}

besom_status besom__noted_ready_to_remove(besom_filter *f, besom_match match) {
  const struct qtable *t = &quotient(f)->table;
  uint64_t position;
  if (!locate(t, match, &position)) return BESOM_NOT_FOUND;
  return make_ready(noted(f), shift_to_remove(t, position));
}

/* Where notes are bytes the statistics are to be told; the shift of a code counts what is left itself. */
static void clear_byte(struct noted *x, uint64_t position) {
  note notes[CODE_SLOTS];
  besom__notes_read(x, position / 64, notes);
  notes[position % 64] = 0;
  besom__notes_write(x, position / 64, notes);
}

static besom_status take_out(struct noted *x, uint64_t q, uint64_t position) {
  struct qtable *t = &x->base.table;
  struct shift shift = shift_to_remove(t, position);
  besom_status status = make_ready(x, shift);
  if (status != BESOM_OK) return status;
  bool has_notes = x->notes;
  if (has_notes && x->policy->bytes) clear_byte(x, position);
  t->ops->close(t, q, position);
  if (has_notes) besom__shift_notes(x, shift);
  x->base.head.items--;
  return BESOM_OK;
}

besom_status besom__noted_remove_at(besom_filter *f, besom_match match) {
  uint64_t position;
  if (!locate(&quotient(f)->table, match, &position)) return BESOM_NOT_FOUND;
  return take_out(noted(f), match.bucket, position);
}

/*
 * Which match to remove. Bound: the key's own. Else the longest one, the last of equals, where remainders stay. Where
 * they depend on notes, matches with different notes may be of different keys, each of which could be lost.
 */
static besom_status choose(const struct noted *x, besom_digest d, uint64_t *position) {
  note chosen = 0;
  bool found = false;
  struct scan s;
  besom__scan_start(&s, x, d);
  while (besom__scan_next(&s)) {
    struct seeker key = s.key;
    besom_status status = x->reverse.digest_of ? besom__stored_key(x, s.position, &key) : BESOM_OK;
    if (status != BESOM_OK) return status;
    if (key.digest.hi != d.hi || key.digest.lo != d.lo) continue;
    if (found && x->policy->moves && s.note != chosen && !x->reverse.digest_of)
      return BESOM_NEEDS_STORE;
    if (found && s.note < chosen) continue;
    found = true;
    chosen = s.note;
    *position = s.position;
  }
  return found ? BESOM_OK : BESOM_NOT_FOUND;
}

besom_status besom__noted_remove(besom_filter *f, besom_digest d) {
  struct noted *x = noted(f);
  uint64_t position = 0;
  besom_status status;
  if (x->notes || x->reverse.digest_of)
    status = choose(x, d, &position);
  else
    status = find_equal(f, d, &position) ? BESOM_OK : BESOM_NOT_FOUND;
  return status == BESOM_OK ? take_out(x, address_of(d, x->base.table.slots).quotient, position)
                            : status;
}

/* Copies are appended one by one; if one does not fit, those before it go again. */
besom_status besom__noted_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  const struct qtable *t = &quotient(f)->table;
  uint64_t q = address_of(d, t->slots).quotient, done = 0;
  besom_status status = n > f->capacity - f->items ? BESOM_FULL : BESOM_OK;
  for (; done < n && status == BESOM_OK; done += status == BESOM_OK)
    status = besom__noted_insert(f, d);
  for (; status != BESOM_OK && done; done--) take_out(noted(f), q, run_of(t, q).end - 1);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

uint64_t besom__noted_bucket_of(const besom_filter *f, besom_digest d) {
  return address_of(d, const_quotient(f)->table.slots).quotient;
}

besom_status besom__noted_bind(besom_filter *f, const besom_reverse *reverse) {
  noted(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

besom_status besom__noted_merge(const besom_filter *a, const besom_filter *b, besom_filter *into) {
  const struct qtable *x = &const_quotient(a)->table, *y = &const_quotient(b)->table;
  if (x->slots != y->slots || x->width != y->width || x->has_heads != y->has_heads)
    return BESOM_INCOMPATIBLE;
  if (const_noted(a)->pool.budget != const_noted(b)->pool.budget) return BESOM_INCOMPATIBLE;
  if (a->items + b->items > into->capacity) return BESOM_FULL;
  into->items = a->items + b->items;
  besom_status status = x->ops->merge(x, y, &quotient(into)->table);
  bool as_they_are = !const_noted(a)->notes && !const_noted(b)->notes;
  as_they_are &= besom__rounds_equal(const_noted(a), const_noted(b));
  if (status != BESOM_OK || as_they_are) return status;
  return besom__notes_merge(noted(into), const_noted(a), const_noted(b));
}

/* Where remainders stay, so does what is behind them: notes go along. One that does not fit is forgotten. */
static void carry_note(void *into, const struct qtable_cursor *at, uint64_t position) {
  struct noted *x = into;
  note notes[CODE_SLOTS];
  uint64_t code = block_code(block_at(at->table, at->position / 64));
  unsigned i = at->position % 64;
  if (!code_has(&x->model, code, i, i)) return;
  besom__decode(&x->model, code, notes);
  note carried = notes[i];
  besom__notes_read(x, position / 64, notes);
  notes[position % 64] = carried;
  if (!besom__notes_write(x, position / 64, notes)) x->rebuilds++;
}

/* Where they depend on notes, the first ones come from the stored keys, and notes stay behind. */
static besom_status find_first_remainder(const void *from, const struct qtable_cursor *at,
                                         uint64_t *remainder) {
  const struct noted *x = from;
  struct seeker key;
  if (at->table != &x->base.table || !besom__note_at(x, at->position)) return BESOM_OK;
  besom_status status = besom__stored_key(x, at->position, &key);
  if (status == BESOM_OK) *remainder = x->policy->remainder(&key, 0, x->base.table.width);
  return status;
}

besom_status besom__noted_resize_start(besom_filter *fresh, const besom_filter *f, uint64_t slots) {
  const struct noted *x = const_noted(f);
  struct noted *y = noted(fresh);
  struct qtable_escort escort = {.from = x, .into = y};
  fresh->capacity = besom__quotient_capacity(slots, 0);
  if (fresh->capacity < f->items) return BESOM_FULL;
  if (x->notes && x->policy->moves && !x->reverse.digest_of) return BESOM_NEEDS_STORE;
  if (x->notes && x->policy->moves) escort.remainder = find_first_remainder;
  if (x->notes && !x->policy->moves) escort.placed = carry_note;
  y->policy = x->policy;
  y->model = x->model;
  y->rebuilds = x->rebuilds;
  return besom__quotient_resize_start(fresh, f, slots, &escort);
}

besom_status besom__noted_resize_step(besom_filter *fresh, besom_filter *f, uint64_t max,
                                      bool *finished) {
  struct noted *y = noted(fresh);
  uint64_t slots = y->base.table.slots, none;
  besom_status status = besom__quotient_resize_step(fresh, max, finished, &none);
  if (status != BESOM_OK) return status;
  if (y->base.table.slots != slots) { /* another doubling begins, and counts anew */
    y->notes = 0;
    memset(y->classes, 0, sizeof y->classes);
  }
  if (*finished) {
    set_model(y);
    y->reverse = noted(f)->reverse;
  }
  return BESOM_OK;
}

besom_status besom__noted_iter_next(besom_iter *iter, besom_entry *entry) {
  const struct noted *x = const_noted(iter->filter);
  struct qtable_cursor *c = (struct qtable_cursor *)iter->state;
  if (!besom__qtable_next(c)) return BESOM_END;
  note n = besom__note_at(x, c->position);
  *entry = (besom_entry){.quotient = c->quotient, .remainder = c->remainder, .count = 1};
  if (!x->policy->strings) {
    entry->value = n;
  } else if (n) {
    entry->extension_bits = 63 - leading_zeros(n);
    entry->extension.hi = (uint64_t)n << (64 - entry->extension_bits);
  }
  return BESOM_OK;
}

void besom__noted_stats(const besom_filter *f, besom_statistics *s) {
  const struct noted *x = const_noted(f);
  const struct qtable *t = &x->base.table;
  s->isa = besom__isa_name(x->base.isa);
  s->slots = t->slots;
  s->width = t->width;
  s->bytes += besom__qtable_size(t);
  s->load = (double)f->items / (double)t->slots;
  s->expected_fpr = besom__quotient_rate(f->items, t->slots, t->width);
  s->fpr_at_capacity = besom__quotient_rate(f->capacity, t->slots, t->width);
  s->extended = x->notes;
  s->rebuilds = x->rebuilds;
  s->direct_corrections = x->corrections;
  if (x->policy->strings) return;
  s->selectors[0] = f->items - x->notes;
  for (unsigned k = 1; k < NOTE_CLASSES; k++) s->selectors[k] = x->classes[k];
}

const char *besom__noted_validate(const besom_filter *f) {
  const struct qtable *t = &const_quotient(f)->table;
  if (f->items != t->used || t->further_slots)
    return "the number of items is not that of the used slots";
  if (f->items > f->capacity) return "there are more items than the capacity";
  const char *wrong = besom__qtable_check(t);
  return wrong ? wrong : besom__notes_check(const_noted(f));
}

/* ------------------------------------------------------------------ files */

void besom__noted_save(const besom_filter *f, struct sections_out *out) {
  const struct noted *x = const_noted(f);
  besom__quotient_save(&x->base.table, out);
  for (unsigned k = 1; k < NOTE_CLASSES; k++) besom__write_u64(&out->parameters, x->classes[k]);
}

besom_status besom__noted_load(besom_filter *f, struct sections_in *in,
                               const struct note_policy *policy) {
  struct noted *x = noted(f);
  besom_status status = besom__quotient_load(f, in, code_of_policy(policy));
  if (status != BESOM_OK) return status;
  x->policy = policy;
  for (unsigned k = 1; k < NOTE_CLASSES; k++) {
    x->classes[k] = besom__read_u64(&in->parameters);
    if (x->classes[k] > x->base.table.used - x->notes) status = BESOM_CORRUPT;
    if (status == BESOM_OK) x->notes += x->classes[k];
  }
  if (f->capacity != besom__quotient_capacity(x->base.table.slots, 0)) status = BESOM_CORRUPT;
  if (x->base.table.value_bits) status = BESOM_CORRUPT;
  if (status == BESOM_OK)
    set_model(x);
  else
    besom__quotient_destroy(f);
  return status;
}
