/*
 * The operation merge of a quotient table (struct qtable_ops). table_merge.c is compiled once per
 * instruction set and width: the linker's names of the function end with both.
 */
#ifndef BESOM_QUOTIENT_TABLE_MERGE_H
#define BESOM_QUOTIENT_TABLE_MERGE_H

#include "quotient/table/quotient_table.h"
#include "quotient/table/table_variant.h"

#define besom__merge_tables JOIN(JOIN(besom__merge_tables, BESOM_ISA), BESOM_WIDTH)

besom_status besom__merge_tables(const struct qtable *a, const struct qtable *b,
                                 struct qtable *into);

#endif
