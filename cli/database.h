/* Databases in directories, for the verbs that keep records. What goes wrong ends the program. */
#ifndef CLI_DATABASE_H
#define CLI_DATABASE_H

#include "besom_store.h"

/*
 * Opens the database in the directory, which is made if it is not there. name: "lmdb" or "rocksdb"; NULL: what the
 * directory has, or else lmdb.
 */
besom_store *database_open(const char *directory, const char *name);

/* Is there a database in this directory? */
bool database_exists(const char *directory);

#endif
