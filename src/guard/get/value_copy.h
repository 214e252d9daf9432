/* Copies of values. */
#ifndef BESOM_GUARD_VALUE_COPY_H
#define BESOM_GUARD_VALUE_COPY_H

#include "guard/guard.h"

/* Copies a value. The caller frees the copy with besom_guard_release. The bytes that a store shows
   are valid only until its next call. Errors: NO_MEMORY. */
besom_status besom__value_copy(besom_guard *g, besom_bytes from, besom_bytes *out);

/* Frees the block that is kept for the next copy. */
void besom__free_spare_value(besom_guard *g);

#endif
