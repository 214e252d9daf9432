/*
 * sidecar_kill --seed S --amount KILLS [--database lmdb]
 *
 * Kills an application with a sidecar under load, at random moments. Another process then opens
 * both. The filter must come from the checkpoint and the log, must answer yes to every key of the
 * table, and must have exactly as many keys: each insert and each remove of a committed transaction
 * once. Filter and distance of checkpoints are drawn anew after a few kills.
 */
#define _DEFAULT_SOURCE 1
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar_tables.h"
#include "support/keys.h"
#include "support/part.h"
#include "support/processes.h"
#include "support/temp_files.h"

enum { KEYS = 3000, MOST_CHANGES = 40, MOST_KILLS = 10 };

typedef struct page {
  _Atomic uint64_t opened, transactions, keys;
} page;

typedef struct trial {
  const table_ops *ops;
  const char *kind, *options;
  double fpr;
  uint64_t checkpoint_items, rebuild_every;
  temp_path directory, file;
  uint64_t seed;         /* of the next child */
  bool is_first, closes; /* the checker */
  page *page;
} trial;

/* High false-positive rates, so that a wrong remove shows. A kind that does not scale loses a bit
   of each remainder when it grows, so it begins with enough of them. */
static table open_table(const trial *t) {
  besom_config filter = {.kind = t->kind, .options = t->options, .fpr = t->fpr};
  if (strcmp(t->kind, "scaling")) filter.fpr = 0.0001;
  besom_sidecar_config config = {.filter = &filter, .checkpoint_items = t->checkpoint_items};
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

static void work_until_killed(void *ctx) {
  const trial *t = ctx;
  table db = open_table(t);
  random_stream random = {t->seed};
  atomic_store(&t->page->opened, 1);
  for (uint64_t round = 1;; round++) {
    change_some(t, &db, &random);
    uint64_t point = besom_sidecar_read_point(db.sidecar);
    besom_u64_key key = besom_u64(key_u64(NEGATIVES, round % 5000));
    if (besom_sidecar_may_contain(db.sidecar, key.bytes, 8))
      besom_sidecar_report(db.sidecar, key.bytes, 8, point);
    if (round % t->rebuild_every == 0)
      table_check(besom_sidecar_rebuild(db.sidecar) == BESOM_OK, "a rebuild");
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

static void check_keys(void *ctx) {
  const trial *t = ctx;
  table db = open_table(t);
  besom_sidecar_statistics stats;
  tally sum = {.sidecar = db.sidecar};
  table_check(besom_sidecar_stats(db.sidecar, &stats) == BESOM_OK, "statistics");
  table_check(t->is_first || stats.origin == BESOM_SIDECAR_LOADED, "all keys were read again");
  t->ops->for_each(&db, look_up, &sum);
  table_check(sum.keys == stats.keys, "the filter has another number of keys");
  atomic_fetch_add(&t->page->keys, sum.keys);
  if (t->closes) t->ops->close(&db);
}

/* ------------------------------------------------------------------ the parent, which kills */

static void fail(const trial *t, uint64_t seed, const char *what) {
  fprintf(stderr, "seed %llu: %s: %s, %s, checkpoints every %llu changes, left in %s\n",
          (unsigned long long)seed, what, t->ops->name, t->kind,
          (unsigned long long)t->checkpoint_items, t->directory.text);
  exit(1);
}

static void check_in_child(trial *t, uint64_t seed, bool is_first, bool closes) {
  t->is_first = is_first;
  t->closes = closes;
  if (!run_child(check_keys, t)) fail(t, seed, "the check failed");
}

static trial draw_trial(random_stream *random, const table_ops *ops, const temp_dir *dir) {
  static const char *const filters[][2] = {{"scaling", "base=aqf,forget=yes"},
                                           {"scaling", "base=aqf"},
                                           {"aqf", "forget=yes"},
                                           {"cached", "base=qf"}};
  const char *const *filter = filters[random_below(random, sizeof filters / sizeof *filters)];
  static const double rates[] = {0.3, 0.05, 0.001};
  return (trial){.ops = ops,
                 .kind = filter[0],
                 .options = filter[1],
                 .fpr = rates[random_below(random, 3)],
                 .checkpoint_items = 50 + random_below(random, 600),
                 .rebuild_every = 40 + random_below(random, 120),
                 .directory = temp_dir_file(dir, "db"),
                 .file = temp_dir_file(dir, "f")};
}

/* Kills one application some times. Returns how often. */
static uint64_t kill_some(random_stream *random, const table_ops *ops, page *p, uint64_t seed,
                          uint64_t most) {
  temp_dir dir;
  uint64_t kills = 1 + random_below(random, MOST_KILLS);
  if (kills > most) kills = most;
  temp_dir_make(&dir);
  trial t = draw_trial(random, ops, &dir);
  t.page = p;
  check_in_child(&t, seed, true, true);
  for (uint64_t i = 0; i < kills; i++) {
    t.seed = random_next(random);
    atomic_store(&p->opened, 0);
    if (!kill_child(work_until_killed, &t, &p->opened, random_below(random, 40000)))
      fail(&t, seed, "the writer ended by itself");
    check_in_child(&t, seed, false, random_below(random, 2));
  }
  remove_tree(dir.path);
  return kills;
}

int main(int argc, char **argv) {
  uint64_t seed = part_number(argc, argv, "--seed", 1), kills = 0;
  uint64_t amount = part_number(argc, argv, "--amount", 10);
  const char *only = part_text(argc, argv, "--database", NULL);
  size_t n = sizeof all_tables / sizeof *all_tables - 1;
  random_stream random = {seed};
  page *p = shared_memory(sizeof *p);
  for (size_t i = 0; kills < amount; i = (i + 1) % n) {
    if (!only || !strcmp(only, all_tables[i]->name))
      kills += kill_some(&random, all_tables[i], p, seed, amount - kills);
  }
  printf("{\"kills\": %llu, \"transactions\": %llu, \"keys checked\": %llu}\n",
         (unsigned long long)kills, (unsigned long long)p->transactions,
         (unsigned long long)p->keys);
  return 0;
}
