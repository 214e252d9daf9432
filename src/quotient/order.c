#include "quotient/order.h"

#include "quotient/long.h"
#include "quotient/walk.h"

/* ------------------------------------------------------------------ reading */

/* The first quotient from this one on that has a run; slots if none has. */
static uint64_t occupied_from(const struct qtable *t, uint64_t quotient) {
  uint64_t left = bits_from(quotient % 64);
  for (uint64_t at = quotient & ~UINT64_C(63); at < t->slots; at += 64, left = ~UINT64_C(0)) {
    uint64_t occupied = block_word(t, block_at(t, at / 64), WORD_OCCUPIED) & left;
    if (occupied) return at + trailing_zeros(occupied);
  }
  return t->slots;
}

void besom__qtable_first(const struct qtable *t, struct qtable_cursor *c) {
  uint64_t quotient = occupied_from(t, 0);
  *c = (struct qtable_cursor){.table = t, .next_quotient = quotient, .next_position = quotient};
}

/* The k-th quotient before this one, from 0, that has a run; 0 if there are not so many. */
static uint64_t occupied_before(const struct qtable *t, uint64_t quotient, uint64_t k) {
  for (uint64_t b = quotient / 64; b--;) {
    uint64_t occupied = block_word(t, block_at(t, b), WORD_OCCUPIED);
    unsigned n = popcount(occupied);
    if (k < n) return 64 * b + trailing_zeros(select_bit(occupied, n - 1 - (unsigned)k));
    k -= n;
  }
  return 0;
}

/* Runs of earlier blocks that reach into the position's end within its first `offset` slots: these are counted. */
void besom__qtable_seek(const struct qtable *t, uint64_t position, struct qtable_cursor *c) {
  uint64_t b = position / 64, first = 64 * b, runs = 0;
  uint64_t end = runs_end_before_block(t, b, &(struct mark){0, 0});
  while (run_end_from(t, 64 * b, runs) < end) runs++;
  if (runs) first = occupied_before(t, 64 * b, runs - 1);
  first = occupied_from(t, first);
  uint64_t start = first < t->slots ? run_of(t, first).start : t->room;
  *c = (struct qtable_cursor){.table = t, .next_quotient = first, .next_position = start};
}

bool besom__qtable_next(struct qtable_cursor *c) {
  const struct qtable *t = c->table;
  if (c->next_quotient >= t->slots || c->next_position >= t->room) return false;
  c->quotient = c->next_quotient;
  c->position = c->next_position;
  c->remainder = slot_remainder(t, block_at(t, c->position / 64), c->position % 64, t->width);
  c->next_position = fingerprint_end(t, c->position);
  c->slots = c->next_position - c->position;
  if (ends_run(t, c->next_position - 1)) {
    c->next_quotient = occupied_from(t, c->quotient + 1);
    if (c->next_position < c->next_quotient) c->next_position = c->next_quotient;
  }
  return true;
}

/* ------------------------------------------------------------------ whole tables */

void besom__qtable_resize_start(struct qtable_resizing *r, const struct qtable *from,
                                struct qtable *into) {
  *r = (struct qtable_resizing){.from = from, .into = into, .out = qtable_append_start(into)};
  besom__qtable_first(from, &r->at);
  r->run = r->at;
}

/*
 * Appends the cursor's fingerprint under a new quotient and remainder, with its value and further slots. A count that
 * would take more slots than so many fingerprints becomes these: growing must not take the room of keys to come.
 */
static besom_status append_resized(struct qtable_resizing *r, uint64_t quotient,
                                   uint64_t remainder) {
  unsigned width = r->into->width;
  if (LIKELY(r->at.slots == 1 && !r->into->value_bits)) {
    besom_status status = qtable_append(&r->out, quotient, remainder, width);
    if (r->escort.placed && status == BESOM_OK)
      r->escort.placed(r->escort.into, &r->at, r->out.position - 1);
    return status;
  }
  struct long_fingerprint fp = besom__long_read(r->from, r->at.quotient, r->at.position);
  fp.quotient = quotient;
  fp.remainder = remainder;
  uint64_t copies = 1;
  if (fp.count > 1 && member_slots_of(fp.count, width) > fp.count) copies = fp.count, fp.count = 1;
  besom_status status = BESOM_OK;
  for (; copies && status == BESOM_OK; copies--) {
    r->extension_slots += extension_slots_of(&fp, width);
    status = besom__long_append(&r->out, &fp);
  }
  return status;
}

/* The next fingerprint, with the remainder that counts; false if there is none left. */
static bool next_to_resize(struct qtable_resizing *r, besom_status *status) {
  if (!besom__qtable_next(&r->at)) return false;
  if (r->escort.remainder) *status = r->escort.remainder(r->escort.from, &r->at, &r->at.remainder);
  return true;
}

/* Looks at one fingerprint; false if there is none left. */
static bool halve_one(struct qtable_resizing *r, besom_status *status) {
  if (!next_to_resize(r, status)) return false;
  if (*status != BESOM_OK) return true;
  uint64_t remainder = (r->at.quotient & 1) << r->from->width | r->at.remainder;
  *status = append_resized(r, r->at.quotient / 2, remainder);
  return true;
}

static bool double_one(struct qtable_resizing *r, besom_status *status) {
  uint64_t quotient = r->run.next_quotient;
  unsigned width = r->from->width;
  if (quotient >= r->from->slots || !next_to_resize(r, status)) return false;
  if (*status != BESOM_OK) return true;
  if (r->at.remainder >> (width - 1) == r->first_bit)
    *status =
        append_resized(r, 2 * quotient + r->first_bit, r->at.remainder & bits_below(width - 1));
  if (r->at.next_quotient != quotient) { /* the end of the run */
    if (r->first_bit)
      r->run = r->at;
    else
      r->at = r->run;
    r->first_bit ^= 1;
  }
  return true;
}

besom_status besom__qtable_resize_step(struct qtable_resizing *r, uint64_t max, bool *finished) {
  besom_status status = BESOM_OK;
  bool grow = r->into->slots > r->from->slots;
  *finished = false;
  for (; max && status == BESOM_OK; max--)
    if (!(grow ? double_one(r, &status) : halve_one(r, &status))) {
      qtable_append_finish(&r->out, r->into);
      *finished = true;
      break;
    }
  return status;
}
