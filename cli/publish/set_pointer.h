/* The pointer of a published set, set.minisig: the signature of a manifest, and its statement.
 * Every failure ends the program with a message. */
#ifndef CLI_SET_POINTER_H
#define CLI_SET_POINTER_H

#include "publish/set_manifest.h"
#include "signed/trust.h"

enum { SET_POINTER_BYTES = 4096 }; /* at most */

typedef struct set_pointer {
  minisig signature;
  set_statement statement;
  public_key key; /* that signed it */
} set_pointer;

/* Fails unless one of the trusted keys signed it, and the name is the expected one, if there is
 * one. where: for messages. */
set_pointer set_pointer_verify(const char *where, const file_bytes *text, const trust *t);

/* The pointer of a directory. Returns false if there is none. */
bool set_pointer_read(const char *directory, const trust *t, set_pointer *out);

/* Fails unless the bytes are the manifest that the pointer signs. */
set_manifest set_pointer_manifest(const char *where, const set_pointer *p, const file_bytes *text);

/* Fails if it has expired. */
void set_pointer_check_expiry(const char *where, const set_statement *s, const char *now);

/* "directory/name"; release it with free. */
char *set_path(const char *directory, const char *name);

/* It may exist. */
void set_make_directory(const char *path, unsigned mode);

/* Makes renames in a directory durable. */
void set_sync_directory(const char *directory);

/* Waits for other programs that change this directory; until the program ends. */
void set_lock_directory(const char *directory);

/* Prints what a statement says: on stderr, or one JSON object on stdout. fetched: bytes that were
 * fetched or written. */
void set_statement_print(const char *path, const set_statement *s, const char *change,
                         uint64_t fetched, bool as_json);

/* Removes what belongs to no version of the set: files whose names are those of files of a set, or
 * of what interrupted runs leave, unless keep says that the file is needed. */
void set_remove_others(const char *directory, bool (*keep)(const void *ctx, const char *name),
                       const void *ctx);

#endif
