/* A cursor over a quotient table: reads its fingerprints in the order of their quotients. */
#ifndef BESOM_QUOTIENT_CURSOR_H
#define BESOM_QUOTIENT_CURSOR_H

#include "quotient/table.h"

/* Walks over the fingerprints; the first line of fields is valid after next returned true. */
struct qtable_cursor {
  uint64_t quotient, position, remainder, slots; /* slots: how many the fingerprint has */
  const struct qtable *table;
  uint64_t next_quotient, next_position; /* next_quotient = slots: no more */
};

void besom__qtable_first(const struct qtable *t, struct qtable_cursor *c);
bool besom__qtable_next(struct qtable_cursor *c);

/* From the first run on that reaches the position, or begins behind it. */
void besom__qtable_seek(const struct qtable *t, uint64_t position, struct qtable_cursor *c);

#endif
