/*
 * kill.c KILLS: kills a guard over a database under load, at random moments. Another process then
 * checks the database: all committed changes are there, and of the transaction that was running all
 * or nothing. With BESOM_DURABLE_SYNC the contents are those of some moment since the last sync.
 *
 * The three processes share a page with the expected contents. The writer records each change there
 * before the call, and its success after the call has returned.
 */
#define _DEFAULT_SOURCE 1 /* processes, shared memory */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "databases.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 600, BATCH = 12, VALUE_BYTES = 24, MAX_UNSYNCED = 20000 };

typedef struct intent {
  uint32_t key;
  bool more;                     /* the next one belongs to the same batch */
  uint64_t old_value, new_value; /* 0: absent */
} intent;

typedef struct page {
  uint64_t values[KEYS], synced[KEYS];
  intent pending[BATCH];
  _Atomic uint32_t pending_n; /* written after the entries, cleared after the values */
  _Atomic uint64_t changes, opened;
  intent unsynced[MAX_UNSYNCED]; /* with SYNC: all changes since the last sync */
  _Atomic uint32_t unsynced_n;
} page;

typedef struct trial {
  const char *name;
  opener open;
  besom_layout layout;
  besom_durability durability;
  temp_path directory;
  page *page;
} trial;

static void check(bool truth, const char *what, besom_status status) {
  if (truth) return;
  fprintf(stderr, "%s (%s)\n", what, besom_strerror(status));
  exit(1);
}

/* ------------------------------------------------------------------ guards */

static besom_guard *open_guard(const trial *t) {
  besom_store *store;
  besom_guard *g;
  besom_status status = t->open(t->directory.text, &store);
  check(status == BESOM_OK, "the store does not open", status);
  besom_config filter = {.kind = "aqf", .capacity = 50, .fpr = 0.05};
  besom_guard_config config = {
      .filter = &filter, .layout = t->layout, .durability = t->durability, .step_items = 5};
  status = besom_guard_open(&config, store, &g);
  check(status == BESOM_OK, "the guard does not open", status);
  return g;
}

/* ------------------------------------------------------------------ the writer, which is killed */

static size_t make_value(uint64_t number, uint8_t *out) {
  size_t len = 8 + number % (VALUE_BYTES - 8);
  memset(out, (int)(number & 255), len);
  memcpy(out, &number, 8);
  return len;
}

static void change(besom_guard *g, const intent *i) {
  uint8_t value[VALUE_BYTES];
  uint64_t key = key_u64(MEMBERS, i->key);
  besom_status status = i->new_value
                            ? besom_guard_put_u64(g, key, value, make_value(i->new_value, value), 0)
                            : besom_guard_delete_u64(g, key);
  check(status == BESOM_OK || (status == BESOM_NOT_FOUND && !i->old_value), "a change fails",
        status);
}

static void plan(page *p, random_stream *random, uint32_t n) {
  uint32_t first = (uint32_t)random_below(random, KEYS);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t key = (first + 7 * i) % KEYS; /* all different */
    uint64_t value = random_below(random, 3) ? 1 + random_next(random) % 1000000 : 0;
    p->pending[i] = (intent){key, i + 1 < n, p->values[key], value};
  }
  atomic_store(&p->pending_n, n);
}

static void record_done(page *p) {
  for (uint32_t i = 0; i < p->pending_n; i++)
    p->values[p->pending[i].key] = p->pending[i].new_value;
  atomic_fetch_add(&p->changes, p->pending_n);
  atomic_store(&p->pending_n, 0);
}

/* Records the changes before they are made. After a kill they are compared with the store. */
static void record_unsynced(page *p) {
  memcpy(&p->unsynced[p->unsynced_n], p->pending, p->pending_n * sizeof *p->pending);
  atomic_fetch_add(&p->unsynced_n, p->pending_n);
}

static void sync_now_and_then(page *p, besom_guard *g, random_stream *random) {
  if (p->unsynced_n + BATCH <= MAX_UNSYNCED && random_below(random, 150)) return;
  besom_status status = besom_guard_sync(g);
  check(status == BESOM_OK, "a sync fails", status);
  /* A kill between these two is harmless: the unsynced changes lead to the same values. */
  memcpy(p->synced, p->values, sizeof p->synced);
  atomic_store(&p->unsynced_n, 0);
}

static void work_until_killed(const trial *t, besom_guard *g, uint64_t seed) {
  page *p = t->page;
  random_stream random = {seed};
  atomic_store(&p->opened, 1);
  for (uint64_t round = 0;; round++) {
    bool batch = random_below(&random, 30) == 0;
    plan(p, &random, batch ? BATCH : 1);
    if (t->durability == BESOM_DURABLE_SYNC) record_unsynced(p);
    if (batch) check(besom_guard_begin(g) == BESOM_OK, "a batch does not begin", BESOM_OK);
    for (uint32_t i = 0; i < p->pending_n; i++) change(g, &p->pending[i]);
    if (batch) check(besom_guard_commit(g) == BESOM_OK, "a batch is not committed", BESOM_OK);
    record_done(p);
    if (t->durability == BESOM_DURABLE_SYNC) sync_now_and_then(p, g, &random);
    besom_guard_get_u64(g, key_u64(NEGATIVES, round % 1000), NULL);
    if (round % 200 == 150) besom_guard_rekey(g);
  }
}

/* ------------------------------------------------------------------ the checker */

static uint64_t stored_value(besom_guard *g, uint32_t key) {
  besom_bytes value;
  uint64_t number = 0;
  uint8_t expected[VALUE_BYTES];
  besom_status status = besom_guard_get_u64(g, key_u64(MEMBERS, key), &value);
  if (status == BESOM_NOT_FOUND) return 0;
  check(status == BESOM_OK && value.len >= 8, "a key cannot be read", status);
  memcpy(&number, value.data, 8);
  check(value.len == make_value(number, expected) && !memcmp(value.data, expected, value.len),
        "a value is torn", status);
  besom_guard_release(g, &value);
  return number;
}

static besom_status count_one(void *ctx, besom_bytes key, besom_bytes value) {
  (void)key, (void)value;
  ++*(uint64_t *)ctx;
  return BESOM_OK;
}

/* The transaction that was running is there completely or not at all. */
static void check_pending(page *p, besom_guard *g) {
  uint32_t n = p->pending_n, done = 0, undone = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t is = stored_value(g, p->pending[i].key);
    done += is == p->pending[i].new_value;
    undone += is == p->pending[i].old_value;
    p->values[p->pending[i].key] = is;
  }
  check(done == n || undone == n, "half of a transaction is visible", BESOM_OK);
  atomic_store(&p->pending_n, 0);
}

/* Finds the moment since the last sync that the contents are of: a prefix of the changes, with
   complete batches. */
static void check_unsynced(page *p, besom_guard *g) {
  uint64_t is[KEYS];
  uint32_t wrong = 0, i = 0;
  memcpy(p->values, p->synced, sizeof p->values);
  for (uint32_t k = 0; k < KEYS; k++) wrong += p->values[k] != (is[k] = stored_value(g, k));
  for (; i < p->unsynced_n && (wrong || (i && p->unsynced[i - 1].more)); i++) {
    uint32_t k = p->unsynced[i].key;
    wrong -= p->values[k] != is[k];
    p->values[k] = p->unsynced[i].new_value;
    wrong += p->values[k] != is[k];
  }
  check(!wrong, "the contents are of no moment since the last sync", BESOM_OK);
  memcpy(p->synced, p->values, sizeof p->synced);
  atomic_store(&p->unsynced_n, 0);
  atomic_store(&p->pending_n, 0);
}

static void check_contents(const trial *t, besom_guard *g) {
  page *p = t->page;
  uint64_t members = 0, shown = 0;
  besom_bytes none = {NULL, 0};
  if (t->durability == BESOM_DURABLE_SYNC)
    check_unsynced(p, g);
  else
    check_pending(p, g);
  for (uint32_t k = 0; k < KEYS; k++) {
    uint64_t is = stored_value(g, k);
    if (is != p->values[k])
      fprintf(stderr, "key %u: %llu instead of %llu\n", k, (unsigned long long)is,
              (unsigned long long)p->values[k]);
    check(is == p->values[k], "what was committed is lost, or what was deleted is back", BESOM_OK);
    members += is != 0;
  }
  besom_status status = besom_guard_scan(g, none, none, count_one, &shown);
  check(status == BESOM_OK && shown == members, "a scan shows something else", status);
  besom_guard_statistics stats;
  check(besom_guard_stats(g, &stats) == BESOM_OK && stats.keys == members,
        "the filter has other keys", BESOM_OK);
}

/* ------------------------------------------------------------------ the parent, which kills */

static void pause_for(uint64_t microseconds) {
  struct timespec t = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

static void kill_one(const trial *t, random_stream *random) {
  page *p = t->page;
  uint64_t seed = random_next(random);
  atomic_store(&p->opened, 0);
  pid_t child = fork();
  if (child == 0) work_until_killed(t, open_guard(t), seed);
  check(child > 0, "no process", BESOM_OK);
  bool while_opening = random_below(random, 8) == 0;
  for (unsigned i = 0; !while_opening && !atomic_load(&p->opened) && i < 20000; i++)
    pause_for(1000);
  pause_for(random_below(random, while_opening ? 20000 : 60000));
  kill(child, SIGKILL);
  int how;
  waitpid(child, &how, 0);
  check(WIFSIGNALED(how), "the writer ended by itself", BESOM_OK);
}

/* Checks in a child process, which leaves a checkpoint or ends without closing the guard. */
static void check_in_child(const trial *t, bool close) {
  pid_t child = fork();
  if (child == 0) {
    besom_guard *g = open_guard(t);
    check_contents(t, g);
    besom_status status = close ? besom_guard_close(g) : BESOM_OK;
    check(status == BESOM_OK, "the guard does not close well", status);
    _exit(0);
  }
  check(child > 0, "no process", BESOM_OK);
  int how;
  waitpid(child, &how, 0);
  check(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the check failed", BESOM_OK);
}

static void kill_many(trial *t, unsigned kills) {
  page *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(p != MAP_FAILED, "no shared memory", BESOM_OK);
  temp_dir dir;
  temp_dir_make(&dir);
  t->directory = temp_dir_file(&dir, "db");
  t->page = p;
  random_stream random = {t->layout + 10 * t->durability + 100 * (uint64_t)getpid()};
  for (unsigned i = 0; i < kills; i++) {
    kill_one(t, &random);
    check_in_child(t, i % 2);
  }
  printf("%s, %s%s: %u kills, %llu changes\n", t->name, t->layout ? "split" : "merged",
         t->durability == BESOM_DURABLE_SYNC ? ", group commit" : "", kills,
         (unsigned long long)p->changes);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", t->directory.text);
  check(system(command) == 0, "the database stays behind", BESOM_OK);
  temp_dir_remove(&dir);
  munmap(p, sizeof *p);
}

int main(int argc, char **argv) {
  unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
  unsigned ways = 4 * (unsigned)(sizeof databases / sizeof *databases - 1);
  for (size_t i = 0; databases[i].name; i++)
    for (unsigned way = 0; way < 4; way++) {
      trial t = {.name = databases[i].name,
                 .open = databases[i].open,
                 .layout = way % 2 ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED,
                 .durability = way < 2 ? BESOM_DURABLE_BATCH : BESOM_DURABLE_SYNC};
      kill_many(&t, (kills + ways - 1) / ways);
    }
  return 0;
}
