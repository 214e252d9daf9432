/*
 * Operations of the quotient table that exist once per instruction set, for tables of any width.
 * Their contracts are in quotient_table.h (struct qtable_ops).
 *
 * A file that includes this is compiled once per instruction set, with BESOM_ISA defined. The
 * linker's names of these functions end with it: besom__insert_slot_avx2, or for shared tables
 * besom__insert_slot_shared_avx2.
 */
#ifndef BESOM_QUOTIENT_TABLE_SLOTS_H
#define BESOM_QUOTIENT_TABLE_SLOTS_H

#include "quotient/quotient_table.h"

#define JOIN_(name, variant) name##_##variant
#define JOIN(name, variant) JOIN_(name, variant)

#ifdef BESOM_SHARED
#define VARIANT JOIN(shared, BESOM_ISA)
#else
#define VARIANT BESOM_ISA
#endif

#define besom__find_run JOIN(besom__find_run, VARIANT)
#define besom__insert_slot JOIN(besom__insert_slot, VARIANT)
#define besom__delete_slot JOIN(besom__delete_slot, VARIANT)
#define besom__merge_tables JOIN(besom__merge_tables, VARIANT)
#define besom__contains_flagged_far JOIN(besom__contains_flagged_far, VARIANT)

/* run_of of walk.h, not inline. */
struct run besom__find_run(const struct qtable *t, uint64_t quotient);

besom_status besom__insert_slot(struct qtable *t, uint64_t quotient, uint64_t position,
                                uint64_t bits);
void besom__delete_slot(struct qtable *t, uint64_t quotient, uint64_t position);
besom_status besom__merge_tables(const struct qtable *a, const struct qtable *b,
                                 struct qtable *into);

/*
 * The answer of a table with slot metadata for a run that leaves its block: MAYBE if a slot of the
 * run may carry metadata. Not for shared tables.
 */
enum answer besom__contains_flagged_far(const struct qtable *t, uint64_t quotient,
                                        uint64_t remainder);

#endif
