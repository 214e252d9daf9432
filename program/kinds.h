/* Looking up kinds of filters. */
#ifndef PROGRAM_KINDS_H
#define PROGRAM_KINDS_H

#include "besom.h"

/* What is known about the kind of that name; NULL if there is none. */
const besom_kind_info *kind_named(const char *name);

#endif
