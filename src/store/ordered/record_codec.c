#include "store/ordered/record_codec.h"

#include <string.h>

#include "store/sorted_map.h"
#include "store/store_calls.h"

static size_t varint_size(size_t length) {
  size_t size = 1;
  while (length >>= 7) size++;
  return size;
}

static uint8_t *put_varint(uint8_t *at, size_t length) {
  for (; length >= 128; length >>= 7) *at++ = (uint8_t)(length | 128);
  *at++ = (uint8_t)length;
  return at;
}

static uint8_t *put_bytes(uint8_t *at, const void *data, size_t len) {
  if (len) memcpy(at, data, len);
  return at + len;
}

static bool parse_varint(besom_bytes *from, size_t *length) {
  const uint8_t *bytes = from->data;
  uint64_t read = 0;
  for (size_t i = 0; i < from->len && i < MAX_VARINT_BYTES; i++) {
    read |= (uint64_t)(bytes[i] & 127) << (7 * i);
    if (bytes[i] & 128) continue;
    if (read > SIZE_MAX) return false; /* only where size_t has 32 bits */
    *from = (besom_bytes){bytes + i + 1, from->len - i - 1};
    *length = (size_t)read;
    return true;
  }
  return false;
}

static bool parse_bytes(besom_bytes *from, size_t len, besom_bytes *taken) {
  if (len > from->len) return false;
  *taken = (besom_bytes){from->data, len};
  *from = (besom_bytes){(const uint8_t *)from->data + len, from->len - len};
  return true;
}

/* ------------------------------------------------------------------ records of bucket lists */

size_t besom__encoded_size(const besom_record *record) {
  if (!is_record(record) ||
      (uint64_t)record->key.len + record->value.len > UINT32_MAX - 2 * MAX_VARINT_BYTES)
    return 0;
  return varint_size(record->key.len) + record->key.len + record->value.len;
}

void besom__encode_record(const besom_record *record, uint8_t *out) {
  out = put_varint(out, record->key.len);
  out = put_bytes(out, record->key.data, record->key.len);
  put_bytes(out, record->value.data, record->value.len);
}

besom_status besom__decode_long_record(besom_bytes encoded, besom_record *record) {
  size_t key_len;
  if (!parse_varint(&encoded, &key_len) || !parse_bytes(&encoded, key_len, &record->key))
    return BESOM_CORRUPT;
  record->value = encoded;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ groups */

besom_status besom__group_next(besom_bytes *group, besom_record *item) {
  size_t rest_len, value_len;
  if (!group->len) return BESOM_END;
  bool complete = parse_varint(group, &rest_len) && parse_varint(group, &value_len) &&
                  parse_bytes(group, rest_len, &item->key) &&
                  parse_bytes(group, value_len, &item->value);
  return complete ? BESOM_OK : BESOM_CORRUPT;
}

besom_status besom__group_find(besom_bytes group, besom_bytes rest, struct group_span *span) {
  besom_bytes left = group;
  for (;;) {
    besom_record item;
    span->start = span->end = group.len - left.len;
    besom_status status = besom__group_next(&left, &item);
    if (status != BESOM_OK) return status == BESOM_END ? BESOM_NOT_FOUND : status;
    int order = besom__compare(item.key, rest);
    if (order > 0) return BESOM_NOT_FOUND;
    if (order < 0) continue;
    span->end = group.len - left.len;
    span->value = item.value;
    return BESOM_OK;
  }
}

size_t besom__group_item_size(const besom_record *item) {
  return varint_size(item->key.len) + varint_size(item->value.len) + item->key.len +
         item->value.len;
}

void besom__group_splice(besom_bytes group, const struct group_span *span, const besom_record *item,
                         uint8_t *out) {
  const uint8_t *bytes = group.data;
  out = put_bytes(out, bytes, span->start);
  if (item) {
    out = put_varint(out, item->key.len);
    out = put_varint(out, item->value.len);
    out = put_bytes(out, item->key.data, item->key.len);
    out = put_bytes(out, item->value.data, item->value.len);
  }
  if (group.len > span->end) put_bytes(out, bytes + span->end, group.len - span->end);
}
