/* The databases on disk of this build that guards are tested over. */
#ifndef BESOM_TESTS_DATABASES_H
#define BESOM_TESTS_DATABASES_H

#include "besom_store.h"

typedef besom_status (*opener)(const char *directory, besom_store **out);

#ifdef BESOM_TEST_LMDB
static besom_status open_lmdb(const char *directory, besom_store **out) {
  besom_lmdb_options options = {.map_size = UINT64_C(1) << 28};
  return besom_store_lmdb(directory, &options, NULL, out);
}
#endif

#ifdef BESOM_TEST_ROCKSDB
static besom_status open_rocksdb(const char *directory, besom_store **out) {
  return besom_store_rocksdb(directory, NULL, NULL, out);
}
#endif

/* The list ends with an entry without a name. */
static const struct {
  const char *name;
  opener open;
} databases[] = {
#ifdef BESOM_TEST_LMDB
    {"lmdb", open_lmdb},
#endif
#ifdef BESOM_TEST_ROCKSDB
    {"rocksdb", open_rocksdb},
#endif
    {NULL, NULL},
};

#endif
