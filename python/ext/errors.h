/* errors.h - exceptions of statuses. */
#ifndef BESOM_PYTHON_ERRORS_H
#define BESOM_PYTHON_ERRORS_H

#include "module.h"

/*
 * Sets the exception of a status and returns NULL. Its message is `text` if that is given, else the
 * sentence of besom_strerror with the way out. IO: an OSError of errno, which must still be that of
 * the failed call; text is the path or NULL. NO_MEMORY: MemoryError.
 */
void *besom__py_raise(struct module_state *state, besom_status status, const char *text);

/* NOT_FOUND: the KeyError of this key. Other statuses: as besom__py_raise, and names the key. */
void *besom__py_raise_for_key(struct module_state *state, besom_status status, PyObject *key);

/* The exception that is set tells by `done` how many keys of a batch were added. */
void besom__py_tell_done(size_t added);

/* As besom__py_raise_for_key; INVALID names the range of the argument. what: as below. */
void *besom__py_raise_call(struct module_state *state, besom_status status, PyObject *key,
                           const char *what);

#define CANNOT_ADD "add keys"

/*
 * The filter does not have an operation: `what` completes "cannot". A set names the other mode. f
 * must not be in use by another thread.
 */
void *besom__py_raise_cannot(struct module_state *state, const besom_filter *f, const char *what);

/* _besom.raise_status(status, text): for the Python part of the package. */
PyObject *besom__py_raise_status(PyObject *module, PyObject *args);

#endif
