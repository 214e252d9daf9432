#include "workloads/real_dataset.h"

#include <stdbool.h>
#include <stdlib.h>

#include "fail.h"
#include "workloads/key_list.h"
#include "workloads/key_stream.h"
#include "workloads/text_list.h"

enum { MAX_FILES = 4 };

static const struct {
  const char *name;
  const char *paths[MAX_FILES];
  bool in_order; /* the lines are the queries; else queries are drawn */
} streams[REAL_DATASETS] = {{"trace", {"data/lists/trace.txt"}, true},
                            {"domains",
                             {"data/lists/ads.txt", "data/lists/disposable.txt",
                              "data/lists/malware.txt", "data/lists/phishing.txt"},
                             false},
                            {"names", {"data/lists/npm.txt"}, false}};

/* FNV-1a, followed by a bijection that mixes the bits. */
static uint64_t key_of(besom_bytes line) {
  const uint8_t *bytes = line.data;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < line.len; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return random_at(hash, 0);
}

static void add_file(key_list *all, const char *path) {
  text_list lines = text_list_read(path);
  for (size_t i = 0; i < lines.n; i++) key_list_add(all, key_of(lines.lines[i]));
  text_list_free(&lines);
}

static bool is_member(uint64_t key) {
  return random_at(BENCH_SEED, key) & 1;
}

static key_list select_keys(const key_list *from, bool members) {
  key_list some = {0};
  for (size_t i = 0; i < from->count; i++)
    if (is_member(from->keys[i]) == members) key_list_add(&some, from->keys[i]);
  return some;
}

static key_list draw(const key_list *from, uint64_t n) {
  key_list drawn = {0};
  for (uint64_t i = 0; i < n; i++)
    key_list_add(&drawn, from->keys[random_below(random_at(BENCH_SEED, i), from->count)]);
  return drawn;
}

real_dataset real_dataset_open(size_t which, uint64_t drawn) {
  key_list all = {0};
  for (size_t i = 0; i < MAX_FILES && streams[which].paths[i]; i++)
    add_file(&all, streams[which].paths[i]);
  key_list members = select_keys(&all, true), queries = select_keys(&all, false);
  key_list_free(&all);
  key_list_sort(&members);
  if (members.count == 0 || queries.count == 0)
    fail("%s has too few lines", streams[which].paths[0]);
  if (!streams[which].in_order) {
    key_list absent = queries;
    key_list_sort(&absent);
    queries = draw(&absent, drawn);
    key_list_free(&absent);
  }
  return (real_dataset){streams[which].name, members.keys, queries.keys, members.count,
                        queries.count};
}

void real_dataset_free(real_dataset *s) {
  free(s->members);
  free(s->queries);
}
