/* keys.h - SQL values as keys of filters. */
#ifndef BESOM_SQLITE_KEYS_H
#define BESOM_SQLITE_KEYS_H

#include "extension.h"

/* A key. data may point to `number`, so a struct key is not copied. */
struct key {
  const void *data;
  size_t len;
  besom_u64_key number;
};

/*
 * The key of a value in a named filter: the bytes of TEXT (UTF-8) and BLOB; the 8 little-endian
 * bytes of an INTEGER, or of a REAL that equals an integer; the 8 bytes of another REAL. So a
 * filter that the besom command built from lines of text has the same keys as one that SQL built.
 * Values that SQL calls equal have equal keys. NULL has no key: callers check it before. The key is
 * valid as long as the value is unchanged. Returns SQLITE_OK or SQLITE_NOMEM.
 */
int besom__sql_key(sqlite3_value *value, struct key *key);

/*
 * The keys of guards begin with a tag, so that values have equal keys only if SQL calls them equal:
 * a TEXT, a BLOB and an INTEGER of the same bytes differ. A guard needs this because it reports an
 * absent value, and no member may have the same key.
 */
struct tagged_key {
  unsigned char *data;
  size_t len, allocated;
};

enum affinity { AFFINITY_BLOB, AFFINITY_TEXT, AFFINITY_NUMERIC };

/*
 * What the key of a value depends on. In a UTF-16 database keys are UTF-16: SQLite would replace
 * what is not valid by U+FFFD when it converts text to UTF-8, and then different values have equal
 * keys.
 */
struct key_rules {
  enum affinity affinity;
  bool utf16;
};

/*
 * Makes the tagged key of a value that the column is compared with. A numeric affinity is applied
 * as SQLite does; a number and a column of another affinity have no key (guard_table.c). May change
 * the type of the value. NULL has no key. The value may be that of a column
 * (sqlite3_column_value) while the mutex of the connection is held, as it is in virtual tables.
 */
int besom__sql_tagged_key(sqlite3_value *value, struct key_rules rules, struct tagged_key *key);
void besom__sql_tagged_key_free(struct tagged_key *key);

#endif
