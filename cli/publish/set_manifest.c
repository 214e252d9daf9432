#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "publish/set_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* ------------------------------------------------------------------ the statement */

void set_statement_text(const set_statement *s, char text[COMMENT_BYTES + 1]) {
  char date[DATE_SIZE];
  date_text(s->expires, date);
  snprintf(text, COMMENT_BYTES + 1,
           "besom-set-1 name=%s sequence=%llu expires=%s bytes=%llu result=%s", s->name,
           (unsigned long long)s->sequence, date, (unsigned long long)s->bytes, s->result);
}

static bool set_statement_is_valid(const set_statement *s) {
  return name_is_valid(s->name) && s->sequence >= 1 && s->sequence <= MAX_SEQUENCE && s->bytes &&
         strlen(s->result) == SHA256_TEXT - 1;
}

bool set_statement_parse(const char *text, set_statement *out) {
  char date[DATE_SIZE], again[COMMENT_BYTES + 1];
  unsigned long long sequence, bytes;
  *out = (set_statement){.sequence = 0};
  if (sscanf(text,
             "besom-set-1 name=%64s sequence=%16llu expires=%20s bytes=%16llu result=%64[0-9a-f]",
             out->name, &sequence, date, &bytes, out->result) != 5 ||
      !date_parse(date, &out->expires))
    return false;
  out->sequence = sequence;
  out->bytes = bytes;
  if (!set_statement_is_valid(out)) return false;
  set_statement_text(out, again);
  return strcmp(again, text) == 0;
}

/* ------------------------------------------------------------------ the manifest */

void set_manifest_name(uint64_t sequence, char name[SET_FILE_SIZE]) {
  snprintf(name, SET_FILE_SIZE, "manifest-%llu", (unsigned long long)sequence);
}

void set_manifest_free(set_manifest *m) {
  free(m->files);
  free(m->patches);
  *m = (set_manifest){.shards = 0};
}

static void write_file(FILE *out, const set_file *file) {
  fprintf(out, "%s %llu %s\n", file->name, (unsigned long long)file->bytes, file->sum);
}

file_bytes set_manifest_text(const set_manifest *m) {
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  if (!out) fail("the manifest: out of memory");
  /* analysis: nullPointerRedundantCheck: fail does not return */
  fprintf(out,
          "besom-set-manifest-1\nname %s\nsequence %llu\nkind %s\n"
          "fpr %.17g\nshards %u\nkeys %llu\n",
          m->name, (unsigned long long)m->sequence, m->kind, m->fpr, m->shards,
          (unsigned long long)m->keys);
  for (uint32_t i = 0; i < m->shards; i++) {
    fprintf(out, "shard %u ", i);
    write_file(out, &m->files[i]);
  }
  for (size_t i = 0; i < m->patch_count; i++) {
    fprintf(out, "patch %llu %llu ", (unsigned long long)m->patches[i].from,
            (unsigned long long)m->patches[i].to);
    write_file(out, &m->patches[i].file);
  }
  if (fclose(out) != 0) fail("the manifest: out of memory");
  return (file_bytes){(uint8_t *)text, len};
}

/* A name that every file system takes, and that cannot leave the directory. */
static bool file_is_valid(const set_file *file, const char *prefix) {
  return strncmp(file->name, prefix, strlen(prefix)) == 0 && file->bytes &&
         file->name[strspn(file->name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == 0 &&
         strlen(file->sum) == SHA256_TEXT - 1;
}

static bool read_head(const char *text, set_manifest *m, int *len) {
  unsigned long long sequence, keys;
  int fields = sscanf(text,
                      "besom-set-manifest-1\nname %64s\nsequence %16llu\nkind %16s\nfpr "
                      "%lf\nshards %4u\nkeys %16llu\n%n",
                      m->name, &sequence, m->kind, &m->fpr, &m->shards, &keys, len);
  if (fields != 6) return false;
  m->sequence = sequence;
  m->keys = keys;
  return name_is_valid(m->name) && m->shards >= 1 && m->shards <= SET_MOST_SHARDS && m->fpr > 0 &&
         m->fpr < 1;
}

/* Reads "NAME BYTES SUM\n". Returns what follows; NULL if it is something else. */
static const char *read_file_line(const char *at, const char *prefix, set_file *file) {
  unsigned long long bytes;
  int len = 0;
  if (sscanf(at, "%64s %16llu %64[0-9a-f]%n", file->name, &bytes, file->sum, &len) != 3)
    return NULL;
  file->bytes = bytes;
  return at[len] == '\n' && file_is_valid(file, prefix) ? at + len + 1 : NULL;
}

static const char *read_shards(const char *at, set_manifest *m) {
  m->files = allocate(m->shards, sizeof *m->files);
  for (uint32_t i = 0; i < m->shards && at; i++) {
    unsigned number;
    int len = 0;
    if (sscanf(at, "shard %4u %n", &number, &len) != 1 || number != i) return NULL;
    at = read_file_line(at + len, "shard-", &m->files[i]);
  }
  return at;
}

static const char *read_patches(const char *at, set_manifest *m) {
  while (at && *at) {
    set_patch p;
    unsigned long long from, to;
    int len = 0;
    if (m->patch_count == SET_MOST_PATCHES) return NULL;
    if (sscanf(at, "patch %16llu %16llu %n", &from, &to, &len) != 2) return NULL;
    if (!(from < to && to <= m->sequence)) return NULL;
    if (m->patch_count && from < m->patches[m->patch_count - 1].from) return NULL;
    p.from = from;
    p.to = to;
    at = read_file_line(at + len, "patch-", &p.file);
    if (!at) return NULL;
    m->patches = reallocate(m->patches, m->patch_count + 1, sizeof p);
    m->patches[m->patch_count++] = p;
  }
  return at;
}

/* Reads what may be a manifest, then compares it with the one that says the same. */
bool set_manifest_parse(const file_bytes *text, set_manifest *out) {
  *out = (set_manifest){.shards = 0};
  if (!text->len || memchr(text->data, 0, text->len)) return false;
  char *copy = allocate(1, text->len + 1);
  memcpy(copy, text->data, text->len);
  int len = 0;
  const char *at = read_head(copy, out, &len) && len ? copy + len : NULL;
  if (at) at = read_shards(at, out);
  if (at) at = read_patches(at, out);
  bool ok = at;
  if (ok) {
    file_bytes again = set_manifest_text(out);
    ok = again.len == text->len && memcmp(again.data, text->data, text->len) == 0;
    free(again.data);
  }
  free(copy);
  if (!ok) set_manifest_free(out);
  return ok;
}
