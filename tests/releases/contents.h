/*
 * contents.h - what the databases of a release hold. write_databases.c writes it, once per release,
 * and guards.c and sidecars.c read it. Databases of earlier releases have it, too: never change a
 * key, a value or an option here.
 */
#ifndef BESOM_TESTS_CONTENTS_H
#define BESOM_TESTS_CONTENTS_H

#include <stdio.h>
#include <string.h>

#include "besom_guard.h"
#include "besom_sidecar.h"

/* The releases whose databases are kept, in tests/releases/VERSION. */
static const char *const releases[] = {"0.2.0"};

enum {
  RELEASE_KEYS = 300,   /* written by the release */
  RELEASE_MORE = 40,    /* further keys that the test adds */
  RELEASE_ABSENT = 500, /* absent keys that were asked for, so that the filter has adapted */
  RELEASE_NO = 20,      /* keys of the no list */
  RELEASE_LONG = 600,   /* bytes of the longest keys: more than LMDB has in one key */
  RELEASE_VALUE = 5000, /* bytes of the longest value */
  /* The first keys are special: empty, long, long with the same beginning. Sidecars of LMDB, which
     has neither empty nor long keys, begin here. */
  RELEASE_PLAIN = 3,
  RELEASE_GONE = -1, /* the version of a key that is absent */
};

typedef struct release_bytes {
  uint8_t data[RELEASE_VALUE];
  size_t len;
} release_bytes;

static inline release_bytes release_name(const char *stem, unsigned i) {
  release_bytes name;
  name.len = (size_t)snprintf((char *)name.data, sizeof name.data, "%s-%u", stem, i);
  return name;
}

static inline release_bytes release_key(unsigned i) {
  release_bytes key = release_name("key", i);
  if (i == 0) key.len = 0;
  if (i == 1 || i == 2) {
    memset(key.data, 'k', RELEASE_LONG);
    key.data[RELEASE_LONG - 1] = (uint8_t)i;
    key.len = RELEASE_LONG;
  }
  return key;
}

/* A key has several values, one after the other: its versions. */
static inline release_bytes release_value(unsigned i, int version) {
  release_bytes value = {.len = i == 4 ? RELEASE_VALUE : i % 40};
  for (size_t at = 0; at < value.len; at++)
    value.data[at] = (uint8_t)(7 * i + at + 100 * (unsigned)version);
  return value;
}

/* The version of key i that the release wrote last, and the one after the changes of the test. */
static inline int release_version(unsigned i, bool changed) {
  if (i >= RELEASE_KEYS) return changed && i < RELEASE_KEYS + RELEASE_MORE ? 0 : RELEASE_GONE;
  if (i % 7 == 6 || (changed && i % 7 == 5)) return RELEASE_GONE;
  if (changed && i % 10 == 4) return 2;
  return i % 10 == 5;
}

/* ------------------------------------------------------------------ databases with a guard */

typedef struct release_guard {
  const char *name; /* of the fixture; that of the database is before the first "-" */
  const char *kind;
  besom_layout layout;
  bool migrating;
} release_guard;

static const release_guard release_guards[] = {
    {"lmdb-merged", "aqf", BESOM_LAYOUT_MERGED, false},
    {"lmdb-merged-migrating", "aqf", BESOM_LAYOUT_MERGED, true},
    {"lmdb-split", "aqf", BESOM_LAYOUT_SPLIT, false},
    {"lmdb-split-migrating", "aqf", BESOM_LAYOUT_SPLIT, true},
    {"rocksdb-merged", "aqf", BESOM_LAYOUT_MERGED, false},
    {"rocksdb-merged-migrating", "aqf", BESOM_LAYOUT_MERGED, true},
    {"rocksdb-split", "aqf", BESOM_LAYOUT_SPLIT, false},
    {"rocksdb-split-migrating", "aqf", BESOM_LAYOUT_SPLIT, true},
    {"lmdb-broom", "broom", BESOM_LAYOUT_MERGED, false},
    {"lmdb-exaf", "exaf", BESOM_LAYOUT_MERGED, false},
    {"lmdb-taf", "taf", BESOM_LAYOUT_MERGED, false},
    {"lmdb-utaf", "utaf", BESOM_LAYOUT_MERGED, false},
    {"lmdb-acf-swapping", "acf-swapping", BESOM_LAYOUT_MERGED, false},
};

enum { RELEASE_GUARDS = sizeof release_guards / sizeof release_guards[0] };

static inline besom_status release_guard_open(const release_guard *fixture, besom_store *store,
                                              besom_guard **out) {
  besom_config filter = {.kind = fixture->kind, .capacity = 400, .fpr = 0.05};
  besom_guard_config config = {
      .filter = &filter, .layout = fixture->layout, .durability = BESOM_DURABLE_SYNC};
  return besom_guard_open(&config, store, out);
}

/* Only aqf has one. */
static inline bool release_has_no_list(const release_guard *fixture) {
  return strcmp(fixture->kind, "aqf") == 0;
}

/* ------------------------------------------------------------------ tables with a sidecar */

/* killed: its process ended without closing it, so the log has changes that the file lacks. */
typedef struct release_sidecar {
  const char *name;     /* of the fixture */
  const char *database; /* NULL: there is none, and no log */
  bool killed, keep_removed, every_commit;
} release_sidecar;

static const release_sidecar release_sidecars[] = {
    {"sidecar-lmdb", "lmdb", true, false, false},
    {"sidecar-lmdb-every-commit", "lmdb", true, false, true},
    {"sidecar-lmdb-kept", "lmdb", true, true, false},
    {"sidecar-lmdb-closed", "lmdb", false, false, false},
    {"sidecar-rocksdb", "rocksdb", true, false, false},
    {"sidecar-rocksdb-closed", "rocksdb", false, false, false},
    {"sidecar-file", NULL, false, false, false},
    {"sidecar-file-in-use", NULL, true, false, false},
};

enum {
  RELEASE_SIDECARS = sizeof release_sidecars / sizeof release_sidecars[0],
  RELEASE_SAVED = 200, /* keys that are in the file; those that follow are in the log only */
  RELEASE_STAMP = 42,  /* without a log */
};

/* Values are not a sidecar's concern: a key is there or not. */
static inline bool release_in_table(unsigned i, bool changed) {
  return i >= RELEASE_PLAIN && release_version(i, changed) != RELEASE_GONE;
}

static inline besom_sidecar_config release_sidecar_config(const release_sidecar *fixture,
                                                          const besom_config *filter) {
  return (besom_sidecar_config){.filter = filter,
                                .keep_removed = fixture->keep_removed,
                                .stamp = fixture->database ? 0 : RELEASE_STAMP,
                                .checkpoint_items = UINT64_MAX};
}

static const besom_config release_sidecar_filter = {
    .kind = "scaling", .options = "base=aqf,forget=yes", .fpr = 0.05, .capacity = 100};

/* All keys of a table, made without a database, for sidecars that have none. */
typedef struct release_table {
  unsigned next;
  bool changed;
  release_bytes key;
} release_table;

static inline besom_status release_table_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  release_table *t = ctx;
  *weight = 1;
  while (t->next < RELEASE_KEYS + RELEASE_MORE && !release_in_table(t->next, t->changed)) t->next++;
  if (t->next >= RELEASE_KEYS + RELEASE_MORE) return BESOM_END;
  t->key = release_key(t->next++);
  *key = (besom_bytes){t->key.data, t->key.len};
  return BESOM_OK;
}

static inline besom_status release_table_rewind(void *ctx) {
  ((release_table *)ctx)->next = 0;
  return BESOM_OK;
}

#endif
