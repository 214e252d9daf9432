/* How much a list differs from the one that a filter was built from: a download that is cut short
 * must not replace a list. */
#ifndef CLI_LIST_CHANGE_H
#define CLI_LIST_CHANGE_H

#include "lists/keys.h"

/* The old filter, the new yes list, and the keys that were in the set if they are known. */
typedef struct changed_list {
  const besom_filter *old;
  const char *old_path;
  key_reader *yes; /* rewindable; it is rewound */
  words was;       /* empty: not known, so removed keys cannot be shown */
  const key_form *form;
} changed_list;

/*
 * Fails if more keys were added or removed than `limit` says, and shows some of them. limit: a
 * share of the keys of the old filter, such as 20% or 0.2; "any": no limit; NULL: 20%. An added key
 * is one that the old filter answers no; a false positive counts as a key that stayed. A filter
 * without keys has nothing to compare with.
 */
void list_change_check(const changed_list *list, const char *limit);

#define LIST_CHANGE_ROUNDING 1e-9 /* so that 29 % of 100 keys are 29 keys */

/* The share that such a limit gives; a negative number: any. */
double list_change_limit(const char *limit);

#endif
