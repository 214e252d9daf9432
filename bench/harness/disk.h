/*
 * A directory on disk for the time of a claim, and reads of it that are real: what the system has kept of its files in
 * memory is thrown away again and again, so that no more than a given share of them is ever there. No privileges, and
 * nobody else's files are touched.
 */
#ifndef BENCH_HARNESS_DISK_H
#define BENCH_HARNESS_DISK_H

#include <stdint.h>

enum { DISK_PAGE = 4096, DISK_PATH = 256 };

/* What a read of a random page takes, where claims do not read but reckon: typical of an NVMe SSD, of a hard disk. */
enum { SSD_READ_NS = 74000, HDD_READ_NS = 8000000 };

/* A new empty directory in $TMPDIR, or /var/tmp: to be on a disk. */
void disk_directory_create(char path[DISK_PATH]);

/* Takes it away with the files in it. */
void disk_directory_remove(const char *path);

/* Pages that this process has had the disk read since it began: by read, or by touching a mapped file. */
uint64_t disk_pages_read(void);

/*
 * Throws the pages of a directory's files out of memory, also of those that are mapped by this process. Pages that are
 * not written yet stay.
 */
void disk_forget(const char *path);

/*
 * A cache of bounded size: disk_cache_check, called often, empties it as soon as that many pages were read. Only reads
 * of one cache may happen between disk_cache_resume and disk_cache_pause.
 */
typedef struct disk_cache {
  const char *path;
  uint64_t pages;      /* how many it may hold */
  uint64_t held, seen; /* read since it was emptied; disk_pages_read at the last look */
  double seconds;      /* wall time that emptying has taken: not the fault of what is measured */
  uint64_t read;       /* pages, in all */
} disk_cache;

void disk_cache_resume(disk_cache *c);
void disk_cache_check(disk_cache *c);
void disk_cache_pause(disk_cache *c);

#endif
