#include "keys.h"

/* True if the number equals an integer: *integer is set. -0.0 equals 0. */
static bool real_as_integer(double real, sqlite3_int64 *integer) {
  if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) return false;
  *integer = (sqlite3_int64)real;
  return (double)*integer == real;
}

/* The 8 bytes of a REAL: those of the integer that it equals, or of the double. */
static bool real_bytes(double real, besom_u64_key *bytes) {
  sqlite3_int64 integer;
  uint64_t bits;
  bool is_integer = real_as_integer(real, &integer);
  memcpy(&bits, &real, sizeof bits);
  *bytes = besom_u64(is_integer ? (uint64_t)integer : bits);
  return is_integer;
}

static int bytes_of(sqlite3_value *value, int type, const void **data, size_t *len) {
  *data = type == SQLITE_BLOB ? sqlite3_value_blob(value) : sqlite3_value_text(value);
  *len = (size_t)sqlite3_value_bytes(value);
  if (*data) return SQLITE_OK;
  *data = "";
  return *len || type != SQLITE_BLOB ? SQLITE_NOMEM : SQLITE_OK;
}

int besom__sql_key(sqlite3_value *value, struct key *key) {
  int type = sqlite3_value_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
    return bytes_of(value, type, &key->data, &key->len);
  if (type == SQLITE_INTEGER)
    key->number = besom_u64((uint64_t)sqlite3_value_int64(value));
  else
    real_bytes(sqlite3_value_double(value), &key->number);
  key->data = key->number.bytes;
  key->len = sizeof key->number.bytes;
  return SQLITE_OK;
}

/* ------------------------------------------------------------------ tagged keys */

static int set_tagged(struct tagged_key *key, char tag, const void *data, size_t len) {
  if (len + 1 > key->allocated) {
    size_t wanted = 2 * len + 64;
    unsigned char *moved = sqlite3_realloc64(key->data, wanted);
    if (!moved) return SQLITE_NOMEM;
    key->data = moved;
    key->allocated = wanted;
  }
  key->data[0] = (unsigned char)tag;
  if (len) memcpy(key->data + 1, data, len);
  key->len = len + 1;
  return SQLITE_OK;
}

static int set_integer(struct tagged_key *key, sqlite3_int64 integer) {
  besom_u64_key bytes = besom_u64((uint64_t)integer);
  return set_tagged(key, 'i', bytes.bytes, sizeof bytes.bytes);
}

static int set_real(struct tagged_key *key, double real) {
  besom_u64_key bytes;
  char tag = real_bytes(real, &bytes) ? 'i' : 'r';
  return set_tagged(key, tag, bytes.bytes, sizeof bytes.bytes);
}

static int set_text(struct tagged_key *key, sqlite3_value *value, bool utf16) {
  const void *text = utf16 ? sqlite3_value_text16le(value) : sqlite3_value_text(value);
  int len = utf16 ? sqlite3_value_bytes16(value) : sqlite3_value_bytes(value);
  return text ? set_tagged(key, 't', text, (size_t)len) : SQLITE_NOMEM;
}

static int set_blob(struct tagged_key *key, sqlite3_value *value) {
  const void *data = sqlite3_value_blob(value);
  size_t len = (size_t)sqlite3_value_bytes(value);
  return data || !len ? set_tagged(key, 'b', data, len) : SQLITE_NOMEM;
}

int besom__sql_tagged_key(sqlite3_value *value, struct key_rules rules, struct tagged_key *key) {
  int type = sqlite3_value_type(value);
  if (type == SQLITE_TEXT && rules.affinity == AFFINITY_NUMERIC)
    type = sqlite3_value_numeric_type(value);
  if (type == SQLITE_BLOB) return set_blob(key, value);
  if (type == SQLITE_TEXT) return set_text(key, value, rules.utf16);
  if (type == SQLITE_INTEGER) return set_integer(key, sqlite3_value_int64(value));
  return set_real(key, sqlite3_value_double(value));
}

void besom__sql_tagged_key_free(struct tagged_key *key) {
  sqlite3_free(key->data);
  *key = (struct tagged_key){0};
}
