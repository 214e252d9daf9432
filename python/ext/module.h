/*
 * module.h - the state of the extension module besom._besom, and its types.
 *
 * The module uses the limited API of Python 3.11 and the public headers of besom. It has no global
 * state: every interpreter has a module of its own. An object of a besom type points at the state
 * of its module, which its type keeps alive.
 *
 * Two rules keep Python programs from crashing the process. While the GIL is released, only C
 * memory that the call owns, and buffers that it has exported, are used. And no Python code runs
 * while a call holds the lock of an object (lock.h): all keys are converted before.
 */
#ifndef BESOM_PYTHON_MODULE_H
#define BESOM_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "besom.h"

enum { STATUSES = BESOM_NO_CHECKPOINT + 1 };

struct module_state {
  PyObject *error;            /* besom.Error */
  PyObject *errors[STATUSES]; /* the exception of each status; NULL if it has none */
  PyTypeObject *filter, *guard;
  PyObject *from_buffer; /* numpy.frombuffer, None without NumPy, NULL before it is needed */
};

extern PyModuleDef besom__py_module;

/* The state of the module that defined a type or one of its bases. NULL: an exception is set. */
struct module_state *besom__py_state(PyTypeObject *type);

/* Each adds its types or exceptions to the module. 0, or -1 with an exception. */
int besom__py_add_errors(PyObject *module, struct module_state *state);
int besom__py_add_filter(PyObject *module, struct module_state *state);
int besom__py_add_guard(PyObject *module, struct module_state *state);
int besom__py_add_published_set(PyObject *module);
int besom__py_add_fixes(PyObject *module);

/* The functions of the module that are in other files. */
PyObject *besom__py_build(PyObject *module, PyObject *args);

#endif
