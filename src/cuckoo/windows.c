#include "cuckoo/windows.h"

#include <math.h>

#include "core/system/memory.h"

/* A table: windows/2 windows and one slot more in each half. buckets of the table: its slots. */
static uint64_t slots_of_windows(uint64_t windows) {
  return windows + 2;
}

static uint64_t windows_of(const struct partial_key *p) {
  return p->table.buckets - 2;
}

/* ------------------------------------------------------------------ geometry */

/* As in cuckoo_geometry.c. Random tables reach 95.5 % and more. */
static const double max_window_load = 0.95, window_spread = 3.2;

static uint64_t windows_capacity(uint64_t windows) {
  uint64_t slots = slots_of_windows(windows);
  if (windows == 2) return slots; /* every key can be in every slot */
  double by_load = max_window_load * (double)slots,
         by_spread = (double)slots - window_spread * sqrt((double)slots);
  double most = by_load < by_spread ? by_load : by_spread;
  return most > WINDOW_COPIES ? (uint64_t)most : WINDOW_COPIES;
}

/* The entries of so many slots are looked at; each matches if fingerprint and bit do. */
static double windows_fpr(double load, unsigned fingerprint_bits) {
  double match = 0.5 / (ldexp(1, (int)fingerprint_bits) - 1);
  return -expm1(2 * WINDOW_SLOTS * load * log1p(-match));
}

/* The fewest windows with this capacity, an even number. */
static uint64_t windows_for(uint64_t capacity) {
  uint64_t windows = (uint64_t)((double)capacity / max_window_load) / 2 * 2;
  if (windows > 4) windows -= 4;
  if (windows < 2) windows = 2;
  while (windows_capacity(windows) < capacity) windows += 2;
  return windows;
}

static double load_of_capacity(uint64_t windows) {
  return (double)windows_capacity(windows) / (double)slots_of_windows(windows);
}

/*
 * Five keys with the same fingerprint and windows are FULL. There are so many bits that this occurs
 * in fewer than one of some thousand tables, and seldom if some keys have a copy.
 */
static unsigned min_fingerprint(uint64_t windows) {
  unsigned log_windows = 64 - leading_zeros(windows), bits = (log_windows + 9) / 4;
  bits += bits < 9; /* for copies; later it would cost more than it is worth */
  return bits > MIN_WINDOW_FINGERPRINT ? bits : MIN_WINDOW_FINGERPRINT;
}

static unsigned fingerprint_for_fpr(uint64_t windows, double fpr) {
  unsigned bits = min_fingerprint(windows);
  while (bits <= MAX_FINGERPRINT && windows_fpr(load_of_capacity(windows), bits) > fpr) bits++;
  return bits;
}

static uint64_t windows_bytes(uint64_t windows, unsigned fingerprint_bits) {
  return besom__cuckoo_table_bytes(slots_of_windows(windows), 1, fingerprint_bits + 1);
}

/* 0 if there is none. */
static unsigned fingerprint_for_bytes(uint64_t windows, double budget) {
  for (unsigned bits = MAX_FINGERPRINT; bits >= min_fingerprint(windows); bits--) {
    uint64_t bytes = windows_bytes(windows, bits);
    if (bytes && (double)bytes <= budget) return bits;
  }
  return 0;
}

static double windows_bits_per_key(double keys, double *fpr) {
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  uint64_t windows = windows_for((uint64_t)keys);
  unsigned bits = fingerprint_for_fpr(windows, *fpr);
  if (bits > MAX_FINGERPRINT) return 0;
  *fpr = windows_fpr(load_of_capacity(windows), bits);
  return (bits + 1) * (double)slots_of_windows(windows) / keys;
}

/* ------------------------------------------------------------------ create and destroy */

/* Everything that follows from the table. */
static void windows_init(struct partial_key *p, uint64_t windows, unsigned fingerprint_bits,
                         void *bits) {
  besom__cuckoo_table_init(&p->table, slots_of_windows(windows), 1, fingerprint_bits + 1, bits);
  p->fingerprints = bits_below(fingerprint_bits);
  p->isa = ISA_PORTABLE;
  if (p->head.kind->windows) p->head.kind = p->head.kind->windows;
}

static besom_status windows_new(besom_filter *f, uint64_t windows, unsigned fingerprint_bits) {
  uint64_t bytes = windows_bytes(windows, fingerprint_bits);
  if (!bytes) return BESOM_INVALID;
  void *bits = besom__allocate(&f->allocator, bytes);
  if (!bits) return BESOM_NO_MEMORY;
  windows_init(partial_key(f), windows, fingerprint_bits, bits);
  return BESOM_OK;
}

besom_status besom__windows_create(besom_filter *f, const besom_config *config) {
  if (config->slots || config->value_bits) return BESOM_INVALID;
  uint64_t most = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  double fpr = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  uint64_t windows = windows_for(most);
  double bytes = config->bits_per_key * (double)most / 8 - (double)f->kind->size;
  unsigned bits = config->bits_per_key != 0 ? fingerprint_for_bytes(windows, bytes)
                                            : fingerprint_for_fpr(windows, fpr);
  if (bits < MIN_WINDOW_FINGERPRINT || bits > MAX_FINGERPRINT) return BESOM_INVALID;
  besom_status status = windows_new(f, windows, bits);
  if (status == BESOM_OK) f->capacity = windows_capacity(windows);
  return status;
}

besom_status besom__windows_create_like(besom_filter *f, const besom_filter *model) {
  const struct partial_key *m = const_partial_key(model);
  return windows_new(f, windows_of(m), m->table.width - 1);
}

/* ------------------------------------------------------------------ windows */

/* Two windows, as their first slots. */
struct window_pair {
  uint64_t fingerprint, slots[2];
};

ALWAYS_INLINE uint64_t window_first_slot(uint64_t window, uint64_t half) {
  return window + (window >= half);
}

/*
 * The other window of a fingerprint: (h - w) modulo half, where w is the window within its half.
 * h is as in alternate_within. The function is its own inverse.
 */
ALWAYS_INLINE uint64_t other_window(uint64_t window, uint64_t fingerprint, uint64_t half) {
  uint64_t x = fingerprint * UINT64_C(0x3f1da089), h = scaled(x * x, half);
  uint64_t within = window < half ? window : window - half, other = h - within;
  other = other < half ? other : other + half;
  return window < half ? other + half : other;
}

/* In a damaged table it may be another window, but one of the table. */
static uint64_t window_of_slot(const struct partial_key *p, uint64_t slot) {
  uint64_t half = windows_of(p) / 2, first = slot - (slot && slot_get(&p->table, slot) & 1),
           window = first - (first > half);
  return window < 2 * half ? window : 2 * half - 1;
}

static struct window_pair window_pair_of(const struct partial_key *p, uint64_t fingerprint,
                                         uint64_t window) {
  uint64_t half = windows_of(p) / 2, other = other_window(window, fingerprint, half);
  return (struct window_pair){fingerprint,
                              {window_first_slot(window, half), window_first_slot(other, half)}};
}

ALWAYS_INLINE uint64_t window_of(const struct partial_key *p, besom_digest d) {
  return scaled(d.lo, windows_of(p));
}

static struct window_pair pair_of_digest(const struct partial_key *p, besom_digest d) {
  return window_pair_of(p, fingerprint_of(p, d), window_of(p, d));
}

/* The pair of the entry of a slot. */
static struct window_pair pair_at(const struct partial_key *p, uint64_t slot) {
  return window_pair_of(p, slot_get(&p->table, slot) >> 1, window_of_slot(p, slot));
}

/* The i-th of the four slots of a pair, and the entry of its fingerprint there. */
static uint64_t slot_in_pair(const struct window_pair *pair, unsigned i) {
  return pair->slots[i / 2] + i % 2;
}

static uint64_t entry_in_pair(const struct window_pair *pair, unsigned i) {
  return pair->fingerprint << 1 | i % 2;
}

/* ------------------------------------------------------------------ queries */

static bool windows_have(const struct partial_key *p, const struct window_pair *pair) {
  bool found = false;
  for (unsigned i = 0; i < WINDOW_COPIES; i++)
    found |= slot_get(&p->table, slot_in_pair(pair, i)) == entry_in_pair(pair, i);
  return found;
}

static bool windows_contains(const besom_filter *f, besom_digest d) {
  struct window_pair pair = pair_of_digest(const_partial_key(f), d);
  return windows_have(const_partial_key(f), &pair);
}

static void windows_fetch(const struct partial_key *p, besom_digest d) {
  struct window_pair pair = pair_of_digest(p, d);
  for (unsigned i = 0; i < 2; i++)
    __builtin_prefetch(p->table.bits + pair.slots[i] * p->table.width / 8);
}

static void windows_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                  uint64_t *bitmap) {
  enum { AHEAD = 16 };
  const struct partial_key *p = const_partial_key(f);
  memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
  for (size_t i = 0; i < n && i < AHEAD; i++) windows_fetch(p, d[i]);
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) windows_fetch(p, d[i + AHEAD]);
    bitmap[i / 64] |= (uint64_t)windows_contains(f, d[i]) << (i % 64);
  }
}

static unsigned count_in_windows(const struct partial_key *p, const struct window_pair *pair) {
  unsigned n = 0;
  for (unsigned i = 0; i < WINDOW_COPIES; i++)
    n += slot_get(&p->table, slot_in_pair(pair, i)) == entry_in_pair(pair, i);
  return n;
}

static besom_status windows_count(const besom_filter *f, besom_digest d, uint64_t *n) {
  struct window_pair pair = pair_of_digest(const_partial_key(f), d);
  *n = count_in_windows(const_partial_key(f), &pair);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ inserts */

/*
 * Near the highest load a search for a shortest path gives up at many places of the table, but not
 * at all. Then some entries are displaced at random, and the search goes on for the last of them.
 */
enum { MAX_SEARCHED = 1000, MAX_ROUNDS = 16, DISPLACED_PER_ROUND = 8 };

/* What was in slots before they were written, to be undone. */
struct written {
  unsigned n;
  struct {
    uint64_t slot, entry;
  } at[MAX_ROUNDS * DISPLACED_PER_ROUND + MAX_PATH + 1];
};

static void write_window_slot(struct partial_key *p, struct written *log, uint64_t slot,
                              uint64_t entry) {
  log->at[log->n].slot = slot;
  log->at[log->n++].entry = slot_get(&p->table, slot);
  slot_set(&p->table, slot, entry);
}

static void undo_writes(struct partial_key *p, struct written *log) {
  while (log->n--) slot_set(&p->table, log->at[log->n].slot, log->at[log->n].entry);
  log->n = 0;
}

/* The other three slots that the entry of a slot can be in. */
static besom_status windows_moves_from(void *ctx, uint64_t slot, uint64_t *slots, unsigned *n) {
  struct window_pair pair = pair_at(ctx, slot);
  for (unsigned i = *n = 0; i < WINDOW_COPIES; i++)
    if (slot_in_pair(&pair, i) != slot) slots[(*n)++] = slot_in_pair(&pair, i);
  return BESOM_OK;
}

/* The entry of a pair in one of its slots. */
static uint64_t entry_for_slot(const struct window_pair *pair, uint64_t slot) {
  unsigned i = 0;
  while (i < WINDOW_COPIES - 1 && slot_in_pair(pair, i) != slot) i++;
  return entry_in_pair(pair, i);
}

/* Moves the entries of a path on, from the last to the first, whose slot gets the new one. */
static void write_windows_path(struct partial_key *p, const struct cuckoo_path *path,
                               const struct window_pair *pair, struct written *log) {
  for (unsigned i = path->moves; i--;) {
    struct window_pair moving = pair_at(p, path->slots[i]);
    write_window_slot(p, log, path->slots[i + 1], entry_for_slot(&moving, path->slots[i + 1]));
  }
  write_window_slot(p, log, path->slots[0], entry_for_slot(pair, path->slots[0]));
}

/* Puts a fingerprint into one of its slots, a random one, and returns what it has displaced. */
static struct window_pair displace_one(struct partial_key *p, const struct window_pair *pair,
                                       uint64_t random, struct written *log) {
  unsigned i = random % WINDOW_COPIES;
  uint64_t slot = slot_in_pair(pair, i);
  struct window_pair displaced = pair_at(p, slot);
  write_window_slot(p, log, slot, entry_in_pair(pair, i));
  return displaced;
}

/* FULL: nothing has changed. */
static besom_status windows_put_by_search(struct partial_key *p, struct window_pair pair,
                                          struct written *log) {
  struct cuckoo_moves moves = {windows_moves_from, p, MAX_SEARCHED};
  struct cuckoo_path path;
  uint64_t random = pair.fingerprint ^ pair.slots[0];
  if (count_in_windows(p, &pair) == WINDOW_COPIES) return BESOM_FULL;
  for (unsigned round = 0; round < MAX_ROUNDS; round++) {
    uint64_t starts[] = {pair.slots[0], pair.slots[0] + 1, pair.slots[1], pair.slots[1] + 1};
    if (besom__cuckoo_find_path(&p->table, starts, WINDOW_COPIES, &moves, &path) == BESOM_OK) {
      write_windows_path(p, &path, &pair, log);
      partial_key_count_kicks(p, log->n - 1);
      return BESOM_OK;
    }
    for (unsigned i = 0; i < DISPLACED_PER_ROUND && pair.fingerprint; i++)
      pair = displace_one(p, &pair, (random = mixed(random + 1)), log);
    if (!pair.fingerprint) return BESOM_OK; /* the last slot was empty */
  }
  undo_writes(p, log);
  return BESOM_FULL;
}

static besom_status windows_put(struct partial_key *p, const struct window_pair *pair,
                                struct written *log) {
  log->n = 0;
  for (unsigned i = 0; i < WINDOW_COPIES; i++)
    if (!slot_get(&p->table, slot_in_pair(pair, i))) {
      write_window_slot(p, log, slot_in_pair(pair, i), entry_in_pair(pair, i));
      return BESOM_OK;
    }
  return windows_put_by_search(p, *pair, log);
}

static besom_status windows_add(besom_filter *f, const struct window_pair *pair) {
  struct written log;
  if (f->items >= f->capacity) return BESOM_FULL;
  besom_status status = windows_put(partial_key(f), pair, &log);
  f->items += status == BESOM_OK;
  return status;
}

static besom_status windows_insert(besom_filter *f, besom_digest d) {
  struct window_pair pair = pair_of_digest(partial_key(f), d);
  return windows_add(f, &pair);
}

static besom_status windows_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                        size_t *done) {
  enum { AHEAD = 16 };
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && i < AHEAD; i++) windows_fetch(partial_key(f), d[i]);
  for (*done = 0; *done < n && status == BESOM_OK; *done += status == BESOM_OK) {
    if (*done + AHEAD < n) windows_fetch(partial_key(f), d[*done + AHEAD]);
    status = windows_insert(f, d[*done]);
  }
  return status;
}

static besom_status windows_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  struct partial_key *p = partial_key(f);
  struct window_pair pair = pair_of_digest(p, d);
  struct written logs[WINDOW_COPIES];
  uint64_t kicks = p->kicks, longest = p->longest_chain;
  unsigned done = 0;
  if (n > WINDOW_COPIES || n > f->capacity - f->items) return BESOM_FULL;
  besom_status status = BESOM_OK;
  for (; done < n && status == BESOM_OK; done += status == BESOM_OK)
    status = windows_put(p, &pair, &logs[done]);
  if (status == BESOM_OK) {
    f->items += n;
    return BESOM_OK;
  }
  while (done) undo_writes(p, &logs[--done]);
  p->kicks = kicks;
  p->longest_chain = longest;
  return status;
}

/* Equal entries are indistinguishable: removes any of them. */
static besom_status windows_remove(besom_filter *f, besom_digest d) {
  struct partial_key *p = partial_key(f);
  struct window_pair pair = pair_of_digest(p, d);
  for (unsigned i = 0; i < WINDOW_COPIES; i++) {
    if (slot_get(&p->table, slot_in_pair(&pair, i)) != entry_in_pair(&pair, i)) continue;
    slot_set(&p->table, slot_in_pair(&pair, i), 0);
    f->items--;
    return BESOM_OK;
  }
  return BESOM_NOT_FOUND;
}

/* ------------------------------------------------------------------ whole filters */

/*
 * Copies a, then inserts the entries of b, at strides that scatter them: in ascending order, each
 * part of the table would be filled while its neighbours are half empty.
 */
static besom_status windows_merge(const besom_filter *a, const besom_filter *b,
                                  besom_filter *into) {
  enum { STRIDE = 64 };
  const struct partial_key *x = const_partial_key(a), *y = const_partial_key(b);
  uint64_t slots = y->table.buckets;
  if (a->kind != b->kind || x->table.buckets != slots || x->table.width != y->table.width)
    return BESOM_INCOMPATIBLE; /* a name is that of both layouts */
  if (!into->is_set && a->items + b->items > into->capacity) return BESOM_FULL;
  memcpy(partial_key(into)->table.bits, x->table.bits, cuckoo_table_size(&x->table));
  into->items = a->items;
  for (uint64_t first = 0; first < STRIDE; first++)
    for (uint64_t slot = first; slot < slots; slot += STRIDE) {
      if (!slot_get(&y->table, slot)) continue;
      struct window_pair pair = pair_at(y, slot);
      if (into->is_set && windows_have(partial_key(into), &pair)) continue;
      besom_status status = windows_add(into, &pair);
      if (status != BESOM_OK) return status;
    }
  return BESOM_OK;
}

static besom_status windows_iter_next(const besom_filter *f, besom_iter *iter, besom_entry *entry) {
  const struct partial_key *p = const_partial_key(f);
  while (iter->state[0] < p->table.buckets) {
    uint64_t slot = iter->state[0]++, fingerprint = slot_get(&p->table, slot) >> 1;
    if (!fingerprint) continue;
    uint64_t window = window_of_slot(p, slot);
    *entry = (besom_entry){.quotient = window,
                           .remainder = fingerprint,
                           .count = 1,
                           .has_alternate = true,
                           .alternate = other_window(window, fingerprint, windows_of(p) / 2)};
    return BESOM_OK;
  }
  return BESOM_END;
}

static void windows_stats(const besom_filter *f, struct stats_out *out) {
  const struct partial_key *p = const_partial_key(f);
  besom_statistics *s = &out->common;
  double slots = (double)p->table.buckets;
  s->isa = besom__isa_name(p->isa);
  s->slots = p->table.buckets;
  s->width = p->table.width;
  s->bytes += cuckoo_table_size(&p->table);
  s->load_factor = (double)f->items / slots;
  s->expected_fpr = windows_fpr(s->load_factor, p->table.width - 1);
  s->fpr_at_capacity = windows_fpr((double)f->capacity / slots, p->table.width - 1);
  besom__add_counter(out, "kicks", p->kicks);
  besom__add_counter(out, "longest_chain", p->longest_chain);
}

/* An entry is a fingerprint, and its window is in the table. */
static const char *windows_validate(const besom_filter *f) {
  const struct partial_key *p = const_partial_key(f);
  uint64_t half = windows_of(p) / 2, used = 0;
  for (uint64_t slot = 0; slot < p->table.buckets; slot++) {
    uint64_t entry = slot_get(&p->table, slot);
    bool is_first = slot == 0 || slot == half + 1, is_last = slot == half || slot == 2 * half + 1;
    used += entry != 0;
    if (entry == 1) return "a slot has a position and no fingerprint";
    if (entry && (entry & 1 ? is_first : is_last)) return "a window leaves its half of the table";
  }
  if (f->items > f->capacity) return "there are more keys than the capacity";
  if (used != f->items) return "the number of keys is not the number of used slots";
  return besom__cuckoo_table_ends_clean(&p->table) ? NULL : "there are bits after the last slot";
}

/* ------------------------------------------------------------------ files */

/* The selector bit tells the layout from that of buckets: older readers refuse it. */
static void windows_save(const besom_filter *f, struct sections_out *out) {
  const struct partial_key *p = const_partial_key(f);
  besom__write_u64(&out->parameters, windows_of(p));
  besom__write_u32(&out->parameters, p->table.width - 1);
  besom__write_u32(&out->parameters, 1);
  add_section(out, TAG_BITS, p->table.bits, cuckoo_table_size(&p->table));
}

besom_status besom__windows_load(besom_filter *f, struct sections_in *in) {
  uint64_t windows = besom__read_u64(&in->parameters);
  uint32_t bits = besom__read_u32(&in->parameters), selector = besom__read_u32(&in->parameters);
  const struct section *table = take_section(in, TAG_BITS);
  if (!table || selector != 1 || bits < MIN_WINDOW_FINGERPRINT || bits > MAX_FINGERPRINT)
    return BESOM_CORRUPT;
  if (windows < 2 || windows % 2 || windows > MAX_CAPACITY * 2) return BESOM_CORRUPT;
  uint64_t bytes = windows_bytes(windows, bits);
  if (!bytes || table->len != bytes || f->capacity != windows_capacity(windows))
    return BESOM_CORRUPT;
  if (f->mapping) {
    windows_init(partial_key(f), windows, bits, (void *)(uintptr_t)table->data);
    return BESOM_OK;
  }
  besom_status status = windows_new(f, windows, bits);
  if (status == BESOM_OK) memcpy(partial_key(f)->table.bits, table->data, (size_t)bytes);
  return status;
}

const struct besom_kind besom__cf_windows = {
    .name = "cf",
    .summary = "cuckoo filter with windows: smaller; counts up to 4, removes, merges",
    .max_copies = WINDOW_COPIES,
    .size = sizeof(struct partial_key),
    .full_by_chance = true,
    .create = besom__windows_create,
    .create_like = besom__windows_create_like,
    .destroy = besom__partial_key_destroy,
    .stats = windows_stats,
    .bits_per_key = windows_bits_per_key,
    .query = {.contains = windows_contains,
              .contains_many = windows_contains_many,
              .count = windows_count},
    .change = &(const struct change_ops){.insert = windows_insert,
                                         .insert_many = windows_insert_many,
                                         .insert_count = windows_insert_count,
                                         .remove = windows_remove},
    .whole = &(const struct whole_ops){.merge = windows_merge,
                                       .iter_start = besom__partial_key_iter_start,
                                       .iter_next = windows_iter_next},
    .file = &(const struct file_ops){.save = windows_save,
                                     .load = besom__windows_load,
                                     .validate = windows_validate},
};
