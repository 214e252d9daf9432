/* From keys and a rate, or bits, to the geometry of a blocked Bloom filter, and back to its rate. */
#ifndef BESOM_BLOOM_BLOCKED_PLAN_H
#define BESOM_BLOOM_BLOCKED_PLAN_H

#include "bloom/blocked.h"

#define MIN_PLANNED_RATE 0x1p-64

struct blocked_shape {
  double lines; /* a whole number; may be more than there can be */
  uint32_t full_layers;
  bool half_layer;
};

/* The rate when so many keys are spread over the lines at random, their bits at random over the words. */
double besom__blocked_rate(const struct blocked_shape *shape, double keys);

/* The fewest lines with at most this rate, at least MIN_PLANNED_RATE. */
struct blocked_shape besom__blocked_plan_rate(double keys, double rate);

/* The best rate of that many lines. */
struct blocked_shape besom__blocked_plan_lines(double keys, double lines);

#endif
