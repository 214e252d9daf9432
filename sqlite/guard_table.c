#include "guard.h"
int besom__sql_guard_describe(struct connection *connection, const char *name, sqlite3_str *json,
                              bool *found, char **error) {
  (void)connection, (void)name, (void)json, (void)error;
  *found = false;
  return SQLITE_OK;
}
void besom__sql_guards_free_all(struct connection *connection) {
  (void)connection;
}
int besom__sql_register_guard(struct connection *connection) {
  (void)connection;
  return 0;
}
