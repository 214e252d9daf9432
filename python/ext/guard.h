/*
 * guard.h - the type Guard.
 *
 * A guard has three locks (lock.h). `use`: every call is inside as a reader, and close as a writer.
 * `changes`: one change at a time. `batch`: held from the begin of a batch until the thread that
 * began it ends it, or the guard is closed; changes of that thread pass, those of others wait. All
 * calls of the library run without the GIL.
 */
#ifndef BESOM_PYTHON_GUARD_H
#define BESOM_PYTHON_GUARD_H

#include "besom_store.h"
#include "keys.h"
#include "lock.h"

#define STORE_CAPSULE "besom_store"

struct guard {
  PyObject_HEAD besom_guard *g; /* NULL: closed */
  struct module_state *state;
  struct lock use, changes, batch;
  pid_t pid;
  unsigned long batch_thread; /* that began the batch, while batch.writer */
  unsigned misses;
};

/* Begins and ends a call. 0, or -1 with an exception. */
int besom__py_guard_enter(struct guard *self);
void besom__py_guard_leave(struct guard *self);

/* guard_scan.c: _scan(from, to, with_values), a list. */
PyObject *besom__py_guard_scan(PyObject *self, PyObject *args);

/* guard_stats.c */
PyObject *besom__py_guard_stats(PyObject *self, PyObject *unused);
PyObject *besom__py_guard_offenders(PyObject *self, PyObject *unused);
Py_ssize_t besom__py_guard_len(PyObject *self);

/* _besom.memory_store(): a capsule. */
PyObject *besom__py_memory_store(PyObject *module, PyObject *unused);

#endif
