/* What besom advise recommends, and why. */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "advise/ranking.h"

typedef enum verdict {
  USE_FILTER,
  USE_EXACT_SET, /* the set is so small that its keys fit into the memory at hand */
  USE_NOTHING,   /* a filter saves too little */
} verdict;

typedef struct advice {
  verdict verdict;
  const contender *best; /* the best filter; NULL if there is none for such a set */
  char text[1000];
} advice;

/* all: ranked. memory: bytes that an exact set may take. */
advice advice_find(const contender *all, size_t n, const query_log *log, uint64_t memory,
                   double us_per_read);

#endif
