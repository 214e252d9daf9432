/* The command line that makes a filter which besom advise or besom size recommends. */
#ifndef CLI_BUILD_LINE_H
#define CLI_BUILD_LINE_H

#include "advise/replay.h"
#include "lists/keys.h"

/* Zero: the option is left out. */
typedef struct build_plan {
  const char *kind, *hash;
  adaptation adaptation;
  bool by_fpr; /* give the rate instead of the size */
  double bits_per_key, fpr;
  uint64_t capacity;
  bool has_tabs;      /* some key has a tab, which besom db load takes for a separator */
  words set, queries; /* queries: the log that the no list is taken from */
  const key_form *form;
} build_plan;

/* Writes the command for a shell to a new string; free it. */
char *build_line(const build_plan *plan);

#endif
