/* A hash set of texts. The texts are not copied. {0} is empty. */
#ifndef BENCH_WORKLOADS_TEXT_SET_H
#define BENCH_WORKLOADS_TEXT_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "besom.h"

typedef struct text_set {
  besom_bytes *slots; /* data NULL: empty slot */
  size_t count, capacity;
} text_set;

/* Returns false if the text is already in the set. */
bool text_set_add(text_set *s, besom_bytes text);
bool text_set_has(const text_set *s, besom_bytes text);
void text_set_free(text_set *s);

#endif
