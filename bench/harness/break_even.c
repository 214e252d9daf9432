#include "harness/break_even.h"

#include <math.h>

static const double bit_step = 0.02, absent_step = 1.02, clearly = 0.9;

/* With false positives at a rate of 2^-rate_bits. */
static double wasted_reads(fix_way way, double bits, double absent, double asked,
                           double rate_bits) {
  double rate = exp2(-rate_bits), found = absent * rate;
  double fixes = (bits - way.key_bits - rate_bits) / way.fix_bits;
  double fixed = fmin(1, fixes / found);
  return rate * (1 + (asked - 1) * (1 - fixed)) / asked;
}

fix_plan fix_plan_best(fix_way way, double bits, double absent, double asked) {
  fix_plan best = {.wasted = 1};
  for (double r = 1; way.key_bits + r <= bits; r += bit_step) {
    double wasted = wasted_reads(way, bits, absent, asked, r);
    if (wasted < best.wasted) best = (fix_plan){wasted, way.key_bits + r};
  }
  return best;
}

double fix_break_even(fix_way few, fix_way many, double bits, double asked) {
  for (double absent = 1; absent <= MOST_ABSENT; absent *= absent_step)
    if (fix_plan_best(many, bits, absent, asked).wasted <
        clearly * fix_plan_best(few, bits, absent, asked).wasted)
      return absent;
  return 0;
}
