#define _DEFAULT_SOURCE 1 /* fsync */

#include "publish/key_digests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "publish/set_pointer.h"

enum { DIGEST_BYTES = 16, BUFFERED_DIGESTS = 1 << 20 };

/* ------------------------------------------------------------------ lists */

static int key_digest_compare(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static besom_status digest_cursor_next(void *ctx, besom_digest *out, size_t cap, size_t *n) {
  digest_cursor *c = ctx;
  size_t left = c->list->n - c->next;
  *n = left < cap ? left : cap;
  if (!*n) return BESOM_END;
  memcpy(out, c->list->at + c->next, *n * sizeof *out);
  c->next += *n;
  return BESOM_OK;
}

static besom_status digest_cursor_rewind(void *ctx) {
  ((digest_cursor *)ctx)->next = 0;
  return BESOM_OK;
}

besom_digest_source digest_list_source(digest_cursor *cursor) {
  return (besom_digest_source){.next = digest_cursor_next,
                               .rewind = digest_cursor_rewind,
                               .size_hint = cursor->list->n,
                               .ctx = cursor};
}

static digest_list digest_list_room(size_t n) {
  return (digest_list){allocate(n ? n : 1, sizeof(besom_digest)), 0};
}

digest_list digest_list_without(const digest_list *a, const digest_list *b) {
  digest_list out = digest_list_room(a->n);
  for (size_t i = 0, j = 0; i < a->n; i++) {
    while (j < b->n && key_digest_compare(&b->at[j], &a->at[i]) < 0) j++;
    if (j == b->n || key_digest_compare(&b->at[j], &a->at[i]) != 0) out.at[out.n++] = a->at[i];
  }
  return out;
}

digest_list digest_list_union(const digest_list *a, const digest_list *b) {
  digest_list out = digest_list_room(a->n + b->n);
  for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
    int order = i == a->n ? 1 : j == b->n ? -1 : key_digest_compare(&a->at[i], &b->at[j]);
    out.at[out.n++] = order <= 0 ? a->at[i] : b->at[j];
    i += order <= 0;
    j += order >= 0;
  }
  return out;
}

/* ------------------------------------------------------------------ sorting */

/* Digests are uniform: buckets of some 16 by their first bits, which are sorted in the cache.
 * Copies of one key are in one bucket, which may be large. */
static void digests_sort(besom_digest *at, size_t n) {
  unsigned bits = 0;
  while (bits < 24 && n >> bits > 16) bits++;
  if (!bits) {
    qsort(at, n, sizeof *at, key_digest_compare);
    return;
  }
  size_t buckets = (size_t)1 << bits, *ends = allocate(buckets, sizeof *ends), start = 0;
  besom_digest *to = allocate(n, sizeof *to);
  for (size_t i = 0; i < n; i++) ends[at[i].hi >> (64 - bits)]++;
  for (size_t i = 0; i < buckets; i++) {
    size_t count = ends[i];
    ends[i] = start; /* which the next loop moves to the end */
    start += count;
  }
  for (size_t i = 0; i < n; i++) to[ends[at[i].hi >> (64 - bits)]++] = at[i];
  start = 0;
  for (size_t i = 0; i < buckets; start = ends[i++])
    if (ends[i] - start > 1) qsort(to + start, ends[i] - start, sizeof *to, key_digest_compare);
  memcpy(at, to, n * sizeof *at);
  free(to);
  free(ends);
}

static void digest_list_sort(digest_list *list) {
  size_t kept = 0;
  digests_sort(list->at, list->n);
  for (size_t i = 0; i < list->n; i++)
    if (!kept || key_digest_compare(&list->at[kept - 1], &list->at[i]) != 0)
      list->at[kept++] = list->at[i];
  list->n = kept;
}

/* ------------------------------------------------------------------ files */

static _Noreturn void digest_file_failed(const char *path) {
  if (errno == ENOSPC || errno == EDQUOT)
    fail("%s: the disk is full: keys take 16 bytes each, twice while a set is published. Nothing "
         "was published",
         path);
  fail("%s: %s", path, strerror(errno));
}

static void write_digests(const char *path, int flags, const besom_digest *at, size_t n) {
  const char *from = (const char *)at;
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (fd < 0) digest_file_failed(path);
  for (size_t left = n * DIGEST_BYTES; left;) {
    ssize_t written = write(fd, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) digest_file_failed(path);
    from += written;
    left -= (size_t)written;
  }
  if (((flags & O_TRUNC) && fsync(fd) != 0) || close(fd) != 0) digest_file_failed(path);
}

void digest_list_write(const char *path, const digest_list *list) {
  write_digests(path, O_TRUNC, list->at, list->n);
}

/* The number of digests in a file; false if there is no such file. */
static bool digest_file_size(const char *path, size_t *n) {
  struct stat s;
  *n = 0;
  if (stat(path, &s) != 0) {
    if (errno == ENOENT) return false;
    digest_file_failed(path);
  }
  *n = (size_t)s.st_size / DIGEST_BYTES;
  return true;
}

/* Reads n digests of a file into a list that has room for them. */
static void append_digests(const char *path, size_t n, digest_list *list) {
  FILE *in = fopen(path, "rb");
  if (!in) digest_file_failed(path);
  /* analysis: nullPointerRedundantCheck: digest_file_failed does not return */
  if (fread(list->at + list->n, DIGEST_BYTES, n, in) != n) fail("%s: it was cut short", path);
  list->n += n;
  fclose(in);
}

bool digest_list_read(const char *path, digest_list *out) {
  size_t n;
  bool there = digest_file_size(path, &n);
  *out = digest_list_room(n);
  if (there && n) append_digests(path, n, out);
  return there;
}

/* ------------------------------------------------------------------ dividing */

struct digest_spill {
  const char *directory;
  uint32_t parts;
  size_t room; /* of the buffer of each part */
  size_t *buffered;
  besom_digest *buffers;
};

digest_spill *digest_spill_create(const char *directory, uint32_t parts) {
  digest_spill *s = allocate(1, sizeof *s);
  s->directory = directory;
  s->parts = parts;
  s->room = BUFFERED_DIGESTS / parts;
  s->buffered = allocate(parts, sizeof *s->buffered);
  s->buffers = allocate(parts * s->room, sizeof *s->buffers);
  for (uint32_t i = 0; i < parts; i++) /* of an interrupted run */
    free(digest_spill_take(s, i, 1).at);
  return s;
}

static char *spill_path(const digest_spill *s, uint32_t part) {
  char name[32];
  snprintf(name, sizeof name, "spill-%u", part);
  return set_path(s->directory, name);
}

void digest_spill_add(digest_spill *s, uint32_t part, besom_digest digest) {
  besom_digest *buffer = s->buffers + part * s->room;
  buffer[s->buffered[part]++] = digest;
  if (s->buffered[part] < s->room) return;
  char *path = spill_path(s, part);
  write_digests(path, O_APPEND, buffer, s->room);
  s->buffered[part] = 0;
  free(path);
}

digest_list digest_spill_take(digest_spill *s, uint32_t first, uint32_t count) {
  size_t all = 0, in_file;
  for (uint32_t i = first; i < first + count; i++) {
    char *path = spill_path(s, i);
    digest_file_size(path, &in_file);
    all += s->buffered[i] + in_file;
    free(path);
  }
  digest_list out = digest_list_room(all);
  for (uint32_t i = first; i < first + count; i++) {
    char *path = spill_path(s, i);
    if (digest_file_size(path, &in_file)) {
      append_digests(path, in_file, &out);
      unlink(path);
    }
    free(path);
    memcpy(out.at + out.n, s->buffers + i * s->room, s->buffered[i] * sizeof *out.at);
    out.n += s->buffered[i];
    s->buffered[i] = 0;
  }
  digest_list_sort(&out);
  return out;
}

void digest_spill_free(digest_spill *s) {
  free(s->buffered);
  free(s->buffers);
  free(s);
}
