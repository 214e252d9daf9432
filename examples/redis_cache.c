/*
 * redis_cache.c - a small web server with its pages in LMDB and a filter in Redis in front of them.
 *
 * No cache holds pages that do not exist, so each request for one of them reaches the database.
 * This server queries a filter first, which all web servers share. If the filter answers no, the
 * page does not exist. If it answers yes and the database has no such page, the server reports the
 * false positive once; from then on every server and every replica answers no to that name.
 *
 *     redis-server --loadmodule build/besom-redis.so
 *     redis_cache REDIS_PORT DIRECTORY              counts the reads of the database
 *     redis_cache REDIS_PORT DIRECTORY HTTP_PORT    serves pages:
 *         curl -T page localhost:HTTP_PORT/name
 *         curl localhost:HTTP_PORT/name
 */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILTER "pages"

static redisContext *redis;
static MDB_env *env;
static MDB_dbi pages;
static unsigned long reads, rejected, fixed;

static void fail(const char *what) {
  fprintf(stderr, "redis_cache: %s\n", what);
  exit(1);
}

/* ------------------------------------------------------------------ the filter */

/* Runs a command with one item on the filter. Returns the reply, 1 or 0. */
static long long filter_command(const char *command, const char *name) {
  redisReply *reply = redisCommand(redis, "%s " FILTER " %s", command, name);
  if (!reply) fail("the connection to Redis was lost");
  redisReply *first =
      reply->type == REDIS_REPLY_ARRAY && reply->elements ? reply->element[0] : reply;
  /* After an error the server still works: without an answer every page may exist. */
  long long answer = first->type == REDIS_REPLY_INTEGER ? first->integer : 1;
  freeReplyObject(reply);
  return answer;
}

/* ------------------------------------------------------------------ the pages */

static void check(int status) {
  if (status) fail(mdb_strerror(status));
}

static void open_pages(const char *directory) {
  MDB_txn *txn;
  check(mdb_env_create(&env));
  check(mdb_env_set_mapsize(env, (size_t)1 << 30));
  check(mdb_env_open(env, directory, MDB_NOSYNC, 0600));
  check(mdb_txn_begin(env, NULL, 0, &txn));
  check(mdb_dbi_open(txn, NULL, 0, &pages));
  check(mdb_txn_commit(txn));
}

/*
 * Writes the database first. In the other order a request between the two writes would get a yes,
 * find no page, and report the name of a page that is about to exist.
 */
static void put_page(const char *name, const char *text, size_t len) {
  MDB_txn *txn;
  MDB_val key = {strlen(name), (void *)(size_t)name}, value = {len, (void *)(size_t)text};
  check(mdb_txn_begin(env, NULL, 0, &txn));
  check(mdb_put(txn, pages, &key, &value, 0));
  check(mdb_txn_commit(txn));
  filter_command("AF.ADD", name);
}

/* Returns the page, valid while *txn is open, or NULL if there is none. */
static const char *read_page(const char *name, size_t *len, MDB_txn **txn) {
  MDB_val key = {strlen(name), (void *)(size_t)name}, value;
  reads++;
  check(mdb_txn_begin(env, NULL, MDB_RDONLY, txn));
  int status = mdb_get(*txn, pages, &key, &value);
  if (status == 0) {
    *len = value.mv_size;
    return value.mv_data;
  }
  mdb_txn_abort(*txn);
  return NULL;
}

/* Queries the filter, then the database, and reports a false positive. */
static const char *get_page(const char *name, size_t *len, MDB_txn **txn) {
  if (!filter_command("AF.EXISTS", name)) {
    rejected++;
    return NULL;
  }
  const char *page = read_page(name, len, txn);
  if (!page) fixed += (unsigned long)filter_command("AF.REPORT", name);
  return page;
}

/* ------------------------------------------------------------------ the demonstration */

static void request_many(const char *prefix, int n) {
  char name[40];
  size_t len;
  MDB_txn *txn;
  int found = 0;
  reads = rejected = fixed = 0;
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "/%s-%d", prefix, i);
    if (get_page(name, &len, &txn)) {
      found++;
      mdb_txn_abort(txn);
    }
  }
  printf("%5d requests for %-6s pages: %4d found, %5lu rejected, %4lu database reads, "
         "%2lu false positives\n",
         n, prefix, found, rejected, reads, reads - (unsigned long)found);
}

static int demonstrate(void) {
  enum { PAGES = 5000, ABSENT = 20000 };
  char name[40];
  redisReply *reply =
      redisCommand(redis, "AF.RESERVE " FILTER " 0.01 %d NONSCALING ADAPTRESERVE 0.3", PAGES);
  if (!reply || reply->type == REDIS_REPLY_ERROR)
    fail(reply ? reply->str : "the connection to Redis was lost");
  freeReplyObject(reply);
  for (int i = 0; i < PAGES; i++) {
    snprintf(name, sizeof name, "/stored-%d", i);
    put_page(name, "<p>Hello</p>", 12);
  }
  request_many("stored", PAGES);
  unsigned long lost = PAGES - reads;
  request_many("absent", ABSENT);
  unsigned long first = reads;
  request_many("absent", ABSENT);
  printf(
      "%lu stored pages were not found. Requests for absent pages read the database %lu times in "
      "the first pass and %lu times in the second.\n",
      lost, first, reads);
  return lost || reads || !first;
}

/* ------------------------------------------------------------------ the server */

static void respond(FILE *out, const char *status, const char *text, size_t len) {
  fprintf(out, "HTTP/1.0 %s\r\nContent-Length: %zu\r\n\r\n", status, len);
  fwrite(text, 1, len, out);
}

static void respond_page(FILE *out, const char *name) {
  size_t len;
  MDB_txn *txn;
  const char *page = get_page(name, &len, &txn);
  if (!page) {
    respond(out, "404 Not Found", "no such page\n", 13);
    return;
  }
  respond(out, "200 OK", page, len);
  mdb_txn_abort(txn);
}

static void receive_page(FILE *in, FILE *out, const char *name, size_t len) {
  char *text = malloc(len + 1);
  if (text && fread(text, 1, len, in) == len) {
    put_page(name, text, len);
    respond(out, "201 Created", "", 0);
  }
  free(text);
}

static void serve_one(FILE *in, FILE *out) {
  char line[1024], method[8] = "", name[400] = "";
  size_t len = 0;
  if (!fgets(line, sizeof line, in) || sscanf(line, "%7s %399s", method, name) != 2) return;
  while (fgets(line, sizeof line, in) && strcmp(line, "\r\n") != 0) {
    sscanf(line, "Content-Length: %zu", &len);
    if (strncmp(line, "Expect:", 7) == 0) {
      fputs("HTTP/1.1 100 Continue\r\n\r\n", out);
      fflush(out);
    }
  }
  if (strcmp(method, "PUT") == 0 && len <= 1 << 20)
    receive_page(in, out, name, len);
  else
    respond_page(out, name);
}

static void serve(int port) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  signal(SIGPIPE, SIG_IGN);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64))
    fail("cannot listen on HTTP_PORT: choose another port");
  for (;;) {
    int connection = accept(fd, NULL, NULL);
    if (connection < 0) continue;
    FILE *in = fdopen(connection, "r"), *out = fdopen(dup(connection), "w");
    if (in && out) serve_one(in, out);
    if (out) fclose(out);
    if (in) fclose(in);
  }
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) fail("usage: redis_cache REDIS_PORT DIRECTORY [HTTP_PORT]");
  redis = redisConnect("127.0.0.1", atoi(argv[1]));
  if (!redis || redis->err) fail("cannot connect to Redis at 127.0.0.1: check REDIS_PORT");
  open_pages(argv[2]);
  if (argc == 4) serve(atoi(argv[3]));
  int result = demonstrate();
  mdb_env_close(env);
  redisFree(redis);
  return result;
}
