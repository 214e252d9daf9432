/* A progress bar on stderr, with rate and time left. It is shown only if stderr is a terminal. */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include <stdint.h>

#include "besom.h"

/* what: the activity, such as "building"; unit: the unit of done and total, such as "keys". There
 * is one bar at a time. */
void bar_begin(const char *what, const char *unit);

/* total: 0 if unknown. Cheap: callers may call it once per thousand units. Also ends the program if
 * it was interrupted (interrupt_check). */
void bar_tick(uint64_t done, uint64_t total);

/* Removes the bar. */
void bar_end(void);

/* bar_tick as a callback for the library. */
extern const besom_progress bar_progress;

#endif
