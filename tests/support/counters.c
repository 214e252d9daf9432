#include "support/counters.h"

#include <string.h>

enum { MAX_COUNTERS = 64 };

uint64_t counter_of(const besom_filter *f, const char *name) {
  besom_counter all[MAX_COUNTERS];
  size_t n = besom_counters(f, all, MAX_COUNTERS);
  for (size_t i = 0; i < n && i < MAX_COUNTERS; i++)
    if (!strcmp(all[i].name, name)) return all[i].value;
  return 0;
}
