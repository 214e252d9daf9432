/* filter.h - the type Filter. */
#ifndef BESOM_PYTHON_FILTER_H
#define BESOM_PYTHON_FILTER_H

#include "lock.h"

struct filter {
  PyObject_HEAD besom_filter *f; /* never NULL */
  struct module_state *state;
  struct lock lock;
};

/* A new object of a subclass of Filter, which takes over f, also if it fails (NULL). */
PyObject *besom__py_filter_new(struct module_state *state, PyTypeObject *type, besom_filter *f);

/* The object as a filter of this module, borrowed. NULL: a TypeError is set. */
struct filter *besom__py_filter_check(struct module_state *state, PyObject *object);

/* filter_whole.c: calls that read or write whole filters. */
PyObject *besom__py_filter_save(PyObject *self, PyObject *path);
PyObject *besom__py_filter_to_bytes(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_from_bytes(PyObject *type, PyObject *data);
PyObject *besom__py_filter_open(PyObject *type, PyObject *args);
PyObject *besom__py_filter_merge(PyObject *self, PyObject *other);
PyObject *besom__py_filter_ior(PyObject *self, PyObject *other);
PyObject *besom__py_filter_diff(PyObject *self, PyObject *fresh);
PyObject *besom__py_filter_patch(PyObject *self, PyObject *data);
PyObject *besom__py_filter_like(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_clear(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_resize(PyObject *self, PyObject *slots);
PyObject *besom__py_filter_rekey(PyObject *self, PyObject *args);

/* filter_stats.c */
Py_ssize_t besom__py_filter_len(PyObject *self);
PyObject *besom__py_filter_stats(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_validate(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_layers(PyObject *self, PyObject *unused);
PyObject *besom__py_filter_abilities(PyObject *self, void *unused);
PyObject *besom__py_kinds(PyObject *module, PyObject *unused);

#endif
