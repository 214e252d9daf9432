/* module.c - the extension module besom._besom. */
#include "module.h"

#include "errors.h"
#include "filter.h"
#include "guard.h"

static PyObject *version(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyUnicode_FromString(besom_version());
}

static PyMethodDef functions[] = {
    {"version", version, METH_NOARGS, NULL},
    {"kinds", besom__py_kinds, METH_NOARGS, NULL},
    {"build", besom__py_build, METH_VARARGS, NULL},
    {"memory_store", besom__py_memory_store, METH_NOARGS, NULL},
    {"raise_status", besom__py_raise_status, METH_VARARGS, NULL},
    {0},
};

static int execute(PyObject *module) {
  struct module_state *state = PyModule_GetState(module);
  if (besom__py_add_errors(module, state) || besom__py_add_filter(module, state) ||
      besom__py_add_guard(module, state) || besom__py_add_published_set(module) ||
      besom__py_add_fixes(module))
    return -1;
  return 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  struct module_state *state = PyModule_GetState(module);
  Py_VISIT(state->error);
  for (int i = 0; i < STATUSES; i++) Py_VISIT(state->errors[i]);
  Py_VISIT(state->filter);
  Py_VISIT(state->guard);
  Py_VISIT(state->from_buffer);
  return 0;
}

/* Objects that outlive the module raise exceptions, too: those are kept until it is freed. */
static void release(void *module) {
  struct module_state *state = PyModule_GetState(module);
  Py_CLEAR(state->error);
  for (int i = 0; i < STATUSES; i++) Py_CLEAR(state->errors[i]);
  Py_CLEAR(state->filter);
  Py_CLEAR(state->guard);
  Py_CLEAR(state->from_buffer);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

PyModuleDef besom__py_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "besom._besom",
    .m_doc = "The part of besom that is written in C.",
    .m_size = sizeof(struct module_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_free = release,
};

struct module_state *besom__py_state(PyTypeObject *type) {
  for (; type; type = PyType_GetSlot(type, Py_tp_base)) {
    if (!(PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE)) break;
    PyObject *module = PyType_GetModule(type);
    if (module && PyModule_GetDef(module) == &besom__py_module) return PyModule_GetState(module);
    PyErr_Clear();
  }
  PyErr_SetString(PyExc_TypeError, "not a type of besom");
  return NULL;
}

PyMODINIT_FUNC PyInit__besom(void) {
  return PyModuleDef_Init(&besom__py_module);
}
