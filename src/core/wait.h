/* Waiting for another thread. */
#ifndef BESOM_CORE_WAIT_H
#define BESOM_CORE_WAIT_H

#define CACHE_LINE 64 /* bytes; what different threads write should not share one */

/* To be called in a loop that waits for another thread, with a count of its own that starts at 0. */
void besom__wait(unsigned *times);

#endif
