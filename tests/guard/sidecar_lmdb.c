/* A sidecar of a table in LMDB: its calls, wrong handles, a full map, writers that bypass it. */
#define _GNU_SOURCE /* syscall */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "sidecar_tables.h"
#include "support/keys.h"
#include "support/temp_files.h"

typedef struct scene {
  temp_dir dir;
  temp_path data, file;
  MDB_env *env;
  MDB_dbi table;
  besom_sidecar_lmdb_options options;
  besom_config filter;
  besom_sidecar_config config;
  besom_sidecar *s;
} scene;

static void open_env_with(scene *c, unsigned databases, size_t map, unsigned table_flags,
                          unsigned env_flags) {
  MDB_txn *txn;
  assert_int_equal(mdb_env_create(&c->env), 0);
  assert_int_equal(mdb_env_set_mapsize(c->env, map), 0);
  assert_int_equal(mdb_env_set_maxdbs(c->env, databases), 0);
  unsigned flags = MDB_NOSYNC | MDB_NOSUBDIR | env_flags;
  assert_int_equal(mdb_env_open(c->env, c->data.text, flags, 0666), 0);
  assert_int_equal(mdb_txn_begin(c->env, NULL, 0, &txn), 0);
  assert_int_equal(mdb_dbi_open(txn, "users", MDB_CREATE | table_flags, &c->table), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  c->options.env = c->env;
  c->options.table = c->table;
}

static void open_env(scene *c, unsigned databases, size_t map, unsigned table_flags) {
  open_env_with(c, databases, map, table_flags, MDB_NOTLS);
}

static void scene_init(scene *c) {
  memset(c, 0, sizeof *c);
  temp_dir_make(&c->dir);
  c->data = temp_dir_file(&c->dir, "data");
  c->file = temp_dir_file(&c->dir, "users.besom");
  c->filter = (besom_config){.kind = "scaling", .options = "base=aqf,forget=yes", .fpr = 0.25};
  c->config = (besom_sidecar_config){.filter = &c->filter};
}

static besom_status try_attach(scene *c) {
  return besom_sidecar_lmdb(&c->config, &c->options, c->file.text, NULL, &c->s);
}

static besom_sidecar_statistics stats_of(const scene *c) {
  besom_sidecar_statistics stats;
  assert_int_equal(besom_sidecar_stats(c->s, &stats), BESOM_OK);
  return stats;
}

static void attach(scene *c, besom_sidecar_origin origin) {
  assert_int_equal(try_attach(c), BESOM_OK);
  assert_int_equal(stats_of(c).origin, origin);
}

static void detach(scene *c) {
  assert_int_equal(besom_sidecar_close(c->s), BESOM_OK);
}

static void scene_done(scene *c) {
  mdb_env_close(c->env);
  temp_dir_remove(&c->dir);
}

static MDB_txn *begin(scene *c) {
  MDB_txn *txn;
  assert_int_equal(mdb_txn_begin(c->env, NULL, 0, &txn), 0);
  assert_int_equal(besom_sidecar_begin(c->s), BESOM_OK);
  return txn;
}

static besom_status put(scene *c, MDB_txn *txn, uint64_t k, besom_bytes value) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, k));
  return besom_sidecar_lmdb_put(c->s, txn, (besom_bytes){key.bytes, 8}, value);
}

static besom_status del(scene *c, MDB_txn *txn, uint64_t k) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, k));
  return besom_sidecar_lmdb_del(c->s, txn, (besom_bytes){key.bytes, 8});
}

static besom_status get_since(scene *c, uint64_t point, MDB_txn *txn, uint64_t k,
                              besom_bytes *value) {
  besom_u64_key key = besom_u64(key_u64(MEMBERS, k));
  return besom_sidecar_lmdb_get(c->s, txn, (besom_bytes){key.bytes, 8}, point, value);
}

static besom_status get(scene *c, MDB_txn *txn, uint64_t k, besom_bytes *value) {
  return get_since(c, besom_sidecar_read_point(c->s), txn, k, value);
}

static void put_range(scene *c, uint64_t from, uint64_t to) {
  MDB_txn *txn = begin(c);
  for (uint64_t k = from; k < to; k++)
    assert_int_equal(put(c, txn, k, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_commit(c->s, txn), BESOM_OK);
}

/* Every key of the range is found, and nothing else is. */
static void assert_exact(scene *c, uint64_t from, uint64_t to, uint64_t end) {
  MDB_txn *txn;
  besom_bytes value;
  assert_int_equal(mdb_txn_begin(c->env, NULL, MDB_RDONLY, &txn), 0);
  for (uint64_t k = 0; k < end; k++)
    assert_int_equal(get(c, txn, k, &value), k >= from && k < to ? BESOM_OK : BESOM_NOT_FOUND);
  mdb_txn_abort(txn);
}

/* ------------------------------------------------------------------ in the middle of a commit */

/* The sidecar is rebuilt when LMDB has written the meta page of a commit, which readers do not see
   yet. */
static scene *rebuilt_in_commit;

/* LMDB, a shared library, finds one of these functions in the program. The meta pages are the first
   two. */
#define CALLED __attribute__((visibility("default")))

CALLED ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at) {
  ssize_t written = syscall(SYS_pwrite64, fd, data, len, at);
  scene *c = rebuilt_in_commit;
  if (c && at < 2 * sysconf(_SC_PAGESIZE)) {
    rebuilt_in_commit = NULL;
    assert_int_equal(besom_sidecar_rebuild(c->s), BESOM_OK);
  }
  return written;
}

CALLED ssize_t pwrite(int fd, const void *data, size_t len, off_t at) {
  return pwrite64(fd, data, len, at);
}

/* ------------------------------------------------------------------ tests */

static void put_and_delete(bool every_commit) {
  scene c;
  besom_bytes value;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 26, 0);
  c.options.every_commit = every_commit;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 300);
  put_range(&c, 200, 400); /* replaces values */
  assert_int_equal(stats_of(&c).keys, 400);
  MDB_txn *txn = begin(&c);
  for (uint64_t k = 0; k < 50; k++) assert_int_equal(del(&c, txn, k), BESOM_OK);
  for (uint64_t k = 0; k < 50; k++) assert_int_equal(del(&c, txn, k), BESOM_NOT_FOUND);
  assert_int_equal(put(&c, txn, 300, (besom_bytes){"other", 5}), BESOM_OK);
  assert_int_equal(get(&c, txn, 300, &value), BESOM_OK);
  assert_true(value.len == 5 && memcmp(value.data, "other", 5) == 0);
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_OK);
  assert_int_equal(stats_of(&c).keys, 350);
  assert_exact(&c, 50, 400, 1000);
  uint64_t reports = stats_of(&c).reports;
  assert_true(reports > 10);
  assert_exact(&c, 50, 400, 1000);
  assert_int_equal(stats_of(&c).reports, reports); /* each false positive once */
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  assert_exact(&c, 50, 400, 1000);
  detach(&c);
  scene_done(&c);
}

static void puts_and_deletes_are_told_exactly(void **state) {
  (void)state;
  put_and_delete(false);
  put_and_delete(true);
}

/* A key that the transaction has deleted is a member again if it aborts. */
static void a_write_transaction_reports_nothing(void **state) {
  (void)state;
  scene c;
  besom_bytes value;
  MDB_txn *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 26, 0);
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  assert_int_equal(mdb_txn_begin(c.env, NULL, 0, &txn), 0); /* without besom_sidecar_begin */
  besom_u64_key bytes = besom_u64(key_u64(MEMBERS, 7));
  MDB_val key = {8, bytes.bytes};
  assert_int_equal(mdb_del(txn, c.table, &key, NULL), 0);
  assert_int_equal(get(&c, txn, 7, &value), BESOM_NOT_FOUND);
  mdb_txn_abort(txn);
  assert_exact(&c, 0, 100, 100);
  detach(&c);
  scene_done(&c);
}

static void an_aborted_transaction_leaves_nothing(void **state) {
  (void)state;
  scene c;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 26, 0);
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  MDB_txn *txn = begin(&c);
  for (uint64_t k = 0; k < 100; k++) assert_int_equal(del(&c, txn, k), BESOM_OK);
  assert_int_equal(put(&c, txn, 200, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_abort(c.s, txn), BESOM_OK);
  assert_exact(&c, 0, 100, 300);
  assert_int_equal(stats_of(&c).keys, 100);
  detach(&c);
  scene_done(&c);
}

static void wrong_handles_are_refused(void **state) {
  (void)state;
  scene c;
  const char *reason = NULL;
  scene_init(&c);
  open_env(&c, 1, (size_t)1 << 24, 0);
  assert_int_equal(besom_sidecar_lmdb(&c.config, &c.options, c.file.text, &reason, &c.s),
                   BESOM_INVALID);
  assert_non_null(strstr(reason, "mdb_env_set_maxdbs"));
  c.options.table = 1;
  assert_int_equal(besom_sidecar_lmdb(&c.config, &c.options, c.file.text, &reason, &c.s),
                   BESOM_INVALID);
  assert_non_null(strstr(reason, "unnamed"));
  c.options.table = 77;
  assert_int_equal(try_attach(&c), BESOM_INVALID);
  c.options.env = NULL;
  assert_int_equal(try_attach(&c), BESOM_INVALID);
  mdb_env_close(c.env);
  open_env(&c, 2, (size_t)1 << 24, 0);
  attach(&c, BESOM_SIDECAR_NEW);
  MDB_txn *txn;
  assert_int_equal(mdb_txn_begin(c.env, NULL, 0, &txn), 0);
  assert_int_equal(put(&c, txn, 1, (besom_bytes){"v", 1}), BESOM_INVALID); /* no begin */
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_INVALID);
  assert_exact(&c, 0, 0, 10);
  detach(&c);
  scene_done(&c);
}

/* The log has no room, or the table: the transaction fails, and all is as it was. */
static void a_full_map_loses_nothing(void **state) {
  (void)state;
  scene c;
  char large[3000] = {0};
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 19, 0);
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  besom_status status = BESOM_OK;
  uint64_t stored = 100, round = 0;
  for (; status == BESOM_OK; round++) {
    MDB_txn *txn = begin(&c);
    for (uint64_t i = 0; i < 5 && status == BESOM_OK; i++)
      status = put(&c, txn, stored + i, (besom_bytes){large, sizeof large});
    if (status == BESOM_OK)
      status = besom_sidecar_lmdb_commit(c.s, txn);
    else
      besom_sidecar_lmdb_abort(c.s, txn);
    if (status == BESOM_OK) stored += 5;
  }
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_true(round > 5);
  assert_exact(&c, 0, stored, stored + 50);
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  assert_exact(&c, 0, stored, stored + 50);
  detach(&c);
  scene_done(&c);
}

static void a_writer_that_bypasses_the_sidecar_is_noticed(void **state) {
  (void)state;
  scene c;
  MDB_txn *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  put_range(&c, 0, 100);
  put_range(&c, 0, 10); /* changes values only */
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  detach(&c);
  assert_int_equal(mdb_txn_begin(c.env, NULL, 0, &txn), 0);
  besom_u64_key bytes = besom_u64(key_u64(MEMBERS, 100));
  MDB_val key = {8, bytes.bytes}, value = {1, "v"};
  assert_int_equal(mdb_put(txn, c.table, &key, &value, 0), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  attach(&c, BESOM_SIDECAR_BYPASSED);
  assert_exact(&c, 0, 101, 200);
  detach(&c);
  scene_done(&c);
}

static void bypass(scene *c, uint64_t from, uint64_t to) {
  MDB_txn *txn;
  assert_int_equal(mdb_txn_begin(c->env, NULL, 0, &txn), 0);
  for (uint64_t k = from; k < to; k++) {
    besom_u64_key bytes = besom_u64(key_u64(MEMBERS, k));
    MDB_val key = {8, bytes.bytes}, value = {1, "v"};
    assert_int_equal(mdb_put(txn, c->table, &key, &value, 0), 0);
  }
  assert_int_equal(mdb_txn_commit(txn), 0);
}

/* While the sidecar is open: it does not deny the new key, and refuses to go on without a scan. */
static void a_writer_beside_an_open_sidecar_is_noticed(void **state) {
  (void)state;
  scene c;
  MDB_txn *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  txn = begin(&c);
  assert_int_equal(put(&c, txn, 500, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_abort(c.s, txn), BESOM_OK); /* numbers go on after an abort */
  put_range(&c, 100, 200);
  bypass(&c, 200, 300);
  assert_exact(&c, 0, 300, 400);
  txn = begin(&c);
  assert_int_equal(put(&c, txn, 300, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_INCOMPATIBLE);
  assert_exact(&c, 0, 300, 400);
  assert_int_equal(besom_sidecar_rebuild(c.s), BESOM_OK);
  put_range(&c, 300, 400);
  assert_exact(&c, 0, 400, 500);
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  assert_exact(&c, 0, 400, 500);
  detach(&c);
  scene_done(&c);
}

/* The filter has the keys of the snapshot that the scan read, not those of the commit. */
static void a_commit_during_a_rebuild_is_noticed(void **state) {
  (void)state;
  scene c;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  rebuilt_in_commit = &c;
  bypass(&c, 100, 200);
  assert_null(rebuilt_in_commit);
  assert_exact(&c, 0, 200, 300);
  MDB_txn *txn = begin(&c);
  assert_int_equal(put(&c, txn, 300, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_INCOMPATIBLE);
  assert_int_equal(besom_sidecar_rebuild(c.s), BESOM_OK);
  put_range(&c, 200, 300);
  assert_exact(&c, 0, 300, 400);
  detach(&c);
  attach(&c, BESOM_SIDECAR_LOADED);
  assert_exact(&c, 0, 300, 400);
  detach(&c);
  scene_done(&c);
}

/* LMDB has no slot for another reader: there is neither a number nor a scan. */
static void a_rebuild_that_cannot_read_changes_nothing(void **state) {
  (void)state;
  enum { MOST = 1000 };
  scene c;
  MDB_txn *readers[MOST];
  size_t n = 0;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  while (n < MOST && mdb_txn_begin(c.env, NULL, MDB_RDONLY, &readers[n]) == 0) n++;
  assert_true(n < MOST);
  assert_true(besom_sidecar_rebuild(c.s) != BESOM_OK);
  assert_int_equal(stats_of(&c).origin, BESOM_SIDECAR_NEW);
  while (n > 0) mdb_txn_abort(readers[--n]);
  put_range(&c, 100, 200);
  assert_exact(&c, 0, 200, 300);
  detach(&c);
  scene_done(&c);
}

static bool go_on(void *ctx, uint64_t done, uint64_t total) {
  (void)done;
  (void)total;
  return *(const bool *)ctx;
}

/* By default LMDB gives a thread one read transaction: after a rebuild that was cancelled, both the
   application and the next rebuild can begin theirs. */
static void a_cancelled_rebuild_leaves_no_transaction(void **state) {
  (void)state;
  scene c;
  MDB_txn *txn;
  bool goes_on = false;
  besom_progress progress = {.tick = go_on, .ctx = &goes_on};
  scene_init(&c);
  open_env_with(&c, 2, (size_t)1 << 24, 0, 0);
  c.options.every_commit = true;
  c.config.progress = &progress;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 5000);
  assert_int_equal(besom_sidecar_rebuild(c.s), BESOM_CANCELLED);
  assert_int_equal(mdb_txn_begin(c.env, NULL, MDB_RDONLY, &txn), 0);
  mdb_txn_abort(txn);
  goes_on = true;
  assert_int_equal(besom_sidecar_rebuild(c.s), BESOM_OK);
  put_range(&c, 5000, 5001);
  assert_exact(&c, 0, 5001, 6000);
  detach(&c);
  scene_done(&c);
}

/* A read transaction keeps a key that is deleted meanwhile, and does not get one that is put. */
static void a_read_transaction_keeps_its_keys(void **state) {
  (void)state;
  scene c;
  besom_bytes value;
  MDB_txn *old, *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  uint64_t point = besom_sidecar_read_point(c.s);
  assert_int_equal(mdb_txn_begin(c.env, NULL, MDB_RDONLY, &old), 0);
  txn = begin(&c);
  for (uint64_t k = 0; k < 50; k++) assert_int_equal(del(&c, txn, k), BESOM_OK);
  assert_int_equal(put(&c, txn, 100, (besom_bytes){"v", 1}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_OK);
  for (uint64_t k = 0; k < 200; k++)
    assert_int_equal(get_since(&c, point, old, k, &value), k < 100 ? BESOM_OK : BESOM_NOT_FOUND);
  mdb_txn_abort(old);
  assert_exact(&c, 50, 101, 200);
  detach(&c);
  scene_done(&c);
}

/* Another writer deletes a key: what a later read transaction does not find is not reported. */
static void a_read_transaction_keeps_keys_that_another_writer_deletes(void **state) {
  (void)state;
  scene c;
  besom_bytes value;
  MDB_txn *old, *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  c.options.every_commit = true;
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  assert_int_equal(mdb_txn_begin(c.env, NULL, MDB_RDONLY, &old), 0);
  assert_int_equal(mdb_txn_begin(c.env, NULL, 0, &txn), 0);
  besom_u64_key bytes = besom_u64(key_u64(MEMBERS, 7));
  MDB_val key = {8, bytes.bytes};
  assert_int_equal(mdb_del(txn, c.table, &key, NULL), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  assert_int_equal(mdb_txn_begin(c.env, NULL, MDB_RDONLY, &txn), 0);
  assert_int_equal(get(&c, txn, 7, &value), BESOM_NOT_FOUND);
  mdb_txn_abort(txn);
  assert_int_equal(get(&c, old, 7, &value), BESOM_OK);
  mdb_txn_abort(old);
  detach(&c);
  scene_done(&c);
}

/* A key with several values is one key. */
static void a_table_with_duplicates_has_each_key_once(void **state) {
  (void)state;
  scene c;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, MDB_DUPSORT);
  attach(&c, BESOM_SIDECAR_NEW);
  MDB_txn *txn = begin(&c);
  for (uint64_t i = 0; i < 100; i++)
    assert_int_equal(put(&c, txn, i / 4, (besom_bytes){&i, sizeof i}), BESOM_OK);
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_OK);
  assert_int_equal(stats_of(&c).keys, 25);
  assert_int_equal(besom_sidecar_rebuild(c.s), BESOM_OK);
  assert_int_equal(stats_of(&c).keys, 25);
  txn = begin(&c);
  assert_int_equal(del(&c, txn, 0), BESOM_OK); /* all of its values */
  assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_OK);
  assert_exact(&c, 1, 25, 50);
  detach(&c);
  scene_done(&c);
}

/* ------------------------------------------------------------------ two sidecars */

/* Two files for one table and one log: the second is refused, also when the lock of the first was
   removed and the first has not written since. */
static void one_log_has_one_file(void **state) {
  (void)state;
  for (int every = 0; every < 2; every++) {
    scene c, other;
    scene_init(&c);
    open_env(&c, 2, (size_t)1 << 24, 0);
    c.options.every_commit = every;
    attach(&c, BESOM_SIDECAR_NEW);
    put_range(&c, 0, 100);
    other = c;
    other.file = temp_dir_file(&c.dir, "second.besom");
    assert_int_equal(try_attach(&other), BESOM_LOCKED);
    temp_path lock = temp_dir_file(&c.dir, "users.besom.lock");
    temp_path away = temp_dir_file(&c.dir, "away");
    assert_int_equal(rename(lock.text, away.text), 0);
    attach(&other, BESOM_SIDECAR_NEW);
    assert_int_equal(rename(away.text, lock.text), 0);
    put_range(&other, 100, 300);
    MDB_txn *txn = begin(&c);
    assert_int_equal(put(&c, txn, 300, (besom_bytes){"v", 1}), BESOM_OK);
    assert_int_equal(besom_sidecar_lmdb_commit(c.s, txn), BESOM_LOCKED);
    assert_exact(&c, 0, 300, 600); /* nothing is denied */
    assert_int_equal(besom_sidecar_close(c.s), BESOM_LOCKED);
    assert_exact(&other, 0, 300, 600);
    detach(&other);
    scene_done(&c);
  }
}

/* A file at another path: the log follows it, and no key is read. */
static void a_moved_file_is_loaded(void **state) {
  (void)state;
  for (int every = 0; every < 2; every++) {
    scene c;
    scene_init(&c);
    open_env(&c, 2, (size_t)1 << 24, 0);
    c.options.every_commit = every;
    attach(&c, BESOM_SIDECAR_NEW);
    put_range(&c, 0, 100);
    detach(&c);
    temp_path moved = temp_dir_file(&c.dir, "moved.besom");
    assert_int_equal(rename(c.file.text, moved.text), 0);
    c.file = moved;
    attach(&c, BESOM_SIDECAR_LOADED);
    put_range(&c, 100, 200);
    detach(&c);
    attach(&c, BESOM_SIDECAR_LOADED);
    assert_exact(&c, 0, 200, 400);
    detach(&c);
    scene_done(&c);
  }
}

/* Without every_commit, the number of keys tells of a writer that bypassed the sidecar. */
static void a_bypassing_writer_changes_the_number_of_keys(void **state) {
  (void)state;
  scene c;
  MDB_txn *txn;
  scene_init(&c);
  open_env(&c, 2, (size_t)1 << 24, 0);
  attach(&c, BESOM_SIDECAR_NEW);
  put_range(&c, 0, 100);
  detach(&c);
  besom_u64_key bytes = besom_u64(key_u64(MEMBERS, 100));
  MDB_val key = {8, bytes.bytes}, value = {1, "v"};
  assert_int_equal(mdb_txn_begin(c.env, NULL, 0, &txn), 0);
  assert_int_equal(mdb_put(txn, c.table, &key, &value, 0), 0);
  assert_int_equal(mdb_txn_commit(txn), 0);
  attach(&c, BESOM_SIDECAR_COUNT);
  assert_exact(&c, 0, 101, 300);
  detach(&c);
  scene_done(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(puts_and_deletes_are_told_exactly),
      cmocka_unit_test(a_write_transaction_reports_nothing),
      cmocka_unit_test(an_aborted_transaction_leaves_nothing),
      cmocka_unit_test(wrong_handles_are_refused),
      cmocka_unit_test(a_full_map_loses_nothing),
      cmocka_unit_test(a_writer_that_bypasses_the_sidecar_is_noticed),
      cmocka_unit_test(a_writer_beside_an_open_sidecar_is_noticed),
      cmocka_unit_test(a_commit_during_a_rebuild_is_noticed),
      cmocka_unit_test(a_rebuild_that_cannot_read_changes_nothing),
      cmocka_unit_test(a_cancelled_rebuild_leaves_no_transaction),
      cmocka_unit_test(a_read_transaction_keeps_its_keys),
      cmocka_unit_test(a_read_transaction_keeps_keys_that_another_writer_deletes),
      cmocka_unit_test(a_table_with_duplicates_has_each_key_once),
      cmocka_unit_test(one_log_has_one_file),
      cmocka_unit_test(a_moved_file_is_loaded),
      cmocka_unit_test(a_bypassing_writer_changes_the_number_of_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
