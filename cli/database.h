/* The databases of besom db and besom demo. An error ends the program with a message. */
#ifndef CLI_DATABASE_H
#define CLI_DATABASE_H

#include "besom_store.h"

/*
 * Opens the database in a directory, and creates it if it does not exist. name: "lmdb" or
 * "rocksdb"; NULL: the one in the directory, or lmdb for a new database.
 */
besom_store *database_open(const char *directory, const char *name);

/*
 * The same for reading. If another process has the database open, and it is of LMDB, opens it
 * read-only beside that process; *in_use tells.
 */
besom_store *database_open_beside(const char *directory, const char *name, bool *in_use);

/* Does the directory contain a database? */
bool database_exists(const char *directory);

#endif
