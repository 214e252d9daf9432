/*
 * Read-only guards over LMDB, in a process of their own, beside a process that changes the store.
 * The test itself is the writer. A child process does what it is told through a pipe.
 */
#define _DEFAULT_SOURCE 1
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_store.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { RACE_KEYS = 1500 };

static const besom_bytes none = {NULL, 0};

/* ------------------------------------------------------------------ the reader */

enum command {
  OPEN, /* returns the status; of the store, if that does not open */
  OPEN_TO_WRITE,
  CHECK,    /* the keys below arg are there, some others are not: 1, or 0 */
  REFRESH,  /* returns the status */
  BYPASSED, /* returns the number of queries that bypassed the filter */
  FALSE_POSITIVES,
  REBUILT,
  SCAN,    /* returns the number of keys */
  CHANGES, /* 1: all changes are READ_ONLY */
  RACE,    /* gets of keys that the writer has just put: 1 if all are found */
  CLOSE,
};

/* Shared by both processes. */
struct shared {
  besom_layout layout;
  const char *kind;
  bool threads;
  atomic_uint_fast64_t put; /* RACE: keys that have been put */
};

struct reader {
  pid_t process;
  int to, from;
  struct shared *shared;
  temp_dir dir;
  temp_path path;
  besom_guard *g; /* in the child: the read-only guard; in the parent: the writer's */
};

static besom_status open_guard(struct reader *r, bool read_only) {
  besom_lmdb_options options = {
      .map_size = UINT64_C(1) << 28, .read_only = read_only, .no_sync = true};
  besom_config filter = {.kind = r->shared->kind, .capacity = 100, .fpr = 0.01};
  besom_guard_config config = {.filter = &filter,
                               .layout = r->shared->layout,
                               .durability = BESOM_DURABLE_BATCH,
                               .threads = r->shared->threads};
  besom_store *store;
  besom_status status = besom_store_lmdb(r->path.text, &options, NULL, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&config, store, &r->g);
  if (status != BESOM_OK) besom_store_close(store);
  return status;
}

static bool has(besom_guard *g, uint64_t i) {
  besom_bytes value;
  if (besom_guard_get_u64(g, key_u64(MEMBERS, i), &value) != BESOM_OK) return false;
  bool right = value.len == 8 && memcmp(value.data, &i, 8) == 0;
  besom_guard_release(g, &value);
  return right;
}

static bool check_keys(besom_guard *g, uint64_t n) {
  bool right = true;
  for (uint64_t i = 0; i < n; i++) right &= has(g, i);
  for (uint64_t i = n; i < n + 200; i++)
    right &= besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL) == BESOM_NOT_FOUND;
  return right;
}

static bool check_changes(besom_guard *g) {
  return besom_guard_put_u64(g, 1, "v", 1, 0) == BESOM_READ_ONLY &&
         besom_guard_put_u64(g, 1, "v", 1, BESOM_PUT_NEW) == BESOM_READ_ONLY &&
         besom_guard_delete_u64(g, key_u64(MEMBERS, 0)) == BESOM_READ_ONLY &&
         besom_guard_delete_u64(g, 1) == BESOM_READ_ONLY &&
         besom_guard_no_put(g, "k", 1) == BESOM_READ_ONLY &&
         besom_guard_no_delete(g, "k", 1) == BESOM_READ_ONLY &&
         besom_guard_no_has(g, "k", 1) == BESOM_UNSUPPORTED &&
         besom_guard_begin(g) == BESOM_READ_ONLY && besom_guard_sync(g) == BESOM_READ_ONLY &&
         besom_guard_rekey(g) == BESOM_READ_ONLY && besom_guard_step(g, 1, NULL) == BESOM_READ_ONLY;
}

/* The writer puts keys in the order of their numbers. Each that was put must be found at once. */
static bool race(struct reader *r) {
  bool right = true;
  for (uint64_t n = 0, i = 0; n < RACE_KEYS && right; i++) {
    n = atomic_load(&r->shared->put);
    if (n) right = has(r->g, n - 1) && has(r->g, i % n);
    besom_status absent = besom_guard_get_u64(r->g, key_u64(NEGATIVES, i), NULL);
    right &= absent == BESOM_NOT_FOUND || absent == BESOM_BUSY;
    if (i % 50 == 0) {
      besom_status status = besom_guard_refresh(r->g);
      right &= status == BESOM_OK || status == BESOM_BUSY;
    }
  }
  return right;
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

static uint64_t obey(struct reader *r, enum command command, uint64_t arg) {
  besom_guard_statistics stats = {0};
  uint64_t n = 0;
  if (r->g) besom_guard_stats(r->g, &stats);
  switch (command) {
  case OPEN:
  case OPEN_TO_WRITE:
    return open_guard(r, command == OPEN);
  case CHECK:
    return check_keys(r->g, arg);
  case REFRESH:
    return besom_guard_refresh(r->g);
  case BYPASSED:
    return stats.bypassed;
  case FALSE_POSITIVES:
    return stats.false_positives;
  case REBUILT:
    return stats.rebuilt;
  case SCAN:
    return besom_guard_scan(r->g, none, none, count_one, &n) == BESOM_OK ? n : UINT64_MAX;
  case CHANGES:
    return check_changes(r->g);
  case RACE:
    return race(r);
  case CLOSE:
    n = besom_guard_close(r->g);
    r->g = NULL;
  }
  return n;
}

static void serve(struct reader *r, int from, int to) {
  uint64_t message[2];
  while (read(from, message, sizeof message) == sizeof message) {
    uint64_t answer = obey(r, (enum command)message[0], message[1]);
    if (write(to, &answer, sizeof answer) != sizeof answer) break;
  }
  _exit(0);
}

/* ------------------------------------------------------------------ the writer */

static void tell(const struct reader *r, enum command command, uint64_t arg) {
  uint64_t message[2] = {command, arg};
  assert_int_equal(write(r->to, message, sizeof message), sizeof message);
}

static uint64_t answer_of(const struct reader *r) {
  uint64_t answer = 0;
  assert_int_equal(read(r->from, &answer, sizeof answer), sizeof answer);
  return answer;
}

static uint64_t ask(const struct reader *r, enum command command, uint64_t arg) {
  tell(r, command, arg);
  return answer_of(r);
}

/* Starts the child before this process opens a database. */
static void start(struct reader *r, struct shared shared) {
  int to[2], from[2];
  memset(r, 0, sizeof *r);
  temp_dir_make(&r->dir);
  r->path = temp_dir_file(&r->dir, "db");
  r->shared =
      mmap(NULL, sizeof *r->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(r->shared != MAP_FAILED);
  r->shared->layout = shared.layout;
  r->shared->kind = shared.kind;
  r->shared->threads = shared.threads;
  assert_int_equal(pipe(to), 0);
  assert_int_equal(pipe(from), 0);
  r->process = fork();
  assert_true(r->process >= 0);
  if (r->process == 0) {
    close(to[1]);
    serve(r, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  r->to = to[1];
  r->from = from[0];
}

static void stop(struct reader *r) {
  int how;
  close(r->to);
  waitpid(r->process, &how, 0);
  close(r->from);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  munmap(r->shared, sizeof *r->shared);
  temp_dir db;
  snprintf(db.path, sizeof db.path, "%.250s", r->path.text);
  temp_dir_remove(&db);
  temp_dir_remove(&r->dir);
}

static void for_each_layout(void (*law)(struct reader *r)) {
  for (unsigned i = 0; i < 4; i++) {
    struct reader r;
    start(&r, (struct shared){.layout = i % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                              .kind = "aqf",
                              .threads = i / 2});
    law(&r);
    stop(&r);
  }
}

static void put(besom_guard *g, uint64_t i) {
  assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), &i, 8, 0), BESOM_OK);
}

static void put_range(besom_guard *g, uint64_t from, uint64_t to) {
  assert_int_equal(besom_guard_begin(g), BESOM_OK);
  for (uint64_t i = from; i < to; i++) put(g, i);
  assert_int_equal(besom_guard_commit(g), BESOM_OK);
}

static void finish_migration(besom_guard *g) {
  bool finished = false;
  while (!finished) assert_int_equal(besom_guard_step(g, 1000, &finished), BESOM_OK);
}

/* ------------------------------------------------------------------ laws */

static void new_keys(struct reader *r) {
  assert_int_equal(open_guard(r, false), BESOM_OK);
  assert_int_equal(ask(r, OPEN, 0), BESOM_OK); /* beside the writer; nothing is stored yet */
  assert_true(ask(r, CHECK, 0));
  put_range(r->g, 0, 50);
  assert_true(ask(r, CHECK, 50));
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK);
  uint64_t bypassed = ask(r, BYPASSED, 0);
  assert_int_equal(bypassed, 250);
  assert_true(ask(r, CHECK, 50)); /* by the filter */
  assert_int_equal(ask(r, BYPASSED, 0), bypassed);
  put_range(r->g, 50, 60);
  assert_true(ask(r, CHECK, 60));
  assert_int_equal(ask(r, BYPASSED, 0), bypassed + 260);
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK);
  for (uint64_t i = 40; i < 60; i++)
    assert_int_equal(besom_guard_delete_u64(r->g, key_u64(MEMBERS, i)), BESOM_OK);
  assert_true(ask(r, CHECK, 40)); /* without a refresh */
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK);
  assert_true(ask(r, CHECK, 40));
  assert_int_equal(ask(r, SCAN, 0), 40);
  assert_true(ask(r, CHANGES, 0));
  assert_int_equal(ask(r, CLOSE, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
}

static void a_reader_sees_what_is_put_and_deleted(void **state) {
  (void)state;
  for_each_layout(new_keys);
}

/* The reader adapts in memory, as long as nothing changes. */
static void adaptation(struct reader *r) {
  assert_int_equal(open_guard(r, false), BESOM_OK);
  put_range(r->g, 0, 90);
  assert_int_equal(ask(r, OPEN, 0), BESOM_OK);
  for (unsigned i = 0; i < 10; i++) assert_true(ask(r, CHECK, 90));
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK); /* with threads: adapts to the queue */
  uint64_t false_positives = ask(r, FALSE_POSITIVES, 0);
  assert_true(ask(r, CHECK, 90));
  assert_int_equal(ask(r, FALSE_POSITIVES, 0), false_positives);
  assert_int_equal(ask(r, BYPASSED, 0), 0);
  assert_int_equal(ask(r, CLOSE, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
}

static void a_reader_adapts(void **state) {
  (void)state;
  for_each_layout(adaptation);
}

static void migration(struct reader *r) {
  assert_int_equal(open_guard(r, false), BESOM_OK);
  put_range(r->g, 0, 80);
  assert_int_equal(ask(r, OPEN, 0), BESOM_OK);
  put_range(r->g, 80, 300); /* it grows */
  assert_true(ask(r, CHECK, 300));
  finish_migration(r->g);
  assert_true(ask(r, CHECK, 300));
  assert_int_equal(besom_guard_rekey(r->g), BESOM_OK);
  assert_true(ask(r, CHECK, 300));
  assert_int_equal(besom_guard_step(r->g, 100, NULL), BESOM_OK);
  assert_true(ask(r, CHECK, 300)); /* the keys are in two epochs */
  assert_int_equal(ask(r, SCAN, 0), 300);
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK);
  uint64_t bypassed = ask(r, BYPASSED, 0);
  assert_true(ask(r, CHECK, 300));
  assert_int_equal(ask(r, BYPASSED, 0), bypassed);
  assert_int_equal(besom_guard_step(r->g, 100, NULL), BESOM_OK);
  assert_true(ask(r, CHECK, 300));
  finish_migration(r->g);
  assert_true(ask(r, CHECK, 300));
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK);
  assert_true(ask(r, CHECK, 300));
  assert_int_equal(ask(r, SCAN, 0), 300);
  assert_int_equal(ask(r, CLOSE, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
}

static void a_reader_follows_a_migration(void **state) {
  (void)state;
  for_each_layout(migration);
}

/* Growth, rekeys and deletes of other keys, as fast as the writer can. */
static void racing(struct reader *r) {
  assert_int_equal(open_guard(r, false), BESOM_OK);
  assert_int_equal(ask(r, OPEN, 0), BESOM_OK);
  tell(r, RACE, 0);
  for (uint64_t i = 0; i < RACE_KEYS; i++) {
    put(r->g, i);
    atomic_store(&r->shared->put, i + 1);
    if (i % 200 == 150) besom_guard_rekey(r->g);
  }
  assert_true(answer_of(r));
  assert_true(ask(r, CHECK, RACE_KEYS));
  assert_int_equal(ask(r, CLOSE, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
}

static void a_reader_finds_every_key_that_was_put(void **state) {
  (void)state;
  for_each_layout(racing);
}

static void writers(struct reader *r) {
  assert_int_equal(ask(r, OPEN, 0), BESOM_IO); /* there is no store */
  assert_int_equal(open_guard(r, false), BESOM_OK);
  put_range(r->g, 0, 30);
  assert_int_equal(ask(r, OPEN_TO_WRITE, 0), BESOM_LOCKED);
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
  assert_int_equal(ask(r, OPEN, 0), BESOM_OK); /* without a writer */
  assert_false(ask(r, REBUILT, 0));            /* from the checkpoint */
  assert_true(ask(r, CHECK, 30));
  assert_int_equal(open_guard(r, false), BESOM_OK); /* a writer beside a reader */
  assert_true(ask(r, CHECK, 30));
  assert_int_equal(ask(r, BYPASSED, 0), 0); /* it has changed nothing */
  put_range(r->g, 30, 60);
  assert_true(ask(r, CHECK, 60));
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
  assert_int_equal(ask(r, REFRESH, 0), BESOM_OK); /* from the new checkpoint */
  assert_true(ask(r, CHECK, 60));
  assert_int_equal(ask(r, CLOSE, 0), BESOM_OK);
  assert_int_equal(open_guard(r, false), BESOM_OK); /* the reader has left the checkpoint alone */
  assert_true(check_keys(r->g, 60));
  besom_guard_statistics stats;
  assert_int_equal(besom_guard_stats(r->g, &stats), BESOM_OK);
  assert_false(stats.rebuilt);
  assert_int_equal(besom_guard_refresh(r->g), BESOM_OK); /* does nothing */
  assert_int_equal(besom_guard_close(r->g), BESOM_OK);
}

static void readers_and_one_writer_come_and_go(void **state) {
  (void)state;
  for_each_layout(writers);
}

/* These kinds cannot tell the bucket of a key, which a bypass of the merged layout needs. */
static void kinds_that_move_records_need_the_split_layout(void **state) {
  (void)state;
  for (besom_layout layout = BESOM_LAYOUT_MERGED; layout <= BESOM_LAYOUT_SPLIT; layout++) {
    struct reader r;
    bool split = layout == BESOM_LAYOUT_SPLIT;
    start(&r, (struct shared){.layout = layout, .kind = "acf-cyclic"});
    assert_int_equal(open_guard(&r, false), BESOM_OK);
    put_range(r.g, 0, 50);
    assert_int_equal(ask(&r, OPEN, 0), split ? BESOM_OK : BESOM_UNSUPPORTED);
    if (split) {
      assert_true(ask(&r, CHECK, 50));
      put_range(r.g, 50, 60);
      assert_true(ask(&r, CHECK, 60));
      assert_int_equal(ask(&r, CLOSE, 0), BESOM_OK);
    }
    assert_int_equal(besom_guard_close(r.g), BESOM_OK);
    stop(&r);
  }
}

/* ------------------------------------------------------------------ replays */

enum { REPLAY_KEYS = 20000, COLLECTED = 200 };

/* Reads of bucket lists, which are cheaper to ask for than the statistics. */
static uint64_t list_reads;
static besom_store_ops counted;
static besom_status (*uncounted_get)(besom_store *, besom_place, besom_store_visit, void *);

static besom_status counted_get(besom_store *store, besom_place at, besom_store_visit visit,
                                void *ctx) {
  list_reads++;
  return uncounted_get(store, at, visit, ctx);
}

static besom_guard *open_replayed(const char *path, bool read_only, bool threads) {
  besom_store *store;
  besom_guard *g;
  besom_lmdb_options options = {.read_only = read_only, .no_sync = true};
  besom_config filter = {
      .kind = "aqf", .capacity = REPLAY_KEYS, .fpr = 1.0 / 256, .reserve = 0.001};
  besom_guard_config config = {
      .filter = &filter, .threads = threads, .durability = BESOM_DURABLE_SYNC};
  if (besom_store_lmdb(path, &options, NULL, &store) != BESOM_OK) return NULL;
  counted = *store->ops;
  uncounted_get = counted.get;
  counted.get = counted_get;
  store->ops = &counted;
  return besom_guard_open(&config, store, &g) == BESOM_OK ? g : NULL;
}

static bool is_false_positive(besom_guard *g, uint64_t key) {
  uint64_t before = list_reads;
  return besom_guard_get_u64(g, key, NULL) == BESOM_NOT_FOUND && list_reads > before;
}

/* Whether the rate of replayed false positives is at most the target in each window but the
   first. */
static bool withstands_replays(besom_guard *g) {
  enum { WINDOWS = 4, QUERIES = 100000, MOST = 4000 };
  static uint64_t known[MOST];
  uint64_t n = 0, next = 1 << 20;
  random_stream random = {5};
  for (unsigned w = 0; w < WINDOWS; w++) {
    uint64_t replayed = 0, again = 0;
    for (unsigned q = 0; q < QUERIES / 2; q++) {
      uint64_t key = key_u64(NEGATIVES, next++);
      if (is_false_positive(g, key) && n < MOST) known[n++] = key;
      if (n) replayed++, again += is_false_positive(g, known[random_below(&random, n)]);
    }
    if (w && again > replayed / 256) return false;
  }
  return true;
}

/* Collects false positives, replays them without a writer, and finds them when they were put. */
static int replay_in_child(const char *path, bool threads, int to, int from) {
  static uint64_t found[COLLECTED];
  besom_guard *g = open_replayed(path, true, threads);
  if (!g) return 1;
  size_t n = 0;
  uint64_t reads = list_reads;
  for (uint64_t i = 0; i < 100000 && n < COLLECTED; i++) {
    uint64_t key = key_u64(NEGATIVES, i);
    if (besom_guard_get_u64(g, key, NULL) != BESOM_NOT_FOUND) return 2;
    if (is_false_positive(g, key)) return 3; /* a second one */
    if (list_reads > reads) found[n++] = key;
    reads = list_reads;
  }
  if (n < 50 || !withstands_replays(g)) return 4;
  for (uint64_t i = 0; i < REPLAY_KEYS; i++)
    if (besom_guard_get_u64(g, key_u64(MEMBERS, i), NULL) != BESOM_OK) return 5;
  if (write(to, found, sizeof found) != (ssize_t)sizeof found || read(from, found, 1) != 1)
    return 6;
  for (int refreshed = 0; refreshed < 2; refreshed++) {
    for (size_t i = 1; i < n; i++) /* the first was overwritten by the answer */
      if (besom_guard_get_u64(g, found[i], NULL) != BESOM_OK) return 7;
    if (besom_guard_refresh(g) != BESOM_OK) return 8;
  }
  return besom_guard_close(g) == BESOM_OK ? 0 : 9;
}

static void replay_beside_writer(const char *path, bool threads) {
  static uint64_t found[COLLECTED];
  int to[2], from[2], status;
  assert_true(pipe(to) == 0 && pipe(from) == 0);
  pid_t child = fork();
  if (child == 0) {
    close(from[1]); /* so that the child ends if the parent fails */
    _exit(replay_in_child(path, threads, to[1], from[0]));
  }
  close(to[1]);
  bool all = read(to[0], found, sizeof found) == (ssize_t)sizeof found;
  if (all) {
    besom_guard *g = open_replayed(path, false, false);
    assert_non_null(g);
    for (size_t i = 0; i < COLLECTED; i++)
      if (found[i]) assert_int_equal(besom_guard_put_u64(g, found[i], "v", 1, 0), BESOM_OK);
    assert_int_equal(besom_guard_sync(g), BESOM_OK);
    assert_int_equal(write(from[1], "x", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (size_t i = 0; i < COLLECTED; i++)
      if (found[i]) assert_int_equal(besom_guard_delete_u64(g, found[i]), BESOM_OK);
    assert_int_equal(besom_guard_close(g), BESOM_OK);
  } else {
    assert_int_equal(waitpid(child, &status, 0), child);
  }
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  close(to[0]), close(from[0]), close(from[1]);
}

static void a_reader_does_not_repeat_false_positives(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db");
  besom_guard *g = open_replayed(path.text, false, false);
  assert_non_null(g);
  for (uint64_t i = 0; i < REPLAY_KEYS; i++)
    assert_int_equal(besom_guard_put_u64(g, key_u64(MEMBERS, i), "v", 1, 0), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  for (int threads = 0; threads < 2; threads++) replay_beside_writer(path.text, threads);
  temp_dir_remove(&dir);
}

/* ------------------------------------------------------------------ killed readers */

static int iterate_until_killed(const char *path, int ready) {
  besom_iterator *it;
  besom_bytes key;
  besom_guard *g = open_replayed(path, true, false);
  if (!g || besom_guard_iterate(g, none, none, &it) != BESOM_OK) return 1;
  if (besom_iterator_next(it, &key, NULL) != BESOM_OK || write(ready, "x", 1) != 1) return 2;
  for (;;) pause();
}

static uint64_t size_of_data(const char *path) {
  char name[600];
  struct stat file;
  snprintf(name, sizeof name, "%s/data.mdb", path);
  assert_int_equal(stat(name, &file), 0);
  return (uint64_t)file.st_size;
}

/* The snapshot of a process that was killed with an open iterator keeps pages for a while only. */
static void a_killed_reader_does_not_let_the_file_grow(void **state) {
  (void)state;
  enum { ROUNDS = 150, RECORDS = 200 };
  temp_dir dir;
  int ready[2], status;
  char byte, value[300] = "v";
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "db");
  besom_guard *g = open_replayed(path.text, false, false);
  for (uint64_t i = 0; i < RECORDS; i++)
    assert_int_equal(besom_guard_put_u64(g, i, value, sizeof value, 0), BESOM_OK);
  assert_int_equal(besom_guard_sync(g), BESOM_OK);
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) _exit(iterate_until_killed(path.text, ready[1]));
  close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  g = open_replayed(path.text, false, false); /* what open frees of dead readers comes before */
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  uint64_t before = size_of_data(path.text);
  for (unsigned round = 0; round < ROUNDS; round++) {
    for (uint64_t i = 0; i < RECORDS; i++)
      assert_int_equal(besom_guard_put_u64(g, i, value, sizeof value, 0), BESOM_OK);
    assert_int_equal(besom_guard_sync(g), BESOM_OK);
  }
  assert_true(size_of_data(path.text) < before + (2 << 20)); /* without a check: 13 MB */
  assert_int_equal(besom_guard_close(g), BESOM_OK);
  close(ready[0]);
  temp_dir_remove(&dir);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_reader_sees_what_is_put_and_deleted),
      cmocka_unit_test(a_reader_adapts),
      cmocka_unit_test(a_reader_does_not_repeat_false_positives),
      cmocka_unit_test(a_killed_reader_does_not_let_the_file_grow),
      cmocka_unit_test(a_reader_follows_a_migration),
      cmocka_unit_test(a_reader_finds_every_key_that_was_put),
      cmocka_unit_test(readers_and_one_writer_come_and_go),
      cmocka_unit_test(kinds_that_move_records_need_the_split_layout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
