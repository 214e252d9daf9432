#define _DEFAULT_SOURCE 1 /* nanosleep */
#include "core/system/wait.h"

#include <sched.h>
#include <time.h>

#define SPINS_PER_YIELD 64 /* then another thread, maybe the awaited one, gets the processor */
#define MAX_SPINS (SPINS_PER_YIELD * SPINS_PER_YIELD) /* then the wait is long: sleep instead */
#define SLEEP_NANOSECONDS 100000

void besom__wait(unsigned *times) {
  if (*times < MAX_SPINS) ++*times;
  if (*times == MAX_SPINS)
    nanosleep(&(struct timespec){0, SLEEP_NANOSECONDS}, NULL);
  else if (*times % SPINS_PER_YIELD == 0)
    sched_yield();
#if defined(__x86_64__)
  else
    __builtin_ia32_pause();
#endif
}
