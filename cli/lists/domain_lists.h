/* What a list of domains needs besides the names that it is given: exceptions for names of the no
 * list below a listed domain, and the public suffixes on the no list. */
#ifndef CLI_DOMAIN_LISTS_H
#define CLI_DOMAIN_LISTS_H

#include "lists/conflicts.h"

bool domain_is_below(const conflicts *listed, besom_bytes name);

typedef struct domain_plan {
  unsigned labels; /* the most of a name that is asked */
  uint64_t exceptions, suffixes;
} domain_plan;

/*
 * Reads both lists, which must be rewindable and of domains, appends keys to them and rewinds them.
 * To the yes list: "!name" for each name of the no list below a listed one. To the no list: the
 * parents of its other names, which are asked, too, and the public suffixes that are not listed.
 * suffixes: a file with the rules of publicsuffix.org; NULL: that of the system, without which a
 * message says so. yes_wins: a name in both lists counts as listed. least_labels: those of the list
 * that is updated; parents with as many labels are asked, whatever the new names have.
 */
domain_plan domain_lists_prepare(key_reader *yes, key_reader *no, const char *suffixes,
                                 bool yes_wins, unsigned least_labels);

#endif
