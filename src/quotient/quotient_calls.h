/*
 * The hot public calls of qf and aqf (struct query_calls and insert_calls of kind.h): functions
 * that hash the key and search its block. There is one struct per instruction set and width; a
 * table's operations point at the one that fits (qtable_ops.calls).
 */
#ifndef BESOM_QUOTIENT_QUOTIENT_CALLS_H
#define BESOM_QUOTIENT_QUOTIENT_CALLS_H

#include "kind.h"

struct quotient_calls {
  struct query_calls qf_queries, aqf_queries;
  struct insert_calls qf_inserts, aqf_inserts;
  struct remove_calls removes;
};

/*
 * The calls that fit the filter, a quotient kind; NULL if there are none, and the general ones must
 * be used. Queries: XXH3 and a table without code. Inserts: also heads, and no values.
 */
const struct quotient_calls *besom__calls_to_query(const besom_filter *f);
const struct quotient_calls *besom__calls_to_insert(const besom_filter *f);
/* The operation remove_calls of both kinds. */
const struct remove_calls *besom__quotient_remove_calls(const besom_filter *f);

#endif
