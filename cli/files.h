/* Filters in files. What goes wrong ends the program with a message that names the file and the cause. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "besom.h"

/* In memory, to be changed; "-" is standard input. */
besom_filter *filter_load(const char *path);

/* Only to be asked: in place, if it is a file. */
besom_filter *filter_open(const char *path);

/* In the place of what is there, all or nothing; "-" is standard output. */
void filter_save(const besom_filter *f, const char *path);

/* Any file: the whole of it; and in the place of what is there, all or nothing. */
typedef struct file_bytes {
  uint8_t *data; /* free() it */
  size_t len;
} file_bytes;

file_bytes file_read(const char *path);
void file_write(const char *path, const file_bytes *bytes);

besom_statistics filter_stats(const besom_filter *f);
const besom_kind_info *filter_kind(const besom_filter *f);

#endif
