/*
 * sidecar_lmdb.c - a filter beside an LMDB database that an application has already. The
 * application keeps its table as it is; the sidecar keeps fingerprints of its keys in a file, and a
 * short log in a database of the same environment, which the application's transactions write.
 *
 *     sidecar_lmdb [directory]     (default: a directory under /tmp that is removed at the end)
 *
 * Run it twice with the same directory: the second run loads the filter, and reads no key.
 */
#define _DEFAULT_SOURCE 1 /* mkdtemp */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "besom_sidecar.h"

enum { OLD_USERS = 20000, NEW_USERS = 5000, PER_TRANSACTION = 100, ABSENT_KEYS = 50000 };

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

/* ------------------------------------------------------------------ the application, as it was */

typedef struct application {
  MDB_env *env;
  MDB_dbi users;
} application;

static application open_database(const char *directory) {
  application app;
  MDB_txn *txn;
  check(mdb_env_create(&app.env) == 0, "creating the environment");
  mdb_env_set_mapsize(app.env, (size_t)1 << 28);
  mdb_env_set_maxdbs(app.env, 2); /* one for users; one more, for the log of the sidecar */
  check(mdb_env_open(app.env, directory, 0, 0666) == 0, "opening the environment");
  check(mdb_txn_begin(app.env, NULL, 0, &txn) == 0, "beginning");
  check(mdb_dbi_open(txn, "users", MDB_CREATE, &app.users) == 0, "opening the table");
  check(mdb_txn_commit(txn) == 0, "committing");
  return app;
}

static besom_bytes name_of(const char *kind, unsigned i, char text[32]) {
  return (besom_bytes){text, (size_t)snprintf(text, 32, "%s:%06u", kind, i)};
}

/* What the table has had for years: nobody knows of a sidecar yet. */
static void store_old_users(application *app) {
  char text[32];
  MDB_txn *txn;
  check(mdb_txn_begin(app->env, NULL, 0, &txn) == 0, "beginning");
  for (unsigned i = 0; i < OLD_USERS; i++) {
    besom_bytes name = name_of("user", i, text);
    MDB_val key = {name.len, text}, value = {5, "value"};
    check(mdb_put(txn, app->users, &key, &value, 0) == 0, "storing a user");
  }
  check(mdb_txn_commit(txn) == 0, "committing");
}

/* ------------------------------------------------------------------ with the sidecar */

static besom_sidecar *attach(application *app, const char *path) {
  besom_sidecar_config config = {0}; /* fpr 0.001; as large as the table needs */
  besom_sidecar_lmdb_options options = {.env = app->env, .table = app->users};
  besom_sidecar *sidecar;
  const char *reason = "";
  besom_status status = besom_sidecar_lmdb(&config, &options, path, &reason, &sidecar);
  if (status != BESOM_OK) fprintf(stderr, "%s: %s\n", besom_strerror(status), reason);
  check(status == BESOM_OK, "attaching the sidecar");
  return sidecar;
}

/* The log is part of each transaction: one sync per commit, as before. */
static void store_new_users(application *app, besom_sidecar *sidecar) {
  char text[32];
  MDB_txn *txn = NULL;
  for (unsigned i = 0; i < NEW_USERS; i++) {
    if (i % PER_TRANSACTION == 0) {
      check(mdb_txn_begin(app->env, NULL, 0, &txn) == 0, "beginning");
      besom_sidecar_begin(sidecar);
    }
    besom_bytes value = {"new", 3};
    check(besom_sidecar_lmdb_put(sidecar, txn, name_of("user", OLD_USERS + i, text), value) ==
              BESOM_OK,
          "storing a user");
    if (i % 10 == 9) {
      besom_status status = besom_sidecar_lmdb_del(sidecar, txn, name_of("user", i, text));
      check(status == BESOM_OK || status == BESOM_NOT_FOUND, "deleting a user");
    }
    if (i % PER_TRANSACTION == PER_TRANSACTION - 1)
      check(besom_sidecar_lmdb_commit(sidecar, txn) == BESOM_OK, "committing");
  }
}

/* Returns how many users of the range were found. */
static unsigned look_up(application *app, besom_sidecar *sidecar, const char *kind, unsigned from,
                        unsigned to) {
  char text[32];
  MDB_txn *txn;
  unsigned found = 0;
  uint64_t point = besom_sidecar_read_point(sidecar); /* before the transaction begins */
  check(mdb_txn_begin(app->env, NULL, MDB_RDONLY, &txn) == 0, "beginning");
  for (unsigned i = from; i < to; i++) {
    besom_bytes value;
    besom_status status =
        besom_sidecar_lmdb_get(sidecar, txn, name_of(kind, i, text), point, &value);
    check(status == BESOM_OK || status == BESOM_NOT_FOUND, "looking up a user");
    found += status == BESOM_OK;
  }
  mdb_txn_abort(txn);
  return found;
}

static unsigned count_false_positives(besom_sidecar *sidecar) {
  char text[32];
  unsigned n = 0;
  for (unsigned i = 0; i < ABSENT_KEYS; i++) {
    besom_bytes name = name_of("absent", i, text);
    n += besom_sidecar_may_contain(sidecar, name.data, name.len);
  }
  return n;
}

static void use(const char *directory) {
  char path[600];
  application app = open_database(directory);
  snprintf(path, sizeof path, "%s/users.besom", directory);
  MDB_stat stat;
  MDB_txn *txn;
  check(mdb_txn_begin(app.env, NULL, MDB_RDONLY, &txn) == 0, "beginning");
  check(mdb_stat(txn, app.users, &stat) == 0, "counting the users");
  mdb_txn_abort(txn);
  if (stat.ms_entries == 0) store_old_users(&app);

  besom_sidecar *sidecar = attach(&app, path);
  besom_sidecar_statistics stats;
  besom_sidecar_stats(sidecar, &stats);
  printf("%s: %llu keys, %.1f bits per key\n",
         stats.origin == BESOM_SIDECAR_LOADED ? "loaded" : "built from a scan",
         (unsigned long long)stats.keys, 8.0 * (double)stats.filter_bytes / (double)stats.keys);

  store_new_users(&app, sidecar);
  unsigned found = look_up(&app, sidecar, "user", OLD_USERS, OLD_USERS + NEW_USERS);
  check(found == NEW_USERS, "every new user is found");
  unsigned before = count_false_positives(sidecar);
  check(look_up(&app, sidecar, "absent", 0, ABSENT_KEYS) == 0, "no absent user is found");
  printf("false positives of %u absent keys: %u, and %u once they were looked up\n", ABSENT_KEYS,
         before, count_false_positives(sidecar));
  check(besom_sidecar_close(sidecar) == BESOM_OK,
        "closing the sidecar"); /* before the environment */
  mdb_env_close(app.env);
}

int main(int argc, char **argv) {
  char temporary[] = "/tmp/sidecar_lmdb.XXXXXX";
  const char *directory = argc > 1 ? argv[1] : mkdtemp(temporary);
  if (!directory) return 1;
  use(directory);
  if (argc > 1) return 0;
  use(directory); /* as a second run would */
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", temporary);
  return system(command) != 0;
}
