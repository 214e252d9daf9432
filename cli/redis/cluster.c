#define _GNU_SOURCE 1 /* nanosleep */

#include "redis/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "interrupt.h"

enum { SLOTS = 16384, HOST_SIZE = 256, PORT_SIZE = 8, MAX_NODES = 1024 };
enum { RETRY_SECONDS = 60, RETRY_MILLISECONDS = 20 };

struct node {
  char host[HOST_SIZE], port[PORT_SIZE];
  resp_link *link; /* NULL: not connected */
};

struct cluster {
  struct node nodes[MAX_NODES];
  uint32_t node_count;
  uint32_t owner[SLOTS]; /* index of the node */
  const char *user;
  uint64_t repeated;
  char trouble[300]; /* the last reason for a retry */
};

/* ------------------------------------------------------------------ nodes */

static uint32_t add_node(cluster *c, const char *host, const char *port) {
  for (uint32_t i = 0; i < c->node_count; i++)
    if (!strcmp(c->nodes[i].host, host) && !strcmp(c->nodes[i].port, port)) return i;
  if (c->node_count == MAX_NODES) fail("more than %d nodes", MAX_NODES);
  struct node *node = &c->nodes[c->node_count];
  snprintf(node->host, sizeof node->host, "%s", host);
  snprintf(node->port, sizeof node->port, "%.7s", port);
  return c->node_count++;
}

/* HOST:PORT, HOST or :PORT; a host that is left out is that of the node `near`. */
static uint32_t add_address(cluster *c, const char *address, const char *near) {
  const char *colon = strrchr(address, ':');
  int len = colon ? (int)(colon - address) : (int)strlen(address);
  char host[HOST_SIZE];
  snprintf(host, sizeof host, "%.*s", len ? len : (int)strlen(near), len ? address : near);
  return add_node(c, host, colon ? colon + 1 : "6379");
}

static besom_bytes word(const char *text) {
  return (besom_bytes){text, strlen(text)};
}

static bool call(struct node *node, const besom_bytes *words, size_t n, reply *to) {
  resp_add(node->link, words, n);
  return resp_flush(node->link) && resp_read(node->link, to);
}

static void disconnect(struct node *node) {
  resp_close(node->link);
  node->link = NULL;
}

/* A wrong password ends the program. */
static bool authenticate(cluster *c, struct node *node) {
  const char *password = getenv("REDISCLI_AUTH");
  if (!password) return true;
  besom_bytes words[3] = {word("AUTH"), word(c->user ? c->user : password), word(password)};
  reply r;
  if (!call(node, words, c->user ? 3 : 2, &r)) return false;
  if (r.type == REPLY_ERROR) fail("%s:%s: %s", node->host, node->port, r.text);
  reply_clear(&r);
  return true;
}

static bool connect_node(cluster *c, struct node *node) {
  const char *cause = "connection lost";
  if (node->link) return true;
  node->link = resp_connect(node->host, node->port, &cause);
  if (node->link && authenticate(c, node)) return true;
  disconnect(node);
  snprintf(c->trouble, sizeof c->trouble, "%.100s:%s: %.100s", node->host, node->port, cause);
  return false;
}

/* ------------------------------------------------------------------ slots */

/* CRC-16/XMODEM of the key, modulo the slots. Keys with braces do not occur here. */
static uint32_t slot_of(besom_bytes key) {
  const uint8_t *at = key.data;
  uint32_t crc = 0;
  for (size_t i = 0; i < key.len; i++) {
    crc ^= (uint32_t)at[i] << 8;
    for (int bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff & (SLOTS - 1);
}

/* One element of CLUSTER SLOTS: first slot, last slot, master, replicas. */
static void take_range(cluster *c, const reply *range, const struct node *from) {
  if (range->type != REPLY_ARRAY || range->n < 3 || range->elements[2].type != REPLY_ARRAY ||
      range->elements[2].n < 2)
    return;
  const reply *host = &range->elements[2].elements[0];
  char port[PORT_SIZE + 24];
  snprintf(port, sizeof port, "%lld", range->elements[2].elements[1].number);
  bool named = host->type == REPLY_STRING && host->n;
  uint32_t node = add_node(c, named ? host->text : from->host, port);
  long long first = range->elements[0].number, last = range->elements[1].number;
  for (long long slot = first < 0 ? 0 : first; slot <= last && slot < SLOTS; slot++)
    c->owner[slot] = node;
}

/* Asks one node which node has which slot. A server without cluster mode has all. */
static bool ask_for_slots(cluster *c, uint32_t i) {
  struct node *node = &c->nodes[i];
  besom_bytes words[] = {word("CLUSTER"), word("SLOTS")};
  reply r;
  if (!connect_node(c, node)) return false;
  if (!call(node, words, 2, &r)) {
    disconnect(node);
    return false;
  }
  if (reply_is_error(&r, "NOAUTH") || reply_is_error(&r, "NOPERM"))
    fail("%s:%s: %s (the password is taken from REDISCLI_AUTH)", node->host, node->port, r.text);
  if (r.type == REPLY_ERROR)
    for (uint32_t slot = 0; slot < SLOTS; slot++) c->owner[slot] = i;
  for (size_t k = 0; r.type == REPLY_ARRAY && k < r.n; k++) take_range(c, &r.elements[k], node);
  reply_clear(&r);
  return true;
}

static bool refresh(cluster *c) {
  for (uint32_t i = 0; i < c->node_count; i++)
    if (ask_for_slots(c, i)) return true;
  return false;
}

cluster *cluster_open(const char *address, const char *user) {
  cluster *c = allocate(1, sizeof *c);
  c->user = user;
  add_address(c, address, "127.0.0.1");
  if (!refresh(c)) fail("%s", c->trouble);
  return c;
}

void cluster_close(cluster *c) {
  for (uint32_t i = 0; i < c->node_count; i++) disconnect(&c->nodes[i]);
  free(c);
}

uint64_t cluster_repeated(const cluster *c) {
  return c->repeated;
}

/* ------------------------------------------------------------------ requests */

static void send_request(cluster *c, request *r) {
  if (r->state == REQUEST_DONE) return;
  if (r->state == REQUEST_WAITS) r->node = c->owner[slot_of(r->words[1])];
  struct node *node = &c->nodes[r->node];
  if (!connect_node(c, node)) {
    r->state = REQUEST_WAITS;
    return;
  }
  besom_bytes asking = word("ASKING");
  if (r->state == REQUEST_ASKS) resp_add(node->link, &asking, 1);
  resp_add(node->link, r->words, r->n);
  r->reply.number = r->state == REQUEST_ASKS; /* replies to skip */
  r->state = REQUEST_SENT;
}

static void flush_nodes(cluster *c) {
  for (uint32_t i = 0; i < c->node_count; i++)
    if (c->nodes[i].link && !resp_flush(c->nodes[i].link)) disconnect(&c->nodes[i]);
}

/* Interprets MOVED and ASK: "MOVED 3999 127.0.0.1:6381". */
static bool redirect(cluster *c, request *r) {
  bool moved = reply_is_error(&r->reply, "MOVED "), ask = reply_is_error(&r->reply, "ASK ");
  const char *address = strrchr(r->reply.text, ' ');
  if ((!moved && !ask) || !address) return false;
  r->node = add_address(c, address + 1, c->nodes[r->node].host);
  if (moved) c->owner[slot_of(r->words[1])] = r->node;
  r->state = ask ? REQUEST_ASKS : REQUEST_WAITS;
  return true;
}

/* Errors that end when the cluster or the node is ready again. */
static bool is_temporary(const reply *r) {
  static const char *const words[] = {"TRYAGAIN",   "CLUSTERDOWN", "LOADING",
                                      "MASTERDOWN", "READONLY",    "BUSY "};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (reply_is_error(r, words[i])) return true;
  return false;
}

/* Keeps a reply, or sets the state for the next round. */
static void judge(cluster *c, request *r) {
  r->state = REQUEST_DONE;
  if (r->reply.type != REPLY_ERROR) return;
  if (is_temporary(&r->reply)) {
    snprintf(c->trouble, sizeof c->trouble, "%.250s", r->reply.text);
    r->state = REQUEST_WAITS;
  } else if (!redirect(c, r)) {
    return;
  }
  reply_clear(&r->reply);
}

static void receive(cluster *c, request *r) {
  if (r->state != REQUEST_SENT) return;
  struct node *node = &c->nodes[r->node];
  long long skip = r->reply.number;
  bool ok = node->link;
  if (ok && skip) {
    ok = resp_read(node->link, &r->reply);
    if (ok) reply_clear(&r->reply);
  }
  if (ok && resp_read(node->link, &r->reply)) {
    judge(c, r);
    return;
  }
  if (node->link)
    snprintf(c->trouble, sizeof c->trouble, "%.100s:%s: connection lost", node->host, node->port);
  disconnect(node);
  r->reply = (reply){.type = REPLY_NIL};
  r->state = REQUEST_WAITS;
  c->repeated++;
}

/* One round trip to all nodes. Returns the number of requests that are not done. */
static size_t run_round(cluster *c, request *requests, size_t n) {
  size_t left = 0;
  for (size_t i = 0; i < n; i++) send_request(c, &requests[i]);
  flush_nodes(c);
  for (size_t i = 0; i < n; i++) {
    receive(c, &requests[i]);
    left += requests[i].state != REQUEST_DONE;
  }
  return left;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_for(long milliseconds) {
  struct timespec time = {.tv_nsec = milliseconds * 1000000};
  nanosleep(&time, NULL);
  interrupt_check();
}

/* A redirection is followed at once; after other failures the slots are asked for again. */
void cluster_run(cluster *c, request *requests, size_t n) {
  double progress = now();
  for (size_t i = 0; i < n; i++) {
    requests[i].state = REQUEST_WAITS;
    requests[i].reply = (reply){.type = REPLY_NIL};
  }
  c->trouble[0] = 0;
  for (size_t before = n, left; (left = run_round(c, requests, n)); before = left) {
    if (left < before) progress = now();
    if (now() - progress > RETRY_SECONDS)
      fail("no node executes the command: %s", c->trouble[0] ? c->trouble : "endless redirections");
    if (!c->trouble[0]) continue;
    pause_for(RETRY_MILLISECONDS);
    refresh(c);
    c->trouble[0] = 0;
  }
}
