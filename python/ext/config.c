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

/* A rate of 0 would mean the default: it is refused, because the caller means something else. */
struct rate {
  double value;
  bool is_given;
};

static int convert_rate(PyObject *object, void *out) {
  struct rate *rate = out;
  rate->is_given = object != Py_None;
  return convert_double(object, &rate->value);
}

static int config_check_rate(struct module_state *state, const char *name, const struct rate *rate,
                             double *out) {
  *out = rate->value;
  if (!rate->is_given || rate->value != 0) return 0;
  PyErr_Format(state->errors[BESOM_INVALID], "%s is 0: above 0, or leave it out", name);
  return -1;
}

static int config_parse(PyObject *args, PyObject *keywords, enum config_use use,
                        struct config *config, struct rate *fpr, struct rate *bits) {
  static char *names[] = {"kind",       "capacity",     "fpr",          "options",      "hash",
                          "seed",       "max_capacity", "bits_per_key", "slots",        "width",
                          "value_bits", "reserve",      "no_capacity",  "build_memory", "threads",
                          "repeated",   "copies",       "removable",    "distinct",     NULL};
  besom_config *c = &config->c;
  int distinct = 0, removable = use == FOR_GUARD;
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "|sO&O&$zzO&O&O&O&O&O&O&O&O&O&O&O&pp:Filter", names, &c->kind,
          besom__py_convert_u64, &c->capacity, convert_rate, fpr, &c->options, &c->hash,
          convert_seed, config, besom__py_convert_u64, &c->max_capacity, convert_rate, bits,
          besom__py_convert_u64, &c->slots, convert_u32, &c->width, convert_u32, &c->value_bits,
          convert_double, &c->reserve, besom__py_convert_u64, &c->no_capacity,
          besom__py_convert_u64, &c->build_memory, convert_u32, &c->threads, convert_double,
          &c->repeated, besom__py_convert_u64, &c->copies, &removable, &distinct))
    return -1;
  if (distinct && use != FOR_BUILD) {
    PyErr_SetString(PyExc_TypeError,
                    "distinct is an argument of besom.build: a besom.Filter is a set anyway");
    return -1;
  }
  config->removable = removable;
  c->flags = (distinct ? BESOM_DISTINCT : 0) | (removable ? 0 : BESOM_SET);
  return 0;
}

/* (capacity, fpr) as (kind, capacity, fpr): a new reference. The kind may be a keyword. */
static PyObject *config_with_kind(PyObject *args, PyObject *keywords) {
  PyObject *capacity = PyTuple_GetItem(args, 0);
  if (PyFloat_Check(capacity)) {
    PyErr_Format(PyExc_TypeError, "capacity is a number of keys, not %R: besom.Filter(1000, 0.01)",
                 capacity);
    return NULL;
  }
  PyObject *kind = keywords ? PyDict_GetItemString(keywords, "kind") : NULL;
  PyObject *first = kind ? PyTuple_Pack(1, kind) : Py_BuildValue("(s)", "aqf");
  PyObject *all = first ? PySequence_Concat(first, args) : NULL;
  Py_XDECREF(first);
  if (all && kind && PyDict_DelItemString(keywords, "kind")) Py_CLEAR(all);
  return all;
}

int besom__py_config(struct module_state *state, enum config_use use, PyObject *args,
                     PyObject *keywords, struct config *config) {
  *config = (struct config){.c = {.kind = "aqf"}};
  struct rate fpr = {0, false}, bits = {0, false};
  bool has_kind = PyTuple_Size(args) == 0 || PyUnicode_Check(PyTuple_GetItem(args, 0));
  if (has_kind) {
    if (config_parse(args, keywords, use, config, &fpr, &bits)) return -1;
  } else {
    config->args = config_with_kind(args, keywords);
    if (!config->args || config_parse(config->args, keywords, use, config, &fpr, &bits)) return -1;
  }
  if (config_check_rate(state, "fpr", &fpr, &config->c.fpr)) return -1;
  return config_check_rate(state, "bits_per_key", &bits, &config->c.bits_per_key);
}

void besom__py_config_close(struct config *config) {
  Py_CLEAR(config->args);
}

int besom__py_config_check_made(struct module_state *state, const struct config *config,
                                const besom_filter *f) {
  if (!config->removable || besom_abilities(f) & BESOM_CAN_REMOVE) return 0;
  besom__py_raise_cannot(state, f, "remove keys");
  return -1;
}

/* The texts of the C library speak of C. */
static const struct {
  const char *of_c, *of_python;
} config_phrases[] = {
    {"see besom_kinds", "see besom.kinds()"},
    {"a set keeps no copies", "pass removable=True, too: a set keeps no copies"},
    {"this kind of filter cannot do that",
     "it cannot be a set over this base: pass removable=True"},
    {"its reports change fingerprints", "its reports change fingerprints. Pass removable=True"},
};

static void config_translate(char *text, size_t size) {
  for (size_t i = 0; i < sizeof config_phrases / sizeof *config_phrases; i++) {
    char *at = strstr(text, config_phrases[i].of_c);
    if (!at) continue;
    char rest[256];
    PyOS_snprintf(rest, sizeof rest, "%s", at + strlen(config_phrases[i].of_c));
    PyOS_snprintf(at, size - (size_t)(at - text), "%s%s", config_phrases[i].of_python, rest);
  }
}

void *besom__py_raise_config(struct module_state *state, besom_status status,
                             const besom_config *config) {
  char text[512];
  besom_status found = besom_config_check(config, text, 256);
  if (found == status) {
    config_translate(text, sizeof text);
    return besom__py_raise(state, status, text);
  }
  if (status != BESOM_UNSUPPORTED) return besom__py_raise(state, status, NULL);
  PyOS_snprintf(text, sizeof text, "kind \"%s\" can only be built from its keys: use besom.build",
                config->kind);
  return besom__py_raise(state, status, text);
}
