#define _DEFAULT_SOURCE 1 /* timegm */

#include "published/set_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/system/durable_file.h"
#include "core/system/memory.h"

#define POINTER "set.minisig"
#define STATEMENT_PREFIX "\ntrusted comment: besom-set-"

enum { POINTER_BYTES = 4096, LINE_BYTES = 256 };

besom_status besom__set_path(const char *directory, const char *name, char path[SET_PATH_BYTES]) {
  int len = snprintf(path, SET_PATH_BYTES, "%s/%s", directory, name);
  if (len >= 0 && len < SET_PATH_BYTES) return BESOM_OK;
  errno = ENAMETOOLONG;
  return BESOM_IO;
}

/* ------------------------------------------------------------------ the pointer */

static bool set_read_date(const char *text, int64_t *seconds) {
  struct tm utc = {0};
  if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
             &utc.tm_hour, &utc.tm_min, &utc.tm_sec) != 6)
    return false;
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  *seconds = (int64_t)timegm(&utc);
  return true;
}

/* The statement is the trusted comment of the signature, the third line. */
static besom_status set_parse_pointer(const char *text, struct set_directory *d,
                                      unsigned long long *manifest_bytes) {
  const char *at = strstr(text, STATEMENT_PREFIX);
  unsigned version;
  unsigned long long sequence;
  char date[21];
  if (!at || sscanf(at + strlen(STATEMENT_PREFIX), "%3u ", &version) != 1) return BESOM_CORRUPT;
  if (version != 1) return BESOM_NEWER_VERSION;
  if (sscanf(at + strlen(STATEMENT_PREFIX), "1 name=%64s sequence=%16llu expires=%20s bytes=%16llu",
             d->name, &sequence, date, manifest_bytes) != 4 ||
      !set_read_date(date, &d->expires))
    return BESOM_CORRUPT;
  d->sequence = sequence;
  return BESOM_OK;
}

static besom_status set_read_pointer(const char *directory, struct set_directory *d,
                                     unsigned long long *manifest_bytes) {
  char path[SET_PATH_BYTES], text[POINTER_BYTES + 1];
  void *data;
  size_t len;
  besom_status status = besom__set_path(directory, POINTER, path);
  if (status == BESOM_OK) status = besom__file_map(path, &data, &len);
  if (status != BESOM_OK) return status;
  bool fits = len <= POINTER_BYTES;
  memcpy(text, data, fits ? len : 0);
  text[fits ? len : 0] = 0;
  besom__file_unmap(data, len);
  return set_parse_pointer(text, d, manifest_bytes);
}

/* ------------------------------------------------------------------ the manifest */

/* Copies the next line without its end. Returns false if there is none, or if it is too long. */
static bool set_next_line(const char **at, const char *end, char line[LINE_BYTES]) {
  const char *stop = memchr(*at, '\n', (size_t)(end - *at));
  if (!stop || stop - *at >= LINE_BYTES) return false;
  memcpy(line, *at, (size_t)(stop - *at));
  line[stop - *at] = 0;
  *at = stop + 1;
  return true;
}

static bool shard_name_is_valid(const char *name) {
  return strncmp(name, "shard-", 6) == 0 &&
         name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == 0;
}

static bool set_parse_shard(const char *line, uint32_t shard, struct set_shard_file *file) {
  unsigned number;
  unsigned long long bytes;
  int len = 0;
  if (sscanf(line, "shard %4u %64s %16llu %n", &number, file->name, &bytes, &len) != 3 || !len)
    return false;
  file->bytes = bytes;
  return number == shard && shard_name_is_valid(file->name);
}

static bool set_parse_head(const char **at, const char *end, struct set_directory *d) {
  char line[LINE_BYTES], name[SET_NAME_BYTES], rate[33];
  unsigned long long sequence, keys;
  unsigned shards;
  bool ok = set_next_line(at, end, line) && sscanf(line, "name %64s", name) == 1 &&
            set_next_line(at, end, line) && sscanf(line, "sequence %16llu", &sequence) == 1 &&
            set_next_line(at, end, line) && sscanf(line, "kind %16s", d->kind) == 1 &&
            set_next_line(at, end, line) && sscanf(line, "fpr %32s", rate) == 1 &&
            set_next_line(at, end, line) && sscanf(line, "shards %4u", &shards) == 1 &&
            set_next_line(at, end, line) && sscanf(line, "keys %16llu", &keys) == 1 &&
            sequence == d->sequence && strcmp(name, d->name) == 0 && shards >= 1 &&
            shards <= MAX_SHARDS;
  if (!ok) return false;
  d->shards = shards;
  d->keys = keys;
  return true;
}

static besom_status set_parse_manifest(const char *at, const char *end, struct set_directory *d) {
  char line[LINE_BYTES];
  if (!set_next_line(&at, end, line)) return BESOM_CORRUPT;
  if (strcmp(line, "besom-set-manifest-1") != 0)
    return strncmp(line, "besom-set-manifest-", 19) == 0 ? BESOM_NEWER_VERSION : BESOM_CORRUPT;
  if (!set_parse_head(&at, end, d)) return BESOM_CORRUPT;
  d->files = besom__allocate(&besom__default_allocator, d->shards * sizeof *d->files);
  if (!d->files) return BESOM_NO_MEMORY;
  for (uint32_t i = 0; i < d->shards; i++)
    if (!set_next_line(&at, end, line) || !set_parse_shard(line, i, &d->files[i]))
      return BESOM_CORRUPT;
  return BESOM_OK;
}

void besom__set_directory_free(struct set_directory *d) {
  besom__release(&besom__default_allocator, d->files, d->shards * sizeof *d->files);
  d->files = NULL;
}

besom_status besom__set_directory_read(const char *directory, struct set_directory *out) {
  *out = (struct set_directory){.shards = 0};
  char path[SET_PATH_BYTES], name[40];
  unsigned long long manifest_bytes;
  void *data;
  size_t len;
  besom_status status = set_read_pointer(directory, out, &manifest_bytes);
  if (status != BESOM_OK) return status;
  snprintf(name, sizeof name, "manifest-%llu", (unsigned long long)out->sequence);
  status = besom__set_path(directory, name, path);
  if (status == BESOM_OK) status = besom__file_map(path, &data, &len);
  if (status != BESOM_OK) return status;
  status = len == manifest_bytes ? set_parse_manifest(data, (const char *)data + len, out)
                                 : BESOM_CORRUPT;
  besom__file_unmap(data, len);
  if (status != BESOM_OK) besom__set_directory_free(out);
  return status;
}
