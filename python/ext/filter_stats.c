/* filter_stats.c - what a filter tells about itself. */
#include "errors.h"
#include "filter.h"

static besom_status read_stats(struct filter *self, besom_statistics *stats) {
  if (besom__py_lock_enter_read(&self->lock)) return BESOM_BUSY; /* with an exception */
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_stats(self->f, stats);
  Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  return status;
}

Py_ssize_t besom__py_filter_len(PyObject *object) {
  struct filter *self = (struct filter *)object;
  besom_statistics stats;
  besom_status status = read_stats(self, &stats);
  if (status == BESOM_OK) return (Py_ssize_t)stats.keys;
  besom__py_raise(self->state, status, NULL);
  return -1;
}

static PyObject *stats_dict(const besom_statistics *s) {
  return Py_BuildValue(
      "{s:s,s:s,s:s,s:K,s:K,s:K,s:I,s:K,s:d,s:d,s:d,s:d,s:d,s:d}", "kind", s->kind, "hash", s->hash,
      "isa", s->isa, "keys", (unsigned long long)s->keys, "capacity",
      (unsigned long long)s->capacity, "slots", (unsigned long long)s->slots, "width",
      (unsigned)s->width, "bytes", (unsigned long long)s->bytes, "bits_per_key", s->bits_per_key,
      "load_factor", s->load_factor, "expected_fpr", s->expected_fpr, "fpr_at_capacity",
      s->fpr_at_capacity, "workload_fpr", s->workload_fpr, "reserve_used", s->reserve_used);
}

static PyObject *counters_dict(const besom_counter *counters, size_t n) {
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < n; i++) {
    PyObject *value = PyLong_FromUnsignedLongLong(counters[i].value);
    if (!value || PyDict_SetItemString(dict, counters[i].name, value)) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

enum { MAX_COUNTERS = 64 };

static PyObject *dict_with_counters(const besom_filter *f, const besom_statistics *stats) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = besom_counters(f, counters, MAX_COUNTERS);
  PyObject *dict = stats_dict(stats);
  PyObject *inner = dict ? counters_dict(counters, n < MAX_COUNTERS ? n : MAX_COUNTERS) : NULL;
  if (!inner || PyDict_SetItemString(dict, "counters", inner)) Py_CLEAR(dict);
  Py_XDECREF(inner);
  return dict;
}

PyObject *besom__py_filter_stats(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  besom_statistics stats;
  besom_status status = read_stats(self, &stats);
  if (status != BESOM_OK) return besom__py_raise(self->state, status, NULL);
  if (lock_read_now(&self->lock)) return NULL;
  return dict_with_counters(self->f, &stats);
}

/* Only C runs between the calls, but building objects may start the garbage collector, and so
   Python code: the layers are read before. */
enum { MAX_LAYERS = 64 };

PyObject *besom__py_filter_layers(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  besom_statistics stats[MAX_LAYERS];
  size_t n = 0;
  if (lock_read_now(&self->lock)) return NULL;
  const besom_filter *layer;
  while (n < MAX_LAYERS && (layer = besom_layer(self->f, n)))
    if (besom_stats(layer, &stats[n++]) != BESOM_OK) break;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < n; i++) {
    PyObject *dict = stats_dict(&stats[i]);
    if (!dict || PyList_Append(list, dict)) Py_CLEAR(list);
    Py_XDECREF(dict);
  }
  return list;
}

PyObject *besom__py_filter_validate(PyObject *object, PyObject *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  const char *reason = NULL;
  besom_status status;
  if (besom__py_lock_enter_read(&self->lock)) return NULL;
  Py_BEGIN_ALLOW_THREADS status = besom_validate(self->f, &reason);
  Py_END_ALLOW_THREADS besom__py_lock_leave_read(&self->lock);
  return status == BESOM_OK ? Py_NewRef(Py_None) : besom__py_raise(self->state, status, reason);
}

/* -------------------------------------------------------------- abilities and kinds */

static const struct {
  unsigned ability;
  const char *name;
} ability_names[] = {
    {BESOM_CAN_INSERT, "add"},     {BESOM_CAN_REMOVE, "remove"},
    {BESOM_CAN_COUNT, "count"},    {BESOM_CAN_MERGE, "merge"},
    {BESOM_CAN_RESIZE, "resize"},  {BESOM_CAN_ADAPT, "report"},
    {BESOM_CAN_VALUE, "value"},    {BESOM_CAN_MATCH, "guard"},
    {BESOM_CAN_REKEY, "rekey"},    {BESOM_CAN_SCALE, "scale"},
    {BESOM_FORGETS, "forgets"},    {BESOM_CAN_BUILD_NO, "build_no"},
    {BESOM_CAN_NO_LIST, "no_add"}, {BESOM_TAKES_SAMPLE, "build_sample"},
    {BESOM_IS_SET, "set"},         {BESOM_IS_MAPLET, "maplet"},
};

static PyObject *abilities_set(unsigned abilities) {
  PyObject *set = PyFrozenSet_New(NULL);
  for (size_t i = 0; set && i < sizeof ability_names / sizeof *ability_names; i++) {
    if (!(abilities & ability_names[i].ability)) continue;
    PyObject *name = PyUnicode_FromString(ability_names[i].name);
    if (!name || PySet_Add(set, name)) Py_CLEAR(set);
    Py_XDECREF(name);
  }
  return set;
}

PyObject *besom__py_filter_abilities(PyObject *object, void *unused) {
  (void)unused;
  struct filter *self = (struct filter *)object;
  return lock_read_now(&self->lock) ? NULL : abilities_set(besom_abilities(self->f));
}

PyObject *besom__py_kinds(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  PyObject *list = PyList_New(0);
  const besom_kind_info *info;
  for (size_t i = 0; list && (info = besom_kinds(i)); i++) {
    PyObject *item =
        Py_BuildValue("(ssN)", info->name, info->summary, abilities_set(info->abilities));
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}
