#include "guard/get/digest_list.h"

struct digest_list besom__digest_list(const besom_guard *g, const besom_filter *f) {
  return (struct digest_list){.guard = g, .filter = f, .room = FEW_MATCHES};
}

static bool digest_list_enlarge(struct digest_list *list) {
  size_t bytes = list->room * sizeof *list->more;
  besom_digest *larger = besom__allocate(&list->guard->allocator, 2 * bytes);
  if (!larger) return false;
  memcpy(larger, digests_of(list), list->n * sizeof *larger);
  if (list->more) besom__release(&list->guard->allocator, list->more, bytes);
  list->more = larger;
  list->room *= 2;
  return true;
}

besom_status besom__digest_list_add(void *ctx, besom_place at, const besom_record *record) {
  struct digest_list *list = ctx;
  (void)at;
  if (list->n == list->room && !digest_list_enlarge(list)) return BESOM_NO_MEMORY;
  besom_digest *to = list->more ? list->more : list->few;
  to[list->n++] = besom_hash(list->filter, record->key.data, record->key.len);
  return BESOM_OK;
}

void besom__digest_list_free(struct digest_list *list) {
  if (list->more)
    besom__release(&list->guard->allocator, list->more, list->room * sizeof *list->more);
}
