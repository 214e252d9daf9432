/*
 * time_scale.c - prints how many times slower this machine is than one of today (2023, 3 GHz), for
 * the time limits of tests: 1 or more, and at most 100. The measure is a chain of multiplications
 * and memory reads, in wall-clock time, so that other load counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { STEPS = 20000000, WORDS = 1 << 16, USUAL_MS = 200, MOST = 100 };

static double now_ms(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(void) {
  static volatile uint64_t words[WORDS];
  double begin = now_ms();
  uint64_t x = 1;
  for (int i = 0; i < STEPS; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    x += words[x >> 48];
    words[x >> 48] = x;
  }
  double scale = (now_ms() - begin) / USUAL_MS;
  printf("%.0f", scale < 1 ? 1 : scale > MOST ? MOST : scale + 0.5);
  return 0;
}
