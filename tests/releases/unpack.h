/* unpack.h - a fixture of a release in a temporary directory. */
#ifndef BESOM_TESTS_UNPACK_H
#define BESOM_TESTS_UNPACK_H

#include <stdio.h>
#include <stdlib.h>

#include "support/temp_files.h"

/* Unpacks tests/releases/RELEASE/NAME.tar.gz. The caller removes the directory. */
static inline bool release_unpack(const char *release, const char *name, temp_dir *out) {
  char command[1200];
  temp_dir_make(out);
  snprintf(command, sizeof command, "tar -xzf '%s/tests/releases/%s/%s.tar.gz' -C '%s'",
           BESOM_SOURCE_DIR, release, name, out->path);
  return system(command) == 0;
}

/* LMDB has the byte order of the machine that wrote, and so has a fixture. */
static inline bool release_is_readable(const char *database) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1 || strcmp(database, "lmdb") != 0;
}

#endif
