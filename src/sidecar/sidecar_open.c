/* Opening and closing a sidecar, and making its filter from all keys. */
#define _GNU_SOURCE /* flock, getentropy, pthread_rwlock kinds */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/system/durable_file.h"
#include "sidecar/sidecar.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define DEFAULT_KIND "scaling"
#define DEFAULT_OPTIONS "base=aqf,forget=yes"
#define DEFAULT_SIDECAR_FPR 0.001

enum { LEAST_CAPACITY = 1000, BATCH = 256, TICK_KEYS = 1024 };

static const char lock_suffix[] = ".lock";

static besom_status sidecar_fail(besom_status status, const char **reason, const char *sentence) {
  *reason = sentence;
  return status;
}

/* ------------------------------------------------------------------ making a filter */

/* A quarter more than there are keys, so that the filter does not grow at once. */
static besom_config config_for(const besom_sidecar *s, uint64_t keys) {
  besom_config config = s->filter_config;
  uint64_t capacity = keys + keys / 4;
  if (capacity < LEAST_CAPACITY) capacity = LEAST_CAPACITY;
  if (!config.slots && config.capacity < capacity) config.capacity = capacity;
  return config;
}

static besom_status sidecar_tick(const besom_sidecar *s, uint64_t done, uint64_t total) {
  if (!s->progress.tick || done % TICK_KEYS) return BESOM_OK;
  return s->progress.tick(s->progress.ctx, done, total) ? BESOM_OK : BESOM_CANCELLED;
}

/* Many at a time hide the latency of memory. Those that do not fit make the filter grow. */
static besom_status sidecar_add_batch(besom_sidecar *s, besom_filter *f,
                                      const besom_digest *digests, size_t n) {
  size_t done = 0;
  besom_status status = besom_insert_many_digest(f, digests, n, &done);
  if (status != BESOM_OK && status != BESOM_FULL) return status;
  for (status = BESOM_OK; done < n && status == BESOM_OK; done++)
    status = besom__sidecar_add(s, f, digests[done]);
  return status;
}

/* Inserts all keys into f; only counts them if f is NULL. */
static besom_status sidecar_read_keys(besom_sidecar *s, besom_filter *f, uint64_t total,
                                      uint64_t *n) {
  const besom_source *keys = &s->keys;
  besom_digest batch[BATCH];
  besom_bytes key;
  *n = 0;
  besom_status status = keys->rewind(keys->ctx);
  while (status == BESOM_OK) {
    uint64_t weight = 1;
    status = keys->next(keys->ctx, &key, &weight);
    if (status != BESOM_OK) break;
    if (f) batch[*n % BATCH] = besom_hash(f, key.data, key.len);
    ++*n;
    if (f && *n % BATCH == 0) status = sidecar_add_batch(s, f, batch, BATCH);
    if (status == BESOM_OK) status = sidecar_tick(s, *n, total);
  }
  if (status == BESOM_END) return f ? sidecar_add_batch(s, f, batch, *n % BATCH) : BESOM_OK;
  if (s->log.end_scan) s->log.end_scan(s->log.ctx);
  return status;
}

static besom_status check_abilities(const besom_sidecar *s, const besom_filter *f) {
  unsigned needed = BESOM_CAN_ADAPT | (s->is_static ? 0 : BESOM_CAN_INSERT) |
                    (s->keep_removed ? 0 : BESOM_CAN_REMOVE);
  return (besom_abilities(f) & needed) == needed ? BESOM_OK : BESOM_UNSUPPORTED;
}

static besom_status sidecar_fill(besom_sidecar *s, uint64_t keys, besom_filter **out,
                                 uint64_t *count) {
  besom_config config = config_for(s, keys);
  besom_filter *f;
  besom_status status = besom_create(&config, &f);
  if (status != BESOM_OK) return status;
  status = check_abilities(s, f);
  if (status == BESOM_OK) status = sidecar_read_keys(s, f, keys, count);
  if (status == BESOM_OK)
    *out = f;
  else
    besom_free(f);
  if (s->keep_removed) *count = UNKNOWN_COUNT;
  return status;
}

/* For kinds that are made of the whole set. FULL: there are far more keys than `keys`. */
static besom_status sidecar_make_static(besom_sidecar *s, uint64_t keys, besom_filter **out,
                                        uint64_t *count) {
  besom_config config = config_for(s, keys);
  besom_source source = s->keys;
  source.size_hint = keys;
  besom_input input = {.yes = &source, .progress = s->progress.tick ? &s->progress : NULL};
  besom_statistics stats;
  besom_status status = source.rewind(source.ctx);
  if (status == BESOM_OK) status = besom_build(&config, &input, out);
  if (status == BESOM_OK) status = besom_stats(*out, &stats);
  if (status == BESOM_OK) *count = stats.keys;
  if (status != BESOM_OK && s->log.end_scan) s->log.end_scan(s->log.ctx);
  return status;
}

/* The number of keys that the new filter is made for. A stale filter does not tell it. */
static besom_status expect_keys(besom_sidecar *s, uint64_t *keys) {
  besom_statistics old;
  *keys = s->filter ? 0 : s->keys.size_hint;
  if (*keys) return BESOM_OK;
  if (!s->filter || s->stale || besom__sidecar_filter_stats(s, &old) != BESOM_OK)
    return sidecar_read_keys(s, NULL, 0, keys);
  *keys = old.keys > s->stats.kept ? old.keys - s->stats.kept : 0;
  return BESOM_OK;
}

besom_status besom__sidecar_build(besom_sidecar *s, besom_filter **out, uint64_t *count) {
  uint64_t keys;
  besom_status status = expect_keys(s, &keys);
  if (status != BESOM_OK) return status;
  status =
      s->is_static ? sidecar_make_static(s, keys, out, count) : sidecar_fill(s, keys, out, count);
  if (status == BESOM_FULL && s->is_static) {
    status = sidecar_read_keys(s, NULL, 0, &keys);
    if (status == BESOM_OK) status = sidecar_make_static(s, keys, out, count);
  }
  s->filter_config.seed = NULL; /* a rebuild has another one */
  return status;
}

/* ------------------------------------------------------------------ the configuration */

static bool copy_text(char to[SIDECAR_TEXT_BYTES], const char *text) {
  size_t len = strlen(text);
  if (len >= SIDECAR_TEXT_BYTES) return false;
  memcpy(to, text, len + 1);
  return true;
}

/* A kind that is made of the members, and of nothing else: ribbon, fuse. */
static bool kind_is_static(const char *name) {
  const unsigned others =
      BESOM_CAN_INSERT | BESOM_CAN_MATCH | BESOM_CAN_BUILD_NO | BESOM_TAKES_SAMPLE;
  const besom_kind_info *kind;
  for (size_t i = 0; (kind = besom_kinds(i)); i++)
    if (strcmp(kind->name, name) == 0) return !(kind->abilities & others);
  return false;
}

static bool sidecar_copy_filter_config(besom_sidecar *s, const besom_config *given, size_t size) {
  besom_config *c = &s->filter_config;
  if (given) besom_copy_struct(c, sizeof *c, given, size);
  const char *options = c->options;
  if (!c->kind && !options) options = DEFAULT_OPTIONS;
  if (!copy_text(s->kind, c->kind ? c->kind : DEFAULT_KIND) ||
      !copy_text(s->options, options ? options : "") || !copy_text(s->hash, c->hash ? c->hash : ""))
    return false;
  s->is_static = kind_is_static(s->kind);
  c->kind = s->kind;
  c->options = s->options;
  if (c->hash) c->hash = s->hash;
  if (c->fpr == 0 && c->bits_per_key == 0 && c->slots == 0) c->fpr = DEFAULT_SIDECAR_FPR;
  c->flags &= ~BESOM_CONCURRENT; /* the sidecar has a lock of its own */
  c->allocator = &s->allocator;
  return true;
}

static bool copy_log(besom_sidecar *s, const besom_sidecar_log *log) {
  if (!log) return true;
  if (log->size < sizeof(size_t)) return false;
  besom_copy_struct(&s->log, sizeof s->log, log, log->size);
  s->has_log = true;
  return s->log.put && s->log.remove && s->log.scan && s->log.update;
}

static bool sidecar_copy_config(besom_sidecar *s, const besom_sidecar_config *c,
                                size_t filter_size) {
  if (!c->keys || !c->keys->next || !c->keys->rewind || !copy_log(s, c->log)) return false;
  if (!sidecar_copy_filter_config(s, c->filter, filter_size)) return false;
  s->keys = *c->keys;
  if (c->progress) s->progress = *c->progress;
  s->keep_removed = c->keep_removed || s->is_static;
  s->checkpoint_items = c->checkpoint_items;
  if (c->database_id) memcpy(s->database_id, c->database_id, sizeof s->database_id);
  s->expected_count = c->exact_size_hint ? c->keys->size_hint : UNKNOWN_COUNT;
  return true;
}

/* ------------------------------------------------------------------ files and locks */

/* If the path cannot be resolved, opening the lock file tells why. */
static besom_status copy_path(besom_sidecar *s, const char *path) {
  char resolved[PATH_MAX];
  if (besom__file_resolve(path, resolved, sizeof resolved)) path = resolved;
  size_t len = strlen(path);
  s->path_size = len + sizeof lock_suffix;
  s->path = besom__allocate(&s->allocator, s->path_size);
  if (!s->path) return BESOM_NO_MEMORY;
  memcpy(s->path, path, len + 1);
  return BESOM_OK;
}

/* The lock belongs to the open file description: it ends with this sidecar or this process. */
static besom_status sidecar_take_lock(besom_sidecar *s, const char **reason) {
  size_t len = strlen(s->path);
  memcpy(s->path + len, lock_suffix, sizeof lock_suffix);
  s->lock_file = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  int error = errno;
  s->path[len] = 0;
  if (s->lock_file >= 0 && s->path[0] != '/')
    return sidecar_fail(BESOM_IO, reason, "the absolute path of the file cannot be determined");
  if (s->lock_file < 0 && error == ENOSPC)
    return sidecar_fail(BESOM_DISK_FULL, reason, "the disk is full");
  if (s->lock_file < 0 && (error == EACCES || error == EROFS || error == EPERM))
    return sidecar_fail(BESOM_READ_ONLY, reason, "the directory of the file is not writable");
  if (s->lock_file < 0)
    return sidecar_fail(BESOM_IO, reason,
                        error == ENOENT || error == ENOTDIR
                            ? "the directory of the file does not exist"
                            : "the lock file cannot be opened");
  if (flock(s->lock_file, LOCK_EX | LOCK_NB) == 0) return BESOM_OK;
  return errno == EWOULDBLOCK
             ? sidecar_fail(BESOM_LOCKED, reason, "another sidecar has the file open")
             : sidecar_fail(BESOM_IO, reason, "the lock file cannot be locked");
}

besom_status besom__sidecar_refuse(besom_sidecar *s, bool displaced, const char *sentence) {
  sidecar_lock(s);
  s->displaced |= displaced;
  s->problem = sentence;
  sidecar_unlock(s);
  return BESOM_LOCKED;
}

static void set_unlocked(besom_sidecar *s, bool unlocked) {
  if (s->unlocked == unlocked) return;
  sidecar_lock(s);
  s->unlocked = unlocked;
  sidecar_unlock(s);
}

/* Somebody who removed the lock file may have let another process in. The directory may also be
   somewhere else for a while: then this sidecar is refused until it is back. */
besom_status besom__sidecar_check_lock(besom_sidecar *s) {
  char path[PATH_MAX];
  struct stat mine, there;
  size_t len = strlen(s->path);
  if (s->displaced) return BESOM_LOCKED;
  if (len + sizeof lock_suffix > sizeof path || fstat(s->lock_file, &mine) != 0) return BESOM_OK;
  memcpy(path, s->path, len);
  memcpy(path + len, lock_suffix, sizeof lock_suffix);
  set_unlocked(s, stat(path, &there) != 0);
  if (s->unlocked)
    return besom__sidecar_refuse(s, false,
                                 "the lock file was removed: another process may use the "
                                 "file. Close the sidecar and open it again");
  if (mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
    return besom__sidecar_refuse(s, true,
                                 "the lock file was replaced: another process uses the "
                                 "file. Close this sidecar");
  return BESOM_OK;
}

static besom_status init_lock(besom_sidecar *s) {
  pthread_rwlockattr_t attributes;
  if (pthread_rwlockattr_init(&attributes) != 0) return BESOM_NO_MEMORY;
#ifdef __GLIBC__
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  s->threads = pthread_rwlock_init(&s->lock, &attributes) == 0;
  pthread_rwlockattr_destroy(&attributes);
  return s->threads ? BESOM_OK : BESOM_NO_MEMORY;
}

static void sidecar_free(besom_sidecar *s) {
  besom_allocator allocator = s->allocator;
  if (s->threads) pthread_rwlock_destroy(&s->lock);
  if (s->lock_file >= 0) close(s->lock_file);
  besom__process_free(&s->process);
  besom_free(s->filter);
  besom__digest_vector_free(&s->inserts, &allocator);
  besom__digest_vector_free(&s->removes, &allocator);
  besom__release(&allocator, s->record, s->record_size);
  besom__release(&allocator, s->path, s->path_size);
  besom__release(&allocator, s, sizeof *s);
}

/* ------------------------------------------------------------------ loading or reading all keys */

/* log.number returns 0 if it does not know: then nobody knows whether another writer was there,
   also if the number of the checkpoint is not known either. Without it, a stamp of 0 says
   nothing. */
static bool is_bypassed(const besom_sidecar *s, uint64_t stamp) {
  return stamp ? stamp != s->stamp : s->log.number != NULL;
}

static bool has_another_count(const besom_sidecar *s) {
  return s->expected_count != UNKNOWN_COUNT && s->key_count != UNKNOWN_COUNT &&
         s->expected_count != s->key_count;
}

/* Loads the checkpoint and replays the log. If they do not fit, s->filter is NULL. */
static besom_status sidecar_load(besom_sidecar *s, uint64_t stamp, besom_sidecar_origin *origin) {
  besom_filter *f;
  bool continues = true;
  besom_status status = besom__sidecar_load(s, &f, origin);
  if (status != BESOM_OK || !f) return status;
  if (check_abilities(s, f) != BESOM_OK) {
    *origin = BESOM_SIDECAR_OTHER;
  } else {
    if (s->has_log) status = besom__sidecar_replay(s, f, &continues);
    if (!continues)
      *origin = s->stale ? BESOM_SIDECAR_STALE : BESOM_SIDECAR_LOG_ENDS;
    else if (is_bypassed(s, stamp))
      *origin = BESOM_SIDECAR_BYPASSED;
    else if (has_another_count(s))
      *origin = BESOM_SIDECAR_COUNT;
  }
  if (status == BESOM_OK && *origin == BESOM_SIDECAR_LOADED)
    s->filter = f;
  else
    besom_free(f);
  return status;
}

/* Reads all keys. The old file and the old log are made invalid before anything changes. */
static besom_status sidecar_read_all(besom_sidecar *s, uint64_t stamp, const char **reason) {
  *reason = "the keys could not be read, or the filter could not be made from them";
  s->stats.replayed = s->stats.logged = s->stats.kept = 0;
  s->stale = false;
  s->stamp = stamp;
  besom_status status = besom__sidecar_build(s, &s->filter, &s->key_count);
  if (status != BESOM_OK) return status;
  *reason = s->has_log ? "the log could not be written" : "the file could not be written";
  status = s->has_log ? besom__sidecar_restart_log(s) : besom__sidecar_mark_in_use(s);
  if (status == BESOM_OK) sidecar_save_present(s); /* failed_checkpoints counts */
  return status;
}

/* The transaction that makes this file the owner of the log has a number, too: it is not that of
   another writer. *before: the number before it, if nobody else has committed meanwhile. */
static besom_status identify(besom_sidecar *s, uint64_t *stamp, uint64_t *before,
                             const char **reason) {
  bool wrote = false;
  if (!s->has_log) return BESOM_OK;
  if (s->log.number) *before = s->log.number(s->log.ctx, NULL);
  *reason = "the table of the log cannot be used: it has other data, or cannot be written";
  besom_status status = besom__sidecar_identify(s, &wrote);
  if (status == BESOM_LOCKED) *reason = s->problem;
  if (!s->log.number) return status;
  *stamp = s->log.number(s->log.ctx, NULL);
  if (!wrote || *stamp != *before + 1) *before = *stamp;
  return status;
}

static besom_status sidecar_attach(besom_sidecar *s, uint64_t stamp, const char **reason) {
  besom_sidecar_origin origin = BESOM_SIDECAR_NEW;
  uint64_t before = stamp;
  besom_status status = identify(s, &stamp, &before, reason);
  if (status == BESOM_OK) *reason = "the log or the file could not be read";
  if (status == BESOM_OK) status = sidecar_load(s, before, &origin);
  if (status == BESOM_OK && s->filter && s->stamp != stamp) s->changed = true;
  if (status == BESOM_OK && s->filter && s->log.number) s->stamp = stamp;
  if (status == BESOM_OK && !s->filter) status = sidecar_read_all(s, stamp, reason);
  s->stats.origin = origin;
  s->logged_stamp = s->stamp;
  sidecar_leave_snapshots(s);
  s->changed |= s->stats.replayed > 0;
  return status;
}

static besom_status sidecar_prepare(besom_sidecar *s, const besom_sidecar_config *config,
                                    size_t filter_size, const char *path, const char **reason) {
  s->lock_file = -1;
  besom__process_init(&s->process);
  s->oldest = 1;
  if (!sidecar_copy_config(s, config, filter_size))
    return sidecar_fail(
        BESOM_INVALID, reason,
        "keys needs next and rewind, log its functions, texts less than 128 characters");
  besom_status status = copy_path(s, path);
  if (status == BESOM_OK && config->threads) status = init_lock(s);
  if (status != BESOM_OK) return sidecar_fail(status, reason, "out of memory");
  if (getentropy(&s->session, sizeof s->session) != 0 ||
      (s->has_log && getentropy(s->id, sizeof s->id) != 0))
    return sidecar_fail(BESOM_IO, reason, "the system has no random bytes");
  s->first_session = s->session;
  return sidecar_take_lock(s, reason);
}

besom_status besom_sidecar_open_sized(const besom_sidecar_config *given, size_t config_size,
                                      size_t filter_size, const char *path, const char **reason,
                                      besom_sidecar **out) {
  const char *unused;
  besom_sidecar_config config;
  if (!reason) reason = &unused;
  *reason = "an argument is NULL";
  if (!given || !path || !out) return BESOM_INVALID;
  besom_copy_struct(&config, sizeof config, given, config_size);
  const besom_allocator *allocator = &besom__default_allocator;
  if (config.filter && filter_size > offsetof(besom_config, allocator) && config.filter->allocator)
    allocator = config.filter->allocator;
  if (!allocator->allocate || !allocator->release) return BESOM_INVALID;
  besom_sidecar *s = besom__allocate(allocator, sizeof *s);
  if (!s) return sidecar_fail(BESOM_NO_MEMORY, reason, "out of memory");
  s->allocator = *allocator;
  besom_status status = sidecar_prepare(s, &config, filter_size, path, reason);
  if (status == BESOM_OK) status = sidecar_attach(s, config.stamp, reason);
  if (status == BESOM_OK) {
    *reason = NULL;
    *out = s;
  } else {
    sidecar_free(s);
  }
  return status;
}

/* After an unknown outcome the file stays as it is: the next open finds out what is committed. */
besom_status besom_sidecar_close(besom_sidecar *s) {
  besom_status status = BESOM_OK;
  if (!s) return status;
  if (!sidecar_is_foreign(s) && !s->is_open && !s->is_unknown && (s->changed || s->in_use))
    status = sidecar_save_present(s);
  if (s->has_log && s->log.close) s->log.close(s->log.ctx);
  sidecar_free(s);
  return status;
}
