/* Files whose replacement and removal survive a power loss. */
#ifndef BESOM_CORE_DURABLE_FILE_H
#define BESOM_CORE_DURABLE_FILE_H

#include "besom.h"

/*
 * Replaces the file at path: writes a temporary file in the same directory, syncs it, renames it
 * and syncs the directory. After a failure or a crash there is either the old file or the new one.
 * fill writes the content. Errors: IO, DISK_FULL, what fill returned.
 */
besom_status besom__file_replace(const char *path,
                                 besom_status (*fill)(void *ctx, const besom_sink *sink),
                                 void *ctx);

/*
 * Maps a file for reading, until the caller calls besom__file_unmap. Errors: IO, CORRUPT (not a
 * regular file, or empty), NO_MEMORY (larger than the address space).
 */
besom_status besom__file_map(const char *path, void **data, size_t *len);
void besom__file_unmap(void *data, size_t len);

/*
 * The absolute path of a file that may not exist yet, without symbolic links: what it names does
 * not change with the working directory. False if the directory does not exist or its path cannot
 * be determined.
 */
bool besom__file_resolve(const char *path, char *out, size_t size);

/* Removes a file, if there is one, and syncs the directory. Errors: IO. */
besom_status besom__file_unlink(const char *path);

#endif
