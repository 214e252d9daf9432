/* demand.h - assertions of fuzz targets and of the soak: print the failed condition and abort. */
#ifndef BESOM_TESTS_DEMAND_H
#define BESOM_TESTS_DEMAND_H

#include <stdio.h>
#include <stdlib.h>

#include "besom.h"

#define demand(condition) ((condition) ? (void)0 : abort_with(#condition, __FILE__, __LINE__))

/* For a check that returns an error message or NULL. */
#define demand_no_error(check) abort_if_error((check), __FILE__, __LINE__)

static inline void abort_with(const char *message, const char *file, int line) {
  fprintf(stderr, "%s:%d: %s\n", file, line, message);
  abort();
}

static inline void abort_if_error(const char *error, const char *file, int line) {
  if (error) abort_with(error, file, line);
}

/* Reads statistics and counters of the filter and of its layers. */
static inline void demand_counters(const besom_filter *f) {
  enum { CAP = 64 };
  besom_counter counters[CAP];
  besom_statistics stats;
  size_t n = besom_counters(f, counters, CAP);
  demand(n <= CAP && besom_counters(f, NULL, 0) == n);
  for (size_t i = 0; i < n; i++) demand(counters[i].name && *counters[i].name);
  demand(besom_stats(f, &stats) == BESOM_OK && stats.reserve_used >= 0);
  for (size_t i = 0; besom_layer(f, i); i++)
    demand(besom_stats(besom_layer(f, i), &stats) == BESOM_OK);
}

#endif
