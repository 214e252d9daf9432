/* store_lmdb.c - the extension module besom._store_lmdb. */
#include "store_module.h"

/* open(directory, map_size, read_ahead) */
static PyObject *open_store(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *directory;
  unsigned long long map_size;
  int read_ahead;
  if (!PyArg_ParseTuple(args, "O&Kp", PyUnicode_FSConverter, &directory, &map_size, &read_ahead))
    return NULL;
  besom_lmdb_options options = {.map_size = map_size, .read_ahead = read_ahead};
  const char *name = PyBytes_AsString(directory);
  const char *reason = NULL;
  besom_store *store = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS errno = 0;
  status = besom_store_lmdb(name, &options, &reason, &store);
  Py_END_ALLOW_THREADS int error = errno;
  Py_DECREF(directory);
  return store_result(status, error, reason, store);
}

static PyMethodDef functions[] = {{"open", open_store, METH_VARARGS, NULL}, {0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "besom._store_lmdb",
                                 .m_methods = functions};

PyMODINIT_FUNC PyInit__store_lmdb(void) {
  return PyModuleDef_Init(&definition);
}
