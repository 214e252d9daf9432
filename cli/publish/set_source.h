/* Where a published set is fetched from: a directory, or a web server by libcurl. Every failure
 * ends the program with a message. */
#ifndef CLI_SET_SOURCE_H
#define CLI_SET_SOURCE_H

#include "publish/set_manifest.h"

typedef struct set_source set_source;

/* A URL that begins with https:// or http://, or a directory. ca: a file of certificates to trust
 * instead of those of the system; NULL for these. */
set_source *set_source_open(const char *url, const char *ca);
void set_source_close(set_source *s);

/* Reads a whole file of at most `most` bytes. */
file_bytes set_source_read(set_source *s, const char *name, size_t most);

/*
 * Fetches a file into a directory, and syncs it. If it is there already, with the right checksum,
 * nothing is fetched. What an interrupted run has fetched is continued. No more than file->bytes
 * are read; other bytes than the checksum says are never given the file's name.
 */
void set_source_fetch(set_source *s, const set_file *file, const char *directory);

/* Bytes that were transferred so far. */
uint64_t set_source_bytes(const set_source *s);

/* Of set_source.c, for set_curl.c: a transfer of the bytes of a file from an offset on. */
typedef struct set_transfer {
  int fd;                   /* they are appended to it; -1: to `bytes` */
  file_bytes bytes;         /* has room for `most` bytes */
  uint64_t at, most, total; /* so far; no more than that; for the progress bar, 0: none */
} set_transfer;

/* Takes the next bytes. Returns false, with a reason, if there are too many or the disk is full. */
bool set_transfer_add(set_transfer *t, const void *data, size_t len, const char **wrong);

typedef struct set_connection set_connection;

set_connection *set_connection_open(const char *url, const char *ca);
void set_connection_close(set_connection *c);

/* Fetches url/name from t->at on. Returns NULL, or what is wrong. The server may not know ranges:
 * then *from_start is set, and nothing was added. */
const char *set_connection_fetch(set_connection *c, const char *name, set_transfer *t,
                                 bool *from_start);

#endif
