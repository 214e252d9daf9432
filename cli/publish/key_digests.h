/*
 * The publisher's keys as digests, so that a set of 10^9 keys needs little memory: they are divided
 * by their shards on the disk, and one shard after the other is sorted.
 */
#ifndef CLI_KEY_DIGESTS_H
#define CLI_KEY_DIGESTS_H

#include "besom.h"

/* Ascending, each once. Release it with free(list.at). */
typedef struct digest_list {
  besom_digest *at;
  size_t n;
} digest_list;

/* A list as a source for besom_build; the cursor must live as long. */
typedef struct digest_cursor {
  const digest_list *list;
  size_t next;
} digest_cursor;

besom_digest_source digest_list_source(digest_cursor *cursor);

/* The digests of a that are not in b. */
digest_list digest_list_without(const digest_list *a, const digest_list *b);

/* All digests of both lists. */
digest_list digest_list_union(const digest_list *a, const digest_list *b);

/* A file of digests; it is written anew and synced. */
void digest_list_write(const char *path, const digest_list *list);
bool digest_list_read(const char *path, digest_list *out); /* false if there is no such file */

/* Digests in any order, divided into parts: in memory, and beyond 16 MB in files of a directory. */
typedef struct digest_spill digest_spill;

digest_spill *digest_spill_create(const char *directory, uint32_t parts);
void digest_spill_add(digest_spill *s, uint32_t part, besom_digest digest);

/* Takes the digests of some adjacent parts, and removes their files. */
digest_list digest_spill_take(digest_spill *s, uint32_t first, uint32_t count);
void digest_spill_free(digest_spill *s);

#endif
