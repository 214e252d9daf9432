/* A spin-wait with backoff. */
#ifndef BESOM_CORE_WAIT_H
#define BESOM_CORE_WAIT_H

#define CACHE_LINE 64 /* bytes; data that different threads write should not share a line */

/*
 * Call this in each iteration of a loop that waits for another thread. *times starts at 0 and
 * belongs to the loop. It spins first, then yields the processor, then sleeps 0.1 ms per call.
 */
void besom__wait(unsigned *times);

#endif
