#include "quotient/order.h"

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

bool besom__qtable_next(struct qtable_cursor *c) {
  const struct qtable *t = c->table;
  if (c->next_quotient >= t->slots || c->next_position >= t->room) return false;
  c->quotient = c->next_quotient;
  c->position = c->next_position;
  const uint8_t *block = block_at(t, c->position / 64);
  unsigned i = c->position % 64;
  c->remainder = slot_remainder(t, block, i, t->width);
  c->next_position = skip_further_slots(t, c->position + 1);
  if (block_run_ends(t, block) >> i & 1) {
    c->next_quotient = occupied_from(t, c->quotient + 1);
    if (c->next_position < c->next_quotient) c->next_position = c->next_quotient;
  }
  return true;
}

/* ------------------------------------------------------------------ whole tables */

besom_status besom__qtable_merge(const struct qtable *a, const struct qtable *b, struct qtable *into) {
  struct qtable_cursor x, y;
  besom__qtable_first(a, &x);
  besom__qtable_first(b, &y);
  struct qtable_appender out = qtable_append_start(into);
  bool more_x = besom__qtable_next(&x), more_y = besom__qtable_next(&y);
  while (more_x || more_y) {
    bool take_x = more_x && (!more_y || x.quotient <= y.quotient);
    const struct qtable_cursor *from = take_x ? &x : &y;
    besom_status status = qtable_append(&out, from->quotient, from->remainder, into->width);
    if (status != BESOM_OK) return status;
    if (take_x)
      more_x = besom__qtable_next(&x);
    else
      more_y = besom__qtable_next(&y);
  }
  qtable_append_finish(&out, into);
  return BESOM_OK;
}

/* Appends those of one run whose first remainder bit is this one, to the run of twice the quotient and it. */
static besom_status append_half(struct qtable_cursor run, uint64_t first_bit, struct qtable_appender *out) {
  unsigned width = run.table->width;
  uint64_t quotient = run.next_quotient;
  while (run.next_quotient == quotient && besom__qtable_next(&run)) {
    if (run.remainder >> (width - 1) != first_bit) continue;
    besom_status status =
        qtable_append(out, 2 * quotient + first_bit, run.remainder & bits_below(width - 1), width - 1);
    if (status != BESOM_OK) return status;
  }
  return BESOM_OK;
}

besom_status besom__qtable_double(const struct qtable *t, struct qtable *into) {
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  struct qtable_appender out = qtable_append_start(into);
  while (c.next_quotient < t->slots) {
    besom_status status = append_half(c, 0, &out);
    if (status == BESOM_OK) status = append_half(c, 1, &out);
    if (status != BESOM_OK) return status;
    uint64_t quotient = c.next_quotient;
    while (c.next_quotient == quotient && besom__qtable_next(&c)) {
    }
  }
  qtable_append_finish(&out, into);
  return BESOM_OK;
}

besom_status besom__qtable_halve(const struct qtable *t, struct qtable *into) {
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  struct qtable_appender out = qtable_append_start(into);
  while (besom__qtable_next(&c)) {
    uint64_t remainder = (c.quotient & 1) << t->width | c.remainder;
    besom_status status = qtable_append(&out, c.quotient / 2, remainder, into->width);
    if (status != BESOM_OK) return status;
  }
  qtable_append_finish(&out, into);
  return BESOM_OK;
}
