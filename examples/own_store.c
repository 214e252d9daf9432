/*
 * own_store.c - a store over a database of your own.
 *
 * A database can be used by a guard if it has ordered keys and writes several changes atomically.
 * Fill the functions of besom_ordered_ops; besom_store_ordered adds bucket lists, tables and
 * transactions. The database of this example is a sorted array in memory, with a log file to which
 * all writes are appended and from which they are read back.
 *
 *     own_store [FILE]
 */
#define _DEFAULT_SOURCE /* flock, fileno, ftruncate */
#include <besom_store.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct entry {
  char *key, *value;
  size_t key_len, value_len;
} entry;

typedef struct database {
  FILE *log;
  entry *entries; /* ordered by key */
  size_t n, room;
  uint64_t writes;
} database;

/* ------------------------------------------------------------------ the array */

static int compare(const void *a, size_t a_len, const void *b, size_t b_len) {
  int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
  return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* The index of the first entry whose key is not less. */
static size_t find(const database *db, besom_bytes key) {
  size_t low = 0, high = db->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const entry *e = &db->entries[middle];
    if (compare(e->key, e->key_len, key.data, key.len) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int is_at(const database *db, size_t i, besom_bytes key) {
  return i < db->n && compare(db->entries[i].key, db->entries[i].key_len, key.data, key.len) == 0;
}

/* Makes room for n more entries. Called before anything is written. */
static int make_room(database *db, size_t n) {
  if (db->n + n <= db->room) return 1;
  size_t room = 2 * db->room + n;
  entry *entries = realloc(db->entries, room * sizeof *entries);
  if (!entries) return 0;
  db->entries = entries;
  db->room = room;
  return 1;
}

/* Applies a change. made is its entry, with copies of key and value; it is not used by a
   removal. */
static void apply(database *db, const besom_write *change, entry made) {
  size_t i = find(db, change->record.key);
  int there = is_at(db, i, change->record.key);
  if (there) free(db->entries[i].key);
  if (change->remove && there)
    memmove(&db->entries[i], &db->entries[i + 1], (--db->n - i) * sizeof made);
  if (change->remove) return;
  if (!there) memmove(&db->entries[i + 1], &db->entries[i], (db->n++ - i) * sizeof made);
  db->entries[i] = made;
}

/* Copies key and value into one allocation. */
static int copy_of(const besom_record *r, entry *made) {
  *made = (entry){
      .key = malloc(r->key.len + r->value.len), .key_len = r->key.len, .value_len = r->value.len};
  if (!made->key) return 0;
  made->value = made->key + r->key.len;
  memcpy(made->key, r->key.data, r->key.len);
  if (r->value.len) memcpy(made->value, r->value.data, r->value.len);
  return 1;
}

/* ------------------------------------------------------------------ the operations */

static besom_status own_get(void *ctx_db, besom_bytes key, besom_table_visit visit, void *ctx) {
  database *db = ctx_db;
  size_t i = find(db, key);
  if (!is_at(db, i, key)) return BESOM_OK;
  besom_record record = {key, {db->entries[i].value, db->entries[i].value_len}};
  besom_status status = visit(ctx, &record);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status own_scan(void *ctx_db, besom_bytes from, besom_bytes to,
                             besom_table_visit visit, void *ctx) {
  database *db = ctx_db;
  besom_status status = BESOM_OK;
  for (size_t i = find(db, from); i < db->n && status == BESOM_OK; i++) {
    const entry *e = &db->entries[i];
    if (to.data && compare(e->key, e->key_len, to.data, to.len) >= 0) break;
    besom_record record = {{e->key, e->key_len}, {e->value, e->value_len}};
    status = visit(ctx, &record);
  }
  return status == BESOM_END ? BESOM_OK : status;
}

/* A write in the log: per change a frame and the bytes of key and value, then a frame END. A write
   without END is ignored. */
typedef struct frame {
  uint64_t kind, key_len, value_len;
} frame;

enum { PUT = 1, REMOVE = 2, END = 3 };

static int log_changes(FILE *log, const besom_write *changes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const besom_record *r = &changes[i].record;
    size_t value_len = changes[i].remove ? 0 : r->value.len;
    frame f = {changes[i].remove ? REMOVE : PUT, r->key.len, value_len};
    if (fwrite(&f, sizeof f, 1, log) != 1 || fwrite(r->key.data, 1, r->key.len, log) != r->key.len)
      return 0;
    if (value_len && fwrite(r->value.data, 1, value_len, log) != value_len) return 0;
  }
  frame end = {END, 0, 0};
  return fwrite(&end, sizeof end, 1, log) == 1 && fflush(log) == 0;
}

static besom_status write_error(void) {
  return errno == ENOSPC ? BESOM_DISK_FULL : BESOM_IO;
}

static besom_status own_sync(void *db) {
  return fsync(fileno(((database *)db)->log)) == 0 ? BESOM_OK : write_error();
}

/* All changes or none: first allocates, then appends to the log, which can be truncated if that
   fails, then changes the array, which cannot fail. */
static besom_status own_write(void *ctx_db, const besom_write *changes, size_t n, bool durable) {
  database *db = ctx_db;
  size_t copies = 0;
  entry *made = calloc(n, sizeof *made);
  besom_status status = made && make_room(db, n) ? BESOM_OK : BESOM_NO_MEMORY;
  for (; status == BESOM_OK && copies < n; copies++)
    if (!changes[copies].remove && !copy_of(&changes[copies].record, &made[copies]))
      status = BESOM_NO_MEMORY;
  long start = ftell(db->log);
  if (status == BESOM_OK && !log_changes(db->log, changes, n)) status = write_error();
  if (status == BESOM_OK && durable) status = own_sync(db);
  if (status == BESOM_OK) {
    for (size_t i = 0; i < n; i++) apply(db, &changes[i], made[i]);
    db->writes++;
  } else {
    for (size_t i = 0; i < copies; i++) free(made[i].key);
    if (fseek(db->log, start, SEEK_SET) != 0 || ftruncate(fileno(db->log), start) != 0)
      status = BESOM_IO;
  }
  free(made);
  return status;
}

static besom_status own_commit_number(void *db, uint64_t *number) {
  *number = ((database *)db)->writes;
  return BESOM_OK;
}

static void own_close(void *ctx_db) {
  database *db = ctx_db;
  for (size_t i = 0; i < db->n; i++) free(db->entries[i].key);
  free(db->entries);
  fclose(db->log);
  free(db);
}

/* There are no locks, because this program has one thread. See besom_store.h for the thread
   rules. */
static const besom_ordered_ops own_ops = {
    .size = sizeof(besom_ordered_ops),
    .get = own_get,
    .scan = own_scan,
    .write = own_write,
    .sync = own_sync,
    .commit_number = own_commit_number,
    .close = own_close,
};

/* ------------------------------------------------------------------ open */

/* The end of the last complete write; *writes: their number. A kill during a write leaves an
   incomplete one. */
static long end_of_complete_writes(FILE *log, uint64_t *writes) {
  long end = 0;
  frame f;
  fseek(log, 0, SEEK_END);
  uint64_t size = (uint64_t)ftell(log), at = 0;
  rewind(log);
  while (fread(&f, sizeof f, 1, log) == 1) {
    at += sizeof f;
    if (f.key_len > size - at || f.value_len > size - at - f.key_len) break;
    at += f.key_len + f.value_len;
    fseek(log, (long)at, SEEK_SET);
    if (f.kind != END) continue;
    end = (long)at;
    ++*writes;
  }
  return end;
}

static besom_status read_change(database *db) {
  frame f;
  if (fread(&f, sizeof f, 1, db->log) != 1) return BESOM_IO;
  if (f.kind == END) return BESOM_OK;
  entry made = {
      .key = malloc(f.key_len + f.value_len), .key_len = f.key_len, .value_len = f.value_len};
  if (!made.key || !make_room(db, 1)) return free(made.key), BESOM_NO_MEMORY;
  made.value = made.key + f.key_len;
  if (fread(made.key, 1, f.key_len + f.value_len, db->log) != f.key_len + f.value_len)
    return free(made.key), BESOM_IO;
  besom_write change = {{{made.key, made.key_len}, {made.value, made.value_len}}, f.kind == REMOVE};
  apply(db, &change, made);
  if (change.remove) free(made.key);
  return BESOM_OK;
}

static besom_status own_load(database *db) {
  if (flock(fileno(db->log), LOCK_EX | LOCK_NB) != 0) return BESOM_LOCKED;
  long end = end_of_complete_writes(db->log, &db->writes);
  if (ftruncate(fileno(db->log), end) != 0) return BESOM_IO;
  rewind(db->log);
  besom_status status = BESOM_OK;
  while (status == BESOM_OK && ftell(db->log) < end) status = read_change(db);
  fseek(db->log, end, SEEK_SET);
  return status;
}

static besom_status database_open(const char *path, database **out) {
  database *db = calloc(1, sizeof *db);
  if (!db) return BESOM_NO_MEMORY;
  db->log = fopen(path, "r+b");
  if (!db->log) db->log = fopen(path, "w+b");
  if (!db->log) return free(db), BESOM_IO;
  besom_status status = own_load(db);
  if (status != BESOM_OK) return own_close(db), status;
  *out = db;
  return BESOM_OK;
}

static besom_status own_open(const char *path, besom_store **out) {
  database *db;
  besom_status status = database_open(path, &db);
  if (status != BESOM_OK) return status;
  status = besom_store_ordered(&own_ops, db, NULL, out);
  if (status != BESOM_OK) own_close(db);
  return status;
}

/* ------------------------------------------------------------------ a guard in front of it */

static besom_status fill(besom_guard *guard, unsigned *found, unsigned *wrong) {
  besom_status status = BESOM_OK;
  char key[32];
  for (unsigned i = 0; i < 1000 && status == BESOM_OK; i++) {
    int len = snprintf(key, sizeof key, "key %u", i);
    status = besom_guard_put(guard, key, (size_t)len, &i, sizeof i, 0);
  }
  for (unsigned i = 0; i < 2000 && status == BESOM_OK; i++) { /* half of them are members */
    int len = snprintf(key, sizeof key, "key %u", i);
    besom_bytes value;
    status = besom_guard_get(guard, key, (size_t)len, &value);
    *found += status == BESOM_OK;
    *wrong += (status == BESOM_OK) != (i < 1000);
    if (status == BESOM_OK) besom_guard_release(guard, &value);
    if (status == BESOM_NOT_FOUND) status = BESOM_OK;
  }
  return status;
}

static besom_status run(const char *path) {
  besom_config filter = {.kind = "aqf", .capacity = 10000, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter};
  besom_store *store;
  besom_guard *guard;
  unsigned found = 0, wrong = 0;
  besom_status status = own_open(path, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&config, store, &guard);
  if (status != BESOM_OK) return besom_store_close(store), status;
  status = fill(guard, &found, &wrong);
  besom_status closed = besom_guard_close(guard); /* closes the store, too */
  if (status == BESOM_OK) status = closed;
  database *again;
  if (status == BESOM_OK) status = database_open(path, &again);
  if (status != BESOM_OK) return status;
  printf("%u of 1000 keys found, %u wrong answers, %zu entries in the file afterwards\n", found,
         wrong, again->n);
  if (wrong || again->n < 1000) status = BESOM_CORRUPT;
  own_close(again);
  return status;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "own_store.db";
  if (argc < 2) remove(path);
  besom_status status = run(path);
  if (argc < 2) remove(path);
  if (status != BESOM_OK) fprintf(stderr, "%s\n", besom_strerror(status));
  return status == BESOM_OK ? 0 : 1;
}
