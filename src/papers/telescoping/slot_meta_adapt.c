/*
 * How a filter with slot metadata adapts. Every slot of the run that matches the offender gets
 * metadata with which it does not. All matches are read and all blocks planned before the first one
 * changes.
 */
#include "core/system/memory.h"
#include "papers/telescoping/slot_meta.h"
#include "quotient/table/walk.h"

/* The planned state of a block. */
struct change {
  uint64_t block;
  slot_meta meta[CODE_SLOTS];
  uint64_t matched; /* slots that match the offender; their keys are known */
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

/*
 * For kinds whose remainders do not vary: keeps the metadata of the run that reject the offender
 * (published form: only those just planned), drops all others of the block.
 */
static void drop_other_meta(const struct meta_filter *x, struct change *c, uint64_t run,
                            const struct hashed_key *offender) {
  const struct qtable *t = &x->base.table;
  uint64_t kept = c->matched;
  if (x->policy->form == FORM_OWN)
    kept =
        slots_equal(t, block_at(t, c->block), remainder_of(offender->at, t->width), t->width) & run;
  for (unsigned i = 0; i < CODE_SLOTS; i++)
    if (!(kept >> i & 1)) c->meta[i] = 0;
}

/*
 * For kinds whose remainders vary: drops all metadata of the block, then gives the run's slots
 * (published forms: the matching ones) the smallest metadata with which they do not match the
 * offender. kept: slots that keep the metadata that they were given.
 */
static besom_status restart_block(const struct meta_filter *x, struct change *c, uint64_t run,
                                  const struct hashed_key *offender, uint64_t kept) {
  uint64_t changed = x->policy->form == FORM_OWN ? run : c->matched;
  for (unsigned i = 0; i < CODE_SLOTS; i++) {
    bool known = c->matched >> i & 1;
    slot_meta n = 0;
    if (kept >> i & 1 || (!c->meta[i] && !known)) continue;
    besom_status status = known ? BESOM_OK : besom__stored_key(x, 64 * c->block + i, &c->keys[i]);
    if (status != BESOM_OK) return status;
    if (changed >> i & 1 && !x->policy->distinguish(&c->keys[i], offender, x->base.table.width, &n))
      return BESOM_FULL;
    set_meta(x, c, i, n);
  }
  return BESOM_OK;
}

/*
 * The published form keeps the selectors that the report has raised, as algorithm 5.10 of the
 * thesis (line 7). raised: whether all of them could be raised.
 */
static besom_status rebuild_block(const struct meta_filter *x, struct change *c, uint64_t run,
                                  const struct hashed_key *offender, bool raised,
                                  uint64_t *promised) {
  uint64_t promised_before = *promised;
  besom_status status = BESOM_OK;
  c->rebuilt = true;
  if (!x->policy->remainder_varies) {
    drop_other_meta(x, c, run, offender);
  } else {
    uint64_t kept = raised && x->policy->form == FORM_PUBLISHED ? c->matched : 0;
    status = restart_block(x, c, run, offender, kept);
    if (status == BESOM_OK && kept && !besom__meta_fits(x, c->block, c->meta, promised))
      status = restart_block(x, c, run, offender, 0);
    *promised = promised_before;
  }
  return status == BESOM_OK && !besom__meta_fits(x, c->block, c->meta, promised) ? BESOM_FULL
                                                                                 : status;
}

/*
 * Gives the matching slots of a block metadata with which they do not match the offender. If these
 * do not fit, and no new round is possible, the other metadata of the block are dropped. promised:
 * as in besom__meta_fits.
 */
static besom_status plan_block(const struct meta_filter *x, struct change *c, struct run run,
                               const struct hashed_key *offender, uint64_t *promised) {
  uint64_t promised_before = *promised;
  bool fits = true;
  for (uint64_t left = c->matched; left && fits; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    slot_meta n = c->meta[i];
    fits = x->policy->distinguish(&c->keys[i], offender, x->base.table.width, &n);
    if (fits) set_meta(x, c, i, n);
  }
  if (!fits && !x->policy->remainder_varies) return BESOM_FULL;
  if (fits && besom__meta_fits(x, c->block, c->meta, promised)) return BESOM_OK;
  if (x->rounds.form != ROUNDS_IN_STEPS) return BESOM_FULL;
  *promised = promised_before;
  return rebuild_block(x, c, run_in_block(run, c->block), offender, fits, promised);
}

static void slot_meta_adapt_apply(struct meta_filter *x, const struct change *c) {
  const struct qtable *t = &x->base.table;
  besom__meta_write(x, c->block, c->meta);
  for (uint64_t left = c->moved; left; left &= left - 1) {
    unsigned i = trailing_zeros(left);
    set_slot_remainder(t, block_at(t, c->block), i, c->remainders[i], t->width);
  }
  x->rebuilds += c->rebuilt;
}

/*
 * Reads the keys of all matches, each into the change of its block.
 * IS_MEMBER if one is the offender.
 */
static besom_status read_matches(struct scan *s, struct change *changes) {
  while (besom__scan_next(s)) {
    struct change *c = &changes[s->position / 64 - s->run.start / 64];
    unsigned i = s->position % 64;
    besom_status status = besom__stored_key(s->filter, s->position, &c->keys[i]);
    if (status != BESOM_OK) return status;
    if (c->keys[i].digest.hi == s->key.digest.hi && c->keys[i].digest.lo == s->key.digest.lo)
      return BESOM_IS_MEMBER;
    c->matched |= UINT64_C(1) << i;
  }
  return BESOM_OK;
}

static besom_status slot_meta_adapt_plan_run(struct scan *s, struct change *changes, uint64_t n) {
  const struct meta_filter *x = s->filter;
  uint64_t promised = 0;
  besom_status status = read_matches(s, changes);
  for (uint64_t i = 0; i < n && status == BESOM_OK; i++) {
    changes[i].block = s->run.start / 64 + i;
    besom__meta_read(x, changes[i].block, changes[i].meta);
    if (changes[i].matched) status = plan_block(x, &changes[i], s->run, &s->key, &promised);
  }
  return status;
}

/*
 * Applies the plan, and takes a step of the current round. If the step moves the offender's run and
 * the run then rejects the offender, the plan is not needed. If planning failed, a new round may
 * succeed.
 */
static besom_status finish_adapt(struct meta_filter *x, besom_status planned,
                                 const struct change *changes, uint64_t n,
                                 const struct hashed_key *offender) {
  struct step step;
  besom_status status = planned;
  if (planned == BESOM_OK) status = besom__step_plan(x, NO_QUOTIENT, &step);
  if (planned == BESOM_FULL && x->rounds.form == ROUNDS_AT_ONCE) {
    status = besom__new_round_at_once(x, offender);
  } else if (status == BESOM_OK && besom__step_rejects(x, &step, offender)) {
    besom__step_take(x, &step, offender);
  } else if (status == BESOM_OK) {
    for (uint64_t i = 0; i < n; i++)
      if (changes[i].matched) slot_meta_adapt_apply(x, &changes[i]);
    besom__step_take_before(x, &step, offender->at.quotient);
  }
  x->corrections += status == BESOM_OK;
  return status;
}

besom_status besom__meta_filter_adapt(besom_filter *f, besom_digest d) {
  struct meta_filter *x = meta_filter(f);
  if (!x->reverse.digest_of) return BESOM_NEEDS_STORE;
  struct scan s;
  besom__scan_start(&s, x, d);
  uint64_t n = (s.run.end - 1) / 64 - s.run.start / 64 + 1;
  struct change *changes = besom__allocate(&f->allocator, n * sizeof *changes);
  if (!changes) return BESOM_NO_MEMORY;
  besom_status status =
      finish_adapt(x, slot_meta_adapt_plan_run(&s, changes, n), changes, n, &s.key);
  besom__release(&f->allocator, changes, n * sizeof *changes);
  return status;
}

bool besom__meta_filter_is_published(const besom_filter *f) {
  return const_meta_filter(f)->policy->form != FORM_OWN;
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
  struct change c = {.block = position / 64, .matched = UINT64_C(1) << i};
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
  return finish_adapt(x, plan_block(x, &c, run, &key, &promised), &c, 1, &key);
}
