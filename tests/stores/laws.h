/*
 * laws.h - what is true of every store.
 */
#ifndef BESOM_TESTS_STORE_LAWS_H
#define BESOM_TESTS_STORE_LAWS_H

#include "subject.h"

typedef struct law {
  const char *name;
  void (*check)(subject *s);
  bool (*concerns)(const subject *s); /* NULL: all */
} law;

/* Lists that end with a law without a name. */
extern const law data_laws[], process_laws[], thread_laws[], array_laws[];
#ifdef BESOM_TEST_LMDB
extern const law lmdb_laws[];
#endif
#ifdef BESOM_TEST_ROCKSDB
extern const law rocksdb_laws[];
#endif
#ifdef BESOM_TEST_REDIS
extern const law redis_laws[];
#endif

/* What a child process does, see process_laws.c; what it returns is its exit status. */
int child_main(const char *what, subject *s);

#endif
