/* store_rocksdb.c - the extension module besom._store_rocksdb. */
#include "store_module.h"

/* open(directory, cache_bytes, direct_reads) */
static PyObject *open_store(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *directory;
  unsigned long long cache_bytes;
  int direct_reads;
  if (!PyArg_ParseTuple(args, "O&Kp", PyUnicode_FSConverter, &directory, &cache_bytes,
                        &direct_reads))
    return NULL;
  besom_rocksdb_options options = {.cache_bytes = cache_bytes, .direct_reads = direct_reads};
  const char *name = PyBytes_AsString(directory);
  const char *reason = NULL;
  besom_store *store = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS errno = 0;
  status = besom_store_rocksdb(name, &options, &reason, &store);
  Py_END_ALLOW_THREADS int error = errno;
  Py_DECREF(directory);
  return store_result(status, error, reason, store);
}

static PyMethodDef functions[] = {{"open", open_store, METH_VARARGS, NULL}, {0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "besom._store_rocksdb",
                                 .m_methods = functions};

PyMODINIT_FUNC PyInit__store_rocksdb(void) {
  return PyModuleDef_Init(&definition);
}
