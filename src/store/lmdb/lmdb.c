/*
 * A store in LMDB: one unnamed database, one LMDB transaction per write, one snapshot per read.
 *
 * Writes that need not be durable are made with MDB_NOMETASYNC: the data is synced, the meta page
 * that points to it is not. So a power cut takes back at most the last of them, and never damages
 * the database. A kill of the process does not harm them: the meta page is in the system's page
 * cache by then. With options.no_sync they are made with MDB_NOSYNC and do not wait for the disk.
 * LMDB's own reader table serves readers beside the writer, also in other processes, which open the
 * store for reading only. A lock on the directory makes sure that only one process has the store
 * open for writing; it ends with the process. A lock on the file besom.lock tells versions that do
 * not know the first one.
 */
#define _GNU_SOURCE /* flock, O_DIRECTORY, realpath */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../store_directory.h"
#include "besom_store.h"
#include "lmdb_check.h"
#include "lmdb_errors.h"

#define DEFAULT_MAP_SIZE (UINT64_C(1) << 36)

enum { MAX_KEY = 511, READERS = 1024, SHARED_READERS = 16, CACHE_LINE = 64 };

/*
 * A read transaction that is kept for the next read. Between reads it is reset: it has a slot of
 * LMDB's reader table, but no snapshot. So a read need not allocate, nor search the table under its
 * mutex. A reader belongs to no thread (MDB_NOTLS): a thread may end at any time.
 */
struct reader {
  atomic_bool busy;
  MDB_txn *txn;                                     /* NULL until the first read */
  MDB_cursor *cursor;                               /* NULL until the first scan */
  uint8_t padding[CACHE_LINE - 3 * sizeof(void *)]; /* other threads use the readers beside it */
};

struct lmdb_database {
  besom_allocator allocator;
  MDB_env *env;
  MDB_dbi dbi;
  int lock, directory_lock; /* -1: read-only */
  bool read_only;
  unsigned nondurable_flag; /* of writes that need not be durable */
  bool nondurable;          /* it is set */
  bool unsynced;            /* the last successful commit was not durable, and no sync followed */
  uint64_t check_at;        /* last page of the file at which readers are checked next */
  int failed;               /* the error of the last write that failed; 0: none has */
  bool panicked;            /* LMDB refuses everything until it is reopened */
  besom_lmdb_options options;
  /* Read-only: a writer in another process may have enlarged the map. Then this process maps it
     again, for which it must have no read transaction open. */
  pthread_mutex_t resize;
  atomic_bool resizing;
  atomic_uint outside; /* read transactions of none of the shared readers */
  pthread_t owner;     /* the thread that opened the store */
  struct reader own;   /* of the owner */
  struct reader shared[SHARED_READERS];
  size_t size; /* of this struct with the directory's name */
  char directory[];
};

/* ------------------------------------------------------------------ reading */

static bool try_take(struct reader *r) {
  return !atomic_load_explicit(&r->busy, memory_order_relaxed) &&
         !atomic_exchange_explicit(&r->busy, true, memory_order_acquire);
}

/* A shared reader that is not busy, or the given one, for this read only. Threads start at
   different readers. */
static __attribute__((noinline)) struct reader *shared_reader(struct lmdb_database *lmdb,
                                                              struct reader *temporary) {
  uint64_t thread = (uint64_t)(uintptr_t)pthread_self() >> 12;
  unsigned first = (unsigned)(thread * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  for (unsigned i = 0; i < SHARED_READERS; i++) {
    struct reader *r = &lmdb->shared[(first + i) % SHARED_READERS];
    if (try_take(r)) return r;
  }
  temporary->txn = NULL;
  temporary->cursor = NULL;
  return temporary;
}

/* A read transaction of none of the shared readers. False: the map is being enlarged. */
static bool enter_outside(struct lmdb_database *lmdb) {
  atomic_fetch_add(&lmdb->outside, 1);
  if (!atomic_load(&lmdb->resizing)) return true;
  atomic_fetch_sub(&lmdb->outside, 1);
  return false;
}

static void free_reader(struct reader *r) {
  if (r->cursor) mdb_cursor_close(r->cursor);
  if (r->txn) mdb_txn_abort(r->txn);
  r->cursor = NULL;
  r->txn = NULL;
}

/* Gives the snapshot back, so that the writer can reuse its pages. */
static void lmdb_end_read(struct lmdb_database *lmdb, struct reader *r,
                          const struct reader *temporary) {
  if (temporary && r == temporary) {
    free_reader(r);
    atomic_fetch_sub(&lmdb->outside, 1);
    return;
  }
  if (r->txn) mdb_txn_reset(r->txn);
  atomic_store_explicit(&r->busy, false, memory_order_release);
}

/* No other thread takes the owner's reader, so this needs no locked instruction, which would keep
   the processor from starting the read early. */
static bool take_own(struct lmdb_database *lmdb) {
  if (lmdb->read_only || !pthread_equal(lmdb->owner, pthread_self())) return false;
  if (atomic_load_explicit(&lmdb->own.busy, memory_order_relaxed)) return false;
  atomic_store_explicit(&lmdb->own.busy, true, memory_order_relaxed);
  return true;
}

/* Waits for the reads that run, which are short. Cursors are not: MDB_READERS_FULL. */
static int map_again(struct lmdb_database *lmdb) {
  int error = MDB_READERS_FULL;
  pthread_mutex_lock(&lmdb->resize);
  atomic_store(&lmdb->resizing, true);
  for (unsigned i = 0; i < SHARED_READERS; i++)
    while (!try_take(&lmdb->shared[i])) sched_yield();
  if (atomic_load(&lmdb->outside) == 0) {
    for (unsigned i = 0; i < SHARED_READERS; i++) free_reader(&lmdb->shared[i]);
    error = mdb_env_set_mapsize(lmdb->env, 0); /* as large as the writer's */
  }
  for (unsigned i = 0; i < SHARED_READERS; i++) lmdb_end_read(lmdb, &lmdb->shared[i], NULL);
  atomic_store(&lmdb->resizing, false);
  pthread_mutex_unlock(&lmdb->resize);
  return error;
}

/* A snapshot to read. If another process has enlarged the map, this one maps it again, once. */
static int lmdb_begin_read(struct lmdb_database *lmdb, struct reader *temporary,
                           struct reader **out) {
  if (!lmdb->env) return lmdb->failed;
  for (bool again = false;; again = true) {
    struct reader *r = *out = take_own(lmdb) ? &lmdb->own : shared_reader(lmdb, temporary);
    if (r == temporary && !enter_outside(lmdb)) return MDB_READERS_FULL;
    int error =
        r->txn ? mdb_txn_renew(r->txn) : mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &r->txn);
    if (!error) return 0;
    free_reader(r); /* a transaction that cannot be renewed is of no use */
    lmdb_end_read(lmdb, r, temporary);
    if (error != MDB_MAP_RESIZED || !lmdb->read_only || again) return error;
    error = map_again(lmdb);
    if (error) return error;
  }
}

static besom_status lmdb_get(void *db, besom_bytes key, besom_table_visit visit, void *ctx) {
  struct lmdb_database *lmdb = db;
  struct reader temporary, *r;
  int error = lmdb_begin_read(lmdb, &temporary, &r);
  if (error) return lmdb_status(error);
  MDB_val wanted = to_lmdb(key), value;
  error = mdb_get(r->txn, lmdb->dbi, &wanted, &value);
  besom_status status = BESOM_OK;
  if (!error) status = visit(ctx, &(besom_record){key, from_lmdb(value)});
  if (error && error != MDB_NOTFOUND) status = lmdb_status(error);
  lmdb_end_read(lmdb, r, &temporary);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status lmdb_walk(MDB_txn *txn, MDB_cursor *cursor, MDB_val from, besom_bytes to,
                              besom_table_visit visit, void *ctx) {
  MDB_val key = from, value, end = to_lmdb(to);
  MDB_dbi dbi = mdb_cursor_dbi(cursor);
  int error = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  besom_status status = BESOM_OK;
  while (!error && status == BESOM_OK) {
    if (to.data && mdb_cmp(txn, dbi, &key, &end) >= 0) return BESOM_OK;
    status = visit(ctx, &(besom_record){from_lmdb(key), from_lmdb(value)});
    if (status == BESOM_OK) error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  if (status != BESOM_OK) return status == BESOM_END ? BESOM_OK : status;
  return error == MDB_NOTFOUND ? BESOM_OK : lmdb_status(error);
}

static besom_status lmdb_scan(void *db, besom_bytes from, besom_bytes to, besom_table_visit visit,
                              void *ctx) {
  struct lmdb_database *lmdb = db;
  struct reader temporary, *r;
  int error = lmdb_begin_read(lmdb, &temporary, &r);
  if (error) return lmdb_status(error);
  error = r->cursor ? mdb_cursor_renew(r->txn, r->cursor)
                    : mdb_cursor_open(r->txn, lmdb->dbi, &r->cursor);
  besom_status status =
      error ? lmdb_status(error) : lmdb_walk(r->txn, r->cursor, to_lmdb(from), to, visit, ctx);
  lmdb_end_read(lmdb, r, &temporary);
  return status;
}

/* ------------------------------------------------------------------ cursors */

/* A read transaction of its own. As long as it is open, LMDB cannot reuse the pages of its
   snapshot. */
struct lmdb_cursor {
  besom_cursor head;
  struct lmdb_database *lmdb;
  besom_allocator allocator;
  MDB_txn *txn;
  MDB_cursor *at;
  MDB_cursor_op next; /* MDB_SET_RANGE at first */
  besom_bytes from, to;
  size_t size; /* of this struct with the copies of from and to */
  uint8_t bounds[];
};

static besom_status lmdb_cursor_next(besom_cursor *head, besom_record *record) {
  struct lmdb_cursor *c = (struct lmdb_cursor *)head;
  MDB_val key = to_lmdb(c->from), value, end = to_lmdb(c->to);
  int error = mdb_cursor_get(c->at, &key, &value, c->next);
  if (error) return error == MDB_NOTFOUND ? BESOM_END : lmdb_status(error);
  c->next = MDB_NEXT;
  if (c->to.data && mdb_cmp(c->txn, mdb_cursor_dbi(c->at), &key, &end) >= 0) {
    c->next = MDB_LAST; /* so that END stays END */
    return BESOM_END;
  }
  *record = (besom_record){from_lmdb(key), from_lmdb(value)};
  return BESOM_OK;
}

static void lmdb_cursor_close(besom_cursor *head) {
  struct lmdb_cursor *c = (struct lmdb_cursor *)head;
  besom_allocator allocator = c->allocator;
  if (c->at) mdb_cursor_close(c->at);
  if (c->txn) mdb_txn_abort(c->txn);
  atomic_fetch_sub(&c->lmdb->outside, 1);
  allocator.release(allocator.ctx, c, c->size);
}

static besom_status lmdb_cursor(void *db, besom_bytes from, besom_bytes to, besom_cursor **out) {
  struct lmdb_database *lmdb = db;
  size_t size = sizeof(struct lmdb_cursor) + from.len + to.len;
  if (!lmdb->env) return lmdb_status(lmdb->failed);
  if (!enter_outside(lmdb)) return BESOM_BUSY;
  struct lmdb_cursor *c = lmdb->allocator.allocate(lmdb->allocator.ctx, size);
  if (!c) {
    atomic_fetch_sub(&lmdb->outside, 1);
    return BESOM_NO_MEMORY;
  }
  *c = (struct lmdb_cursor){.head = {lmdb_cursor_next, lmdb_cursor_close},
                            .lmdb = lmdb,
                            .allocator = lmdb->allocator,
                            .next = MDB_SET_RANGE,
                            .from = {c->bounds, from.len},
                            .to = {to.data ? c->bounds + from.len : NULL, to.len},
                            .size = size};
  memcpy(c->bounds, from.data, from.len);
  if (to.data) memcpy(c->bounds + from.len, to.data, to.len);
  int error = mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &c->txn);
  if (!error) error = mdb_cursor_open(c->txn, lmdb->dbi, &c->at);
  if (error)
    lmdb_cursor_close(&c->head);
  else
    *out = &c->head;
  return lmdb_status(error);
}

/* ------------------------------------------------------------------ writing */

static int set_durable(struct lmdb_database *lmdb, bool durable) {
  if (lmdb->nondurable == !durable) return 0;
  int error = mdb_env_set_flags(lmdb->env, lmdb->nondurable_flag, !durable);
  if (!error) lmdb->nondurable = !durable;
  return error;
}

static int write_one(const struct lmdb_database *lmdb, MDB_txn *txn, const besom_write *change) {
  MDB_val key = to_lmdb(change->record.key), value = to_lmdb(change->record.value);
  if (!change->remove) return mdb_put(txn, lmdb->dbi, &key, &value, 0);
  int error = mdb_del(txn, lmdb->dbi, &key, NULL);
  return error == MDB_NOTFOUND ? 0 : error;
}

/* A transaction that changed nothing does not sync, but a durable commit must make earlier writes
   durable, too. */
static int lmdb_commit(const struct lmdb_database *lmdb, MDB_txn *txn, bool durable) {
  size_t number = mdb_txn_id(txn);
  MDB_envinfo info;
  int error = mdb_txn_commit(txn);
  if (error || !durable) return error;
  error = mdb_env_info(lmdb->env, &info);
  return error || info.me_last_txnid == number ? error : mdb_env_sync(lmdb->env, 1);
}

/* After a failed write of its meta page LMDB refuses all calls with MDB_PANIC: the first failure is
   the cause. */
static int cause_of(struct lmdb_database *lmdb, int error) {
  lmdb->panicked |= error == MDB_PANIC;
  if (error == MDB_PANIC && lmdb->failed) return lmdb->failed;
  if (error == EIO && lmdb_disk_is_full(lmdb->env)) error = ENOSPC;
  if (error) lmdb->failed = error;
  return error;
}

/* Slots of readers that were killed: their snapshots would keep pages from being reused. */
static int free_slots_of_dead_readers(MDB_env *env) {
  int dead;
  return mdb_reader_check(env, &dead);
}

/* Looks for dead readers when the file has grown: perhaps it is because of one. */
static void check_readers_when_grown(struct lmdb_database *lmdb) {
  enum { PAGES = 256 };
  MDB_envinfo info;
  if (mdb_env_info(lmdb->env, &info) != 0 || info.me_last_pgno < lmdb->check_at) return;
  free_slots_of_dead_readers(lmdb->env); /* a failure is that of the next check */
  lmdb->check_at = info.me_last_pgno + info.me_last_pgno / 16 + PAGES;
}

static besom_status lmdb_write(void *db, const besom_write *changes, size_t n, bool durable) {
  struct lmdb_database *lmdb = db;
  MDB_txn *txn;
  if (lmdb->read_only) return BESOM_READ_ONLY;
  if (!lmdb->env) return lmdb_status(lmdb->failed);
  int error = set_durable(lmdb, durable);
  if (!error) error = mdb_txn_begin(lmdb->env, NULL, 0, &txn);
  if (error) return lmdb_status(cause_of(lmdb, error));
  for (size_t i = 0; i < n && !error; i++) error = write_one(lmdb, txn, &changes[i]);
  if (error)
    mdb_txn_abort(txn);
  else
    error = lmdb_commit(lmdb, txn, durable);
  if (error) return lmdb_status(cause_of(lmdb, error));
  lmdb->unsynced = !durable;
  check_readers_when_grown(lmdb);
  return BESOM_OK;
}

static besom_status lmdb_sync(void *db) {
  struct lmdb_database *lmdb = db;
  int error = lmdb->env ? mdb_env_sync(lmdb->env, 1) : lmdb->failed;
  if (!error) lmdb->unsynced = false;
  return lmdb_status(cause_of(lmdb, error));
}

/* ------------------------------------------------------------------ statistics */

/* The number of the snapshot that a read gets now. While another process commits, mdb_env_info may
   already tell the next one. */
static int lmdb_snapshot_number(struct lmdb_database *lmdb, uint64_t *number) {
  struct reader temporary = {.txn = NULL}, *r;
  int error = lmdb_begin_read(lmdb, &temporary, &r);
  if (error) return error;
  *number = mdb_txn_id(r->txn);
  lmdb_end_read(lmdb, r, &temporary);
  return 0;
}

static besom_status lmdb_commit_number(void *db, uint64_t *number) {
  struct lmdb_database *lmdb = db;
  MDB_envinfo info;
  if (lmdb->read_only) return lmdb_status(lmdb_snapshot_number(lmdb, number));
  int error = mdb_env_info(lmdb->env, &info);
  if (!error) *number = info.me_last_txnid;
  return lmdb_status(error);
}

/* A new file survives a power cut once its directory is synced. Failures are ignored: the data do
   not depend on it. */
static void sync_directory(const char *directory, const char *name) {
  int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  if (at >= 0) close(at);
}

/* LMDB copies a snapshot, beside writers of all processes. */
static besom_status lmdb_backup(void *db, const char *directory) {
  const struct lmdb_database *lmdb = db;
  if (!lmdb->env) return lmdb_status(lmdb->failed);
  if (mkdir(directory, 0777) != 0)
    return errno == EEXIST ? BESOM_INVALID : errno == ENOSPC ? BESOM_DISK_FULL : BESOM_IO;
  int error = mdb_env_copy(lmdb->env, directory);
  sync_directory(directory, ".");
  sync_directory(directory, "..");
  return error == EIO && lmdb_disk_is_full(lmdb->env) ? BESOM_DISK_FULL : lmdb_status(error);
}

static const char *lmdb_directory(const void *db) {
  return ((const struct lmdb_database *)db)->directory;
}

static bool lmdb_read_only(const void *db) {
  return ((const struct lmdb_database *)db)->read_only;
}

/* The pages in use: an upper bound of the file size. */
static uint64_t lmdb_bytes(const void *db) {
  MDB_env *env = ((const struct lmdb_database *)db)->env;
  MDB_envinfo info;
  MDB_stat stat;
  if (mdb_env_info(env, &info) || mdb_env_stat(env, &stat)) return 0;
  return (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize;
}

/* ------------------------------------------------------------------ open and close */

static void free_readers(struct lmdb_database *lmdb) {
  free_reader(&lmdb->own);
  for (unsigned i = 0; i < SHARED_READERS; i++) free_reader(&lmdb->shared[i]);
}

static void lmdb_close(void *db) {
  struct lmdb_database *lmdb = db;
  if (lmdb->unsynced && lmdb->env) mdb_env_sync(lmdb->env, 1); /* a clean close is durable */
  free_readers(lmdb);
  pthread_mutex_destroy(&lmdb->resize);
  if (lmdb->env) mdb_env_close(lmdb->env);
  store_directory_unlock(lmdb->lock);
  store_directory_unlock(lmdb->directory_lock);
  besom_allocator allocator = lmdb->allocator;
  allocator.release(allocator.ctx, lmdb, lmdb->size);
}

static besom_status lmdb_recover(void *db, uint64_t bytes);

static const besom_ordered_ops lmdb_ops = {
    .size = sizeof(besom_ordered_ops),
    .get = lmdb_get,
    .scan = lmdb_scan,
    .write = lmdb_write,
    .sync = lmdb_sync,
    .commit_number = lmdb_commit_number,
    .close = lmdb_close,
    .directory = lmdb_directory,
    .bytes = lmdb_bytes,
    .max_key = MAX_KEY,
    .cursor = lmdb_cursor,
    .read_only = lmdb_read_only,
    .recover = lmdb_recover,
    .backup = lmdb_backup,
};

static besom_status lmdb_fail(besom_status status, const char **reason, const char *sentence) {
  if (reason) *reason = sentence;
  return status;
}

static besom_status make_directory(const char *directory, const char **reason) {
  if (mkdir(directory, 0777) == 0 || errno == EEXIST) {
    sync_directory(directory, ".."); /* a process that created it may not have come to this */
    return BESOM_OK;
  }
  if (errno == EACCES || errno == EROFS || errno == EPERM)
    return lmdb_fail(BESOM_READ_ONLY, reason,
                     "the directory does not exist, and there is no permission to create it");
  if (errno == ENOSPC) return lmdb_fail(BESOM_DISK_FULL, reason, "the disk is full");
  return lmdb_fail(BESOM_IO, reason, "the directory does not exist, and neither does its parent");
}

static besom_status lmdb_take_lock(struct lmdb_database *lmdb, const char **reason) {
  if (store_directory_lock(lmdb->directory, &lmdb->directory_lock) != BESOM_OK)
    return lmdb_fail(BESOM_LOCKED, reason, "the store is open already");
  if (lmdb->directory_lock < 0)
    return lmdb_fail(BESOM_IO, reason, "the directory cannot be opened");
  store_directory_follow(lmdb->directory, lmdb->directory_lock);
  lmdb->lock = openat(lmdb->directory_lock, "besom.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  int error = errno;
  if (lmdb->lock < 0 && error == ENOSPC)
    return lmdb_fail(BESOM_DISK_FULL, reason, "the disk is full");
  if (lmdb->lock < 0) return lmdb_fail(lmdb_status(error), reason, "the directory is not writable");
  if (flock(lmdb->lock, LOCK_EX | LOCK_NB) == 0) return BESOM_OK;
  if (errno != EWOULDBLOCK) return lmdb_fail(BESOM_IO, reason, "the directory cannot be locked");
  return lmdb_fail(BESOM_LOCKED, reason, "the store is open already");
}

/* Whether a page has no byte set, or is a meta page that knows of no other pages. */
static bool is_zero_or_meta(const uint8_t *page, size_t len) {
  static const uint32_t magic = 0xBEEFC0DE; /* of LMDB, after the page header */
  enum { HEADER = 16, LAST_PAGE = 136 };
  uint64_t last_page = 1;
  if (len >= LAST_PAGE + sizeof last_page) memcpy(&last_page, page + LAST_PAGE, sizeof last_page);
  if (len >= HEADER + sizeof magic && memcmp(page + HEADER, &magic, sizeof magic) == 0)
    return last_page <= 1;
  for (size_t i = 0; i < len; i++)
    if (page[i]) return false;
  return true;
}

/* LMDB creates its file with two meta pages, in one write without a sync. A power cut can leave one
   of them, or part of them, which LMDB would refuse. Such a file has no data: it starts again. */
static void drop_unfinished_file(const struct lmdb_database *lmdb) {
  enum { PAGE = 4096, START = 20 }; /* the start of a page ends with its magic number */
  uint8_t pages[2 * PAGE + 1];
  char path[PATH_MAX];
  int len = snprintf(path, sizeof path, "%s/data.mdb", lmdb->directory);
  int fd = len < (int)sizeof path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  ssize_t n = pread(fd, pages, sizeof pages, 0);
  bool whole = n == 2 * PAGE && pages[16] && pages[PAGE + 16];
  if (n > 0 && n <= 2 * PAGE && !whole && is_zero_or_meta(pages, n < PAGE ? (size_t)n : PAGE) &&
      (n < PAGE + START || is_zero_or_meta(pages + PAGE, (size_t)n - PAGE)))
    if (ftruncate(fd, 0) != 0) n = 0; /* LMDB will refuse the file */
  close(fd);
}

/* The meta pages of a new file must be durable before pages are written that they do not know. */
static int sync_new_file(MDB_env *env) {
  MDB_envinfo info;
  int error = mdb_env_info(env, &info);
  return error || info.me_last_txnid ? error : mdb_env_sync(env, 1);
}

/* LMDB maps both files, so that a missing page would end the process with SIGBUS. */
static int check_files(const struct lmdb_database *lmdb) {
  besom_status status = besom__lmdb_check_pages(lmdb->directory, false, &lmdb->allocator);
  if (status == BESOM_OK) status = besom__lmdb_allocate_lock(lmdb->directory, READERS);
  if (status == BESOM_CORRUPT) return MDB_PAGE_NOTFOUND;
  return status == BESOM_OK ? 0 : status == BESOM_NO_MEMORY ? ENOMEM : ENOSPC;
}

/* A reader takes the map size of the writer, which LMDB stores. */
static int open_environment(struct lmdb_database *lmdb, const besom_lmdb_options *options) {
  uint64_t map_size =
      options->map_size || options->read_only ? options->map_size : DEFAULT_MAP_SIZE;
  unsigned flags =
      MDB_NOTLS | (options->read_ahead ? 0 : MDB_NORDAHEAD) | (options->read_only ? MDB_RDONLY : 0);
  lmdb->nondurable_flag = options->no_sync ? MDB_NOSYNC : MDB_NOMETASYNC;
  int error = mdb_env_create(&lmdb->env);
  if (!error && map_size) error = mdb_env_set_mapsize(lmdb->env, (size_t)map_size);
  if (!error) error = mdb_env_set_maxreaders(lmdb->env, READERS);
  if (!options->read_only) drop_unfinished_file(lmdb);
  if (!error) error = check_files(lmdb);
  if (!error) error = mdb_env_open(lmdb->env, lmdb->directory, flags, 0666);
  if (!error && !options->read_only) error = sync_new_file(lmdb->env);
  if (!error && !options->read_only) error = free_slots_of_dead_readers(lmdb->env);
  if (!error && mdb_env_get_maxkeysize(lmdb->env) < MAX_KEY) error = MDB_INCOMPATIBLE;
  return error;
}

static int open_dbi(struct lmdb_database *lmdb) {
  MDB_txn *txn;
  int error = mdb_txn_begin(lmdb->env, NULL, lmdb->read_only ? MDB_RDONLY : 0, &txn);
  if (error) return error;
  error = mdb_dbi_open(txn, NULL, 0, &lmdb->dbi);
  if (!error) return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return error;
}

/* ------------------------------------------------------------------ after a failure */

/* Twice as large, or enough for what is to be written. Readers in other processes notice. */
static int enlarge_map(struct lmdb_database *lmdb, uint64_t bytes) {
  MDB_envinfo info;
  int error = mdb_env_info(lmdb->env, &info);
  if (error) return error;
  uint64_t more = 4 * bytes + (1 << 20), old = info.me_mapsize;
  uint64_t size = old + (old > more ? old : more);
  free_readers(lmdb);
  error = size > SIZE_MAX ? MDB_MAP_FULL : mdb_env_set_mapsize(lmdb->env, (size_t)size);
  if (!error) lmdb->options.map_size = size;
  return error;
}

static int reopen(struct lmdb_database *lmdb) {
  free_readers(lmdb);
  if (lmdb->env) mdb_env_close(lmdb->env);
  lmdb->env = NULL;
  lmdb->nondurable = false;
  int error = open_environment(lmdb, &lmdb->options);
  if (!error) error = open_dbi(lmdb);
  if (error && lmdb->env) mdb_env_close(lmdb->env);
  if (error) lmdb->env = NULL;
  return error;
}

static besom_status lmdb_recover(void *db, uint64_t bytes) {
  struct lmdb_database *lmdb = db;
  int error = lmdb->failed;
  if (lmdb->panicked || !lmdb->env)
    error = reopen(lmdb);
  else if (error == MDB_MAP_FULL)
    error = enlarge_map(lmdb, bytes);
  lmdb->panicked &= error != 0;
  lmdb->failed = error;
  return error ? lmdb_status(error) : BESOM_OK;
}

static besom_status lmdb_open_database(struct lmdb_database *lmdb,
                                       const besom_lmdb_options *options, const char **reason) {
  lmdb->options = *options;
  lmdb->read_only = options->read_only;
  besom_status status = options->read_only ? BESOM_OK : lmdb_take_lock(lmdb, reason);
  if (status != BESOM_OK) return status;
  int error = open_environment(lmdb, options);
  if (!error) error = open_dbi(lmdb);
  status = lmdb_status(error);
  if (error == MDB_PAGE_NOTFOUND)
    return lmdb_fail(status, reason,
                     "data.mdb is truncated: pages that are in use are missing. Restore "
                     "a backup");
  if (status == BESOM_CORRUPT)
    return lmdb_fail(status, reason,
                     "the directory holds data that is not an LMDB database of besom");
  if (status == BESOM_DISK_FULL)
    return lmdb_fail(status, reason, "the disk is full, or map_size is too small");
  if (status != BESOM_OK)
    return lmdb_fail(status, reason,
                     options->read_only
                         ? "there is no LMDB database in the directory, or it is not readable"
                         : "LMDB cannot open its files in the directory");
  if (!options->read_only) sync_directory(lmdb->directory, ".");
  return BESOM_OK;
}

static struct lmdb_database *lmdb_database_new(const char *directory,
                                               const besom_allocator *allocator) {
  struct lmdb_database *lmdb;
  size_t len = strlen(directory) + 1, size = sizeof *lmdb + len + STORE_DIRECTORY_BYTES;
  lmdb = allocator->allocate(allocator->ctx, size);
  if (!lmdb) return NULL;
  lmdb->allocator = *allocator;
  lmdb->lock = lmdb->directory_lock = -1;
  lmdb->owner = pthread_self();
  pthread_mutex_init(&lmdb->resize, NULL); /* cannot fail with default attributes */
  lmdb->size = size;
  memcpy(lmdb->directory, directory, len);
  return lmdb;
}

besom_status besom_store_lmdb_sized(const char *directory, const besom_lmdb_options *given,
                                    size_t size, const char **reason, besom_store **out) {
  besom_lmdb_options all = {0}, *options = &all;
  if (given) besom_copy_struct(&all, sizeof all, given, size);
  if (reason) *reason = NULL;
  const besom_allocator *allocator =
      options->allocator ? options->allocator : besom_default_allocator();
  if (!directory || !out || !allocator->allocate || !allocator->release ||
      options->map_size > SIZE_MAX)
    return lmdb_fail(BESOM_INVALID, reason, "an argument is NULL or out of range");
  char resolved[PATH_MAX];
  besom_status status = options->read_only ? BESOM_OK : make_directory(directory, reason);
  if (status != BESOM_OK) return status;
  struct lmdb_database *lmdb =
      lmdb_database_new(store_directory_resolve(directory, resolved), allocator);
  if (!lmdb) return lmdb_fail(BESOM_NO_MEMORY, reason, "out of memory");
  status = lmdb_open_database(lmdb, options, reason);
  if (status == BESOM_OK) {
    status = besom_store_ordered(&lmdb_ops, lmdb, allocator, out);
    if (status != BESOM_OK)
      lmdb_fail(status, reason,
                status == BESOM_DISK_FULL ? "the disk is full, or map_size is too small"
                                          : "the directory holds data that is not a besom store");
  }
  if (status != BESOM_OK) lmdb_close(lmdb);
  return status;
}
