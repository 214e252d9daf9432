/* What libbesom-lmdb's store and sidecar share: byte strings and errors of LMDB. */
#ifndef BESOM_STORE_LMDB_ERRORS_H
#define BESOM_STORE_LMDB_ERRORS_H

#include <errno.h>
#include <lmdb.h>
#include <sys/statvfs.h>

#include "besom.h"

static inline MDB_val to_lmdb(besom_bytes bytes) {
  return (MDB_val){bytes.len, (void *)bytes.data};
}

static inline besom_bytes from_lmdb(MDB_val value) {
  return (besom_bytes){value.mv_data, value.mv_size};
}

static inline besom_status lmdb_status(int error) {
  switch (error) {
  case 0:
    return BESOM_OK;
  case MDB_NOTFOUND:
    return BESOM_NOT_FOUND;
  case MDB_MAP_FULL:
  case MDB_TXN_FULL:
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return BESOM_DISK_FULL;
  case ENOMEM:
    return BESOM_NO_MEMORY;
  case MDB_READERS_FULL:
  case MDB_BAD_RSLOT: /* this thread has a read transaction open */
    return BESOM_BUSY;
  case EACCES:
  case EROFS:
  case EPERM:
    return BESOM_READ_ONLY;
  case MDB_INVALID:
  case MDB_CORRUPTED:
  case MDB_PAGE_NOTFOUND:
  case MDB_VERSION_MISMATCH:
  case MDB_INCOMPATIBLE:
    return BESOM_CORRUPT;
  case MDB_BAD_VALSIZE:
  case MDB_BAD_DBI:
    return BESOM_INVALID;
  default:
    return BESOM_IO;
  }
}

/* LMDB reports a short write as EIO, without a cause. On a full disk that is the cause. */
static inline bool lmdb_disk_is_full(MDB_env *env) {
  const char *path;
  struct statvfs disk;
  return mdb_env_get_path(env, &path) == 0 && statvfs(path, &disk) == 0 && disk.f_bavail < 16;
}

#endif
