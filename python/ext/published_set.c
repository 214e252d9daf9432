/*
 * published_set.c - the type PublishedSet: the copy of a published set.
 *
 * Every call keeps the GIL, but for opening: reports and queries cannot meet, so there is no lock.
 */
#include "besom_set.h"
#include "errors.h"
#include "key_array.h"
#include "keys.h"
#include "module.h"

struct published_set {
  PyObject_HEAD besom_set *set; /* never NULL */
  struct module_state *state;
};

static void published_set_raise_open(struct module_state *state, besom_status status,
                                     const char *directory) {
  besom__py_raise(state, status, status == BESOM_IO ? directory : NULL);
}

/* PublishedSetBase(directory, flags) */
static PyObject *published_set_create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  struct module_state *state = besom__py_state(type);
  PyObject *encoded;
  unsigned flags;
  (void)keywords;
  if (!state || !PyArg_ParseTuple(args, "O&I", PyUnicode_FSConverter, &encoded, &flags))
    return NULL;
  const char *directory = PyBytes_AsString(encoded);
  besom_set *set = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_set_open(directory, flags, &set);
  Py_END_ALLOW_THREADS if (status != BESOM_OK) published_set_raise_open(state, status, directory);
  Py_DECREF(encoded);
  if (status != BESOM_OK) return NULL;
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct published_set *self = (struct published_set *)allocate(type, 0);
  if (!self) {
    besom_set_close(set);
    return NULL;
  }
  self->set = set;
  self->state = state;
  return (PyObject *)self;
}

static void published_set_free(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  besom_set_close(((struct published_set *)object)->set);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static int published_set_contains(PyObject *object, PyObject *key) {
  struct published_set *self = (struct published_set *)object;
  struct key k;
  if (besom__py_key(key, &k)) return -1;
  int found = besom_set_contains(self->set, k.data, k.len);
  key_release(&k);
  return found;
}

static PyObject *published_set_report(PyObject *object, PyObject *key) {
  struct published_set *self = (struct published_set *)object;
  struct key k;
  if (besom__py_key(key, &k)) return NULL;
  besom_status status = besom_set_report(self->set, k.data, k.len);
  key_release(&k);
  if (status == BESOM_OK || status == BESOM_EVICTED) Py_RETURN_NONE;
  return besom__py_raise_for_key(self->state, status, key);
}

enum { KEYS_AT_ONCE = 8192 };

struct set_batch {
  besom_bytes keys[KEYS_AT_ONCE];
  besom_u64_key numbers[KEYS_AT_ONCE];
  uint64_t bitmap[KEYS_AT_ONCE / 64];
};

/* Appends the answers for all keys to a list. */
static int published_set_ask(struct published_set *self, const struct key_array *array,
                             struct set_batch *batch, PyObject *list) {
  for (size_t from = 0; from < array->n; from += KEYS_AT_ONCE) {
    size_t n = array->n - from < KEYS_AT_ONCE ? array->n - from : KEYS_AT_ONCE;
    if (PyErr_CheckSignals()) return -1;
    besom__py_key_array_get(array, from, n, batch->keys, batch->numbers);
    besom_status status = besom_set_contains_many(self->set, batch->keys, n, batch->bitmap);
    if (status != BESOM_OK) return besom__py_raise(self->state, status, NULL), -1;
    for (size_t i = 0; i < n; i++) {
      bool yes = batch->bitmap[i / 64] >> (i % 64) & 1 && key_array_has(array, from + i);
      if (PyList_Append(list, yes ? Py_True : Py_False)) return -1;
    }
  }
  return 0;
}

static PyObject *published_set_contains_many(PyObject *object, PyObject *keys) {
  struct key_array array;
  if (besom__py_key_array_open(keys, false, &array)) return NULL;
  struct set_batch *batch = PyMem_Malloc(sizeof *batch);
  PyObject *list = batch ? PyList_New(0) : PyErr_NoMemory();
  if (list && published_set_ask((struct published_set *)object, &array, batch, list))
    Py_CLEAR(list);
  PyMem_Free(batch);
  besom__py_key_array_close(&array);
  return list;
}

static PyObject *published_set_info(PyObject *object, PyObject *unused) {
  besom_set_information info = {0};
  (void)unused;
  besom_set_info(((struct published_set *)object)->set, &info);
  return Py_BuildValue("{s:s,s:s,s:K,s:L,s:K,s:K,s:K}", "name", info.name, "kind", info.kind,
                       "sequence", (unsigned long long)info.sequence, "expires",
                       (long long)info.expires, "shards", (unsigned long long)info.shards, "keys",
                       (unsigned long long)info.keys, "bytes", (unsigned long long)info.bytes);
}

static Py_ssize_t published_set_len(PyObject *object) {
  besom_set_information info = {0};
  besom_set_info(((struct published_set *)object)->set, &info);
  return (Py_ssize_t)info.keys;
}

static PyMethodDef methods[] = {
    {"report", published_set_report, METH_O,
     "report(self, key, /)\n--\n\n"
     "Report a false positive: this version answers no to the key from now on, in this object.\n\n"
     "The caller has made sure that the key is absent now: a later version may have it.\n"},
    {"contains_many", published_set_contains_many, METH_O,
     "contains_many(self, keys, /)\n--\n\n"
     "A list of bool: which of the keys may be members. keys: see Filter.contains_many.\n"},
    {"_info", published_set_info, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of besom.PublishedSet that is written in C."},
    {Py_tp_new, published_set_create},
    {Py_tp_dealloc, published_set_free},
    {Py_tp_methods, methods},
    {Py_sq_contains, published_set_contains},
    {Py_sq_length, published_set_len},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "besom._besom.PublishedSetBase",
    .basicsize = sizeof(struct published_set),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int besom__py_add_published_set(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
  int failed = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
  Py_XDECREF(type);
  return failed;
}
