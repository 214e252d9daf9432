#define _DEFAULT_SOURCE 1 /* kill */

#include "harness/peer_driver.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "harness/timing.h"

enum { LINE_BYTES = 256 };

/* ------------------------------------------------------------------ its process */

/* Later drivers must not inherit these: their copies would keep this driver from seeing the end of
 * its input. */
static void open_pipe(int ends[2]) {
  if (pipe(ends) != 0) fail("no pipe to a driver: %s", strerror(errno));
  for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
}

static _Noreturn void become_command(int in, int out, const char *command) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

peer_driver peer_driver_start(const char *name, const char *command, uint64_t seconds) {
  int in[2], out[2];
  open_pipe(in);
  open_pipe(out);
  signal(SIGPIPE, SIG_IGN); /* a driver that has ended is noticed when its answer is read */
  pid_t process = fork();
  if (process < 0) fail("no process for the driver %s: %s", name, strerror(errno));
  if (process == 0) become_command(in[0], out[1], command);
  setpgid(process, process); /* as the child does: either may run first */
  close(in[0]);
  close(out[1]);
  return (peer_driver){
      .name = name, .seconds = seconds, .process = process, .in = in[1], .out = out[0]};
}

static void kill_driver(const peer_driver *d) {
  kill(-d->process, SIGKILL);
  while (waitpid(d->process, NULL, 0) < 0 && errno == EINTR) continue;
}

_Noreturn void peer_driver_fail(const peer_driver *d, const char *format, ...) {
  char text[2 * LINE_BYTES + 128];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  kill_driver(d);
  fail("the driver of %s %s", d->name, text);
}

/* Reads up to cap bytes: 0 at the end of its output, -1 if nothing comes until the deadline. */
static ssize_t read_output(const peer_driver *d, char *out, size_t cap, double deadline) {
  for (;;) {
    double left = deadline - wall_seconds();
    struct pollfd ready = {.fd = d->out, .events = POLLIN};
    int found = left > 0 ? poll(&ready, 1, (int)(1e3 * left) + 1) : 0;
    if (found == 0) return -1;
    ssize_t n = found < 0 ? -1 : read(d->out, out, cap);
    if (n >= 0) return n;
    if (errno != EINTR) fail("no answer of the driver %s: %s", d->name, strerror(errno));
  }
}

void peer_driver_end(peer_driver *d) {
  char ignored[LINE_BYTES];
  double deadline = wall_seconds() + (double)d->seconds;
  close(d->in);
  while (read_output(d, ignored, sizeof ignored, deadline) > 0) continue;
  close(d->out);
  kill_driver(d);
}

/* ------------------------------------------------------------------ questions and answers */

static void send_line(const peer_driver *d, const char *line, size_t len) {
  for (size_t sent = 0; sent < len;) {
    ssize_t n = write(d->in, line + sent, len - sent);
    if (n < 0 && errno == EPIPE) return;
    if (n < 0 && errno != EINTR) fail("asking the driver %s: %s", d->name, strerror(errno));
    if (n > 0) sent += (size_t)n;
  }
}

static void read_line(const peer_driver *d, const char *question, char line[LINE_BYTES]) {
  double deadline = wall_seconds() + (double)d->seconds;
  for (size_t len = 0; len < LINE_BYTES;) {
    ssize_t n = read_output(d, line + len, LINE_BYTES - len, deadline);
    if (n < 0)
      peer_driver_fail(d, "did not answer '%s' in %llu seconds", question,
                       (unsigned long long)d->seconds);
    if (n == 0) peer_driver_fail(d, "ended before it answered '%s'", question);
    len += (size_t)n;
    char *end = memchr(line, '\n', len);
    if (end && end + 1 < line + len)
      peer_driver_fail(d, "answered '%s' with more than one line", question);
    if (end) {
      *end = '\0';
      return;
    }
  }
  peer_driver_fail(d, "answered '%s' with a line of more than %d bytes", question, LINE_BYTES - 1);
}

static bool parse_answer(const char *line, uint64_t *numbers, size_t n) {
  if (strncmp(line, "OK", 2) != 0) return false;
  line += 2;
  for (size_t i = 0; i < n; i++) {
    char *end;
    if (line[0] != ' ' || !isdigit((unsigned char)line[1])) return false;
    errno = 0;
    numbers[i] = strtoull(line + 1, &end, 10);
    if (errno) return false;
    line = end;
  }
  return *line == '\0';
}

bool peer_driver_ask(const peer_driver *d, uint64_t *numbers, size_t n, const char *format, ...) {
  static const char *const wanted[] = {"OK", "OK and a number", "OK and two numbers"};
  char question[LINE_BYTES], answer[LINE_BYTES];
  va_list values;
  va_start(values, format);
  size_t len = (size_t)vsnprintf(question, sizeof question - 1, format, values);
  va_end(values);
  question[len] = '\n';
  send_line(d, question, len + 1);
  question[len] = '\0';
  read_line(d, question, answer);
  if (strcmp(answer, "NO") == 0) return false;
  if (!parse_answer(answer, numbers, n))
    peer_driver_fail(d, "answered '%s' with '%s' instead of %s", question, answer, wanted[n]);
  return true;
}
