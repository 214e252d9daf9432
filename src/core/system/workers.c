#define _GNU_SOURCE /* pthread_sigmask */
#include "core/system/workers.h"

#include <signal.h>
#include <stddef.h>

static void *worker_run(void *ctx) {
  const struct worker *w = ctx;
  w->work(w->ctx, w->i);
  return NULL;
}

void besom__workers_start(struct workers *w, unsigned n, unsigned first,
                          void (*work)(void *ctx, unsigned i), void *ctx) {
  w->n = 0;
  if (!n) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* a new thread inherits it */
  for (; w->n < n && w->n < MAX_WORKERS; w->n++) {
    struct worker *next = &w->list[w->n];
    *next = (struct worker){.work = work, .ctx = ctx, .i = first + w->n};
    if (pthread_create(&next->thread, NULL, worker_run, next) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void besom__workers_join(struct workers *w) {
  while (w->n) pthread_join(w->list[--w->n].thread, NULL);
}
