/*
 * A universe of keys in groups, as certificates by issuer: groups of very different sizes, with
 * very different shares of keys on the yes list. All is a pure function of a seed.
 *
 * Sizes are log-normal: the natural logarithm of a size has a standard deviation of SIZE_DEVIATION.
 * Shares are logit-normal: log(share / (1 - share)) has a standard deviation of SHARE_DEVIATION and
 * a mean such that the yes list has the wanted length. Sizes are rounded up, yes keys to the
 * nearest number.
 */
#ifndef BENCH_WORKLOADS_GROUPED_LIST_H
#define BENCH_WORKLOADS_GROUPED_LIST_H

#include "besom.h"

#define SIZE_DEVIATION 2.0
#define SHARE_DEVIATION 2.0
#define GROUPED_KEY_BYTES 12 /* 4 of the group, then 8 */
#define GROUPED_KEY_RULE "^(.{4})"

typedef struct key_group {
  uint64_t yes, no;
} key_group;

typedef struct group_universe {
  uint64_t seed;
  uint32_t n;
  key_group *groups;
  uint64_t yes, no; /* of all groups */
} group_universe;

group_universe group_universe_new(uint64_t seed, uint32_t groups, uint64_t yes, uint64_t keys);
void group_universe_free(group_universe *u);

/* One of the lists, group by group; or keys of the groups that are on neither list. */
typedef enum group_part { GROUP_YES, GROUP_NO, GROUP_OTHERS } group_part;

typedef struct grouped_list {
  besom_source source; /* points at the struct: do not copy it */
  const group_universe *universe;
  group_part part;
  uint32_t group;
  uint64_t at; /* in the group */
  uint8_t key[GROUPED_KEY_BYTES];
} grouped_list;

/* GROUP_OTHERS has as many keys as the no list. */
void grouped_list_open(grouped_list *l, const group_universe *u, group_part part);

/* How many of at most `most` keys of the list the filter answers yes. */
uint64_t grouped_list_count_yes(const besom_filter *f, grouped_list *l, uint64_t most,
                                uint64_t *queried);

#endif
