/* Checks of arguments that all stores make, and the result of a visit. */
#ifndef BESOM_STORE_ARGUMENT_CHECKS_H
#define BESOM_STORE_ARGUMENT_CHECKS_H

#include "besom_store.h"

enum { MAX_TABLE_KEY = 1 << 16 };

static inline bool is_bytes(besom_bytes bytes) {
  return (bytes.data || !bytes.len) && bytes.len <= UINT32_MAX;
}

static inline bool is_record(const besom_record *record) {
  return record && is_bytes(record->key) && is_bytes(record->value);
}

static inline bool is_table(besom_table table) {
  return table == BESOM_TABLE_MANIFEST || table == BESOM_TABLE_KEYS;
}

static inline bool is_table_key(besom_bytes key) {
  return is_bytes(key) && key.len <= MAX_TABLE_KEY;
}

/* A visitor ends a walk with END; the walk then returns OK. */
static inline besom_status end_as_ok(besom_status status) {
  return status == BESOM_END ? BESOM_OK : status;
}

#endif
