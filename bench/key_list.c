#include "key_list.h"

#include <stdlib.h>

#include "fail.h"

void key_list_add(key_list *l, uint64_t key) {
  if (l->count == l->room) {
    l->room = l->room ? 2 * l->room : 1024;
    l->keys = realloc(l->keys, l->room * sizeof *l->keys);
    if (!l->keys) fail("no memory for %zu keys", l->room);
  }
  l->keys[l->count++] = key;
}

void key_list_free(key_list *l) {
  free(l->keys);
  *l = (key_list){0};
}
