#include "support/heap.h"

#include <stdio.h>
#include <stdlib.h>

static void *or_die(void *memory) {
  if (memory) return memory;
  fputs("the test program is out of memory\n", stderr);
  abort();
}

void *heap_array(size_t n, size_t size) {
  return or_die(calloc(n ? n : 1, size));
}

void *heap_resize(void *memory, size_t size) {
  return or_die(realloc(memory, size ? size : 1));
}
