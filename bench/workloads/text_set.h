/* A set of texts, which stay where they are. {0} is empty. */
#ifndef BENCH_WORKLOADS_TEXT_SET_H
#define BENCH_WORKLOADS_TEXT_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "besom.h"

typedef struct text_set {
  besom_bytes *places; /* data NULL: free */
  size_t count, room;
} text_set;

/* False if it is there already. */
bool text_set_add(text_set *s, besom_bytes text);
bool text_set_has(const text_set *s, besom_bytes text);
void text_set_free(text_set *s);

#endif
