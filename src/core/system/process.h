/*
 * The process that an object belongs to. A child of fork has a copy of its memory, but not of its
 * threads, and shares its files with the parent: calls there are refused.
 *
 * A page that the system empties in children of fork makes the check one load. Where there is no
 * such page, the check asks for the process id.
 */
#ifndef BESOM_PROCESS_H
#define BESOM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bits.h"

struct process {
  volatile uint8_t *page; /* its first byte is 1, and 0 in a child of fork; or NULL */
  int64_t id;
};

/* Without memory for the page, calls take longer. */
void besom__process_init(struct process *p);
void besom__process_free(struct process *p);
bool besom__process_has_id(const struct process *p);

/* False in a child of fork. */
static inline bool is_own_process(const struct process *p) {
  return LIKELY(p->page != NULL) ? *p->page : besom__process_has_id(p);
}

#endif
