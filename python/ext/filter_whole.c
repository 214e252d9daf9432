/* filter_whole.c - calls that read or write whole filters. All of them release the GIL. */
#include "errors.h"
#include "filter.h"
#include "key_array.h"
#include "keys.h"
#include "sources.h"

#include <stdlib.h>

static PyObject *wrap(struct filter *self, besom_status status, besom_filter *f) {
  if (status != BESOM_OK) return besom__py_raise(self->state, status, NULL);
  return besom__py_filter_new(self->state, Py_TYPE((PyObject *)self), f);
}

/* -------------------------------------------------------------- bytes */

/* Saved bytes, in memory of malloc: the GIL is not held while they are written. */
struct saved {
  char *data;
  size_t len, room;
};

static besom_status write_saved(void *ctx, const void *data, size_t len) {
  struct saved *saved = ctx;
  if (saved->room - saved->len < len) {
    size_t room = saved->len + len + saved->room / 2;
    char *grown = realloc(saved->data, room);
    if (!grown) return BESOM_NO_MEMORY;
    saved->data = grown;
    saved->room = room;
  }
  if (len) memcpy(saved->data + saved->len, data, len);
  saved->len += len;
  return BESOM_OK;
}

static PyObject *take_saved(struct filter *self, besom_status status, struct saved *saved) {
  PyObject *bytes = status == BESOM_OK
                        ? PyBytes_FromStringAndSize(saved->data, (Py_ssize_t)saved->len)
                        : besom__py_raise(self->state, status, NULL);
  free(saved->data);
  return bytes;
}

PyObject *besom__py_filter_to_bytes(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  struct saved saved = {0};
  besom_status status;
  if (besom__py_lock_enter_read(&self->lock)) return NULL;
  Py_BEGIN_ALLOW_THREADS status =
      besom_save(self->f, &(besom_sink){.write = write_saved, .ctx = &saved});
  Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  return take_saved(self, status, &saved);
}

PyObject *besom__py_filter_from_bytes(PyObject *object, PyObject *data) {
  PyTypeObject *type = (PyTypeObject *)object;
  struct module_state *state = besom__py_state(type);
  Py_buffer view;
  if (!state || PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) return NULL;
  besom_filter *f;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_load(view.buf, (size_t)view.len, NULL, &f);
  Py_END_ALLOW_THREADS PyBuffer_Release(&view);
  if (status != BESOM_OK) return besom__py_raise(state, status, NULL);
  return besom__py_filter_new(state, type, f);
}

/* -------------------------------------------------------------- files */

PyObject *besom__py_filter_save(PyObject *object, PyObject *path) {
  struct filter *self = (struct filter *)object;
  PyObject *encoded;
  if (!PyUnicode_FSConverter(path, &encoded)) return NULL;
  const char *name = PyBytes_AsString(encoded);
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!besom__py_lock_enter_read(&self->lock)) {
    Py_BEGIN_ALLOW_THREADS status = besom_save_file(self->f, name);
    Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  }
  PyObject *result = Py_None;
  Py_INCREF(result);
  if (status != BESOM_OK) {
    Py_CLEAR(result);
    besom__py_raise(self->state, status, status == BESOM_IO ? name : NULL);
  }
  Py_DECREF(encoded);
  return result;
}

static void raise_open(struct module_state *state, besom_status status, const char *name,
                       const besom_fault *fault) {
  if (status == BESOM_CORRUPT && fault->what)
    PyErr_Format(state->errors[status], "%s: %s, at byte %llu", name, fault->what,
                 (unsigned long long)fault->offset);
  else
    besom__py_raise(state, status, status == BESOM_IO ? name : NULL);
}

/* _open(path, flags) */
PyObject *besom__py_filter_open(PyObject *object, PyObject *args) {
  PyTypeObject *type = (PyTypeObject *)object;
  struct module_state *state = besom__py_state(type);
  PyObject *encoded;
  unsigned flags;
  if (!state || !PyArg_ParseTuple(args, "O&I", PyUnicode_FSConverter, &encoded, &flags))
    return NULL;
  const char *name = PyBytes_AsString(encoded);
  besom_fault fault = {0};
  besom_open_options options = {.flags = flags, .fault = &fault};
  besom_filter *f = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_open(name, &options, &f);
  Py_END_ALLOW_THREADS if (status != BESOM_OK) raise_open(state, status, name, &fault);
  Py_DECREF(encoded);
  return status == BESOM_OK ? besom__py_filter_new(state, type, f) : NULL;
}

/* -------------------------------------------------------------- two filters */

static int enter_pair(struct filter *self, bool write, struct filter *other) {
  if (self != other) return besom__py_lock_enter_both(&self->lock, write, &other->lock);
  return write ? besom__py_lock_enter_write(&self->lock) : besom__py_lock_enter_read(&self->lock);
}

static void leave_pair(struct filter *self, bool write, struct filter *other) {
  if (write)
    besom__py_lock_leave_write(&self->lock);
  else
    besom__py_lock_leave_read(&self->lock);
  if (self != other) besom__py_lock_leave_read(&other->lock);
}

PyObject *besom__py_filter_merge(PyObject *object, PyObject *other_object) {
  struct filter *self = (struct filter *)object;
  struct filter *other = besom__py_filter_check(self->state, other_object);
  if (!other || enter_pair(self, false, other)) return NULL;
  besom_filter *merged = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_merge(self->f, other->f, &merged);
  Py_END_ALLOW_THREADS leave_pair(self, false, other);
  return wrap(self, status, merged);
}

PyObject *besom__py_filter_ior(PyObject *object, PyObject *other_object) {
  struct filter *self = (struct filter *)object;
  struct filter *other = besom__py_filter_check(self->state, other_object);
  if (!other || enter_pair(self, true, other)) return NULL;
  besom_filter *merged = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_merge(self->f, other->f, &merged);
  if (status == BESOM_OK) {
    besom_free(self->f);
    self->f = merged;
  }
  Py_END_ALLOW_THREADS leave_pair(self, true, other);
  return status == BESOM_OK ? Py_NewRef(object) : besom__py_raise(self->state, status, NULL);
}

PyObject *besom__py_filter_diff(PyObject *object, PyObject *fresh_object) {
  struct filter *self = (struct filter *)object;
  struct filter *fresh = besom__py_filter_check(self->state, fresh_object);
  if (!fresh || enter_pair(self, false, fresh)) return NULL;
  struct saved saved = {0};
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status =
      besom_diff(self->f, fresh->f, &(besom_sink){.write = write_saved, .ctx = &saved});
  Py_END_ALLOW_THREADS leave_pair(self, false, fresh);
  return take_saved(self, status, &saved);
}

PyObject *besom__py_filter_patch(PyObject *object, PyObject *data) {
  struct filter *self = (struct filter *)object;
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) return NULL;
  besom_filter *patched = NULL;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!besom__py_lock_enter_read(&self->lock)) {
    Py_BEGIN_ALLOW_THREADS status = besom_patch(self->f, view.buf, (size_t)view.len, &patched);
    Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  }
  PyBuffer_Release(&view);
  if (status == BESOM_CORRUPT && !PyErr_Occurred())
    return besom__py_raise(self->state, status, "not a patch of Filter.diff, or damaged");
  return wrap(self, status, patched);
}

PyObject *besom__py_filter_like(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  besom_filter *empty = NULL;
  if (lock_read_now(&self->lock)) return NULL;
  besom_status status = besom_create_like(self->f, &empty);
  return wrap(self, status, empty);
}

PyObject *besom__py_filter_clear(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  if (besom__py_lock_enter_write(&self->lock)) return NULL;
  besom_filter *empty = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS if (besom_abilities(self->f) & BESOM_CAN_INSERT) status =
      besom_create_like(self->f, &empty);
  else status = besom_insert(self->f, "", 0); /* READ_ONLY or UNSUPPORTED */
  if (empty) {
    besom_free(self->f);
    self->f = empty;
  }
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, NULL);
}

/* -------------------------------------------------------------- new tables */

PyObject *besom__py_filter_resize(PyObject *object, PyObject *slots_object) {
  struct filter *self = (struct filter *)object;
  uint64_t slots = 0;
  if (!besom__py_convert_u64(slots_object, &slots)) return NULL;
  if (besom__py_lock_enter_write(&self->lock)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_resize(self->f, slots, NULL);
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  if (status == BESOM_OK) return Py_NewRef(Py_None);
  if (status != BESOM_INVALID) return besom__py_raise(self->state, status, NULL);
  PyErr_Format(self->state->errors[status], "slots is %R: stats().slots is what the filter has now",
               slots_object);
  return NULL;
}

static besom_status rekey(struct filter *self, struct key_array *yes, struct key_array *no,
                          const uint8_t *seed) {
  struct array_source members, absent;
  besom_source yes_source = besom__py_array_source(&members, yes);
  besom_source no_source = besom__py_array_source(&absent, no);
  if (besom__py_lock_enter_write(&self->lock)) return BESOM_BUSY; /* with an exception */
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status =
      besom_rekey(self->f, &yes_source, no->n ? &no_source : NULL, seed, NULL);
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  return status;
}

/* _rekey(yes, no, seed): all keys are converted first, because no Python code may run inside. */
PyObject *besom__py_filter_rekey(PyObject *object, PyObject *args) {
  struct filter *self = (struct filter *)object;
  PyObject *yes_object, *no_object;
  const char *seed;
  Py_ssize_t seed_len;
  if (!PyArg_ParseTuple(args, "OOz#", &yes_object, &no_object, &seed, &seed_len)) return NULL;
  if (seed && seed_len != 16) {
    PyErr_SetString(PyExc_ValueError, "seed has 16 bytes");
    return NULL;
  }
  struct key_array yes, no;
  if (besom__py_key_array_open(yes_object, false, &yes)) return NULL;
  int failed = besom__py_key_array_open(no_object, false, &no);
  besom_status status = BESOM_INVALID;
  if (!failed) {
    failed = besom__py_key_array_refuse_nulls(&yes) || besom__py_key_array_refuse_nulls(&no);
    if (!failed) status = rekey(self, &yes, &no, (const uint8_t *)seed);
    besom__py_key_array_close(&no);
  }
  besom__py_key_array_close(&yes);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return failed ? NULL : besom__py_raise(self->state, status, NULL);
}
