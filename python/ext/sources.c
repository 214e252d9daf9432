/* sources.c - Python objects as streams of keys. */
#include "sources.h"

/* -------------------------------------------------------------- arrays */

static besom_status array_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  struct array_source *source = ctx;
  if (source->at == source->n) {
    size_t left = source->array->n - source->next;
    if (!left) return BESOM_END;
    source->n = left < CHUNK ? left : CHUNK;
    besom__py_key_array_get(source->array, source->next, source->n, source->keys, source->numbers);
    source->next += source->n;
    source->at = 0;
  }
  *key = source->keys[source->at++];
  return BESOM_OK;
}

static besom_status array_rewind(void *ctx) {
  struct array_source *source = ctx;
  source->next = source->at = source->n = 0;
  return BESOM_OK;
}

besom_source besom__py_array_source(struct array_source *source, const struct key_array *array) {
  source->array = array;
  array_rewind(source);
  return (besom_source){array_next, array_rewind, array->n, source};
}

/* -------------------------------------------------------------- calls that come back */

void besom__py_call_end(struct python_call *call) {
  PyEval_RestoreThread(call->thread);
  if (call->type) PyErr_Restore(call->type, call->value, call->traceback);
  call->type = call->value = call->traceback = NULL;
}

static void enter_python(struct python_call *call) {
  PyEval_RestoreThread(call->thread);
}

/* Releases the GIL again. False: there is an exception, which is kept. */
static bool leave_python(struct python_call *call) {
  bool failed = PyErr_Occurred();
  if (failed && !call->type) PyErr_Fetch(&call->type, &call->value, &call->traceback);
  PyErr_Clear();
  call->thread = PyEval_SaveThread();
  return !failed;
}

bool besom__py_tick(void *ctx, uint64_t done, uint64_t total) {
  struct python_call *call = ctx;
  if (call->type) return false;
  bool goes_on = true;
  enter_python(call);
  if (!PyErr_CheckSignals() && call->progress && call->progress != Py_None) {
    PyObject *answer = PyObject_CallFunction(call->progress, "KK", (unsigned long long)done,
                                             (unsigned long long)total);
    goes_on = answer != Py_False;
    Py_XDECREF(answer);
  }
  return leave_python(call) && goes_on;
}

/* -------------------------------------------------------------- iterables */

static void clear_chunk(struct python_source *source) {
  for (size_t i = 0; i < source->n; i++) {
    key_release(&source->chunk[i]);
    Py_DECREF(source->objects[i]);
  }
  source->at = source->n = 0;
}

static int find_weight(struct python_source *source, PyObject *object, uint64_t *weight) {
  *weight = 1;
  if (!source->weights) return 0;
  PyObject *value = PyObject_GetItem(source->weights, object);
  if (!value) return -1;
  int converted = besom__py_convert_u64(value, weight);
  Py_DECREF(value);
  return converted ? 0 : -1;
}

/* Converts up to CHUNK keys. -1: an exception is set, and the keys before it are dropped. */
static int fill_chunk(struct python_source *source) {
  source->before += source->n;
  clear_chunk(source);
  if (PyErr_CheckSignals()) return -1;
  PyObject *object;
  while (source->n < CHUNK && (object = PyIter_Next(source->iterator))) {
    size_t i = source->n;
    if (find_weight(source, object, &source->weight[i]) ||
        besom__py_key(object, &source->chunk[i])) {
      besom__py_name_element(source->before + i);
      Py_DECREF(object);
      return -1;
    }
    source->objects[source->n++] = object;
  }
  return PyErr_Occurred() ? -1 : 0;
}

static besom_status source_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct python_source *source = ctx;
  if (source->at == source->n) {
    enter_python(source->call);
    (void)fill_chunk(source);
    if (!leave_python(source->call)) return BESOM_CANCELLED;
    if (!source->n) return BESOM_END;
  }
  size_t i = source->at++;
  const struct key *k = &source->chunk[i];
  *key = (besom_bytes){k->data, k->len};
  *weight = source->weight[i];
  return BESOM_OK;
}

static besom_status source_rewind(void *ctx) {
  struct python_source *source = ctx;
  enter_python(source->call);
  clear_chunk(source);
  source->before = 0;
  PyObject *iterator = PyObject_GetIter(source->origin);
  if (iterator) {
    Py_DECREF(source->iterator);
    source->iterator = iterator;
  }
  return leave_python(source->call) ? BESOM_OK : BESOM_CANCELLED;
}

/* An iterable that is its own iterator can be read once. */
static int open_iterable(struct python_source *source, bool can_rewind) {
  source->iterator = PyObject_GetIter(source->origin);
  if (!source->iterator) return -1;
  bool once = source->iterator == source->origin;
  if (PyList_Check(source->origin) || (once && can_rewind)) {
    PyObject *copy = PySequence_Tuple(source->origin);
    Py_CLEAR(source->iterator);
    if (!copy) return -1;
    Py_DECREF(source->origin);
    source->origin = copy;
    source->iterator = PyObject_GetIter(copy);
    if (!source->iterator) return -1;
    once = false;
  }
  Py_ssize_t n = once ? 0 : PyObject_Size(source->origin);
  if (n < 0) PyErr_Clear();
  source->source =
      (besom_source){source_next, once ? NULL : source_rewind, n > 0 ? (uint64_t)n : 0, source};
  return 0;
}

static int open_source(struct python_source *source, bool can_rewind, bool weighted) {
  PyObject *object = source->origin;
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "an iterable of keys is expected, not one key: use a list");
    return -1;
  }
  if (weighted && PyDict_Check(object)) source->weights = object;
  source->is_array = besom__py_key_array_is_flat(object);
  if (!source->is_array) return open_iterable(source, can_rewind);
  if (besom__py_key_array_open(object, false, &source->array)) {
    source->is_array = false;
    return -1;
  }
  source->source = besom__py_array_source(&source->from_array, &source->array);
  return besom__py_key_array_refuse_nulls(&source->array);
}

struct python_source *besom__py_source_open(struct python_call *call, PyObject *object,
                                            bool can_rewind, bool weighted) {
  struct python_source *source = PyMem_Calloc(1, sizeof *source);
  if (!source) return (void *)PyErr_NoMemory();
  source->call = call;
  source->origin = Py_NewRef(object);
  if (!open_source(source, can_rewind, weighted)) return source;
  besom__py_source_close(source);
  return NULL;
}

void besom__py_source_close(struct python_source *source) {
  if (!source) return;
  clear_chunk(source);
  if (source->is_array) besom__py_key_array_close(&source->array);
  Py_XDECREF(source->iterator);
  Py_DECREF(source->origin);
  PyMem_Free(source);
}
