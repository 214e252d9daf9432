/* config.h - the keyword arguments of a configuration. */
#ifndef BESOM_PYTHON_CONFIG_H
#define BESOM_PYTHON_CONFIG_H

#include "module.h"

struct config {
  besom_config c; /* its strings belong to the arguments */
  uint8_t seed[16];
};

/*
 * Reads kind, capacity, fpr and the keywords of besom_config. args and keywords must live as long
 * as the config. 0, or -1 with an exception.
 */
int besom__py_config(PyObject *args, PyObject *keywords, struct config *config);

/* Raises the error of a failed create or build: names the argument that is wrong. Returns NULL. */
void *besom__py_raise_config(struct module_state *state, besom_status status,
                             const besom_config *config);

#endif
