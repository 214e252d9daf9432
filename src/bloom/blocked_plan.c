/*
 * The rate of a blocked Bloom filter. It is more than that of a plain one of the same size, since some lines
 * get more keys than others; so it is summed up over the number of keys that a line may have.
 *
 * In a line of j keys the pairs of words are independent, as the bits in them are chosen independently, and
 * in each pair the probability that all bits of a query are set is exact, by inclusion and exclusion: some
 * i of the bits in the first word and k of those in the second are all missed by a key with the probability
 *   ((1 - i/64) (1 - k/64))^full * (1 - (i + k)/128)^half,   and by j keys with its j-th power.
 */
#include "bloom/blocked_plan.h"

#include <math.h>

#define MOST_BITS (MAX_FULL_LAYERS + 1) /* of a key in a word */

/* The probability that throws at random into the 64 bits of a word give so many different ones. */
static void different_bits(unsigned throws, double *probability) {
  probability[0] = 1;
  for (unsigned t = 1; t <= throws; t++) {
    probability[t] = 0;
    for (unsigned u = t; u; u--)
      probability[u] = (probability[u] * u + probability[u - 1] * (65.0 - u)) / 64;
    probability[0] = 0;
  }
}

/* In how many ways, on average, i of the different ones can be picked; with the sign of inclusion and exclusion. */
static void signed_picks(unsigned throws, double *picks) {
  double probability[MOST_BITS + 1];
  different_bits(throws, probability);
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
  double weight[(MOST_BITS + 1) * (MOST_BITS + 1)], missed[(MOST_BITS + 1) * (MOST_BITS + 1)];
};

static struct pair pair_of(unsigned full, bool half) {
  double first[MOST_BITS + 1], second[MOST_BITS + 1];
  struct pair p = {0};
  signed_picks(full + half,
               first); /* a query's half layer falls into one of the words: call it the first */
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
 * Lines have binomially many keys. The sum goes from 12 standard deviations below the mean to as many above,
 * with weights relative to the first, so that none is too small to be a number.
 */
double besom__blocked_rate(const struct blocked_shape *shape, double keys) {
  struct pair p = pair_of(shape->full_layers, shape->half_layer);
  double mean = keys / shape->lines, spread = 12 * sqrt(mean);
  double first = floor(fmax(0, mean - spread)), last = fmin(keys, ceil(mean + spread + 20));
  if (mean > 16 * LINE_BITS)
    return 1; /* not by a plan: a file may say so, and would keep us busy */
  if (shape->lines <= 1) first = last = keys;
  double power[(MOST_BITS + 1) * (MOST_BITS + 1)], weight = 1, weights = 0, sum = 0;
  for (unsigned i = 0; i < p.terms; i++) power[i] = p.weight[i] * pow(p.missed[i], first);
  for (double j = first; j <= last; j++) {
    double all_set = 0;
    for (unsigned i = 0; i < p.terms; i++) {
      all_set += power[i];
      power[i] *= p.missed[i];
    }
    weights += weight;
    sum += weight * all_set * all_set * all_set * all_set;
    weight *= (keys - j) / (j + 1) / (shape->lines - 1);
  }
  return fmin(1, sum / weights);
}

/* ------------------------------------------------------------------ plans */

/* Shapes in the order of their bits a key: 4, 8, 12 ... */
static struct blocked_shape shape_of(unsigned number) {
  return (struct blocked_shape){.full_layers = number / 2, .half_layer = number % 2};
}

#define SHAPES (2 * MAX_FULL_LAYERS + 2) /* from 1 on */

/* The keys a line that give this rate in a large filter, found by halving on the scale of logarithms. */
static double keys_a_line(struct blocked_shape shape, double rate) {
  double few = 0x1p-10, many = 1024;
  shape.lines = 0x1p40;
  while (many > few * 1.0005) {
    double middle = sqrt(few * many);
    *(besom__blocked_rate(&shape, middle * shape.lines) > rate ? &many : &few) = middle;
  }
  return few;
}

struct blocked_shape besom__blocked_plan_rate(double keys, double rate) {
  struct blocked_shape best = {0};
  double most = 0;
  for (unsigned number = 1; number < SHAPES; number++) {
    double here = keys_a_line(shape_of(number), rate);
    if (here < most) break; /* more bits a key only make it worse from here on */
    best = shape_of(number);
    most = here;
  }
  best.lines = fmax(1, ceil(keys / most));
  /* In a filter of a few lines the numbers of keys are spread a little differently. */
  while (best.lines < 1000 && besom__blocked_rate(&best, keys) > rate) best.lines++;
  return best;
}

struct blocked_shape besom__blocked_plan_lines(double keys, double lines) {
  struct blocked_shape best = {0};
  double least = 2;
  for (unsigned number = 1; number < SHAPES; number++) {
    struct blocked_shape shape = shape_of(number);
    shape.lines = lines;
    double rate = besom__blocked_rate(&shape, keys);
    if (rate >= least) break;
    best = shape;
    least = rate;
  }
  return best;
}
