/* What is wrong with a configuration, in the words of a program's own options. */
#ifndef PROGRAM_CONFIG_TEXT_H
#define PROGRAM_CONFIG_TEXT_H

#include "besom.h"

/* The option that sets a member of besom_config: {"fpr", "--fpr"}. */
typedef struct option_name {
  const char *member, *option;
} option_name;

enum { CONFIG_TEXT_SIZE = 512 };

/*
 * Calls besom_config_check. On any status but BESOM_OK, text is its sentence with the names of
 * members replaced by those of the options. Members without an option keep their names.
 */
besom_status config_text(const besom_config *config, const option_name *names, size_t name_count,
                         char text[CONFIG_TEXT_SIZE]);

#endif
