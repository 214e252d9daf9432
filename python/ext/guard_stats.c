/* guard_stats.c - the statistics of a guard. */
#include "errors.h"
#include "guard.h"

#include <stddef.h>

static int read_stats(struct guard *self, besom_guard_statistics *stats) {
  if (besom__py_guard_enter(self)) return -1;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_guard_stats(self->g, stats);
  Py_END_ALLOW_THREADS besom__py_guard_leave(self);
  if (status != BESOM_OK) besom__py_raise(self->state, status, NULL);
  return status == BESOM_OK ? 0 : -1;
}

Py_ssize_t besom__py_guard_len(PyObject *self) {
  besom_guard_statistics stats;
  return read_stats((struct guard *)self, &stats) ? -1 : (Py_ssize_t)stats.keys;
}

#define NUMBER(name) \
  { #name, offsetof(besom_guard_statistics, name) }

static const struct {
  const char *name;
  size_t offset;
} numbers[] = {
    NUMBER(queries),
    NUMBER(filter_negatives),
    NUMBER(store_reads),
    NUMBER(true_positives),
    NUMBER(false_positives),
    NUMBER(repeated_false_positives),
    NUMBER(adapted),
    NUMBER(adapt_full),
    NUMBER(puts),
    NUMBER(replaced),
    NUMBER(deletes),
    NUMBER(put_reads),
    NUMBER(delete_reads),
    NUMBER(moved),
    NUMBER(filter_reads),
    NUMBER(queued),
    NUMBER(queue_drops),
    NUMBER(rekeys),
    NUMBER(growths),
    NUMBER(steps),
    NUMBER(step_items),
    NUMBER(largest_step),
    NUMBER(failed_steps),
    NUMBER(rebuilt),
    NUMBER(keys),
    NUMBER(filter_bytes),
    NUMBER(store_bytes),
    NUMBER(no_keys),
    NUMBER(growths_refused),
    NUMBER(rekeys_refused),
    NUMBER(full_puts),
    NUMBER(unwritten),
};

static int set_numbers(PyObject *dict, const besom_guard_statistics *stats) {
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    uint64_t number;
    memcpy(&number, (const char *)stats + numbers[i].offset, sizeof number);
    PyObject *value = PyLong_FromUnsignedLongLong(number);
    int failed = !value || PyDict_SetItemString(dict, numbers[i].name, value);
    Py_XDECREF(value);
    if (failed) return -1;
  }
  return 0;
}

PyObject *besom__py_guard_stats(PyObject *object, PyObject *unused) {
  (void)unused;
  besom_guard_statistics s;
  if (read_stats((struct guard *)object, &s)) return NULL;
  PyObject *dict = Py_BuildValue(
      "{s:N,s:N,s:d,s:d,s:d,s:d}", "migrating", PyBool_FromLong(s.migrating), "migration_pending",
      PyBool_FromLong(s.migration_pending), "reserve_used", s.reserve_used, "observed_fpr",
      s.observed_fpr, "window_fpr", s.window_fpr, "current_fpr", s.current_fpr);
  if (dict && set_numbers(dict, &s)) Py_CLEAR(dict);
  return dict;
}

enum { MAX_OFFENDERS = BESOM_OFFENDERS };

PyObject *besom__py_guard_offenders(PyObject *object, PyObject *unused) {
  (void)unused;
  struct guard *self = (struct guard *)object;
  besom_offender offenders[MAX_OFFENDERS];
  size_t n = 0;
  if (besom__py_guard_enter(self)) return NULL;
  besom_status status;
  Py_BEGIN_ALLOW_THREADS status = besom_guard_offenders(self->g, offenders, MAX_OFFENDERS, &n);
  Py_END_ALLOW_THREADS besom__py_guard_leave(self);
  if (status != BESOM_OK) return besom__py_raise(self->state, status, NULL);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < n; i++) {
    const besom_offender *o = &offenders[i];
    size_t len = o->len < sizeof o->key ? o->len : sizeof o->key;
    PyObject *item = Py_BuildValue("(y#KK)", (const char *)o->key, (Py_ssize_t)len,
                                   (unsigned long long)o->count, (unsigned long long)o->error);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}
