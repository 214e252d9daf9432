/* besom map files: which file has which key. A value is the number of a file; its name in the note
 * is the path, the size and the time of the last change. */
#ifndef CLI_FILE_INDEX_H
#define CLI_FILE_INDEX_H

#include "arguments.h"
#include "map/pair_list.h"
#include "map/value_names.h"

/* Adds the keys of the files, and of those in directories, to the list. Files that are no regular
 * ones, and the file `except`, are left out. Updates the progress bar. */
void file_index_add(words paths, const char *key, const char *except, pair_list *list,
                    value_names *names);

/* A record of a file that has the key. */
typedef void record_found(void *ctx, const char *path, besom_bytes record);

typedef enum verdict { HAS_KEY, HAS_NOT, CANNOT_TELL } verdict;

/* Reads the file of a value. CANNOT_TELL: it has changed since it was indexed, and does not have
 * the key now; or it is gone. Then a message says so. */
verdict file_verify(const value_names *names, uint32_t value, besom_bytes key, record_found *found,
                    void *ctx);

/* The path in the name of a file. */
besom_bytes file_path(besom_bytes name);

#endif
