#define _DEFAULT_SOURCE 1 /* fstat, fileno, fseeko */

#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bar.h"
#include "fail.h"
#include "interrupt.h"

enum { INITIAL_BUFFER = 1 << 20, MAX_KEY = 1 << 20, LENGTH_BYTES = 4 };

struct key_reader {
  words files;
  const key_form *form;
  size_t file; /* index of the open file */
  int fd;
  const char *name;
  int *copies; /* per file: a copy of a pipe, -1 for a seekable file; NULL: no rewind needed */
  char *buffer;
  size_t size, from, to;          /* of the buffer; its bytes from..to are not consumed yet */
  bool at_end;                    /* end of the open file */
  uint64_t line;                  /* of the last key, in the open file */
  uint64_t lines[KEYS_PER_BATCH]; /* of the keys of the last batch */
  uint64_t count, bytes_read, bytes_total;
  char position[300];
};

static const char *const standard_input = "-";

/* ------------------------------------------------------------------ files */

static uint64_t size_of_file(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
}

/* Copies a pipe into an unlinked temporary file. */
static int copy_of(int fd, const char *name) {
  FILE *copy = tmpfile();
  if (!copy) fail("copying %s to a temporary file: %s", name, strerror(errno));
  char piece[65536];
  ssize_t n;
  while ((n = interrupt_read(fd, piece, sizeof piece)) > 0)
    if (fwrite(piece, 1, (size_t)n, copy) != (size_t)n)
      fail("copying %s to a temporary file: %s", name, strerror(errno));
  if (n < 0) fail("%s: %s", name, strerror(errno));
  if (fflush(copy) != 0) fail("copying %s to a temporary file: %s", name, strerror(errno));
  int kept = dup(fileno(copy));
  fclose(copy);
  return kept;
}

/* Makes the open file rewindable. */
static void make_rewindable(key_reader *r) {
  if (r->copies[r->file] < 0 && lseek(r->fd, 0, SEEK_CUR) < 0)
    r->copies[r->file] = copy_of(r->fd, r->name);
  if (r->copies[r->file] >= 0) {
    close(r->fd);
    r->fd = dup(r->copies[r->file]);
  }
  if (r->fd < 0 || lseek(r->fd, 0, SEEK_SET) < 0) fail("%s: %s", r->name, strerror(errno));
}

static void open_file(key_reader *r) {
  bool is_stdin = strcmp(r->files.at[r->file], standard_input) == 0;
  r->name = is_stdin ? "standard input" : r->files.at[r->file];
  r->fd = is_stdin ? dup(STDIN_FILENO) : open(r->name, O_RDONLY | O_CLOEXEC);
  if (r->fd < 0) fail("%s: %s", r->name, strerror(errno));
  if (r->copies) make_rewindable(r);
  r->at_end = false;
  r->from = r->to = 0;
  r->line = 0;
  r->bytes_total += size_of_file(r->fd);
}

key_reader *keys_open(words files, const key_form *form) {
  key_reader *r = allocate(1, sizeof *r);
  *r = (key_reader){.files = files, .form = form, .fd = -1, .size = INITIAL_BUFFER};
  if (!files.n) r->files = (words){(const char **)(uintptr_t)&standard_input, 1};
  if (form->null && form->length_prefixed)
    usage_error("--null and --length-prefixed exclude each other: give one of them");
  r->buffer = allocate(1, r->size);
  open_file(r);
  return r;
}

void keys_close(key_reader *r) {
  if (!r) return;
  if (r->fd >= 0) close(r->fd);
  for (size_t i = 0; r->copies && i < r->files.n; i++)
    if (r->copies[i] >= 0) close(r->copies[i]);
  free(r->copies);
  free(r->buffer);
  free(r);
}

void keys_keep(key_reader *r) {
  r->copies = allocate(r->files.n, sizeof *r->copies);
  for (size_t i = 0; i < r->files.n; i++) r->copies[i] = -1;
  make_rewindable(r);
}

void keys_rewind(key_reader *r) {
  if (r->fd >= 0) close(r->fd);
  r->file = 0;
  r->count = r->bytes_read = r->bytes_total = 0;
  open_file(r);
}

/* ------------------------------------------------------------------ bytes */

/* Appends bytes of the open file to the buffer; false at its end. */
static bool read_more(key_reader *r) {
  if (r->at_end) return false;
  memmove(r->buffer, r->buffer + r->from, r->to - r->from);
  r->to -= r->from;
  r->from = 0;
  if (r->to == r->size) {
    r->size *= 2;
    r->buffer = realloc(r->buffer, r->size);
    if (!r->buffer) fail("out of memory: a buffer of %zu bytes", r->size);
  }
  ssize_t n = interrupt_read(r->fd, r->buffer + r->to, r->size - r->to);
  if (n < 0) fail("%s: %s", r->name, strerror(errno));
  r->at_end = n == 0;
  r->to += (size_t)n;
  r->bytes_read += (uint64_t)n;
  return n > 0;
}

static const char *position_of(const key_reader *r, uint64_t line) {
  bool binary = r->form->null || r->form->length_prefixed;
  snprintf((char *)(uintptr_t)r->position, sizeof r->position, "%s:%s%llu", r->name,
           binary ? "key " : "", (unsigned long long)line);
  return r->position;
}

const char *keys_position(const key_reader *r) {
  return position_of(r, r->line);
}

const char *keys_batch_position(const key_reader *r, size_t i) {
  return position_of(r, r->lines[i]);
}

static _Noreturn void too_long(key_reader *r) {
  r->line++;
  fail("%s: key longer than %d bytes: is this a file of keys?", keys_position(r), MAX_KEY);
}

/* ------------------------------------------------------------------ keys */

/* Consumes one key of the buffer; false if the buffer does not hold a complete key. */
static bool take_line(key_reader *r, char end, char **key, size_t *len) {
  char *start = r->buffer + r->from;
  size_t left = r->to - r->from;
  char *stop = memchr(start, end, left);
  *len = stop ? (size_t)(stop - start) : left;
  if (*len > MAX_KEY) too_long(r);
  if (!stop && (!r->at_end || !left)) return false;
  r->from += *len + (stop != NULL);
  if (end == '\n' && *len && start[*len - 1] == '\r') --*len;
  *key = start;
  return true;
}

static bool take_prefixed(key_reader *r, char **key, size_t *len) {
  const uint8_t *start = (const uint8_t *)r->buffer + r->from;
  size_t left = r->to - r->from;
  if (!left && r->at_end) return false;
  uint32_t n = left < LENGTH_BYTES ? 0
                                   : (uint32_t)start[0] | (uint32_t)start[1] << 8 |
                                         (uint32_t)start[2] << 16 | (uint32_t)start[3] << 24;
  if (n > MAX_KEY) too_long(r);
  if (left < LENGTH_BYTES + (size_t)n || left < LENGTH_BYTES) {
    r->line++;
    if (r->at_end) fail("%s: the file ends within a key", keys_position(r));
    r->line--;
    return false;
  }
  *key = r->buffer + r->from + LENGTH_BYTES;
  *len = n;
  r->from += LENGTH_BYTES + (size_t)n;
  return true;
}

static void to_lower(char *key, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (key[i] >= 'A' && key[i] <= 'Z') key[i] = (char)(key[i] + ('a' - 'A'));
}

static bool is_skipped(const key_form *form, const char *key, size_t len) {
  if (form->null || form->length_prefixed) return false;
  size_t prefix = form->comments ? strlen(form->comments) : 0;
  return !len || (prefix && len >= prefix && memcmp(key, form->comments, prefix) == 0);
}

/* The next key of the buffer that is not skipped; false if there is none. */
static bool take_key(key_reader *r, besom_bytes *out) {
  const key_form *form = r->form;
  char *key;
  size_t len;
  while (form->length_prefixed ? take_prefixed(r, &key, &len)
                               : take_line(r, form->null ? '\0' : '\n', &key, &len)) {
    r->line++;
    if (is_skipped(form, key, len)) continue;
    if (form->lowercase) to_lower(key, len);
    *out = (besom_bytes){key, len};
    r->count++;
    return true;
  }
  return false;
}

/* Reads more bytes, of this file or the next one; false at the end of the last file. */
static bool refill(key_reader *r) {
  if (read_more(r)) return true;
  if (r->from < r->to) return true; /* the last line has no newline */
  if (r->file + 1 == r->files.n) return false;
  close(r->fd);
  r->file++;
  open_file(r);
  return true;
}

bool keys_next(key_reader *r, besom_bytes *key) {
  while (!take_key(r, key))
    if (!refill(r)) return false;
  return true;
}

/* All keys of a batch are in the buffer, so they are of one file. */
size_t keys_batch(key_reader *r, besom_bytes keys[KEYS_PER_BATCH]) {
  size_t n = 0;
  bool more = keys_next(r, keys);
  while (more) {
    r->lines[n++] = r->line;
    more = n < KEYS_PER_BATCH && take_key(r, &keys[n]);
  }
  return n;
}

uint64_t keys_count(const key_reader *r) {
  return r->count;
}

void keys_tick(const key_reader *r) {
  bar_tick(r->bytes_read, r->files.n == 1 ? r->bytes_total : 0);
}

/* ------------------------------------------------------------------ as a source */

static besom_status source_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  return keys_next(ctx, key) ? BESOM_OK : BESOM_END;
}

static besom_status source_rewind(void *ctx) {
  keys_rewind(ctx);
  return BESOM_OK;
}

besom_source keys_source(key_reader *r) {
  return (besom_source){.next = source_next, .rewind = source_rewind, .ctx = r};
}
