/* batch.h - the methods of a filter that take many keys. */
#ifndef BESOM_PYTHON_BATCH_H
#define BESOM_PYTHON_BATCH_H

#include "module.h"

PyObject *besom__py_contains_many(PyObject *self, PyObject *keys);
PyObject *besom__py_add_many(PyObject *self, PyObject *keys);

#endif
