/* keys.c - one Python object as a key. */
#include "keys.h"

static int refuse(PyObject *object) {
  PyObject *name = PyType_GetName(Py_TYPE(object));
  if (name) PyErr_Format(PyExc_TypeError, "a key is str, bytes, int or a buffer, not %U", name);
  Py_XDECREF(name);
  return -1;
}

static int number_of_int(PyObject *number, uint64_t *out) {
  int overflow;
  long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (small == -1 && PyErr_Occurred()) return -1;
  *out = (uint64_t)small;
  if (!overflow) return 0;
  if (overflow > 0) {
    *out = PyLong_AsUnsignedLongLong(number);
    if (*out != UINT64_MAX || !PyErr_Occurred()) return 0;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_OverflowError, "%R is no key: an integer key is from -2**63 to 2**64 - 1",
               number);
  return -1;
}

static int number_of(PyObject *object, uint64_t *number) {
  if (PyLong_Check(object)) return number_of_int(object, number);
  PyObject *index = PyNumber_Index(object);
  if (!index) return -1;
  int failed = number_of_int(index, number);
  Py_DECREF(index);
  return failed;
}

static int key_of_number(PyObject *object, struct key *key) {
  uint64_t number;
  if (number_of(object, &number)) return -1;
  key->number = besom_u64(number);
  key->data = key->number.bytes;
  key->len = sizeof key->number.bytes;
  return 0;
}

static int key_of_buffer(PyObject *object, struct key *key) {
  if (PyObject_GetBuffer(object, &key->view, PyBUF_FULL_RO)) return -1;
  key->has_view = true;
  /* NumPy's scalars are buffers without dimensions. */
  bool is_scalar = key->view.ndim == 0;
  if (!is_scalar && PyBuffer_IsContiguous(&key->view, 'C')) {
    key->data = key->view.buf;
    key->len = (size_t)key->view.len;
    return 0;
  }
  key_release(key);
  key->has_view = false;
  if (is_scalar) return PyIndex_Check(object) ? key_of_number(object, key) : refuse(object);
  PyErr_SetString(PyExc_BufferError, "a key must be a contiguous buffer: copy it with bytes()");
  return -1;
}

int besom__py_key(PyObject *object, struct key *key) {
  key->has_view = false;
  if (PyUnicode_Check(object)) {
    Py_ssize_t len;
    key->data = PyUnicode_AsUTF8AndSize(object, &len);
    key->len = (size_t)len;
    return key->data ? 0 : -1;
  }
  if (PyBytes_Check(object)) {
    key->data = PyBytes_AsString(object);
    key->len = (size_t)PyBytes_Size(object);
    return 0;
  }
  if (PyLong_Check(object)) return key_of_number(object, key);
  if (PyObject_CheckBuffer(object)) return key_of_buffer(object, key);
  return PyIndex_Check(object) ? key_of_number(object, key) : refuse(object);
}

PyObject *besom__py_key_name(PyObject *bytes) {
  PyObject *text = PyUnicode_DecodeUTF8(PyBytes_AsString(bytes), PyBytes_Size(bytes), "strict");
  if (text) return text;
  PyErr_Clear();
  return Py_NewRef(bytes);
}

int besom__py_convert_u64(PyObject *object, void *out) {
  if (object == Py_None) return 1;
  PyObject *index = PyNumber_Index(object);
  if (!index) return 0;
  unsigned long long value = PyLong_AsUnsignedLongLong(index);
  Py_DECREF(index);
  if (value == ULLONG_MAX && PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%R is out of range: 0 to 2**64 - 1", object);
    return 0;
  }
  *(uint64_t *)out = value;
  return 1;
}
