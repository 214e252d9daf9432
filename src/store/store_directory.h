/*
 * The directory of a store over a database on disk: its absolute path, and a lock on it.
 *
 * The lock is on the directory itself, not on a file in it that somebody could remove. It belongs
 * to the open file description: it ends with the store, or with this process and the children that
 * it has forked meanwhile.
 *
 * Somebody may rename the directory while it is open, and put another one in its place, for example
 * a backup. So the database and the guard reach it by the descriptor of the lock: otherwise they
 * would write to the other one, and a database that is reopened would be the other one.
 */
#ifndef BESOM_STORE_STORE_DIRECTORY_H
#define BESOM_STORE_STORE_DIRECTORY_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "besom.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* Where a directory that exists is, whatever the working directory will be. If that cannot be
   determined: the path itself. */
static inline const char *store_directory_resolve(const char *path, char buffer[PATH_MAX]) {
  return realpath(path, buffer) ? buffer : path;
}

/* *lock: the descriptor that has the lock, or -1 if the directory cannot be opened, or its file
   system has no locks: the database has a lock of its own. Errors: LOCKED. */
static inline besom_status store_directory_lock(const char *directory, int *lock) {
  *lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0) return BESOM_OK;
  bool taken = errno == EWOULDBLOCK;
  close(*lock);
  *lock = -1;
  return taken ? BESOM_LOCKED : BESOM_OK;
}

/* Bytes that a name of store_directory_follow may take. */
enum { STORE_DIRECTORY_BYTES = 32 };

/* Replaces the path of a directory by a name that leads to the one with this descriptor, wherever
   it is. The path stays if the system has no such names, or the descriptor is -1. */
static inline void store_directory_follow(char *path, int descriptor) {
  char name[STORE_DIRECTORY_BYTES];
  struct stat named, opened;
  if (descriptor < 0) return;
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  if (stat(name, &named) != 0 || fstat(descriptor, &opened) != 0) return;
  if (named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
    snprintf(path, STORE_DIRECTORY_BYTES, "%s", name);
}

/* A child of fork may have the descriptor, too. */
static inline void store_directory_unlock(int lock) {
  if (lock < 0) return;
  flock(lock, LOCK_UN);
  close(lock);
}

#endif
