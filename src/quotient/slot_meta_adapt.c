/*
 * How a filter with notes adapts: every slot of the run that matches the offender gets a note beyond it. All of them
 * are looked at, and all blocks planned, before the first is changed.
 */
#include "core/memory.h"
#include "quotient/slot_meta.h"
#include "quotient/walk.h"

/* What a block is to become. */
struct change {
  uint64_t block;
  slot_meta meta[CODE_SLOTS];
  uint64_t offenders; /* slots whose keys are known: those that matched */
  struct hashed_key keys[CODE_SLOTS];
  uint64_t moved; /* slots that get another remainder */
  uint64_t remainders[CODE_SLOTS];
  bool rebuilt;
};

static void set_meta(const struct meta_filter *x, struct change *c, unsigned i, slot_meta n) {
  c->meta[i] = n;
  if (!x->policy->remainder_varies) return;
  c->moved |= UINT64_C(1) << i;
  c->remainders[i] = x->policy->remainder(&c->keys[i], n, x->base.table.width);
}

/* Keeps, where remainders stay, the notes of the run that tell the offender apart; all others go. */
static void drop_other_meta(const struct meta_filter *x, struct change *c, uint64_t run,
                          const struct hashed_key *offender) {
  const struct qtable *t = &x->base.table;
  uint64_t equal =
      slots_equal(t, block_at(t, c->block), remainder_of(offender->at, t->width), t->width) & run;
  for (unsigned i = 0; i < CODE_SLOTS; i++)
    if (!(equal >> i & 1)) c->meta[i] = 0;
}

/* Begins anew where remainders depend on notes. The run's slots do not match the offender, with as small notes as can
 * be. */
static besom_status restart_block(const struct meta_filter *x, struct change *c, uint64_t run,
                               const struct hashed_key *offender) {
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    bool known = c->offenders >> i & 1;
    slot_meta n = 0;
    if (!c->meta[i] && !known) continue;
    besom_status status = known ? BESOM_OK : besom__stored_key(x, 64 * c->block + i, &c->keys[i]);
    if (status != BESOM_OK) return status;
    if (run >> i & 1 && !x->policy->distinguish(&c->keys[i], offender, x->base.table.width, &n))
      return BESOM_FULL;
    set_meta(x, c, i, n);
  }
  return BESOM_OK;
}

/*
 * Gives the offending slots of a block notes beyond the offender; if need be, and there is no new round to be had, at
 * the price of its other notes. `promised`: see besom__notes_fit.
 */
static besom_status plan_block(const struct meta_filter *x, struct change *c, struct run run,
                               const struct hashed_key *offender, uint64_t *promised) {
  uint64_t promised_before = *promised;
  bool fits = true;
  for (uint64_t left = c->offenders; left && fits; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    slot_meta n = c->meta[i];
    fits = x->policy->distinguish(&c->keys[i], offender, x->base.table.width, &n);
    if (fits) set_meta(x, c, i, n);
  }
  if (!fits && !x->policy->remainder_varies) return BESOM_FULL;
  if (fits && besom__meta_fits(x, c->block, c->meta, promised)) return BESOM_OK;
  if (x->rounds.amortized) return BESOM_FULL;
  *promised = promised_before;
  c->rebuilt = true;
  besom_status status = BESOM_OK;
  uint64_t ours = run_in_block(run, c->block);
  if (x->policy->remainder_varies)
    status = restart_block(x, c, ours, offender);
  else
    drop_other_meta(x, c, ours, offender);
  return status == BESOM_OK && !besom__meta_fits(x, c->block, c->meta, promised) ? BESOM_FULL
                                                                                  : status;
}

static void apply(struct meta_filter *x, const struct change *c) {
  const struct qtable *t = &x->base.table;
  besom__meta_write(x, c->block, c->meta);
  for (uint64_t left = c->moved; left; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    set_slot_remainder(t, block_at(t, c->block), i, c->remainders[i], t->width);
  }
  x->rebuilds += c->rebuilt;
}

/* The keys of all matches, each in the change of its block. IS_MEMBER if one is the offender itself. */
static besom_status find_offenders(struct scan *s, struct change *changes) {
  while (besom__scan_next(s)) {
    struct change *c = &changes[s->position / 64 - s->run.start / 64];
    unsigned i = s->position % 64;
    besom_status status = besom__stored_key(s->filter, s->position, &c->keys[i]);
    if (status != BESOM_OK) return status;
    if (c->keys[i].digest.hi == s->key.digest.hi && c->keys[i].digest.lo == s->key.digest.lo)
      return BESOM_IS_MEMBER;
    c->offenders |= UINT64_C(1) << i;
  }
  return BESOM_OK;
}

static besom_status plan_run(struct scan *s, struct change *changes, uint64_t n) {
  const struct meta_filter *x = s->filter;
  uint64_t promised = 0;
  besom_status status = find_offenders(s, changes);
  for (uint64_t i = 0; i < n && status == BESOM_OK; i++) {
    changes[i].block = s->run.start / 64 + i;
    besom__meta_read(x, changes[i].block, changes[i].meta);
    if (changes[i].offenders) status = plan_block(x, &changes[i], s->run, &s->key, &promised);
  }
  return status;
}

/*
 * Applies what was planned, and takes a step of the round that is under way, if any: by the change of its round the
 * run may come to deny the offender, too, which makes the plan void. What cannot be planned may be possible in a new
 * round.
 */
static besom_status conclude(struct meta_filter *x, besom_status planned, const struct change *changes,
                             uint64_t n, const struct hashed_key *offender) {
  struct step step;
  besom_status status = planned;
  if (planned == BESOM_OK) status = besom__step_plan(x, NO_QUOTIENT, &step);
  if (planned == BESOM_FULL && x->rounds.amortized) {
    status = besom__new_round_at_once(x, offender);
  } else if (status == BESOM_OK && besom__step_rejects(x, &step, offender)) {
    besom__step_take(x, &step, offender);
  } else if (status == BESOM_OK) {
    for (uint64_t i = 0; i < n; i++)
      if (changes[i].offenders) apply(x, &changes[i]);
    besom__step_take_before(x, &step, offender->at.quotient);
  }
  x->corrections += status == BESOM_OK;
  return status;
}

besom_status besom__meta_filter_adapt(besom_filter *f, besom_digest d) {
  struct meta_filter *x = meta_filter(f);
  if (!f->kind->contains(f, d)) return BESOM_OK;
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  struct scan s;
  besom__scan_start(&s, x, d);
  uint64_t n = (s.run.end - 1) / 64 - s.run.start / 64 + 1;
  struct change *changes = besom__allocate(&f->allocator, n * sizeof *changes);
  if (!changes) return BESOM_NO_MEMORY;
  besom_status status = conclude(x, plan_run(&s, changes, n), changes, n, &s.key);
  besom__release(&f->allocator, changes, n * sizeof *changes);
  return status;
}

besom_status besom__meta_filter_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                   besom_digest stored) {
  struct meta_filter *x = meta_filter(f);
  const struct qtable *t = &x->base.table;
  struct hashed_key key = hashed_key_of(x, offender);
  if (match.bucket >= t->slots) return BESOM_NOT_FOUND;
  struct run run = run_of(t, match.bucket);
  if (match.rank >= run.end - run.start) return BESOM_NOT_FOUND;
  uint64_t position = run.start + match.rank;
  unsigned i = position % 64;
  struct change c = {.block = position / 64, .offenders = UINT64_C(1) << i};
  besom__meta_read(x, c.block, c.meta);
  c.keys[i] = hashed_key_of(x, stored);
  uint64_t remainder = slot_remainder(t, block_at(t, c.block), i, t->width);
  if (c.keys[i].at.quotient != match.bucket ||
      !x->policy->matches(&c.keys[i], remainder, c.meta[i], t->width))
    return BESOM_INVALID;
  if (offender.hi == stored.hi && offender.lo == stored.lo) return BESOM_IS_MEMBER;
  if (key.at.quotient != match.bucket || !x->policy->matches(&key, remainder, c.meta[i], t->width))
    return BESOM_OK;
  uint64_t promised = 0;
  return conclude(x, plan_block(x, &c, run, &key, &promised), &c, 1, &key);
}
