/*
 * The way of a key: which functions of besom a call passes. Everything is built with
 * -finstrument-functions, so the hooks below see each function, also one that is inlined.
 *
 *   walk DIRECTORY    DIRECTORY is empty and gets a database
 *
 * Prints a line per call: its name, its depth, and the addresses of the functions. walk.py names
 * them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "besom_guard.h"
#include "besom_store.h"

#define UNCOUNTED __attribute__((no_instrument_function))

enum { MOST_FUNCTIONS = 4096, KEYS = 20000 };

static struct {
  bool on;
  unsigned depth, deepest;
  size_t n;
  void *functions[MOST_FUNCTIONS];
} walk;

void __cyg_profile_func_enter(void *function, void *from) UNCOUNTED;
void __cyg_profile_func_exit(void *function, void *from) UNCOUNTED;

void __cyg_profile_func_enter(void *function, void *from) {
  (void)from;
  if (!walk.on) return;
  if (++walk.depth > walk.deepest) walk.deepest = walk.depth;
  for (size_t i = 0; i < walk.n; i++)
    if (walk.functions[i] == function) return;
  if (walk.n < MOST_FUNCTIONS) walk.functions[walk.n++] = function;
}

void __cyg_profile_func_exit(void *function, void *from) {
  (void)function;
  (void)from;
  if (walk.on) walk.depth--;
}

UNCOUNTED static void begin(void) {
  walk.n = walk.depth = walk.deepest = 0;
  walk.on = true;
}

UNCOUNTED static void end(const char *call) {
  walk.on = false;
  printf("%s\t%u", call, walk.deepest);
  for (size_t i = 0; i < walk.n; i++) printf(" %p", walk.functions[i]);
  printf("\n");
}

UNCOUNTED static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "walk: %s\n", what);
  exit(1);
}

UNCOUNTED static besom_u64_key key_of(uint64_t i) {
  return besom_u64(i * UINT64_C(0x9e3779b97f4a7c15));
}

static const uint8_t seed[16] = {1};

UNCOUNTED static void walk_filter(void) {
  besom_config config = {.kind = "aqf", .capacity = KEYS, .fpr = 1.0 / 256, .seed = seed};
  besom_filter *f;
  require(besom_create(&config, &f) == BESOM_OK, "cannot create a filter");
  for (uint64_t i = 0; i < KEYS / 2; i++)
    require(besom_insert(f, key_of(i).bytes, 8) == BESOM_OK, "cannot insert");
  besom_u64_key key = key_of(1);
  begin();
  bool found = besom_contains(f, key.bytes, 8);
  end("aqf contains");
  require(found, "a member is denied");
  besom_free(f);
}

UNCOUNTED static void get(besom_guard *g, uint64_t i, besom_status expected, const char *call) {
  besom_u64_key key = key_of(i);
  besom_bytes value;
  begin();
  besom_status status = besom_guard_get(g, key.bytes, 8, &value);
  end(call);
  require(status == expected, "another status");
  besom_guard_release(g, &value);
}

/* An absent key that the filter answers yes. */
UNCOUNTED static uint64_t false_positive(const besom_guard *g) {
  uint64_t i = KEYS;
  while (!besom_contains(besom_guard_filter(g), key_of(i).bytes, 8)) i++;
  return i;
}

UNCOUNTED static void put(besom_guard *g, uint64_t i) {
  besom_u64_key key = key_of(i);
  require(besom_guard_put(g, key.bytes, 8, "value", 5, 0) == BESOM_OK, "cannot put");
}

UNCOUNTED static uint64_t absent(const besom_guard *g, uint64_t i) {
  while (besom_contains(besom_guard_filter(g), key_of(i).bytes, 8)) i++;
  return i;
}

UNCOUNTED static void walk_guard(const char *directory) {
  besom_lmdb_options options = {.map_size = UINT64_C(1) << 28, .no_sync = true};
  besom_config filter = {.kind = "aqf", .capacity = KEYS, .fpr = 1.0 / 256, .seed = seed};
  besom_guard_config config = {.filter = &filter};
  besom_store *store;
  besom_guard *g;
  const char *why = NULL;
  require(besom_store_lmdb(directory, &options, &why, &store) == BESOM_OK, why);
  require(besom_guard_open(&config, store, &g) == BESOM_OK, "cannot open a guard");
  require(besom_guard_begin(g) == BESOM_OK, "cannot begin");
  for (uint64_t i = 0; i < KEYS / 2; i++) put(g, i);
  require(besom_guard_commit(g) == BESOM_OK, "cannot commit");
  put(g, absent(g, KEYS / 2));
  besom_u64_key new = key_of(absent(g, KEYS / 2 + 1000));
  begin();
  besom_status status = besom_guard_put(g, new.bytes, 8, "value", 5, 0);
  end("guard put");
  require(status == BESOM_OK, "cannot put");
  get(g, 1, BESOM_OK, "guard get, present");
  get(g, absent(g, KEYS), BESOM_NOT_FOUND, "guard get, absent");
  get(g, false_positive(g), BESOM_NOT_FOUND, "guard get, false positive");
  require(besom_guard_close(g) == BESOM_OK, "cannot close");
}

int main(int argc, char **argv) {
  require(argc == 2, "usage: walk DIRECTORY");
  walk_filter();
  walk_guard(argv[1]);
  return 0;
}
