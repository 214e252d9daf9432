#define _DEFAULT_SOURCE 1 /* processes, shared memory */
#include "support/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  abort();
}

void *shared_memory(size_t bytes) {
  int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) die("shared memory");
  return memory;
}

void pause_for(uint64_t microseconds) {
  struct timespec t = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) continue;
}

static pid_t start(void (*work)(void *ctx), void *ctx) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child > 0) return child;
  work(ctx);
  fflush(NULL);
  _exit(0);
}

static int end_of(pid_t child) {
  int how = 0;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
  return how;
}

bool kill_child(void (*work)(void *ctx), void *ctx, const _Atomic uint64_t *started,
                uint64_t microseconds) {
  pid_t child = start(work, ctx);
  for (unsigned i = 0; started && !atomic_load(started) && i < 60000; i++) pause_for(1000);
  pause_for(microseconds);
  kill(child, SIGKILL);
  int how = end_of(child);
  return WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
}

bool run_child(void (*work)(void *ctx), void *ctx) {
  int how = end_of(start(work, ctx));
  return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

void remove_tree(const char *path) {
  char command[700];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0) die(path);
}
