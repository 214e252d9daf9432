/* The diff of two quotient tables: the runs that differ. Behind besom_diff and besom_patch. */
#ifndef BESOM_QUOTIENT_QUOTIENT_DIFF_H
#define BESOM_QUOTIENT_QUOTIENT_DIFF_H

#include "core/bitstream.h"
#include "quotient/table/quotient_table.h"

/* Whether a diff of the two tables exists: they have one shape and no metadata by block. */
bool besom__qtable_comparable(const struct qtable *a, const struct qtable *b);

/* Writes the diff that turns `from` into `to`. */
void besom__qtable_diff(const struct qtable *from, const struct qtable *to, struct bit_writer *w);

/*
 * Applies a diff to `from`: fills `to`, an empty table of the same shape. Returns CORRUPT or FULL;
 * the caller must drop `to` then.
 */
besom_status besom__qtable_patch(const struct qtable *from, struct bit_reader *r,
                                 struct qtable *to);

/* The same in a form that takes fewer bits. */
void besom__qtable_diff_compact(const struct qtable *from, const struct qtable *to,
                                struct bit_writer *w);
besom_status besom__qtable_patch_compact(const struct qtable *from, struct bit_reader *r,
                                         struct qtable *to);

#endif
