#define _DEFAULT_SOURCE 1 /* isatty, clock_gettime */

#include "bar.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

enum { WIDTH = 30 };

static struct {
  const char *what, *unit;
  double started, shown; /* seconds */
  bool visible;
} bar;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bar_begin(const char *what, const char *unit) {
  bar.what = what;
  bar.unit = unit;
  bar.started = bar.shown = now();
}

static void show(uint64_t done, uint64_t total, double seconds) {
  double rate = seconds > 0 ? (double)done / seconds : 0;
  fprintf(stderr, "\r\033[K%s ", bar.what);
  if (total) {
    int filled = (int)((double)done / (double)total * WIDTH);
    fputc('[', stderr);
    for (int i = 0; i < WIDTH; i++) fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%  ", 100.0 * (double)done / (double)total);
  } else {
    fprintf(stderr, "%llu %s  ", (unsigned long long)done, bar.unit);
  }
  fprintf(stderr, "%.1f M %s/s", 1e-6 * rate, bar.unit);
  if (total && rate > 0) fprintf(stderr, "  %.0f s left", (double)(total - done) / rate);
  bar.visible = true;
}

void bar_tick(uint64_t done, uint64_t total) {
  interrupt_check();
  if (!bar.what || !isatty(fileno(stderr))) return;
  double time = now();
  if (time - bar.shown < 0.1) return;
  bar.shown = time;
  show(done < total || !total ? done : total, total, time - bar.started);
}

void bar_end(void) {
  if (bar.visible) fputs("\r\033[K", stderr);
  bar.visible = false;
  bar.what = NULL;
}

static bool tick(void *ctx, uint64_t done, uint64_t total) {
  (void)ctx;
  bar_tick(done, total);
  return true;
}

const besom_progress bar_progress = {.tick = tick};
