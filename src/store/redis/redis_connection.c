/* The connection of a store to its server: the lock in it, reconnecting, one call at a time. */
#define _GNU_SOURCE /* dup3, getentropy, POLLRDHUP, sigtimedwait */
#include "redis_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHECKED_READ = 1024 }; /* the n-th read, or check, looks whether the data are there */

/* A server at its maxmemory refuses SET, but not in a script that has written before. So the script
   begins with DEL, which is never refused for memory. */
static const char exchange_script[] =
    "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end redis.call('DEL',KEYS[1]) "
    "if ARGV[2]~='' then redis.call('SET',KEYS[1],ARGV[2]) end return 1";

/* ------------------------------------------------------------------ commands */

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

/* Without shutdown, the duplicate would keep the connection open. */
void besom__redis_disconnect(struct redis_database *redis) {
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

void besom__redis_release_lock(const struct redis_database *redis) {
  if (redis->link) exchange_lock(redis, redis->link, redis->name, "");
}

/* ------------------------------------------------------------------ connections */

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

besom_status besom__redis_connect(struct redis_database *redis, const char **reason) {
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
  return BESOM_OK;
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

besom_status besom__redis_check_present(struct redis_database *redis) {
  if (!redis->link || !redis->commit_number) return redis->lost ? BESOM_IO : BESOM_OK;
  bool present = redis_check_number(redis, redis->link) == BESOM_OK;
  if (present) {
    redisReply *reply =
        redisCommand(redis->link, "EXISTS %s %s", redis->values_key, redis->index_key);
    long long keys = redis_number_of(reply);
    redis->lost |= keys >= 0 && keys != 2;
    present = keys == 2;
  }
  if (redis->lost) besom__redis_disconnect(redis); /* for besom__redis_check_lock */
  return present ? BESOM_OK : BESOM_IO;
}

besom_status besom__redis_reconnect(struct redis_database *redis) {
  char name[NAME_SIZE];
  redisContext *link;
  besom__redis_disconnect(redis);
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

static sigset_t pipe_signal(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

void besom__redis_begin_call(struct call_scope *scope, struct redis_database *redis) {
  sigset_t set = pipe_signal(), pending;
  scope->redis = redis;
  pthread_mutex_lock(&redis->mutex);
  sigpending(&pending);
  scope->was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, &scope->before);
}

void besom__redis_end_call(struct call_scope *scope) {
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

besom_status besom__redis_request(struct redis_database *redis, int n, const char **words,
                                  const size_t *sizes, redisReply **reply) {
  struct call_scope scope;
  besom__redis_begin_call(&scope, redis);
  *reply = redis->link && !redis->lost ? redisCommandArgv(redis->link, n, words, sizes) : NULL;
  if (!*reply && besom__redis_reconnect(redis) == BESOM_OK)
    *reply = redisCommandArgv(redis->link, n, words, sizes);
  if (!*reply) besom__redis_disconnect(redis);
  besom_status status = redis_status_of(*reply);
  if (status == BESOM_OK && (finds_nothing(*reply) || ++redis->reads % CHECKED_READ == 0))
    status = besom__redis_check_present(redis);
  besom__redis_end_call(&scope);
  return status;
}

besom_status besom__redis_check_lock(void *db) {
  struct redis_database *redis = db;
  bool look = __atomic_add_fetch(&redis->checks, 1, __ATOMIC_RELAXED) % CHECKED_READ == 0;
  if (!look && !is_hung_up(redis->watched)) return BESOM_OK;
  struct call_scope scope;
  besom__redis_begin_call(&scope, redis);
  bool connected = redis->link && !is_hung_up(redis->watched);
  besom_status status = connected ? BESOM_OK : besom__redis_reconnect(redis);
  if (status == BESOM_OK && look) status = besom__redis_check_present(redis);
  besom__redis_end_call(&scope);
  return status;
}
