/* filter.c - the type Filter, and its calls with one key. */
#include "filter.h"

#include "batch.h"
#include "config.h"
#include "errors.h"
#include "keys.h"
#include "maplet.h"

/* -------------------------------------------------------------- creating and freeing */

PyObject *besom__py_filter_new(struct module_state *state, PyTypeObject *type, besom_filter *f) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  struct filter *self = (struct filter *)allocate(type, 0);
  if (!self) {
    besom_free(f);
    return NULL;
  }
  self->f = f;
  self->state = state;
  besom__py_lock_init(&self->lock, state);
  return (PyObject *)self;
}

static PyObject *filter_of_config(struct module_state *state, PyTypeObject *type,
                                  const struct config *config) {
  besom_filter *f = NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_create(&config->c, &f);
  Py_END_ALLOW_THREADS if (status != BESOM_OK) return besom__py_raise_config(state, status,
                                                                             &config->c);
  if (!besom__py_config_check_made(state, config, f)) return besom__py_filter_new(state, type, f);
  besom_free(f);
  return NULL;
}

static PyObject *filter_create(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  struct module_state *state = besom__py_state(type);
  struct config config;
  PyObject *made = NULL;
  if (!state) return NULL;
  if (!besom__py_config(state, FOR_FILTER, args, keywords, &config))
    made = filter_of_config(state, type, &config);
  besom__py_config_close(&config);
  return made;
}

static void filter_free(PyObject *object) {
  struct filter *self = (struct filter *)object;
  PyTypeObject *type = Py_TYPE(object);
  besom_free(self->f);
  if (self->state) besom__py_lock_destroy(&self->lock);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(object);
  Py_DECREF(type);
}

struct filter *besom__py_filter_check(struct module_state *state, PyObject *object) {
  if (PyType_IsSubtype(Py_TYPE(object), state->filter)) return (struct filter *)object;
  PyErr_SetString(PyExc_TypeError, "a besom.Filter is expected");
  return NULL;
}

/* -------------------------------------------------------------- calls with one key */

static int filter_contains(PyObject *object, PyObject *key) {
  struct filter *self = (struct filter *)object;
  if (Py_IS_TYPE(key, &PyUnicode_Type) && !self->lock.writer) { /* the usual case */
    Py_ssize_t len;
    const char *data = PyUnicode_AsUTF8AndSize(key, &len);
    return data ? besom_contains(self->f, data, (size_t)len) : -1;
  }
  struct key k;
  if (besom__py_key(key, &k)) return -1;
  int found = lock_read_now(&self->lock);
  if (!found) found = besom_contains(self->f, k.data, k.len);
  key_release(&k);
  return found;
}

static PyObject *filter_domain_entry(PyObject *object, PyObject *name) {
  struct filter *self = (struct filter *)object;
  Py_ssize_t len;
  const char *data = PyUnicode_AsUTF8AndSize(name, &len);
  besom_bytes entry;
  if (!data || lock_read_now(&self->lock)) return NULL;
  if (!besom_domain_contains(self->f, data, (size_t)len, &entry)) Py_RETURN_NONE;
  return PyUnicode_FromStringAndSize(entry.data, (Py_ssize_t)entry.len);
}

static PyObject *filter_set_domains(PyObject *object, PyObject *labels) {
  struct filter *self = (struct filter *)object;
  uint64_t n = 0;
  if (!besom__py_convert_u64(labels, &n) || lock_write_now(&self->lock)) return NULL;
  besom_status status = besom_set_domains(self->f, n < 128 ? (unsigned)n : 128, 0);
  if (status == BESOM_OK) Py_RETURN_NONE;
  const char *range = "labels is 0 to 127, and the kind of the filter hashes whole keys";
  return besom__py_raise(self->state, status, status == BESOM_INVALID ? range : NULL);
}

/* What a call with one key does while nothing else is inside. */
typedef besom_status (*key_call)(besom_filter *f, const void *key, size_t len);

static besom_status change(struct filter *self, PyObject *key, key_call call) {
  struct key k;
  if (besom__py_key(key, &k)) return BESOM_INVALID;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_write_now(&self->lock)) status = call(self->f, k.data, k.len);
  key_release(&k);
  return status;
}

/* what: completes "cannot", if the filter does not have the operation. */
static PyObject *raise_for(struct filter *self, besom_status status, PyObject *key,
                           const char *what) {
  if (PyErr_Occurred() || (status == BESOM_UNSUPPORTED && lock_read_now(&self->lock))) return NULL;
  if (status == BESOM_UNSUPPORTED) return besom__py_raise_cannot(self->state, self->f, what);
  return besom__py_raise_call(self->state, status, key, what);
}

static PyObject *change_or_raise(PyObject *object, PyObject *key, key_call call, const char *what) {
  struct filter *self = (struct filter *)object;
  besom_status status = change(self, key, call);
  if (status == BESOM_OK || status == BESOM_EVICTED) return Py_NewRef(Py_None);
  return raise_for(self, status, key, what);
}

static PyObject *filter_add(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n == 1) return change_or_raise(self, args[0], besom_insert, CANNOT_ADD);
  if (n != 2) {
    PyErr_Format(PyExc_TypeError, "add() takes a key and at most a count (%zd given)", n);
    return NULL;
  }
  struct filter *filter = (struct filter *)self;
  uint64_t count = 0;
  struct key k;
  if (!besom__py_convert_u64(args[1], &count) || besom__py_key(args[0], &k)) return NULL;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_write_now(&filter->lock)) status = besom_insert_count(filter->f, k.data, k.len, count);
  key_release(&k);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return raise_for(filter, status, args[0], "count copies");
}

static PyObject *filter_remove(PyObject *self, PyObject *key) {
  return change_or_raise(self, key, besom_remove, "remove keys");
}

static PyObject *filter_discard(PyObject *object, PyObject *key) {
  struct filter *self = (struct filter *)object;
  besom_status status = change(self, key, besom_remove);
  if (status == BESOM_OK || status == BESOM_NOT_FOUND) Py_RETURN_NONE;
  return raise_for(self, status, key, "remove keys");
}

static PyObject *filter_report(PyObject *self, PyObject *key) {
  return change_or_raise(self, key, besom_adapt, "take reports");
}

static PyObject *filter_no_add(PyObject *self, PyObject *key) {
  return change_or_raise(self, key, besom_no_add, "keep a no list");
}

static PyObject *filter_no_remove(PyObject *self, PyObject *key) {
  return change_or_raise(self, key, besom_no_remove, "keep a no list");
}

typedef besom_status (*number_call)(const besom_filter *f, const void *key, size_t len,
                                    uint64_t *number);

static PyObject *read_number(PyObject *object, PyObject *key, number_call call, const char *what) {
  struct filter *self = (struct filter *)object;
  struct key k;
  if (besom__py_key(key, &k)) return NULL;
  uint64_t number = 0;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_read_now(&self->lock)) status = call(self->f, k.data, k.len, &number);
  key_release(&k);
  if (status == BESOM_OK) return PyLong_FromUnsignedLongLong(number);
  return raise_for(self, status, key, what);
}

static PyObject *filter_count(PyObject *self, PyObject *key) {
  return read_number(self, key, besom_count, "count copies");
}

static PyObject *filter_get_value(PyObject *self, PyObject *key) {
  return read_number(self, key, besom_get_value, "keep values");
}

static PyObject *filter_set_value(PyObject *object, PyObject *const *args, Py_ssize_t n) {
  struct filter *self = (struct filter *)object;
  if (n != 2) {
    PyErr_Format(PyExc_TypeError, "set_value() takes a key and a value (%zd given)", n);
    return NULL;
  }
  uint64_t value = 0;
  struct key k;
  if (!besom__py_convert_u64(args[1], &value) || besom__py_key(args[0], &k)) return NULL;
  besom_status status = BESOM_BUSY; /* with an exception */
  if (!lock_write_now(&self->lock)) status = besom_set_value(self->f, k.data, k.len, value);
  key_release(&k);
  if (status == BESOM_OK) Py_RETURN_NONE;
  return raise_for(self, status, args[0], "keep values");
}

/* -------------------------------------------------------------- the type */

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"add", FAST(filter_add), METH_FASTCALL,
     "add(self, key, count=1, /)\n--\n\n"
     "Add a key. A set adds it only if it answers no.\n\n"
     "A removable filter keeps every copy: a key that was added twice is a member until it was\n"
     "removed twice. FullError: there is no room, and the filter is unchanged.\n\n"
     ">>> f = besom.Filter(1000)\n"
     ">>> f.add('apple'); f.add('apple')\n"
     ">>> len(f)\n"
     "1\n"
     ">>> f = besom.Filter(1000, removable=True)\n"
     ">>> f.add(42, 3)\n"
     ">>> f.count(42)\n"
     "3\n"},
    {"remove", filter_remove, METH_O,
     "remove(self, key, /)\n--\n\n"
     "Remove one copy of a key. KeyError if the filter is sure that it is absent.\n\n"
     "Remove members only: to remove a false positive removes another key's fingerprint.\n\n"
     ">>> f = besom.Filter(1000, removable=True)\n"
     ">>> f.remove('apple')\n"
     "Traceback (most recent call last):\n"
     "    ...\n"
     "besom.NotFoundError: 'apple'\n"},
    {"discard", filter_discard, METH_O,
     "discard(self, key, /)\n--\n\n"
     "Remove one copy of a key, if there is one. Remove members only: see remove.\n\n"
     ">>> f = besom.Filter(1000, removable=True)\n"
     ">>> f.add('apple')\n"
     ">>> f.discard('apple')\n"
     ">>> f.discard('apple')\n"
     ">>> 'apple' in f\n"
     "False\n"},
    {"count", filter_count, METH_O,
     "count(self, key, /)\n--\n\n"
     "The copies of a key: an upper bound, exact except at the false-positive rate.\n\n"
     ">>> f = besom.Filter(1000, removable=True)\n"
     ">>> f.add_many(['apple', 'pear', 'apple'])\n"
     ">>> f.count('apple'), f.count('plum')\n"
     "(2, 0)\n"},
    {"report", filter_report, METH_O,
     "report(self, key, /)\n--\n\n"
     "Report a false positive: the filter answers no to this key from now on.\n\n"
     "The caller has made sure that the key is absent. ReserveFullError: too many keys were\n"
     "reported (see the argument reserve of Filter).\n\n"
     ">>> f = besom.Filter(capacity=1000, fpr=0.1, seed=bytes(16))\n"
     ">>> f.add_many(range(1000))\n"
     ">>> wrong = next(k for k in range(1000, 2000) if k in f)\n"
     ">>> f.report(wrong)\n"
     ">>> wrong in f\n"
     "False\n"},
    {"no_add", filter_no_add, METH_O,
     "no_add(self, key, /)\n--\n\n"
     "Put a key on the no list: it is answered no, whatever is added later.\n\n"
     ">>> f = besom.Filter(capacity=1000, no_capacity=10)\n"
     ">>> f.no_add('good.example')\n"
     ">>> 'good.example' in f\n"
     "False\n"},
    {"no_remove", filter_no_remove, METH_O,
     "no_remove(self, key, /)\n--\n\n"
     "Remove a key from the no list. KeyError if it is not on it.\n\n"
     ">>> f = besom.Filter(capacity=1000, no_capacity=10)\n"
     ">>> f.no_add('good.example')\n"
     ">>> f.no_remove('good.example')\n"},
    {"get_value", filter_get_value, METH_O,
     "get_value(self, key, /)\n--\n\n"
     "The value stored with a key, for filters with value_bits. KeyError if it is absent.\n\n"
     ">>> f = besom.Filter(capacity=1000, value_bits=4)\n"
     ">>> f.add('apple')\n"
     ">>> f.set_value('apple', 7)\n"
     ">>> f.get_value('apple')\n"
     "7\n"},
    {"set_value", FAST(filter_set_value), METH_FASTCALL,
     "set_value(self, key, value, /)\n--\n\n"
     "Set the value stored with a key. KeyError if the key is absent. See get_value.\n"},
    {"domain_entry", filter_domain_entry, METH_O,
     "domain_entry(self, name, /)\n--\n\n"
     "The entry of a list of domains that answers a name: a part of the name, or None.\n\n"
     "Names are ASCII; give names in other scripts as punycode.\n\n"
     ">>> f = besom.Filter(capacity=1000, fpr=1e-6)\n"
     ">>> f.add('example.com')\n"
     ">>> f.domain_entry('www.example.com')\n"
     "'example.com'\n"},
    {"set_domains", filter_set_domains, METH_O,
     "set_domains(self, labels, /)\n--\n\n"
     "Make the filter a list of domains: `in`, contains_many and report then ask the parents of a\n"
     "name, too. labels: the most labels of a listed name, 1 to 127; 0 ends it. Files of\n"
     "`besom build --domains` are such lists already.\n\n"
     ">>> f = besom.Filter(capacity=1000, fpr=1e-6)\n"
     ">>> f.add('example.com')\n"
     ">>> f.set_domains(2)\n"
     ">>> 'WWW.example.com.' in f\n"
     "True\n"},
    {"contains_many", besom__py_contains_many, METH_O,
     "contains_many(self, keys, /)\n--\n\n"
     "Which of the keys may be members: an array of bool (NumPy's, or else a memoryview).\n\n"
     "keys: an array of integers or of fixed-width bytes, an Arrow array, a Series of pandas, or\n"
     "any iterable of keys. What is missing in a Series or an Arrow array (None, NaN) is answered\n"
     "False. Several times as fast as `in`; other threads run meanwhile.\n\n"
     ">>> f = besom.Filter(capacity=1000)\n"
     ">>> f.add('apple')\n"
     ">>> f.contains_many(['apple', 'pear']).tolist()\n"
     "[True, False]\n"},
    {"add_many", besom__py_add_many, METH_O,
     "add_many(self, keys, /)\n--\n\n"
     "Add keys, in order. keys: see contains_many.\n\n"
     "All keys are checked first. If one does not fit, the attribute `done` of the exception is\n"
     "the number of keys that were added.\n\n"
     ">>> f = besom.Filter(capacity=1000)\n"
     ">>> f.add_many(range(100))\n"
     ">>> len(f)\n"
     "100\n"},
    {"_save", besom__py_filter_save, METH_O, NULL},
    {"to_bytes", besom__py_filter_to_bytes, METH_NOARGS,
     "to_bytes(self, /)\n--\n\n"
     "The saved filter. Equal filters give equal bytes.\n\n"
     ">>> f = besom.Filter(capacity=1000)\n"
     ">>> besom.Filter.from_bytes(f.to_bytes()).stats() == f.stats()\n"
     "True\n"},
    {"from_bytes", besom__py_filter_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\n"
     "The filter of saved bytes. All of them are checked: hostile bytes are a CorruptError.\n\n"
     ">>> besom.Filter.from_bytes(b'not a filter')\n"
     "Traceback (most recent call last):\n"
     "    ...\n"
     "besom.CorruptError: ...\n"},
    {"_open", besom__py_filter_open, METH_VARARGS | METH_CLASS, NULL},
    {"_merge", besom__py_filter_merge, METH_O, NULL},
    {"_patch", besom__py_filter_patch, METH_O, NULL},
    {"_like", besom__py_filter_like, METH_NOARGS, NULL},
    {"clear", besom__py_filter_clear, METH_NOARGS,
     "clear(self, /)\n--\n\n"
     "Remove all keys, reports and values. The seed stays.\n\n"
     ">>> f = besom.Filter(1000)\n"
     ">>> f.add('apple')\n"
     ">>> f.clear()\n"
     ">>> 'apple' in f, len(f)\n"
     "(False, 0)\n"},
    {"_stats", besom__py_filter_stats, METH_NOARGS, NULL},
    {"_values", besom__py_values, METH_O, NULL},
    {"_values_many", besom__py_values_many, METH_O, NULL},
    {"_insert_value", FAST(besom__py_insert_value), METH_FASTCALL, NULL},
    {"_insert_values", FAST(besom__py_insert_values), METH_FASTCALL, NULL},
    {"_remove_value", FAST(besom__py_remove_value), METH_FASTCALL, NULL},
    {"_replace_value", FAST(besom__py_replace_value), METH_FASTCALL, NULL},
    {"_adapt_value", FAST(besom__py_adapt_value), METH_FASTCALL, NULL},
    {"_note", besom__py_note, METH_NOARGS, NULL},
    {"_rekey_pairs", besom__py_rekey_pairs, METH_VARARGS, NULL},
    {"_set_note", besom__py_set_note, METH_O, NULL},
    {"_layers", besom__py_filter_layers, METH_NOARGS, NULL},
    {"_rekey", besom__py_filter_rekey, METH_VARARGS, NULL},
    {"diff", besom__py_filter_diff, METH_O,
     "diff(self, newer, /)\n--\n\n"
     "The difference between this filter and a newer one, as bytes for patch.\n\n"
     "It is as small as the change of the set if besom.build made the newer one like this one.\n\n"
     ">>> old = besom.build(range(1000), capacity=1100)\n"
     ">>> new = besom.build(range(1010), like=old)\n"
     ">>> len(old.diff(new)) < len(new.to_bytes()) / 2\n"
     "True\n"},
    {"resize", besom__py_filter_resize, METH_O,
     "resize(self, slots, /)\n--\n\n"
     "Change the number of slots by a power of two. No answer changes.\n\n"
     "A filter that grows beyond max_capacity has a higher false-positive rate than its target.\n\n"
     ">>> f = besom.Filter(capacity=1000, max_capacity=2000)\n"
     ">>> f.resize(2 * f.stats().slots)\n"
     ">>> f.stats().capacity >= 2000\n"
     "True\n"},
    {"validate", besom__py_filter_validate, METH_NOARGS,
     "validate(self, /)\n--\n\n"
     "Check every invariant. CorruptError says which one is broken.\n\n"
     ">>> besom.Filter(capacity=1000).validate()\n"},
    {0},
};

static PyGetSetDef attributes[] = {
    {"abilities", besom__py_filter_abilities, NULL,
     "What this filter can do: a frozenset of names, such as 'remove' and 'adapt'.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The part of besom.Filter that is written in C."},
    {Py_tp_new, filter_create},
    {Py_tp_dealloc, filter_free},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_contains, filter_contains},
    {Py_sq_length, besom__py_filter_len},
    {Py_nb_inplace_or, besom__py_filter_ior},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "besom._besom.FilterBase",
    .basicsize = sizeof(struct filter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

int besom__py_add_filter(PyObject *module, struct module_state *state) {
  state->filter = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  return state->filter ? PyModule_AddType(module, state->filter) : -1;
}
