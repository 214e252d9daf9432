/* batch.c - contains_many and add_many. */
#include "batch.h"

#include "errors.h"
#include "filter.h"
#include "key_array.h"

enum {
  PART = 4096,    /* keys per call of the library, a multiple of 64 */
  SHORT = 256,    /* so few keys are not worth releasing the GIL */
  TURN = 1 << 20, /* after so many keys signals are handled, and other threads let in */
  WORDS = PART / 64
};

struct part {
  besom_bytes keys[PART];
  besom_u64_key numbers[PART];
  uint64_t bitmap[WORDS];
};

/* -------------------------------------------------------------- without the GIL */

/* Bit i of the byte becomes byte i of the result, in memory order. */
static void spread_byte(uint8_t bits, uint8_t *out) {
#if PY_LITTLE_ENDIAN
  uint64_t bytes = ((bits & 0x7f) * UINT64_C(0x0002040810204081)) & UINT64_C(0x0101010101010101);
  bytes |= (uint64_t)(bits >> 7) << 56;
  memcpy(out, &bytes, sizeof bytes);
#else
  for (unsigned i = 0; i < 8; i++) out[i] = bits >> i & 1;
#endif
}

static void spread(const uint64_t *bitmap, size_t n, uint8_t *out) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) spread_byte((uint8_t)(bitmap[i / 64] >> i % 64), out + i);
  for (; i < n; i++) out[i] = bitmap[i / 64] >> i % 64 & 1;
}

static besom_status contains_part(const besom_filter *f, const struct key_array *array, size_t from,
                                  size_t n, struct part *part, uint8_t *out) {
  besom_status status;
  if (array->form == KEYS_NUMBERS) {
    status = besom_contains_many_u64(f, array->numbers + from - array->base, n, part->bitmap);
  } else {
    const besom_bytes *keys = part->keys;
    if (array->form == KEYS_OBJECTS)
      keys = array->keys + from - array->base;
    else
      besom__py_key_array_get(array, from, n, part->keys, part->numbers);
    status = besom_contains_many(f, keys, n, part->bitmap);
  }
  spread(part->bitmap, n, out);
  if (array->validity)
    for (size_t i = 0; i < n; i++) out[i] &= key_array_has(array, from + i);
  return status;
}

static besom_status contains_turn(const besom_filter *f, const struct key_array *array, size_t from,
                                  size_t to, struct part *part, uint8_t *out) {
  besom_status status = BESOM_OK;
  for (; status == BESOM_OK && from < to; from += PART) {
    size_t n = to - from < PART ? to - from : PART;
    status = contains_part(f, array, from, n, part, out + from);
  }
  return status;
}

static besom_status add_part(besom_filter *f, const struct key_array *array, size_t from, size_t n,
                             struct part *part, size_t *done) {
  if (array->form == KEYS_NUMBERS)
    return besom_insert_many_u64(f, array->numbers + from - array->base, n, done);
  besom__py_key_array_get(array, from, n, part->keys, part->numbers);
  return besom_insert_many(f, part->keys, n, done);
}

static besom_status add_turn(besom_filter *f, const struct key_array *array, size_t from, size_t to,
                             struct part *part, size_t *added) {
  besom_status status = BESOM_OK;
  for (; status == BESOM_OK && from < to; from += PART) {
    size_t done = 0;
    status = add_part(f, array, from, to - from < PART ? to - from : PART, part, &done);
    *added += done;
  }
  return status;
}

/* -------------------------------------------------------------- with it */

static size_t turn_end(size_t from, size_t n) {
  return n - from < TURN ? n : from + TURN;
}

static besom_status contains_released(struct filter *self, const struct key_array *array,
                                      size_t from, size_t to, struct part *part, uint8_t *out) {
  if (besom__py_lock_enter_read(&self->lock)) return BESOM_BUSY; /* with an exception */
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = contains_turn(self->f, array, from, to, part, out);
  Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  return status;
}

static besom_status contains_short(struct filter *self, const struct key_array *array, size_t from,
                                   size_t to, struct part *part, uint8_t *out) {
  if (lock_read_now(&self->lock)) return BESOM_BUSY; /* with an exception */
  return contains_turn(self->f, array, from, to, part, out);
}

static int contains_all(struct filter *self, struct key_array *array, struct part *part,
                        uint8_t *out) {
  besom_status status = BESOM_OK;
  size_t from = 0, to;
  for (; from < array->n && status == BESOM_OK; from = to) {
    size_t ready;
    if (PyErr_CheckSignals() || besom__py_key_array_convert(array, from, &ready)) return -1;
    to = turn_end(from, from + ready);
    status = to - from <= SHORT ? contains_short(self, array, from, to, part, out)
                                : contains_released(self, array, from, to, part, out);
  }
  if (status != BESOM_OK) besom__py_raise(self->state, status, NULL);
  return status == BESOM_OK ? 0 : -1;
}

/* The exception names the next key, and tells by `done` how many were added. */
static int raise_after(struct filter *self, besom_status status, const struct key_array *array,
                       size_t added) {
  PyObject *name = added < array->n ? besom__py_key_array_name(array, added) : NULL;
  if (status == BESOM_UNSUPPORTED && !lock_read_now(&self->lock))
    besom__py_raise_cannot(self->state, self->f, CANNOT_ADD);
  else if (name)
    besom__py_raise_for_key(self->state, status, name);
  else
    besom__py_raise(self->state, status, NULL);
  Py_XDECREF(name);
  besom__py_tell_done(added);
  return -1;
}

static int add_all(struct filter *self, const struct key_array *array, struct part *part) {
  besom_status status = BESOM_OK;
  size_t added = 0;
  if (array->n <= SHORT) {
    if (lock_write_now(&self->lock)) return -1;
    status = add_turn(self->f, array, 0, array->n, part, &added);
  }
  for (size_t from = 0; array->n > SHORT && from < array->n && status == BESOM_OK; from += TURN) {
    if (PyErr_CheckSignals() || besom__py_lock_enter_write(&self->lock)) {
      besom__py_tell_done(added);
      return -1;
    }
    Py_BEGIN_ALLOW_THREADS status =
        add_turn(self->f, array, from, turn_end(from, array->n), part, &added);
    Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  }
  return status == BESOM_OK ? 0 : raise_after(self, status, array, added);
}

/* -------------------------------------------------------------- results */

/* numpy.frombuffer, or None. */
static PyObject *find_from_buffer(struct module_state *state) {
  if (state->from_buffer) return state->from_buffer;
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *found = numpy ? PyObject_GetAttrString(numpy, "frombuffer") : NULL;
  Py_XDECREF(numpy);
  if (!found) {
    PyErr_Clear();
    found = Py_NewRef(Py_None);
  }
  if (state->from_buffer)
    Py_DECREF(found); /* another thread was first */
  else
    state->from_buffer = found;
  return state->from_buffer;
}

/* The bytes, 0 or 1 each, as an array of bool. */
static PyObject *bool_array(struct module_state *state, PyObject *bytes) {
  PyObject *from_buffer = find_from_buffer(state);
  if (from_buffer != Py_None) return PyObject_CallFunction(from_buffer, "Os", bytes, "?");
  PyObject *view = PyMemoryView_FromObject(bytes);
  if (!view) return NULL;
  PyObject *result = PyObject_CallMethod(view, "cast", "s", "?");
  Py_DECREF(view);
  return result;
}

static PyObject *contains_array(struct filter *self, struct key_array *array) {
  struct part *part = PyMem_Malloc(sizeof *part);
  if (!part) return PyErr_NoMemory();
  PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)array->n);
  PyObject *result = NULL;
  if (bytes && !contains_all(self, array, part, (uint8_t *)PyByteArray_AsString(bytes)))
    result = bool_array(self->state, bytes);
  Py_XDECREF(bytes);
  PyMem_Free(part);
  return result;
}

PyObject *besom__py_contains_many(PyObject *self, PyObject *keys) {
  struct key_array array;
  if (besom__py_key_array_open(keys, true, &array)) return NULL;
  PyObject *result = contains_array((struct filter *)self, &array);
  besom__py_key_array_close(&array);
  return result;
}

PyObject *besom__py_add_many(PyObject *self, PyObject *keys) {
  struct key_array array;
  if (besom__py_key_array_open(keys, false, &array)) return NULL;
  struct part *part = PyMem_Malloc(sizeof *part);
  int failed = -1;
  if (!part)
    PyErr_NoMemory();
  else if (!besom__py_key_array_refuse_nulls(&array))
    failed = add_all((struct filter *)self, &array, part);
  PyMem_Free(part);
  besom__py_key_array_close(&array);
  return failed ? NULL : Py_NewRef(Py_None);
}
