/* store_redis.c - the extension module besom._store_redis. */
#include "store_module.h"

/* open(address, prefix, timeout_ms, password) */
static PyObject *open_store(PyObject *module, PyObject *args) {
  (void)module;
  const char *address, *prefix, *password;
  unsigned timeout_ms;
  if (!PyArg_ParseTuple(args, "ssIz", &address, &prefix, &timeout_ms, &password)) return NULL;
  besom_redis_options options = {.timeout_ms = timeout_ms, .password = password};
  const char *reason = NULL;
  besom_store *store = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS errno = 0;
  status = besom_store_redis(address, prefix, &options, &reason, &store);
  Py_END_ALLOW_THREADS return store_result(status, errno, reason, store);
}

static PyMethodDef functions[] = {{"open", open_store, METH_VARARGS, NULL}, {0}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "besom._store_redis",
                                 .m_methods = functions};

PyMODINIT_FUNC PyInit__store_redis(void) {
  return PyModuleDef_Init(&definition);
}
