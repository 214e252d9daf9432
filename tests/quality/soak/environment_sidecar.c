/* An application with a sidecar, whose database is in memory (unit/sidecar_database.h) and whose
   file is in DIR/a; DIR/link is a link to it. */
#define _GNU_SOURCE 1
#include <unistd.h>

#include "environment.h"
#include "unit/sidecar_database.h"

enum { KEYS = 500, OPERATIONS = 300, KEPT = 5, CHANGES = 25 };

/* A moment: what the database had, and the file. */
typedef struct moment {
  database *state;
  uint8_t *file; /* NULL: there was none */
  size_t len;
} moment;

typedef struct world {
  random_stream random;
  environment_counts *counts;
  app app;
  bool full; /* the disk */
  moment kept[KEPT], foreign;
  unsigned names; /* of files that took the place of the first one */
} world;

static uint64_t below(world *w, uint64_t n) {
  return random_below(&w->random, n);
}

static void go_somewhere(world *w) {
  static const char *const places[] = {"", "a", "b"};
  demand(chdir(temp_dir_file(&w->app.dir, places[below(w, 3)]).text) == 0);
}

/* ------------------------------------------------------------------ open, close */

static uint64_t count_keys(const database *d) {
  uint64_t n = 0;
  for (uint64_t k = 0; k < UNIVERSE; k++) n += d->has[k];
  return n;
}

static void forget(moment *m) {
  db_free(m->state);
  free(m->file);
  *m = (moment){NULL, NULL, 0};
}

static void keep(world *w, moment *m) {
  forget(m);
  m->state = db_copy(w->app.now);
  m->file = read_whole_file(w->app.path.text, &m->len);
}

/* What the application tells of its database: everything, if there is no log. */
static besom_status open_file(world *w, const char *path, besom_sidecar **out) {
  app *a = &w->app;
  const char *reason;
  a->keys.size_hint = a->config.exact_size_hint ? count_keys(a->now) : 0;
  a->config.stamp = a->config.log ? 0 : a->now->number;
  return besom_sidecar_open(&a->config, path, &reason, out);
}

/* By a relative path, an absolute one, or a link. */
static void open_sidecar(world *w) {
  app *a = &w->app;
  const char *name = strrchr(a->path.text, '/') + 1;
  temp_path link = temp_dir_file(&a->dir, "link"), relative;
  remove(link.text);
  demand(symlink(a->path.text, link.text) == 0);
  uint64_t way = below(w, 3);
  snprintf(relative.text, sizeof relative.text, "../a/%s", name);
  if (way == 0) demand(chdir(temp_dir_file(&a->dir, "b").text) == 0);
  const char *path = way == 0 ? relative.text : way == 1 ? link.text : a->path.text;
  demand(open_file(w, path, &a->s) == BESOM_OK);
  go_somewhere(w);
  assert_no_false_negatives(a);
  w->counts->refused += app_stats(a).origin != BESOM_SIDECAR_LOADED;
  w->counts->moves++;
}

/* ------------------------------------------------------------------ transactions */

static bool is_full(const world *w, besom_status status) {
  return w->full && (status == BESOM_DISK_FULL || status == BESOM_IO);
}

/* A failure makes the application abort. */
static besom_status tell_changes(world *w, database *txn) {
  app *a = &w->app;
  for (unsigned i = 0; i < CHANGES; i++) {
    uint64_t k = below(w, KEYS);
    besom_u64_key key = key_of(k);
    besom_status status = txn->has[k] ? besom_sidecar_remove(a->s, key.bytes, 8)
                                      : besom_sidecar_insert(a->s, key.bytes, 8);
    if (status != BESOM_OK) return status;
    txn->has[k] = !txn->has[k];
  }
  return a->config.log ? besom_sidecar_log_to(a->s, txn) : BESOM_OK;
}

static void transact(world *w) {
  app *a = &w->app;
  besom_status status = besom_sidecar_begin(a->s);
  demand(status == BESOM_OK || is_full(w, status));
  if (status != BESOM_OK) return;
  database *txn = db_next(a->now);
  if (!a->config.log) txn->number = random_next(&w->random) | 1;
  status = tell_changes(w, txn);
  demand(status == BESOM_OK || is_full(w, status));
  if (status == BESOM_OK && below(w, 5)) {
    app_become(a, txn);
    demand(besom_sidecar_end(a->s, BESOM_SIDECAR_COMMITTED) == BESOM_OK);
    if (!a->config.log) demand(besom_sidecar_stamp(a->s, a->now->number) == BESOM_OK || w->full);
  } else {
    db_free(txn);
    demand(besom_sidecar_end(a->s, BESOM_SIDECAR_ABORTED) == BESOM_OK);
  }
}

static void report_some(world *w) {
  app *a = &w->app;
  uint64_t point = besom_sidecar_read_point(a->s);
  for (uint64_t k = 0; k < KEYS; k += 1 + below(w, 9)) {
    besom_u64_key key = key_of(k);
    if (!a->now->has[k]) besom_sidecar_report(a->s, key.bytes, 8, point);
  }
}

/* ------------------------------------------------------------------ events while it is open */

static void fill_disk(world *w) {
  limit_disk(below(w, 3000));
  w->full = true;
  for (uint64_t i = 1 + below(w, 10); i; i--) {
    transact(w);
    if (below(w, 4) == 0) besom_sidecar_sync(w->app.s);
    if (below(w, 8) == 0) besom_sidecar_rebuild(w->app.s);
    assert_no_false_negatives(&w->app);
  }
  limit_disk(UINT64_MAX);
  w->full = false;
  w->counts->full_disks++;
}

/* Somebody removes the lock file, and a second process opens the log with another file, or the same
   file. One of the two goes on, the other one is told. */
static void second_sidecar(world *w) {
  app *a = &w->app;
  temp_path lock, other = a->path;
  besom_sidecar *second, *first = a->s;
  demand(snprintf(lock.text, sizeof lock.text, "%s.lock", a->path.text) < (int)sizeof lock.text);
  besom_status expected = open_file(w, a->path.text, &second);
  demand(expected == BESOM_LOCKED);
  remove(lock.text);
  if (a->config.log) {
    char name[40];
    snprintf(name, sizeof name, "a/other%u.besom", w->names++);
    other = temp_dir_file(&a->dir, name);
  }
  demand(open_file(w, other.text, &second) == BESOM_OK);
  a->s = second;
  a->path = other;
  assert_no_false_negatives(a);
  for (uint64_t i = 1 + below(w, 3); i; i--) transact(w);
  besom_status status = besom_sidecar_begin(first);
  if (status == BESOM_OK) { /* the log is compared when it commits */
    besom_u64_key key = key_of(KEYS + 1);
    database *txn = db_next(a->now);
    demand(a->config.log && besom_sidecar_insert(first, key.bytes, 8) == BESOM_OK);
    status = besom_sidecar_log_to(first, txn);
    db_free(txn);
    besom_sidecar_end(first, BESOM_SIDECAR_ABORTED);
  }
  demand(status == BESOM_LOCKED && besom_sidecar_problem(first));
  besom_sidecar_close(first);
  transact(w);
  w->counts->locks++;
}

static void event_while_open(world *w) {
  switch (below(w, 5)) {
  case 0:
    go_somewhere(w);
    w->counts->moves++;
    break;
  case 1:
    second_sidecar(w);
    break;
  case 2:
    demand(besom_sidecar_sync(w->app.s) == BESOM_OK);
    break;
  case 3:
    demand(besom_sidecar_rebuild(w->app.s) == BESOM_OK);
    break;
  default:
    fill_disk(w);
  }
  assert_no_false_negatives(&w->app);
}

/* ------------------------------------------------------------------ events while it is closed */

static void put_file(world *w, const uint8_t *bytes, size_t len) {
  remove(w->app.path.text);
  if (bytes) demand(write_whole_file(w->app.path.text, bytes, len));
}

/* The database, the file, or both of earlier moments. */
static void restore(world *w) {
  const moment *of_database = &w->kept[below(w, KEPT)], *of_file = &w->kept[below(w, KEPT)];
  if (below(w, 2)) of_file = of_database;
  if (below(w, 3) && of_database->state) app_become(&w->app, db_copy(of_database->state));
  if (below(w, 3) && of_file->state) put_file(w, of_file->file, of_file->len);
  w->counts->restores++;
}

static void foreign_file(world *w) {
  uint8_t bytes[2000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_next(&w->random);
  if (below(w, 2))
    put_file(w, w->foreign.file, w->foreign.len);
  else
    put_file(w, bytes, 1 + below(w, sizeof bytes));
  w->counts->foreign++;
}

static void truncate_file(world *w) {
  size_t len;
  uint8_t *file = read_whole_file(w->app.path.text, &len);
  if (file && len) demand(truncate(w->app.path.text, (off_t)below(w, len)) == 0);
  free(file);
  w->counts->truncated++;
}

static void event_while_closed(world *w) {
  uint64_t what = below(w, 4);
  if (what == 0) keep(w, &w->kept[below(w, KEPT)]);
  if (what == 1) restore(w);
  if (what == 2) foreign_file(w);
  if (what == 3) truncate_file(w);
}

static void restart(world *w) {
  app *a = &w->app;
  bool full = below(w, 5) == 0;
  if (full) limit_disk(50);
  if (full || below(w, 2))
    besom_sidecar_close(a->s);
  else
    app_crash(a);
  limit_disk(UINT64_MAX);
  for (uint64_t n = below(w, 3); n; n--) event_while_closed(w);
  open_sidecar(w);
}

/* ------------------------------------------------------------------ a world */

static void world_init(world *w, unsigned form, const uint8_t *id) {
  app *a = &w->app;
  app_init(a, form < 3);
  shell("cd '%s' && mkdir a b", a->dir.path);
  a->path = temp_dir_file(&a->dir, "a/keys.besom");
  if (form == 1) a->log.get = log_get;
  if (form == 2) a->log.number = log_number;
  if (form < 3) return;
  a->config.database_id = id;
  a->config.exact_size_hint = true;
  a->now->number = random_next(&w->random) | 1;
}

/* The file of another database, by the same program. */
static void make_foreign(world *w, unsigned form) {
  static const uint8_t id[16] = "other database";
  world *other = heap_array(1, sizeof *other);
  *other = (world){.random = {random_next(&w->random)}, .counts = w->counts};
  world_init(other, form, id);
  open_sidecar(other);
  for (unsigned i = 0; i < 5; i++) transact(other);
  app_close(&other->app);
  keep(other, &w->foreign);
  demand(chdir("/") == 0);
  app_done(&other->app);
  free(other);
}

void sidecar_world(uint64_t seed, environment_counts *counts) {
  static const uint8_t id[16] = "this database";
  world *w = heap_array(1, sizeof *w);
  *w = (world){.random = {mix64(seed)}, .counts = counts};
  unsigned form = (unsigned)below(w, 4);
  world_init(w, form, id);
  make_foreign(w, form);
  open_sidecar(w);
  for (unsigned i = 0; i < OPERATIONS; i++, counts->operations++) {
    if (below(w, 8))
      transact(w);
    else
      report_some(w);
    assert_no_false_negatives(&w->app);
    if (below(w, 10) == 0) event_while_open(w);
    if (below(w, 10) == 0) restart(w);
  }
  demand(chdir("/") == 0);
  for (size_t i = 0; i < KEPT; i++) forget(&w->kept[i]);
  forget(&w->foreign);
  app_done(&w->app);
  free(w);
}
