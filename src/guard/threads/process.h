/* The process that a guard belongs to: calls in a child of fork are refused. */
#ifndef BESOM_GUARD_PROCESS_H
#define BESOM_GUARD_PROCESS_H

#include <stdbool.h>

struct process;

/* Without memory for the page, calls take longer. */
void besom__process_init(struct process *p);
void besom__process_free(struct process *p);
bool besom__process_has_id(const struct process *p);

#endif
