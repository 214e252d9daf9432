/*
 * A store on a Redis server: the values in a hash, their keys in a sorted set as well, which has them in order, and a
 * number that every write raises. A write is MULTI ... EXEC, sent at once; a walk reads many records a round trip.
 *
 * One client at a time. Who opens the store gives his connection a name that nobody else has, and puts that name into
 * a key, the lock. A lock holds as long as the server knows a client of that name, so it ends with the process; a dead
 * one's is taken over by comparing and setting, so that only one can.
 *
 * A connection that breaks is made anew, once a call: under a new name, with clients of the old one killed, so that
 * nothing sent before can still come through. Then the number tells whether the last write did. If lock or number are
 * not as they were, others may have written meanwhile, or the server has forgotten: then the store is lost (IO).
 */
#define _GNU_SOURCE /* getentropy, sigtimedwait */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "besom_store.h"

enum {
  DEFAULT_TIMEOUT = 5000, /* milliseconds */
  NAME_SIZE = 6 + 16 + 1, /* besom- and 16 hexadecimal digits */
  RUN = 64,               /* changes in one command */
  FIRST_CHUNK = 16,       /* records of a walk read at once: lists are short, scans are not */
  CHUNK = 512,
};

struct redis_database {
  besom_allocator allocator;
  pthread_mutex_t mutex; /* one call at a time talks */
  redisContext *link;    /* NULL: there is no connection */
  struct timeval timeout;
  char name[NAME_SIZE];
  uint64_t commit_number;
  bool in_doubt; /* whether the last write came through */
  bool lost;
  const char *host, *password; /* host: a socket's path if port is 0; password may be NULL */
  int port;
  const char *values_key, *index_key, *number_key, *lock_key; /* all in text */
  size_t size;
  char text[];
};

static const char scan_script[] =
    "local k=redis.call('ZRANGEBYLEX',KEYS[2],ARGV[1]..ARGV[2],ARGV[3]..ARGV[4],'LIMIT',0,ARGV[5]) "
    "if #k==0 then return {} end return {k,redis.call('HMGET',KEYS[1],unpack(k))}";
static const char exchange_script[] = "if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end "
                                      "if ARGV[2]=='' then redis.call('DEL',KEYS[1]) "
                                      "else redis.call('SET',KEYS[1],ARGV[2]) end return 1";

/* ------------------------------------------------------------------ commands */

static besom_status status_of(const redisReply *reply) {
  if (!reply) return BESOM_IO;
  if (reply->type != REDIS_REPLY_ERROR) return BESOM_OK;
  if (!strncmp(reply->str, "OOM", 3)) return BESOM_DISK_FULL;
  if (!strncmp(reply->str, "READONLY", 8)) return BESOM_READ_ONLY;
  if (!strncmp(reply->str, "WRONGTYPE", 9)) return BESOM_CORRUPT;
  return BESOM_IO;
}

static besom_status settle(redisReply *reply) {
  besom_status status = status_of(reply);
  if (reply) freeReplyObject(reply);
  return status;
}

/* A whole number for an answer, or -1. */
static long long number_of(redisReply *reply) {
  long long number = -1;
  if (reply && reply->type == REDIS_REPLY_INTEGER) number = reply->integer;
  if (reply && reply->type == REDIS_REPLY_STRING) number = strtoll(reply->str, NULL, 10);
  if (reply && reply->type == REDIS_REPLY_NIL) number = 0;
  if (reply) freeReplyObject(reply);
  return number;
}

static void disconnect(struct redis_database *redis) {
  if (redis->link) redisFree(redis->link);
  redis->link = NULL;
}

/* ------------------------------------------------------------------ the lock */

static bool make_name(char *name) {
  uint64_t random;
  if (getentropy(&random, sizeof random) != 0) return false;
  snprintf(name, NAME_SIZE, "besom-%016llx", (unsigned long long)random);
  return true;
}

/* The next client of a name in the answer to CLIENT LIST, from a place on: its id, or -1. */
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

/* How many clients of a name the server has, or -1 if it does not say; they are killed if so asked. */
static int count_clients(redisContext *link, const char *name, bool killing) {
  redisReply *reply = redisCommand(link, "CLIENT LIST");
  int n = reply && reply->type != REDIS_REPLY_ERROR ? 0 : -1;
  if (n == 0) {
    const char *at = reply->str;
    for (long long id; (id = next_client(&at, name)) >= 0; n++)
      if (killing) settle(redisCommand(link, "CLIENT KILL ID %lld", id));
  }
  if (reply) freeReplyObject(reply);
  return n;
}

/* Gives the lock from one name to another; to "": frees it. Only if it is that one's. */
static bool pass_lock(const struct redis_database *redis, redisContext *link, const char *from,
                      const char *to) {
  return number_of(redisCommand(link, "EVAL %s 1 %s %s %s", exchange_script, redis->lock_key, from,
                                to)) == 1;
}

static besom_status take_lock(const struct redis_database *redis, redisContext *link) {
  redisReply *reply = redisCommand(link, "SET %s %s NX", redis->lock_key, redis->name);
  bool taken = reply && reply->type == REDIS_REPLY_STATUS;
  besom_status status = settle(reply);
  if (taken || status != BESOM_OK) return status;
  reply = redisCommand(link, "GET %s", redis->lock_key);
  status = status_of(reply);
  bool held = reply && reply->type == REDIS_REPLY_STRING;
  if (status == BESOM_OK) status = BESOM_LOCKED;
  if (held && count_clients(link, reply->str, false) == 0 &&
      pass_lock(redis, link, reply->str, redis->name))
    status = BESOM_OK;
  if (reply) freeReplyObject(reply);
  return status;
}

/* ------------------------------------------------------------------ connections */

static besom_status fail(besom_status status, const char **reason, const char *sentence) {
  if (reason) *reason = sentence;
  return status;
}

/* A connection with redis->name. */
static besom_status open_link(const struct redis_database *redis, redisContext **out,
                              const char **reason) {
  redisContext *link = redis->port
                           ? redisConnectWithTimeout(redis->host, redis->port, redis->timeout)
                           : redisConnectUnixWithTimeout(redis->host, redis->timeout);
  if (!link) return fail(BESOM_NO_MEMORY, reason, "out of memory");
  besom_status status = BESOM_OK;
  if (link->err || redisSetTimeout(link, redis->timeout) != REDIS_OK)
    status = fail(BESOM_IO, reason, "no Redis server answers at that address");
  if (status == BESOM_OK && redis->port) redisEnableKeepAlive(link);
  if (status == BESOM_OK && redis->password &&
      settle(redisCommand(link, "AUTH %s", redis->password)) != BESOM_OK)
    status = fail(BESOM_IO, reason, "the server does not take the password");
  if (status == BESOM_OK &&
      settle(redisCommand(link, "CLIENT SETNAME %s", redis->name)) != BESOM_OK)
    status = fail(BESOM_IO, reason, "the server wants a password, or does not speak Redis");
  if (status == BESOM_OK)
    *out = link;
  else
    redisFree(link);
  return status;
}

/* The number must be what it was, or one more if a write was on its way, which has come through then. */
static bool is_as_before(struct redis_database *redis, redisContext *link) {
  long long number = number_of(redisCommand(link, "GET %s", redis->number_key));
  return number == (long long)redis->commit_number ||
         (redis->in_doubt && number == (long long)redis->commit_number + 1);
}

/* A new connection in the place of one that broke. */
static besom_status reconnect(struct redis_database *redis) {
  char before[NAME_SIZE];
  memcpy(before, redis->name, NAME_SIZE);
  disconnect(redis);
  redisContext *link;
  if (redis->lost || !make_name(redis->name)) return BESOM_IO;
  besom_status status = open_link(redis, &link, NULL);
  if (status != BESOM_OK) {
    memcpy(redis->name, before, NAME_SIZE); /* the lock is still in that name */
    return status;
  }
  bool ours = count_clients(link, before, true) >= 0 && pass_lock(redis, link, before, redis->name);
  redis->lost = !ours || !is_as_before(redis, link);
  if (redis->lost)
    redisFree(link);
  else
    redis->link = link;
  return redis->lost ? BESOM_IO : BESOM_OK;
}

/* ------------------------------------------------------------------ one call at a time */

/* hiredis writes to sockets that may be closed: the signal of that is held back, for this thread and this while. */
struct turn {
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

static void begin_turn(struct turn *turn, struct redis_database *redis) {
  sigset_t set = pipe_signal(), pending;
  turn->redis = redis;
  pthread_mutex_lock(&redis->mutex);
  sigpending(&pending);
  turn->was_pending = sigismember(&pending, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, &turn->before);
}

static void end_turn(struct turn *turn) {
  sigset_t set = pipe_signal(), pending;
  sigpending(&pending);
  if (!turn->was_pending && sigismember(&pending, SIGPIPE))
    sigtimedwait(&set, NULL, &(struct timespec){0, 0});
  pthread_sigmask(SIG_SETMASK, &turn->before, NULL);
  pthread_mutex_unlock(&turn->redis->mutex);
}

/* A command that only reads, and so may be sent twice. */
static besom_status ask(struct redis_database *redis, int n, const char **words,
                        const size_t *sizes, redisReply **reply) {
  struct turn turn;
  begin_turn(&turn, redis);
  *reply = redis->link ? redisCommandArgv(redis->link, n, words, sizes) : NULL;
  if (!*reply && reconnect(redis) == BESOM_OK)
    *reply = redisCommandArgv(redis->link, n, words, sizes);
  if (!*reply) disconnect(redis);
  end_turn(&turn);
  return status_of(*reply);
}

/* ------------------------------------------------------------------ reading */

static besom_status redis_get(void *db, besom_bytes key, besom_table_visit visit, void *ctx) {
  struct redis_database *redis = db;
  const char *words[] = {"HGET", redis->values_key, key.data};
  const size_t sizes[] = {4, strlen(redis->values_key), key.len};
  redisReply *reply;
  besom_status status = ask(redis, 3, words, sizes, &reply);
  if (status == BESOM_OK && reply->type == REDIS_REPLY_STRING)
    status = visit(ctx, &(besom_record){key, {reply->str, reply->len}});
  if (reply) freeReplyObject(reply);
  return status == BESOM_END ? BESOM_OK : status;
}

/* Asks for so many records from a key on, or behind it. */
static besom_status ask_chunk(struct redis_database *redis, const char *mode, besom_bytes from,
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
  besom_status status = ask(redis, 10, words, sizes, reply);
  if (status != BESOM_OK) return status;
  bool whole =
      (*reply)->type == REDIS_REPLY_ARRAY && ((*reply)->elements == 0 || (*reply)->elements == 2);
  return whole ? BESOM_OK : BESOM_CORRUPT;
}

static besom_bytes bytes_of(const redisReply *reply) {
  return (besom_bytes){reply->str, reply->len};
}

/* Shows a chunk; *last is its last key. END: visit wants no more. */
static besom_status show_chunk(const redisReply *chunk, besom_table_visit visit, void *ctx,
                               besom_bytes *last) {
  const redisReply *keys = chunk->element[0], *values = chunk->element[1];
  if (keys->elements != values->elements || !keys->elements) return BESOM_CORRUPT;
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < keys->elements && status == BESOM_OK; i++) {
    *last = bytes_of(keys->element[i]);
    if (values->element[i]->type != REDIS_REPLY_STRING) return BESOM_CORRUPT;
    status = visit(ctx, &(besom_record){*last, bytes_of(values->element[i])});
  }
  return status;
}

static besom_status redis_scan(void *db, besom_bytes from, besom_bytes to, besom_table_visit visit,
                               void *ctx) {
  redisReply *chunk = NULL, *before = NULL;
  besom_status status = BESOM_OK;
  for (unsigned count = FIRST_CHUNK; status == BESOM_OK; count = CHUNK) {
    status = ask_chunk(db, before ? "(" : "[", from, to, count, &chunk);
    if (before) freeReplyObject(before); /* from was in there */
    before = chunk;
    if (status != BESOM_OK || !chunk->elements) break;
    status = show_chunk(chunk, visit, ctx, &from);
    if (chunk->element[0]->elements < count) break;
  }
  if (before) freeReplyObject(before);
  return status == BESOM_END ? BESOM_OK : status;
}

/* ------------------------------------------------------------------ writing */

/* A command for n changes of a kind: its name, a key, and of each change the words that pick says. */
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

/* How many of the first changes are of one kind, and few enough for a command. */
static size_t run_of(const besom_write *changes, size_t n) {
  size_t run = 1;
  while (run < n && run < RUN && changes[run].remove == changes->remove) run++;
  return run;
}

/* Puts all commands into the buffer; how many there are, or 0 without memory. */
static size_t queue_write(const struct redis_database *redis, const besom_write *changes,
                          size_t n) {
  if (redisAppendCommand(redis->link, "MULTI") != REDIS_OK) return 0;
  size_t commands = 1;
  for (size_t run; n; changes += run, n -= run, commands += 2) {
    run = run_of(changes, n);
    if (send_values(redis, changes, run) != REDIS_OK || send_index(redis, changes, run) != REDIS_OK)
      return 0;
  }
  if (redisAppendCommand(redis->link, "INCR %s", redis->number_key) != REDIS_OK) return 0;
  return redisAppendCommand(redis->link, "EXEC") == REDIS_OK ? commands + 2 : 0;
}

/* The answer to EXEC: none of its commands failed. */
static besom_status check_exec(const redisReply *reply) {
  besom_status status = status_of(reply);
  for (size_t i = 0; status == BESOM_OK && reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
       i++)
    status = status_of(reply->element[i]);
  return status == BESOM_OK && reply->type != REDIS_REPLY_ARRAY ? BESOM_IO : status;
}

/* Sends a write and waits. *broken: the connection is, and nobody knows. An error of a queued command is the reason. */
static besom_status send_write(struct redis_database *redis, const besom_write *changes, size_t n,
                               bool *broken) {
  size_t commands = queue_write(redis, changes, n);
  besom_status first = BESOM_OK, last = BESOM_IO;
  *broken = commands == 0;
  for (size_t i = 0; i < commands && !*broken; i++) {
    void *reply = NULL;
    *broken = redisGetReply(redis->link, &reply) != REDIS_OK;
    if (*broken) break;
    last = i + 1 < commands ? status_of(reply) : check_exec(reply);
    if (first == BESOM_OK) first = last;
    if (last != BESOM_OK && ((redisReply *)reply)->type == REDIS_REPLY_ARRAY)
      redis->lost = true; /* half is written */
    freeReplyObject(reply);
  }
  if (*broken || redis->lost) disconnect(redis);
  return last == BESOM_OK ? BESOM_OK : first;
}

/* After a break: whether the write has come through after all. */
static bool came_through(struct redis_database *redis) {
  return number_of(redisCommand(redis->link, "GET %s", redis->number_key)) ==
         (long long)redis->commit_number + 1;
}

static besom_status write_with_retry(struct redis_database *redis, const besom_write *changes,
                                     size_t n) {
  if (!redis->link && reconnect(redis) != BESOM_OK) return BESOM_IO;
  bool broken;
  redis->in_doubt = true;
  besom_status status = send_write(redis, changes, n, &broken);
  if (broken) {
    if (reconnect(redis) != BESOM_OK) return BESOM_IO;
    status = came_through(redis) ? BESOM_OK : send_write(redis, changes, n, &broken);
    if (broken && !redis->link) return BESOM_IO;
  }
  redis->in_doubt = false;
  redis->commit_number += status == BESOM_OK;
  return status;
}

static besom_status redis_write(void *db, const besom_write *changes, size_t n, bool durable) {
  (void)durable; /* that is up to the server */
  struct redis_database *redis = db;
  struct turn turn;
  begin_turn(&turn, redis);
  besom_status status = write_with_retry(redis, changes, n);
  redis->in_doubt =
      false; /* if a failed one has come through, the next connection sees another number: lost */
  end_turn(&turn);
  return status;
}

static besom_status redis_sync(void *db) {
  return ((struct redis_database *)db)->lost ? BESOM_IO : BESOM_OK;
}

static besom_status redis_commit_number(void *db, uint64_t *number) {
  *number = ((struct redis_database *)db)->commit_number;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ opening and closing */

static void database_free(struct redis_database *redis) {
  disconnect(redis);
  pthread_mutex_destroy(&redis->mutex);
  besom_allocator allocator = redis->allocator;
  allocator.release(allocator.ctx, redis, redis->size);
}

static void redis_close(void *db) {
  struct redis_database *redis = db;
  struct turn turn;
  begin_turn(&turn, redis);
  if (redis->link) pass_lock(redis, redis->link, redis->name, "");
  end_turn(&turn);
  database_free(redis);
}

static const besom_ordered_ops redis_ops = {
    .get = redis_get,
    .scan = redis_scan,
    .write = redis_write,
    .sync = redis_sync,
    .commit_number = redis_commit_number,
    .close = redis_close,
};

/* Writes a text of two parts, and returns where; *at is behind it. */
static const char *place_text(char **at, const char *first, const char *second) {
  char *text = *at;
  size_t len = strlen(first), more = strlen(second) + 1;
  memcpy(text, first, len);
  memcpy(text + len, second, more);
  *at += len + more;
  return text;
}

/* "host:port", "[host]:port" or a path. */
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

static struct redis_database *database_new(const char *address, const char *prefix,
                                           const besom_redis_options *options,
                                           const besom_allocator *allocator) {
  const char *password = options->password ? options->password : "";
  size_t size =
      sizeof(struct redis_database) + strlen(address) + strlen(password) + 4 * strlen(prefix) + 64;
  struct redis_database *redis = allocator->allocate(allocator->ctx, size);
  if (!redis) return NULL;
  redis->allocator = *allocator;
  redis->size = size;
  pthread_mutex_init(&redis->mutex, NULL);
  uint32_t timeout = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT;
  redis->timeout = (struct timeval){timeout / 1000, timeout % 1000 * 1000};
  char *at = redis->text;
  redis->values_key = place_text(&at, prefix, "values");
  redis->index_key = place_text(&at, prefix, "index");
  redis->number_key = place_text(&at, prefix, "commits");
  redis->lock_key = place_text(&at, prefix, "lock");
  redis->password = options->password ? place_text(&at, password, "") : NULL;
  redis->host = place_text(&at, address, "");
  return redis;
}

static besom_status open_database(struct redis_database *redis, const char **reason) {
  redisContext *link;
  if (!make_name(redis->name)) return fail(BESOM_IO, reason, "the system gives no random numbers");
  besom_status status = open_link(redis, &link, reason);
  if (status != BESOM_OK) return status;
  redis->link = link;
  status = take_lock(redis, link);
  if (status == BESOM_LOCKED) return fail(status, reason, "the store is open already");
  if (status == BESOM_DISK_FULL) return fail(status, reason, "the server is at its maxmemory");
  if (status != BESOM_OK) return fail(status, reason, "the server refuses the writes of besom");
  long long number = number_of(redisCommand(link, "GET %s", redis->number_key));
  if (number < 0) return fail(BESOM_CORRUPT, reason, "there is something else under these keys");
  redis->commit_number = (uint64_t)number;
  return BESOM_OK;
}

static besom_status open_store(struct redis_database *redis, const char **reason,
                               besom_store **out) {
  struct turn turn;
  begin_turn(&turn, redis);
  besom_status status = open_database(redis, reason);
  end_turn(&turn);
  if (status != BESOM_OK) {
    database_free(redis);
    return status;
  }
  status = besom_store_ordered(&redis_ops, redis, &redis->allocator, out);
  if (status == BESOM_OK) return BESOM_OK;
  redis_close(redis);
  if (status == BESOM_DISK_FULL) return fail(status, reason, "the server is at its maxmemory");
  return fail(status, reason,
              status == BESOM_CORRUPT ? "the keys hold data that is not a besom store"
                                      : "the server refuses the writes of besom");
}

besom_status besom_store_redis(const char *address, const char *prefix,
                               const besom_redis_options *options, const char **reason,
                               besom_store **out) {
  const besom_redis_options defaults = {0};
  if (!options) options = &defaults;
  if (reason) *reason = NULL;
  const besom_allocator *allocator =
      options->allocator ? options->allocator : besom_default_allocator();
  if (!address || !prefix || !out || !allocator->allocate || !allocator->release)
    return fail(BESOM_INVALID, reason, "an argument is missing");
  struct redis_database *redis = database_new(address, prefix, options, allocator);
  if (!redis) return fail(BESOM_NO_MEMORY, reason, "out of memory");
  if (!set_address(redis, (char *)redis->host)) {
    database_free(redis);
    return fail(BESOM_INVALID, reason, "the address is neither host:port nor the path of a socket");
  }
  return open_store(redis, reason, out);
}
