/*
 * Encoding of records as the values of an ordered database.
 *
 * A record of a bucket list is encoded as the length of its key (a varint: 7 bits per byte, the low
 * ones first, the top bit set in all but the last), the key, the value. A group (ordered_store.h)
 * is a sequence of items ordered by key. An item is the varints of the lengths of the rest of its
 * key and of its value, then both.
 */
#ifndef BESOM_STORE_RECORD_CODEC_H
#define BESOM_STORE_RECORD_CODEC_H

#include "besom_store.h"

enum { MAX_VARINT_BYTES = 5 }; /* of a 32-bit length */

/* The size of an encoded record: below 4 GiB, or 0 if the record is too long or not valid. */
size_t besom__encoded_size(const besom_record *record);

/* Encoding; decoding (CORRUPT). */
void besom__encode_record(const besom_record *record, uint8_t *out);
besom_status besom__decode_long_record(besom_bytes encoded, besom_record *record);

/* Keys of less than 128 bytes have a length of one byte. */
static inline besom_status besom__decode_record(besom_bytes encoded, besom_record *record) {
  const uint8_t *at = encoded.data;
  if (!encoded.len || *at >= 128 || *at >= encoded.len)
    return besom__decode_long_record(encoded, record);
  record->key = (besom_bytes){at + 1, *at};
  record->value = (besom_bytes){at + 1 + *at, encoded.len - 1 - *at};
  return BESOM_OK;
}

/* Decodes the first item of a group; its key is the rest of the key. *group becomes what follows.
   END, CORRUPT. */
besom_status besom__group_next(besom_bytes *group, besom_record *item);

/* Finds an item: the bytes from start to end. If NOT_FOUND, both are where it belongs. CORRUPT. */
struct group_span {
  size_t start, end;
  besom_bytes value;
};
besom_status besom__group_find(besom_bytes group, besom_bytes rest, struct group_span *span);

/* The encoded size of an item. splice: copies a group with the span replaced by an item (NULL: by
   nothing). */
size_t besom__group_item_size(const besom_record *item);
void besom__group_splice(besom_bytes group, const struct group_span *span, const besom_record *item,
                         uint8_t *out);

#endif
