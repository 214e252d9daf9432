/* From what a caller wants to the geometry of a quotient table; shared by all quotient kinds. */
#ifndef BESOM_QUOTIENT_PLAN_H
#define BESOM_QUOTIENT_PLAN_H

#include "quotient/quotient_table.h"

/*
 * Fills slots and width of a shape whose other fields are set, from capacity and rate, capacity and bits
 * (head_bytes are charged, too), or slots and width. The width comes in as the narrowest that will do, 0 for 1.
 * INVALID if there is no such table.
 */
besom_status besom__quotient_plan(const besom_config *config, size_t head_bytes, double reserve,
                                  struct qtable_shape *shape);

/*
 * How many items a table of so many slots takes: 95 % of them, less the share that is held in reserve for
 * other things than items, at least one.
 */
uint64_t besom__quotient_capacity(uint64_t slots, double reserve);

/* The probability that a key which is not there meets its remainder in its run. */
double besom__quotient_rate(uint64_t items, uint64_t slots, unsigned width);

/* The narrowest remainder from this width on that keeps the rate; above 64 if none does. */
unsigned besom__quotient_width(uint64_t items, uint64_t slots, double rate, unsigned width);

/* besom_kind.price of a kind whose tables have this shape and hold nothing in reserve. */
double besom__quotient_price(double keys, double *rate, struct qtable_shape shape);

#endif
