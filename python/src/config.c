/* config.c - the keyword arguments of a configuration. */
#include "config.h"

#include "errors.h"
#include "keys.h"

static int convert_double(PyObject *object, void *out) {
  if (object == Py_None) return 1;
  double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) return 0;
  *(double *)out = value;
  return 1;
}

static int convert_u32(PyObject *object, void *out) {
  uint64_t value = 0;
  if (!besom__py_convert_u64(object, &value)) return 0;
  if (value > UINT32_MAX) {
    PyErr_SetString(PyExc_OverflowError, "width, value_bits and threads have 32 bits");
    return 0;
  }
  *(uint32_t *)out = (uint32_t)value;
  return 1;
}

static int convert_seed(PyObject *object, void *out) {
  struct config *config = out;
  if (object == Py_None) return 1;
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE)) return 0;
  bool fits = view.len == (Py_ssize_t)sizeof config->seed;
  if (fits) {
    memcpy(config->seed, view.buf, sizeof config->seed);
    config->c.seed = config->seed;
  }
  PyBuffer_Release(&view);
  if (!fits) PyErr_SetString(PyExc_ValueError, "seed has 16 bytes");
  return fits;
}

int besom__py_config(PyObject *args, PyObject *keywords, struct config *config) {
  static char *names[] = {
      "kind",         "capacity", "fpr",    "options",    "hash",    "seed",        "max_capacity",
      "bits_per_key", "slots",    "width",  "value_bits", "reserve", "no_capacity", "build_memory",
      "threads",      "repeated", "copies", "distinct",   NULL};
  *config = (struct config){.c = {.kind = "aqf"}};
  besom_config *c = &config->c;
  int distinct = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "|sO&O&$zzO&O&O&O&O&O&O&O&O&O&O&O&p:Filter", names, &c->kind,
          besom__py_convert_u64, &c->capacity, convert_double, &c->fpr, &c->options, &c->hash,
          convert_seed, config, besom__py_convert_u64, &c->max_capacity, convert_double,
          &c->bits_per_key, besom__py_convert_u64, &c->slots, convert_u32, &c->width, convert_u32,
          &c->value_bits, convert_double, &c->reserve, besom__py_convert_u64, &c->no_capacity,
          besom__py_convert_u64, &c->build_memory, convert_u32, &c->threads, convert_double,
          &c->repeated, besom__py_convert_u64, &c->copies, &distinct))
    return -1;
  if (distinct) c->flags |= BESOM_DISTINCT;
  return 0;
}

void *besom__py_raise_config(struct module_state *state, besom_status status,
                             const besom_config *config) {
  char text[256];
  besom_status found = besom_config_check(config, text, sizeof text);
  if (found == status) return besom__py_raise(state, status, text);
  if (status != BESOM_UNSUPPORTED) return besom__py_raise(state, status, NULL);
  PyOS_snprintf(text, sizeof text, "kind \"%s\" can only be built from its keys: use besom.build",
                config->kind);
  return besom__py_raise(state, status, text);
}
