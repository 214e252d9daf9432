/* Parser of besom_config.options, "name=value,name=value": one option at a time. */
#ifndef BESOM_CORE_OPTIONS_H
#define BESOM_CORE_OPTIONS_H

#include "core/cpu.h"

struct option {
  besom_bytes name, value;
};

/*
 * Reads the next option and advances *text. Returns OK, END (no more options), or BAD_OPTION (not
 * of the form name=value). An empty or NULL text has no options.
 */
besom_status besom__option_next(const char **text, struct option *option);

/* Whether the option has this name; this value. */
bool besom__option_is(const struct option *option, const char *name);
bool besom__option_says(const struct option *option, const char *value);

/* An option with two values. *flag becomes true by the first one, false by the second. */
struct flag_option {
  const char *name, *set, *unset;
  bool *flag;
};

/* Sets the flag of the option's name. Errors: BAD_OPTION (no such name, or another value). */
besom_status besom__option_flag(const struct option *option, const struct flag_option *flags,
                                size_t n);

/*
 * Reads all options of a kind that has the option isa and n flags. *isa: the best one by default.
 * Errors: BAD_OPTION.
 */
besom_status besom__options_isa(const char *text, enum isa *isa, const struct flag_option *flags,
                                size_t n);

/* The value as a decimal number. Errors: BAD_OPTION (not only digits, or too large). */
besom_status besom__option_number(const struct option *option, uint64_t *out);

#endif
