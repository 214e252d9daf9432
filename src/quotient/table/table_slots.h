/*
 * Operations of the quotient table that exist once per instruction set, for tables of any width.
 * Their contracts are in quotient_table.h (struct qtable_ops).
 *
 * A file that includes this is compiled once per instruction set (table_variant.h): the linker's
 * names of these functions end with it.
 */
#ifndef BESOM_QUOTIENT_TABLE_SLOTS_H
#define BESOM_QUOTIENT_TABLE_SLOTS_H

#include "quotient/table/quotient_table.h"
#include "quotient/table/table_variant.h"

#define besom__find_run JOIN(besom__find_run, VARIANT)
#define besom__insert_slot JOIN(besom__insert_slot, VARIANT)
#define besom__delete_slot JOIN(besom__delete_slot, VARIANT)
#define besom__contains_flagged_far JOIN(besom__contains_flagged_far, VARIANT)

/* run_of of walk.h, not inline. */
struct run besom__find_run(const struct qtable *t, uint64_t quotient);

besom_status besom__insert_slot(struct qtable *t, uint64_t quotient, uint64_t position,
                                uint64_t bits);
void besom__delete_slot(struct qtable *t, uint64_t quotient, uint64_t position);

/*
 * The answer of a table with slot metadata for a run that leaves its block: MAYBE if a slot of the
 * run may carry metadata. Not for shared tables.
 */
enum answer besom__contains_flagged_far(const struct qtable *t, uint64_t quotient,
                                        uint64_t remainder);

#endif
