/* Notes of slots: where they are, how they move, and how a block is made anew without them. */
#include "core/memory.h"
#include "quotient/noted.h"
#include "quotient/walk.h"

/* ------------------------------------------------------------------ a block's notes */

static void read_bytes(const struct noted *x, uint64_t b, note *notes) {
  for (unsigned i = 0; i < CODE_SLOTS; i++) notes[i] = note_bytes(x, b)[i];
}

void besom__notes_read(const struct noted *x, uint64_t b, note *notes) {
  if (x->policy->pool) {
    besom__pool_read(&x->pool, b, notes);
    return;
  }
  uint64_t code = block_code(block_at(&x->base.table, b));
  if (!code)
    memset(notes, 0, CODE_SLOTS * sizeof *notes);
  else if (x->policy->bytes)
    read_bytes(x, b, notes);
  else
    besom__decode(&x->model, code, notes);
}

note besom__note_at(const struct noted *x, uint64_t position) {
  note notes[CODE_SLOTS];
  if (!may_have_notes(x, position, position)) return 0;
  besom__notes_read(x, position / 64, notes);
  return notes[position % 64];
}

static uint64_t marks_of(const note *notes) {
  uint64_t slots = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) slots |= (uint64_t)(notes[i] != 0) << i;
  return marks_of_slots(slots);
}

/* What is to stand in the block's 56 bits; false if the notes do not fit. */
static bool code_of(const struct noted *x, const note *notes, uint64_t *code) {
  if (!x->policy->bytes) return besom__encode(&x->model, notes, code);
  *code = marks_of(notes);
  return true;
}

/* Adds the notes to the statistics, or takes them out. */
static void count_notes(struct noted *x, const note *notes, bool add) {
  uint64_t one = add ? 1 : UINT64_MAX;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    if (!notes[i]) continue;
    x->notes += one;
    x->classes[x->policy->class_of(notes[i])] += one;
  }
}

bool besom__notes_fit(const struct noted *x, uint64_t b, const note *notes, uint64_t *promised) {
  uint64_t code;
  if (!x->policy->pool) return code_of(x, notes, &code);
  uint64_t cost = besom__pool_cost(notes), before = besom__pool_cost_of(&x->pool, b);
  if (cost <= before) return true;
  *promised += cost - before;
  return *promised <= besom__pool_room(&x->pool, b);
}

bool besom__notes_write(struct noted *x, uint64_t b, const note *notes) {
  note old[CODE_SLOTS];
  uint64_t code = 0;
  besom__notes_read(x, b, old);
  bool fits = x->policy->pool ? besom__pool_write(&x->pool, b, notes) : code_of(x, notes, &code);
  if (!fits) return false;
  count_notes(x, old, false);
  count_notes(x, notes, true);
  if (!x->policy->pool) set_block_code(block_at(&x->base.table, b), code);
  for (unsigned i = 0; x->policy->bytes && i < CODE_SLOTS; i++)
    note_bytes(x, b)[i] = (uint8_t)notes[i];
  return true;
}

static void forget_notes(struct noted *x, uint64_t b) {
  static const note none[CODE_SLOTS];
  besom__notes_write(x, b, none);
  x->rebuilds++;
}

/* ------------------------------------------------------------------ moving */

static bool has_notes(const struct noted *x, uint64_t b) {
  if (x->policy->pool) return besom__pool_presence(&x->pool, b) != 0;
  return block_code(block_at(&x->base.table, b)) != 0;
}

/* The notes of a block after the shift; false if there were none and are none. */
static bool shifted(const struct noted *x, struct shift s, uint64_t b, note *notes) {
  bool first = b == s.from / 64, last = b == s.to / 64;
  uint64_t from = first ? s.from % 64 : 0, to = last ? s.to % 64 : 63;
  bool comes = s.up ? !first && has_notes(x, b - 1) : !last && has_notes(x, b + 1);
  if (!comes && !has_notes(x, b)) return false;
  note in = 0;
  if (comes) in = s.up ? besom__note_at(x, 64 * b - 1) : besom__note_at(x, 64 * b + 64);
  besom__notes_read(x, b, notes);
  if (s.up)
    memmove(notes + from + 1, notes + from, (to - from) * sizeof *notes);
  else
    memmove(notes + from, notes + from + 1, (to - from) * sizeof *notes);
  notes[s.up ? from : to] = in;
  return true;
}

bool besom__shift_fits(const struct noted *x, struct shift s) {
  note notes[CODE_SLOTS];
  uint64_t code;
  if (x->policy->bytes) return true;
  for (uint64_t b = s.from / 64; b <= s.to / 64; b++)
    if (shifted(x, s, b, notes) && !besom__encode(&x->model, notes, &code)) return false;
  return true;
}

/* Bytes move at once, and the marks follow. */
static void shift_bytes(struct noted *x, struct shift s) {
  note notes[CODE_SLOTS];
  uint8_t *from = note_bytes(x, 0) + s.from, *to = note_bytes(x, 0) + s.to;
  if (s.up)
    memmove(from + 1, from, (size_t)(s.to - s.from));
  else
    memmove(from, from + 1, (size_t)(s.to - s.from));
  *(s.up ? from : to) = 0;
  for (uint64_t b = s.from / 64; b <= s.to / 64; b++) {
    read_bytes(x, b, notes);
    set_block_code(block_at(&x->base.table, b), marks_of(notes));
  }
}

/* Block after block, in the order in which none is changed before its neighbour has read it. */
void besom__shift_notes(struct noted *x, struct shift s) {
  note notes[CODE_SLOTS];
  if (x->policy->bytes) {
    shift_bytes(x, s);
    return;
  }
  uint64_t blocks = s.to / 64 - s.from / 64 + 1;
  for (uint64_t i = 0; i < blocks; i++) {
    uint64_t b = s.up ? s.to / 64 - i : s.from / 64 + i;
    if (shifted(x, s, b, notes) && !besom__notes_write(x, b, notes)) forget_notes(x, b);
  }
}

/* ------------------------------------------------------------------ stored keys */

/* Bucket and rank of the slot at a position. */
static besom_match match_at(const struct qtable *t, uint64_t position) {
  struct qtable_cursor c;
  uint64_t quotient = UINT64_MAX, start = 0;
  besom__qtable_seek(t, position, &c);
  while (besom__qtable_next(&c)) {
    if (c.quotient != quotient) start = c.position;
    quotient = c.quotient;
    if (c.position >= position) break;
  }
  return (besom_match){quotient, (uint32_t)(position - start)};
}

besom_status besom__stored_key(const struct noted *x, uint64_t position, struct seeker *key) {
  return besom__stored_key_of(x, match_at(&x->base.table, position), position, key);
}

besom_status besom__stored_key_of(const struct noted *x, besom_match match, uint64_t position,
                                  struct seeker *key) {
  const struct qtable *t = &x->base.table;
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  besom_digest d;
  besom_status status = x->reverse.digest_of(x->reverse.ctx, &x->base.head, match, &d);
  if (status != BESOM_OK) return status;
  *key = seeker_of(x, d);
  uint64_t remainder = slot_remainder(t, block_at(t, position / 64), position % 64, t->width);
  bool right = key->at.quotient == match.bucket &&
               x->policy->matches(key, remainder, besom__note_at(x, position), t->width);
  return right ? BESOM_OK : BESOM_INVALID;
}

/* A remainder without a note, and where it belongs. */
struct first_remainder {
  uint64_t position, remainder;
};

static uint64_t notes_of_blocks(const struct noted *x, uint64_t first, uint64_t last) {
  note notes[CODE_SLOTS];
  uint64_t n = 0;
  for (uint64_t b = first; b <= last; b++) {
    besom__notes_read(x, b, notes);
    for (unsigned i = 0; i < CODE_SLOTS; i++) n += notes[i] != 0;
  }
  return n;
}

static besom_status read_first_remainders(const struct noted *x, uint64_t first, uint64_t last,
                                          struct first_remainder *out) {
  note notes[CODE_SLOTS];
  for (uint64_t b = first; b <= last; b++) {
    besom__notes_read(x, b, notes);
    for (unsigned i = 0; i < CODE_SLOTS; i++) {
      struct seeker key;
      if (!notes[i]) continue;
      besom_status status = besom__stored_key(x, 64 * b + i, &key);
      if (status != BESOM_OK) return status;
      *out++ =
          (struct first_remainder){64 * b + i, x->policy->remainder(&key, 0, x->base.table.width)};
    }
  }
  return BESOM_OK;
}

besom_status besom__notes_rebuild(struct noted *x, uint64_t first, uint64_t last) {
  const struct qtable *t = &x->base.table;
  const besom_allocator *allocator = &x->base.head.allocator;
  uint64_t n = notes_of_blocks(x, first, last);
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  struct first_remainder *list = besom__allocate(allocator, n * sizeof *list);
  if (!list) return BESOM_NO_MEMORY;
  besom_status status = read_first_remainders(x, first, last, list);
  if (status == BESOM_OK) {
    for (uint64_t i = 0; i < n; i++)
      set_slot_remainder(t, block_at(t, list[i].position / 64), list[i].position % 64,
                         list[i].remainder, t->width);
    for (uint64_t b = first; b <= last; b++)
      if (has_notes(x, b)) forget_notes(x, b);
  }
  besom__release(allocator, list, n * sizeof *list);
  return status;
}

/* ------------------------------------------------------------------ whole filters */

/* One of two tables that are merged, and where in it. */
struct source {
  const struct noted *filter;
  struct qtable_cursor at;
  uint64_t block; /* whose notes are at hand */
  note notes[CODE_SLOTS];
};

static void source_start(struct source *from, const struct noted *x) {
  from->filter = x;
  from->block = UINT64_MAX;
  besom__qtable_first(&x->base.table, &from->at);
}

static note source_next(struct source *from) {
  besom__qtable_next(&from->at);
  uint64_t b = from->at.position / 64;
  if (b != from->block) besom__notes_read(from->filter, from->block = b, from->notes);
  return from->notes[from->at.position % 64];
}

/* A block that is being put together: its notes, and where they come from. */
struct gathering {
  struct noted *into;
  uint64_t block;
  note notes[CODE_SLOTS];
  const struct noted *from[CODE_SLOTS];
  uint64_t position[CODE_SLOTS];
};

/* The remainders of a block whose notes do not fit are derived from the keys that its sources are bound to. */
static besom_status derive(const struct gathering *g) {
  const struct qtable *t = &g->into->base.table;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    struct seeker key;
    if (!g->notes[i]) continue;
    besom_status status = besom__stored_key(g->from[i], g->position[i], &key);
    if (status != BESOM_OK) return status;
    uint64_t remainder = g->into->policy->remainder(&key, 0, t->width);
    set_slot_remainder(t, block_at(t, g->block), i, remainder, t->width);
  }
  return BESOM_OK;
}

static besom_status gathered(struct gathering *g) {
  if (besom__notes_write(g->into, g->block, g->notes)) return BESOM_OK;
  g->into->rebuilds++;
  return g->into->policy->moves ? derive(g) : BESOM_OK;
}

/* A slot from a filter that is in another round gets the remainder of this one, and begins anew without a note. */
static besom_status translate(struct gathering *g, unsigned i) {
  const struct qtable *t = &g->into->base.table;
  struct seeker key;
  if (besom__rounds_equal(g->into, g->from[i])) return BESOM_OK;
  besom_status status = besom__stored_key(g->from[i], g->position[i], &key);
  if (status != BESOM_OK) return status;
  key = seeker_of(g->into, key.digest);
  set_slot_remainder(t, block_at(t, g->block), i, remainder_of(key.at, t->width), t->width);
  g->notes[i] = 0;
  g->into->rebuilds++;
  return BESOM_OK;
}

besom_status besom__notes_merge(struct noted *x, const struct noted *a, const struct noted *b) {
  struct source from_a, from_b;
  struct qtable_cursor c;
  struct gathering g = {.into = x};
  besom_status status = BESOM_OK;
  source_start(&from_a, a);
  source_start(&from_b, b);
  besom__qtable_first(&x->base.table, &c);
  while (status == BESOM_OK && besom__qtable_next(&c)) {
    if (c.position / 64 != g.block) {
      status = gathered(&g);
      g = (struct gathering){.into = x, .block = c.position / 64};
    }
    struct source *from =
        from_a.at.next_quotient == c.quotient ? &from_a : &from_b; /* runs of a come first */
    unsigned i = c.position % 64;
    g.notes[i] = source_next(from);
    g.from[i] = from->filter;
    g.position[i] = from->at.position;
    if (status == BESOM_OK) status = translate(&g, i);
  }
  return status == BESOM_OK ? gathered(&g) : status;
}

/* ------------------------------------------------------------------ checking */

static const char *check_block(const struct noted *x, uint64_t b, uint64_t used,
                               struct noted *books) {
  const struct qtable *t = &x->base.table;
  note notes[CODE_SLOTS];
  uint64_t code;
  if (x->policy->bytes)
    read_bytes(x, b, notes);
  else
    besom__notes_read(x, b, notes);
  for (unsigned i = 0; i < CODE_SLOTS; i++)
    if (notes[i] && !(used >> i & 1)) return "an empty slot has a note";
  if (!x->policy->pool && (!code_of(x, notes, &code) || code != block_code(block_at(t, b))))
    return "a block's code is wrong";
  count_notes(books, notes, true);
  return NULL;
}

const char *besom__notes_check(const struct noted *x) {
  const struct qtable *t = &x->base.table;
  struct noted books = {.policy = x->policy};
  struct qtable_cursor c;
  const char *wrong = x->policy->pool ? besom__pool_check(&x->pool) : NULL;
  besom__qtable_first(t, &c);
  bool more = besom__qtable_next(&c);
  for (uint64_t b = 0; b < t->room / 64 && !wrong; b++) {
    uint64_t used = 0;
    for (; more && c.position / 64 == b; more = besom__qtable_next(&c))
      used |= UINT64_C(1) << (c.position % 64);
    wrong = check_block(x, b, used, &books);
  }
  if (wrong) return wrong;
  bool right = books.notes == x->notes && !memcmp(books.classes, x->classes, sizeof books.classes);
  return right ? NULL : "the number of notes is wrong";
}
