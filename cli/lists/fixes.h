/*
 * Fixes beside a list or a published set: the reports of one client about a file that must stay
 * what its publisher has signed. A text file: a first line with the version and the name of the
 * list, then a line per key: its date, a tab, the key. A fix says "absent now", so it holds for the
 * bytes that it was made for.
 */
#ifndef CLI_FIXES_H
#define CLI_FIXES_H

#include <stdio.h>

#include "besom_fixes.h"
#include "lists/key_index.h"

/* What fixes are made for. */
enum { FIXES_NAME_BYTES = 256 };
typedef struct fixes_of {
  char version[BESOM_FIXES_VERSION_BYTES]; /* one word: a checksum or a sequence number */
  char name[FIXES_NAME_BYTES];
} fixes_of;

/*
 * Reads a file of fixes; *fits becomes whether it is for this version. Fails if the file belongs to
 * somebody else than the caller or root, if others may write it, or if it is of another list.
 */
key_index *fixes_read(const char *path, const fixes_of *of, bool *fits);

/* Opens a file of fixes for more of them, and begins it if it is new. One for another version is
 * renamed to FILE.old first, with a message (*is_moved). fixes_close fails if the disk is full. */
FILE *fixes_append(const char *path, const fixes_of *of, bool *is_moved);
void fixes_write(FILE *out, besom_bytes key, const char *position);
void fixes_close(FILE *out, const char *path);

/* FILE.old; release it with free. */
char *fixes_aside_path(const char *path);

#endif
