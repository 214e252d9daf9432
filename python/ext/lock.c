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
  lock->first = NULL;
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

static bool is_busy(const struct lock *lock, bool write) {
  return lock->writer || (write && lock->readers);
}

static struct waiter **find_end(struct lock *lock) {
  struct waiter **end = &lock->first;
  while (*end) end = &(*end)->next;
  return end;
}

static void remove_waiter(struct lock *lock, const struct waiter *waiter) {
  struct waiter **at = &lock->first;
  while (*at != waiter) at = &(*at)->next;
  *at = waiter->next;
}

int besom__py_lock_wait(struct lock *lock, bool write) {
  if (forget_parent(lock)) return -1;
  struct waiter self = {NULL};
  *find_end(lock) = &self;
  int failed = 0;
  while (!failed && (lock->first != &self || is_busy(lock, write))) failed = wait_for_release(lock);
  remove_waiter(lock, &self);
  if (lock->first) tell_release(lock); /* the next one may have its turn, too */
  return failed;
}

static int enter(struct lock *lock, bool write) {
  if (forget_parent(lock)) return -1;
  return lock->first || is_busy(lock, write) ? besom__py_lock_wait(lock, write) : 0;
}

int besom__py_lock_enter_read(struct lock *lock) {
  if (enter(lock, false)) return -1;
  lock->readers++;
  return 0;
}

int besom__py_lock_enter_write(struct lock *lock) {
  if (enter(lock, true)) return -1;
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

int besom__py_lock_enter_both(struct lock *first, bool write, struct lock *second) {
  if (enter(first, write) || enter(second, false)) return -1;
  while (is_busy(first, write) || is_busy(second, false)) {
    if (is_busy(first, write) && besom__py_lock_wait(first, write)) return -1;
    if (is_busy(second, false) && besom__py_lock_wait(second, false)) return -1;
  }
  if (write)
    first->writer = true;
  else
    first->readers++;
  second->readers++;
  return 0;
}
