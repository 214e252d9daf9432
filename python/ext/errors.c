/* errors.c - one exception per cause. */
#include "errors.h"

#include <errno.h>
#include <string.h>

static const struct cause {
  besom_status status;
  const char *name;
  PyObject **base; /* besides besom.Error */
  const char *doc;
  const char *way_out; /* follows the sentence of besom_strerror */
} causes[] = {
    {BESOM_INVALID, "InvalidError", &PyExc_ValueError, "An argument is out of range.", NULL},
    {BESOM_UNKNOWN_KIND, "UnknownKindError", &PyExc_ValueError, "There is no kind of that name.",
     "besom.kinds() lists the kinds"},
    {BESOM_BAD_OPTION, "BadOptionError", &PyExc_ValueError,
     "An option or the hash has an unknown name or a bad value.", "docs/kinds.md has the options"},
    {BESOM_UNSUPPORTED, "UnsupportedError", &PyExc_TypeError,
     "This filter does not have that operation.", "besom.kinds() tells what each kind can do"},
    {BESOM_FULL, "FullError", NULL, "The filter has no room for another key.",
     "call grow(), or create it with a larger capacity"},
    {BESOM_NOT_FOUND, "NotFoundError", &PyExc_KeyError, "There is no such key.", NULL},
    {BESOM_INCOMPATIBLE, "IncompatibleError", &PyExc_ValueError,
     "The filters differ in kind, hash, seed or geometry.",
     "create both with the same arguments, including seed"},
    {BESOM_CORRUPT, "CorruptError", &PyExc_ValueError,
     "The data are not what besom has written, or damaged.", NULL},
    {BESOM_NEWER_VERSION, "NewerVersionError", &PyExc_ValueError,
     "The data were saved by a later version of besom.", "install a newer besom"},
    {BESOM_READ_ONLY, "ReadOnlyError", &PyExc_TypeError, "The filter is mapped from a file.",
     "use Filter.load(path), which copies it into memory"},
    {BESOM_CANCELLED, "CancelledError", NULL, "The progress callback returned False.", NULL},
    {BESOM_NEEDS_STORE, "NeedsStoreError", &PyExc_TypeError,
     "This kind can do that only if it reads the stored keys.", "use a besom.Guard, or kind aqf"},
    {BESOM_AMBIGUOUS, "AmbiguousError", NULL, "Several fingerprints match the key.", NULL},
    {BESOM_IS_MEMBER, "IsMemberError", &PyExc_ValueError,
     "The key is a member, or is on the other list.", NULL},
    {BESOM_BUSY, "BusyError", NULL, "A batch or a migration is under way.", NULL},
    {BESOM_LOCKED, "LockedError", NULL, "Another process has the store open.", NULL},
    {BESOM_RESERVE_FULL, "ReserveFullError", NULL,
     "The memory set aside for adaptation is used up.",
     "call rekey() with all members, or create the filter with a larger reserve"},
    {BESOM_DISK_FULL, "DiskFullError", &PyExc_OSError,
     "The disk, or the store's own size limit, has no room.", NULL},
};

enum { CAUSES = sizeof causes / sizeof *causes };

static const struct cause *find_cause(besom_status status) {
  for (size_t i = 0; i < CAUSES; i++)
    if (causes[i].status == status) return &causes[i];
  return NULL;
}

static int add_error(PyObject *module, struct module_state *state, const struct cause *cause) {
  char full_name[64];
  PyOS_snprintf(full_name, sizeof full_name, "besom.%s", cause->name);
  PyObject *bases =
      cause->base ? PyTuple_Pack(2, state->error, *cause->base) : PyTuple_Pack(1, state->error);
  if (!bases) return -1;
  PyObject *error = PyErr_NewExceptionWithDoc(full_name, cause->doc, bases, NULL);
  Py_DECREF(bases);
  state->errors[cause->status] = error;
  return error ? PyModule_AddObjectRef(module, cause->name, error) : -1;
}

int besom__py_add_errors(PyObject *module, struct module_state *state) {
  state->error =
      PyErr_NewExceptionWithDoc("besom.Error", "The base of all exceptions of besom.", NULL, NULL);
  if (!state->error || PyModule_AddObjectRef(module, "Error", state->error)) return -1;
  for (size_t i = 0; i < CAUSES; i++)
    if (add_error(module, state, &causes[i])) return -1;
  return 0;
}

static void *raise_os_error(const char *path) {
  if (!errno) errno = EIO;
  return path ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, path)
              : PyErr_SetFromErrno(PyExc_OSError);
}

void *besom__py_raise(struct module_state *state, besom_status status, const char *text) {
  if (PyErr_Occurred()) return NULL; /* a callback has failed: that is the cause */
  if (status == BESOM_NO_MEMORY) return PyErr_NoMemory();
  if (status == BESOM_IO) return raise_os_error(text);
  const struct cause *cause = find_cause(status);
  PyObject *error = cause ? state->errors[status] : state->error;
  if (text)
    PyErr_SetString(error, text);
  else if (cause && cause->way_out)
    PyErr_Format(error, "%s: %s", besom_strerror(status), cause->way_out);
  else
    PyErr_SetString(error, besom_strerror(status));
  return NULL;
}

void *besom__py_raise_for_key(struct module_state *state, besom_status status, PyObject *key) {
  if (PyErr_Occurred()) return NULL;
  const struct cause *cause = find_cause(status);
  if (status == BESOM_NO_MEMORY || status == BESOM_IO || !cause)
    return besom__py_raise(state, status, NULL);
  if (status == BESOM_NOT_FOUND)
    PyErr_SetObject(state->errors[status], key);
  else
    PyErr_Format(state->errors[status], "%s (key %R)%s%s", besom_strerror(status), key,
                 cause->way_out ? ": " : "", cause->way_out ? cause->way_out : "");
  return NULL;
}

/* The arguments of calls that have a range besides the key, by what the calls do. */
static const struct {
  const char *what, *range;
} ranges[] = {
    {"count copies", "a count is at least 1"},
    {"keep values", "a value is below 2**value_bits, which is an argument of besom.Filter"},
    {"keep pairs, or not remove them", "a value is below 2**value_bits"},
};

static const char *find_range(const char *what) {
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strcmp(ranges[i].what, what) == 0) return ranges[i].range;
  return NULL;
}

void besom__py_tell_done(size_t added) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *done = PyLong_FromSize_t(added);
  if (!done || PyObject_SetAttrString(value, "done", done)) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, value, traceback);
}

void *besom__py_raise_call(struct module_state *state, besom_status status, PyObject *key,
                           const char *what) {
  const char *range = status == BESOM_INVALID && !PyErr_Occurred() ? find_range(what) : NULL;
  if (!range) return besom__py_raise_for_key(state, status, key);
  PyErr_Format(state->errors[status], "an argument is out of range (key %R): %s", key, range);
  return NULL;
}

void *besom__py_raise_cannot(struct module_state *state, const besom_filter *f, const char *what) {
  besom_statistics stats = {.kind = "?"};
  PyObject *error = state->errors[BESOM_UNSUPPORTED];
  besom_stats(f, &stats);
  if (strcmp(what, CANNOT_ADD) == 0) {
    PyErr_Format(error, "kind \"%s\" is static: it cannot add keys. Build it again: besom.build",
                 stats.kind);
    return NULL;
  }
  if (besom_abilities(f) & BESOM_IS_SET) {
    PyErr_Format(error,
                 "this filter is a set, which cannot %s: one fingerprint may stand for several "
                 "keys. Create it with removable=True",
                 what);
    return NULL;
  }
  PyErr_Format(error, "kind \"%s\" cannot %s: besom.kinds() tells what each kind can do",
               stats.kind, what);
  return NULL;
}

PyObject *besom__py_raise_status(PyObject *module, PyObject *args) {
  int status, error;
  const char *text;
  if (!PyArg_ParseTuple(args, "iiz", &status, &error, &text)) return NULL;
  if (status == BESOM_IO && error) {
    errno = error;
    return raise_os_error(text);
  }
  if (status == BESOM_IO) {
    PyErr_SetString(PyExc_OSError, text ? text : "I/O error");
    return NULL;
  }
  return besom__py_raise(PyModule_GetState(module), (besom_status)status, text);
}
