#define _DEFAULT_SOURCE 1 /* read */

#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

static void check_file(besom_status status, const char *path) {
  if (status == BESOM_IO) fail("%s: %s", path, strerror(errno));
  if (status == BESOM_CORRUPT) fail("%s: not a filter, or damaged: besom verify tells more", path);
  check(status, "%s", path);
}

/* All of standard input. */
static uint8_t *read_all(size_t *len) {
  size_t room = 1 << 20;
  uint8_t *data = allocate(1, room);
  ssize_t n;
  *len = 0;
  while ((n = read(STDIN_FILENO, data + *len, room - *len)) > 0) {
    *len += (size_t)n;
    if (*len < room) continue;
    room *= 2;
    data = realloc(data, room);
    if (!data) fail("no memory for %zu bytes of standard input", room);
  }
  if (n < 0) fail("standard input: %s", strerror(errno));
  return data;
}

besom_filter *filter_load(const char *path) {
  besom_filter *f = NULL;
  if (!is_standard(path)) {
    check_file(besom_load_file(path, NULL, &f), path);
    return f;
  }
  size_t len;
  uint8_t *data = read_all(&len);
  check_file(besom_load(data, len, NULL, &f), "standard input");
  free(data);
  return f;
}

besom_filter *filter_open(const char *path) {
  if (is_standard(path)) return filter_load(path);
  besom_filter *f = NULL;
  check_file(besom_open_mmap(path, BESOM_CHECKSUMS, &f), path);
  return f;
}

static besom_status write_out(void *ctx, const void *data, size_t len) {
  return fwrite(data, 1, len, ctx) == len ? BESOM_OK : BESOM_IO;
}

void filter_save(const besom_filter *f, const char *path) {
  besom_sink sink = {.write = write_out, .ctx = stdout};
  if (is_standard(path))
    check_file(besom_save(f, &sink), "standard output");
  else
    check_file(besom_save_file(f, path), path);
}

besom_statistics filter_stats(const besom_filter *f) {
  besom_statistics stats;
  check(besom_stats(f, &stats), "statistics");
  return stats;
}

const besom_kind_info *filter_kind(const besom_filter *f) {
  const char *name = filter_stats(f).kind;
  for (size_t i = 0; besom_kinds(i); i++)
    if (strcmp(besom_kinds(i)->name, name) == 0) return besom_kinds(i);
  fail("a filter of the kind %s, which is not in the list of kinds", name);
}
