/* What it takes to make one quotient table of another: the runs that differ. */
#ifndef BESOM_QUOTIENT_DELTA_H
#define BESOM_QUOTIENT_DELTA_H

#include "core/bitstream.h"
#include "quotient/quotient_table.h"

/* Whether runs can be told apart by what the tables hold: they are of one shape, and keep nothing by block. */
bool besom__qtable_comparable(const struct qtable *a, const struct qtable *b);

/* Writes what `to` has other than `from`. */
void besom__qtable_delta(const struct qtable *from, const struct qtable *to, struct bit_writer *w);

/* Fills `to`, an empty table like `from`. CORRUPT, FULL: it is to be dropped then. */
besom_status besom__qtable_apply(const struct qtable *from, struct bit_reader *r,
                                 struct qtable *to);

#endif
