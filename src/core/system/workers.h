/* Threads that help with one piece of work, and end with it. */
#ifndef BESOM_CORE_WORKERS_H
#define BESOM_CORE_WORKERS_H

#include <pthread.h>

#define MAX_WORKERS 63

struct worker {
  pthread_t thread;
  void (*work)(void *ctx, unsigned i);
  void *ctx;
  unsigned i;
};

struct workers {
  struct worker list[MAX_WORKERS];
  unsigned n;
};

/*
 * Starts n threads that call work(ctx, i) with i from first on; fewer, or none, if the system does
 * not allow more. So the work must get done without them. They receive no signals.
 */
void besom__workers_start(struct workers *w, unsigned n, unsigned first,
                          void (*work)(void *ctx, unsigned i), void *ctx);

/* Waits until all have returned. */
void besom__workers_join(struct workers *w);

#endif
