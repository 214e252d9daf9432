/* build.c - besom.build: a filter of all keys of an iterable. */
#include "config.h"
#include "errors.h"
#include "filter.h"
#include "keys.h"
#include "sources.h"

struct build {
  struct python_call call;
  struct config config;
  struct python_source *yes, *no;
  besom_filter *like; /* an empty filter of its own: the given one may change meanwhile */
  besom_filter *made;
  besom_status status;
};

static int copy_shape(struct module_state *state, struct build *build, PyObject *like_object) {
  if (like_object == Py_None) return 0;
  struct filter *like = besom__py_filter_check(state, like_object);
  if (!like || lock_read_now(&like->lock)) return -1;
  besom_status status = besom_create_like(like->f, &build->like);
  if (status != BESOM_OK) besom__py_raise(state, status, NULL);
  return status == BESOM_OK ? 0 : -1;
}

static void run(struct build *build) {
  besom_progress progress = {besom__py_tick, &build->call};
  besom_input input = {
      .yes = &build->yes->source,
      .no = build->no ? &build->no->source : NULL,
      .like = build->like,
      .progress = &progress,
  };
  call_begin(&build->call);
  build->status = besom_build(&build->config.c, &input, &build->made);
  besom__py_call_end(&build->call);
}

/* The sizes are known now, so that besom_config_check can tell what is wrong. */
static void raise_build(struct module_state *state, struct build *build) {
  besom_config config = build->config.c;
  if (!config.capacity && !config.slots) config.capacity = build->yes->source.size_hint;
  if (!config.capacity && !config.slots) config.capacity = 1;
  bool refused = build->status == BESOM_UNSUPPORTED && config.flags & BESOM_SET &&
                 besom_config_check(&config, NULL, 0) == BESOM_UNSUPPORTED;
  if (build->status == BESOM_FULL)
    besom__py_raise(state, build->status,
                    "the filter is full: pass a larger capacity, or leave it out");
  else if (PyErr_Occurred() || build->like || (build->status == BESOM_UNSUPPORTED && !refused))
    besom__py_raise(state, build->status, NULL);
  else
    besom__py_raise_config(state, build->status, &config);
}

/* -------------------------------------------------------------- a key on both lists */

/* Adds the keys of a source to a set of bytes, or finds one of them in it: *found is new. */
static int build_scan(struct python_source *source, PyObject *set, bool find, PyObject **found) {
  besom_bytes key;
  uint64_t weight;
  int failed = 0;
  while (!failed && !*found) {
    besom_status status;
    call_begin(source->call);
    status = source->source.next(source->source.ctx, &key, &weight);
    besom__py_call_end(source->call);
    if (status != BESOM_OK) return PyErr_Occurred() ? -1 : 0;
    PyObject *bytes = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.len);
    if (!bytes) return -1;
    int there = find ? PySet_Contains(set, bytes) : PySet_Add(set, bytes);
    failed = there < 0;
    if (find && there > 0)
      *found = bytes;
    else
      Py_DECREF(bytes);
  }
  return failed ? -1 : 0;
}

static int build_rewind(struct python_source *source) {
  if (!source->source.rewind) return -1;
  call_begin(source->call);
  besom_status status = source->source.rewind(source->source.ctx);
  besom__py_call_end(source->call);
  return status == BESOM_OK ? 0 : -1;
}

/* Reads both lists again, to name the key. An iterator that was read once cannot be. */
static void build_raise_member(struct module_state *state, struct build *build) {
  PyObject *set = PySet_New(NULL), *found = NULL;
  bool both = set && !build_rewind(build->no) && !build_scan(build->no, set, false, &found) &&
              !build_rewind(build->yes) && !build_scan(build->yes, set, true, &found);
  PyObject *name = both && found ? besom__py_key_name(found) : NULL;
  Py_XDECREF(found);
  Py_XDECREF(set);
  if (name && !PyErr_Occurred())
    PyErr_Format(state->errors[BESOM_IS_MEMBER], "key %R is on both lists, yes and no", name);
  else
    besom__py_raise(state, BESOM_IS_MEMBER, NULL);
  Py_XDECREF(name);
}

/* -------------------------------------------------------------- building */

static PyObject *build_take(struct module_state *state, PyTypeObject *type, struct build *build) {
  if (build->like || !besom__py_config_check_made(state, &build->config, build->made))
    return besom__py_filter_new(state, type, build->made);
  besom_free(build->made);
  return NULL;
}

static PyObject *build_filter(struct module_state *state, PyTypeObject *type, PyObject *yes,
                              PyObject *no, PyObject *like, struct build *build) {
  const besom_config *c = &build->config.c;
  bool size_known = c->capacity || c->slots || like != Py_None;
  if (copy_shape(state, build, like)) return NULL;
  build->yes = besom__py_source_open(&build->call, yes, !size_known, false);
  if (!build->yes) return NULL;
  if (no != Py_None && !(build->no = besom__py_source_open(&build->call, no, true, true)))
    return NULL;
  run(build);
  if (build->status == BESOM_OK) return build_take(state, type, build);
  if (build->status == BESOM_IS_MEMBER && build->no && !PyErr_Occurred())
    build_raise_member(state, build);
  else
    raise_build(state, build);
  return NULL;
}

/* build(type, yes, no, like, progress, keywords) */
PyObject *besom__py_build(PyObject *module, PyObject *args) {
  struct module_state *state = PyModule_GetState(module);
  PyObject *type, *yes, *no, *like, *progress, *keywords;
  if (!PyArg_ParseTuple(args, "OOOOOO!", &type, &yes, &no, &like, &progress, &PyDict_Type,
                        &keywords))
    return NULL;
  if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, state->filter)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of besom.Filter is expected");
    return NULL;
  }
  PyObject *empty = PyTuple_New(0), *copy = PyDict_Copy(keywords), *result = NULL;
  struct build build = {.call = {.progress = progress}};
  if (empty && copy && !besom__py_config(state, FOR_BUILD, empty, copy, &build.config))
    result = build_filter(state, (PyTypeObject *)type, yes, no, like, &build);
  besom__py_config_close(&build.config);
  besom__py_source_close(build.yes);
  besom__py_source_close(build.no);
  besom_free(build.like);
  Py_XDECREF(empty);
  Py_XDECREF(copy);
  return result;
}
