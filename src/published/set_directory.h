/* The files of a published set (docs/publish.md): which shards are the current version. */
#ifndef BESOM_PUBLISHED_SET_DIRECTORY_H
#define BESOM_PUBLISHED_SET_DIRECTORY_H

#include "besom.h"

enum { SET_NAME_BYTES = 65, SET_KIND_BYTES = 17, SHARD_NAME_BYTES = 65, MAX_SHARDS = 4096 };

struct set_shard_file {
  char name[SHARD_NAME_BYTES];
  uint64_t bytes;
};

struct set_directory {
  char name[SET_NAME_BYTES], kind[SET_KIND_BYTES];
  uint64_t sequence, keys;
  int64_t expires;
  uint32_t shards;
  struct set_shard_file *files; /* release with besom__default_allocator */
};

/* Reads the pointer and the manifest that it names. Errors: IO, CORRUPT, NEWER_VERSION, NO_MEMORY.
 * */
besom_status besom__set_directory_read(const char *directory, struct set_directory *out);
void besom__set_directory_free(struct set_directory *d);

/* "directory/name" in `path`. IO if it is too long. */
enum { SET_PATH_BYTES = 4096 };
besom_status besom__set_path(const char *directory, const char *name, char path[SET_PATH_BYTES]);

#endif
