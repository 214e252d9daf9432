/*
 * laws.h - the laws that stores obey.
 */
#ifndef BESOM_TESTS_STORE_LAWS_H
#define BESOM_TESTS_STORE_LAWS_H

#include "subject.h"

typedef struct law {
  const char *name;
  void (*check)(subject *s);
  bool (*applies)(const subject *s); /* NULL: it applies to all stores */
} law;

/* Each list ends with a law without a name. */
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

/* The main function of a child process (process_laws.c). Returns its exit status. */
int child_main(const char *what, subject *s);

#endif
