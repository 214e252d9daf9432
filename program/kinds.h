/* Lookup of filter kinds. */
#ifndef PROGRAM_KINDS_H
#define PROGRAM_KINDS_H

#include "besom.h"

/* Returns the description of a kind; NULL if no kind has this name. */
const besom_kind_info *kind_named(const char *name);

#endif
