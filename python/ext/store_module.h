/*
 * store_module.h - the extension modules besom._store_lmdb, _store_rocksdb and _store_redis.
 *
 * Each has one function, open, which returns a capsule with a besom_store, or (status, errno,
 * reason). They are modules of their own, so that besom._besom needs none of the databases.
 */
#ifndef BESOM_PYTHON_STORE_MODULE_H
#define BESOM_PYTHON_STORE_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>

#include "besom_store.h"

static void close_capsule(PyObject *capsule) {
  besom_store_close(PyCapsule_GetPointer(capsule, "besom_store"));
}

static PyObject *store_result(besom_status status, int error, const char *reason,
                              besom_store *store) {
  if (status != BESOM_OK)
    return Py_BuildValue("(iiz)", (int)status, status == BESOM_IO ? error : 0, reason);
  PyObject *capsule = PyCapsule_New(store, "besom_store", close_capsule);
  if (!capsule) besom_store_close(store);
  return capsule;
}

#endif
