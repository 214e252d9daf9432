/* guard.c - the type Guard: a filter in front of a database, with exact answers. */
#include "guard.h"

#include "config.h"
#include "errors.h"
#include "sources.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* -------------------------------------------------------------- calls */

static int check_process(const struct guard *self) {
  if (self->pid == getpid()) return 0;
  PyErr_SetString(self->state->errors[BESOM_BUSY],
                  "the guard was opened before the process was forked: open it in the child");
  return -1;
}

int besom__py_guard_enter(struct guard *self) {
  if (check_process(self) || besom__py_lock_enter_read(&self->use)) return -1;
  if (self->g) return 0;
  besom__py_lock_leave_read(&self->use);
  PyErr_SetString(PyExc_ValueError, "the guard is closed");
  return -1;
}

void besom__py_guard_leave(struct guard *self) {
  besom__py_lock_leave_read(&self->use);
}

static bool is_own_batch(const struct guard *self) {
  return self->batch.writer && self->batch_thread == PyThread_get_thread_ident();
}

static bool is_batch_of_others(const struct guard *self) {
  return self->batch.writer && !is_own_batch(self);
}

/* A batch may begin while this waits for the change of another thread. */
static int wait_for_turn(struct guard *self) {
  for (;;) {
    if (is_batch_of_others(self) && besom__py_lock_wait(&self->batch, true)) return -1;
    if (besom__py_lock_enter_write(&self->changes)) return -1;
    if (!is_batch_of_others(self)) return 0;
    besom__py_lock_leave_write(&self->changes);
  }
}

static int enter_change(struct guard *self) {
  if (check_process(self) || wait_for_turn(self)) return -1;
  if (!besom__py_guard_enter(self)) return 0;
  besom__py_lock_leave_write(&self->changes);
  return -1;
}

static void leave_change(struct guard *self) {
  besom__py_guard_leave(self);
  besom__py_lock_leave_write(&self->changes);
}

/* -------------------------------------------------------------- opening and closing */

struct opening {
  struct python_call call;
  besom_store *store;
  besom_guard_config config;
  besom_guard *made;
  besom_status status;
};

static void run_open(struct opening *opening) {
  besom_progress progress = {besom__py_tick, &opening->call};
  opening->config.progress = &progress;
  call_begin(&opening->call);
  opening->status = besom_guard_open(&opening->config, opening->store, &opening->made);
  besom__py_call_end(&opening->call);
}

static PyObject *new_guard(struct module_state *state, PyTypeObject *type, besom_guard *g) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct guard *self = (struct guard *)allocate(type, 0);
  if (!self) {
    besom_guard_close(g);
    return NULL;
  }
  self->g = g;
  self->state = state;
  self->pid = getpid();
  besom__py_lock_init(&self->use, state);
  besom__py_lock_init(&self->changes, state);
  besom__py_lock_init(&self->batch, state);
  return (PyObject *)self;
}

/* The capsule gets another name while the store is in use, and keeps it when it is taken over. */
static PyObject *open_with(struct module_state *state, PyTypeObject *type, PyObject *capsule,
                           struct opening *opening) {
  opening->store = PyCapsule_GetPointer(capsule, STORE_CAPSULE);
  if (!opening->store || PyCapsule_SetName(capsule, "besom_store in use")) return NULL;
  PyCapsule_Destructor destructor = PyCapsule_GetDestructor(capsule);
  PyCapsule_SetDestructor(capsule, NULL);
  run_open(opening);
  if (opening->status == BESOM_OK && !PyErr_Occurred())
    return new_guard(state, type, opening->made);
  PyObject *type_, *value, *traceback;
  PyErr_Fetch(&type_, &value, &traceback);
  if (opening->status == BESOM_OK) { /* interrupted, but it has the store */
    besom_guard_close(opening->made);
  } else {
    PyCapsule_SetName(capsule, STORE_CAPSULE);
    PyCapsule_SetDestructor(capsule, destructor);
  }
  PyErr_Restore(type_, value, traceback);
  if (opening->status == BESOM_INVALID || opening->status == BESOM_BAD_OPTION ||
      opening->status == BESOM_UNKNOWN_KIND)
    return besom__py_raise_config(state, opening->status, opening->config.filter);
  return besom__py_raise(state, opening->status, NULL);
}

/* GuardBase(capsule, adapt, layout, durability, step_items, step_ns, max_filter_bytes, grow_at,
   rekey_at, progress, filter) */
static PyObject *guard_create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  struct module_state *state = besom__py_state(type);
  struct opening opening = {.config = {.threads = true}};
  besom_guard_config *c = &opening.config;
  int adapt, layout, durability;
  PyObject *capsule, *filter;
  if (keywords && PyDict_Size(keywords)) {
    PyErr_SetString(PyExc_TypeError, "GuardBase takes no keyword arguments");
    return NULL;
  }
  if (!state ||
      !PyArg_ParseTuple(args, "OiiiO&O&O&ddOO!", &capsule, &adapt, &layout, &durability,
                        besom__py_convert_u64, &c->step_items, besom__py_convert_u64, &c->step_ns,
                        besom__py_convert_u64, &c->max_filter_bytes, &c->grow_at, &c->rekey_at,
                        &opening.call.progress, &PyDict_Type, &filter))
    return NULL;
  c->adapt = (besom_adapt_policy)adapt;
  c->layout = (besom_layout)layout;
  c->durability = (besom_durability)durability;
  struct config config = {.args = NULL};
  c->filter = &config.c;
  PyObject *empty = PyTuple_New(0), *copy = PyDict_Copy(filter), *result = NULL;
  if (empty && copy && !besom__py_config(state, FOR_GUARD, empty, copy, &config))
    result = open_with(state, type, capsule, &opening);
  besom__py_config_close(&config);
  Py_XDECREF(empty);
  Py_XDECREF(copy);
  return result;
}

static PyObject *guard_close(PyObject *object, PyObject *unused) {
  (void)unused;
  struct guard *self = (struct guard *)object;
  if (self->pid != getpid()) Py_RETURN_NONE; /* the parent closes it */
  if (besom__py_lock_enter_write(&self->use)) return NULL;
  besom_status status = BESOM_OK;
  besom_guard *g = self->g;
  Py_BEGIN_ALLOW_THREADS if (g) status = besom_guard_close(g);
  Py_END_ALLOW_THREADS int error = errno;
  self->g = NULL;
  if (self->batch.writer) besom__py_lock_leave_write(&self->batch);
  besom__py_lock_leave_write(&self->use);
  errno = error;
  if (status == BESOM_NO_CHECKPOINT) /* the next open takes longer, and nothing else */
    return PyErr_WarnEx(PyExc_RuntimeWarning, besom_strerror(status), 1) ? NULL
                                                                         : Py_NewRef(Py_None);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, NULL);
}

static void guard_free(PyObject *object) {
  struct guard *self = (struct guard *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (self->g && self->pid == getpid()) {
    Py_BEGIN_ALLOW_THREADS(void) besom_guard_close(self->g);
    Py_END_ALLOW_THREADS
  }
  if (self->state) {
    besom__py_lock_destroy(&self->use);
    besom__py_lock_destroy(&self->changes);
    besom__py_lock_destroy(&self->batch);
  }
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

static void close_store(PyObject *capsule) {
  besom_store_close(PyCapsule_GetPointer(capsule, STORE_CAPSULE));
}

PyObject *besom__py_memory_store(PyObject *module, PyObject *unused) {
  (void)unused;
  besom_store *store;
  besom_status status = besom_store_memory(NULL, &store);
  if (status != BESOM_OK) return besom__py_raise(PyModule_GetState(module), status, NULL);
  PyObject *capsule = PyCapsule_New(store, STORE_CAPSULE, close_store);
  if (!capsule) besom_store_close(store);
  return capsule;
}

/* -------------------------------------------------------------- records */

enum { SMALL_VALUE = 4096 };

/* A value, copied while the GIL is released. */
struct value {
  char *data;
  size_t len;
  char small[SMALL_VALUE];
};

static besom_status read_value(besom_guard *g, const struct key *key, struct value *value) {
  besom_bytes found = {0};
  besom_status status = besom_guard_get(g, key->data, key->len, value ? &found : NULL);
  if (status != BESOM_OK || !value) return status;
  value->len = found.len;
  value->data = found.len <= SMALL_VALUE ? value->small : malloc(found.len);
  if (!value->data)
    status = BESOM_NO_MEMORY;
  else if (found.len)
    memcpy(value->data, found.data, found.len);
  besom_guard_release(g, &found);
  return status;
}

/*
 * Readers of a guard with threads leave adapting to the writer. If nobody writes, a get of an
 * absent key does that now and then, but no migration: these are the work of changes and of step.
 * Failures are not those of the get, and are tried again.
 */
enum { MISSES_PER_STEP = 8 };

static void step_unless_pending(besom_guard *g) {
  besom_guard_statistics stats;
  if (besom_guard_stats(g, &stats) == BESOM_OK && !stats.migration_pending)
    (void)besom_guard_step(g, 1, NULL);
}

static void adapt_now(struct guard *self) {
  if (++self->misses % MISSES_PER_STEP || self->changes.writer || self->batch.writer) return;
  self->changes.writer = true;
  Py_BEGIN_ALLOW_THREADS step_unless_pending(self->g);
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->changes);
}

/* value may be NULL. BUSY with an exception if the call could not begin. */
static besom_status get(struct guard *self, PyObject *key_object, struct value *value) {
  struct key key;
  if (besom__py_key(key_object, &key)) return BESOM_INVALID;
  besom_status status = BESOM_BUSY;
  if (!besom__py_guard_enter(self)) {
    Py_BEGIN_ALLOW_THREADS status = read_value(self->g, &key, value);
    Py_END_ALLOW_THREADS if (status == BESOM_NOT_FOUND) adapt_now(self);
    besom__py_guard_leave(self);
  }
  key_release(&key);
  return status;
}

static PyObject *guard_subscript(PyObject *object, PyObject *key) {
  struct guard *self = (struct guard *)object;
  struct value value;
  besom_status status = get(self, key, &value);
  if (status != BESOM_OK)
    return PyErr_Occurred() ? NULL : besom__py_raise_for_key(self->state, status, key);
  PyObject *bytes = PyBytes_FromStringAndSize(value.data, (Py_ssize_t)value.len);
  if (value.data != value.small) free(value.data);
  return bytes;
}

static int guard_contains(PyObject *object, PyObject *key) {
  struct guard *self = (struct guard *)object;
  besom_status status = get(self, key, NULL);
  if (status == BESOM_OK || (status == BESOM_NOT_FOUND && !PyErr_Occurred()))
    return status == BESOM_OK;
  besom__py_raise(self->state, status, NULL);
  return -1;
}

static besom_status put(struct guard *self, const struct key *key, const struct key *value,
                        unsigned flags) {
  if (enter_change(self)) return BESOM_BUSY; /* with an exception */
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status =
      besom_guard_put(self->g, key->data, key->len, value->data, value->len, flags);
  Py_END_ALLOW_THREADS leave_change(self);
  return status;
}

typedef besom_status (*guard_key_call)(besom_guard *g, const void *key, size_t len);

static besom_status change_key(struct guard *self, const struct key *key, guard_key_call call) {
  if (enter_change(self)) return BESOM_BUSY; /* with an exception */
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = call(self->g, key->data, key->len);
  Py_END_ALLOW_THREADS leave_change(self);
  return status;
}

/* Values are str, bytes and buffers: int is a key, but not a value. */
static int convert_value(PyObject *object, struct key *value) {
  if (besom__py_key(object, value)) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_SetString(PyExc_TypeError, "a value is str, bytes or a buffer");
    return -1;
  }
  if (value->data != value->number.bytes) return 0;
  key_release(value);
  PyErr_SetString(PyExc_TypeError, "a value is str, bytes or a buffer, not an integer");
  return -1;
}

static int raise_change(struct guard *self, besom_status status, PyObject *key) {
  if (status == BESOM_OK) return 0;
  if (!PyErr_Occurred()) besom__py_raise_for_key(self->state, status, key);
  return -1;
}

static int put_object(struct guard *self, PyObject *key_object, PyObject *value_object,
                      unsigned flags) {
  struct key key, value;
  if (besom__py_key(key_object, &key)) return -1;
  besom_status status = BESOM_INVALID;
  if (!convert_value(value_object, &value)) {
    status = put(self, &key, &value, flags);
    key_release(&value);
  }
  key_release(&key);
  return raise_change(self, status, key_object);
}

static int change_object(PyObject *object, PyObject *key_object, guard_key_call call) {
  struct guard *self = (struct guard *)object;
  struct key key;
  if (besom__py_key(key_object, &key)) return -1;
  besom_status status = change_key(self, &key, call);
  key_release(&key);
  return raise_change(self, status, key_object);
}

static int guard_assign(PyObject *object, PyObject *key, PyObject *value) {
  if (!value) return change_object(object, key, besom_guard_delete);
  return put_object((struct guard *)object, key, value, 0);
}

static PyObject *guard_put_new(PyObject *object, PyObject *args) {
  PyObject *key, *value;
  if (!PyArg_ParseTuple(args, "OO", &key, &value)) return NULL;
  return put_object((struct guard *)object, key, value, BESOM_PUT_NEW) ? NULL : Py_NewRef(Py_None);
}

static PyObject *guard_no_put(PyObject *self, PyObject *key) {
  return change_object(self, key, besom_guard_no_put) ? NULL : Py_NewRef(Py_None);
}

static PyObject *guard_no_delete(PyObject *self, PyObject *key) {
  return change_object(self, key, besom_guard_no_delete) ? NULL : Py_NewRef(Py_None);
}

static PyObject *guard_no_has(PyObject *object, PyObject *key_object) {
  struct guard *self = (struct guard *)object;
  struct key key;
  if (besom__py_key(key_object, &key)) return NULL;
  besom_status status = change_key(self, &key, besom_guard_no_has);
  key_release(&key);
  if (status == BESOM_OK || (status == BESOM_NOT_FOUND && !PyErr_Occurred()))
    return PyBool_FromLong(status == BESOM_OK);
  return besom__py_raise(self->state, status, NULL);
}

/* -------------------------------------------------------------- batches and maintenance */

static PyObject *guard_begin(PyObject *object, PyObject *unused) {
  (void)unused;
  struct guard *self = (struct guard *)object;
  if (enter_change(self)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_guard_begin(self->g);
  Py_END_ALLOW_THREADS if (status == BESOM_OK) {
    self->batch.writer = true;
    self->batch_thread = PyThread_get_thread_ident();
  }
  leave_change(self);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, NULL);
}

typedef besom_status (*guard_call)(besom_guard *g);

/* A batch belongs to the thread that began it. Whatever the status is, it has ended then. */
static PyObject *end_batch(struct guard *self, guard_call call) {
  if (check_process(self)) return NULL;
  if (self->g && !is_own_batch(self)) {
    PyErr_SetString(self->state->errors[BESOM_INVALID],
                    "this thread has no batch: the thread that began a batch must end it");
    return NULL;
  }
  if (enter_change(self)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = call(self->g);
  Py_END_ALLOW_THREADS besom__py_lock_leave_write(&self->batch);
  leave_change(self);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, NULL);
}

static PyObject *guard_commit(PyObject *self, PyObject *unused) {
  (void)unused;
  return end_batch((struct guard *)self, besom_guard_commit);
}

static PyObject *guard_abort(PyObject *self, PyObject *unused) {
  (void)unused;
  return end_batch((struct guard *)self, besom_guard_abort);
}

static PyObject *call_guard(PyObject *object, guard_call call) {
  struct guard *self = (struct guard *)object;
  if (enter_change(self)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = call(self->g);
  Py_END_ALLOW_THREADS leave_change(self);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, NULL);
}

static PyObject *guard_sync(PyObject *self, PyObject *unused) {
  (void)unused;
  return call_guard(self, besom_guard_sync);
}

static PyObject *guard_rekey(PyObject *self, PyObject *unused) {
  (void)unused;
  return call_guard(self, besom_guard_rekey);
}

static PyObject *guard_step(PyObject *object, PyObject *items) {
  struct guard *self = (struct guard *)object;
  uint64_t max_items = 0;
  if (!besom__py_convert_u64(items, &max_items)) return NULL;
  if (enter_change(self)) return NULL;
  besom_status status;
  bool finished = false;
  Py_BEGIN_ALLOW_THREADS status = besom_guard_step(self->g, max_items, &finished);
  Py_END_ALLOW_THREADS leave_change(self);
  return status == BESOM_OK ? PyBool_FromLong(finished)
                            : besom__py_raise(self->state, status, NULL);
}

static PyObject *guard_closed(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(!((struct guard *)self)->g);
}

static PyObject *guard_in_batch(PyObject *object, void *unused) {
  (void)unused;
  struct guard *self = (struct guard *)object;
  return PyBool_FromLong(is_own_batch(self));
}

/* -------------------------------------------------------------- the type */

static PyMethodDef methods[] = {
    {"close", guard_close, METH_NOARGS,
     "close(self, /)\n--\n\n"
     "Abort an open batch, sync, and close the database. Waits for calls of other threads; later\n"
     "calls are a ValueError. Closing twice is allowed.\n"},
    {"put_new", guard_put_new, METH_VARARGS,
     "put_new(self, key, value, /)\n--\n\n"
     "Store a value under a key that is certainly absent: nothing is read.\n\n"
     ">>> with besom.Guard(store='memory') as g:\n"
     "...     g.put_new('a', 'x')\n"
     "...     g['a']\n"
     "b'x'\n"},
    {"no_put", guard_no_put, METH_O,
     "no_put(self, key, /)\n--\n\n"
     "Put an absent key on the no list: it never costs a read. IsMemberError: it is present.\n"},
    {"no_delete", guard_no_delete, METH_O,
     "no_delete(self, key, /)\n--\n\nRemove a key from the no list. KeyError if it is not "
     "there.\n"},
    {"no_has", guard_no_has, METH_O,
     "no_has(self, key, /)\n--\n\n"
     "Is the key on the no list?\n\n"
     ">>> with besom.Guard(store='memory') as g:\n"
     "...     g.no_put('bad')\n"
     "...     g.no_has('bad')\n"
     "True\n"},
    {"_begin", guard_begin, METH_NOARGS, NULL},
    {"_commit", guard_commit, METH_NOARGS, NULL},
    {"_abort", guard_abort, METH_NOARGS, NULL},
    {"_scan", besom__py_guard_scan, METH_VARARGS, NULL},
    {"_stats", besom__py_guard_stats, METH_NOARGS, NULL},
    {"_offenders", besom__py_guard_offenders, METH_NOARGS, NULL},
    {"sync", guard_sync, METH_NOARGS,
     "sync(self, /)\n--\n\nMake everything that was stored survive a power cut.\n"},
    {"rekey", guard_rekey, METH_NOARGS,
     "rekey(self, /)\n--\n\n"
     "Start a migration to a new seed, which empties the reserve. Later puts, or step, do it.\n"},
    {"step", guard_step, METH_O,
     "step(self, max_items, /)\n--\n\n"
     "Adapt to false positives that were found, and migrate at most max_items entries. True: no\n"
     "migration runs any more.\n"},
    {0},
};

static PyGetSetDef attributes[] = {
    {"closed", guard_closed, NULL, "True after close.", NULL},
    {"in_batch", guard_in_batch, NULL, "True if this thread has begun a batch.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of besom.Guard that is written in C."},
    {Py_tp_new, guard_create},
    {Py_tp_dealloc, guard_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_mp_length, besom__py_guard_len},
    {Py_mp_subscript, guard_subscript},
    {Py_mp_ass_subscript, guard_assign},
    {Py_sq_contains, guard_contains},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "besom._besom.GuardBase",
    .basicsize = sizeof(struct guard),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int besom__py_add_guard(PyObject *module, struct module_state *state) {
  state->guard = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  return state->guard ? PyModule_AddType(module, state->guard) : -1;
}
