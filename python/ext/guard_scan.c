/* guard_scan.c - all records of a guard, or those of a range. */
#include "errors.h"
#include "guard.h"

#include <stdlib.h>

/* Records, copied while the GIL is released: lengths, then bytes, one record after the other. */
struct records {
  char *data;
  size_t len, room, n;
  bool with_values;
};

struct lengths {
  size_t key, value;
};

static besom_status append(struct records *records, const void *data, size_t len) {
  if (records->room - records->len < len) {
    size_t room = records->len + len + records->room / 2;
    char *grown = realloc(records->data, room);
    if (!grown) return BESOM_NO_MEMORY;
    records->data = grown;
    records->room = room;
  }
  if (len) memcpy(records->data + records->len, data, len);
  records->len += len;
  return BESOM_OK;
}

static besom_status visit(void *ctx, besom_bytes key, besom_bytes value) {
  struct records *records = ctx;
  struct lengths lengths = {key.len, records->with_values ? value.len : 0};
  besom_status status = append(records, &lengths, sizeof lengths);
  if (status == BESOM_OK) status = append(records, key.data, lengths.key);
  if (status == BESOM_OK) status = append(records, value.data, lengths.value);
  records->n += status == BESOM_OK;
  return status;
}

static PyObject *make_record(const struct records *records, size_t *at) {
  struct lengths lengths;
  memcpy(&lengths, records->data + *at, sizeof lengths);
  const char *key = records->data + *at + sizeof lengths;
  *at += sizeof lengths + lengths.key + lengths.value;
  if (!records->with_values) return PyBytes_FromStringAndSize(key, (Py_ssize_t)lengths.key);
  return Py_BuildValue("(y#y#)", key, (Py_ssize_t)lengths.key, key + lengths.key,
                       (Py_ssize_t)lengths.value);
}

static PyObject *make_list(const struct records *records) {
  PyObject *list = PyList_New((Py_ssize_t)records->n);
  size_t at = 0;
  for (size_t i = 0; list && i < records->n; i++) {
    PyObject *record = make_record(records, &at);
    if (!record || PyList_SetItem(list, (Py_ssize_t)i, record)) Py_CLEAR(list);
  }
  return list;
}

/* _scan(from, to, with_values): bounds are keys or None. */
static int convert_bound(PyObject *object, struct key *key, besom_bytes *bound) {
  key->has_view = false;
  if (object == Py_None) return 0;
  if (besom__py_key(object, key)) return -1;
  *bound = (besom_bytes){key->data ? key->data : "", key->len};
  return 0;
}

static PyObject *scan(struct guard *self, besom_bytes from, besom_bytes to, bool with_values) {
  struct records records = {.with_values = with_values};
  if (besom__py_guard_enter(self)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_guard_scan(self->g, from, to, visit, &records);
  Py_END_ALLOW_THREADS besom__py_guard_leave(self);
  PyObject *list =
      status == BESOM_OK ? make_list(&records) : besom__py_raise(self->state, status, NULL);
  free(records.data);
  return list;
}

PyObject *besom__py_guard_scan(PyObject *object, PyObject *args) {
  struct guard *self = (struct guard *)object;
  PyObject *from_object, *to_object;
  int with_values;
  if (!PyArg_ParseTuple(args, "OOp", &from_object, &to_object, &with_values)) return NULL;
  struct key from_key, to_key;
  besom_bytes from = {0}, to = {0};
  if (convert_bound(from_object, &from_key, &from)) return NULL;
  PyObject *list = NULL;
  if (!convert_bound(to_object, &to_key, &to)) {
    list = scan(self, from, to, with_values);
    key_release(&to_key);
  }
  key_release(&from_key);
  return list;
}
