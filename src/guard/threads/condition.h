/* Conditions whose time limits are by a clock that only goes forward. */
#ifndef BESOM_GUARD_CONDITION_H
#define BESOM_GUARD_CONDITION_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SECOND UINT64_C(1000000000) /* in nanoseconds */

/* False if there is no memory. */
static inline bool condition_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return false;
  bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(condition, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  return made;
}

/* The time is that of besom__monotonic_ns. False if it is over. UINT64_MAX: no time limit. */
static inline bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  uint64_t until) {
  if (until == UINT64_MAX) return pthread_cond_wait(condition, mutex) == 0;
  struct timespec time = {(time_t)(until / SECOND), (long)(until % SECOND)};
  return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT;
}

#endif
