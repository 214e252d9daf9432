#include "workloads/key_list.h"

#include <stdlib.h>

#include "fail.h"

void key_list_add(key_list *l, uint64_t key) {
  if (l->count == l->capacity) {
    l->capacity = l->capacity ? 2 * l->capacity : 1024;
    l->keys = realloc(l->keys, l->capacity * sizeof *l->keys);
    if (!l->keys) fail("no memory for %zu keys", l->capacity);
  }
  l->keys[l->count++] = key;
}

void key_list_free(key_list *l) {
  free(l->keys);
  *l = (key_list){0};
}

int key_compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void key_list_sort(key_list *l) {
  size_t kept = 0;
  if (l->count) qsort(l->keys, l->count, sizeof *l->keys, key_compare);
  for (size_t i = 0; i < l->count; i++)
    if (i == 0 || l->keys[i] != l->keys[i - 1]) l->keys[kept++] = l->keys[i];
  l->count = kept;
}
