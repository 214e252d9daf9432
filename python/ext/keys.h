/*
 * keys.h - one Python object as a key.
 *
 * str: its UTF-8 bytes. bytes and other contiguous buffers: their bytes. int, and what has
 * __index__: the 8 little-endian bytes of a 64-bit integer, -2^63 to 2^64 - 1, negative ones in
 * two's complement. So an element of a NumPy array of integers is the same key as in the array.
 */
#ifndef BESOM_PYTHON_KEYS_H
#define BESOM_PYTHON_KEYS_H

#include "module.h"

struct key {
  const void *data;
  size_t len;
  besom_u64_key number; /* data may point here */
  Py_buffer view;       /* held if has_view */
  bool has_view;
};

/*
 * The caller keeps a reference to the object, and releases the key. May run Python code (__index__,
 * or the export of a buffer): hold no lock. 0, or -1 with an exception.
 */
int besom__py_key(PyObject *object, struct key *key);

static inline void key_release(struct key *key) {
  if (key->has_view) PyBuffer_Release(&key->view);
}

/* A key that is known as bytes, for messages: as str if it is UTF-8. A new reference. */
PyObject *besom__py_key_name(PyObject *bytes);

/* For PyArg_ParseTuple "O&": a non-negative 64-bit integer; None leaves the value as it is. */
int besom__py_convert_u64(PyObject *object, void *out);

#endif
