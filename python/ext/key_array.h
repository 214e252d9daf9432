/*
 * key_array.h - many keys in one Python object.
 *
 * form             from
 * numbers          buffers of integers of 2, 4 or 8 bytes in native order; Arrow integers of 8
 *                  bytes; sequences of int
 * fixed width      buffers of format "20s" (NumPy's S20: trailing zero bytes are not part of a key,
 *                  as in NumPy) or "20x" (V20: they are); rows of two-dimensional buffers of bytes;
 *                  Arrow fixed-size binary
 * offsets          Arrow strings and binary data, with offsets of 4 or 8 bytes
 * objects          every other iterable of keys, copied to a tuple first; a list that is converted
 *                  in windows (below) is copied window by window
 *
 * A Series of pandas is its NumPy array. What its isna() finds is missing, as a null of Arrow is.
 *
 * What an array holds (exported buffers, references, copies) lives until it is closed. While the
 * GIL is released, only besom__py_key_array_get is allowed.
 *
 * Objects are converted all at once, or in windows of WINDOW keys: then a key is still in the cache
 * when it is used.
 */
#ifndef BESOM_PYTHON_KEY_ARRAY_H
#define BESOM_PYTHON_KEY_ARRAY_H

#include "module.h"

enum key_form { KEYS_NUMBERS, KEYS_FIXED, KEYS_OFFSETS32, KEYS_OFFSETS64, KEYS_OBJECTS };

enum { WINDOW = 8192 };

struct key_array {
  enum key_form form; /* objects: numbers if all of the window are */
  size_t n;
  size_t base;             /* objects: the first key of the window; else 0 */
  const uint64_t *numbers; /* numbers, from key `base` on */
  const uint8_t *bytes;    /* fixed width, offsets */
  size_t width;            /* fixed width */
  bool strip;              /* fixed width: without trailing zero bytes */
  const void *offsets;     /* n + 1 of them */
  besom_bytes *keys;       /* objects, from key `base` on */
  besom_u64_key *scratch;  /* objects: their numbers */
  /* Arrow, pandas: bit first + i is 0 if key i is missing (null, None, NaN); NULL: all are there */
  const uint8_t *validity;
  size_t first;
  uint8_t *present; /* pandas: memory of the validity */

  bool has_view;
  Py_buffer view;
  PyObject *tuple; /* of the objects; or the list, if they are converted in windows */
  PyObject **held; /* of a list: references to the objects of the window */
  size_t n_held;
  PyObject *kept; /* a list of bytes objects: copies of buffers; or Arrow's capsules */
  void *copy;     /* memory of PyMem_Malloc */
};

/*
 * Opens an object as an array of keys. May run Python code: hold no lock. An error leaves nothing
 * to be closed. TypeError: not an array of keys. lazily: objects are not converted yet.
 */
int besom__py_key_array_open(PyObject *object, bool lazily, struct key_array *array);
void besom__py_key_array_close(struct key_array *array);

/*
 * A lazily opened array: drops the keys of the last window, makes those from `from` on ready, and
 * tells their number. RuntimeError: a list has become shorter.
 */
int besom__py_key_array_convert(struct key_array *array, size_t from, size_t *n);

/*
 * True if the object has one of the forms but "objects", or is a Series of pandas, which is
 * converted all at once: it can be read without the GIL.
 */
bool besom__py_key_array_is_flat(PyObject *object);

/* The message of the exception that is set begins with the number of the element. Returns -1. */
int besom__py_name_element(size_t i);

/* Key i, for messages: an int, a str or bytes. A new reference; NULL with an exception. */
PyObject *besom__py_key_array_name(const struct key_array *array, size_t i);

/* An array in which something is missing is a ValueError that names the first index. */
int besom__py_key_array_refuse_nulls(const struct key_array *array);

/* The keys from `from` on, as bytes; scratch has n elements, for numbers. */
void besom__py_key_array_get(const struct key_array *array, size_t from, size_t n, besom_bytes *out,
                             besom_u64_key *scratch);

static inline bool key_array_has(const struct key_array *array, size_t i) {
  size_t bit = array->first + i;
  return !array->validity || (array->validity[bit / 8] >> bit % 8 & 1);
}

/* key_array_arrow.c: an object with __arrow_c_array__. */
int besom__py_key_array_arrow(PyObject *object, struct key_array *array);

#endif
