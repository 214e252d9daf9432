/*
 * A store in RocksDB: one write batch per write, with the write-ahead log on, so a batch is applied
 * as a whole or not at all. A durable write syncs the log, and with it all earlier writes.
 */
#define _GNU_SOURCE /* O_DIRECTORY, flock, realpath */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../store_directory.h"
#include "besom_store.h"
#include "rocksdb_errors.h"
#include "rocksdb_files.h"

#define DEFAULT_CACHE (UINT64_C(32) << 20)

/* RocksDB also logs into a file. RocksDB 7.8 aborts the process when it logs after that file could
   not be written. So errors are not logged; the caller gets them. */
enum { LOG_FATAL_ONLY = 4, KEPT_LOGS = 2 };

struct rocksdb_database {
  besom_allocator allocator;
  rocksdb_t *db;
  rocksdb_options_t *options;
  rocksdb_readoptions_t *read;
  rocksdb_writeoptions_t *write[2]; /* [durable] */
  /* Not OK: why a write or sync failed. From then on all are refused: the log may end with half a
     record, and RocksDB 7.8 aborts the process if it is written to again. Reads go on. A reopened
     database can be written again; if it could not be opened even for reading, db is NULL. */
  besom_status failed;
  struct rocksdb_files files;
  int lock;    /* on the directory; RocksDB's own is on a file in it */
  size_t size; /* of this struct with the directory's name */
  char directory[];
};

/* ------------------------------------------------------------------ reading */

static besom_status rocksdb_get_one(void *db, besom_bytes key, besom_table_visit visit, void *ctx) {
  const struct rocksdb_database *rocks = db;
  char *error = NULL;
  if (!rocks->db) return rocks->failed;
  rocksdb_pinnableslice_t *slice =
      rocksdb_get_pinned(rocks->db, rocks->read, key.data, key.len, &error);
  besom_status status = rocksdb_status(error);
  if (!slice) return status;
  if (status == BESOM_OK) {
    besom_record record = {.key = key};
    record.value.data = rocksdb_pinnableslice_value(slice, &record.value.len);
    status = visit(ctx, &record);
  }
  rocksdb_pinnableslice_destroy(slice);
  return status == BESOM_END ? BESOM_OK : status;
}

static besom_status rocksdb_scan(void *db, besom_bytes from, besom_bytes to,
                                 besom_table_visit visit, void *ctx) {
  const struct rocksdb_database *rocks = db;
  if (!rocks->db) return rocks->failed;
  rocksdb_readoptions_t *options = rocksdb_readoptions_create();
  if (to.data) rocksdb_readoptions_set_iterate_upper_bound(options, to.data, to.len);
  rocksdb_iterator_t *at = rocksdb_create_iterator(rocks->db, options);
  rocksdb_iter_seek(at, from.data, from.len);
  besom_status status = rocksdb_walk(at, visit, ctx);
  rocksdb_iter_destroy(at);
  rocksdb_readoptions_destroy(options);
  return status;
}

/* ------------------------------------------------------------------ cursors */

/* An iterator of RocksDB shows the database as it was when the iterator was created. */
struct rocksdb_cursor {
  besom_cursor head;
  besom_allocator allocator;
  rocksdb_readoptions_t *options;
  rocksdb_iterator_t *at;
  bool started;
  size_t size; /* of this struct with the copy of the end */
  char end[];
};

static besom_status rocksdb_cursor_next(besom_cursor *head, besom_record *record) {
  struct rocksdb_cursor *c = (struct rocksdb_cursor *)head;
  char *error = NULL;
  if (c->started && rocksdb_iter_valid(c->at)) rocksdb_iter_next(c->at);
  c->started = true;
  if (!rocksdb_iter_valid(c->at)) {
    rocksdb_iter_get_error(c->at, &error);
    besom_status status = rocksdb_status(error);
    return status == BESOM_OK ? BESOM_END : status;
  }
  record->key.data = rocksdb_iter_key(c->at, &record->key.len);
  record->value.data = rocksdb_iter_value(c->at, &record->value.len);
  return BESOM_OK;
}

static void rocksdb_cursor_close(besom_cursor *head) {
  struct rocksdb_cursor *c = (struct rocksdb_cursor *)head;
  besom_allocator allocator = c->allocator;
  rocksdb_iter_destroy(c->at);
  rocksdb_readoptions_destroy(c->options);
  allocator.release(allocator.ctx, c, c->size);
}

static besom_status rocksdb_cursor(void *db, besom_bytes from, besom_bytes to, besom_cursor **out) {
  const struct rocksdb_database *rocks = db;
  if (!rocks->db) return rocks->failed;
  size_t size = sizeof(struct rocksdb_cursor) + to.len;
  struct rocksdb_cursor *c = rocks->allocator.allocate(rocks->allocator.ctx, size);
  if (!c) return BESOM_NO_MEMORY;
  *c = (struct rocksdb_cursor){.head = {rocksdb_cursor_next, rocksdb_cursor_close},
                               .allocator = rocks->allocator,
                               .options = rocksdb_readoptions_create(),
                               .size = size};
  if (to.data) {
    memcpy(c->end, to.data, to.len);
    rocksdb_readoptions_set_iterate_upper_bound(c->options, c->end, to.len);
  }
  c->at = rocksdb_create_iterator(rocks->db, c->options);
  rocksdb_iter_seek(c->at, from.data, from.len);
  *out = &c->head;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ writing */

static besom_status rocksdb_write_all(void *db, const besom_write *changes, size_t n,
                                      bool durable) {
  struct rocksdb_database *rocks = db;
  if (rocks->failed != BESOM_OK) return rocks->failed;
  rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
  for (size_t i = 0; i < n; i++) {
    besom_bytes key = changes[i].record.key, value = changes[i].record.value;
    if (changes[i].remove)
      rocksdb_writebatch_delete(batch, key.data, key.len);
    else
      rocksdb_writebatch_put(batch, key.data, key.len, value.len ? value.data : "", value.len);
  }
  char *error = NULL;
  rocksdb_write(rocks->db, rocks->write[durable], batch, &error);
  rocksdb_writebatch_destroy(batch);
  besom__rocksdb_files_written(&rocks->files, rocks->db, rocks->directory);
  return rocks->failed = rocksdb_status(error);
}

static besom_status rocksdb_sync(void *db) {
  struct rocksdb_database *rocks = db;
  char *error = NULL;
  if (rocks->failed != BESOM_OK) return rocks->failed;
  rocksdb_flush_wal(rocks->db, 1, &error);
  return rocks->failed = rocksdb_status(error);
}

/* ------------------------------------------------------------------ after a failure */

/* Room for what is to be written, and for the files of a database that is opened. */
static bool rocksdb_has_room(const char *directory, uint64_t bytes) {
  enum { BLOCK = 512 };
  struct statvfs disk;
  if (statvfs(directory, &disk) != 0) return true;
  return disk.f_bavail >= (2 * bytes + (1 << 20)) / (disk.f_frsize ? disk.f_frsize : BLOCK);
}

static void rocksdb_end(struct rocksdb_database *rocks) {
  if (!rocks->db) return;
  besom__rocksdb_files_closing(&rocks->files, rocks->db, rocks->directory);
  rocksdb_close(rocks->db);
  rocks->db = NULL;
}

/* RocksDB recovers its log when it is opened. On a full disk it could not be opened. */
static besom_status rocksdb_recover(void *db, uint64_t bytes) {
  struct rocksdb_database *rocks = db;
  char *error = NULL;
  if (rocks->failed == BESOM_OK) return BESOM_UNSUPPORTED;
  if (rocks->db) besom__rocksdb_files_written(&rocks->files, rocks->db, rocks->directory);
  if (!rocksdb_has_room(rocks->directory, bytes)) return BESOM_DISK_FULL;
  rocksdb_end(rocks);
  rocks->db = rocksdb_open(rocks->options, rocks->directory, &error);
  besom_status status = rocksdb_status(error);
  if (status == BESOM_OK) {
    besom__rocksdb_files_opened(&rocks->files, rocks->db, rocks->directory);
    return rocks->failed = BESOM_OK;
  }
  error = NULL;
  rocks->db = rocksdb_open_for_read_only(rocks->options, rocks->directory, 0, &error);
  if (rocksdb_status(error) != BESOM_OK) rocks->db = NULL;
  return rocks->failed = status;
}

/* RocksDB creates its directory, but the name of it survives a power cut only if the parent is
   synced. Failures are ignored: some parents cannot be read. */
static void sync_parent(const char *directory) {
  int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int fd = at < 0 ? -1 : openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  if (at >= 0) close(at);
}

/* A checkpoint of RocksDB: links to its files, which do not change. */
static besom_status rocksdb_backup(void *db, const char *directory) {
  const struct rocksdb_database *rocks = db;
  char *error = NULL;
  if (!rocks->db) return rocks->failed;
  if (access(directory, F_OK) == 0) return BESOM_INVALID;
  rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(rocks->db, &error);
  if (!error) rocksdb_checkpoint_create(checkpoint, directory, 0, &error);
  if (checkpoint) rocksdb_checkpoint_object_destroy(checkpoint);
  besom_status status = rocksdb_status(error);
  if (status != BESOM_OK) return status;
  besom__rocksdb_files_copied(directory);
  sync_parent(directory);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ statistics */

static besom_status rocksdb_commit_number(void *db, uint64_t *number) {
  const struct rocksdb_database *rocks = db;
  if (!rocks->db) return rocks->failed;
  *number = rocksdb_get_latest_sequence_number(rocks->db);
  return BESOM_OK;
}

static const char *rocksdb_directory(const void *db) {
  return ((const struct rocksdb_database *)db)->directory;
}

static uint64_t rocksdb_bytes(const void *db) {
  static const char *const parts[] = {"rocksdb.total-sst-files-size",
                                      "rocksdb.size-all-mem-tables"};
  uint64_t bytes = 0;
  if (!((const struct rocksdb_database *)db)->db) return 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    uint64_t part;
    if (rocksdb_property_int(((const struct rocksdb_database *)db)->db, parts[i], &part) == 0)
      bytes += part;
  }
  return bytes;
}

/* ------------------------------------------------------------------ open and close */

static void rocksdb_close_all(void *db) {
  struct rocksdb_database *rocks = db;
  bool complete = rocks->db && rocks->failed == BESOM_OK;
  rocksdb_end(rocks);
  if (complete) besom__rocksdb_files_closed(&rocks->files, rocks->directory);
  rocksdb_options_destroy(rocks->options);
  rocksdb_readoptions_destroy(rocks->read);
  for (unsigned durable = 0; durable < 2; durable++)
    rocksdb_writeoptions_destroy(rocks->write[durable]);
  store_directory_unlock(rocks->lock);
  besom_allocator allocator = rocks->allocator;
  allocator.release(allocator.ctx, rocks, rocks->size);
}

static const besom_ordered_ops rocksdb_ops = {
    .size = sizeof(besom_ordered_ops),
    .get = rocksdb_get_one,
    .scan = rocksdb_scan,
    .write = rocksdb_write_all,
    .sync = rocksdb_sync,
    .commit_number = rocksdb_commit_number,
    .close = rocksdb_close_all,
    .directory = rocksdb_directory,
    .bytes = rocksdb_bytes,
    .cursor = rocksdb_cursor,
    .recover = rocksdb_recover,
    .backup = rocksdb_backup,
};

/* The table options hold references to the cache and the filter policy. */
static void set_blocks(rocksdb_options_t *options, const besom_rocksdb_options *config) {
  rocksdb_block_based_table_options_t *blocks = rocksdb_block_based_options_create();
  rocksdb_cache_t *cache =
      rocksdb_cache_create_lru((size_t)(config->cache_bytes ? config->cache_bytes : DEFAULT_CACHE));
  rocksdb_block_based_options_set_block_cache(blocks, cache);
  if (config->bloom_bits_per_key > 0)
    rocksdb_block_based_options_set_filter_policy(
        blocks, rocksdb_filterpolicy_create_bloom_full(config->bloom_bits_per_key));
  rocksdb_options_set_block_based_table_factory(options, blocks);
  rocksdb_cache_destroy(cache);
  rocksdb_block_based_options_destroy(blocks);
}

static void set_options(struct rocksdb_database *rocks, const besom_rocksdb_options *config) {
  rocks->options = rocksdb_options_create();
  rocks->read = rocksdb_readoptions_create();
  for (unsigned durable = 0; durable < 2; durable++) {
    rocks->write[durable] = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(rocks->write[durable], (unsigned char)durable);
  }
  rocksdb_options_set_create_if_missing(rocks->options, 1);
  rocksdb_options_set_use_direct_reads(rocks->options, config->direct_reads);
  rocksdb_options_set_info_log_level(rocks->options, LOG_FATAL_ONLY);
  rocksdb_options_set_keep_log_file_num(rocks->options, KEPT_LOGS);
  set_blocks(rocks->options, config);
}

static const char *sentence_for(besom_status status) {
  switch (status) {
  case BESOM_LOCKED:
    return "the store is open already";
  case BESOM_READ_ONLY:
    return "the directory is not writable";
  case BESOM_CORRUPT:
    return "the directory holds data that is not a besom store, or it is damaged";
  case BESOM_DISK_FULL:
    return "the disk is full";
  case BESOM_NO_MEMORY:
    return "out of memory";
  default:
    return "RocksDB cannot open its files in the directory; does its parent exist?";
  }
}

static besom_status rocksdb_open_database(struct rocksdb_database *rocks, const char **why,
                                          besom_store **out) {
  char *error = NULL;
  besom_status status = store_directory_lock(rocks->directory, &rocks->lock);
  if (status == BESOM_OK) store_directory_follow(rocks->directory, rocks->lock);
  if (status == BESOM_OK) status = besom__rocksdb_files_check(rocks->directory, why);
  if (status != BESOM_OK) return status;
  rocks->db = rocksdb_open(rocks->options, rocks->directory, &error);
  status = rocksdb_status(error);
  if (status == BESOM_INVALID) status = BESOM_CORRUPT; /* files of another comparator or version */
  if (status != BESOM_OK) return status;
  besom__rocksdb_files_opened(&rocks->files, rocks->db, rocks->directory);
  sync_parent(rocks->directory);
  return besom_store_ordered(&rocksdb_ops, rocks, &rocks->allocator, out);
}

/* RocksDB tells why a directory cannot be made. */
static struct rocksdb_database *rocksdb_database_new(const char *path,
                                                     const besom_allocator *allocator) {
  struct rocksdb_database *rocks;
  char resolved[PATH_MAX];
  mkdir(path, 0755);
  const char *directory = store_directory_resolve(path, resolved);
  size_t len = strlen(directory) + 1, size = sizeof *rocks + len + STORE_DIRECTORY_BYTES;
  rocks = allocator->allocate(allocator->ctx, size);
  if (!rocks) return NULL;
  rocks->allocator = *allocator;
  rocks->lock = -1;
  rocks->files.manifest = -1;
  rocks->size = size;
  memcpy(rocks->directory, directory, len);
  return rocks;
}

besom_status besom_store_rocksdb_sized(const char *directory, const besom_rocksdb_options *given,
                                       size_t size, const char **reason, besom_store **out) {
  besom_rocksdb_options all = {0}, *options = &all;
  if (given) besom_copy_struct(&all, sizeof all, given, size);
  const char *why = NULL;
  if (reason) *reason = NULL;
  const besom_allocator *allocator =
      options->allocator ? options->allocator : besom_default_allocator();
  bool valid = directory && out && allocator->allocate && allocator->release &&
               options->bloom_bits_per_key >= 0;
  struct rocksdb_database *rocks = valid ? rocksdb_database_new(directory, allocator) : NULL;
  besom_status status = !valid ? BESOM_INVALID : BESOM_NO_MEMORY;
  if (rocks) {
    set_options(rocks, options);
    status = rocksdb_open_database(rocks, &why, out);
    if (status != BESOM_OK) rocksdb_close_all(rocks);
  }
  if (status != BESOM_OK && reason)
    *reason = why ? why : valid ? sentence_for(status) : "an argument is NULL or out of range";
  return status;
}
