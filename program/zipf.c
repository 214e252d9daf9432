#include "zipf.h"

#include <math.h>

#include "random.h"

/*
 * Rejection-inversion, after Hoermann and Derflinger (1996). The area under the curve x^-s is cut
 * at every k + 1/2. The curve is convex, so the piece around k is at least as large as k^-s, and
 * the last k^-s of it is the accepted part. A point that is uniform over the area falls into the
 * accepted part of piece k with a probability proportional to k^-s; any other point is rejected and
 * drawn again. The inverse of the integral finds the piece. The area starts late enough that the
 * first piece is accepted as a whole.
 */

/* The integral of x^-s from 1 to x. This form is exact near s = 1, too, where
 * (x^(1-s) - 1) / (1-s) loses its digits. */
static double area_to(const zipf *z, double x) {
  double e = (1 - z->s) * log(x);
  return fabs(e) > 1e-9 ? log(x) * expm1(e) / e : log(x) * (1 + e / 2);
}

/* Its inverse. */
static double at_area(const zipf *z, double area) {
  double e = (1 - z->s) * area;
  if (e <= -1) return (double)z->universe; /* rounding: the area is larger than the total */
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
