#include "zipf.h"

#include <math.h>

#include "random.h"

/*
 * Rejection-inversion, after Hoermann and Derflinger (1996). Cut the area under the curve x^-s at every k + 1/2. The
 * curve is convex, so the piece around k is at least as large as k^-s: keep the last k^-s of it, and a point that is
 * uniform over the whole area falls into what was kept of piece k with the wanted odds; one that falls elsewhere is
 * thrown again. Inverting the integral finds the piece. The first one is kept whole, by beginning the area late.
 */

/* The integral of x^-s from 1 to x; no case of its own for s near 1, where (x^(1-s) - 1) / (1-s) loses its digits. */
static double area_to(const zipf *z, double x) {
  double e = (1 - z->s) * log(x);
  return fabs(e) > 1e-9 ? log(x) * expm1(e) / e : log(x) * (1 + e / 2);
}

/* Its inverse. */
static double at_area(const zipf *z, double area) {
  double e = (1 - z->s) * area;
  if (e <= -1) return (double)z->universe; /* rounding: no x has so much area before it */
  return exp(fabs(e) > 1e-9 ? area * log1p(e) / e : area * (1 - e / 2));
}

zipf zipf_create(double s, uint64_t universe) {
  zipf z = {.s = s, .universe = universe};
  z.first = area_to(&z, 1.5) - 1;
  z.area = area_to(&z, (double)universe + 0.5) - z.first;
  return z;
}

static uint64_t nearest_rank(const zipf *z, double x) {
  if (x < 1.5) return 1;
  if (x >= (double)z->universe) return z->universe;
  return (uint64_t)(x + 0.5);
}

uint64_t zipf_rank(const zipf *z, uint64_t seed) {
  for (uint64_t i = 0;; i++) {
    double area = z->first + random_unit(random_at(seed, i)) * z->area;
    uint64_t k = nearest_rank(z, at_area(z, area));
    if (k == 1 || area >= area_to(z, (double)k + 0.5) - pow((double)k, -z->s)) return k;
  }
}
