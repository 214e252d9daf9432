/* Digests of the records of a bucket list. */
#ifndef BESOM_GUARD_DIGEST_LIST_H
#define BESOM_GUARD_DIGEST_LIST_H

#include "guard/guard.h"

/* The digests of a bucket list. They are collected first, because a store must not be called while
   it shows a record. */
struct digest_list {
  const besom_guard *guard;
  const besom_filter *filter;
  size_t n, room;
  besom_digest *more; /* all of them, if they are not few */
  besom_digest few[FEW_MATCHES];
};

struct digest_list besom__digest_list(const besom_guard *g, const besom_filter *f);
/* A visitor of bucket lists. Errors: NO_MEMORY. */
besom_status besom__digest_list_add(void *list, besom_place at, const besom_record *record);
void besom__digest_list_free(struct digest_list *list);

static inline const besom_digest *digests_of(const struct digest_list *list) {
  return list->more ? list->more : list->few;
}

#endif
