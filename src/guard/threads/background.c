#define _GNU_SOURCE /* pthread_sigmask */
#include "guard/threads/background.h"

#include <signal.h>

#include "guard/guard.h"
#include "guard/threads/condition.h"

/* The pause after a failed step: doubled by each one that follows. */
#define FIRST_PAUSE (SECOND / 1000)
#define LONGEST_PAUSE SECOND

struct background {
  besom_guard *guard;
  besom_allocator allocator;
  double share;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool stop, due;
};

/* Sleeps until the time, or until it is stopped. The mutex is held. */
static void sleep_until(struct background *b, uint64_t until) {
  while (!b->stop && condition_wait(&b->changed, &b->mutex, until)) {
  }
}

static uint64_t next_pause(uint64_t pause) {
  if (!pause) return FIRST_PAUSE;
  return 2 * pause < LONGEST_PAUSE ? 2 * pause : LONGEST_PAUSE;
}

/* One step, and the pause that keeps the thread within its share. The mutex is not held during the
   step. Returns the pause if the step failed. */
static uint64_t background_work(struct background *b, uint64_t last_pause) {
  bool more;
  b->due = false;
  pthread_mutex_unlock(&b->mutex);
  uint64_t start = besom__monotonic_ns();
  bool failed = besom__background_step(b->guard, &more) != BESOM_OK;
  uint64_t end = besom__monotonic_ns();
  pthread_mutex_lock(&b->mutex);
  b->due |= more || failed;
  uint64_t pause = failed ? next_pause(last_pause) : 0;
  uint64_t idle = (uint64_t)((double)(end - start) * (1 / b->share - 1));
  sleep_until(b, end + (pause > idle ? pause : idle));
  return pause;
}

static void *background_run(void *ctx) {
  struct background *b = ctx;
  uint64_t pause = 0;
  pthread_mutex_lock(&b->mutex);
  while (!b->stop)
    if (b->due)
      pause = background_work(b, pause);
    else
      pthread_cond_wait(&b->changed, &b->mutex);
  pthread_mutex_unlock(&b->mutex);
  return NULL;
}

/* The application's signals are for the application's threads. */
static bool start_thread(struct background *b) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool started = pthread_create(&b->thread, NULL, background_run, b) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

static void background_free(struct background *b) {
  besom_allocator allocator = b->allocator;
  pthread_cond_destroy(&b->changed);
  pthread_mutex_destroy(&b->mutex);
  besom__release(&allocator, b, sizeof *b);
}

/* It looks for work at once: a migration may have been interrupted. */
besom_status besom__background_start(besom_guard *g, const besom_allocator *allocator, double share,
                                     struct background **out) {
  struct background *b = besom__allocate(allocator, sizeof *b);
  if (!b) return BESOM_NO_MEMORY;
  *b = (struct background){.guard = g, .allocator = *allocator, .share = share, .due = true};
  if (!condition_init(&b->changed)) {
    besom__release(allocator, b, sizeof *b);
    return BESOM_NO_MEMORY;
  }
  pthread_mutex_init(&b->mutex, NULL);
  *out = b; /* before the thread runs */
  if (start_thread(b)) return BESOM_OK;
  *out = NULL;
  background_free(b);
  return BESOM_NO_MEMORY;
}

void besom__background_stop(struct background *b) {
  if (!b) return;
  pthread_mutex_lock(&b->mutex);
  b->stop = true;
  pthread_cond_broadcast(&b->changed);
  pthread_mutex_unlock(&b->mutex);
  pthread_join(b->thread, NULL);
  background_free(b);
}

void besom__background_wake(struct background *b) {
  pthread_mutex_lock(&b->mutex);
  if (!b->due) pthread_cond_signal(&b->changed);
  b->due = true;
  pthread_mutex_unlock(&b->mutex);
}
