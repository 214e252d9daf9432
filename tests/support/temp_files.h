/*
 * temp_files.h - a temporary directory for a test that needs files.
 */
#ifndef BESOM_TESTS_TEMP_FILES_H
#define BESOM_TESTS_TEMP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct temp_dir {
  char path[256];
} temp_dir;

typedef struct temp_path {
  char text[512];
} temp_path;

/* Makes a directory under $TMPDIR or /tmp; aborts the program if it cannot. */
void temp_dir_make(temp_dir *dir);

/* Removes it and all that is in it. */
void temp_dir_remove(const temp_dir *dir);

temp_path temp_dir_file(const temp_dir *dir, const char *name);
size_t temp_dir_count(const temp_dir *dir);

/* read_whole_file returns NULL if there is no such file; the caller calls free(). */
bool write_whole_file(const char *path, const void *data, size_t len);
uint8_t *read_whole_file(const char *path, size_t *len);

#endif
