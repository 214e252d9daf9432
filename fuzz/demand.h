/* demand.h - assertions of fuzz targets: print the failed condition and abort. */
#ifndef BESOM_FUZZ_DEMAND_H
#define BESOM_FUZZ_DEMAND_H

#include <stdio.h>
#include <stdlib.h>

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

#endif
