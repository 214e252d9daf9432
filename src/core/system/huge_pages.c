#define _GNU_SOURCE /* O_CLOEXEC */
#include "core/system/huge_pages.h"

#if defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* linux/fs.h, from 6.7 on. */
struct scanned_region {
  uint64_t start, end, categories;
};

struct scan {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan)
#define IS_HUGE ((uint64_t)1 << 6)
#define REGIONS 64 /* per call */

/* One call; advances s->start. False if it fails. */
static bool huge_pages_scan(int fd, struct scan *s, const struct scanned_region *regions,
                            uint64_t *bytes) {
  int n = ioctl(fd, SCAN_PAGES, s);
  if (n < 0 || s->walk_end <= s->start) return false;
  for (int i = 0; i < n; i++) *bytes += regions[i].end - regions[i].start;
  s->start = s->walk_end;
  return true;
}

bool besom__add_huge_pages(const void *memory, size_t size, uint64_t *bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), found = 0;
  uint64_t start = (uint64_t)(uintptr_t)memory / page * page,
           end = ((uint64_t)(uintptr_t)memory + size + page - 1) / page * page;
  struct scanned_region regions[REGIONS];
  struct scan s = {.size = sizeof s,
                   .start = start,
                   .end = end,
                   .regions = (uint64_t)(uintptr_t)regions,
                   .region_count = REGIONS,
                   .category_mask = IS_HUGE,
                   .return_mask = IS_HUGE};
  int error = errno, fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  bool known = fd >= 0;
  while (known && s.start < end) known = huge_pages_scan(fd, &s, regions, &found);
  if (fd >= 0) close(fd);
  errno = error;
  if (known) *bytes += found;
  return known;
}

#else

bool besom__add_huge_pages(const void *memory, size_t size, uint64_t *bytes) {
  (void)memory, (void)size, (void)bytes;
  return false;
}

#endif
