/* besom build --reserve: room for fixes. */
#ifndef CLI_FIX_RESERVE_H
#define CLI_FIX_RESERVE_H

#include <stdint.h>

/* A share of the slots, or a number of fixes. What it is not, is 0; both: the default. */
typedef struct fix_reserve {
  double share;
  uint64_t fixes;
} fix_reserve;

/* text may be NULL. Fails if it is neither. */
fix_reserve fix_reserve_read(const char *text);

#endif
