/*
 * A store on a Redis server: the values in a hash; their keys also in a sorted set, which orders
 * them; and a counter that every write increments. A write is MULTI ... EXEC in one round trip. A
 * scan reads many records per round trip.
 * redis_connection.h: the lock, reconnecting, and data that vanish.
 */
#define _POSIX_C_SOURCE 200809L /* sigset_t */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis_connection.h"

enum {
  DEFAULT_TIMEOUT = 5000, /* milliseconds */
  RUN = 64,               /* changes per command */
  FIRST_CHUNK = 16,       /* records per round trip of a scan: lists are short, */
  CHUNK = 512,            /* scans are long */
};

static const char scan_script[] =
    "local k=redis.call('ZRANGEBYLEX',KEYS[2],ARGV[1]..ARGV[2],ARGV[3]..ARGV[4],'LIMIT',0,ARGV[5]) "
    "if #k==0 then return {} end return {k,redis.call('HMGET',KEYS[1],unpack(k))}";

/* ------------------------------------------------------------------ reading */

static besom_status redis_get(void *db, besom_bytes key, besom_table_visit visit, void *ctx) {
  struct redis_database *redis = db;
  const char *words[] = {"HGET", redis->values_key, key.data};
  const size_t sizes[] = {4, strlen(redis->values_key), key.len};
  redisReply *reply;
  besom_status status = besom__redis_request(redis, 3, words, sizes, &reply);
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
  besom_status status = besom__redis_request(redis, 10, words, sizes, reply);
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
  if (*broken || redis->lost) besom__redis_disconnect(redis);
  return last == BESOM_OK ? BESOM_OK : first;
}

static besom_status write_with_retry(struct redis_database *redis, const besom_write *changes,
                                     size_t n) {
  if (redis->lost) return BESOM_IO;
  if (!redis->link && besom__redis_reconnect(redis) != BESOM_OK) return BESOM_IO;
  bool broken;
  redis->write_pending = true;
  besom_status status = send_write(redis, changes, n, &broken);
  if (broken) {
    if (besom__redis_reconnect(redis) != BESOM_OK) return BESOM_IO;
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
  besom__redis_begin_call(&scope, redis);
  besom_status status = write_with_retry(redis, changes, n);
  /* If a failed write was applied after all, a reconnect finds a wrong counter: lost is set. */
  redis->write_pending = false;
  besom__redis_end_call(&scope);
  return status;
}

static besom_status redis_sync(void *db) {
  struct redis_database *redis = db;
  struct call_scope scope;
  besom__redis_begin_call(&scope, redis);
  besom_status status = redis->lost ? BESOM_IO : BESOM_OK;
  if (status == BESOM_OK) status = besom__redis_check_present(redis);
  besom__redis_end_call(&scope);
  return status;
}

static besom_status redis_commit_number(void *db, uint64_t *number) {
  *number = ((struct redis_database *)db)->commit_number;
  return BESOM_OK;
}

/* ------------------------------------------------------------------ open and close */

static void database_free(struct redis_database *redis) {
  besom__redis_disconnect(redis);
  if (redis->watched >= 0) close(redis->watched);
  pthread_mutex_destroy(&redis->mutex);
  besom_allocator allocator = redis->allocator;
  allocator.release(allocator.ctx, redis, redis->size);
}

static void redis_close(void *db) {
  struct redis_database *redis = db;
  struct call_scope scope;
  besom__redis_begin_call(&scope, redis);
  besom__redis_release_lock(redis);
  besom__redis_end_call(&scope);
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
    .check_lock = besom__redis_check_lock,
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

static besom_status open_store(struct redis_database *redis, bool refuse_eviction,
                               const char **reason, besom_store **out) {
  static const char warning[] = "the server may evict keys, and with them the store: set its "
                                "maxmemory-policy to noeviction";
  struct call_scope scope;
  besom__redis_begin_call(&scope, redis);
  besom_status status = besom__redis_connect(redis, reason);
  bool evicts = status == BESOM_OK && may_evict(redis->link);
  besom__redis_end_call(&scope);
  if (evicts && refuse_eviction) {
    redis_close(redis);
    return redis_fail(BESOM_UNSUPPORTED, reason, warning);
  }
  if (status != BESOM_OK) {
    database_free(redis);
    return status;
  }
  status = besom_store_ordered(&redis_ops, redis, &redis->allocator, out);
  if (status == BESOM_OK && evicts) redis_fail(status, reason, warning);
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
