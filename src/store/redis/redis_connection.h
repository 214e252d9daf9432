/*
 * The connection of a store to its Redis server.
 *
 * The lock: one client at a time. A client that opens the store gives its connection a random name
 * and writes that name into a key, the lock. The lock is valid as long as the server has a client
 * of that name, so it ends with the process. The lock of a dead client is taken over by
 * compare-and-set, so only one client can get it.
 *
 * Reconnecting: a broken connection is replaced once per call, under a new name. Clients of the old
 * name are killed, so nothing that was sent before can still be applied. Then the counter tells
 * whether the last write was applied. If the lock or the counter is not as expected, another client
 * may have written, or the server has lost data: then the store is lost, and every call returns IO.
 * If the server refuses a command or does not answer, only this call returns IO.
 *
 * Data that vanish: a server can be emptied, or evict keys. Each write counts the keys that must
 * exist, and compares the counter that it increments. A read that finds nothing does the same: for
 * a guard it is a rare false positive.
 *
 * The lock ends when the server closes the connection, which it may do because it was idle. So a
 * guard has the connection checked before its filter alone answers (check_lock): by a duplicate of
 * its descriptor, so that this need not wait for calls of other threads.
 */
#ifndef BESOM_STORE_REDIS_CONNECTION_H
#define BESOM_STORE_REDIS_CONNECTION_H

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "besom_store.h"

enum { NAME_SIZE = 6 + 16 + 1 }; /* "besom-", 16 hexadecimal digits, 0 */

/* Calls alone use what changes, and one thread at a time is in a call. Outside calls only watched
   and commit_number are read. */
struct redis_database {
  besom_allocator allocator;
  pthread_mutex_t mutex; /* one call at a time uses the connection */
  redisContext *link;    /* NULL: not connected */
  int watched;           /* a duplicate of its descriptor, always open after the first connection */
  struct timeval timeout;
  char name[NAME_SIZE];   /* in the lock */
  char tried[NAME_SIZE];  /* if not "", the lock may have this name instead */
  uint64_t commit_number; /* the counter after the last write that is known to be applied */
  bool write_pending;     /* it is not known whether the last write was applied: a writer sets it
                             before it sends, and clears it before its call ends */
  bool write_applied;     /* after a reconnect with write_pending: the write was applied */
  bool lost;              /* nothing clears it; link is NULL from then on */
  uint64_t reads;
  uint64_t checks;             /* atomic */
  const char *host, *password; /* host: a socket's path if port is 0; password may be NULL */
  int port;
  const char *values_key, *index_key, *number_key, *lock_key; /* in text */
  size_t size;
  char text[];
};

/* A call: it holds the mutex. hiredis writes to sockets that may be closed, so SIGPIPE is blocked
   for this thread during a call. */
struct call_scope {
  struct redis_database *redis;
  sigset_t before;
  bool was_pending;
};

void besom__redis_begin_call(struct call_scope *scope, struct redis_database *redis);
void besom__redis_end_call(struct call_scope *scope);

/* These make a call of their own: the caller is not in one. */

/* Sends a command that only reads, so it may be sent twice. The caller frees *reply, which may be
   NULL if there is an error. */
besom_status besom__redis_request(struct redis_database *redis, int n, const char **words,
                                  const size_t *sizes, redisReply **reply);

/* The operation check_lock. A new connection has the lock again, if nobody else has taken it or
   written meanwhile. */
besom_status besom__redis_check_lock(void *db);

/* The others are for a caller in a call. */

/* The first connection: takes the lock and reads the counter. After an error, *reason says why
   (reason may be NULL), and the caller disconnects. */
besom_status besom__redis_connect(struct redis_database *redis, const char **reason);

/* Replaces a broken connection. After an error there is none. */
besom_status besom__redis_reconnect(struct redis_database *redis);

void besom__redis_disconnect(struct redis_database *redis);

/* Deletes the lock, if there is a connection and the lock has its name. */
void besom__redis_release_lock(const struct redis_database *redis);

/* Whether the keys with data are there, and the counter is as expected; sets lost if not. An empty
   store has none. Without a connection: OK, unless the store is lost. Errors: IO. */
besom_status besom__redis_check_present(struct redis_database *redis);

/* The status of a reply. NULL, of a connection that broke: IO. */
static inline besom_status redis_status_of(const redisReply *reply) {
  if (!reply) return BESOM_IO;
  if (reply->type != REDIS_REPLY_ERROR) return BESOM_OK;
  if (!strncmp(reply->str, "OOM", 3)) return BESOM_DISK_FULL;
  if (!strncmp(reply->str, "READONLY", 8)) return BESOM_READ_ONLY;
  if (!strncmp(reply->str, "WRONGTYPE", 9)) return BESOM_CORRUPT;
  return BESOM_IO;
}

static inline besom_status redis_fail(besom_status status, const char **reason,
                                      const char *sentence) {
  if (reason) *reason = sentence;
  return status;
}

#endif
