/*
 * Hostile lists of keys: the reader of the besom command never reads outside of its buffer, gives
 * the same keys when it reads again, and splits lines as a simple model does. The first byte
 * selects the format; the rest is the file. The buffer is small, so that keys cross its end.
 */
#define _GNU_SOURCE 1 /* memfd_create */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bar.h"
#include "fail.h"
#include "interrupt.h"
#include "lists/decompress.h"
#include "lists/keys.h"
#include "support/demand.h"

/* ------------------------------------------------------------------ the rest of the command */

const char *const program_name = "fuzz_input";
static jmp_buf refused;

void fail(const char *format, ...) {
  (void)format;
  longjmp(refused, 1);
}

void usage_error(const char *format, ...) {
  (void)format;
  longjmp(refused, 1);
}

void *allocate(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  demand(memory);
  return memory;
}

void *reallocate(void *memory, size_t count, size_t size) {
  void *larger = realloc(memory, count * size);
  demand(larger);
  return larger;
}

ssize_t interrupt_read(int fd, void *to, size_t most) {
  return read(fd, to, most);
}

void bar_tick(uint64_t done, uint64_t total) {
  (void)done, (void)total;
}

/* ------------------------------------------------------------------ what is read */

/* A sum over all keys and their positions: equal if the same keys are read. */
typedef struct summary {
  uint64_t keys, sum;
} summary;

static void add_key(summary *s, besom_bytes key) {
  const uint8_t *bytes = key.data;
  s->keys++;
  s->sum = (s->sum ^ key.len) * 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < key.len; i++) s->sum = (s->sum ^ bytes[i]) * 0x100000001b3u;
}

static summary read_one_by_one(key_reader *r) {
  summary s = {0, 0};
  for (besom_bytes key; keys_next(r, &key); demand(*keys_position(r))) add_key(&s, key);
  demand(keys_count(r) == s.keys);
  return s;
}

static summary read_in_batches(key_reader *r) {
  summary s = {0, 0};
  besom_bytes keys[KEYS_PER_BATCH];
  for (size_t n; (n = keys_batch(r, keys));) {
    demand(n <= KEYS_PER_BATCH);
    for (size_t i = 0; i < n; i++) add_key(&s, keys[i]);
    demand(*keys_batch_position(r, n - 1));
  }
  return s;
}

/* Lines, one byte at a time. */
static summary model_of_lines(const uint8_t *data, size_t size) {
  summary s = {0, 0};
  size_t start = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  for (size_t i = start; i <= size; i++) {
    if (i < size && data[i] != '\n') continue;
    size_t len = i - start;
    if (len && data[i - 1] == '\r') len--;
    if (len) add_key(&s, (besom_bytes){data + start, len});
    start = i + 1;
  }
  return s;
}

static bool is_compressed(const uint8_t *data, size_t size) {
  bool more;
  const char *tool;
  return compression_of(data, size, &more, &tool) != NOT_COMPRESSED;
}

static const key_form forms[] = {
    {.is_quiet = true},
    {.is_quiet = true, .is_list = true, .comments = "#", .lowercase = true},
    {.is_quiet = true, .null = true},
    {.is_quiet = true, .length_prefixed = true},
    {.is_quiet = true, .format = "hosts", .is_list = true},
    {.is_quiet = true, .format = "adblock"},
    {.is_quiet = true, .format = "csv:2", .is_list = true},
    {.is_quiet = true, .format = "csv:key", .comments = "#"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  const key_form *form = &forms[data[0] % (sizeof forms / sizeof *forms)];
  static char path[64];
  static const char *paths[] = {path, path};
  int fd = memfd_create("input", 0);
  demand(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  key_reader *volatile r = keys_open((words){paths, 1 + data[0] / 128}, form);
  if (!setjmp(refused)) {
    keys_keep(r);
    summary first = read_one_by_one(r);
    keys_rewind(r);
    summary again = read_in_batches(r);
    demand(first.keys == again.keys && first.sum == again.sum);
    if (form == &forms[0] && data[0] < 128 && !is_compressed(data + 1, size - 1)) {
      summary model = model_of_lines(data + 1, size - 1);
      demand(first.keys == model.keys && first.sum == model.sum);
    }
  }
  keys_close(r);
  close(fd);
  return 0;
}
