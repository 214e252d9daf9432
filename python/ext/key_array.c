/* key_array.c - many keys in one Python object: buffers and sequences. */
#include "key_array.h"

#include "keys.h"

/* -------------------------------------------------------------- buffers */

static int refuse_format(const Py_buffer *view) {
  const char *format = view->format ? view->format : "B";
  char last = format[strlen(format) - 1];
  if (last == 'd' || last == 'f') {
    PyErr_SetString(PyExc_TypeError, "floats are not keys. A column of integers with gaps, which "
                                     "pandas turns into floats: use astype(\"Int64\")");
    return -1;
  }
  PyErr_Format(PyExc_TypeError,
               "an array of %d dimensions and format \"%s\" is not an array of keys: use integers "
               "of 2 to 8 bytes in native byte order, fixed-width bytes, rows of bytes, or a list",
               view->ndim, format);
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

static int open_objects(PyObject *object, bool lazily, struct key_array *array);

static int open_buffer(PyObject *object, bool lazily, struct key_array *array) {
  if (PyObject_GetBuffer(object, &array->view, PyBUF_FULL_RO)) return -1;
  array->has_view = true;
  if (!has_object_elements(&array->view)) return open_view(array);
  PyBuffer_Release(&array->view);
  array->has_view = false;
  PyObject *list = PyObject_CallMethod(object, "tolist", NULL);
  if (!list) return -1;
  int failed = open_objects(list, lazily, array);
  Py_DECREF(list);
  return failed;
}

/* -------------------------------------------------------------- sequences */

enum { BLOCK = 256 }; /* objects that are prefetched */

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

/* Key i of the window. */
static int convert_object(struct key_array *array, PyObject *object, size_t i, size_t *n_numbers) {
  besom_bytes *out = &array->keys[i];
  if (Py_IS_TYPE(object, &PyUnicode_Type)) {
    Py_ssize_t len;
    out->data = PyUnicode_AsUTF8AndSize(object, &len);
    out->len = (size_t)len;
    return out->data ? 0 : -1;
  }
  struct key key;
  if (besom__py_key(object, &key)) return -1;
  int failed = 0;
  *out = (besom_bytes){key.data, key.len};
  if (key.data == key.number.bytes) {
    array->scratch[i] = key.number;
    out->data = array->scratch[i].bytes;
    ++*n_numbers;
  } else if (key.has_view) {
    failed = keep_copy(array, &key, out);
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
static void use_numbers(struct key_array *array, size_t n) {
  uint64_t *out = (uint64_t *)(void *)array->scratch;
  for (size_t i = 0; i < n; i++) out[i] = number_of(&array->scratch[i]);
  array->form = KEYS_NUMBERS;
  array->numbers = out;
}

int besom__py_name_element(size_t i) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_OverflowError))
    return -1;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_Format(type, "element %zu: %S", i, value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return -1;
}

/* A missing element is any key: its answer is not used. */
static void convert_missing(struct key_array *array, size_t i, size_t *n_numbers) {
  array->scratch[i] = besom_u64(0);
  array->keys[i] = (besom_bytes){array->scratch[i].bytes, sizeof array->scratch[i].bytes};
  ++*n_numbers;
}

static int convert_block(struct key_array *array, PyObject **objects, size_t at, size_t n,
                         size_t *n_numbers) {
  for (size_t i = 0; i < n; i++) {
    if (array->validity && !key_array_has(array, array->base + at + i))
      convert_missing(array, at + i, n_numbers);
    else if (convert_object(array, objects[i], at + i, n_numbers))
      return besom__py_name_element(array->base + at + i);
  }
  return 0;
}

/* The objects of a tuple live as long as it; those of a list may be replaced meanwhile. */
static void get_block(struct key_array *array, PyObject **objects, size_t from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    objects[i] = array->held ? PyList_GetItem(array->tuple, (Py_ssize_t)(from + i))
                             : PyTuple_GetItem(array->tuple, (Py_ssize_t)(from + i));
    __builtin_prefetch(objects[i], 1);
    __builtin_prefetch((char *)objects[i] + 64); /* a str of 20 bytes may be in two lines */
  }
  if (!array->held) return;
  for (size_t i = 0; i < n; i++) Py_INCREF(objects[i]);
  array->n_held += n;
}

static void drop_held(struct key_array *array) {
  while (array->n_held) Py_DECREF(array->held[--array->n_held]);
}

/* Converting an object may run Python code, which may shorten the list. */
static int convert_window(struct key_array *array, size_t from, size_t n) {
  size_t n_numbers = 0;
  array->form = KEYS_OBJECTS;
  array->base = from;
  for (size_t i = 0; i < n; i += BLOCK) {
    PyObject *borrowed[BLOCK];
    PyObject **objects = array->held ? array->held + i : borrowed;
    size_t length = n - i < BLOCK ? n - i : BLOCK;
    if (array->held && (size_t)PyList_Size(array->tuple) < from + i + length) {
      PyErr_SetString(PyExc_RuntimeError, "the list was changed during the call");
      return -1;
    }
    get_block(array, objects, from + i, length);
    if (convert_block(array, objects, i, length, &n_numbers)) return -1;
  }
  if (n && n_numbers == n) use_numbers(array, n);
  return 0;
}

int besom__py_key_array_convert(struct key_array *array, size_t from, size_t *n) {
  *n = array->n - from;
  if (!array->tuple) return 0;
  drop_held(array);
  Py_CLEAR(array->kept);
  if (*n > WINDOW) *n = WINDOW;
  return convert_window(array, from, *n);
}

/* The memory of the keys, their numbers, and the references. */
static int allocate_window(struct key_array *array, size_t room, bool is_list) {
  size_t size = sizeof *array->keys + sizeof *array->scratch + sizeof *array->held;
  array->copy = PyMem_Malloc(room * size + 1);
  if (!array->copy) return PyErr_NoMemory(), -1;
  array->keys = array->copy;
  array->scratch = (besom_u64_key *)(array->keys + room);
  if (is_list) array->held = (PyObject **)(void *)(array->scratch + room);
  return 0;
}

static int open_sequence(struct key_array *array, bool lazily) {
  bool is_list = PyList_Check(array->tuple);
  array->n = (size_t)(is_list ? PyList_Size(array->tuple) : PyTuple_Size(array->tuple));
  array->form = KEYS_OBJECTS;
  if (allocate_window(array, lazily && array->n > WINDOW ? WINDOW : array->n, is_list)) return -1;
  return lazily ? 0 : convert_window(array, 0, array->n);
}

/* A str is a sequence of str, but one key. */
static int open_objects(PyObject *object, bool lazily, struct key_array *array) {
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "an array of keys is expected, not one key: use a list");
    return -1;
  }
  array->tuple = lazily && PyList_CheckExact(object) ? Py_NewRef(object) : PySequence_Tuple(object);
  return array->tuple ? open_sequence(array, lazily) : -1;
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
  return is_flat_buffer(object) || has_attribute(object, "__arrow_c_array__") ||
         has_attribute(object, "to_numpy");
}

/* Notes which elements are missing. mask: an array of bool, one byte each. */
static int read_mask(PyObject *mask, struct key_array *array) {
  Py_buffer view;
  if (PyObject_GetBuffer(mask, &view, PyBUF_SIMPLE)) return -1;
  size_t n = (size_t)view.len;
  const uint8_t *missing = view.buf;
  if (memchr(missing, 1, n) && (array->present = PyMem_Calloc(n / 8 + 1, 1))) {
    for (size_t i = 0; i < n; i++) array->present[i / 8] |= (uint8_t)(!missing[i] << i % 8);
    array->validity = array->present;
  }
  bool failed = memchr(missing, 1, n) && !array->present;
  PyBuffer_Release(&view);
  return failed ? (PyErr_NoMemory(), -1) : 0;
}

/* A Series, an Index or an array of pandas has isna(). */
static int find_missing(PyObject *object, struct key_array *array) {
  if (!has_attribute(object, "isna")) return 0;
  PyObject *answers = PyObject_CallMethod(object, "isna", NULL);
  PyObject *list = answers ? PyObject_CallMethod(answers, "tobytes", NULL) : NULL;
  if (answers && !list) { /* a Series: its values */
    PyErr_Clear();
    PyObject *values = PyObject_CallMethod(answers, "to_numpy", "s", "bool");
    list = values ? PyObject_CallMethod(values, "tobytes", NULL) : NULL;
    Py_XDECREF(values);
  }
  int failed = list ? read_mask(list, array) : -1;
  Py_XDECREF(list);
  Py_XDECREF(answers);
  return failed;
}

static int open_any(PyObject *object, bool lazily, struct key_array *array) {
  if (PyList_Check(object) || PyTuple_Check(object)) return open_objects(object, lazily, array);
  if (is_flat_buffer(object)) return open_buffer(object, lazily, array);
  if (has_attribute(object, "__arrow_c_array__")) return besom__py_key_array_arrow(object, array);
  if (!has_attribute(object, "to_numpy")) return open_objects(object, lazily, array);
  if (find_missing(object, array)) return -1;
  PyObject *values = PyObject_CallMethod(object, "to_numpy", NULL); /* a Series of pandas */
  if (!values) return -1;
  int failed = is_flat_buffer(values) ? open_buffer(values, lazily, array)
                                      : open_objects(values, lazily, array);
  Py_DECREF(values);
  return failed;
}

int besom__py_key_array_open(PyObject *object, bool lazily, struct key_array *array) {
  *array = (struct key_array){0};
  int failed = open_any(object, lazily, array);
  if (failed) besom__py_key_array_close(array);
  return failed;
}

void besom__py_key_array_close(struct key_array *array) {
  if (array->has_view) PyBuffer_Release(&array->view);
  array->has_view = false;
  drop_held(array);
  Py_CLEAR(array->tuple);
  Py_CLEAR(array->kept);
  PyMem_Free(array->copy);
  PyMem_Free(array->present);
  array->copy = array->present = NULL;
}

int besom__py_key_array_refuse_nulls(const struct key_array *array) {
  for (size_t i = 0; array->validity && i < array->n; i++)
    if (!key_array_has(array, i)) {
      PyErr_Format(
          PyExc_ValueError,
          "element %zu is missing (null, None or NaN), which is no key: drop it, in pandas "
          "by dropna()",
          i);
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
      scratch[i] = besom_u64(array->numbers[from - array->base + i]);
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
    memcpy(out, array->keys + from - array->base, n * sizeof *out);
    break;
  }
}

PyObject *besom__py_key_array_name(const struct key_array *array, size_t i) {
  besom_bytes key = {NULL, 0};
  besom_u64_key scratch;
  if (array->form == KEYS_NUMBERS)
    return PyLong_FromUnsignedLongLong(array->numbers[i - array->base]);
  besom__py_key_array_get(array, i, 1, &key, &scratch);
  PyObject *bytes = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.len);
  PyObject *name = bytes ? besom__py_key_name(bytes) : NULL;
  Py_XDECREF(bytes);
  return name;
}
