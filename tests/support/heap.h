/*
 * heap.h - memory of the tests themselves. A test that gets none has nothing to say: it ends the program.
 */
#ifndef BESOM_TESTS_HEAP_H
#define BESOM_TESTS_HEAP_H

#include <stddef.h>

/* n zeroed elements (n = 0 gives a pointer, too); free() them. */
void *heap_array(size_t n, size_t size);

/* The memory with a new size; free() it. */
void *heap_resize(void *memory, size_t size);

#endif
