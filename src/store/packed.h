/*
 * Records as the bytes that an ordered database keeps.
 *
 * A list's record is its key's length (7 bits a byte, the low ones first, the top bit set in all but the last), the
 * key, the value. A group is what many long keys of a table are kept as, which begin alike: of each the lengths of the
 * rest of its key and of its value, then both; in the order of the keys.
 */
#ifndef BESOM_STORE_PACKED_H
#define BESOM_STORE_PACKED_H

#include "besom_store.h"

enum { PACKED_LENGTH_MAX = 5 }; /* bytes of a 32-bit length */

/* Whether a record can be one at all, and packed is below 4 GiB. */
bool besom__can_be_packed(const besom_record *record);

/* The room that a list's record takes; writing it there; reading it again (CORRUPT). */
size_t besom__packed_size(const besom_record *record);
void besom__pack(const besom_record *record, uint8_t *out);
besom_status besom__unpack(besom_bytes packed, besom_record *record);

/* The first item of a group, with the rest of its key as key; *group is what follows. END, CORRUPT. */
besom_status besom__group_next(besom_bytes *group, besom_record *item);

/* Where an item is in a group, or, if NOT_FOUND, would be: bytes from start to end. CORRUPT. */
struct group_span {
  size_t start, end;
  besom_bytes value;
};
besom_status besom__group_find(besom_bytes group, besom_bytes rest, struct group_span *span);

/* The size of an item; a group with an item (NULL: none) in the place of a span. */
size_t besom__group_item_size(const besom_record *item);
void besom__group_splice(besom_bytes group, const struct group_span *span, const besom_record *item,
                         uint8_t *out);

#endif
