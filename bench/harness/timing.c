#define _DEFAULT_SOURCE 1 /* clock_gettime */

#include "harness/timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"

static double seconds_of(clockid_t clock, const char *name) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) fail("this system has no clock of %s", name);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cpu_seconds(void) {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID, "CPU time");
}

double wall_seconds(void) {
  return seconds_of(CLOCK_MONOTONIC, "time");
}

void samples_add(samples *s, double value) {
  if (s->count == s->capacity) {
    s->capacity = s->capacity ? 2 * s->capacity : 16;
    s->values = realloc(s->values, s->capacity * sizeof *s->values);
    if (!s->values) fail("no memory for %zu samples", s->capacity);
  }
  s->values[s->count++] = value;
}

static int compare_values(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double *sorted_copy(const samples *s) {
  double *sorted = allocate(s->count, sizeof *sorted);
  memcpy(sorted, s->values, s->count * sizeof *sorted);
  qsort(sorted, s->count, sizeof *sorted, compare_values);
  return sorted;
}

double samples_median(const samples *s) {
  if (s->count == 0) return 0;
  double *sorted = sorted_copy(s);
  double median = (sorted[(s->count - 1) / 2] + sorted[s->count / 2]) / 2;
  free(sorted);
  return median;
}

double samples_quantile(const samples *s, double share) {
  if (s->count == 0) return 0;
  double *sorted = sorted_copy(s);
  double value = sorted[(size_t)(share * (double)(s->count - 1))];
  free(sorted);
  return value;
}

/* Interpolates between adjacent samples: with few samples the result would jump otherwise. */
static double quartile(const double *sorted, size_t count, double share) {
  double at = share * (double)(count - 1);
  size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

double samples_spread(const samples *s) {
  if (s->count < 2) return 0;
  double *sorted = sorted_copy(s), median = quartile(sorted, s->count, 0.5);
  double range = quartile(sorted, s->count, 0.75) - quartile(sorted, s->count, 0.25);
  free(sorted);
  return median > 0 ? range / median : 0;
}

void samples_free(samples *s) {
  free(s->values);
  *s = (samples){0};
}
