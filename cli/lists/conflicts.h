/* Keys that are in the yes list and in the no list. */
#ifndef CLI_CONFLICTS_H
#define CLI_CONFLICTS_H

#include "lists/keys.h"

typedef struct conflicts conflicts;

/* Reads both lists, which must be rewindable, and rewinds them. 16 bytes per key of the no list,
 * and a filter of it. */
conflicts *conflicts_find(key_reader *yes, key_reader *no);
void conflicts_free(conflicts *c);

/* The keys of one list, as if all of them were conflicts. */
conflicts *conflicts_set(key_reader *list);

uint64_t conflicts_count(const conflicts *c);
bool conflicts_has(const conflicts *c, besom_bytes key);

/* Prints up to `most` of them to stderr, with their positions in the no list and what they are: "is
 * also in the yes list". If path is not NULL, writes all to that file, in the form of the lists. */
void conflicts_list(const conflicts *c, key_reader *no, const key_form *form, const char *what,
                    uint64_t most, const char *path);

/* Skips the conflicts in a list, as long as c is valid. */
void conflicts_exclude(const conflicts *c, key_reader *list);

#endif
