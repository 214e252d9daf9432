/*
 * The layout of LMDB's pages is that of version 0.9 on 64-bit systems, in the machine's own byte
 * order.
 */
#define _GNU_SOURCE /* O_CLOEXEC, posix_fallocate */
#include "lmdb_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

enum {
  PAGE_HEAD = 16,
  FLAGS_AT = 10, /* u16 */
  LOWER_AT = 12, /* u16: the end of the array of offsets */
  PAGES_AT = 12, /* u32, of an overflow page */
  IS_BRANCH = 1,
  IS_LEAF = 2,
  IS_OVERFLOW = 4,
  NODE_HEAD = 8,
  NODE_BIG = 1, /* its value is in overflow pages */
  NODE_SUB = 2, /* its value is a database */
  ROOT_AT = 40, /* in the 48 bytes of a database */
  DB_BYTES = 48,
  META_BYTES = 152,
  MOST_DEPTH = 32,
  MOST_ATTEMPTS = 10,
};

#define NO_PAGE UINT64_MAX

struct meta {
  uint64_t page_size, free_root, main_root, last_page, transaction;
};

struct page_walk {
  int fd;
  struct meta meta;
  uint64_t pages; /* whole pages of the file */
  const besom_allocator *allocator;
};

static uint16_t read16(const uint8_t *at) {
  uint16_t x;
  memcpy(&x, at, sizeof x);
  return x;
}

static uint32_t read32(const uint8_t *at) {
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return x;
}

static uint64_t read64(const uint8_t *at) {
  uint64_t x;
  memcpy(&x, at, sizeof x);
  return x;
}

/* ------------------------------------------------------------------ meta pages */

static bool read_meta(int fd, uint64_t at, struct meta *out) {
  enum { MAGIC_AT = 16, FREE_AT = 40, MAIN_AT = 88, LAST_AT = 136, NUMBER_AT = 144 };
  uint8_t bytes[META_BYTES];
  if (pread(fd, bytes, sizeof bytes, (off_t)at) != (ssize_t)sizeof bytes) return false;
  if (read32(bytes + MAGIC_AT) != 0xBEEFC0DE) return false;
  *out = (struct meta){.page_size = read32(bytes + FREE_AT),
                       .free_root = read64(bytes + FREE_AT + ROOT_AT),
                       .main_root = read64(bytes + MAIN_AT + ROOT_AT),
                       .last_page = read64(bytes + LAST_AT),
                       .transaction = read64(bytes + NUMBER_AT)};
  return out->page_size >= 256 && out->page_size <= 65536;
}

/* Of the two meta pages LMDB uses the one with the higher number. */
static bool last_meta(int fd, struct meta *out) {
  struct meta first, second;
  if (!read_meta(fd, 0, &first)) return false;
  bool both = read_meta(fd, first.page_size, &second);
  *out = both && second.transaction > first.transaction ? second : first;
  return true;
}

/* ------------------------------------------------------------------ the walk */

static besom_status walk_page(const struct page_walk *w, uint64_t number, unsigned depth);

/* Overflow pages follow each other. Only the first has a head. */
static besom_status check_overflow(const struct page_walk *w, uint64_t number) {
  uint8_t head[PAGE_HEAD];
  if (number >= w->pages) return BESOM_CORRUPT;
  ssize_t n = pread(w->fd, head, sizeof head, (off_t)(number * w->meta.page_size));
  if (n != (ssize_t)sizeof head || !(read16(head + FLAGS_AT) & IS_OVERFLOW)) return BESOM_CORRUPT;
  return read32(head + PAGES_AT) <= w->pages - number ? BESOM_OK : BESOM_CORRUPT;
}

static besom_status walk_node(const struct page_walk *w, const uint8_t *page, uint16_t at,
                              bool branch, unsigned depth) {
  uint64_t size = w->meta.page_size;
  if ((uint64_t)at + NODE_HEAD > size) return BESOM_CORRUPT;
  const uint8_t *node = page + at;
  uint64_t low = read16(node), high = read16(node + 2), flags = read16(node + 4);
  if (branch) return walk_page(w, low | high << 16 | flags << 32, depth + 1);
  uint64_t value = (uint64_t)at + NODE_HEAD + read16(node + 6); /* after the key */
  if (flags & NODE_BIG)
    return value + 8 <= size ? check_overflow(w, read64(page + value)) : BESOM_CORRUPT;
  if (!(flags & NODE_SUB)) return BESOM_OK;
  if (value + DB_BYTES > size) return BESOM_CORRUPT;
  return walk_page(w, read64(page + value + ROOT_AT), depth + 1);
}

static besom_status walk_nodes(const struct page_walk *w, const uint8_t *page, unsigned depth) {
  unsigned flags = read16(page + FLAGS_AT), end = read16(page + LOWER_AT);
  besom_status status = BESOM_OK;
  if (!(flags & (IS_BRANCH | IS_LEAF)) || end > w->meta.page_size) return BESOM_CORRUPT;
  for (unsigned i = PAGE_HEAD; i + 2 <= end && status == BESOM_OK; i += 2)
    status = walk_node(w, page, read16(page + i), flags & IS_BRANCH, depth);
  return status;
}

static besom_status walk_page(const struct page_walk *w, uint64_t number, unsigned depth) {
  size_t size = (size_t)w->meta.page_size;
  if (number == NO_PAGE) return BESOM_OK; /* an empty database */
  if (number >= w->pages || depth > MOST_DEPTH) return BESOM_CORRUPT;
  uint8_t *page = w->allocator->allocate(w->allocator->ctx, size);
  if (!page) return BESOM_NO_MEMORY;
  ssize_t n = pread(w->fd, page, size, (off_t)(number * size));
  enum { FIXED_KEYS = 0x20 }; /* a leaf of keys only */
  besom_status status = BESOM_CORRUPT;
  if (n == (ssize_t)size)
    status = read16(page + FLAGS_AT) & FIXED_KEYS ? BESOM_OK : walk_nodes(w, page, depth);
  w->allocator->release(w->allocator->ctx, page, size);
  return status;
}

/* While another process writes, pages of the state may be used again: then it is not the last
   state any more. */
static besom_status check_file(struct page_walk *w, bool always) {
  struct meta now;
  struct stat file;
  besom_status status = BESOM_OK;
  for (unsigned i = 0; i < MOST_ATTEMPTS; i++) {
    if (!last_meta(w->fd, &w->meta) || fstat(w->fd, &file) != 0) return BESOM_OK;
    w->pages = (uint64_t)file.st_size / w->meta.page_size;
    if (w->pages > w->meta.last_page && !always) return BESOM_OK;
    status = walk_page(w, w->meta.free_root, 0);
    if (status == BESOM_OK) status = walk_page(w, w->meta.main_root, 0);
    bool same = last_meta(w->fd, &now) && now.transaction == w->meta.transaction;
    if (status != BESOM_CORRUPT || same) return status;
  }
  return BESOM_OK; /* somebody writes all the time: the file is in use, and whole */
}

besom_status besom__lmdb_check_pages(const char *directory, bool always,
                                     const besom_allocator *allocator) {
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s/data.mdb", directory);
  struct page_walk w = {.allocator = allocator};
  w.fd = len < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (w.fd < 0) return BESOM_OK;
  besom_status status = check_file(&w, always);
  close(w.fd);
  return status;
}

/* ------------------------------------------------------------------ the lock file */

/* LMDB locks the first byte of the file for as long as it is open. */
static bool is_in_use(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

besom_status besom__lmdb_allocate_lock(const char *directory, unsigned readers) {
  enum { READER_BYTES = 64, HEAD_BYTES = 4096 };
  char path[PATH_MAX];
  struct stat file;
  off_t needed = (off_t)readers * READER_BYTES + HEAD_BYTES;
  int len = snprintf(path, sizeof path, "%s/lock.mdb", directory);
  int fd = len < (int)sizeof path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd < 0) return errno == ENOSPC || errno == EDQUOT ? BESOM_DISK_FULL : BESOM_OK;
  int error = 0;
  if (fstat(fd, &file) == 0 && file.st_size < (off_t)readers * READER_BYTES && !is_in_use(fd))
    error = posix_fallocate(fd, 0, needed);
  bool full = error == ENOSPC || error == EDQUOT;
  if (full && ftruncate(fd, file.st_size) != 0) error = errno; /* LMDB reads its size */
  close(fd);
  return full ? BESOM_DISK_FULL : BESOM_OK;
}
