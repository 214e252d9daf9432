/*
 * fixes.c - the type Fixes: a file of `besom fix LIST --fixes FILE`. It never changes, so that it
 * has no lock.
 */
#include "besom_fixes.h"

#include <errno.h>
#include <unistd.h>

#include "errors.h"
#include "filter.h"
#include "keys.h"
#include "module.h"

struct fixes {
  PyObject_HEAD besom_fixes *fixes; /* never NULL */
  struct module_state *state;
};

static void *fixes_raise(struct module_state *state, besom_status status, const char *path) {
  if (status == BESOM_CORRUPT)
    return besom__py_raise(
        state, status,
        "not a file of fixes, which besom fix --fixes writes, or the list is damaged");
  if (status == BESOM_INCOMPATIBLE)
    return besom__py_raise(state, status,
                           "the fixes are for another version of the list, or for another list. If "
                           "their keys are still absent: besom fix LIST --fixes FILE --again");
  return besom__py_raise(state, status, status == BESOM_IO ? path : NULL);
}

/* Of both files, the one that errno is about. */
static const char *fixes_blamed(const char *file, const char *list) {
  int error = errno;
  const char *blamed = access(list, R_OK) == 0 ? file : list;
  errno = error;
  return blamed;
}

/* FixesBase(path, list) */
static PyObject *fixes_create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  struct module_state *state = besom__py_state(type);
  PyObject *path = NULL, *list = NULL;
  (void)keywords;
  if (!state ||
      !PyArg_ParseTuple(args, "O&O&", PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &list)) {
    Py_XDECREF(path);
    return NULL;
  }
  const char *file = PyBytes_AsString(path), *of = PyBytes_AsString(list);
  besom_fixes *fixes = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_fixes_open(file, of, &fixes);
  Py_END_ALLOW_THREADS if (status != BESOM_OK) fixes_raise(state, status, fixes_blamed(file, of));
  Py_DECREF(path);
  Py_DECREF(list);
  if (status != BESOM_OK) return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct fixes *self = (struct fixes *)allocate(type, 0);
  if (!self) {
    besom_fixes_close(fixes);
    return NULL;
  }
  self->fixes = fixes;
  self->state = state;
  return (PyObject *)self;
}

static void fixes_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  besom_fixes_close(((struct fixes *)object)->fixes);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static int fixes_has(PyObject *object, PyObject *key) {
  struct key k;
  if (besom__py_key(key, &k)) return -1;
  int found = besom_fixes_has(((struct fixes *)object)->fixes, k.data, k.len);
  key_release(&k);
  return found;
}

/* Of a filter: a name of a list of domains is asked for its parents, too. */
static int fixes_ask_filter(struct fixes *self, struct filter *members, PyObject *key) {
  struct key k;
  if (besom__py_key(key, &k)) return -1;
  int found = lock_read_now(&members->lock);
  if (!found) found = besom_fixes_contains(self->fixes, members->f, k.data, k.len);
  key_release(&k);
  return found;
}

static PyObject *fixes_contains(PyObject *object, PyObject *args) {
  struct fixes *self = (struct fixes *)object;
  PyObject *members, *key;
  int found;
  if (!PyArg_ParseTuple(args, "OO", &members, &key)) return NULL;
  if (PyObject_IsInstance(members, (PyObject *)self->state->filter) == 1) {
    found = fixes_ask_filter(self, (struct filter *)members, key);
  } else {
    found = PySequence_Contains(members, key);
    int fixed = found == 1 ? fixes_has(object, key) : 0;
    if (fixed) found = fixed < 0 ? -1 : 0;
  }
  return found < 0 ? NULL : PyBool_FromLong(found);
}

static PyObject *fixes_info(PyObject *object, PyObject *unused) {
  besom_fixes_information info;
  (void)unused;
  besom_fixes_info(((struct fixes *)object)->fixes, &info);
  return Py_BuildValue("(ss)", info.name, info.version);
}

static Py_ssize_t fixes_len(PyObject *object) {
  besom_fixes_information info;
  besom_fixes_info(((struct fixes *)object)->fixes, &info);
  return (Py_ssize_t)info.keys;
}

static PyMethodDef methods[] = {
    {"contains", fixes_contains, METH_VARARGS,
     "contains(self, members, key, /)\n--\n\n"
     "`key in members`, but False if the key is fixed. members: the Filter or PublishedSet that\n"
     "the fixes are for. A name of a list of domains is asked for its next parent then.\n"},
    {"_info", fixes_info, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of besom.Fixes that is written in C."},
    {Py_tp_new, fixes_create},
    {Py_tp_dealloc, fixes_free},
    {Py_tp_methods, methods},
    {Py_sq_contains, fixes_has},
    {Py_sq_length, fixes_len},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "besom._besom.FixesBase",
    .basicsize = sizeof(struct fixes),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int besom__py_add_fixes(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
  int failed = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
  Py_XDECREF(type);
  return failed;
}
