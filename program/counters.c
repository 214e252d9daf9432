#include "counters.h"

#include <string.h>

size_t counters_all(const besom_filter *f, besom_counter counters[MAX_COUNTERS]) {
  size_t n = besom_counters(f, counters, MAX_COUNTERS);
  return n < MAX_COUNTERS ? n : MAX_COUNTERS;
}

uint64_t counter_of(const besom_filter *f, const char *name) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = counters_all(f, counters);
  for (size_t i = 0; i < n; i++)
    if (strcmp(counters[i].name, name) == 0) return counters[i].value;
  return 0;
}
