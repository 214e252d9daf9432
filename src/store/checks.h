/* What all stores ask of their arguments, and what a walk returns. */
#ifndef BESOM_STORE_CHECKS_H
#define BESOM_STORE_CHECKS_H

#include "besom_store.h"

enum { LONGEST_TABLE_KEY = 1 << 16 };

static inline bool is_bytes(besom_bytes bytes) {
  return (bytes.data || !bytes.len) && bytes.len <= UINT32_MAX;
}

static inline bool is_record(const besom_record *record) {
  return record && is_bytes(record->key) && is_bytes(record->value);
}

static inline bool is_table(besom_table table) {
  return table == BESOM_TABLE_NOTES || table == BESOM_TABLE_KEYS;
}

static inline bool is_table_key(besom_bytes key) {
  return is_bytes(key) && key.len <= LONGEST_TABLE_KEY;
}

/* A visitor that has seen enough ends a walk well. */
static inline besom_status end_is_ok(besom_status status) {
  return status == BESOM_END ? BESOM_OK : status;
}

#endif
