/*
 * What proves that RocksDB opens all that it had.
 *
 * If the file MANIFEST was cut at the end of a record, RocksDB opens without the tables that the
 * lost records name, deletes their files, and may reach its last sequence number all the same by
 * its log. So the file besom-rocksdb.files beside it says how long MANIFEST was, and after a close
 * how long the logs were. MANIFEST only grows until the next open, which starts another one with a
 * higher number. Everything is synced before the file names it: a crash or a power cut leaves
 * nothing shorter.
 *
 * While the database is open, RocksDB deletes no file until a longer MANIFEST is recorded. If the
 * records after that are cut, RocksDB still has the log of what they name, and reads it again.
 */
#ifndef BESOM_STORE_ROCKSDB_FILES_H
#define BESOM_STORE_ROCKSDB_FILES_H

#include <rocksdb/c.h>

#include "besom_store.h"

struct rocksdb_files {
  int manifest;    /* the descriptor of the present MANIFEST, or -1 */
  uint64_t number; /* in its name */
  uint64_t bytes;  /* of it that are recorded */
  unsigned writes; /* since its number was last read */
};

/* Before an open: CORRUPT and *why if files are missing, or are shorter than recorded. A directory
   without a record, or with one that RocksDB was opened after, is OK. */
besom_status besom__rocksdb_files_check(const char *directory, const char **why);

/* After an open; before each close; after each write. Errors are ignored: the disk may be full. */
void besom__rocksdb_files_opened(struct rocksdb_files *files, rocksdb_t *db, const char *directory);
void besom__rocksdb_files_written(struct rocksdb_files *files, rocksdb_t *db,
                                  const char *directory);
void besom__rocksdb_files_closing(struct rocksdb_files *files, rocksdb_t *db,
                                  const char *directory);

/* After a close without an error: the logs, too, have all that was written. */
void besom__rocksdb_files_closed(const struct rocksdb_files *files, const char *directory);

/* A database that RocksDB has copied to this directory: its first open compares, too. */
void besom__rocksdb_files_copied(const char *directory);

#endif
