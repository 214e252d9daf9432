/* demand.h - how a fuzz target says that something must be so: it tells what is not, and aborts. */
#ifndef BESOM_FUZZ_DEMAND_H
#define BESOM_FUZZ_DEMAND_H

#include <stdio.h>
#include <stdlib.h>

#define demand(condition) ((condition) ? (void)0 : give_up(#condition, __FILE__, __LINE__))

/* The same for a check that gives NULL, or what is wrong. */
#define demand_nothing_wrong(check) complain_of((check), __FILE__, __LINE__)

static inline void give_up(const char *sentence, const char *file, int line) {
  fprintf(stderr, "%s:%d: %s\n", file, line, sentence);
  abort();
}

static inline void complain_of(const char *wrong, const char *file, int line) {
  if (wrong) give_up(wrong, file, line);
}

#endif
