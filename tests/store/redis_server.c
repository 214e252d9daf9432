#define _GNU_SOURCE 1
#include "redis_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_files.h"

static pid_t server;
static int port;
static char address[40];
static temp_dir dir;

static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t len = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) ||
      getsockname(fd, (struct sockaddr *)&at, &len))
    abort();
  close(fd);
  return ntohs(at.sin_port);
}

static redisContext *link_to_server(void) {
  redisContext *link = redisConnectWithTimeout("127.0.0.1", port, (struct timeval){5, 0});
  if (link && !link->err) return link;
  if (link) redisFree(link);
  return NULL;
}

static void start(void) {
  port = free_port();
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  pid_t parent = getpid();
  server = fork();
  if (server == 0) {
    char number[12];
    snprintf(number, sizeof number, "%d", port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execlp("redis-server", "redis-server", "--port", number, "--bind", "127.0.0.1", "--save", "",
           "--appendonly", "no", "--dir", dir.path, "--logfile", "/dev/null", (char *)NULL);
    perror("redis-server");
    _exit(127);
  }
}

static bool answers(void) {
  for (unsigned tries = 0; tries < 30000; tries++) {
    redisContext *link = link_to_server();
    redisReply *pong = link ? redisCommand(link, "PING") : NULL;
    if (pong) freeReplyObject(pong);
    if (link) redisFree(link);
    if (pong) return true;
    if (waitpid(server, NULL, WNOHANG) != 0) return false; /* another process took the port */
    usleep(20000);
  }
  return false;
}

static void start_until_it_answers(void) {
  for (unsigned tries = 0; tries < 5; tries++) {
    start();
    if (answers()) return;
  }
  fprintf(stderr, "redis-server does not start\n");
  abort();
}

const char *redis_server_address(void) {
  if (server) return address;
  temp_dir_make(&dir);
  start_until_it_answers();
  return address;
}

static void kill_server(void) {
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  server = 0;
}

void redis_server_stop(void) {
  if (!server) return;
  kill_server();
  temp_dir_remove(&dir);
}

void redis_server_restore(void) {
  kill_server();
  start_until_it_answers();
}

void redis_server_pause(bool paused) {
  kill(server, paused ? SIGSTOP : SIGCONT);
}

void redis_server_run(const char *command) {
  redisContext *link = link_to_server();
  redisReply *reply = link ? redisCommand(link, command) : NULL;
  if (!reply || reply->type == REDIS_REPLY_ERROR) {
    fprintf(stderr, "%s: %s\n", command, reply ? reply->str : "no answer");
    abort();
  }
  freeReplyObject(reply);
  redisFree(link);
}
