/* What besom build has made: the message, and the object of --json. */
#ifndef CLI_BUILD_RESULT_H
#define CLI_BUILD_RESULT_H

#include "lists/domain_lists.h"
#include "lists/keys.h"

typedef struct build_result {
  const char *path;
  besom_statistics stats;
  bool counts_keys, is_sample, has_no_list;
  uint64_t yes, no, conflicts; /* keys read; keys in both lists */
  const char *on_conflict;     /* what these count as */
  domain_plan domains;         /* all zero: no list of domains */
  keys_skipped skipped;        /* of the yes list */
  double least_bits;           /* 0: not known */
} build_result;

/* The least bits of any filter with these lists, per key of the yes list; 0 if that is not known.
 * Open: Theorem 7 of the AQF paper. Closed: which keys of both lists are on the yes list. */
double least_bits(const besom_statistics *stats, uint64_t no, bool closed);

/* A filter of groups knows the sum over them. */
double least_bits_of_groups(const besom_filter *f);

/* A no list that can change is stored key by key. Says so before it takes its time, if a filter
 * whose lists cannot change is much smaller. fpr: 0 for the default. */
void warn_if_no_list_is_large(uint64_t yes, uint64_t no, double fpr);

void build_result_print(const build_result *r, bool as_json);

#endif
