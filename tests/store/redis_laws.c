/* Laws of the store on a Redis server only. */
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "laws.h"
#include "redis_server.h"
#include "support/failing_allocator.h"

/* The n-th command from now on breaks its connection: before it is sent, or instead of its reply.
   The library finds these functions in the program. */
#define CALLED __attribute__((visibility("default")))

static struct {
  unsigned n; /* 0: none */
  bool sent;
  unsigned reply; /* the n-th reply of a write; 0: none */
} cut;

CALLED void *redisCommand(redisContext *link, const char *format, ...) {
  bool breaks = cut.n && --cut.n == 0;
  if (breaks && !cut.sent) link->err = REDIS_ERR_IO;
  va_list arguments;
  va_start(arguments, format);
  void *reply = redisvCommand(link, format, arguments);
  va_end(arguments);
  if (!breaks || !reply) return reply;
  freeReplyObject(reply);
  link->err = REDIS_ERR_IO;
  return NULL;
}

CALLED int redisGetReply(redisContext *link, void **reply) {
  int result = ((__typeof__(&redisGetReply))dlsym(RTLD_NEXT, "redisGetReply"))(link, reply);
  if (!cut.reply || --cut.reply || result != REDIS_OK) return result;
  freeReplyObject(*reply);
  *reply = NULL;
  link->err = REDIS_ERR_IO;
  return REDIS_ERR;
}

static bool is_redis(const subject *s) {
  return !strcmp(s->name, "redis");
}

static const besom_record record = {{"key", 3}, {"value", 5}};

static besom_status count_record(void *ctx, const besom_record *found) {
  (void)found;
  ++*(unsigned *)ctx;
  return BESOM_OK;
}

static besom_status read_it(besom_store *store, unsigned *shown) {
  *shown = 0;
  return store->ops->table_get(store, BESOM_TABLE_KEYS, record.key, count_record, shown);
}

static void a_failed_open_has_a_reason(subject *s) {
  (void)s;
  const char *reason = NULL;
  besom_store *store = NULL;
  besom_redis_options options = {.timeout_ms = 500};
  assert_int_equal(besom_store_redis("127.0.0.1:1", "p", &options, &reason, &store), BESOM_IO);
  assert_non_null(reason);
  assert_int_equal(besom_store_redis("/no/such/socket", "p", &options, &reason, &store), BESOM_IO);
  const char *const bad[] = {"", "host", "host:", ":1", "host:0", "host:70000", "host:12x"};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(besom_store_redis(bad[i], "p", NULL, &reason, &store), BESOM_INVALID);
  assert_int_equal(besom_store_redis(NULL, "p", NULL, &reason, &store), BESOM_INVALID);
  assert_int_equal(besom_store_redis("127.0.0.1:1", NULL, NULL, &reason, &store), BESOM_INVALID);
  assert_int_equal(besom_store_redis("127.0.0.1:1", "p", NULL, &reason, NULL), BESOM_INVALID);
  for (unsigned missing = 0; missing < 2; missing++) {
    besom_allocator allocator = *besom_default_allocator();
    if (missing == 0) allocator.allocate = NULL;
    if (missing == 1) allocator.release = NULL;
    besom_redis_options bad_memory = {.allocator = &allocator};
    assert_int_equal(besom_store_redis("127.0.0.1:1", "p", &bad_memory, &reason, &store),
                     BESOM_INVALID);
  }
  options.password = "wrong";
  assert_int_equal(besom_store_redis(redis_server_address(), "p", &options, &reason, &store),
                   BESOM_IO);
  assert_null(store);
}

/* A listener that never answers: the connection arrives, and the open fails after its timeout. */
static void an_address_of_IPv6_has_brackets(subject *s) {
  (void)s;
  struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  socklen_t size = sizeof at;
  int listener = socket(AF_INET6, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) != 0) {
    if (listener >= 0) close(listener);
    skip(); /* this machine has no IPv6 */
  }
  assert_int_equal(listen(listener, 5), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
  char address[64];
  besom_redis_options options = {.timeout_ms = 100};
  besom_store *store = NULL;
  snprintf(address, sizeof address, "[::1]:%d", ntohs(at.sin6_port));
  assert_int_equal(besom_store_redis(address, "p", &options, NULL, &store), BESOM_IO);
  struct pollfd arrived = {.fd = listener, .events = POLLIN};
  assert_int_equal(poll(&arrived, 1, 0), 1);
  close(listener);
}

static void foreign_data_is_not_changed(subject *s) {
  besom_store *store = NULL;
  char command[400];
  snprintf(command, sizeof command, "SET %s:values theirs", s->dir.path);
  redis_server_run(command);
  assert_int_equal(s->open(s, &store), BESOM_CORRUPT);
  snprintf(command, sizeof command, "DEL %s:values", s->dir.path);
  redis_server_run(command);
  snprintf(command, sizeof command, "HSET %s:commits their data", s->dir.path);
  redis_server_run(command);
  assert_int_equal(s->open(s, &store), BESOM_CORRUPT);
  assert_null(store);
}

/* The server drops the connection; the next call reconnects. */
static void a_dropped_connection_is_replaced(subject *s) {
  besom_store *store = subject_open(s);
  unsigned shown;
  uint64_t before, after;
  assert_int_equal(store->ops->commit_number(store, &before), BESOM_OK);
  for (unsigned i = 0; i < 4; i++) {
    redis_server_run("CLIENT KILL TYPE normal");
    assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
    redis_server_run("CLIENT KILL TYPE normal");
    assert_int_equal(read_it(store, &shown), BESOM_OK);
    assert_int_equal(shown, 1);
  }
  assert_int_equal(store->ops->commit_number(store, &after), BESOM_OK);
  assert_int_equal(after, before + 4); /* no write was applied twice */
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_LOCKED);
  besom_store_close(store);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_OK);
}

/* While one client was disconnected, another opened the store and wrote. The first must fail. */
static void a_client_that_lost_the_lock_cannot_go_on(subject *s) {
  besom_store *first = subject_open(s), *second;
  unsigned shown;
  redis_server_run("CLIENT KILL TYPE normal");
  second = subject_open(s);
  assert_int_equal(second->ops->table_put(second, BESOM_TABLE_KEYS, &record), BESOM_OK);
  assert_int_equal(read_it(first, &shown), BESOM_IO);
  assert_int_equal(first->ops->table_remove(first, BESOM_TABLE_KEYS, record.key), BESOM_IO);
  besom_store_close(second);
  assert_int_equal(read_it(first, &shown), BESOM_IO);
  besom_store_close(first);
  besom_store *third = subject_open(s);
  assert_int_equal(read_it(third, &shown), BESOM_OK);
  assert_int_equal(shown, 1);
  besom_store_close(third);
}

static void a_server_that_lost_data_is_detected(subject *s) {
  besom_store *store = subject_open(s);
  unsigned shown;
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  redis_server_run("FLUSHALL");
  redis_server_run("CLIENT KILL TYPE normal");
  assert_int_equal(read_it(store, &shown), BESOM_IO);
  besom_store_close(store);
}

/* The client cannot know whether the write was applied. If it was, the store must not go on as if
   it was not. */
static void a_write_without_a_reply_is_resolved(subject *s) {
  besom_redis_options options = {.timeout_ms = 1000};
  char prefix[300];
  snprintf(prefix, sizeof prefix, "%s:", s->dir.path);
  besom_store *store;
  unsigned shown;
  assert_int_equal(besom_store_redis(redis_server_address(), prefix, &options, NULL, &store),
                   BESOM_OK);
  redis_server_pause(true);
  besom_status status = store->ops->table_put(store, BESOM_TABLE_KEYS, &record);
  redis_server_pause(false);
  assert_int_equal(status, BESOM_IO);
  status = read_it(store, &shown);
  besom_store_close(store);
  store = subject_open(s);
  besom_status truth = read_it(store, &shown);
  if (status != BESOM_IO) assert_int_equal(status, truth);
  if (truth == BESOM_OK) assert_int_equal(status, BESOM_IO);
  besom_store_close(store);
}

/* One of MULTI, HSET, ZADD, INCR, EXEC, which are sent at once. A reconnect finds out whether the
   write was applied. */
static void a_write_that_loses_a_reply_is_applied_once(subject *s) {
  besom_store *store = subject_open(s);
  unsigned shown;
  uint64_t before, after;
  assert_int_equal(store->ops->commit_number(store, &before), BESOM_OK);
  for (unsigned n = 1; n <= 5; n++) {
    cut.reply = n;
    assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
    assert_int_equal(cut.reply, 0);
    redis_server_run("CLIENT KILL TYPE normal"); /* a reconnect checks the counter */
    assert_int_equal(read_it(store, &shown), BESOM_OK);
  }
  assert_int_equal(store->ops->commit_number(store, &after), BESOM_OK);
  assert_int_equal(after, before + 5);
  besom_store_close(store);
}

static void a_full_server_is_DISK_FULL_and_loses_nothing(subject *s) {
  besom_store *store = subject_open(s);
  unsigned shown;
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  redis_server_run("CONFIG SET maxmemory 1");
  const besom_record other = {{"other", 5}, {"value", 5}};
  besom_status status = store->ops->table_put(store, BESOM_TABLE_KEYS, &other);
  redis_server_run("CONFIG SET maxmemory 0");
  assert_int_equal(status, BESOM_DISK_FULL);
  assert_int_equal(read_it(store, &shown), BESOM_OK);
  assert_int_equal(store->ops->table_get(store, BESOM_TABLE_KEYS, other.key, count_record, &shown),
                   BESOM_NOT_FOUND);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &other), BESOM_OK);
  besom_store_close(store);
}

/* The connection drops while the server refuses commands that a reconnect needs. */
static void refuse_and_allow(subject *s, const char *refuse, const char *allow,
                             besom_status meanwhile) {
  besom_store *store = subject_open(s);
  unsigned shown;
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  redis_server_run(refuse);
  redis_server_run("CLIENT KILL TYPE normal");
  besom_status first = read_it(store, &shown), second = read_it(store, &shown);
  besom_status written = store->ops->table_put(store, BESOM_TABLE_KEYS, &record);
  redis_server_run(allow);
  assert_int_equal(first, meanwhile);
  assert_int_equal(second, meanwhile);
  assert_int_not_equal(written, BESOM_OK);
  assert_int_equal(read_it(store, &shown), BESOM_OK);
  assert_int_equal(shown, 1);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_LOCKED);
  besom_store_close(store);
}

static void a_reconnect_that_is_refused_is_tried_again(subject *s) {
  refuse_and_allow(s, "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0",
                   BESOM_IO);
  /* The lock may be exchanged, but the counter may not be read. */
  refuse_and_allow(s, "ACL SETUSER default resetkeys ~*lock", "ACL SETUSER default allkeys",
                   BESOM_IO);
}

static void a_full_server_can_be_read_after_a_reconnect(subject *s) {
  refuse_and_allow(s, "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", BESOM_OK);
}

/* The connection breaks at the n-th command of a reconnect, and again at the n-th of the next. */
static void a_reconnect_that_is_interrupted_is_tried_again(subject *s) {
  besom_store *store = subject_open(s);
  unsigned shown, n = 0;
  bool interrupted = true;
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  for (unsigned i = 0; i < 24 && interrupted; i++) {
    cut.n = 0;
    redis_server_run("CLIENT KILL TYPE normal");
    interrupted = false;
    for (unsigned tries = 0; tries < 3; tries++) {
      cut.n = n = 1 + i / 2;
      cut.sent = i % 2;
      besom_status status = read_it(store, &shown);
      if (cut.n == 0) interrupted = true;
      cut.n = 0;
      assert_true(status == BESOM_OK || status == BESOM_IO);
    }
    assert_int_equal(read_it(store, &shown), BESOM_OK);
    assert_int_equal(shown, 1);
  }
  assert_false(interrupted);
  assert_in_range(n, 5, 11); /* SETNAME, LIST, EVAL and GET were interrupted */
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_OK);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_LOCKED);
  besom_store_close(store);
  assert_int_equal(child_wait(child_start(s, "open", -1)), BESOM_OK);
}

/* After a reconnect that was interrupted, another client took the lock. */
static void an_interrupted_reconnect_does_not_take_the_lock_back(subject *s) {
  for (unsigned sent = 0; sent < 2; sent++) {
    besom_store *first = subject_open(s), *second;
    unsigned shown;
    redis_server_run("CLIENT KILL TYPE normal");
    cut.n = 3; /* EVAL */
    cut.sent = sent;
    assert_int_equal(read_it(first, &shown), BESOM_IO);
    assert_int_equal(cut.n, 0);
    second = subject_open(s);
    assert_int_equal(read_it(first, &shown), BESOM_IO);
    assert_int_equal(second->ops->table_put(second, BESOM_TABLE_KEYS, &record), BESOM_OK);
    besom_store_close(second);
    assert_int_equal(read_it(first, &shown), BESOM_IO); /* the lock is free, but it is lost */
    besom_store_close(first);
  }
}

static void a_failed_open_leaks_no_memory(subject *s) {
  for (unsigned n = 1; n <= 2; n++) {
    failing_allocator memory;
    failing_allocator_init(&memory);
    memory.fail_at = n;
    besom_redis_options options = {.allocator = &memory.api};
    besom_store *store = NULL;
    assert_int_equal(besom_store_redis(redis_server_address(), s->dir.path, &options, NULL, &store),
                     BESOM_NO_MEMORY);
    assert_null(store);
    assert_null(failing_allocator_verdict(&memory));
    failing_allocator_close(&memory);
  }
}

/* EXEC does not roll back when a command fails. The store must not show the half that was
   applied. */
static void half_a_write_is_never_visible(subject *s) {
  besom_store *store = subject_open(s);
  char command[400];
  unsigned shown;
  snprintf(command, sizeof command, "DEL %s:index", s->dir.path);
  redis_server_run(command);
  snprintf(command, sizeof command, "SET %s:index theirs", s->dir.path);
  redis_server_run(command);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_CORRUPT);
  assert_int_equal(read_it(store, &shown), BESOM_IO);
  assert_int_equal(shown, 0);
  assert_int_equal(store->ops->table_put(store, BESOM_TABLE_KEYS, &record), BESOM_IO);
  besom_store_close(store);
}

const law redis_laws[] = {
    {"a_failed_open_has_a_reason", a_failed_open_has_a_reason, is_redis},
    {"an_address_of_IPv6_has_brackets", an_address_of_IPv6_has_brackets, is_redis},
    {"foreign_data_is_not_changed", foreign_data_is_not_changed, is_redis},
    {"a_dropped_connection_is_replaced", a_dropped_connection_is_replaced, is_redis},
    {"a_client_that_lost_the_lock_cannot_go_on", a_client_that_lost_the_lock_cannot_go_on,
     is_redis},
    {"a_server_that_lost_data_is_detected", a_server_that_lost_data_is_detected, is_redis},
    {"a_write_without_a_reply_is_resolved", a_write_without_a_reply_is_resolved, is_redis},
    {"a_write_that_loses_a_reply_is_applied_once", a_write_that_loses_a_reply_is_applied_once,
     is_redis},
    {"half_a_write_is_never_visible", half_a_write_is_never_visible, is_redis},
    {"a_full_server_is_DISK_FULL_and_loses_nothing", a_full_server_is_DISK_FULL_and_loses_nothing,
     is_redis},
    {"a_reconnect_that_is_refused_is_tried_again", a_reconnect_that_is_refused_is_tried_again,
     is_redis},
    {"a_full_server_can_be_read_after_a_reconnect", a_full_server_can_be_read_after_a_reconnect,
     is_redis},
    {"a_reconnect_that_is_interrupted_is_tried_again",
     a_reconnect_that_is_interrupted_is_tried_again, is_redis},
    {"an_interrupted_reconnect_does_not_take_the_lock_back",
     an_interrupted_reconnect_does_not_take_the_lock_back, is_redis},
    {"a_failed_open_leaks_no_memory", a_failed_open_leaks_no_memory, is_redis},
    {NULL, NULL, NULL},
};
