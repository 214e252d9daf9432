/*
 * The file with the patches between two versions of a set (docs/publish.md): the bytes BESOMSET,
 * then for each shard with a patch, ascending: its number and the length of the patch, 8 bytes
 * each, little-endian, and the patch as besom_diff_compact writes it.
 */
#ifndef CLI_SHARD_PATCHES_H
#define CLI_SHARD_PATCHES_H

#include <stdio.h>

#include "files.h"

/* Adds a patch to the text of such a file, which is empty at first. */
void shard_patches_add(file_bytes *file, uint64_t shard, const file_bytes *patch);

/* Finds the patch of each shard: entries with data NULL have none. Fails if it is no such file. */
void shard_patches_read(const char *path, const file_bytes *file, uint32_t shards,
                        file_bytes *patches);

/* Appends to a file_bytes: besom_sink.write. */
besom_status file_bytes_append(void *ctx, const void *data, size_t len);

/* The saved bytes of a filter, and the patch between two. */
file_bytes filter_saved(const besom_filter *f);
file_bytes filter_difference(const besom_filter *old, const besom_filter *fresh);

#endif
