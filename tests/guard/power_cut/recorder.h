/*
 * A recorder of file operations, for simulated power cuts.
 *
 * recorder.c defines the system's functions that write, sync, create, rename and remove files. The
 * linker prefers these to those of the C library, also for the calls of shared libraries. While a
 * recording runs, every operation below one directory is appended to a log. Syncs are recorded but
 * not made, so that a recording is fast.
 *
 * Writes through a shared mapping and calls inside the C library (stdio) are not seen. The checker
 * detects both: it replays the whole log and compares the result with the real directory.
 */
#ifndef BESOM_TESTS_RECORDER_H
#define BESOM_TESTS_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation {
  OP_CREATE,         /* path: a new, empty file */
  OP_DIRECTORY,      /* path: a new directory */
  OP_WRITE,          /* offset, len, data */
  OP_RESIZE,         /* offset: the new size; what is beyond the old one is zero */
  OP_SYNC,           /* fsync or fdatasync of a file */
  OP_SYNC_DIRECTORY, /* path: fsync of a directory */
  OP_RENAME,         /* path to path2 */
  OP_LINK,           /* path2 is a new name of path */
  OP_UNLINK,         /* path */
  OP_MARK,           /* offset: a number from the recorded program */
  OP_UNKNOWN,        /* path: an operation that the checker cannot replay */
};

/* An operation of the log. The paths, each with a final 0, and the data follow. */
struct op {
  enum operation kind;
  bool synced;                  /* a write through a descriptor with O_DSYNC */
  uint32_t path_len, path2_len; /* including the final 0; 0: there is none */
  uint64_t inode;               /* of the file */
  uint64_t offset, len;
};

struct recording {
  uint64_t size, used, ops; /* size and use of bytes; number of operations */
  bool full;                /* operations are missing */
  _Alignas(8) uint8_t bytes[];
};

/* How the recorder changes what it records: the planted errors that the checker must find. */
enum planted { PLANT_NOTHING, DROP_SYNCS, DROP_DIRECTORY_SYNCS };

/* From now on every operation below the directory goes to the log. */
void recorder_start(struct recording *log, const char *directory, enum planted planted);
void recorder_stop(void);

/* Appends an OP_MARK. */
void recorder_mark(uint64_t number);

/* Without a recording: syncs return at once. */
void recorder_skip_syncs(void);

#endif
