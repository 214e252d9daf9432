/*
 * The table of a yesno filter: which fingerprints answer yes to one list of keys and no to another.
 *
 * In the order of digests, the no keys with the longest prefix in common with a yes key are its
 * neighbours. So the length of every fingerprint is known before there is a table, and so is the
 * exact size of the table.
 */
#ifndef BESOM_QUOTIENT_YESNO_TABLE_H
#define BESOM_QUOTIENT_YESNO_TABLE_H

#include "quotient/table/appender.h"

/* Both ascending, each digest once. */
struct lists {
  const besom_digest *yes, *no;
  size_t n_yes, n_no;
};

/*
 * Chooses approximately the smallest table with a remainder of min_width to max_width bits: fills
 * slots and width. A wider remainder costs one bit per key, a narrower one more extensions. Sets
 * slots to 0 if there is no such table.
 */
void besom__yesno_table_plan(size_t n_yes, size_t n_no, unsigned min_width, unsigned max_width,
                             struct qtable_shape *shape);

/* The number of slots of a table with so many used slots, at a load factor of 97 %. */
uint64_t besom__yesno_table_slots_for(uint64_t used);

/*
 * Counts the slots that the fingerprints take in a table of this shape. Returns IS_MEMBER if a
 * digest is in both lists.
 */
besom_status besom__yesno_table_count_slots(const struct lists *lists,
                                            const struct qtable_shape *shape, uint64_t *slots);

/* Fills an empty table. Returns FULL if the fingerprints reach past its end. */
besom_status besom__yesno_table_fill(const struct lists *lists, struct qtable *t,
                                     const besom_progress *progress);

#endif
