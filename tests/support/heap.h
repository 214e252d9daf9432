/*
 * heap.h - memory of the tests themselves. Aborts the program if there is none.
 */
#ifndef BESOM_TESTS_HEAP_H
#define BESOM_TESTS_HEAP_H

#include <stddef.h>

/* n zeroed elements; not NULL for n = 0. The caller calls free(). */
void *heap_array(size_t n, size_t size);

/* realloc; the caller calls free(). */
void *heap_resize(void *memory, size_t size);

#endif
