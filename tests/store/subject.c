#define _DEFAULT_SOURCE 1
#include "subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef BESOM_TEST_REDIS
#include "redis_server.h"
#endif

/* ------------------------------------------------------------------ opening */

static besom_status open_memory(subject *s, besom_store **out) {
  (void)s;
  return besom_store_memory(NULL, out);
}

static besom_status open_array(subject *s, besom_store **out) {
  return besom_store_ordered(&array_ops, &s->array, NULL, out);
}

#ifdef BESOM_TEST_LMDB
static besom_status open_lmdb(subject *s, besom_store **out) {
  besom_lmdb_options options = {.map_size = UINT64_C(1) << 30};
  return besom_store_lmdb(s->at.text, &options, NULL, out);
}
#endif

#ifdef BESOM_TEST_ROCKSDB
static besom_status open_rocksdb(subject *s, besom_store **out) {
  return besom_store_rocksdb(s->at.text, NULL, NULL, out);
}
#endif

#ifdef BESOM_TEST_REDIS
static besom_status open_redis(subject *s, besom_store **out) {
  char address[sizeof s->at.text];
  snprintf(address, sizeof address, "%s", s->at.text);
  char *prefix = strchr(address, ' ');
  *prefix++ = 0;
  return besom_store_redis(address, prefix, NULL, NULL, out);
}
#endif

subject all_subjects[] = {
    {.name = "memory", .open = open_memory},
    {.name = "array", .open = open_array, .persistent = true},
#ifdef BESOM_TEST_LMDB
    {.name = "lmdb", .open = open_lmdb, .persistent = true, .processes = true},
#endif
#ifdef BESOM_TEST_ROCKSDB
    {.name = "rocksdb", .open = open_rocksdb, .persistent = true, .processes = true},
#endif
#ifdef BESOM_TEST_REDIS
    {.name = "redis", .open = open_redis, .persistent = true, .processes = true, .remote = true},
#endif
};
const size_t all_subjects_count = sizeof all_subjects / sizeof *all_subjects;

subject *find_subject(const char *name) {
  for (size_t i = 0; i < all_subjects_count; i++)
    if (!strcmp(all_subjects[i].name, name)) return &all_subjects[i];
  return NULL;
}

/* ------------------------------------------------------------------ set-up and tear-down */

void subject_set_up(subject *s) {
  array_db_init(&s->array);
  temp_dir_make(&s->dir);
  snprintf(s->at.text, sizeof s->at.text, "%s/store", s->dir.path);
#ifdef BESOM_TEST_REDIS
  /* The directory's name is a unique prefix. */
  if (s->remote)
    snprintf(s->at.text, sizeof s->at.text, "%s %s:", redis_server_address(), s->dir.path);
#endif
}

void subject_tear_down(subject *s) {
  array_db_free(&s->array);
  temp_dir inner;
  snprintf(inner.path, sizeof inner.path, "%.240s/store", s->dir.path);
  temp_dir_remove(&inner);
  temp_dir_remove(&s->dir);
}

besom_store *subject_open(subject *s) {
  besom_store *store = NULL;
  assert_int_equal(s->open(s, &store), BESOM_OK);
  assert_non_null(store);
  return store;
}

void assert_is_directory(const besom_store *store, const char *path) {
  struct stat own, named;
  assert_int_equal(stat(store->ops->directory(store), &own), 0);
  assert_int_equal(stat(path, &named), 0);
  assert_true(own.st_dev == named.st_dev && own.st_ino == named.st_ino);
}

/* ------------------------------------------------------------------ child processes */

int child_start(const subject *s, const char *what, int output) {
  int process = fork();
  if (process != 0) return process;
  dup2(output < 0 ? STDERR_FILENO : output, STDOUT_FILENO);
  execl("/proc/self/exe", "store_contract", "--child", what, s->name, s->at.text, (char *)NULL);
  _exit(127);
}

int child_wait(int process) {
  int status = 0;
  if (process <= 0 || waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
