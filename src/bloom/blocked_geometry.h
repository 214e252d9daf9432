/*
 * From a number of keys and a false-positive rate, or a size, to the geometry of a blocked Bloom
 * filter, and from a geometry to its false-positive rate.
 */
#ifndef BESOM_BLOOM_BLOCKED_GEOMETRY_H
#define BESOM_BLOOM_BLOCKED_GEOMETRY_H

#include "bloom/blocked.h"

#define MIN_PLANNED_FPR 0x1p-64

struct blocked_geometry {
  double lines; /* odd; may be too large for memory */
  uint32_t full_layers;
  bool half_layer;
};

/* The false-positive rate with so many keys. */
double besom__blocked_fpr(const struct blocked_geometry *geometry, double keys);

/* The fewest lines with at most this false-positive rate. fpr >= MIN_PLANNED_FPR. */
struct blocked_geometry besom__blocked_geometry_for_fpr(double keys, double fpr);

/* The lowest false-positive rate of at most that many lines, at least 1. */
struct blocked_geometry besom__blocked_geometry_for_lines(double keys, double lines);

#endif
