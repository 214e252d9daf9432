/*
 * sources.h - Python objects as streams of keys (besom_source).
 *
 * An array of keys is read without the GIL. An iterable is read in chunks: the source takes the
 * GIL, converts some hundred keys, and releases it. Signals are handled then, so that
 * KeyboardInterrupt ends a build.
 */
#ifndef BESOM_PYTHON_SOURCES_H
#define BESOM_PYTHON_SOURCES_H

#include "key_array.h"
#include "keys.h"

enum { CHUNK = 512 };

/* Keys of an array; the array is not closed by it. Needs no GIL. */
struct array_source {
  const struct key_array *array;
  size_t next;  /* key */
  size_t at, n; /* of the chunk */
  besom_bytes keys[CHUNK];
  besom_u64_key numbers[CHUNK];
};
besom_source besom__py_array_source(struct array_source *source, const struct key_array *array);

/* A long call that releases the GIL and takes it again in callbacks. */
struct python_call {
  PyThreadState *thread;              /* while the GIL is released */
  PyObject *progress;                 /* borrowed; NULL or None: only signals are handled */
  PyObject *type, *value, *traceback; /* the exception that ended it */
};

/* Releases the GIL; ends with besom__py_call_end, which sets a kept exception again. */
static inline void call_begin(struct python_call *call) {
  call->thread = PyEval_SaveThread();
}
void besom__py_call_end(struct python_call *call);

/* Calls progress(done, total), and handles signals. ctx is a python_call. */
bool besom__py_tick(void *ctx, uint64_t done, uint64_t total);

/* A source of any object. */
struct python_source {
  struct python_call *call;
  bool is_array;
  struct key_array array; /* if is_array */
  struct array_source from_array;
  PyObject *origin, *iterator; /* else */
  PyObject *weights;           /* of a mapping from keys to weights: it; else NULL */
  size_t before;               /* the keys of earlier chunks */
  size_t at, n;
  struct key chunk[CHUNK];
  PyObject *objects[CHUNK];
  uint64_t weight[CHUNK];
  besom_source source;
};

/*
 * Opens an object. can_rewind: a stream that can be read only once is copied to a list first.
 * weighted: a dict gives weights. NULL: an exception is set.
 */
struct python_source *besom__py_source_open(struct python_call *call, PyObject *object,
                                            bool can_rewind, bool weighted);
void besom__py_source_close(struct python_source *source); /* NULL is allowed */

#endif
