/*
 * The threads of a machine that has one thread: what src/ uses of pthread.h. A lock is always free.
 * A wait for another thread would never end; nothing waits, because no thread can be started.
 */
#ifndef BESOM_WASM_PTHREAD_H
#define BESOM_WASM_PTHREAD_H

#include <errno.h>
#include <sys/types.h>
#include <time.h>

static inline pthread_t pthread_self(void) {
  static char only;
  return (pthread_t)&only;
}
static inline int pthread_equal(pthread_t a, pthread_t b) {
  return a == b;
}

static inline int besom_web_no_lock(const void *lock) {
  (void)lock;
  return 0;
}
#define pthread_mutex_init(mutex, attributes) besom_web_no_lock(mutex)
#define pthread_mutex_destroy(mutex) besom_web_no_lock(mutex)
#define pthread_mutex_lock(mutex) besom_web_no_lock(mutex)
#define pthread_mutex_trylock(mutex) besom_web_no_lock(mutex)
#define pthread_mutex_unlock(mutex) besom_web_no_lock(mutex)

#define pthread_rwlockattr_init(attributes) besom_web_no_lock(attributes)
#define pthread_rwlockattr_destroy(attributes) besom_web_no_lock(attributes)
#define pthread_rwlock_init(lock, attributes) besom_web_no_lock(lock)
#define pthread_rwlock_destroy(lock) besom_web_no_lock(lock)
#define pthread_rwlock_rdlock(lock) besom_web_no_lock(lock)
#define pthread_rwlock_tryrdlock(lock) besom_web_no_lock(lock)
#define pthread_rwlock_wrlock(lock) besom_web_no_lock(lock)
#define pthread_rwlock_unlock(lock) besom_web_no_lock(lock)

#define pthread_condattr_init(attributes) besom_web_no_lock(attributes)
#define pthread_condattr_destroy(attributes) besom_web_no_lock(attributes)
#define pthread_condattr_setclock(attributes, clock) besom_web_no_lock(attributes)
#define pthread_cond_init(condition, attributes) besom_web_no_lock(condition)
#define pthread_cond_destroy(condition) besom_web_no_lock(condition)
#define pthread_cond_broadcast(condition) besom_web_no_lock(condition)
#define pthread_cond_signal(condition) besom_web_no_lock(condition)
static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  (void)condition, (void)mutex;
  return EINVAL;
}
static inline int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                         const struct timespec *until) {
  (void)condition, (void)mutex, (void)until;
  return ETIMEDOUT;
}

#endif
