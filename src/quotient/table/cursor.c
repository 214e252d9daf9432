#include "quotient/table/cursor.h"

#include "quotient/table/walk.h"

/* The first quotient that has a run, from this one on; t->slots if there is none. */
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

/*
 * The quotient of the k-th run, from 0, before the block of this quotient; 0 if there are fewer
 * runs.
 */
static uint64_t occupied_before(const struct qtable *t, uint64_t quotient, uint64_t k) {
  for (uint64_t b = quotient / 64; b--;) {
    uint64_t occupied = block_word(t, block_at(t, b), WORD_OCCUPIED);
    unsigned n = popcount(occupied);
    if (k < n) return 64 * b + trailing_zeros(select_bit(occupied, n - 1 - (unsigned)k));
    k -= n;
  }
  return 0;
}

/*
 * Runs of earlier blocks that reach into this block end within its first `offset` slots. Counts
 * these to find the first run.
 */
void besom__qtable_seek(const struct qtable *t, uint64_t position, struct qtable_cursor *c) {
  uint64_t b = position / 64, first = 64 * b, runs = 0;
  uint64_t end = runs_end_before_block(t, b, &(struct offset_hint){0, 0});
  if (end > t->room) end = t->room; /* a damaged table */
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
