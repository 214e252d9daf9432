/*
 * failing_rocksdb.h - replaces functions of RocksDB by such that fail when a test plans it. A
 * program includes it once, and defines _GNU_SOURCE before its first include.
 */
#ifndef BESOM_TESTS_FAILING_ROCKSDB_H
#define BESOM_TESTS_FAILING_ROCKSDB_H

#include <dlfcn.h>
#include <rocksdb/c.h>
#include <stdbool.h>
#include <string.h>

static struct {
  unsigned calls, fail_at; /* fail_at 0: none fails */
  const char *error;
} plan;

/* As RocksDB reports it: the caller frees the text. */
static bool fails(char **error) {
  if (++plan.calls != plan.fail_at) return false;
  *error = strdup(plan.error);
  return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void rocksdb_write(rocksdb_t *db, const rocksdb_writeoptions_t *options,
                   rocksdb_writebatch_t *batch, char **error) {
  if (!fails(error)) REAL(rocksdb_write)(db, options, batch, error);
}

void rocksdb_flush_wal(rocksdb_t *db, unsigned char sync, char **error) {
  if (!fails(error)) REAL(rocksdb_flush_wal)(db, sync, error);
}

void rocksdb_iter_get_error(const rocksdb_iterator_t *iterator, char **error) {
  if (!fails(error)) REAL(rocksdb_iter_get_error)(iterator, error);
}

#endif
