/*
 * Part of the programs in the coverage build only: counts of processes that end in special ways.
 * The linker passes calls of _exit here: a child process that ends by it would lose its counts.
 * A process with a limit for files (it tests a full disk) would damage the counts of others.
 */
#define _DEFAULT_SOURCE /* getrlimit, on_exit */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

static int can_write_files(void) {
  struct rlimit limit;
  return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

/* Ends the process before libgcov writes, in its destructor. */
static void end_without_counts(int code, void *ctx) {
  (void)ctx;
  fflush(NULL);
  __real__exit(code);
}

__attribute__((constructor)) static void write_nothing_if_limited(void) {
  if (!can_write_files()) on_exit(end_without_counts, NULL);
}

_Noreturn void __wrap__exit(int code) {
  if (can_write_files()) __gcov_dump();
  __real__exit(code);
}
