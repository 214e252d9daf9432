#define _DEFAULT_SOURCE 1 /* fstat, fileno, dup */

#include "lists/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"
#include "lists/decompress.h"

enum { RAW_BYTES = 1 << 17 };

struct input_files {
  words files;
  size_t file; /* index of the open file */
  bool is_text, is_started;
  int fd;
  const char *name;
  int *copies; /* per file: a copy of a pipe, -1 for a seekable file; NULL: no rewind needed */
  uint64_t bytes_read, bytes_total;
  decompressor *decompressor; /* NULL: the file is not compressed */
  char *raw;                  /* compressed bytes: from raw_at to raw_end */
  const char *raw_at, *raw_end;
  bool is_full; /* the last call filled the caller's buffer: there may be more to take out */
};

static const char *const standard_input = "-";

void claim_standard_input(void) {
  static bool is_claimed;
  if (is_claimed)
    usage_error(
        "standard input can be read only once: give the name of a file for the other input");
  is_claimed = true;
}

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
static void make_rewindable(input_files *in) {
  if (in->copies[in->file] < 0 && lseek(in->fd, 0, SEEK_CUR) < 0)
    in->copies[in->file] = copy_of(in->fd, in->name);
  if (in->copies[in->file] >= 0) {
    close(in->fd);
    in->fd = dup(in->copies[in->file]);
  }
  if (in->fd < 0 || lseek(in->fd, 0, SEEK_SET) < 0) fail("%s: %s", in->name, strerror(errno));
}

static void close_file(input_files *in) {
  if (in->fd >= 0) close(in->fd);
  in->fd = -1;
  decompressor_free(in->decompressor);
  in->decompressor = NULL;
}

static void open_file(input_files *in) {
  bool is_stdin = strcmp(in->files.at[in->file], standard_input) == 0;
  in->name = is_stdin ? "standard input" : in->files.at[in->file];
  in->fd = is_stdin ? dup(STDIN_FILENO) : open(in->name, O_RDONLY | O_CLOEXEC);
  if (in->fd < 0) fail("%s: %s", in->name, strerror(errno));
  if (in->copies) make_rewindable(in);
  in->is_started = in->is_full = false;
  in->bytes_total += size_of_file(in->fd);
}

input_files *input_open(words files, bool is_text) {
  input_files *in = allocate(1, sizeof *in);
  *in = (input_files){.files = files, .is_text = is_text, .fd = -1};
  if (!files.n) in->files = (words){(const char **)(uintptr_t)&standard_input, 1};
  for (size_t i = 0; i < in->files.n; i++)
    if (strcmp(in->files.at[i], standard_input) == 0) claim_standard_input();
  open_file(in);
  return in;
}

void input_close(input_files *in) {
  if (!in) return;
  close_file(in);
  for (size_t i = 0; in->copies && i < in->files.n; i++)
    if (in->copies[i] >= 0) close(in->copies[i]);
  free(in->copies);
  free(in->raw);
  free(in);
}

bool input_next_file(input_files *in) {
  if (in->file + 1 == in->files.n) return false;
  close_file(in);
  in->file++;
  open_file(in);
  return true;
}

void input_keep(input_files *in) {
  in->copies = allocate(in->files.n, sizeof *in->copies);
  for (size_t i = 0; i < in->files.n; i++) in->copies[i] = -1;
  make_rewindable(in);
}

void input_rewind(input_files *in) {
  close_file(in);
  in->file = 0;
  in->bytes_read = in->bytes_total = 0;
  open_file(in);
}

const char *input_name(const input_files *in) {
  return in->name;
}

uint64_t input_bytes_read(const input_files *in) {
  return in->bytes_read;
}

uint64_t input_bytes_total(const input_files *in) {
  return in->files.n == 1 ? in->bytes_total : 0;
}

/* ------------------------------------------------------------------ bytes */

static size_t read_raw(input_files *in, char *to, size_t most) {
  ssize_t n = interrupt_read(in->fd, to, most);
  if (n < 0) fail("%s: %s", in->name, strerror(errno));
  in->bytes_read += (uint64_t)n;
  return (size_t)n;
}

static size_t read_compressed(input_files *in, char *to, size_t most) {
  for (;;) {
    bool is_empty = in->raw_at == in->raw_end;
    size_t n = is_empty && !in->is_full
                   ? 0
                   : decompress(in->decompressor, &in->raw_at, in->raw_end, to, most);
    in->is_full = n == most;
    if (n) return n;
    size_t more = read_raw(in, in->raw, RAW_BYTES);
    if (!more && !decompressor_is_complete(in->decompressor))
      fail("%s: the compressed data is cut short", in->name);
    if (!more) return 0;
    in->raw_at = in->raw;
    in->raw_end = in->raw + more;
  }
}

/* ------------------------------------------------------------------ encoding */

static _Noreturn void fail_with_utf16(const input_files *in, const char *encoding) {
  fail("%s: UTF-16 text, but besom reads UTF-8: give the output of iconv -f %s -t UTF-8", in->name,
       encoding);
}

/* Without a byte-order mark: ASCII characters as UTF-16 have a NUL in every other byte. */
static void refuse_utf16(const input_files *in, const uint8_t *start, size_t len) {
  enum { SEEN = 256, FEW = 8 };
  size_t nuls[2] = {0, 0}, pairs = (len < SEEN ? len : SEEN) / 2;
  size_t many = pairs < FEW ? pairs : pairs / 2;
  if (len >= 2 && start[0] == 0xff && start[1] == 0xfe) fail_with_utf16(in, "UTF-16");
  if (len >= 2 && start[0] == 0xfe && start[1] == 0xff) fail_with_utf16(in, "UTF-16");
  for (size_t i = 0; i < 2 * pairs; i++) nuls[i % 2] += !start[i];
  if (pairs >= 2 && !nuls[0] && nuls[1] >= many) fail_with_utf16(in, "UTF-16LE");
  if (pairs >= 2 && !nuls[1] && nuls[0] >= many) fail_with_utf16(in, "UTF-16BE");
}

/* The length of the byte-order mark of UTF-8 at the start. */
static size_t mark_length(const char *start, size_t len) {
  return len >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static void refuse_filter(const input_files *in, const char *start, size_t len) {
  static const char filter_magic[] = "\x89"
                                     "BESOM\r\n";
  if (len >= sizeof filter_magic - 1 && memcmp(start, filter_magic, sizeof filter_magic - 1) == 0)
    fail("%s: this is a filter or a patch, not a list of keys", in->name);
}

/* Checks the first bytes of a text; returns how many remain without a byte-order mark. */
static size_t begin_text(const input_files *in, char *start, size_t len) {
  refuse_filter(in, start, len);
  if (!in->is_text) return len;
  refuse_utf16(in, (const uint8_t *)start, len);
  size_t mark = mark_length(start, len);
  memmove(start, start + mark, len - mark);
  return len - mark;
}

/* Whether the checks need more bytes: a mark or a magic number may be incomplete. */
static bool needs_more(const char *start, size_t len) {
  enum { LONGEST_MAGIC = 8 };
  return len < LONGEST_MAGIC &&
         (!len || memchr("\xef\xff\xfe\x89", *start, 4) || memchr(start, 0, len));
}

static void begin_compressed(input_files *in, compression form, const char *tool, const char *start,
                             size_t len) {
  if (form == OTHER_COMPRESSION)
    fail("%s: compressed, but not with gzip or zstd: give the output of %s", in->name, tool);
  in->decompressor = decompressor_create(form, in->name);
  if (!in->raw) in->raw = allocate(1, RAW_BYTES);
  in->raw_at = in->raw_end = in->raw;
  memcpy(in->raw, start, len);
  in->raw_end += len;
}

static size_t start_file(input_files *in, char *to, size_t most) {
  bool more = true;
  const char *tool = NULL;
  compression form = NOT_COMPRESSED;
  size_t len = 0, raw_most = most < RAW_BYTES ? most : RAW_BYTES;
  in->is_started = true;
  for (size_t n; (more || needs_more(to, len)) && (n = read_raw(in, to + len, raw_most - len));
       len += n)
    form = compression_of(to, len + n, &more, &tool);
  if (form != NOT_COMPRESSED) {
    begin_compressed(in, form, tool, to, len);
    len = 0;
    for (size_t n; needs_more(to, len) && (n = read_compressed(in, to + len, most - len));)
      len += n;
  }
  return begin_text(in, to, len);
}

size_t input_read(input_files *in, char *to, size_t most) {
  size_t n = in->is_started ? 0 : start_file(in, to, most);
  if (n) return n;
  return in->decompressor ? read_compressed(in, to, most) : read_raw(in, to, most);
}
