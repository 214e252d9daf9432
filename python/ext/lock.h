/*
 * lock.h - the reader-writer lock of an object.
 *
 * All members but the mutex and the condition change only while the GIL is held. So a short call,
 * which keeps the GIL, takes nothing: it looks whether a long call is inside. A long call enters,
 * releases the GIL, works, takes the GIL again and leaves. A call that has to wait releases the GIL
 * meanwhile. Signals are handled while it waits, so that KeyboardInterrupt ends it.
 *
 * Calls that wait are served in the order of their arrival, and a long call does not pass them.
 *
 * After a fork, the threads that were inside are gone. Readers are forgotten. A writer leaves an
 * object that may be half changed: every later call in the child raises besom.BusyError.
 */
#ifndef BESOM_PYTHON_LOCK_H
#define BESOM_PYTHON_LOCK_H

#include "module.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct waiter {
  struct waiter *next;
};

struct lock {
  unsigned readers; /* long readers inside */
  bool writer;      /* a long writer is inside */
  struct waiter *first;
  pid_t pid;
  struct module_state *state;
  pthread_mutex_t mutex; /* of the next two */
  pthread_cond_t changed;
  uint64_t releases;
};

void besom__py_lock_init(struct lock *lock, struct module_state *state);
void besom__py_lock_destroy(struct lock *lock);

/* Waits until it is this call's turn, and reading, or changing, is allowed while it has the GIL. */
int besom__py_lock_wait(struct lock *lock, bool write);

/* Short calls. 0, or -1 with an exception. */
static inline int lock_read_now(struct lock *lock) {
  return lock->writer ? besom__py_lock_wait(lock, false) : 0;
}
static inline int lock_write_now(struct lock *lock) {
  return lock->writer || lock->readers ? besom__py_lock_wait(lock, true) : 0;
}

/* Long calls. 0, or -1 with an exception: then the call is not inside. */
int besom__py_lock_enter_read(struct lock *lock);
int besom__py_lock_enter_write(struct lock *lock);
void besom__py_lock_leave_read(struct lock *lock);
void besom__py_lock_leave_write(struct lock *lock);

/*
 * Enters two locks at once: `second` for reading, `first` for reading or for writing. Neither is
 * held while waiting for the other. The locks must differ.
 */
int besom__py_lock_enter_both(struct lock *first, bool write, struct lock *second);

#endif
