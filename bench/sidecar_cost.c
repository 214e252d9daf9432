/*
 * sidecar_cost.c: what a put costs with a sidecar, compared with the same database without one.
 *
 *     besom-sidecar-cost [KEYS [ROUNDS [DIRECTORY]]]      (1,000,000 keys, 15 rounds, /tmp)
 *
 * Both databases have KEYS keys of 8 random bytes with values of 100 bytes before the sidecar is
 * attached to one of them. In each round both get
 * the same 10,000 new keys, in transactions of 100 puts: first the one, then the other, in turns.
 * Then as many absent keys are read, and as many present ones.
 * Times are processor time of the process, RocksDB's own threads included, and of the calling
 * thread, and elapsed time. The ratio is the median of the ratios of all rounds.
 */
#define _DEFAULT_SOURCE 1 /* mkdtemp, clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "besom_sidecar.h"

enum { PER_TRANSACTION = 100, TRANSACTIONS = 100, VALUE_BYTES = 100, MOST_ROUNDS = 1000 };

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

/* A database with a table, with or without a sidecar. */
typedef struct database {
  void *env, *txn;
  unsigned table;
  void *handles[4];
  besom_sidecar *sidecar; /* NULL: none */
} database;

typedef struct setup {
  const char *name;
  bool durable, keep_removed;
  database (*open)(const char *directory, const struct setup *setup, bool with_sidecar);
  void (*put_all)(database *db, const uint64_t *keys, bool durable);    /* one transaction */
  void (*get_all)(database *db, const uint64_t *keys, uint64_t *found); /* one read transaction */
  void (*close)(database *db);
} setup;

static char value[VALUE_BYTES];

static besom_sidecar_config config_of(const setup *s) {
  return (besom_sidecar_config){.keep_removed = s->keep_removed};
}

static void path_of(const char *directory, char out[600]) {
  snprintf(out, 600, "%s/keys.besom", directory);
}

/* ------------------------------------------------------------------ LMDB */

#ifdef BENCH_LMDB
#include <lmdb.h>

static database lmdb_open(const char *directory, const setup *s, bool with_sidecar) {
  database db = {0};
  MDB_env *env;
  MDB_txn *txn;
  MDB_dbi table;
  char path[600];
  const char *reason = "";
  mkdir(directory, 0777);
  check(mdb_env_create(&env) == 0, "an environment");
  mdb_env_set_mapsize(env, (size_t)1 << 36);
  mdb_env_set_maxdbs(env, 2);
  check(mdb_env_open(env, directory, s->durable ? 0 : MDB_NOSYNC, 0666) == 0, "opening");
  check(mdb_txn_begin(env, NULL, 0, &txn) == 0, "beginning");
  check(mdb_dbi_open(txn, "keys", MDB_CREATE, &table) == 0, "opening the table");
  check(mdb_txn_commit(txn) == 0, "committing");
  db.env = env;
  db.table = table;
  path_of(directory, path);
  besom_sidecar_config config = config_of(s);
  besom_sidecar_lmdb_options options = {.env = env, .table = table};
  if (with_sidecar)
    check(besom_sidecar_lmdb(&config, &options, path, &reason, &db.sidecar) == BESOM_OK, reason);
  return db;
}

static void lmdb_put_all(database *db, const uint64_t *keys, bool durable) {
  (void)durable;
  MDB_txn *txn;
  check(mdb_txn_begin(db->env, NULL, 0, &txn) == 0, "beginning");
  if (db->sidecar) besom_sidecar_begin(db->sidecar);
  for (int i = 0; i < PER_TRANSACTION; i++) {
    besom_u64_key key = besom_u64(keys[i]);
    MDB_val k = {8, key.bytes}, v = {sizeof value, value};
    if (db->sidecar)
      check(besom_sidecar_lmdb_put(db->sidecar, txn, (besom_bytes){key.bytes, 8},
                                   (besom_bytes){value, sizeof value}) == BESOM_OK,
            "a put");
    else
      check(mdb_put(txn, db->table, &k, &v, 0) == 0, "a put");
  }
  check(db->sidecar ? besom_sidecar_lmdb_commit(db->sidecar, txn) == BESOM_OK
                    : mdb_txn_commit(txn) == 0,
        "a commit");
}

static void lmdb_get_all(database *db, const uint64_t *keys, uint64_t *found) {
  MDB_txn *txn;
  uint64_t point = db->sidecar ? besom_sidecar_read_point(db->sidecar) : 0;
  check(mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn) == 0, "beginning");
  for (int i = 0; i < PER_TRANSACTION; i++) {
    besom_u64_key key = besom_u64(keys[i]);
    MDB_val k = {8, key.bytes}, v;
    besom_bytes got;
    *found += db->sidecar ? besom_sidecar_lmdb_get(db->sidecar, txn, (besom_bytes){key.bytes, 8},
                                                   point, &got) == BESOM_OK
                          : mdb_get(txn, db->table, &k, &v) == 0;
  }
  mdb_txn_abort(txn);
}

static void lmdb_close(database *db) {
  check(besom_sidecar_close(db->sidecar) == BESOM_OK, "closing the sidecar");
  mdb_env_close(db->env);
}
#endif

/* ------------------------------------------------------------------ RocksDB */

#ifdef BENCH_ROCKSDB
#include <rocksdb/c.h>

static database rocks_open(const char *directory, const setup *s, bool with_sidecar) {
  static const char *const names[] = {"default", "besom-sidecar"};
  database db = {0};
  char path[600];
  char *error = NULL;
  const char *reason = "";
  rocksdb_column_family_handle_t *families[2];
  rocksdb_options_t *options = rocksdb_options_create();
  const rocksdb_options_t *both[] = {options, options};
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  db.env = rocksdb_open_column_families(options, directory, with_sidecar ? 2 : 1, names, both,
                                        families, &error);
  check(!error, "opening");
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(write, s->durable);
  db.handles[0] = families[0];
  db.handles[1] = with_sidecar ? families[1] : NULL;
  db.handles[2] = write;
  path_of(directory, path);
  besom_sidecar_config config = config_of(s);
  besom_sidecar_rocksdb_options where = {.db = db.env, .log = db.handles[1]};
  if (with_sidecar)
    check(besom_sidecar_rocksdb(&config, &where, path, &reason, &db.sidecar) == BESOM_OK, reason);
  return db;
}

static void rocks_put_all(database *db, const uint64_t *keys, bool durable) {
  (void)durable;
  char *error = NULL;
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  if (db->sidecar) besom_sidecar_begin(db->sidecar);
  for (int i = 0; i < PER_TRANSACTION; i++) {
    besom_u64_key key = besom_u64(keys[i]);
    rocksdb_writebatch_put(batch, (const char *)key.bytes, 8, value, sizeof value);
    if (db->sidecar)
      check(besom_sidecar_insert(db->sidecar, key.bytes, 8) == BESOM_OK, "an insert");
  }
  if (db->sidecar)
    check(besom_sidecar_rocksdb_write(db->sidecar, db->handles[2], batch) == BESOM_OK, "a write");
  else
    rocksdb_write(db->env, db->handles[2], batch, &error);
  check(!error, "a write");
  rocksdb_writebatch_destroy(batch);
}

static void rocks_get_all(database *db, const uint64_t *keys, uint64_t *found) {
  char *error = NULL;
  uint64_t point = db->sidecar ? besom_sidecar_read_point(db->sidecar) : 0;
  rocksdb_readoptions_t *options = rocksdb_readoptions_create();
  for (int i = 0; i < PER_TRANSACTION; i++) {
    besom_u64_key key = besom_u64(keys[i]);
    if (db->sidecar && !besom_sidecar_may_contain(db->sidecar, key.bytes, 8)) continue;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned(db->env, options, (const char *)key.bytes, 8, &error);
    check(!error, "a read");
    *found += slice != NULL;
    if (!slice && db->sidecar) besom_sidecar_report(db->sidecar, key.bytes, 8, point);
    if (slice) rocksdb_pinnableslice_destroy(slice);
  }
  rocksdb_readoptions_destroy(options);
}

static void rocks_close(database *db) {
  check(besom_sidecar_close(db->sidecar) == BESOM_OK, "closing the sidecar");
  for (int i = 0; i < 2; i++)
    if (db->handles[i]) rocksdb_column_family_handle_destroy(db->handles[i]);
  rocksdb_writeoptions_destroy(db->handles[2]);
  rocksdb_close(db->env);
}
#endif

static const setup setups[] = {
#ifdef BENCH_LMDB
    {"LMDB, no sync", false, false, lmdb_open, lmdb_put_all, lmdb_get_all, lmdb_close},
    {"LMDB, sync", true, false, lmdb_open, lmdb_put_all, lmdb_get_all, lmdb_close},
#endif
#ifdef BENCH_ROCKSDB
    {"RocksDB, no sync", false, false, rocks_open, rocks_put_all, rocks_get_all, rocks_close},
    {"RocksDB, no sync, keep_removed", false, true, rocks_open, rocks_put_all, rocks_get_all,
     rocks_close},
    {"RocksDB, sync", true, false, rocks_open, rocks_put_all, rocks_get_all, rocks_close},
#endif
};

/* ------------------------------------------------------------------ measuring */

typedef struct times {
  double process, thread, elapsed; /* seconds */
} times;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static times now(void) {
  return (times){seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_THREAD_CPUTIME_ID),
                 seconds(CLOCK_MONOTONIC)};
}

/* SplitMix64: a bijection, so that all keys differ. */
static uint64_t key_number(uint64_t i) {
  uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

/* Gets keys that are there, or that are not: those with the highest numbers. */
static times get_keys(const setup *s, database *db, uint64_t first, bool present) {
  uint64_t keys[PER_TRANSACTION], found = 0, n = 0;
  times before = now();
  for (uint64_t t = 0; t < TRANSACTIONS; t++) {
    for (uint64_t i = 0; i < PER_TRANSACTION; i++, n++)
      keys[i] = key_number(present ? n : UINT64_MAX / 2 + first + n);
    s->get_all(db, keys, &found);
  }
  times after = now();
  check(found == (present ? n : 0), "what was put is found");
  return (times){after.process - before.process, after.thread - before.thread,
                 after.elapsed - before.elapsed};
}

static times put_keys(const setup *s, database *db, uint64_t first, uint64_t transactions) {
  uint64_t keys[PER_TRANSACTION];
  times before = now();
  for (uint64_t t = 0; t < transactions; t++) {
    for (uint64_t i = 0; i < PER_TRANSACTION; i++)
      keys[i] = key_number(first + t * PER_TRANSACTION + i);
    s->put_all(db, keys, s->durable);
  }
  times after = now();
  return (times){after.process - before.process, after.thread - before.thread,
                 after.elapsed - before.elapsed};
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *numbers, size_t n) {
  qsort(numbers, n, sizeof *numbers, ascending);
  return numbers[n / 2];
}

static void measure(const setup *s, const char *directory, uint64_t keys, size_t rounds) {
  char names[2][600];
  database db[2];
  static double plain[5][MOST_ROUNDS], ratio[5][MOST_ROUNDS];
  setup loading = *s;
  loading.durable = false;
  for (int i = 0; i < 2; i++) {
    snprintf(names[i], sizeof names[i], "%.500s/%d", directory, i);
    mkdir(names[i], 0777);
    db[i] = s->open(names[i], &loading, false);
    put_keys(s, &db[i], 0, keys / PER_TRANSACTION);
    s->close(&db[i]);
    db[i] = s->open(names[i], s, i);
  }
  uint64_t next = keys;
  for (size_t r = 0; r < rounds; r++, next += PER_TRANSACTION * TRANSACTIONS) {
    times t[2], absent[2], present[2];
    for (size_t i = 0; i < 2; i++) {
      size_t which = (i + r) % 2;
      t[which] = put_keys(s, &db[which], next, TRANSACTIONS);
      absent[which] = get_keys(s, &db[which], next, false);
      present[which] = get_keys(s, &db[which], next, true);
    }
    const double puts = PER_TRANSACTION * TRANSACTIONS;
    plain[0][r] = 1e6 * t[0].process / puts, ratio[0][r] = t[1].process / t[0].process;
    plain[1][r] = 1e6 * t[0].thread / puts, ratio[1][r] = t[1].thread / t[0].thread;
    plain[2][r] = 1e6 * t[0].elapsed / puts, ratio[2][r] = t[1].elapsed / t[0].elapsed;
    plain[3][r] = 1e6 * absent[0].thread / puts, ratio[3][r] = absent[1].thread / absent[0].thread;
    plain[4][r] = 1e6 * present[0].thread / puts;
    ratio[4][r] = present[1].thread / present[0].thread;
  }
  printf("| %s |", s->name);
  for (int i = 0; i < 5; i++)
    printf(" %.2f | %.2f |", median(plain[i], rounds), median(ratio[i], rounds));
  printf("\n");
  fflush(stdout);
  for (int i = 0; i < 2; i++) s->close(&db[i]);
}

int main(int argc, char **argv) {
  uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
  size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 15;
  char directory[600], command[700];
  check(rounds >= 1 && rounds <= MOST_ROUNDS, "1 to 1000 rounds");
  printf("| us | put, process | ratio | put, thread | ratio | put, elapsed | ratio "
         "| get of an absent key, thread | ratio | get of a present key, thread | ratio |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
    snprintf(directory, sizeof directory, "%.500s/besom-sidecar-XXXXXX",
             argc > 3 ? argv[3] : "/tmp");
    check(mkdtemp(directory), "a directory");
    measure(&setups[i], directory, keys, rounds);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    check(system(command) == 0, "removing the databases");
  }
  return 0;
}
