/* lock.c - the reader-writer lock of an object. */
#include "lock.h"

#include <time.h>
#include <unistd.h>

enum { NANOSECONDS = 1000000000, POLL = 50000000 }; /* signals are looked for so often */

static void init_waiting(struct lock *lock) {
  pthread_mutex_init(&lock->mutex, NULL);
  pthread_cond_init(&lock->changed, NULL);
  lock->pid = getpid();
}

void besom__py_lock_init(struct lock *lock, struct module_state *state) {
  *lock = (struct lock){.state = state};
  init_waiting(lock);
}

void besom__py_lock_destroy(struct lock *lock) {
  if (lock->pid != getpid()) return; /* threads of the parent may be inside */
  pthread_cond_destroy(&lock->changed);
  pthread_mutex_destroy(&lock->mutex);
}

/* In a child process the holders do not exist. */
static int forget_parent(struct lock *lock) {
  if (lock->pid == getpid()) return 0;
  lock->readers = 0;
  lock->waiting_writers = 0;
  if (lock->writer) {
    PyErr_SetString(lock->state->errors[BESOM_BUSY],
                    "another thread was changing this object when the process was forked: create "
                    "or open it in the child process");
    return -1;
  }
  init_waiting(lock);
  return 0;
}

/* Waits without the GIL until a long call has left, but not longer than POLL. */
static int wait_for_release(struct lock *lock) {
  pthread_mutex_lock(&lock->mutex);
  uint64_t seen = lock->releases;
  pthread_mutex_unlock(&lock->mutex);
  Py_BEGIN_ALLOW_THREADS struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += POLL;
  until.tv_sec += until.tv_nsec / NANOSECONDS;
  until.tv_nsec %= NANOSECONDS;
  pthread_mutex_lock(&lock->mutex);
  int late = 0;
  while (lock->releases == seen && !late)
    late = pthread_cond_timedwait(&lock->changed, &lock->mutex, &until);
  pthread_mutex_unlock(&lock->mutex);
  Py_END_ALLOW_THREADS return PyErr_CheckSignals();
}

static void tell_release(struct lock *lock) {
  pthread_mutex_lock(&lock->mutex);
  lock->releases++;
  pthread_cond_broadcast(&lock->changed);
  pthread_mutex_unlock(&lock->mutex);
}

int besom__py_lock_wait_read(struct lock *lock) {
  while (lock->writer)
    if (forget_parent(lock) || wait_for_release(lock)) return -1;
  return 0;
}

int besom__py_lock_wait_write(struct lock *lock) {
  if (forget_parent(lock)) return -1;
  int failed = 0;
  lock->waiting_writers++;
  while (!failed && (lock->writer || lock->readers)) failed = wait_for_release(lock);
  lock->waiting_writers--;
  if (failed && !lock->waiting_writers) tell_release(lock); /* readers need not wait any more */
  return failed;
}

int besom__py_lock_enter_read(struct lock *lock) {
  while (lock->writer || lock->waiting_writers)
    if (forget_parent(lock) || wait_for_release(lock)) return -1;
  if (forget_parent(lock)) return -1;
  lock->readers++;
  return 0;
}

int besom__py_lock_enter_write(struct lock *lock) {
  if (besom__py_lock_wait_write(lock)) return -1;
  lock->writer = true;
  return 0;
}

void besom__py_lock_leave_read(struct lock *lock) {
  lock->readers--;
  tell_release(lock);
}

void besom__py_lock_leave_write(struct lock *lock) {
  lock->writer = false;
  tell_release(lock);
}

static struct lock *busy_one(struct lock *first, bool write, struct lock *second) {
  if (first->writer || (write && first->readers)) return first;
  return second->writer ? second : NULL;
}

int besom__py_lock_enter_both(struct lock *first, bool write, struct lock *second) {
  if (forget_parent(first) || forget_parent(second)) return -1;
  int failed = 0;
  struct lock *busy;
  first->waiting_writers += write;
  while (!failed && (busy = busy_one(first, write, second))) failed = wait_for_release(busy);
  first->waiting_writers -= write;
  if (failed) {
    tell_release(first);
    return -1;
  }
  if (write)
    first->writer = true;
  else
    first->readers++;
  second->readers++;
  return 0;
}
