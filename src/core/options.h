/* The options text of a config, "name=value,name=value", taken apart one option at a time. */
#ifndef BESOM_CORE_OPTIONS_H
#define BESOM_CORE_OPTIONS_H

#include "besom.h"

struct option {
  besom_bytes name, value;
};

/*
 * Takes the next option off the text. OK, END at its end, or BAD_OPTION where it is no name=value.
 * An empty or NULL text has no options.
 */
besom_status besom__option_next(const char **text, struct option *option);

bool besom__option_is(const struct option *option, const char *name);
bool besom__option_says(const struct option *option, const char *value);

/* The value as yes or no; BAD_OPTION for any other. */
besom_status besom__option_bool(const struct option *option, bool *out);

/* The value as a number of decimal digits; BAD_OPTION for any other. */
besom_status besom__option_number(const struct option *option, uint64_t *out);

#endif
