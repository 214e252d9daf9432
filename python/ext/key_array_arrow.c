/* key_array_arrow.c - many keys in an Arrow array, by the Arrow C data interface. */
#include "key_array.h"

#include <stdlib.h>

/* As the specification of the interface has them. */
struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

static int refuse(const char *format) {
  PyErr_Format(PyExc_TypeError,
               "an Arrow array of format \"%s\" is not an array of keys: cast it to string, "
               "binary, fixed-size binary, int64 or uint64",
               format);
  return -1;
}

/* The offsets come from outside: they must ascend. */
static int check_offsets(const struct key_array *array) {
  int64_t last = 0;
  for (size_t i = 0; i <= array->n; i++) {
    int64_t offset = array->form == KEYS_OFFSETS32 ? ((const int32_t *)array->offsets)[i]
                                                   : ((const int64_t *)array->offsets)[i];
    if (offset < last) {
      PyErr_SetString(PyExc_ValueError, "the offsets of the Arrow array do not ascend");
      return -1;
    }
    last = offset;
  }
  return 0;
}

static int open_offsets(struct key_array *array, const struct ArrowArray *from, bool is_large) {
  static const int64_t no_offsets[1];
  array->form = is_large ? KEYS_OFFSETS64 : KEYS_OFFSETS32;
  array->bytes = from->buffers[2];
  if (!array->n) {
    array->offsets = no_offsets;
    return 0;
  }
  array->offsets = is_large ? (const void *)((const int64_t *)from->buffers[1] + from->offset)
                            : (const void *)((const int32_t *)from->buffers[1] + from->offset);
  return check_offsets(array);
}

static int open_fixed(struct key_array *array, const struct ArrowArray *from, const char *width) {
  array->form = KEYS_FIXED;
  array->width = (size_t)strtoull(width, NULL, 10);
  array->bytes = from->buffers[1];
  if (array->n) array->bytes += (size_t)from->offset * array->width;
  return 0;
}

static int open_numbers(struct key_array *array, const struct ArrowArray *from) {
  array->form = KEYS_NUMBERS;
  array->numbers = from->buffers[1];
  if (array->n) array->numbers += from->offset;
  return 0;
}

static int open_format(struct key_array *array, const struct ArrowArray *from, const char *format) {
  if (from->dictionary) return refuse("dictionary");
  if (!strcmp(format, "l") || !strcmp(format, "L")) return open_numbers(array, from);
  if (!strcmp(format, "u") || !strcmp(format, "z")) return open_offsets(array, from, false);
  if (!strcmp(format, "U") || !strcmp(format, "Z")) return open_offsets(array, from, true);
  if (!strncmp(format, "w:", 2)) return open_fixed(array, from, format + 2);
  return refuse(format);
}

static int open_capsules(PyObject *pair, struct key_array *array) {
  if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
    PyErr_SetString(PyExc_TypeError, "__arrow_c_array__ must return two capsules");
    return -1;
  }
  const struct ArrowSchema *schema = PyCapsule_GetPointer(PyTuple_GetItem(pair, 0), "arrow_schema");
  if (!schema) return -1;
  const struct ArrowArray *from = PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), "arrow_array");
  if (!from) return -1;
  if (!schema->release || !from->release || from->length < 0 || from->offset < 0) {
    PyErr_SetString(PyExc_ValueError, "the Arrow array is released or damaged");
    return -1;
  }
  array->n = (size_t)from->length;
  int failed = open_format(array, from, schema->format);
  if (!failed && from->null_count && from->n_buffers) {
    array->validity = from->buffers[0];
    array->first = (size_t)from->offset;
  }
  return failed;
}

int besom__py_key_array_arrow(PyObject *object, struct key_array *array) {
  array->kept = PyObject_CallMethod(object, "__arrow_c_array__", NULL);
  return array->kept ? open_capsules(array->kept, array) : -1;
}
