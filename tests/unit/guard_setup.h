/* guard_setup.h - the configuration of a guard and its filter as one value that can be copied. */
#ifndef BESOM_TESTS_GUARD_SETUP_H
#define BESOM_TESTS_GUARD_SETUP_H

#include "besom_store.h"

typedef struct guard_setup {
  besom_config filter;
  besom_guard_config guard; /* without its filter */
} guard_setup;

/* Whether a guard adapts filters of the kind. yesno-dynamic takes reports, but not by a store. */
static inline bool adapts_in_guards(const besom_kind_info *kind) {
  const unsigned needed = BESOM_CAN_MATCH | BESOM_CAN_ADAPT;
  return (kind->abilities & (needed | BESOM_CAN_NO_LIST_AT)) == needed;
}

/* Both structs end with this call: the guard must have copied what it needs. */
static inline besom_status open_guard(const guard_setup *setup, besom_store *store,
                                      besom_guard **out) {
  besom_config filter = setup->filter;
  besom_guard_config config = setup->guard;
  config.filter = &filter;
  return besom_guard_open(&config, store, out);
}

#endif
