/* key_array.c - many keys in one Python object: buffers and sequences. */
#include "key_array.h"

#include "keys.h"

/* -------------------------------------------------------------- buffers */

static int refuse_format(const Py_buffer *view) {
  PyErr_Format(PyExc_TypeError,
               "an array of %d dimensions and format \"%s\" is not an array of keys: use integers "
               "of 2 to 8 bytes in native byte order, fixed-width bytes, rows of bytes, or a list",
               view->ndim, view->format ? view->format : "B");
  return -1;
}

/* 'q', or 'Q' if unsigned, for every integer format; 0 for others. */
static char integer_sign(const char *format) {
  if (*format == '@' || *format == '=' || *format == (PY_LITTLE_ENDIAN ? '<' : '>')) format++;
  if (!*format || format[1]) return 0;
  if (strchr("hilqn", *format)) return 'q';
  return strchr("HILQN", *format) ? 'Q' : 0;
}

static uint64_t widen(const uint8_t *from, size_t size, bool is_signed) {
  if (size == 4) {
    uint32_t x;
    memcpy(&x, from, 4);
    return is_signed ? (uint64_t)(int64_t)(int32_t)x : x;
  }
  uint16_t x;
  memcpy(&x, from, 2);
  return is_signed ? (uint64_t)(int64_t)(int16_t)x : x;
}

static int widen_all(struct key_array *array, const uint8_t *bytes, size_t size, bool is_signed) {
  uint64_t *numbers = PyMem_Malloc(array->n * sizeof *numbers + 1);
  if (!numbers) return PyErr_NoMemory(), -1;
  for (size_t i = 0; i < array->n; i++) numbers[i] = widen(bytes + i * size, size, is_signed);
  PyMem_Free(array->copy);
  array->copy = numbers;
  array->numbers = numbers;
  return 0;
}

static int open_numbers(struct key_array *array, const uint8_t *bytes, bool is_signed) {
  size_t size = (size_t)array->view.itemsize;
  array->form = KEYS_NUMBERS;
  if (size != 8) {
    if (size != 2 && size != 4) return refuse_format(&array->view);
    return widen_all(array, bytes, size, is_signed);
  }
  array->numbers = (const uint64_t *)(const void *)bytes;
  if ((uintptr_t)bytes % _Alignof(uint64_t) == 0) return 0;
  void *copy = PyMem_Malloc(array->n * size + 1);
  if (!copy) return PyErr_NoMemory(), -1;
  memcpy(copy, bytes, array->n * size);
  PyMem_Free(array->copy);
  array->numbers = array->copy = copy;
  return 0;
}

static int open_fixed(struct key_array *array, const uint8_t *bytes, size_t width, bool strip) {
  array->form = KEYS_FIXED;
  array->bytes = bytes;
  array->width = width;
  array->strip = strip;
  return 0;
}

static int open_elements(struct key_array *array, const uint8_t *bytes) {
  const Py_buffer *view = &array->view;
  const char *format = view->format ? view->format : "B";
  char last = format[strlen(format) - 1];
  size_t width = (size_t)view->itemsize;
  array->n = (size_t)view->shape[0];
  if (view->ndim == 2 && width == 1) return open_fixed(array, bytes, (size_t)view->shape[1], false);
  if (view->ndim != 1) return refuse_format(view);
  if (last == 's' || last == 'x') return open_fixed(array, bytes, width, last == 's');
  char sign = integer_sign(format);
  return sign ? open_numbers(array, bytes, sign == 'q') : refuse_format(view);
}

static int open_view(struct key_array *array) {
  Py_buffer *view = &array->view;
  if (view->ndim < 1 || view->ndim > 2) return refuse_format(view);
  if (PyBuffer_IsContiguous(view, 'C')) return open_elements(array, view->buf);
  array->copy = PyMem_Malloc((size_t)view->len + 1);
  if (!array->copy) return PyErr_NoMemory(), -1;
  if (PyBuffer_ToContiguous(array->copy, view, view->len, 'C')) return -1;
  return open_elements(array, array->copy);
}

/* NumPy's arrays of str (format "20w") and of objects ("O"): their elements are keys. */
static bool has_object_elements(const Py_buffer *view) {
  const char *format = view->format ? view->format : "B";
  char last = format[strlen(format) - 1];
  return view->ndim == 1 && (last == 'w' || last == 'O');
}

static int open_objects(PyObject *object, struct key_array *array);

static int open_buffer(PyObject *object, struct key_array *array) {
  if (PyObject_GetBuffer(object, &array->view, PyBUF_FULL_RO)) return -1;
  array->has_view = true;
  if (!has_object_elements(&array->view)) return open_view(array);
  PyBuffer_Release(&array->view);
  array->has_view = false;
  PyObject *list = PyObject_CallMethod(object, "tolist", NULL);
  if (!list) return -1;
  int failed = open_objects(list, array);
  Py_DECREF(list);
  return failed;
}

/* -------------------------------------------------------------- sequences */

enum { AHEAD = 12 }; /* objects that are prefetched */

/* Copies a key that is only borrowed: a buffer, whose owner may change it. */
static int keep_copy(struct key_array *array, const struct key *key, besom_bytes *out) {
  if (!array->kept && !(array->kept = PyList_New(0))) return -1;
  PyObject *copy = PyBytes_FromStringAndSize(key->data, (Py_ssize_t)key->len);
  if (!copy) return -1;
  int failed = PyList_Append(array->kept, copy);
  *out = (besom_bytes){PyBytes_AsString(copy), key->len};
  Py_DECREF(copy); /* the list has it */
  return failed;
}

static int open_object(struct key_array *array, PyObject *object, size_t i, besom_u64_key *numbers,
                       size_t *n_numbers) {
  if (Py_IS_TYPE(object, &PyUnicode_Type)) {
    Py_ssize_t len;
    array->keys[i].data = PyUnicode_AsUTF8AndSize(object, &len);
    array->keys[i].len = (size_t)len;
    return array->keys[i].data ? 0 : -1;
  }
  struct key key;
  if (besom__py_key(object, &key)) return -1;
  int failed = 0;
  array->keys[i] = (besom_bytes){key.data, key.len};
  if (key.data == key.number.bytes) {
    numbers[i] = key.number;
    array->keys[i].data = numbers[i].bytes;
    ++*n_numbers;
  } else if (key.has_view) {
    failed = keep_copy(array, &key, &array->keys[i]);
  }
  key_release(&key);
  return failed;
}

static uint64_t number_of(const besom_u64_key *key) {
  uint64_t number = 0;
  for (unsigned i = 0; i < 8; i++) number |= (uint64_t)key->bytes[i] << 8 * i;
  return number;
}

/* If all keys are integers, they are an array of numbers: queries of these are faster. */
static void use_numbers(struct key_array *array, besom_u64_key *numbers) {
  uint64_t *out = (uint64_t *)(void *)numbers;
  for (size_t i = 0; i < array->n; i++) out[i] = number_of(&numbers[i]);
  array->form = KEYS_NUMBERS;
  array->numbers = out;
}

static int open_tuple(struct key_array *array) {
  array->n = (size_t)PyTuple_Size(array->tuple);
  array->form = KEYS_OBJECTS;
  array->copy = PyMem_Malloc(array->n * (sizeof *array->keys + sizeof(besom_u64_key)) + 1);
  if (!array->copy) return PyErr_NoMemory(), -1;
  array->keys = array->copy;
  besom_u64_key *numbers = (besom_u64_key *)(array->keys + array->n);
  size_t n_numbers = 0;
  for (size_t i = 0; i < array->n; i++) {
    if (i + AHEAD < array->n)
      __builtin_prefetch(PyTuple_GetItem(array->tuple, (Py_ssize_t)(i + AHEAD)));
    PyObject *object = PyTuple_GetItem(array->tuple, (Py_ssize_t)i);
    if (open_object(array, object, i, numbers, &n_numbers)) return -1;
  }
  if (n_numbers && n_numbers == array->n) use_numbers(array, numbers);
  return 0;
}

/* A str is a sequence of str, but one key. */
static int open_objects(PyObject *object, struct key_array *array) {
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "an array of keys is expected, not one key: use a list");
    return -1;
  }
  array->tuple = PySequence_Tuple(object);
  return array->tuple ? open_tuple(array) : -1;
}

/* -------------------------------------------------------------- all forms */

static bool is_flat_buffer(PyObject *object) {
  return PyObject_CheckBuffer(object) && !PyBytes_Check(object) && !PyByteArray_Check(object);
}

static bool has_attribute(PyObject *object, const char *name) {
  PyObject *value = PyObject_GetAttrString(object, name);
  if (!value) PyErr_Clear();
  Py_XDECREF(value);
  return value;
}

bool besom__py_key_array_is_flat(PyObject *object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return false;
  return is_flat_buffer(object) || has_attribute(object, "__arrow_c_array__");
}

static int open_any(PyObject *object, struct key_array *array) {
  if (PyList_Check(object) || PyTuple_Check(object)) return open_objects(object, array);
  if (is_flat_buffer(object)) return open_buffer(object, array);
  if (has_attribute(object, "__arrow_c_array__")) return besom__py_key_array_arrow(object, array);
  if (!has_attribute(object, "to_numpy")) return open_objects(object, array);
  PyObject *values = PyObject_CallMethod(object, "to_numpy", NULL); /* a Series of pandas */
  if (!values) return -1;
  int failed = is_flat_buffer(values) ? open_buffer(values, array) : open_objects(values, array);
  Py_DECREF(values);
  return failed;
}

int besom__py_key_array_open(PyObject *object, struct key_array *array) {
  *array = (struct key_array){0};
  int failed = open_any(object, array);
  if (failed) besom__py_key_array_close(array);
  return failed;
}

void besom__py_key_array_close(struct key_array *array) {
  if (array->has_view) PyBuffer_Release(&array->view);
  array->has_view = false;
  Py_CLEAR(array->tuple);
  Py_CLEAR(array->kept);
  PyMem_Free(array->copy);
  array->copy = NULL;
}

int besom__py_key_array_refuse_nulls(const struct key_array *array) {
  for (size_t i = 0; array->validity && i < array->n; i++)
    if (!key_array_has(array, i)) {
      PyErr_Format(PyExc_ValueError, "element %zu of the Arrow array is null: drop the nulls", i);
      return -1;
    }
  return 0;
}

static besom_bytes get_fixed(const struct key_array *array, size_t i) {
  besom_bytes key = {array->bytes + i * array->width, array->width};
  const uint8_t *bytes = key.data;
  if (array->strip)
    while (key.len && !bytes[key.len - 1]) key.len--;
  return key;
}

static besom_bytes get_slice(const struct key_array *array, size_t i) {
  uint64_t from, to;
  if (array->form == KEYS_OFFSETS32) {
    const int32_t *offsets = array->offsets;
    from = (uint64_t)offsets[i], to = (uint64_t)offsets[i + 1];
  } else {
    const int64_t *offsets = array->offsets;
    from = (uint64_t)offsets[i], to = (uint64_t)offsets[i + 1];
  }
  return (besom_bytes){array->bytes + from, to - from};
}

void besom__py_key_array_get(const struct key_array *array, size_t from, size_t n, besom_bytes *out,
                             besom_u64_key *scratch) {
  switch (array->form) {
  case KEYS_NUMBERS:
    for (size_t i = 0; i < n; i++) {
      scratch[i] = besom_u64(array->numbers[from + i]);
      out[i] = (besom_bytes){scratch[i].bytes, sizeof scratch[i].bytes};
    }
    break;
  case KEYS_FIXED:
    for (size_t i = 0; i < n; i++) out[i] = get_fixed(array, from + i);
    break;
  case KEYS_OFFSETS32:
  case KEYS_OFFSETS64:
    for (size_t i = 0; i < n; i++) out[i] = get_slice(array, from + i);
    break;
  case KEYS_OBJECTS:
    memcpy(out, array->keys + from, n * sizeof *out);
    break;
  }
}
