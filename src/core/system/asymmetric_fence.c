#define _GNU_SOURCE /* syscall */
#include "core/system/asymmetric_fence.h"

#if defined(__linux__) && __has_include(<linux/membarrier.h>)

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_NANOSECONDS 10000000

/* Registering twice is allowed. A process that was forked is registered. */
bool besom__prepare_heavy_fence(void) {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/*
 * A registered process can fail here only if a sandbox has forbidden the call meanwhile. Then this
 * waits for longer than any processor delays a store.
 */
void besom__heavy_fence(void) {
  atomic_thread_fence(memory_order_seq_cst);
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
    nanosleep(&(struct timespec){0, SLEEP_NANOSECONDS}, NULL);
}

#else

bool besom__prepare_heavy_fence(void) {
  return false;
}

void besom__heavy_fence(void) {
  atomic_thread_fence(memory_order_seq_cst);
}

#endif
