/* Keys in memory, each different one once, with a number: from 0, in the order in which they came. */
#ifndef CLI_NUMBERED_H
#define CLI_NUMBERED_H

#include "besom.h"

typedef struct numbered numbered;

numbered *numbered_create(void);
void numbered_free(numbered *n);

/* The number of a key, which is new or known. The bytes are copied. */
uint32_t numbered_add(numbered *n, besom_bytes key);

uint32_t numbered_count(const numbered *n);
besom_bytes numbered_key(const numbered *n, uint32_t number);

#endif
