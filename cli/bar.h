/* How far long work has come: a bar with rate and time left on a terminal, nothing in a pipe. */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include <stdint.h>

#include "besom.h"

/* what: "building", with the unit in which done and total count: "keys". One bar at a time. */
void bar_begin(const char *what, const char *unit);

/* total 0: unknown. Cheap enough to be called for every thousand things. */
void bar_tick(uint64_t done, uint64_t total);

/* Takes the bar away. */
void bar_end(void);

/* The bar for calls of the library; it also ends the program when it is interrupted. */
extern const besom_progress bar_progress;

#endif
