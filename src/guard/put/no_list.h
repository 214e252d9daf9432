/* The no list: keys that are certainly absent and never cost a read. */
#ifndef BESOM_GUARD_NO_LIST_H
#define BESOM_GUARD_NO_LIST_H

#include "guard/get/digest_list.h"

besom_status besom__no_list_put(besom_guard *g, const besom_bytes *key);
besom_status besom__no_list_delete(besom_guard *g, const besom_bytes *key);

/* Reads the number of keys on the no list. */
besom_status besom__no_list_open(besom_guard *g);

/* The digests of the no list's keys in the bucket of a digest. After OK free the list. */
besom_status besom__no_list_read(besom_guard *g, const struct epoch *epoch, besom_digest digest,
                                 struct digest_list *out, uint64_t *reads);
bool besom__no_list_has(const struct digest_list *list, besom_digest digest, uint32_t *rank);

/* Extends the fingerprint of a member until it matches none of these keys, as far as the reserve
   allows. */
besom_status besom__no_list_separate(besom_guard *g, besom_filter *f, const struct digest_list *no,
                                     besom_digest member, besom_match at);

/* A migration: appends a key of the no list to the next epoch; removes the first key of a list from
   the current one. */
besom_status besom__no_list_migrate(besom_guard *g, const besom_record *record);
besom_status besom__no_list_leave(besom_guard *g, uint64_t bucket);

/* After a filter was filled from the store: separates its members from the keys of its no lists. */
besom_status besom__no_list_restore(besom_guard *g, const struct epoch *epoch);

#endif
