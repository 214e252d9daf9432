/*
 * A temporary directory on disk for a claim, with real disk reads: the page cache of its files is
 * emptied again and again, so that it never holds more than a given share of them. Needs no
 * privileges and touches no other files.
 */
#ifndef BENCH_HARNESS_DISK_H
#define BENCH_HARNESS_DISK_H

#include <stdint.h>

enum { DISK_PAGE = 4096, DISK_PATH = 256 };

/*
 * Time of a random page read, for claims that compute disk time instead of measuring it: typical
 * values of an NVMe SSD and of a hard disk.
 */
enum { SSD_READ_NS = 74000, HDD_READ_NS = 8000000 };

/* Creates an empty directory in $TMPDIR, or in /var/tmp, which is normally on a disk. */
void disk_directory_create(char path[DISK_PATH]);

/* Removes the directory and its files. */
void disk_directory_remove(const char *path);

/*
 * Pages that this process has read from disk since it started, by read or by touching a mapped
 * file.
 */
uint64_t disk_pages_read(void);

/*
 * Evicts the pages of a directory's files from memory, including files that this process has
 * mapped. Dirty pages stay.
 */
void disk_evict(const char *path);

/*
 * A bound on the page cache: call disk_cache_check often; it empties the cache when `pages` pages
 * were read. Between disk_cache_resume and disk_cache_pause only reads of one cache may happen.
 */
typedef struct disk_cache {
  const char *path;
  uint64_t pages;      /* upper limit */
  uint64_t held, seen; /* pages read since it was emptied; disk_pages_read at the last check */
  double seconds;      /* wall time spent on emptying: to subtract from measurements */
  uint64_t read;       /* pages, in total */
} disk_cache;

void disk_cache_resume(disk_cache *c);
void disk_cache_check(disk_cache *c);
void disk_cache_pause(disk_cache *c);

#endif
