#include "real_stream.h"

#include <stdbool.h>
#include <stdlib.h>

#include "fail.h"
#include "text_list.h"
#include "workload.h"

enum { MOST_FILES = 4 };

static const struct {
  const char *name;
  const char *paths[MOST_FILES];
  bool in_order; /* the lines are queries; else they are drawn */
} streams[REAL_STREAMS] = {
    {"trace", {"data/lists/trace.txt"}, true},
    {"domains",
     {"data/lists/ads.txt", "data/lists/disposable.txt", "data/lists/malware.txt", "data/lists/phishing.txt"},
     false},
    {"names", {"data/lists/npm.txt"}, false}};

typedef struct key_array {
  uint64_t *keys;
  uint64_t count;
} key_array;

/* FNV-1a, and a bijection that mixes it well. */
static uint64_t key_of(besom_bytes line) {
  const uint8_t *bytes = line.data;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < line.len; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return random_at(hash, 0);
}

static void add_file(key_array *all, const char *path) {
  text_list lines = text_list_read(path);
  all->keys = realloc(all->keys, (all->count + lines.n + 1) * sizeof *all->keys);
  if (!all->keys) fail("no memory for %s", path);
  for (size_t i = 0; i < lines.n; i++) all->keys[all->count++] = key_of(lines.lines[i]);
  text_list_free(&lines);
}

static bool is_member(uint64_t key) {
  return random_at(BENCH_SEED, key) & 1;
}

static key_array select_keys(const key_array *from, bool members) {
  key_array some = {.keys = allocate(from->count + 1, sizeof *some.keys)};
  for (uint64_t i = 0; i < from->count; i++)
    if (is_member(from->keys[i]) == members) some.keys[some.count++] = from->keys[i];
  return some;
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void keep_each_once(key_array *a) {
  uint64_t kept = 0;
  qsort(a->keys, a->count, sizeof *a->keys, compare_keys);
  for (uint64_t i = 0; i < a->count; i++)
    if (i == 0 || a->keys[i] != a->keys[i - 1]) a->keys[kept++] = a->keys[i];
  a->count = kept;
}

static key_array draw(const key_array *from, uint64_t n) {
  key_array drawn = {.keys = allocate(n, sizeof *drawn.keys), .count = n};
  for (uint64_t i = 0; i < n; i++) drawn.keys[i] = from->keys[random_below(random_at(BENCH_SEED, i), from->count)];
  return drawn;
}

real_stream real_stream_open(size_t which, uint64_t drawn) {
  key_array all = {0};
  for (size_t i = 0; i < MOST_FILES && streams[which].paths[i]; i++) add_file(&all, streams[which].paths[i]);
  key_array members = select_keys(&all, true), queries = select_keys(&all, false);
  free(all.keys);
  keep_each_once(&members);
  if (members.count == 0 || queries.count == 0) fail("%s has too few lines", streams[which].paths[0]);
  if (!streams[which].in_order) {
    key_array strangers = queries;
    keep_each_once(&strangers);
    queries = draw(&strangers, drawn);
    free(strangers.keys);
  }
  return (real_stream){streams[which].name, members.keys, queries.keys, members.count, queries.count};
}

void real_stream_free(real_stream *s) {
  free(s->members);
  free(s->queries);
}
