/* A cursor reads the fingerprints of a quotient table in the order of their quotients. */
#ifndef BESOM_QUOTIENT_CURSOR_H
#define BESOM_QUOTIENT_CURSOR_H

#include "quotient/table/quotient_table.h"

/* The first line of fields is valid after besom__qtable_next returned true. */
struct qtable_cursor {
  uint64_t quotient, position, remainder, slots; /* slots: of this fingerprint */
  const struct qtable *table;
  uint64_t next_quotient, next_position; /* next_quotient = table->slots: no more */
};

void besom__qtable_first(const struct qtable *t, struct qtable_cursor *c);
bool besom__qtable_next(struct qtable_cursor *c);

/* Starts at the first run that reaches the position or begins after it. */
void besom__qtable_seek(const struct qtable *t, uint64_t position, struct qtable_cursor *c);

#endif
