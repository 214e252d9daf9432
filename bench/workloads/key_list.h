/* A growable array of 64-bit keys. {0} is empty. */
#ifndef BENCH_WORKLOADS_KEY_LIST_H
#define BENCH_WORKLOADS_KEY_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct key_list {
  uint64_t *keys;
  size_t count, capacity;
} key_list;

void key_list_add(key_list *l, uint64_t key);
void key_list_free(key_list *l);

/* Sorts in ascending order and removes duplicates. */
void key_list_sort(key_list *l);

/* Compares two keys, for qsort and bsearch. */
int key_compare(const void *a, const void *b);

#endif
