/* config.h - the keyword arguments of a configuration. */
#ifndef BESOM_PYTHON_CONFIG_H
#define BESOM_PYTHON_CONFIG_H

#include "module.h"

#include <stdbool.h>

struct config {
  besom_config c; /* its strings belong to the arguments */
  uint8_t seed[16];
  bool removable;
  PyObject *args; /* owned; NULL: those of the caller */
};

/* Filters are sets (BESOM_SET) unless they are removable. A guard is bound: its filter is not. */
enum config_use { FOR_FILTER, FOR_BUILD, FOR_GUARD };

/*
 * Reads kind, capacity, fpr and the keywords of besom_config. If the first argument is no str, it
 * is the capacity, and the second one is fpr. args and keywords must live as long as the config. 0,
 * or -1 with an exception.
 */
int besom__py_config(struct module_state *state, enum config_use use, PyObject *args,
                     PyObject *keywords, struct config *config);

/* Drops what the config holds. Also after a failure. */
void besom__py_config_close(struct config *config);

/* Whether a new filter can do what was asked for: 0, or -1 with an exception. */
int besom__py_config_check_made(struct module_state *state, const struct config *config,
                                const besom_filter *f);

/* Raises the error of a failed create or build: names the argument that is wrong. Returns NULL. */
void *besom__py_raise_config(struct module_state *state, besom_status status,
                             const besom_config *config);

#endif
