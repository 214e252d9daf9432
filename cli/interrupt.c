#define _GNU_SOURCE 1 /* ppoll */

#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bar.h"

static volatile sig_atomic_t caught;
static const char *state_left = "no file was changed";

static void set_caught(int signal_number) {
  caught = signal_number;
}

void interrupt_watch(void) {
  struct sigaction action = {.sa_handler = set_caught};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a write then fails, and the temporary file is removed */
}

void interrupt_leaves(const char *what) {
  state_left = what;
}

void interrupt_check(void) {
  if (!caught) return;
  bar_end();
  fprintf(stderr, "besom: interrupted; %s\n", state_left);
  exit(128 + (int)caught); /* the convention of shells */
}

/* Waits for input. The signals are blocked except during ppoll, so a signal that arrives between
 * the test of the flag and the wait ends the wait. */
static void wait_for(int fd) {
  sigset_t ours, before;
  sigemptyset(&ours);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGTERM);
  sigprocmask(SIG_BLOCK, &ours, &before);
  struct pollfd input = {.fd = fd, .events = POLLIN};
  if (!caught) ppoll(&input, 1, NULL, &before);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

ssize_t interrupt_read(int fd, void *to, size_t most) {
  ssize_t n;
  do {
    wait_for(fd);
    interrupt_check();
    n = read(fd, to, most);
  } while (n < 0 && errno == EINTR);
  return n;
}
