/*
 * How a broom filter moves from one round to the next: run by run, given the keys of the run. A run
 * that is redrawn gets the remainders of the new round. Its extensions return to the budget, except
 * those that separate its keys from each other.
 */
#include "core/system/memory.h"
#include "papers/telescoping/slot_meta.h"
#include "quotient/table/walk.h"

/* ------------------------------------------------------------------ the keys of rounds */

/*
 * The key of a round comes from the hash seed. So it need not be stored, and nobody can guess it
 * without the seed.
 */
static besom_digest key_of_round(const struct meta_filter *x, uint64_t number) {
  uint8_t message[16] = "round   ";
  store64(message + 8, number);
  return besom__siphash(x->base.head.hasher.seed, message, sizeof message);
}

void besom__rounds_set_keys(struct meta_filter *x) {
  struct rounds *r = &x->rounds;
  for (uint64_t i = 0; i < 2 && i <= r->number; i++)
    r->keys[(r->number - i) % 2] = key_of_round(x, r->number - i);
}

bool besom__rounds_equal(const struct meta_filter *a, const struct meta_filter *b) {
  return a->rounds.number == b->rounds.number && a->rounds.frontier == b->rounds.frontier;
}

/* The next round, before the first run is in it. */
static struct rounds next_round(const struct meta_filter *x) {
  struct rounds r = x->rounds;
  r.number++;
  r.frontier = 0;
  r.keys[r.number % 2] = key_of_round(x, r.number);
  return r;
}

/* ------------------------------------------------------------------ one run */

/* The keys of a run, in order. */
struct run_keys {
  uint64_t quotient;
  const besom_digest *keys;
  uint64_t n;
};

static besom_status rounds_read_run(const struct meta_filter *x, uint64_t quotient, struct run run,
                                    besom_digest *out) {
  for (uint64_t p = run.start; p < run.end; p++) {
    struct hashed_key key;
    besom_status status =
        besom__stored_key_of(x, (besom_match){quotient, (uint32_t)(p - run.start)}, p, &key);
    if (status != BESOM_OK) return status;
    *out++ = key.digest;
  }
  return BESOM_OK;
}

/* A key in the given round, which need not be that of its run. */
static struct hashed_key hashed_key_in_round(const struct meta_filter *x, const struct rounds *r,
                                             besom_digest d) {
  return (struct hashed_key){d, address_in_round(r, r->number, d, x->base.table.slots)};
}

/*
 * Sets *n to the longer of *n and the extension that separates the key from another one with its
 * remainder. Returns false if there is no such extension.
 */
static bool rounds_separate(const struct meta_filter *x, const struct hashed_key *key,
                            const struct hashed_key *other, slot_meta *n) {
  unsigned width = x->base.table.width;
  slot_meta extension = 0;
  if (remainder_of(key->at, width) != remainder_of(other->at, width)) return true;
  if (!x->policy->distinguish(key, other, width, &extension)) return false;
  if (extension > *n) *n = extension;
  return true;
}

/*
 * The extension of the i-th key. It separates the key from the offender, which may be NULL, and, if
 * `unique`, from the other keys of the run; 0 if none is needed.
 */
static slot_meta extension_of_key(const struct meta_filter *x, const struct run_keys *run,
                                  uint64_t i, const struct hashed_key *offender, bool unique) {
  struct hashed_key key = hashed_key_in_round(x, &x->rounds, run->keys[i]);
  slot_meta n = 0;
  if (offender) rounds_separate(x, &key, offender, &n);
  for (uint64_t j = 0; unique && j < run->n; j++) {
    struct hashed_key other = hashed_key_in_round(x, &x->rounds, run->keys[j]);
    if (j != i) rounds_separate(x, &key, &other, &n);
  }
  return n;
}

/* Replaces the extensions of the run's slots in block b. Returns false if they do not fit. */
static bool write_extensions(struct meta_filter *x, const struct run_keys *keys, struct run run,
                             uint64_t b, const struct hashed_key *offender, bool unique) {
  slot_meta meta[CODE_SLOTS];
  uint64_t promised = 0;
  besom__meta_read(x, b, meta);
  for (uint64_t p = run.start; p < run.end; p++)
    if (p / 64 == b) meta[p % 64] = extension_of_key(x, keys, p - run.start, offender, unique);
  return (!unique || besom__meta_fits(x, b, meta, &promised)) && besom__meta_write(x, b, meta);
}

/* Moves a run to the newest round. */
static void redraw_run(struct meta_filter *x, const struct run_keys *keys,
                       const struct hashed_key *offender) {
  const struct qtable *t = &x->base.table;
  struct run run = run_of(t, keys->quotient);
  struct hashed_key denied;
  if (offender) denied = hashed_key_in_round(x, &x->rounds, offender->digest);
  for (uint64_t p = run.start; p < run.end; p++) {
    struct hashed_key key = hashed_key_in_round(x, &x->rounds, keys->keys[p - run.start]);
    set_slot_remainder(t, block_at(t, p / 64), p % 64, remainder_of(key.at, t->width), t->width);
  }
  /*
   * Extensions that separate members must not take the bits that the offender needs in a second
   * block.
   */
  bool one_block = run.start / 64 == (run.end - 1) / 64;
  for (uint64_t b = run.start / 64; 64 * b < run.end; b++) {
    bool unique = keys->n <= STEP_MAX_ENTRIES && separates_members(x) && (!offender || one_block);
    if (unique && write_extensions(x, keys, run, b, offender ? &denied : NULL, true)) continue;
    write_extensions(x, keys, run, b, offender ? &denied : NULL, false);
  }
  x->rebuilds++;
}

/* Whether the run can reject the offender in round r with at most free_bits bits of extensions. */
static bool can_reject(const struct meta_filter *x, const struct rounds *r,
                       const struct run_keys *run, const struct hashed_key *offender,
                       uint64_t free_bits) {
  struct hashed_key denied = hashed_key_in_round(x, r, offender->digest);
  uint64_t bits = 0;
  for (uint64_t i = 0; i < run->n; i++) {
    struct hashed_key key = hashed_key_in_round(x, r, run->keys[i]);
    slot_meta n = 0;
    if (!rounds_separate(x, &key, &denied, &n)) return false;
    bits += n ? 2 * extension_length(n) : 0;
  }
  return bits <= free_bits;
}

/* ------------------------------------------------------------------ steps */

static uint64_t next_occupied(const struct qtable *t, uint64_t quotient) {
  uint64_t left = bits_from(quotient % 64);
  for (uint64_t at = quotient & ~UINT64_C(63); at < t->slots; at += 64, left = ~UINT64_C(0)) {
    uint64_t occupied = block_word(t, block_at(t, at / 64), WORD_OCCUPIED) & left;
    if (occupied) return at + trailing_zeros(occupied);
  }
  return t->slots;
}

void besom__step_drop(const struct meta_filter *x, struct step *s) {
  if (s->keys != s->few) besom__release(&x->base.head.allocator, s->keys, s->n * sizeof *s->keys);
  s->keys = s->few;
}

/* Adds the keys of one more run. END if they do not fit. */
static besom_status rounds_plan_run(const struct meta_filter *x, uint64_t quotient,
                                    struct step *s) {
  struct run run = run_of(&x->base.table, quotient);
  uint64_t n = run.end - run.start, before = s->n;
  if (before && before + n > STEP_MAX_ENTRIES) return BESOM_END;
  s->n += n;
  if (s->n > STEP_MAX_ENTRIES)
    s->keys = besom__allocate(&x->base.head.allocator, n * sizeof *s->keys);
  return s->keys ? rounds_read_run(x, quotient, run, s->keys + before) : BESOM_NO_MEMORY;
}

besom_status besom__step_plan(const struct meta_filter *x, uint64_t before, struct step *s) {
  const struct qtable *t = &x->base.table;
  const struct rounds *r = &x->rounds;
  s->begins = false;
  s->first = s->end = s->n = 0;
  s->keys = s->few;
  if (!x->policy->pool || r->form != ROUNDS_IN_STEPS || !x->reverse.digest_of) return BESOM_OK;
  s->begins = r->frontier == t->slots && x->pool.used >= x->pool.limit - x->pool.limit / 4;
  s->first = s->end = s->begins ? 0 : r->frontier;
  while (s->n < STEP_ENTRIES && s->end < t->slots) {
    uint64_t next = next_occupied(t, s->end);
    s->end = next < before || s->end > before ? next : before;
    if (s->end == before || next == t->slots) break;
    besom_status status = rounds_plan_run(x, next, s);
    if (status == BESOM_END) break;
    if (status != BESOM_OK) {
      besom__step_drop(x, s);
      return status;
    }
    s->end = next + 1;
  }
  return BESOM_OK;
}

/* The next run of the step, whose keys begin at *at. False at the end. */
static bool rounds_next_run(const struct meta_filter *x, const struct step *s, uint64_t *at,
                            struct run_keys *run) {
  const struct qtable *t = &x->base.table;
  uint64_t quotient = next_occupied(t, *at ? run->quotient + 1 : s->first);
  if (quotient >= s->end) return false;
  struct run slots = run_of(t, quotient);
  *run = (struct run_keys){quotient, s->keys + *at, slots.end - slots.start};
  *at += run->n;
  return true;
}

static bool find_run(const struct meta_filter *x, const struct step *s, uint64_t quotient,
                     struct run_keys *run) {
  for (uint64_t at = 0; rounds_next_run(x, s, &at, run);)
    if (run->quotient == quotient) return true;
  return false;
}

bool besom__step_rejects(const struct meta_filter *x, const struct step *s,
                         const struct hashed_key *offender) {
  struct rounds after = s->begins ? next_round(x) : x->rounds;
  struct run_keys keys;
  if (!find_run(x, s, offender->at.quotient, &keys)) return false;
  struct run run = run_of(&x->base.table, keys.quotient);
  uint64_t free_bits = besom__pool_free_bits(&x->pool, run.start / 64),
           last = besom__pool_free_bits(&x->pool, (run.end - 1) / 64);
  return can_reject(x, &after, &keys, offender, free_bits < last ? free_bits : last);
}

/* The offender's run goes first, while the pool has the bits that were counted on. */
void besom__step_take(struct meta_filter *x, struct step *s, const struct hashed_key *offender) {
  struct run_keys run;
  if (s->begins) x->rounds = next_round(x);
  if (offender && find_run(x, s, offender->at.quotient, &run)) redraw_run(x, &run, offender);
  for (uint64_t at = 0; rounds_next_run(x, s, &at, &run);)
    if (!offender || run.quotient != offender->at.quotient) redraw_run(x, &run, NULL);
  if (s->end > s->first) x->rounds.frontier = s->end;
  besom__step_drop(x, s);
}

void besom__step_take_before(struct meta_filter *x, struct step *s, uint64_t quotient) {
  if (s->first <= quotient && quotient < s->end) s->end = quotient;
  besom__step_take(x, s, NULL);
}

/* ------------------------------------------------------------------ a whole round at once */

static besom_status rounds_read_all(const struct meta_filter *x, besom_digest *out) {
  const struct qtable *t = &x->base.table;
  besom_status status = BESOM_OK;
  for (uint64_t q = next_occupied(t, 0); q < t->slots && status == BESOM_OK;
       q = next_occupied(t, q + 1)) {
    struct run run = run_of(t, q);
    status = rounds_read_run(x, q, run, out);
    out += run.end - run.start;
  }
  return status;
}

static void drop_all_meta(struct meta_filter *x) {
  memset(x->pool.bytes, 0, (size_t)besom__pool_bytes(&x->pool));
  memset(x->classes, 0, sizeof x->classes);
  x->pool.used = x->meta_slots = 0;
}

besom_status besom__new_round_at_once(struct meta_filter *x, const struct hashed_key *offender) {
  const besom_allocator *allocator = &x->base.head.allocator;
  uint64_t n = x->base.table.used;
  struct step all = {.begins = true, .end = x->base.table.slots, .n = n};
  struct rounds after = next_round(x);
  struct run_keys run;
  all.keys = besom__allocate(allocator, n * sizeof *all.keys);
  if (!all.keys) return BESOM_NO_MEMORY;
  besom_status status = rounds_read_all(x, all.keys);
  if (status == BESOM_OK && find_run(x, &all, offender->at.quotient, &run) &&
      !can_reject(x, &after, &run, offender, CODE_SLOTS))
    status = BESOM_FULL;
  if (status == BESOM_OK) {
    drop_all_meta(x);
    besom__step_take(x, &all, offender);
  } else {
    besom__step_drop(x, &all);
  }
  return status;
}
