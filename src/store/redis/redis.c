/*
 * A store on a Redis server: the values in a hash; their keys also in a sorted set, which orders
 * them; and a counter that every write increments. A write is MULTI ... EXEC in one round trip. A
 * scan reads many records per round trip.
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
#define _GNU_SOURCE /* dup3, getentropy, POLLRDHUP, sigtimedwait */
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "besom_store.h"

enum {
  DEFAULT_TIMEOUT = 5000, /* milliseconds */
  NAME_SIZE = 6 + 16 + 1, /* "besom-", 16 hexadecimal digits, 0 */
  RUN = 64,               /* changes per command */
  FIRST_CHUNK = 16,       /* records per round trip of a scan: lists are short, */
  CHUNK = 512,            /* scans are long */
  CHECKED_READ = 1024,    /* the n-th read, or check, looks whether the data are there */
};

struct redis_database {
  besom_allocator allocator;
  pthread_mutex_t mutex; /* one call at a time uses the connection */
  redisContext *link;    /* NULL: not connected */
  int watched;           /* a duplicate of its descriptor, always open after the first connection */
  struct timeval timeout;
  char name[NAME_SIZE];  /* in the lock */
  char tried[NAME_SIZE]; /* if not "", the lock may have this name instead */
  uint64_t commit_number;
  bool write_pending; /* it is not known whether the last write was applied */
  bool write_applied; /* after a reconnect with write_pending: it was */
  bool lost;
  bool may_evict; /* the server's configuration allows it */
  uint64_t reads;
  uint64_t checks;             /* atomic */
  const char *host, *password; /* host: a socket's path if port is 0; password may be NULL */
  int port;
  const char *values_key, *index_key, *number_key, *lock_key; /* in text */
  size_t size;
  char text[];
};

static const char scan_script[] =
    "local k=redis.call('ZRANGEBYLEX',KEYS[2],ARGV[1]..ARGV[2],ARGV[3]..ARGV[4],'LIMIT',0,ARGV[5]) "
    "if #k==0 then return {} end return {k,redis.call('HMGET',KEYS[1],unpack(k))}";
/* A server at its maxmemory refuses SET, but not in a script that has written before. So the script
   begins with DEL, which is never refused for memory. */
static const char exchange_script[] =
    "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end redis.call('DEL',KEYS[1]) "
    "if ARGV[2]~='' then redis.call('SET',KEYS[1],ARGV[2]) end return 1";

/* ------------------------------------------------------------------ commands */

static besom_status redis_status_of(const redisReply *reply) {
  if (!reply) return BESOM_IO;
  if (reply->type != REDIS_REPLY_ERROR) return BESOM_OK;
  if (!strncmp(reply->str, "OOM", 3)) return BESOM_DISK_FULL;
  if (!strncmp(reply->str, "READONLY", 8)) return BESOM_READ_ONLY;
  if (!strncmp(reply->str, "WRONGTYPE", 9)) return BESOM_CORRUPT;
  return BESOM_IO;
}

/* Frees a reply and returns its status. */
static besom_status consume(redisReply *reply) {
  besom_status status = redis_status_of(reply);
  if (reply) freeReplyObject(reply);
  return status;
}

/* Frees a reply and returns it as an integer (nil: 0), or -1 if it is not one. */
static long long redis_number_of(redisReply *reply) {
  long long number = -1;
  if (reply && reply->type == REDIS_REPLY_INTEGER) number = reply->integer;
  if (reply && reply->type == REDIS_REPLY_STRING) number = strtoll(reply->str, NULL, 10);
  if (reply && reply->type == REDIS_REPLY_NIL) number = 0;
  if (reply) freeReplyObject(reply);
  return number;
}

/* The duplicate would keep the connection open. */
static void disconnect(struct redis_database *redis) {
  if (!redis->link) return;
  shutdown(redis->link->fd, SHUT_RDWR);
  redisFree(redis->link);
  redis->link = NULL;
}

/* False: no descriptor is left. */
static bool watch(struct redis_database *redis, const redisContext *link) {
  if (redis->watched >= 0) return dup3(link->fd, redis->watched, O_CLOEXEC) >= 0;
  redis->watched = fcntl(link->fd, F_DUPFD_CLOEXEC, 0);
  return redis->watched >= 0;
}

/* Whether one of the two sides has closed the connection. */
static bool is_hung_up(int descriptor) {
  struct pollfd poll_for = {.fd = descriptor, .events = POLLRDHUP};
  return poll(&poll_for, 1, 0) > 0;
}

/* ------------------------------------------------------------------ the lock */

static bool make_name(char *name) {
  uint64_t random;
  if (getentropy(&random, sizeof random) != 0) return false;
  snprintf(name, NAME_SIZE, "besom-%016llx", (unsigned long long)random);
  return true;
}

/* The id of the next client of a name in a CLIENT LIST reply from *at on, or -1. Advances *at. */
static long long next_client(const char **at, const char *name) {
  char wanted[NAME_SIZE + 8];
  snprintf(wanted, sizeof wanted, " name=%s ", name);
  while (**at) {
    const char *line = *at, *end = strchr(line, '\n'), *found = strstr(line, wanted);
    if (!found) break;
    *at = end ? end + 1 : line + strlen(line);
    if (found < *at && !strncmp(line, "id=", 3)) return strtoll(line + 3, NULL, 10);
  }
  return -1;
}

/* Counts the clients of a name, and kills them if asked to. -1 if the server does not list
   clients. */
static int count_clients(redisContext *link, const char *name, bool kill) {
  redisReply *reply = redisCommand(link, "CLIENT LIST");
  int n = reply && reply->type != REDIS_REPLY_ERROR ? 0 : -1;
  if (n == 0) {
    const char *at = reply->str;
    for (long long id; (id = next_client(&at, name)) >= 0; n++)
      if (kill) consume(redisCommand(link, "CLIENT KILL ID %lld", id));
  }
  if (reply) freeReplyObject(reply);
  return n;
}

/* Sets the lock to another name, or deletes it if that is "". Returns 1, or 0 if the lock does not
   have the expected name, or -1 if the server refuses or does not answer. */
static long long exchange_lock(const struct redis_database *redis, redisContext *link,
                               const char *from, const char *to) {
  return redis_number_of(
      redisCommand(link, "EVAL %s 1 %s %s %s", exchange_script, redis->lock_key, from, to));
}

static besom_status redis_take_lock(const struct redis_database *redis, redisContext *link) {
  redisReply *reply = redisCommand(link, "SET %s %s NX", redis->lock_key, redis->name);
  bool taken = reply && reply->type == REDIS_REPLY_STATUS;
  besom_status status = consume(reply);
  if (taken || status != BESOM_OK) return status;
  reply = redisCommand(link, "GET %s", redis->lock_key);
  status = redis_status_of(reply);
  bool held = reply && reply->type == REDIS_REPLY_STRING;
  if (status == BESOM_OK) status = BESOM_LOCKED;
  if (held && count_clients(link, reply->str, false) == 0 &&
      exchange_lock(redis, link, reply->str, redis->name) == 1)
    status = BESOM_OK;
  if (reply) freeReplyObject(reply);
  return status;
}

/* ------------------------------------------------------------------ connections */

static besom_status redis_fail(besom_status status, const char **reason, const char *sentence) {
  if (reason) *reason = sentence;
  return status;
}

/* Opens a connection of that name. */
static besom_status open_link(const struct redis_database *redis, const char *name,
                              redisContext **out, const char **reason) {
  redisContext *link = redis->port
                           ? redisConnectWithTimeout(redis->host, redis->port, redis->timeout)
                           : redisConnectUnixWithTimeout(redis->host, redis->timeout);
  if (!link) return redis_fail(BESOM_NO_MEMORY, reason, "out of memory");
  besom_status status = BESOM_OK;
  if (link->err || redisSetTimeout(link, redis->timeout) != REDIS_OK)
    status = redis_fail(BESOM_IO, reason, "no Redis server answers at that address");
  if (status == BESOM_OK && redis->port) redisEnableKeepAlive(link);
  if (status == BESOM_OK && redis->password &&
      consume(redisCommand(link, "AUTH %s", redis->password)) != BESOM_OK)
    status = redis_fail(BESOM_IO, reason, "the server refuses the password");
  if (status == BESOM_OK && consume(redisCommand(link, "CLIENT SETNAME %s", name)) != BESOM_OK)
    status = redis_fail(BESOM_IO, reason, "the server needs a password, or is not a Redis server");
  if (status == BESOM_OK)
    *out = link;
  else
    redisFree(link);
  return status;
}

/* If an earlier reconnect does not know whether it exchanged the lock: finds out the name in it. */
static besom_status find_name(struct redis_database *redis, redisContext *link) {
  if (!*redis->tried) return BESOM_OK;
  if (count_clients(link, redis->tried, true) < 0) return BESOM_IO;
  redisReply *reply = redisCommand(link, "GET %s", redis->lock_key);
  if (reply && reply->type == REDIS_REPLY_STRING && !strcmp(reply->str, redis->tried))
    memcpy(redis->name, redis->tried, NAME_SIZE);
  besom_status status = consume(reply);
  if (status == BESOM_OK) *redis->tried = 0;
  return status;
}

/* Exchanges the name in the lock for that of the new connection. It must be a new name: another
   client may have seen that the old one has no client, and be about to exchange it. */
static besom_status rename_lock(struct redis_database *redis, redisContext *link,
                                const char *name) {
  besom_status status = find_name(redis, link);
  if (status != BESOM_OK || count_clients(link, redis->name, true) < 0) return BESOM_IO;
  memcpy(redis->tried, name, NAME_SIZE);
  long long exchanged = exchange_lock(redis, link, redis->name, name);
  if (exchanged < 0) return BESOM_IO;
  memcpy(redis->name, name, NAME_SIZE);
  *redis->tried = 0;
  redis->lost = !exchanged;
  return redis->lost ? BESOM_IO : BESOM_OK;
}

/* The counter must be unchanged, or one higher if a write is pending, which was applied then. */
static besom_status redis_check_number(struct redis_database *redis, redisContext *link) {
  redisReply *reply = redisCommand(link, "GET %s", redis->number_key);
  besom_status status = redis_status_of(reply);
  long long number = redis_number_of(reply), expected = (long long)redis->commit_number;
  if (status != BESOM_OK) return status;
  redis->write_applied = redis->write_pending && number == expected + 1;
  redis->lost = number != expected && !redis->write_applied;
  return redis->lost ? BESOM_IO : BESOM_OK;
}

/* Whether the keys with data, and the lock, are there. An empty store has none. Errors: IO. */
static besom_status check_present(struct redis_database *redis) {
  if (!redis->link || !redis->commit_number) return redis->lost ? BESOM_IO : BESOM_OK;
  bool present = redis_check_number(redis, redis->link) == BESOM_OK;
  if (present) {
    redisReply *reply =
        redisCommand(redis->link, "EXISTS %s %s", redis->values_key, redis->index_key);
    long long keys = redis_number_of(reply);
    redis->lost |= keys >= 0 && keys != 2;
    present = keys == 2;
  }
  if (redis->lost) disconnect(redis); /* for redis_check_lock */
  return present ? BESOM_OK : BESOM_IO;
}

/* Replaces a broken connection. */
static besom_status reconnect(struct redis_database *redis) {
  char name[NAME_SIZE];
  redisContext *link;
  disconnect(redis);
  if (redis->lost || !make_name(name)) return BESOM_IO;
  besom_status status = open_link(redis, name, &link, NULL);
  if (status != BESOM_OK) return status;
  status = rename_lock(redis, link, name);
  if (status == BESOM_OK) status = redis_check_number(redis, link);
  if (status == BESOM_OK && !watch(redis, link)) status = BESOM_IO;
  if (status == BESOM_OK)
    redis->link = link;
  else
    redisFree(link);
  return status;
}

/* ------------------------------------------------------------------ one call at a time */

/* hiredis writes to sockets that may be closed, so SIGPIPE is blocked for this thread during a
   call. */
struct call_scope {
  struct redis_database *redis;
  sigset_t before;
  bool was_pending;
};

static sigset_t pipe_signal(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

static void begin_call(struct call_scope *scope, struct redis_database *redis) {
  sigset_t set = pipe_signal(), pending;
  scope->redis = redis;
  pthread_mutex_lock(&redis->mutex);
  sigpending(&pending);
  scope->was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, &scope->before);
}

static void end_call(struct call_scope *scope) {
  sigset_t set = pipe_signal(), pending;
  sigpending(&pending);
  if (!scope->was_pending && sigismember(&pending, SIGPIPE))
    sigtimedwait(&set, NULL, &(struct timespec){0, 0});
  pthread_sigmask(SIG_SETMASK, &scope->before, NULL);
  pthread_mutex_unlock(&scope->redis->mutex);
}

static bool finds_nothing(const redisReply *reply) {
  return reply->type == REDIS_REPLY_NIL ||
         (reply->type == REDIS_REPLY_ARRAY && reply->elements == 0);
}

/* Sends a command that only reads, so it may be sent twice. */
static besom_status request(struct redis_database *redis, int n, const char **words,
                            const size_t *sizes, redisReply **reply) {
  struct call_scope scope;
  begin_call(&scope, redis);
  *reply = redis->link && !redis->lost ? redisCommandArgv(redis->link, n, words, sizes) : NULL;
  if (!*reply && reconnect(redis) == BESOM_OK)
    *reply = redisCommandArgv(redis->link, n, words, sizes);
  if (!*reply) disconnect(redis);
  besom_status status = redis_status_of(*reply);
  if (status == BESOM_OK && (finds_nothing(*reply) || ++redis->reads % CHECKED_READ == 0))
    status = check_present(redis);
  end_call(&scope);
  return status;
}

/* ------------------------------------------------------------------ reading */

static besom_status redis_get(void *db, besom_bytes key, besom_table_visit visit, void *ctx) {
  struct redis_database *redis = db;
  const char *words[] = {"HGET", redis->values_key, key.data};
  const size_t sizes[] = {4, strlen(redis->values_key), key.len};
  redisReply *reply;
  besom_status status = request(redis, 3, words, sizes, &reply);
  if (status == BESOM_OK && reply->type == REDIS_REPLY_STRING)
    status = visit(ctx, &(besom_record){key, {reply->str, reply->len}});
  if (reply) freeReplyObject(reply);
  return status == BESOM_END ? BESOM_OK : status;
}

/* Requests count records from a key on (mode "[") or after it ("("). */
static besom_status request_chunk(struct redis_database *redis, const char *mode, besom_bytes from,
                                  besom_bytes to, unsigned count, redisReply **reply) {
  char limit[16];
  snprintf(limit, sizeof limit, "%u", count);
  const char *words[] = {"EVAL",
                         scan_script,
                         "2",
                         redis->values_key,
                         redis->index_key,
                         mode,
                         from.data,
                         to.data ? "(" : "+",
                         to.data ? to.data : "",
                         limit};
  const size_t sizes[] = {
      4,      sizeof scan_script - 1, 1, strlen(words[3]), strlen(words[4]), 1, from.len, 1,
      to.len, strlen(limit)};
  besom_status status = request(redis, 10, words, sizes, reply);
  if (status != BESOM_OK) return status;
  bool valid =
      (*reply)->type == REDIS_REPLY_ARRAY && ((*reply)->elements == 0 || (*reply)->elements == 2);
  return valid ? BESOM_OK : BESOM_CORRUPT;
}

static besom_bytes redis_bytes_of(const redisReply *reply) {
  return (besom_bytes){reply->str, reply->len};
}

/* Shows the records of a chunk; *last becomes its last key. END: the visitor ended the scan. */
static besom_status show_chunk(const redisReply *chunk, besom_table_visit visit, void *ctx,
                               besom_bytes *last) {
  const redisReply *keys = chunk->element[0], *values = chunk->element[1];
  if (keys->elements != values->elements || !keys->elements) return BESOM_CORRUPT;
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < keys->elements && status == BESOM_OK; i++) {
    *last = redis_bytes_of(keys->element[i]);
    if (values->element[i]->type != REDIS_REPLY_STRING) return BESOM_CORRUPT;
    status = visit(ctx, &(besom_record){*last, redis_bytes_of(values->element[i])});
  }
  return status;
}

static besom_status redis_scan(void *db, besom_bytes from, besom_bytes to, besom_table_visit visit,
                               void *ctx) {
  redisReply *chunk = NULL, *before = NULL;
  besom_status status = BESOM_OK;
  for (unsigned count = FIRST_CHUNK; status == BESOM_OK; count = CHUNK) {
    status = request_chunk(db, before ? "(" : "[", from, to, count, &chunk);
    if (before) freeReplyObject(before); /* from pointed into it */
    before = chunk;
    if (status != BESOM_OK || !chunk->elements) break;
    status = show_chunk(chunk, visit, ctx, &from);
    if (chunk->element[0]->elements < count) break;
  }
  if (before) freeReplyObject(before);
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ writing */

/* A command for several changes of one type: its name, a Redis key, and the words of each
   change. */
struct command {
  const char *words[2 + 2 * RUN];
  size_t sizes[2 + 2 * RUN];
  int n;
};

static void add_word(struct command *command, const void *data, size_t len) {
  command->words[command->n] = len ? data : "";
  command->sizes[command->n++] = len;
}

static void begin_command(struct command *command, const char *name, const char *key) {
  command->n = 0;
  add_word(command, name, strlen(name));
  add_word(command, key, strlen(key));
}

static int send_values(const struct redis_database *redis, const besom_write *changes, size_t n) {
  struct command command;
  begin_command(&command, changes->remove ? "HDEL" : "HSET", redis->values_key);
  for (size_t i = 0; i < n; i++) {
    add_word(&command, changes[i].record.key.data, changes[i].record.key.len);
    if (!changes->remove)
      add_word(&command, changes[i].record.value.data, changes[i].record.value.len);
  }
  return redisAppendCommandArgv(redis->link, command.n, command.words, command.sizes);
}

static int send_index(const struct redis_database *redis, const besom_write *changes, size_t n) {
  struct command command;
  begin_command(&command, changes->remove ? "ZREM" : "ZADD", redis->index_key);
  for (size_t i = 0; i < n; i++) {
    if (!changes->remove) add_word(&command, "0", 1);
    add_word(&command, changes[i].record.key.data, changes[i].record.key.len);
  }
  return redisAppendCommandArgv(redis->link, command.n, command.words, command.sizes);
}

/* How many of the first changes are of one type and fit into one command. */
static size_t run_length(const besom_write *changes, size_t n) {
  size_t run = 1;
  while (run < n && run < RUN && changes[run].remove == changes->remove) run++;
  return run;
}

/* Appends all commands of a write to the output buffer. Returns their number, or 0 without
   memory. */
static size_t queue_write(const struct redis_database *redis, const besom_write *changes,
                          size_t n) {
  if (redisAppendCommand(redis->link, "MULTI") != REDIS_OK) return 0;
  if (redisAppendCommand(redis->link, "EXISTS %s %s", redis->values_key, redis->index_key) !=
      REDIS_OK)
    return 0;
  size_t commands = 2;
  for (size_t run; n; changes += run, n -= run, commands += 2) {
    run = run_length(changes, n);
    if (send_values(redis, changes, run) != REDIS_OK || send_index(redis, changes, run) != REDIS_OK)
      return 0;
  }
  if (redisAppendCommand(redis->link, "INCR %s", redis->number_key) != REDIS_OK) return 0;
  return redisAppendCommand(redis->link, "EXEC") == REDIS_OK ? commands + 2 : 0;
}

/* The status of the reply to EXEC: OK if all commands succeeded. */
static besom_status check_exec(const redisReply *reply) {
  besom_status status = redis_status_of(reply);
  for (size_t i = 0; status == BESOM_OK && reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
       i++)
    status = redis_status_of(reply->element[i]);
  return status == BESOM_OK && reply->type != REDIS_REPLY_ARRAY ? BESOM_IO : status;
}

/* Whether the data were there when the write was made: the reply to EXEC begins with that to EXISTS
   and ends with that to INCR. */
static bool was_present(const struct redis_database *redis, const redisReply *reply) {
  const redisReply *first = reply->element[0], *last = reply->element[reply->elements - 1];
  return last->integer == (long long)redis->commit_number + 1 &&
         (!redis->commit_number || first->integer == 2);
}

/* Sends a write and reads all replies. *broken: the connection broke, and the result is not known.
   If EXEC fails, the first error of a queued command is returned: it is the cause. */
static besom_status send_write(struct redis_database *redis, const besom_write *changes, size_t n,
                               bool *broken) {
  size_t commands = queue_write(redis, changes, n);
  besom_status first = BESOM_OK, last = BESOM_IO;
  *broken = commands == 0;
  for (size_t i = 0; i < commands && !*broken; i++) {
    void *reply = NULL;
    *broken = redisGetReply(redis->link, &reply) != REDIS_OK;
    if (*broken) break;
    last = i + 1 < commands ? redis_status_of(reply) : check_exec(reply);
    if (first == BESOM_OK) first = last;
    if (last != BESOM_OK && ((redisReply *)reply)->type == REDIS_REPLY_ARRAY)
      redis->lost = true; /* only some of the commands were applied */
    if (last == BESOM_OK && i + 1 == commands && !was_present(redis, reply)) {
      redis->lost = true;
      first = last = BESOM_IO;
    }
    freeReplyObject(reply);
  }
  if (*broken || redis->lost) disconnect(redis);
  return last == BESOM_OK ? BESOM_OK : first;
}

static besom_status write_with_retry(struct redis_database *redis, const besom_write *changes,
                                     size_t n) {
  if (redis->lost) return BESOM_IO;
  if (!redis->link && reconnect(redis) != BESOM_OK) return BESOM_IO;
  bool broken;
  redis->write_pending = true;
  besom_status status = send_write(redis, changes, n, &broken);
  if (broken) {
    if (reconnect(redis) != BESOM_OK) return BESOM_IO;
    status = redis->write_applied ? BESOM_OK : send_write(redis, changes, n, &broken);
    if (broken && !redis->link) return BESOM_IO;
  }
  redis->write_pending = false;
  redis->commit_number += status == BESOM_OK;
  return status;
}

static besom_status redis_write(void *db, const besom_write *changes, size_t n, bool durable) {
  (void)durable; /* the server's configuration decides */
  struct redis_database *redis = db;
  struct call_scope scope;
  begin_call(&scope, redis);
  besom_status status = write_with_retry(redis, changes, n);
  /* If a failed write was applied after all, a reconnect finds a wrong counter: lost is set. */
  redis->write_pending = false;
  end_call(&scope);
  return status;
}

static besom_status redis_sync(void *db) {
  struct redis_database *redis = db;
  struct call_scope scope;
  begin_call(&scope, redis);
  besom_status status = redis->lost ? BESOM_IO : BESOM_OK;
  if (status == BESOM_OK) status = check_present(redis);
  end_call(&scope);
  return status;
}

/* A new connection has the lock again, if nobody else has taken it or written meanwhile. */
static besom_status redis_check_lock(void *db) {
  struct redis_database *redis = db;
  bool look = __atomic_add_fetch(&redis->checks, 1, __ATOMIC_RELAXED) % CHECKED_READ == 0;
  if (!look && !is_hung_up(redis->watched)) return BESOM_OK;
  struct call_scope scope;
  begin_call(&scope, redis);
  bool connected = redis->link && !is_hung_up(redis->watched);
  besom_status status = connected ? BESOM_OK : reconnect(redis);
  if (status == BESOM_OK && look) status = check_present(redis);
  end_call(&scope);
  return status;
}

static besom_status redis_commit_number(void *db, uint64_t *number) {
  *number = ((struct redis_database *)db)->commit_number;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ open and close */

static void database_free(struct redis_database *redis) {
  disconnect(redis);
  if (redis->watched >= 0) close(redis->watched);
  pthread_mutex_destroy(&redis->mutex);
  besom_allocator allocator = redis->allocator;
  allocator.release(allocator.ctx, redis, redis->size);
}

static void redis_close(void *db) {
  struct redis_database *redis = db;
  struct call_scope scope;
  begin_call(&scope, redis);
  if (redis->link) exchange_lock(redis, redis->link, redis->name, "");
  end_call(&scope);
  database_free(redis);
}

static const besom_ordered_ops redis_ops = {
    .size = sizeof(besom_ordered_ops),
    .get = redis_get,
    .scan = redis_scan,
    .write = redis_write,
    .sync = redis_sync,
    .commit_number = redis_commit_number,
    .close = redis_close,
    .check_lock = redis_check_lock,
};

/* Writes a string of two parts at *at and returns it. Advances *at. */
static const char *append_text(char **at, const char *first, const char *second) {
  char *text = *at;
  size_t len = strlen(first), more = strlen(second) + 1;
  memcpy(text, first, len);
  memcpy(text + len, second, more);
  *at += len + more;
  return text;
}

/* Parses "host:port", "[host]:port" or a path, in place. False if it is none of these. */
static bool set_address(struct redis_database *redis, char *address) {
  char *colon = strrchr(address, ':');
  redis->host = address;
  if (strchr(address, '/')) return true;
  if (!colon || colon == address) return false;
  char *end;
  long port = strtol(colon + 1, &end, 10);
  if (end == colon + 1 || *end || port < 1 || port > 65535) return false;
  redis->port = (int)port;
  *colon = 0;
  if (*address == '[' && colon[-1] == ']') {
    colon[-1] = 0;
    redis->host = address + 1;
  }
  return true;
}

static struct redis_database *redis_database_new(const char *address, const char *prefix,
                                                 const besom_redis_options *options,
                                                 const besom_allocator *allocator) {
  const char *password = options->password ? options->password : "";
  size_t size =
      sizeof(struct redis_database) + strlen(address) + strlen(password) + 4 * strlen(prefix) + 64;
  struct redis_database *redis = allocator->allocate(allocator->ctx, size);
  if (!redis) return NULL;
  redis->allocator = *allocator;
  redis->size = size;
  redis->watched = -1;
  pthread_mutex_init(&redis->mutex, NULL);
  uint32_t timeout = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT;
  redis->timeout = (struct timeval){timeout / 1000, timeout % 1000 * 1000};
  char *at = redis->text;
  redis->values_key = append_text(&at, prefix, "values");
  redis->index_key = append_text(&at, prefix, "index");
  redis->number_key = append_text(&at, prefix, "commits");
  redis->lock_key = append_text(&at, prefix, "lock");
  redis->password = options->password ? append_text(&at, password, "") : NULL;
  redis->host = append_text(&at, address, "");
  return redis;
}

/* CONFIG may be forbidden; INFO says the same. The keys of a store do not expire, so that only
   policies for all keys evict them. */
static bool may_evict(redisContext *link) {
  redisReply *reply = redisCommand(link, "INFO memory");
  bool limited = false, evicts = false;
  if (reply && reply->type != REDIS_REPLY_ERROR && reply->str) {
    const char *limit = strstr(reply->str, "\nmaxmemory:");
    limited = limit && strtoll(limit + strlen("\nmaxmemory:"), NULL, 10) > 0;
    evicts = strstr(reply->str, "maxmemory_policy:allkeys-") != NULL;
  }
  if (reply) freeReplyObject(reply);
  return limited && evicts;
}

static besom_status redis_open_database(struct redis_database *redis, const char **reason) {
  redisContext *link;
  if (!make_name(redis->name))
    return redis_fail(BESOM_IO, reason, "the system has no random bytes");
  besom_status status = open_link(redis, redis->name, &link, reason);
  if (status != BESOM_OK) return status;
  redis->link = link;
  if (!watch(redis, link)) return redis_fail(BESOM_IO, reason, "too many files are open");
  status = redis_take_lock(redis, link);
  if (status == BESOM_LOCKED) return redis_fail(status, reason, "the store is open already");
  if (status == BESOM_DISK_FULL)
    return redis_fail(status, reason, "the server is at its maxmemory");
  if (status != BESOM_OK)
    return redis_fail(status, reason, "the server refuses the writes of besom");
  long long number = redis_number_of(redisCommand(link, "GET %s", redis->number_key));
  if (number < 0)
    return redis_fail(BESOM_CORRUPT, reason, "the keys hold data that is not a besom store");
  redis->commit_number = (uint64_t)number;
  redis->may_evict = may_evict(link);
  return BESOM_OK;
}

static besom_status open_store(struct redis_database *redis, bool refuse_eviction,
                               const char **reason, besom_store **out) {
  static const char warning[] = "the server may evict keys, and with them the store: set its "
                                "maxmemory-policy to noeviction";
  struct call_scope scope;
  begin_call(&scope, redis);
  besom_status status = redis_open_database(redis, reason);
  end_call(&scope);
  bool may_evict = redis->may_evict;
  if (status == BESOM_OK && may_evict && refuse_eviction) {
    redis_close(redis);
    return redis_fail(BESOM_UNSUPPORTED, reason, warning);
  }
  if (status != BESOM_OK) {
    database_free(redis);
    return status;
  }
  status = besom_store_ordered(&redis_ops, redis, &redis->allocator, out);
  if (status == BESOM_OK && may_evict) redis_fail(status, reason, warning);
  if (status == BESOM_OK) return BESOM_OK;
  redis_close(redis);
  if (status == BESOM_DISK_FULL)
    return redis_fail(status, reason, "the server is at its maxmemory");
  return redis_fail(status, reason,
                    status == BESOM_CORRUPT ? "the keys hold data that is not a besom store"
                                            : "the server refuses the writes of besom");
}

besom_status besom_store_redis_sized(const char *address, const char *prefix,
                                     const besom_redis_options *given, size_t size,
                                     const char **reason, besom_store **out) {
  besom_redis_options all = {0}, *options = &all;
  if (given) besom_copy_struct(&all, sizeof all, given, size);
  if (reason) *reason = NULL;
  const besom_allocator *allocator =
      options->allocator ? options->allocator : besom_default_allocator();
  if (!address || !prefix || !out || !allocator->allocate || !allocator->release)
    return redis_fail(BESOM_INVALID, reason, "an argument is NULL");
  struct redis_database *redis = redis_database_new(address, prefix, options, allocator);
  if (!redis) return redis_fail(BESOM_NO_MEMORY, reason, "out of memory");
  if (!set_address(redis, (char *)redis->host)) {
    database_free(redis);
    return redis_fail(BESOM_INVALID, reason,
                      "the address is neither host:port nor the path of a socket");
  }
  return open_store(redis, options->refuse_eviction, reason, out);
}
