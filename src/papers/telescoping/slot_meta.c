/*
 * Slot metadata: where they are stored, how they move with their slots, and how a block is rebuilt
 * without them.
 */
#include "papers/telescoping/slot_meta.h"
#include "core/system/memory.h"
#include "quotient/table/walk.h"

/* ------------------------------------------------------------------ the metadata of a block */

static void read_bytes(const struct meta_filter *x, uint64_t b, slot_meta *meta) {
  for (unsigned i = 0; i < CODE_SLOTS; i++) meta[i] = meta_bytes(x, b)[i];
}

void besom__meta_read(const struct meta_filter *x, uint64_t b, slot_meta *meta) {
  if (x->policy->pool) {
    besom__pool_read(&x->pool, b, meta);
    return;
  }
  uint64_t code = block_code(block_at(&x->base.table, b));
  if (!code)
    memset(meta, 0, CODE_SLOTS * sizeof *meta);
  else if (x->policy->bytes)
    read_bytes(x, b, meta);
  else
    besom__meta_decode(&x->model, code, meta);
}

slot_meta besom__meta_at(const struct meta_filter *x, uint64_t position) {
  slot_meta meta[CODE_SLOTS];
  if (!may_have_meta(x, position, position)) return 0;
  besom__meta_read(x, position / 64, meta);
  return meta[position % 64];
}

static uint64_t flags_of(const slot_meta *meta) {
  uint64_t slots = 0;
  for (unsigned i = 0; i < CODE_SLOTS; i++) slots |= (uint64_t)(meta[i] != 0) << i;
  return flags_of_slots(slots);
}

/* The 56 bits of a block with these metadata. Returns false if they do not fit. */
static bool code_of(const struct meta_filter *x, const slot_meta *meta, uint64_t *code) {
  if (!x->policy->bytes) return besom__meta_encode(&x->model, meta, code);
  *code = flags_of(meta);
  return true;
}

/* Adds the metadata to the statistics, or subtracts them. */
static void count_meta(struct meta_filter *x, const slot_meta *meta, bool add) {
  uint64_t one = add ? 1 : UINT64_MAX;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    if (!meta[i]) continue;
    x->meta_slots += one;
    x->classes[x->policy->class_of(meta[i])] += one;
  }
}

bool besom__meta_fits(const struct meta_filter *x, uint64_t b, const slot_meta *meta,
                      uint64_t *promised) {
  uint64_t code;
  if (!x->policy->pool) return code_of(x, meta, &code);
  uint64_t cost = besom__pool_cost(meta), before = besom__pool_cost_of(&x->pool, b);
  if (cost <= before) return true;
  *promised += cost - before;
  return *promised <= besom__pool_free_bits(&x->pool, b);
}

bool besom__meta_write(struct meta_filter *x, uint64_t b, const slot_meta *meta) {
  slot_meta old[CODE_SLOTS];
  uint64_t code = 0;
  besom__meta_read(x, b, old);
  bool fits = x->policy->pool ? besom__pool_write(&x->pool, b, meta) : code_of(x, meta, &code);
  if (!fits) return false;
  count_meta(x, old, false);
  count_meta(x, meta, true);
  if (!x->policy->pool) set_block_code(block_at(&x->base.table, b), code);
  for (unsigned i = 0; x->policy->bytes && i < CODE_SLOTS; i++)
    meta_bytes(x, b)[i] = (uint8_t)meta[i];
  return true;
}

static void drop_meta(struct meta_filter *x, uint64_t b) {
  static const slot_meta none[CODE_SLOTS];
  besom__meta_write(x, b, none);
  x->rebuilds++;
}

/* ------------------------------------------------------------------ moving with slots */

static bool has_meta(const struct meta_filter *x, uint64_t b) {
  if (x->policy->pool) return besom__pool_presence(&x->pool, b) != 0;
  return block_code(block_at(&x->base.table, b)) != 0;
}

/* The metadata of a block after the shift. Returns false if there were none and are none. */
static bool slot_meta_shifted(const struct meta_filter *x, struct shift s, uint64_t b,
                              slot_meta *meta) {
  bool first = b == s.from / 64, last = b == s.to / 64;
  uint64_t from = first ? s.from % 64 : 0, to = last ? s.to % 64 : 63;
  bool comes = s.up ? !first && has_meta(x, b - 1) : !last && has_meta(x, b + 1);
  if (!comes && !has_meta(x, b)) return false;
  slot_meta in = 0;
  if (comes) in = s.up ? besom__meta_at(x, 64 * b - 1) : besom__meta_at(x, 64 * b + 64);
  besom__meta_read(x, b, meta);
  if (s.up)
    memmove(meta + from + 1, meta + from, (to - from) * sizeof *meta);
  else
    memmove(meta + from, meta + from + 1, (to - from) * sizeof *meta);
  meta[s.up ? from : to] = in;
  return true;
}

bool besom__meta_shift_fits(const struct meta_filter *x, struct shift s) {
  slot_meta meta[CODE_SLOTS];
  uint64_t code;
  if (x->policy->bytes) return true;
  for (uint64_t b = s.from / 64; b <= s.to / 64; b++)
    if (slot_meta_shifted(x, s, b, meta) && !besom__meta_encode(&x->model, meta, &code))
      return false;
  return true;
}

/* Moves all bytes at once, then recomputes the flags. */
static void shift_bytes(struct meta_filter *x, struct shift s) {
  slot_meta meta[CODE_SLOTS];
  uint8_t *from = meta_bytes(x, 0) + s.from, *to = meta_bytes(x, 0) + s.to;
  if (s.up)
    memmove(from + 1, from, (size_t)(s.to - s.from));
  else
    memmove(from, from + 1, (size_t)(s.to - s.from));
  *(s.up ? from : to) = 0;
  for (uint64_t b = s.from / 64; b <= s.to / 64; b++) {
    read_bytes(x, b, meta);
    set_block_code(block_at(&x->base.table, b), flags_of(meta));
  }
}

/* Block by block, in the order in which no block changes before its neighbour has read it. */
void besom__meta_shift(struct meta_filter *x, struct shift s) {
  slot_meta meta[CODE_SLOTS];
  if (x->policy->bytes) {
    shift_bytes(x, s);
    return;
  }
  uint64_t blocks = s.to / 64 - s.from / 64 + 1;
  for (uint64_t i = 0; i < blocks; i++) {
    uint64_t b = s.up ? s.to / 64 - i : s.from / 64 + i;
    if (slot_meta_shifted(x, s, b, meta) && !besom__meta_write(x, b, meta)) drop_meta(x, b);
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

besom_status besom__stored_key(const struct meta_filter *x, uint64_t position,
                               struct hashed_key *key) {
  return besom__stored_key_of(x, match_at(&x->base.table, position), position, key);
}

besom_status besom__stored_key_of(const struct meta_filter *x, besom_match match, uint64_t position,
                                  struct hashed_key *key) {
  const struct qtable *t = &x->base.table;
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  besom_digest d;
  besom_status status = x->reverse.digest_of(x->reverse.ctx, &x->base.head, &match, &d);
  if (status != BESOM_OK) return status;
  *key = hashed_key_of(x, d);
  uint64_t remainder = slot_remainder(t, block_at(t, position / 64), position % 64, t->width);
  bool right = key->at.quotient == match.bucket &&
               x->policy->matches(key, remainder, besom__meta_at(x, position), t->width);
  return right ? BESOM_OK : BESOM_INVALID;
}

/* A remainder without metadata, and its position. */
struct first_remainder {
  uint64_t position, remainder;
};

static uint64_t count_block_meta(const struct meta_filter *x, uint64_t first, uint64_t last) {
  slot_meta meta[CODE_SLOTS];
  uint64_t n = 0;
  for (uint64_t b = first; b <= last; b++) {
    besom__meta_read(x, b, meta);
    for (unsigned i = 0; i < CODE_SLOTS; i++) n += meta[i] != 0;
  }
  return n;
}

static besom_status read_first_remainders(const struct meta_filter *x, uint64_t first,
                                          uint64_t last, struct first_remainder *out) {
  slot_meta meta[CODE_SLOTS];
  for (uint64_t b = first; b <= last; b++) {
    besom__meta_read(x, b, meta);
    for (unsigned i = 0; i < CODE_SLOTS; i++) {
      struct hashed_key key;
      if (!meta[i]) continue;
      besom_status status = besom__stored_key(x, 64 * b + i, &key);
      if (status != BESOM_OK) return status;
      *out++ =
          (struct first_remainder){64 * b + i, x->policy->remainder(&key, 0, x->base.table.width)};
    }
  }
  return BESOM_OK;
}

besom_status besom__meta_rebuild(struct meta_filter *x, uint64_t first, uint64_t last) {
  const struct qtable *t = &x->base.table;
  const besom_allocator *allocator = &x->base.head.allocator;
  uint64_t n = count_block_meta(x, first, last);
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  struct first_remainder *list = besom__allocate(allocator, n * sizeof *list);
  if (!list) return BESOM_NO_MEMORY;
  besom_status status = read_first_remainders(x, first, last, list);
  if (status == BESOM_OK) {
    for (uint64_t i = 0; i < n; i++)
      set_slot_remainder(t, block_at(t, list[i].position / 64), list[i].position % 64,
                         list[i].remainder, t->width);
    for (uint64_t b = first; b <= last; b++)
      if (has_meta(x, b)) drop_meta(x, b);
  }
  besom__release(allocator, list, n * sizeof *list);
  return status;
}

/* ------------------------------------------------------------------ merging */

/* One of the two filters that are merged, and the position in it. */
struct source {
  const struct meta_filter *filter;
  struct qtable_cursor at;
  uint64_t block; /* whose metadata are in meta */
  slot_meta meta[CODE_SLOTS];
};

static void source_start(struct source *from, const struct meta_filter *x) {
  from->filter = x;
  from->block = UINT64_MAX;
  besom__qtable_first(&x->base.table, &from->at);
}

static slot_meta source_next(struct source *from) {
  besom__qtable_next(&from->at);
  uint64_t b = from->at.position / 64;
  if (b != from->block) besom__meta_read(from->filter, from->block = b, from->meta);
  return from->meta[from->at.position % 64];
}

/* A block of the merged filter: its metadata, and where they come from. */
struct merged_block {
  struct meta_filter *into;
  uint64_t block;
  slot_meta meta[CODE_SLOTS];
  const struct meta_filter *from[CODE_SLOTS];
  uint64_t position[CODE_SLOTS];
};

/*
 * Derives the remainders of a block whose metadata do not fit from the stored keys of its sources.
 */
static besom_status derive(const struct merged_block *g) {
  const struct qtable *t = &g->into->base.table;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    struct hashed_key key;
    if (!g->meta[i]) continue;
    besom_status status = besom__stored_key(g->from[i], g->position[i], &key);
    if (status != BESOM_OK) return status;
    uint64_t remainder = g->into->policy->remainder(&key, 0, t->width);
    set_slot_remainder(t, block_at(t, g->block), i, remainder, t->width);
  }
  return BESOM_OK;
}

static besom_status write_merged(struct merged_block *g) {
  if (besom__meta_write(g->into, g->block, g->meta)) return BESOM_OK;
  g->into->rebuilds++;
  return g->into->policy->remainder_varies ? derive(g) : BESOM_OK;
}

/* A slot from a filter in another round gets the remainder of this round, and no metadata. */
static besom_status translate(struct merged_block *g, unsigned i) {
  const struct qtable *t = &g->into->base.table;
  struct hashed_key key;
  if (besom__rounds_equal(g->into, g->from[i])) return BESOM_OK;
  besom_status status = besom__stored_key(g->from[i], g->position[i], &key);
  if (status != BESOM_OK) return status;
  key = hashed_key_of(g->into, key.digest);
  set_slot_remainder(t, block_at(t, g->block), i, remainder_of(key.at, t->width), t->width);
  g->meta[i] = 0;
  g->into->rebuilds++;
  return BESOM_OK;
}

besom_status besom__meta_merge(struct meta_filter *x, const struct meta_filter *a,
                               const struct meta_filter *b) {
  struct source from_a, from_b;
  struct qtable_cursor c;
  struct merged_block g = {.into = x};
  besom_status status = BESOM_OK;
  source_start(&from_a, a);
  source_start(&from_b, b);
  besom__qtable_first(&x->base.table, &c);
  while (status == BESOM_OK && besom__qtable_next(&c)) {
    if (c.position / 64 != g.block) {
      status = write_merged(&g);
      g = (struct merged_block){.into = x, .block = c.position / 64};
    }
    /* runs of a come first */
    struct source *from = from_a.at.next_quotient == c.quotient ? &from_a : &from_b;
    unsigned i = c.position % 64;
    g.meta[i] = source_next(from);
    g.from[i] = from->filter;
    g.position[i] = from->at.position;
    if (status == BESOM_OK) status = translate(&g, i);
  }
  return status == BESOM_OK ? write_merged(&g) : status;
}

/* ------------------------------------------------------------------ checking */

static const char *check_block(const struct meta_filter *x, uint64_t b, uint64_t used,
                               struct meta_filter *counted) {
  const struct qtable *t = &x->base.table;
  slot_meta meta[CODE_SLOTS];
  uint64_t code;
  if (x->policy->bytes)
    read_bytes(x, b, meta);
  else
    besom__meta_read(x, b, meta);
  for (unsigned i = 0; i < CODE_SLOTS; i++)
    if (meta[i] && !(used >> i & 1)) return "an empty slot has metadata";
  if (!x->policy->pool && (!code_of(x, meta, &code) || code != block_code(block_at(t, b))))
    return "a block's code is wrong";
  count_meta(counted, meta, true);
  return NULL;
}

const char *besom__meta_check(const struct meta_filter *x) {
  const struct qtable *t = &x->base.table;
  struct meta_filter counted = {.policy = x->policy};
  struct qtable_cursor c;
  const char *wrong = x->policy->pool ? besom__pool_check(&x->pool) : NULL;
  besom__qtable_first(t, &c);
  bool more = besom__qtable_next(&c);
  for (uint64_t b = 0; b < t->room / 64 && !wrong; b++) {
    uint64_t used = 0;
    for (; more && c.position / 64 == b; more = besom__qtable_next(&c))
      used |= UINT64_C(1) << (c.position % 64);
    wrong = check_block(x, b, used, &counted);
  }
  if (wrong) return wrong;
  bool right = counted.meta_slots == x->meta_slots &&
               !memcmp(counted.classes, x->classes, sizeof counted.classes);
  return right ? NULL : "the number of slots with metadata is wrong";
}
