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
 * Makes the tagged key of a value that a column with this affinity is compared with; the affinity
 * is applied as SQLite does. May change the type of the value. NULL has no key.
 */
int besom__sql_tagged_key(sqlite3_value *value, enum affinity affinity, struct tagged_key *key);
/* The key of a value that is stored in the column, so that its affinity is applied already. */
int besom__sql_tagged_column(sqlite3_stmt *row, int column, struct tagged_key *key);
void besom__sql_tagged_key_free(struct tagged_key *key);

/*
 * False if two different values could have this key: SQLite replaces what is not valid UTF-16 by
 * U+FFFD when it converts text to UTF-8.
 */
bool besom__sql_key_is_exact(const struct tagged_key *key);

#endif
