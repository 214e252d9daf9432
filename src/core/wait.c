#define _DEFAULT_SOURCE 1 /* nanosleep */
#include "core/wait.h"

#include <sched.h>
#include <time.h>

#define SPINS 64 /* then somebody else should run: it may be the one that is waited for */
#define LONG (SPINS * SPINS)   /* after which it is not a matter of moments any more */
#define NAP_NANOSECONDS 100000 /* at a time, then */

void besom__wait(unsigned *times) {
  if (*times < LONG) ++*times;
  if (*times == LONG)
    nanosleep(&(struct timespec){0, NAP_NANOSECONDS}, NULL);
  else if (*times % SPINS == 0)
    sched_yield();
#if defined(__x86_64__)
  else
    __builtin_ia32_pause();
#endif
}
