/*
 * The operations of table_ops.c for tables that several threads share: the same source, with
 * relaxed atomic accesses (core/relaxed.h).
 */
#define BESOM_SHARED 1
#include "quotient/table/table_ops.c"
