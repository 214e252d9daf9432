/*
 * A server, or the nodes of a cluster. Commands go to the node that has the slot of their key.
 * Redirections (MOVED, ASK) and broken connections are handled here; errors that no retry repairs
 * end the program with a message.
 */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include <stdint.h>

#include "redis/resp.h"

/* A command for one key, which is words[1]. */
typedef struct request {
  const besom_bytes *words;
  size_t n;
  reply reply; /* set by cluster_run; clear it with reply_clear */
  /* Used by cluster_run. */
  uint32_t node;
  enum request_state { REQUEST_WAITS, REQUEST_ASKS, REQUEST_SENT, REQUEST_DONE } state;
} request;

typedef struct cluster cluster;

/*
 * Connects to HOST:PORT, or to HOST and port 6379. If that is a node of a cluster, the others are
 * found by it. user: for ACL, or NULL. The password is in the environment variable REDISCLI_AUTH,
 * as for redis-cli.
 */
cluster *cluster_open(const char *address, const char *user);
void cluster_close(cluster *c);

/*
 * Executes commands, pipelined and on all nodes at once, in any order. Every request gets a reply,
 * which may be an error of the command. A request whose connection breaks is sent again; so its
 * command may be executed twice.
 */
void cluster_run(cluster *c, request *requests, size_t n);

/* The number of requests that were sent again after a connection broke. */
uint64_t cluster_repeated(const cluster *c);

#endif
