/*
 * soak_environment --seed S --amount OPERATIONS --on lmdb | rocksdb | redis | sidecar
 *
 * A guard, or an application with a sidecar, in an environment that changes between its calls, at
 * random: the working directory, symbolic links, lock files that are removed, files that are
 * restored from a copy, belong to another database, or are truncated, other users, a full disk, a
 * server that vanishes. After each event every answer is compared with a model: no member is
 * denied, what was acknowledged is there, or the call says that it is not, and no signal ends the
 * process.
 */
#define _GNU_SOURCE 1
#include "environment.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch.h"

void shell(const char *format, ...) {
  char command[3000];
  va_list arguments;
  va_start(arguments, format);
  int len = vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  demand(len > 0 && len < (int)sizeof command);
  demand(system(command) == 0);
}

void limit_disk(uint64_t bytes) {
  struct rlimit limit;
  demand(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
  demand(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int in_child(int (*run)(void *ctx), void *ctx) {
  int status;
  fflush(NULL);
  pid_t child = fork();
  demand(child >= 0);
  if (child == 0) _exit(run(ctx));
  demand(waitpid(child, &status, 0) == child);
  demand(WIFEXITED(status));
  return WEXITSTATUS(status);
}

typedef struct run {
  const char *on;
  environment_counts counts;
} run;

static void run_world(void *ctx, uint64_t seed) {
  run *r = ctx;
  if (!strcmp(r->on, "sidecar"))
    sidecar_world(seed, &r->counts);
  else if (!strcmp(r->on, "redis"))
    redis_world(seed, &r->counts);
  else
    guard_world(r->on, seed, &r->counts);
  r->counts.worlds++;
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--on");
  run r = {.on = request.row ? request.row : "lmdb"};
  const environment_counts *c = &r.counts;
  signal(SIGXFSZ, SIG_IGN); /* a limit of the file size is an error of write instead */
  setenv("CMOCKA_TEST_ABORT", "1", 1);
  batch_run(request, &c->operations, run_world, &r);
  count counts[] = {
      {"operations", c->operations}, {"worlds", c->worlds},     {"moves", c->moves},
      {"locks", c->locks},           {"restores", c->restores}, {"foreign", c->foreign},
      {"truncated", c->truncated},   {"refused", c->refused},   {"users", c->users},
      {"full_disks", c->full_disks}, {"vanished", c->vanished}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}
