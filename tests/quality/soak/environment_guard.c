/*
 * Guards over databases on disk. The layout of a world: DIR/a/db is the database, DIR/link a link
 * to it; DIR/b is another working directory, DIR/saved a copy, DIR/other another guard's database.
 */
#define _GNU_SOURCE 1
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "besom_store.h"
#include "environment.h"
#include "guard/databases.h"
#include "support/temp_files.h"

enum { KEYS = 400, OPERATIONS = 1500, NOBODY = 65534 };

#define CHECKPOINT "besom-guard.checkpoint"

typedef struct world {
  random_stream random;
  environment_counts *counts;
  temp_dir dir;
  opener open;
  bool is_lmdb;
  besom_layout layout;
  besom_durability durability;
  bool threads;
  besom_guard *g;
  bool full;             /* the disk */
  bool has_checkpoint;   /* that close has written */
  uint64_t values[KEYS]; /* acknowledged; 0: absent */
  uint64_t saved[KEYS];
  bool has_saved;
} world;

static uint64_t below(world *w, uint64_t n) {
  return random_below(&w->random, n);
}

/* ------------------------------------------------------------------ the guard */

static besom_status open_at(const world *w, const char *path, bool read_only, besom_guard **out) {
  besom_store *store = NULL;
  besom_config filter = {.kind = "aqf", .capacity = 40, .fpr = 0.05};
  besom_guard_config config = {.filter = &filter,
                               .layout = w->layout,
                               .durability = w->durability,
                               .threads = w->threads,
                               .step_items = 8};
  besom_status status;
#ifdef BESOM_TEST_LMDB
  besom_lmdb_options options = {.map_size = 1 << 20, .read_only = read_only};
  if (w->is_lmdb)
    status = besom_store_lmdb(path, &options, NULL, &store);
  else
#endif
    status = read_only ? BESOM_UNSUPPORTED : w->open(path, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&config, store, out);
  if (status != BESOM_OK) besom_store_close(store);
  return status;
}

/* 0: exactly the model; 1: a call failed; 2: an answer is wrong. */
static int compare(besom_guard *g, const uint64_t *values) {
  int result = 0;
  for (uint64_t k = 0; k < KEYS; k++) {
    besom_bytes value = {NULL, 0};
    uint64_t found = 0;
    besom_status status = besom_guard_get_u64(g, key_u64(MEMBERS, k), &value);
    if (status == BESOM_OK && value.len == 8) memcpy(&found, value.data, 8);
    besom_guard_release(g, &value);
    if (status != BESOM_OK && status != BESOM_NOT_FOUND)
      result = 1;
    else if (found != values[k])
      return 2;
  }
  return result;
}

static void check(world *w) {
  demand(compare(w->g, w->values) == 0);
}

static temp_path place(const world *w, const char *name) {
  return temp_dir_file(&w->dir, name);
}

static void go_to(world *w, const char *name) {
  demand(chdir(place(w, name).text) == 0);
}

/* By a path that is relative to one of the working directories, absolute, or a link. */
static void open_guard(world *w) {
  static const char *const from[] = {".", "a", "b"}, *const relative[] = {"a/db", "db", "../a/db"};
  uint64_t way = below(w, 5);
  temp_path absolute = place(w, way == 3 ? "a/db" : "link");
  go_to(w, way < 3 ? from[way] : "b");
  demand(open_at(w, way < 3 ? relative[way] : absolute.text, false, &w->g) == BESOM_OK);
  go_to(w, from[below(w, 3)]);
  w->counts->moves++;
  check(w);
}

/* ------------------------------------------------------------------ operations */

static bool may_fail(const world *w, besom_status status) {
  return w->full && (status == BESOM_DISK_FULL || status == BESOM_IO || status == BESOM_NO_MEMORY);
}

static void change(world *w) {
  uint64_t k = below(w, KEYS), value = 1 + below(w, 1 << 30);
  bool removes = below(w, 3) == 0;
  besom_status status = removes ? besom_guard_delete_u64(w->g, key_u64(MEMBERS, k))
                                : besom_guard_put_u64(w->g, key_u64(MEMBERS, k), &value, 8, 0);
  if (removes && !w->values[k] && status == BESOM_NOT_FOUND) return;
  demand(status == BESOM_OK || may_fail(w, status));
  if (status == BESOM_OK) w->values[k] = removes ? 0 : value;
}

static void change_in_batch(world *w) {
  uint64_t before[KEYS];
  memcpy(before, w->values, sizeof before);
  besom_status status = besom_guard_begin(w->g);
  demand(status == BESOM_OK || may_fail(w, status));
  if (status != BESOM_OK) return;
  for (uint64_t i = 1 + below(w, 30); i; i--) change(w);
  bool keep = below(w, 3);
  status = keep ? besom_guard_commit(w->g) : besom_guard_abort(w->g);
  demand(status == BESOM_OK || may_fail(w, status));
  if (!keep || status != BESOM_OK) memcpy(w->values, before, sizeof before);
}

static void operate(world *w) {
  uint64_t what = below(w, 100);
  w->counts->operations++;
  if (what < 60)
    change(w);
  else if (what < 70)
    besom_guard_get_u64(w->g, key_u64(NEGATIVES, below(w, 5000)), NULL);
  else if (what < 75)
    change_in_batch(w);
  else if (what < 80)
    demand(w->full || besom_guard_sync(w->g) == BESOM_OK);
  else if (what < 82)
    besom_guard_rekey(w->g); /* BUSY if one runs */
  else if (what < 90)
    besom_guard_step(w->g, 1 + below(w, 50), NULL);
}

/* ------------------------------------------------------------------ events while it is open */

static int try_to_open(void *ctx) {
  besom_guard *second;
  return open_at(ctx, place(ctx, "link").text, false, &second) == BESOM_LOCKED ? 0 : 1;
}

/* Another process is not let in, not even if somebody has removed the lock files. */
static void remove_locks(world *w) {
  temp_path db = place(w, "a/db");
  shell("rm -f '%s/besom.lock' '%s/LOCK'", db.text, db.text);
  demand(in_child(try_to_open, w) == 0);
  w->counts->locks++;
}

/* What another process reads is exact. */
static int read_beside(void *ctx) {
  world *w = ctx;
  besom_guard *g;
  return open_at(w, place(w, "link").text, true, &g) == BESOM_OK ? compare(g, w->values) : 3;
}

static int use_as_nobody(void *ctx) {
  world *w = ctx;
  besom_guard *g;
  if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) return 4;
  if (open_at(w, place(w, "a/db").text, false, &g) == BESOM_OK) return 5;
  return w->is_lmdb && open_at(w, place(w, "a/db").text, true, &g) == BESOM_OK
             ? compare(g, w->values)
             : 0;
}

/* Another user cannot change it, and reads it exactly or not at all. */
static void other_user(world *w) {
  if (geteuid() != 0) return;
  shell("chmod 755 '%s'", w->dir.path);
  int result = in_child(use_as_nobody, w);
  demand(result == 0 || result == 1);
  w->counts->users++;
}

static void fill_disk(world *w) {
  struct stat file;
  temp_path data = place(w, "a/db/data.mdb");
  uint64_t size = stat(data.text, &file) == 0 ? (uint64_t)file.st_size : 30000;
  limit_disk(size + below(w, 20000));
  w->full = true;
  for (uint64_t i = 50 + below(w, 150); i; i--) operate(w);
  check(w); /* nothing that was acknowledged is missing while the disk is full */
  limit_disk(UINT64_MAX);
  w->full = false;
  demand(besom_guard_sync(w->g) == BESOM_OK);
  check(w);
  w->counts->full_disks++;
}

/* A copy takes the place of the directory for a while: nothing is written there, also if the store
   is reopened meanwhile. */
static void swap_directory(world *w) {
  temp_path db = place(w, "a/db"), kept = place(w, "a/kept"), saved = place(w, "saved");
  shell("mkdir -p '%s' && mv '%s' '%s' && cp -r '%s' '%s'", saved.text, db.text, kept.text,
        saved.text, db.text);
  for (uint64_t i = below(w, 100); i; i--) operate(w);
  if (below(w, 2)) fill_disk(w);
  shell("diff -r '%s' '%s' && rm -r '%s' && mv '%s' '%s'", saved.text, db.text, db.text, kept.text,
        db.text);
  w->counts->moves++;
}

static void event_while_open(world *w) {
  static const char *const places[] = {".", "a", "b"};
  switch (below(w, 6)) {
  case 0:
    go_to(w, places[below(w, 3)]);
    w->counts->moves++;
    break;
  case 1:
    remove_locks(w);
    break;
  case 2:
    demand(besom_guard_sync(w->g) == BESOM_OK);
    if (w->is_lmdb) demand(in_child(read_beside, w) == 0);
    break;
  case 3:
    demand(besom_guard_sync(w->g) == BESOM_OK);
    other_user(w);
    break;
  case 4:
    swap_directory(w);
    break;
  default:
    fill_disk(w);
  }
  check(w);
}

/* ------------------------------------------------------------------ events while it is closed */

static void save_or_restore(world *w) {
  temp_path db = place(w, "a/db"), saved = place(w, "saved");
  uint64_t what = below(w, 4);
  if (!w->has_saved || what == 0) {
    shell("rm -rf '%s' && cp -r '%s' '%s'", saved.text, db.text, saved.text);
    memcpy(w->saved, w->values, sizeof w->saved);
    w->has_saved = true;
  } else if (what == 1) { /* all of it */
    shell("rm -rf '%s' && cp -r '%s' '%s'", db.text, saved.text, db.text);
    memcpy(w->values, w->saved, sizeof w->saved);
  } else if (what == 2) { /* the records, beside the later checkpoint */
    shell("cd '%s' && rm -f kept && { mv '%s/" CHECKPOINT
          "' kept 2>/dev/null || true; }; rm -rf '%s' && cp -r '%s' '%s' && "
          "{ [ ! -e kept ] || mv kept '%s/" CHECKPOINT "'; }",
          w->dir.path, db.text, db.text, saved.text, db.text, db.text);
    memcpy(w->values, w->saved, sizeof w->saved);
  } else { /* the checkpoint, beside later records */
    shell("cp '%s/" CHECKPOINT "' '%s/' 2>/dev/null || true", saved.text, db.text);
  }
  w->has_checkpoint = false;
  w->counts->restores++;
}

/* A checkpoint of another guard, bytes that are none, half of one, none. */
static void foreign_checkpoint(world *w) {
  temp_path own = place(w, "a/db/" CHECKPOINT), other = place(w, "other/" CHECKPOINT);
  struct stat file;
  uint8_t bytes[3000];
  switch (below(w, 4)) {
  case 0:
    if (access(other.text, F_OK) != 0) {
      besom_guard *g;
      demand(open_at(w, place(w, "other").text, false, &g) == BESOM_OK);
      for (uint64_t k = 0; k < KEYS; k += 3)
        demand(besom_guard_put_u64(g, key_u64(MORE_MEMBERS, k), "", 0, 0) == BESOM_OK);
      demand(besom_guard_close(g) == BESOM_OK);
    }
    shell("cp '%s' '%s'", other.text, own.text);
    break;
  case 1:
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_next(&w->random);
    demand(write_whole_file(own.text, bytes, 1 + below(w, sizeof bytes)));
    break;
  case 2:
    if (stat(own.text, &file) == 0)
      demand(truncate(own.text, (off_t)below(w, (uint64_t)file.st_size + 1)) == 0);
    break;
  default:
    unlink(own.text);
  }
  w->has_checkpoint = false;
  w->counts->foreign++;
}

static bool is_member(const world *w, besom_bytes key) {
  for (uint64_t k = 0; k < KEYS; k++)
    if (w->values[k] && key.len == 8 && !memcmp(besom_u64(key_u64(MEMBERS, k)).bytes, key.data, 8))
      return true;
  return false;
}

/* Each member that an iterator shows must be found. It may show removed keys, too, because the file
   that is missing had their removal. */
static int find_all_that_is_there(const world *w, besom_guard *g) {
  besom_iterator *it;
  besom_bytes key, value, whole = {NULL, 0};
  if (besom_guard_iterate(g, whole, whole, &it) != BESOM_OK) return 1;
  int result = 0;
  while (!result && besom_iterator_next(it, &key, &value) == BESOM_OK)
    if (besom_guard_get(g, key.data, key.len, NULL) == BESOM_NOT_FOUND && is_member(w, key))
      result = 2;
  besom_iterator_close(it);
  return result;
}

/* A copy of which a file was truncated. LMDB maps it, so that a missing page would end the process.
   A close of RocksDB that the disk was full for may not have recorded the log, and the end of a log
   is that of a power cut. A child of fork does not have its threads. */
static int use_truncated(void *ctx) {
  world *w = ctx;
  besom_guard *g;
  if (open_at(w, place(w, "cut").text, false, &g) != BESOM_OK) return 1;
  bool exact = w->is_lmdb || w->has_checkpoint;
  int result = exact ? compare(g, w->values) : find_all_that_is_there(w, g);
  besom_guard_close(g);
  return result;
}

static void choose_file(world *w, const char *directory, char *name, size_t room) {
  char pattern[600];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/%s", directory, w->is_lmdb ? "data.mdb" : "[0-9CILMOb]*");
  demand(glob(pattern, 0, NULL, &found) == 0);
  snprintf(name, room, "%s", found.gl_pathv[below(w, found.gl_pathc)]);
  globfree(&found);
}

/* Without a checkpoint nothing tells a database of LMDB that ends within its first meta page from a
   new one. */
static void truncate_copy(world *w) {
  enum { META_BYTES = 152 };
  temp_path db = place(w, "a/db"), cut = place(w, "cut");
  char name[600];
  struct stat file;
  shell("rm -rf '%s' && cp -r '%s' '%s'", cut.text, db.text, cut.text);
  choose_file(w, cut.text, name, sizeof name);
  demand(stat(name, &file) == 0);
  uint64_t size = (uint64_t)file.st_size, pages = 4096 * below(w, 4);
  uint64_t len = below(w, 4) ? below(w, size + 1) : pages % (size + 1);
  if (w->is_lmdb && !w->has_checkpoint && len < META_BYTES) len = size;
  demand(truncate(name, (off_t)len) == 0);
  int result = w->is_lmdb ? in_child(use_truncated, w) : use_truncated(w);
  demand(result == 0 || result == 1);
  w->counts->refused += (uint64_t)result;
  w->counts->truncated++;
}

static void event_while_closed(world *w) {
  temp_path db = place(w, "a/db"), moved = place(w, "b/moved");
  switch (below(w, 5)) {
  case 0:
    save_or_restore(w);
    break;
  case 1:
    foreign_checkpoint(w);
    break;
  case 2:
    truncate_copy(w);
    break;
  case 3: /* elsewhere, and back: a copy of the directory has other inodes */
    shell("cp -r '%s' '%s' && rm -rf '%s' && mv '%s' '%s'", db.text, moved.text, db.text,
          moved.text, db.text);
    w->counts->moves++;
    break;
  default:
    shell("rm -f '%s/lock.mdb' '%s/besom.lock' '%s/LOCK'", db.text, db.text, db.text);
    w->counts->locks++;
  }
}

/* Sometimes on a full disk: then only the checkpoint may be missing. */
static void close_guard(world *w) {
  bool full = below(w, 6) == 0;
  demand(besom_guard_sync(w->g) == BESOM_OK);
  if (full) limit_disk(100);
  besom_status status = besom_guard_close(w->g);
  limit_disk(UINT64_MAX);
  demand(status == BESOM_OK || (full && status == BESOM_NO_CHECKPOINT));
  w->has_checkpoint = status == BESOM_OK;
}

void guard_world(const char *database, uint64_t seed, environment_counts *counts) {
  world *w = calloc(1, sizeof *w);
  demand(w);
  *w = (world){.random = {mix64(seed)}, .counts = counts, .is_lmdb = !strcmp(database, "lmdb")};
  for (size_t i = 0; databases[i].name; i++)
    if (!strcmp(databases[i].name, database)) w->open = databases[i].open;
  demand(w->open);
  w->layout = below(w, 2) ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED;
  w->durability = (besom_durability)below(w, 3);
  w->threads = below(w, 2);
  temp_dir_make(&w->dir);
  shell("cd '%s' && mkdir a a/db b && ln -s a/db link", w->dir.path);
  open_guard(w);
  /* A database that was never written, beside a checkpoint of one that was, is refused. */
  uint64_t first = below(w, KEYS);
  w->values[first] = 1;
  demand(besom_guard_put_u64(w->g, key_u64(MEMBERS, first), &w->values[first], 8, 0) == BESOM_OK);
  for (uint64_t i = 0; i < OPERATIONS; i++) {
    operate(w);
    if (below(w, 40) == 0) event_while_open(w);
    if (below(w, 80)) continue;
    check(w);
    close_guard(w);
    for (uint64_t n = below(w, 3); n; n--) event_while_closed(w);
    open_guard(w);
  }
  close_guard(w);
  demand(chdir("/") == 0);
  shell("rm -rf '%s'", w->dir.path);
  free(w);
}
