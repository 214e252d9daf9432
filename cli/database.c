#define _DEFAULT_SOURCE 1 /* access */

#include "database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "verb.h"

#ifdef BESOM_WITH_LMDB
static besom_status open_lmdb(const char *directory, const char **reason, besom_store **out) {
  return besom_store_lmdb(directory, NULL, reason, out);
}

static besom_status open_lmdb_beside(const char *directory, const char **reason,
                                     besom_store **out) {
  return besom_store_lmdb(directory, &(besom_lmdb_options){.read_only = true}, reason, out);
}
#else
#define open_lmdb NULL
#define open_lmdb_beside NULL
#endif

#ifdef BESOM_WITH_ROCKSDB
static besom_status open_rocksdb(const char *directory, const char **reason, besom_store **out) {
  return besom_store_rocksdb(directory, NULL, reason, out);
}
#else
#define open_rocksdb NULL
#endif

typedef struct database {
  const char *name;
  const char *file;    /* present only in its directories */
  const char *package; /* of Debian, needed to build besom with it */
  /* NULL: besom was built without it. */
  besom_status (*open)(const char *directory, const char **reason, besom_store **out);
  /* Beside another process; NULL: it cannot. */
  besom_status (*open_beside)(const char *directory, const char **reason, besom_store **out);
} database;

static const database databases[] = {
    {"lmdb", "data.mdb", "liblmdb-dev", open_lmdb, open_lmdb_beside},
    {"rocksdb", "CURRENT", "librocksdb-dev", open_rocksdb, NULL},
};

static const database *database_in(const char *directory) {
  for (size_t i = 0; i < COUNT_OF(databases); i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, databases[i].file);
    if (access(path, F_OK) == 0) return &databases[i];
  }
  return NULL;
}

bool database_exists(const char *directory) {
  return database_in(directory) != NULL;
}

static const database *database_named(const char *name) {
  for (size_t i = 0; i < COUNT_OF(databases); i++)
    if (strcmp(databases[i].name, name) == 0) return &databases[i];
  usage_error("--store: unknown database '%s': lmdb or rocksdb", name);
}

/* in_use NULL: only for this process. */
static besom_store *open_for(const char *directory, const char *name, bool *in_use) {
  const database *existing = database_in(directory), *d = existing ? existing : &databases[0];
  if (name) d = database_named(name);
  if (existing && existing != d)
    fail("%s: this is a database of %s, not %s", directory, existing->name, d->name);
  if (!d->open)
    fail("besom was built without %s: install it (Debian: %s) and build besom again", d->name,
         d->package);
  besom_store *store;
  const char *reason = NULL;
  errno = 0;
  besom_status status = d->open(directory, &reason, &store);
  if (in_use) *in_use = status == BESOM_LOCKED;
  if (in_use && *in_use && d->open_beside) status = d->open_beside(directory, &reason, &store);
  if (status == BESOM_LOCKED) fail("%s: another process has this database open", directory);
  if (status != BESOM_OK && reason) fail("%s: %s", directory, reason);
  check(status, "%s", directory);
  return store;
}

besom_store *database_open(const char *directory, const char *name) {
  return open_for(directory, name, NULL);
}

besom_store *database_open_beside(const char *directory, const char *name, bool *in_use) {
  return open_for(directory, name, in_use);
}
