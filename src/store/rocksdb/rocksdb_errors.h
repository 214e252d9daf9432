/* What libbesom-rocksdb's store and sidecar share: errors and scans of RocksDB. */
#ifndef BESOM_STORE_ROCKSDB_ERRORS_H
#define BESOM_STORE_ROCKSDB_ERRORS_H

#include <rocksdb/c.h>
#include <string.h>

#include "besom_store.h"

/* RocksDB reports errors as text. Frees it and returns its status. NULL is OK. */
static inline besom_status rocksdb_status(char *error) {
  static const struct {
    const char *word;
    besom_status status;
  } known[] = {
      {"No space left", BESOM_DISK_FULL},
      {"Disk quota exceeded", BESOM_DISK_FULL},
      {"File too large", BESOM_DISK_FULL}, /* a limit of the process or the file system */
      {"Permission denied", BESOM_READ_ONLY},
      {"Read-only file system", BESOM_READ_ONLY},
      {"No locks available", BESOM_LOCKED},               /* by this process */
      {"Resource temporarily unavailable", BESOM_LOCKED}, /* by another process */
      {"Corruption", BESOM_CORRUPT},
      {"Invalid argument", BESOM_INVALID},
  };
  besom_status status = error ? BESOM_IO : BESOM_OK;
  for (size_t i = 0; status == BESOM_IO && i < sizeof known / sizeof *known; i++)
    if (strstr(error, known[i].word)) status = known[i].status;
  rocksdb_free(error);
  return status;
}

/* Visits the records from the iterator's on. */
static inline besom_status rocksdb_walk(rocksdb_iterator_t *at, besom_table_visit visit,
                                        void *ctx) {
  for (; rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
    besom_record record;
    record.key.data = rocksdb_iter_key(at, &record.key.len);
    record.value.data = rocksdb_iter_value(at, &record.value.len);
    besom_status status = visit(ctx, &record);
    if (status != BESOM_OK) return status == BESOM_END ? BESOM_OK : status;
  }
  char *error = NULL;
  rocksdb_iter_get_error(at, &error);
  return rocksdb_status(error);
}

#endif
