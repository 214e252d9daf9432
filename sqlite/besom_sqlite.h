/*
 * besom_sqlite.h - the SQLite extension, for programs that link it statically (libbesom-sqlite.a).
 *
 *     sqlite3_auto_extension((void (*)(void))besom_sqlite_init);
 *
 * makes the functions and the module besom_guard known to every connection that is opened later.
 * docs/sqlite.md describes them. Needs SQLite 3.38 or later.
 */
#ifndef BESOM_SQLITE_H
#define BESOM_SQLITE_H

#include <sqlite3.h>

#include "besom_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3_api_routines;

/*
 * Registers the extension with one connection. The third argument is not used; it may be NULL.
 * Returns SQLITE_OK, or an SQLite error; *error (may be NULL) is then a sentence from
 * sqlite3_malloc, or NULL.
 */
BESOM_API int besom_sqlite_init(sqlite3 *db, char **error,
                                const struct sqlite3_api_routines *routines);

#ifdef __cplusplus
}
#endif

#endif
