/*
 * sidecar_kill.c KILLS: kills an application with a sidecar under load, at random moments. Another
 * process then opens both. The filter must come from the checkpoint and the log, must answer yes to
 * every key of the table, and must have exactly as many keys: each insert and each remove of a
 * committed transaction once.
 */
#define _DEFAULT_SOURCE 1 /* processes, shared memory */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sidecar_tables.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 3000, MOST_CHANGES = 40 };

typedef struct page {
  _Atomic uint64_t opened, transactions;
} page;

typedef struct trial {
  const table_ops *ops;
  temp_path directory, file;
  page *page;
} trial;

static table open_table(const trial *t) {
  /* A high false-positive rate, so that a wrong remove shows; checkpoints every 300 changes. */
  besom_config filter = {.kind = "scaling", .options = "base=aqf,forget=yes", .fpr = 0.05};
  besom_sidecar_config config = {.filter = &filter, .checkpoint_items = 300};
  return t->ops->open(t->directory.text, &config, t->file.text);
}

/* ------------------------------------------------------------------ the writer, which is killed */

static void change_some(const trial *t, table *db, random_stream *random) {
  uint64_t first = random_below(random, KEYS), n = 1 + random_below(random, MOST_CHANGES);
  t->ops->begin(db);
  for (uint64_t i = 0; i < n; i++) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, (first + 7 * i) % KEYS));
    t->ops->change(db, (besom_bytes){key.bytes, 8}, random_below(random, 2));
  }
  t->ops->end(db, random_below(random, 8) != 0);
  atomic_fetch_add(&t->page->transactions, 1);
}

static void work_until_killed(const trial *t, uint64_t seed) {
  table db = open_table(t);
  random_stream random = {seed};
  atomic_store(&t->page->opened, 1);
  for (uint64_t round = 0;; round++) {
    change_some(t, &db, &random);
    uint64_t point = besom_sidecar_read_point(db.sidecar);
    besom_u64_key key = besom_u64(key_u64(NEGATIVES, round % 5000));
    if (besom_sidecar_may_contain(db.sidecar, key.bytes, 8))
      besom_sidecar_report(db.sidecar, key.bytes, 8, point);
    if (round % 97 == 96) table_check(besom_sidecar_rebuild(db.sidecar) == BESOM_OK, "a rebuild");
  }
}

/* ------------------------------------------------------------------ the checker */

typedef struct tally {
  besom_sidecar *sidecar;
  uint64_t keys;
} tally;

static void look_up(void *ctx, besom_bytes key) {
  tally *sum = ctx;
  sum->keys++;
  table_check(besom_sidecar_may_contain(sum->sidecar, key.data, key.len), "a key is denied");
}

static void check_keys(const trial *t, bool is_first, bool close) {
  table db = open_table(t);
  besom_sidecar_statistics stats;
  tally sum = {.sidecar = db.sidecar};
  table_check(besom_sidecar_stats(db.sidecar, &stats) == BESOM_OK, "statistics");
  table_check(is_first || stats.origin == BESOM_SIDECAR_LOADED, "all keys were read again");
  t->ops->for_each(&db, look_up, &sum);
  table_check(sum.keys == stats.keys, "the filter has another number of keys");
  if (close) t->ops->close(&db);
}

static void check_in_child(const trial *t, bool is_first, bool close) {
  pid_t child = fork();
  if (child == 0) {
    check_keys(t, is_first, close);
    _exit(0);
  }
  table_check(child > 0, "no process");
  int how;
  waitpid(child, &how, 0);
  table_check(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the check failed");
}

/* ------------------------------------------------------------------ the parent, which kills */

static void pause_for(uint64_t microseconds) {
  struct timespec t = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

static void kill_one(const trial *t, random_stream *random) {
  uint64_t seed = random_next(random);
  atomic_store(&t->page->opened, 0);
  pid_t child = fork();
  if (child == 0) work_until_killed(t, seed);
  table_check(child > 0, "no process");
  for (unsigned i = 0; !atomic_load(&t->page->opened) && i < 20000; i++) pause_for(1000);
  pause_for(random_below(random, 40000));
  kill(child, SIGKILL);
  int how;
  waitpid(child, &how, 0);
  table_check(WIFSIGNALED(how), "the writer ended by itself");
}

static void kill_many(const table_ops *ops, unsigned kills) {
  temp_dir dir;
  temp_dir_make(&dir);
  trial t = {.ops = ops, .directory = temp_dir_file(&dir, "db"), .file = temp_dir_file(&dir, "f")};
  t.page = mmap(NULL, sizeof *t.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  table_check(t.page != MAP_FAILED, "no shared memory");
  random_stream random = {(uint64_t)getpid()};
  check_in_child(&t, true, true);
  for (unsigned i = 0; i < kills; i++) {
    kill_one(&t, &random);
    check_in_child(&t, false, i % 2);
  }
  printf("%s: %u kills, %llu transactions\n", ops->name, kills,
         (unsigned long long)t.page->transactions);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", t.directory.text);
  table_check(system(command) == 0, "the database stays behind");
  temp_dir_remove(&dir);
  munmap(t.page, sizeof *t.page);
}

int main(int argc, char **argv) {
  unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
  for (size_t i = 0; all_tables[i]; i++) kill_many(all_tables[i], kills);
  return 0;
}
