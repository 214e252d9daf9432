/* maplet.h - the methods of a filter with values per key: what besom.Map is made of (_map.py). */
#ifndef BESOM_PYTHON_MAPLET_H
#define BESOM_PYTHON_MAPLET_H

#include "module.h"

PyObject *besom__py_values(PyObject *self, PyObject *key);
PyObject *besom__py_insert_value(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *besom__py_remove_value(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *besom__py_adapt_value(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *besom__py_replace_value(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *besom__py_values_many(PyObject *self, PyObject *keys);
PyObject *besom__py_insert_values(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *besom__py_rekey_pairs(PyObject *self, PyObject *args);
PyObject *besom__py_note(PyObject *self, PyObject *unused);
PyObject *besom__py_set_note(PyObject *self, PyObject *note);

#endif
