/* Files that survive a loss of power: written whole and put in their place, or taken away. */
#ifndef BESOM_CORE_DISK_H
#define BESOM_CORE_DISK_H

#include "besom.h"

/*
 * Writes a file under a temporary name beside path, syncs it, renames it and syncs the directory, so that a failure or
 * a crash leaves the old file or the new one. fill writes the content. Errors: IO, what fill returned.
 */
besom_status besom__file_replace(const char *path,
                                 besom_status (*fill)(void *ctx, const besom_sink *sink),
                                 void *ctx);

/* Maps a file that can be read and is not empty, until munmap. IO, CORRUPT (no plain file, or nothing in it). */
besom_status besom__file_map(const char *path, void **data, size_t *len);

/* Takes a file away, and syncs the directory. It need not be there. IO. */
besom_status besom__file_unlink(const char *path);

#endif
