/* besom redis save, load and import: whole filters out of, into and between servers. */
#ifndef CLI_REDIS_FILES_H
#define CLI_REDIS_FILES_H

#include "redis/cluster.h"

/* Saves the filter of a key as a file of besom. Returns the bytes written. */
size_t redis_save_file(cluster *c, const char *key, const char *path);

/* Makes a key from a file of besom. The key must not exist. Returns the bytes of the file. */
size_t redis_load_file(cluster *c, const char *path, const char *key);

/*
 * Copies a filter that RedisBloom has, by its SCANDUMP commands, to the same key of a server with
 * besom-redis.so in compatibility mode. If the filter changes meanwhile, it is read again, a few
 * times. Returns the bytes of the chunks.
 */
size_t redis_import_filter(cluster *from, cluster *to, const char *key);

#endif
