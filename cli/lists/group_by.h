/* besom build --group-by. */
#ifndef CLI_GROUP_BY_H
#define CLI_GROUP_BY_H

#include <stdbool.h>

/* The options of kind grouped for this expression. Fails, and says what is wrong with it, if the
 * library refuses it. */
const char *group_by_options(const char *expression, bool closed);

#endif
