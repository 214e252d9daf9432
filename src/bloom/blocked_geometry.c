/*
 * The false-positive rate of a blocked Bloom filter. It is higher than that of a plain Bloom filter
 * of the same size, because some lines get more keys than others. So it is a sum over the number of
 * keys per line.
 *
 * In a line of j keys the pairs of words are independent, because their bits are chosen
 * independently. For each pair the probability that all bits of a query are set is exact, by
 * inclusion and exclusion: a key sets none of i given bits in the first word and k given bits in
 * the second with probability
 *   ((1 - i/64) (1 - k/64))^full * (1 - (i + k)/128)^half,
 * and none of j keys does with the j-th power of that.
 */
#include "bloom/blocked_geometry.h"

#include <math.h>

#define MAX_BITS (MAX_FULL_LAYERS + 1) /* per key and word */

/* probability[u]: that `throws` random choices among the 64 bits of a word give u distinct bits. */
static void distinct_bits(unsigned throws, double *probability) {
  probability[0] = 1;
  for (unsigned t = 1; t <= throws; t++) {
    probability[t] = 0;
    for (unsigned u = t; u; u--)
      probability[u] = (probability[u] * u + probability[u - 1] * (65.0 - u)) / 64;
    probability[0] = 0;
  }
}

/* picks[i]: the expected number of i-subsets of the distinct bits, with the sign (-1)^i. */
static void signed_picks(unsigned throws, double *picks) {
  double probability[MAX_BITS + 1];
  distinct_bits(throws, probability);
  for (unsigned i = 0; i <= throws; i++) {
    picks[i] = 0;
    for (unsigned u = i; u <= throws; u++) {
      double ways = i % 2 ? -1 : 1;
      for (unsigned n = 0; n < i; n++) ways *= (double)(u - n) / (n + 1);
      picks[i] += ways * probability[u];
    }
  }
}

/* The probability that a pair of words has all bits of a query: the sum of weight * missed^j. */
struct pair {
  unsigned terms;
  double weight[(MAX_BITS + 1) * (MAX_BITS + 1)], missed[(MAX_BITS + 1) * (MAX_BITS + 1)];
};

static struct pair pair_of(unsigned full, bool half) {
  double first[MAX_BITS + 1], second[MAX_BITS + 1];
  struct pair p = {0};
  /* The first word is the one that the half layer of the query chose. */
  signed_picks(full + half, first);
  signed_picks(full, second);
  for (unsigned i = 0; i <= full + half; i++)
    for (unsigned k = 0; k <= full; k++, p.terms++) {
      p.weight[p.terms] = first[i] * second[k];
      p.missed[p.terms] =
          pow((1 - i / 64.0) * (1 - k / 64.0), full) * (half ? 1 - (i + k) / 128.0 : 1);
    }
  return p;
}

/*
 * The number of keys per line is binomially distributed. The sum goes from 12 standard deviations
 * below the mean to 12 above. Weights are relative to the first, so that none underflows.
 */
double besom__blocked_fpr(const struct blocked_geometry *geometry, double keys) {
  struct pair p = pair_of(geometry->full_layers, geometry->half_layer);
  double mean = keys / geometry->lines, spread = 12 * sqrt(mean);
  double first = floor(fmax(0, mean - spread)), last = fmin(keys, ceil(mean + spread + 20));
  if (mean > 16 * LINE_BITS) return 1; /* only from a file: the sum would take too long */
  if (geometry->lines <= 1) first = last = keys;
  double power[(MAX_BITS + 1) * (MAX_BITS + 1)], weight = 1, weights = 0, sum = 0;
  for (unsigned i = 0; i < p.terms; i++) power[i] = p.weight[i] * pow(p.missed[i], first);
  for (double j = first; j <= last; j++) {
    double all_set = 0;
    for (unsigned i = 0; i < p.terms; i++) {
      all_set += power[i];
      power[i] *= p.missed[i];
    }
    weights += weight;
    sum += weight * all_set * all_set * all_set * all_set;
    weight *= (keys - j) / (j + 1) / (geometry->lines - 1);
  }
  return fmin(1, sum / weights);
}

/* ------------------------------------------------------------------ geometry */

/* Geometry number 1, 2, 3, ...: a key sets 4, 8, 12, ... bits. */
static struct blocked_geometry geometry_number(unsigned number) {
  return (struct blocked_geometry){.full_layers = number / 2, .half_layer = number % 2};
}

#define GEOMETRIES (2 * MAX_FULL_LAYERS + 2) /* the first number that is none */

/* The keys per line with this FPR in a large filter, found by bisection on a logarithmic scale. */
static double keys_per_line(struct blocked_geometry geometry, double fpr) {
  double few = 0x1p-10, many = 1024;
  geometry.lines = 0x1p40;
  while (many > few * 1.0005) {
    double middle = sqrt(few * many);
    *(besom__blocked_fpr(&geometry, middle * geometry.lines) > fpr ? &many : &few) = middle;
  }
  return few;
}

struct blocked_geometry besom__blocked_geometry_for_fpr(double keys, double fpr) {
  struct blocked_geometry best = {0};
  double most = 0;
  for (unsigned number = 1; number < GEOMETRIES; number++) {
    double here = keys_per_line(geometry_number(number), fpr);
    if (here < most) break; /* setting more bits per key only makes it worse from here on */
    best = geometry_number(number);
    most = here;
  }
  best.lines = fmax(1, ceil(keys / most));
  /* With few lines the distribution of keys per line is slightly different. */
  while (best.lines < 1000 && besom__blocked_fpr(&best, keys) > fpr) best.lines++;
  best.lines += 1 - fmod(best.lines, 2);
  return best;
}

struct blocked_geometry besom__blocked_geometry_for_lines(double keys, double lines) {
  struct blocked_geometry best = {0};
  double least = 2;
  lines -= 1 - fmod(lines, 2);
  for (unsigned number = 1; number < GEOMETRIES; number++) {
    struct blocked_geometry geometry = geometry_number(number);
    geometry.lines = lines;
    double fpr = besom__blocked_fpr(&geometry, keys);
    if (fpr >= least) break;
    best = geometry;
    least = fpr;
  }
  return best;
}
