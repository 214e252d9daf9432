/* Filters and other files. An error ends the program with a message that names the file and the
 * cause. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "besom.h"

/* Loads a filter into memory, writable. "-" is standard input. */
besom_filter *filter_load(const char *path);

/* Opens a filter read-only: mapped if it is a file, loaded if it is standard input. With --verify,
 * only if its signature is right (trust.h). */
besom_filter *filter_open(const char *path);

/* Replaces the file atomically. "-" is standard output. */
void filter_save(const besom_filter *f, const char *path);

/* The bytes of the file that filter_save would write. */
uint64_t filter_saved_bytes(const besom_filter *f);

/* The contents of any file. file_write replaces the file atomically. */
typedef struct file_bytes {
  uint8_t *data; /* release it with free */
  size_t len;
} file_bytes;

file_bytes file_read(const char *path);
void file_write(const char *path, const file_bytes *bytes);

besom_statistics filter_stats(const besom_filter *f);

/* Whether the number of keys in the statistics is exact. Bloom kinds take a key that they answer
 * yes to for a copy: they count fewer. */
bool filter_counts_keys(const besom_filter *f);

#endif
