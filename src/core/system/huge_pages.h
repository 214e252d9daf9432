/* How much of a filter's memory the system has backed with huge pages. */
#ifndef BESOM_CORE_HUGE_PAGES_H
#define BESOM_CORE_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE ((size_t)1 << 21)

/*
 * Adds to *bytes the bytes of this memory that are in huge pages now. Memory that was never touched
 * has no pages. False if the system does not tell: it needs Linux 6.7. Cost: some microseconds, and
 * about one per MB that is not in huge pages. Allocates nothing.
 */
bool besom__add_huge_pages(const void *memory, size_t size, uint64_t *bytes);

#endif
