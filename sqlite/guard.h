/*
 * guard.h - besom_guard: a virtual table that is a filter in front of an indexed column.
 *
 * Triggers of the guarded table append (op, key, stamp) to the log: op '+' for a key that is
 * inserted, '-' for one that is deleted, 'r' when the filter was rebuilt; stamp is 8 random bytes.
 * A connection has a filter of its own, which holds at least the keys of the table at one position
 * of the log, and replays what follows. The rules:
 *
 * - Keys are only added. A deleted key stays in the filter until it is rebuilt, so neither a
 *   rollback nor a REPLACE, which runs no delete trigger, can make the filter deny a member.
 * - A filter is loaded or built only while the connection sees committed data. In a write
 *   transaction rows are replayed onto it; without a filter the table is asked.
 * - A position is valid if the log has its row with its stamp. After a rollback it has not, or the
 *   row has another stamp; then the last committed position counts.
 * - Positions are consecutive. A gap means that the log was trimmed: the saved filter counts.
 * - A key is reported only if committed data do not have it.
 */
#ifndef BESOM_SQLITE_GUARD_H
#define BESOM_SQLITE_GUARD_H

#include "keys.h"

/* A row of the log. id 0: the log was empty. */
struct position {
  sqlite3_int64 id;
  uint64_t stamp;
};

/* A filter and the position that it holds all keys of. */
struct image {
  besom_filter *filter;
  struct position at;
  uint64_t removed; /* keys that were deleted since it was built */
};

enum { IDLE_LOOKUPS = 4 };

struct guard {
  struct guard *next;
  unsigned references; /* by the list of the connection, and by virtual tables */
  sqlite3 *db;
  char *schema, *name;  /* of the virtual table; its other tables are NAME_log and NAME_state */
  char *table, *column; /* the guarded column; in the same schema */
  struct options options;

  /* What guard_schema.c has found, at this version of the schema. */
  sqlite3_int64 schema_version; /* of it and of temp; -1: not looked at */
  char *problem;                /* why the guard cannot be used; NULL if it can */
  struct key_rules rules;
  enum affinity declared; /* of the virtual table's column, when it was connected */
  const char *rowid;      /* the name of the table's rowid; "NULL" if it has none */
  bool logs_before;       /* the triggers of the guard are BEFORE triggers: see guard_schema.c */
  bool other_triggers;    /* triggers of the user could look at g before the log has their row */

  /* The filter of this connection (guard_log.c). */
  struct image image;        /* image.at: seen last, perhaps not committed */
  struct position committed; /* an earlier position, which no rollback can undo */
  bool is_current;           /* nothing has changed since these two were read: */
  unsigned data_version;
  sqlite3_int64 changes;
  struct tagged_key key, previous;

  /* Prepared statements; closed when the virtual table is disconnected. */
  sqlite3_stmt *read_schema_version[2], *read_log;
  sqlite3_stmt *idle[IDLE_LOOKUPS];
  int idle_count;

  struct {
    uint64_t queries, negatives, lookups, false_positives, reported, loads, builds, replayed;
  } counts;
};

/* ------------------------------------------------------------------ the guards of a connection */

/*
 * Finds or makes the guard of a virtual table. It outlives the table, which SQLite disconnects
 * whenever the schema changes. The caller releases it.
 */
int besom__sql_guard_open(struct connection *connection, const char *schema, const char *name,
                          const char *table, const char *column, const char *options,
                          struct guard **out, char **error);
void besom__sql_guard_close_statements(struct guard *guard);
void besom__sql_guard_release(struct guard *guard);
/* Takes the guard out of the list: its table was dropped. */
void besom__sql_guard_forget(struct connection *connection, const struct guard *guard);
void besom__sql_guards_free_all(struct connection *connection);

/* Appends the description of the guard of this name as a JSON object without its last brace. */
int besom__sql_guard_describe(struct connection *connection, const char *name, sqlite3_str *json,
                              bool *found, char **error);

/* ------------------------------------------------------------------ guard_schema.c */

/* Looks at the guarded table; sets guard->problem, rules, rowid. */
int besom__sql_guard_inspect_table(struct guard *guard, char **error);
/* If the schema has changed: the same, and looks at the triggers and the other tables. */
int besom__sql_guard_inspect(struct guard *guard, char **error);

/* Creates what is missing, and replaces triggers that were changed. */
int besom__sql_guard_create_objects(struct guard *guard, char **error);
int besom__sql_guard_drop_objects(struct guard *guard, char **error);
/* The guard keeps its name: SQLite connects the renamed table as a new one. */
int besom__sql_guard_rename_objects(struct guard *guard, const char *name, char **error);

/* ------------------------------------------------------------------ guard_log.c */

/*
 * Brings the filter to what the connection sees now. *filter is NULL if the table must be asked
 * for every key. *may_report: what the connection sees is committed.
 */
int besom__sql_guard_sync(struct guard *guard, besom_filter **filter, bool *may_report,
                          char **error);

/* Saves the filter and trims the log; rebuild: also repairs the triggers and reads all keys. */
int besom__sql_guard_checkpoint(struct guard *guard, bool rebuild, char **error);

/* ------------------------------------------------------------------ guard_build.c */

/* Reads all keys of the table into a new filter. image->at is not set. */
int besom__sql_guard_build(struct guard *guard, struct image *image, char **error);

#endif
