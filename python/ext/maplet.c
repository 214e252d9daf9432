/* maplet.c - candidates of keys, changes of pairs, and batches of both. */
#include "maplet.h"

#include <stdlib.h>

#include "besom_map.h"

#include "errors.h"
#include "filter.h"
#include "key_array.h"
#include "keys.h"
#include "sources.h"

enum { SOME = 32, PART = 4096, TURN = 1 << 20 };

#define PAIRS "keep pairs, or not remove them"

static PyObject *raise_of_pair(struct filter *self, besom_status status, PyObject *key) {
  if (PyErr_Occurred() || (status == BESOM_UNSUPPORTED && lock_read_now(&self->lock))) return NULL;
  if (status == BESOM_UNSUPPORTED) return besom__py_raise_cannot(self->state, self->f, PAIRS);
  return key ? besom__py_raise_call(self->state, status, key, PAIRS)
             : besom__py_raise(self->state, status, NULL);
}

/* -------------------------------------------------------------- one key */

static PyObject *list_of(const uint64_t *values, size_t n) {
  PyObject *list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *number = PyLong_FromUnsignedLongLong(values[i]);
    if (!number || PyList_SetItem(list, (Py_ssize_t)i, number)) Py_CLEAR(list);
  }
  return list;
}

/* Of a key with more candidates than usual. The GIL is held meanwhile. */
static PyObject *list_many(struct filter *self, const struct key *k, size_t room) {
  uint64_t *values = PyMem_Malloc(room * sizeof *values);
  if (!values) return PyErr_NoMemory();
  size_t n = 0;
  besom_status status = besom_get_values(self->f, k->data, k->len, values, room, &n);
  PyObject *list = status == BESOM_OK ? list_of(values, n) : raise_of_pair(self, status, NULL);
  PyMem_Free(values);
  return list;
}

PyObject *besom__py_values(PyObject *object, PyObject *key) {
  struct filter *self = (struct filter *)object;
  uint64_t values[SOME];
  struct key k;
  size_t n = 0;
  PyObject *list = NULL;
  if (besom__py_key(key, &k)) return NULL;
  if (!lock_read_now(&self->lock)) {
    besom_status status = besom_get_values(self->f, k.data, k.len, values, SOME, &n);
    if (status != BESOM_OK)
      raise_of_pair(self, status, NULL);
    else
      list = n > SOME ? list_many(self, &k, n) : list_of(values, n);
  }
  key_release(&k);
  return list;
}

typedef besom_status (*pair_call)(besom_filter *f, const void *key, size_t len, uint64_t value);

static PyObject *change_pair(PyObject *object, PyObject *const *args, Py_ssize_t n,
                             pair_call call) {
  struct filter *self = (struct filter *)object;
  uint64_t value = 0;
  struct key k;
  if (n != 2) {
    PyErr_Format(PyExc_TypeError, "a key and a value are expected (%zd given)", n);
    return NULL;
  }
  if (!besom__py_convert_u64(args[1], &value) || besom__py_key(args[0], &k)) return NULL;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_write_now(&self->lock)) status = call(self->f, k.data, k.len, value);
  key_release(&k);
  if (status == BESOM_OK || status == BESOM_EVICTED) Py_RETURN_NONE;
  return raise_of_pair(self, status, args[0]);
}

PyObject *besom__py_insert_value(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return change_pair(self, args, n, besom_insert_value);
}

PyObject *besom__py_remove_value(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return change_pair(self, args, n, besom_remove_value);
}

PyObject *besom__py_adapt_value(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  return change_pair(self, args, n, besom_adapt_value);
}

PyObject *besom__py_replace_value(PyObject *object, PyObject *const *args, Py_ssize_t n) {
  struct filter *self = (struct filter *)object;
  uint64_t old = 0, value = 0;
  struct key k;
  if (n != 3) {
    PyErr_Format(PyExc_TypeError, "a key and two values are expected (%zd given)", n);
    return NULL;
  }
  if (!besom__py_convert_u64(args[1], &old) || !besom__py_convert_u64(args[2], &value)) return NULL;
  if (besom__py_key(args[0], &k)) return NULL;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_write_now(&self->lock))
    status = besom_replace_value(self->f, k.data, k.len, old, value);
  key_release(&k);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return raise_of_pair(self, status, args[0]);
}

/* -------------------------------------------------------------- batches of inserts */

struct pair_part {
  besom_bytes keys[PART];
  besom_u64_key numbers[PART];
};

static besom_status insert_turn(besom_filter *f, const struct key_array *keys,
                                const uint64_t *values, size_t from, size_t to,
                                struct pair_part *part, size_t *added) {
  besom_status status = BESOM_OK;
  for (; status == BESOM_OK && from < to; from += PART) {
    size_t n = to - from < PART ? to - from : PART, done = 0;
    if (keys->form == KEYS_NUMBERS) {
      status = besom_insert_values_many_u64(f, keys->numbers + from, values + from, n, &done);
    } else {
      besom__py_key_array_get(keys, from, n, part->keys, part->numbers);
      status = besom_insert_values_many(f, part->keys, values + from, n, &done);
    }
    *added += done;
  }
  return status;
}

static PyObject *insert_pairs(struct filter *self, const struct key_array *keys,
                              const struct key_array *values, struct pair_part *part) {
  besom_status status = BESOM_OK;
  size_t added = 0;
  for (size_t from = 0; from < keys->n && status == BESOM_OK; from += TURN) {
    size_t to = keys->n - from < TURN ? keys->n : from + TURN;
    if (PyErr_CheckSignals() || besom__py_lock_enter_write(&self->lock)) {
      besom__py_tell_done(added);
      return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status =
        insert_turn(self->f, keys, values->numbers, from, to, part, &added);
    Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  }
  if (status == BESOM_OK) return PyLong_FromSize_t(added);
  PyObject *name = added < keys->n ? besom__py_key_array_name(keys, added) : NULL;
  raise_of_pair(self, status, name);
  Py_XDECREF(name);
  besom__py_tell_done(added);
  return NULL;
}

/* -1: an exception is set. */
static int check_pairs(const struct key_array *keys, const struct key_array *values) {
  if (values->form != KEYS_NUMBERS && values->n &&
      !(values->form == KEYS_OBJECTS && values->numbers)) {
    PyErr_Format(PyExc_TypeError, "values: an array of integers is expected");
    return -1;
  }
  if (keys->n != values->n) {
    PyErr_Format(PyExc_ValueError, "%zu keys and %zu values", keys->n, values->n);
    return -1;
  }
  return besom__py_key_array_refuse_nulls(keys) || besom__py_key_array_refuse_nulls(values) ? -1
                                                                                            : 0;
}

static PyObject *insert_arrays(struct filter *self, const struct key_array *keys,
                               const struct key_array *values) {
  struct pair_part *part = PyMem_Malloc(sizeof *part);
  if (!part) return PyErr_NoMemory();
  PyObject *result = insert_pairs(self, keys, values, part);
  PyMem_Free(part);
  return result;
}

/* Two arrays of equal length. NULL: an exception is set. */
static PyObject *open_pairs(PyObject *const *args, struct key_array *keys,
                            struct key_array *values) {
  if (besom__py_key_array_open(args[0], false, keys)) return NULL;
  if (!besom__py_key_array_open(args[1], false, values)) {
    if (!check_pairs(keys, values)) return Py_None; /* borrowed */
    besom__py_key_array_close(values);
  }
  besom__py_key_array_close(keys);
  return NULL;
}

PyObject *besom__py_insert_values(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  struct key_array keys, values;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "keys and values are expected");
  if (!open_pairs(args, &keys, &values)) return NULL;
  PyObject *result = insert_arrays((struct filter *)self, &keys, &values);
  besom__py_key_array_close(&values);
  besom__py_key_array_close(&keys);
  return result;
}

/* -------------------------------------------------------------- a new seed */

/* The pairs of two arrays. */
struct array_pairs {
  struct array_source members;
  besom_source keys;
  const uint64_t *values;
  size_t at;
};

static besom_status next_pair(void *ctx, besom_bytes *key, uint64_t *value) {
  struct array_pairs *pairs = ctx;
  besom_status status = pairs->keys.next(pairs->keys.ctx, key, NULL);
  if (status == BESOM_OK) *value = pairs->values[pairs->at++];
  return status;
}

static besom_status rewind_pairs(void *ctx) {
  struct array_pairs *pairs = ctx;
  pairs->at = 0;
  return pairs->keys.rewind(pairs->keys.ctx);
}

static PyObject *rekey_pairs(struct filter *self, const struct key_array *keys,
                             const struct key_array *values, const uint8_t *seed) {
  struct array_pairs pairs = {.values = values->numbers};
  pairs.keys = besom__py_array_source(&pairs.members, keys);
  besom_pair_source source = {next_pair, rewind_pairs, keys->n, &pairs};
  if (besom__py_lock_enter_write(&self->lock)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_rekey_pairs(self->f, &source, seed, NULL);
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->lock);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return raise_of_pair(self, status, NULL);
}

/* _rekey_pairs(keys, values, seed): all are converted first, as by _rekey. */
PyObject *besom__py_rekey_pairs(PyObject *self, PyObject *args) {
  PyObject *arrays[2];
  struct key_array keys, values;
  const char *seed;
  Py_ssize_t seed_len;
  if (!PyArg_ParseTuple(args, "OOz#", &arrays[0], &arrays[1], &seed, &seed_len)) return NULL;
  if (seed && seed_len != 16) return PyErr_Format(PyExc_ValueError, "seed has 16 bytes");
  if (!open_pairs(arrays, &keys, &values)) return NULL;
  PyObject *result = rekey_pairs((struct filter *)self, &keys, &values, (const uint8_t *)seed);
  besom__py_key_array_close(&values);
  besom__py_key_array_close(&keys);
  return result;
}

/* -------------------------------------------------------------- batches of queries */

/* What a batch has found, in memory that grows without the GIL. */
struct found {
  uint64_t *values, *starts; /* starts: one more than keys */
  size_t n, room;
};

static bool more_room(struct found *found) {
  size_t room = 2 * found->room + PART;
  uint64_t *values = realloc(found->values, room * sizeof *values);
  if (!values) return false;
  found->values = values;
  found->room = room;
  return true;
}

static besom_status query_part(const besom_filter *f, const struct key_array *keys, size_t from,
                               size_t n, struct pair_part *part, struct found *found) {
  size_t starts[PART + 1], done = 0;
  if (keys->form != KEYS_NUMBERS) besom__py_key_array_get(keys, from, n, part->keys, part->numbers);
  for (size_t at = 0; at < n; at += done) {
    uint64_t *out = found->values + found->n;
    size_t room = found->room - found->n, left = n - at;
    besom_status status =
        keys->form == KEYS_NUMBERS
            ? besom_get_values_many_u64(f, keys->numbers + from + at, left, out, room, starts,
                                        &done)
            : besom_get_values_many(f, part->keys + at, left, out, room, starts, &done);
    if (status != BESOM_OK) return status;
    for (size_t i = 1; i <= done; i++) found->starts[from + at + i] = found->n + starts[i];
    found->n += starts[done];
    if (done < left && !more_room(found)) return BESOM_NO_MEMORY;
  }
  return BESOM_OK;
}

static besom_status query_turn(const besom_filter *f, const struct key_array *keys, size_t from,
                               size_t to, struct pair_part *part, struct found *found) {
  besom_status status = BESOM_OK;
  for (; status == BESOM_OK && from < to; from += PART)
    status = query_part(f, keys, from, to - from < PART ? to - from : PART, part, found);
  return status;
}

static int query_all(struct filter *self, const struct key_array *keys, struct pair_part *part,
                     struct found *found) {
  besom_status status = BESOM_OK;
  for (size_t from = 0; from < keys->n && status == BESOM_OK; from += TURN) {
    size_t to = keys->n - from < TURN ? keys->n : from + TURN;
    if (PyErr_CheckSignals() || besom__py_lock_enter_read(&self->lock)) return -1;
    Py_BEGIN_ALLOW_THREADS status = query_turn(self->f, keys, from, to, part, found);
    Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  }
  if (status == BESOM_OK) return 0;
  raise_of_pair(self, status, NULL);
  return -1;
}

/* Two byte strings of native 64-bit numbers: where the values of each key begin, and the values. */
static PyObject *query_array(struct filter *self, const struct key_array *keys) {
  struct found found = {.starts = calloc(keys->n + 1, sizeof *found.starts)};
  struct pair_part *part = PyMem_Malloc(sizeof *part);
  PyObject *result = NULL;
  if (!found.starts || !part || !more_room(&found))
    PyErr_NoMemory();
  else if (!query_all(self, keys, part, &found))
    result = Py_BuildValue(
        "(y#y#)", (const char *)found.starts, (Py_ssize_t)((keys->n + 1) * sizeof *found.starts),
        (const char *)found.values, (Py_ssize_t)(found.n * sizeof *found.values));
  free(found.starts);
  free(found.values);
  PyMem_Free(part);
  return result;
}

PyObject *besom__py_values_many(PyObject *self, PyObject *keys) {
  struct key_array array;
  if (besom__py_key_array_open(keys, false, &array)) return NULL;
  PyObject *result =
      besom__py_key_array_refuse_nulls(&array) ? NULL : query_array((struct filter *)self, &array);
  besom__py_key_array_close(&array);
  return result;
}

/* -------------------------------------------------------------- the note */

PyObject *besom__py_note(PyObject *object, PyObject *unused) {
  struct filter *self = (struct filter *)object;
  size_t len;
  (void)unused;
  if (lock_read_now(&self->lock)) return NULL;
  const char *note = besom_note(self->f, &len);
  return PyBytes_FromStringAndSize(note, (Py_ssize_t)len);
}

PyObject *besom__py_set_note(PyObject *object, PyObject *note) {
  struct filter *self = (struct filter *)object;
  char *data;
  Py_ssize_t len;
  if (PyBytes_AsStringAndSize(note, &data, &len) || lock_write_now(&self->lock)) return NULL;
  besom_status status = besom_set_note(self->f, data, (size_t)len);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return raise_of_pair(self, status, NULL);
}
