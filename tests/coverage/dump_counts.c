/*
 * Part of the programs in the coverage build only: counts of processes that end in special ways.
 * The linker passes calls of _exit here: a child process that ends by it would lose its counts.
 * A process with a limit for files (it tests a full disk) would damage the counts of others.
 */
#define _DEFAULT_SOURCE /* getrlimit, setenv */
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

/* libgcov cannot create files there, and says nothing. */
__attribute__((constructor)) static void write_nothing_if_limited(void) {
  if (can_write_files()) return;
  setenv("GCOV_PREFIX", "/dev/null", 1);
  setenv("GCOV_ERROR_FILE", "/dev/null", 1);
}

_Noreturn void __wrap__exit(int code) {
  if (can_write_files()) __gcov_dump();
  __real__exit(code);
}
