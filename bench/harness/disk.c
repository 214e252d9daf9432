#define _GNU_SOURCE 1 /* mkdtemp, madvise, getrusage, posix_fadvise */

#include "harness/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fail.h"
#include "harness/timing.h"

enum { BLOCKS_PER_PAGE = 8 };

void disk_directory_create(char path[DISK_PATH]) {
  const char *parent = getenv("TMPDIR");
  int len =
      snprintf(path, DISK_PATH, "%s/besom-bench-XXXXXX", parent && *parent ? parent : "/var/tmp");
  if (len >= DISK_PATH || !mkdtemp(path)) fail("cannot create a directory in TMPDIR or /var/tmp");
}

/* Calls visit for every file. Databases have no subdirectories. */
static void for_each_file(const char *path, void (*visit)(int directory, const char *name)) {
  DIR *d = opendir(path);
  if (!d) fail("cannot read the directory %s", path);
  for (struct dirent *e; (e = readdir(d));)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) visit(dirfd(d), e->d_name);
  closedir(d);
}

static void remove_file(int directory, const char *name) {
  unlinkat(directory, name, 0);
}

void disk_directory_remove(const char *path) {
  for_each_file(path, remove_file);
  if (rmdir(path) != 0) fail("cannot remove the directory %s", path);
}

uint64_t disk_pages_read(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) fail("this system does not report the blocks read");
  return (uint64_t)usage.ru_inblock / BLOCKS_PER_PAGE;
}

static void evict_file(int directory, const char *name) {
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return; /* the database may remove a file at any time */
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

/*
 * Mapped pages stay in the page cache, so the mappings of the files are emptied first. They are
 * filled again on access.
 */
static void empty_mappings(const char *path) {
  FILE *maps = fopen("/proc/self/maps", "r");
  if (!maps) fail("cannot read /proc/self/maps");
  char line[2 * DISK_PATH + 128];
  while (fgets(line, sizeof line, maps)) {
    uintptr_t from, to;
    if (!strstr(line, path) || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2) continue;
    madvise((void *)from, to - from, MADV_DONTNEED); /* shared mapping: no written data is lost */
  }
  fclose(maps);
}

void disk_evict(const char *path) {
  empty_mappings(path);
  for_each_file(path, evict_file);
}

void disk_cache_resume(disk_cache *c) {
  c->seen = disk_pages_read();
}

void disk_cache_pause(disk_cache *c) {
  uint64_t now = disk_pages_read();
  c->held += now - c->seen;
  c->read += now - c->seen;
  c->seen = now;
}

void disk_cache_check(disk_cache *c) {
  disk_cache_pause(c);
  if (c->held < c->pages) return;
  double start = wall_seconds();
  disk_evict(c->path);
  c->seconds += wall_seconds() - start;
  c->held = 0;
}
