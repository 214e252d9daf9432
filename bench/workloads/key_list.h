/* Keys that somebody has noted down. {0} is empty. */
#ifndef BENCH_WORKLOADS_KEY_LIST_H
#define BENCH_WORKLOADS_KEY_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct key_list {
  uint64_t *keys;
  size_t count, room;
} key_list;

void key_list_add(key_list *l, uint64_t key);
void key_list_free(key_list *l);

/* In ascending order, each key once. */
void key_list_sort(key_list *l);

/* Of two keys, for qsort and bsearch. */
int key_compare(const void *a, const void *b);

#endif
