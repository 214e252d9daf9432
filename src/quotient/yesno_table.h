/*
 * Static lists: which fingerprints a table needs that says yes to one list of keys and no to another.
 *
 * In the order of digests the no keys that have most in common with a yes key are its neighbours. So how far every
 * fingerprint must reach is known before there is a table, and with it the table's size, to the slot.
 */
#ifndef BESOM_QUOTIENT_STATIC_H
#define BESOM_QUOTIENT_STATIC_H

#include "quotient/appender.h"

/* Both ascending, each digest once. */
struct lists {
  const besom_digest *yes, *no;
  size_t n_yes, n_no;
};

/*
 * About the least table with a remainder of these widths: fills slots and width. A wider one costs every key a bit, a
 * narrower one more extensions. Leaves 0 slots if there is no such table.
 */
void besom__yesno_table_plan(size_t n_yes, size_t n_no, unsigned min_width, unsigned max_width,
                        struct qtable_shape *shape);

/* How many slots a table has in which so many are used. */
uint64_t besom__yesno_table_slots_for(uint64_t used);

/* How many slots the fingerprints take in a table of this shape. IS_MEMBER: a digest is in both lists. */
besom_status besom__yesno_table_count_slots(const struct lists *lists, const struct qtable_shape *shape,
                                 uint64_t *slots);

/* Fills an empty table. FULL: they would spill over its end. */
besom_status besom__yesno_table_fill(const struct lists *lists, struct qtable *t,
                                const besom_progress *progress);

#endif
