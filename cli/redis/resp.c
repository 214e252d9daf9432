#define _GNU_SOURCE 1 /* getaddrinfo, TCP_USER_TIMEOUT */

#include "redis/resp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "interrupt.h"

enum { INPUT_BYTES = 1 << 16, MAX_DEPTH = 8, MAX_ELEMENTS = 1 << 24 };
static const long long max_text = 512 << 20; /* the limit of Redis */

struct resp_link {
  int fd;
  char *output;
  size_t output_len, output_size;
  size_t from, to; /* the bytes of `input` that are not consumed yet */
  char input[INPUT_BYTES];
};

/* ------------------------------------------------------------------ connecting */

static void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

/* The kernel ends a connection to a machine that is gone after some 30 seconds. */
static void set_options(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_SYNCNT, 3);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
}

static int connect_to(const struct addrinfo *address) {
  int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
  if (fd < 0) return -1;
  set_options(fd);
  if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

resp_link *resp_connect(const char *host, const char *port, const char **cause) {
  struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *addresses;
  int error = getaddrinfo(host, port, &wanted, &addresses), fd = -1;
  if (error) {
    *cause = gai_strerror(error);
    return NULL;
  }
  for (struct addrinfo *a = addresses; a && fd < 0; a = a->ai_next) fd = connect_to(a);
  *cause = strerror(errno);
  freeaddrinfo(addresses);
  if (fd < 0) return NULL;
  resp_link *link = allocate(1, sizeof *link);
  link->fd = fd;
  return link;
}

void resp_close(resp_link *link) {
  if (!link) return;
  close(link->fd);
  free(link->output);
  free(link);
}

/* ------------------------------------------------------------------ commands */

static void append(resp_link *link, const void *data, size_t len) {
  if (link->output_size - link->output_len < len) {
    link->output_size = 2 * (link->output_len + len);
    link->output = reallocate(link->output, link->output_size, 1);
  }
  if (len) memcpy(link->output + link->output_len, data, len);
  link->output_len += len;
}

static void append_head(resp_link *link, char kind, size_t n) {
  char head[32];
  int len = snprintf(head, sizeof head, "%c%zu\r\n", kind, n);
  append(link, head, (size_t)len);
}

void resp_add(resp_link *link, const besom_bytes *words, size_t n) {
  append_head(link, '*', n);
  for (size_t i = 0; i < n; i++) {
    append_head(link, '$', words[i].len);
    append(link, words[i].data, words[i].len);
    append(link, "\r\n", 2);
  }
}

bool resp_flush(resp_link *link) {
  size_t sent = 0;
  while (sent < link->output_len) {
    ssize_t n = send(link->fd, link->output + sent, link->output_len - sent, MSG_NOSIGNAL);
    interrupt_check();
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) sent += (size_t)n;
  }
  link->output_len = 0;
  return true;
}

/* ------------------------------------------------------------------ replies */

void reply_clear(reply *r) {
  free(r->text);
  for (size_t i = 0; r->elements && i < r->n; i++) reply_clear(&r->elements[i]);
  free(r->elements);
  *r = (reply){.type = REPLY_NIL};
}

bool reply_is_error(const reply *r, const char *word) {
  return r->type == REPLY_ERROR && strncmp(r->text, word, strlen(word)) == 0;
}

static bool fill(resp_link *link) {
  ssize_t n = interrupt_read(link->fd, link->input, sizeof link->input);
  if (n <= 0) return false;
  link->from = 0;
  link->to = (size_t)n;
  return true;
}

static bool read_bytes(resp_link *link, char *to, size_t len) {
  while (len) {
    if (link->from == link->to && !fill(link)) return false;
    size_t left = link->to - link->from, n = len < left ? len : left;
    memcpy(to, link->input + link->from, n);
    link->from += n;
    to += n;
    len -= n;
  }
  return true;
}

/* Reads a line without its CRLF; longer lines are cut. */
static bool read_line(resp_link *link, char *line, size_t size) {
  size_t len = 0;
  for (char c, previous = 0;; previous = c) {
    if (!read_bytes(link, &c, 1)) return false;
    if (c == '\n' && previous == '\r') break;
    if (len < size - 1) line[len++] = c;
  }
  if (len && line[len - 1] == '\r') len--;
  line[len] = 0;
  return true;
}

static bool read_text(resp_link *link, long long len, reply *to) {
  if (len > max_text) return false;
  char end[2];
  to->n = (size_t)len;
  to->text = allocate(1, to->n + 1);
  return read_bytes(link, to->text, to->n) && read_bytes(link, end, 2);
}

static bool read_reply(resp_link *link, reply *to, int depth);

static bool read_array(resp_link *link, long long n, reply *to, int depth) {
  if (n > MAX_ELEMENTS || depth == MAX_DEPTH) return false;
  to->elements = allocate((size_t)n, sizeof *to->elements);
  for (to->n = 0; to->n < (size_t)n; to->n++)
    if (!read_reply(link, &to->elements[to->n], depth + 1)) return false;
  return true;
}

static bool read_reply(resp_link *link, reply *to, int depth) {
  char line[1024];
  if (!read_line(link, line, sizeof line)) return false;
  to->number = strtoll(line + 1, NULL, 10);
  switch (line[0]) {
  case '+':
  case '-':
    to->type = line[0] == '-' ? REPLY_ERROR : REPLY_STRING;
    to->n = strlen(line + 1);
    to->text = allocate(1, to->n + 1);
    memcpy(to->text, line + 1, to->n);
    return true;
  case ':':
    to->type = REPLY_NUMBER;
    return true;
  case '$':
  case '*':
    to->type = to->number < 0 ? REPLY_NIL : line[0] == '$' ? REPLY_STRING : REPLY_ARRAY;
    if (to->number < 0) return true;
    return line[0] == '$' ? read_text(link, to->number, to)
                          : read_array(link, to->number, to, depth);
  default:
    return false;
  }
}

bool resp_read(resp_link *link, reply *to) {
  *to = (reply){.type = REPLY_NIL};
  if (read_reply(link, to, 0)) return true;
  reply_clear(to);
  return false;
}
