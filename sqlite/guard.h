#ifndef BESOM_SQLITE_GUARD_H
#define BESOM_SQLITE_GUARD_H
#include "extension.h"
int besom__sql_guard_describe(struct connection *connection, const char *name, sqlite3_str *json,
                              bool *found, char **error);
void besom__sql_guards_free_all(struct connection *connection);
#endif
