#include "papers/learned/learned_plan.h"

#include <math.h>

#define LN2 0.693147180559945309417
#define LEAST_RATE 0x1p-60

double besom__bloom_bits_per_key(double rate) {
  return -log2(rate) / LN2;
}

static double rate_at(double bits) {
  return fmax(exp2(-LN2 * bits), LEAST_RATE);
}

/*
 * The rate of the backup filter from which on a further bit is worth as much in the initial filter.
 * It does not depend on the number of bits.
 */
static double sandwich_rate(const struct learned_plan *s) {
  double denied = (1 - s->wrong) * (1 / s->missed - 1);
  return s->wrong < denied ? fmax(s->wrong / denied, LEAST_RATE) : 1;
}

static void rate_of_parts(struct learned_plan *s) {
  s->fpr = s->initial_rate * (s->wrong + (1 - s->wrong) * s->backup_rate);
}

void besom__learned_plan_bits(struct learned_plan *s, double bits, bool sandwiched) {
  s->initial_rate = 1;
  s->backup_rate = s->missed > 0 ? rate_at(bits / s->missed) : LEAST_RATE;
  if (sandwiched && s->missed > 0) {
    double backup_rate = sandwich_rate(s),
           initial_bits = bits - s->missed * besom__bloom_bits_per_key(backup_rate);
    if (initial_bits > 0) {
      s->backup_rate = backup_rate;
      s->initial_rate = rate_at(initial_bits);
    }
  }
  s->bits = bits;
  rate_of_parts(s);
}

void besom__learned_plan_rate(struct learned_plan *s, double rate, bool sandwiched) {
  double backup_rate = sandwiched && s->missed > 0 ? sandwich_rate(s) : 1;
  double inside = s->wrong + (1 - s->wrong) * backup_rate;
  s->initial_rate = 1;
  if (sandwiched && inside > rate) {
    s->initial_rate = fmax(rate / inside, LEAST_RATE);
    s->backup_rate = backup_rate;
  } else {
    s->backup_rate = s->wrong < rate ? (rate - s->wrong) / (1 - s->wrong) : 0;
  }
  s->bits = s->backup_rate > 0 ? besom__bloom_bits_per_key(s->initial_rate) +
                                     s->missed * besom__bloom_bits_per_key(s->backup_rate)
                               : INFINITY;
  rate_of_parts(s);
}

/*
 * The share of non-members above a threshold, estimated from a sample. To minimize the rate: the
 * observed share, plus a standard deviation and one key, so that luck with the sample does not
 * choose a threshold. To keep a target rate: an upper bound that is exceeded in about one case of
 * 20, the observed share plus two standard deviations and three keys (the rule of three).
 */
static double cautious_share(double above, double all, double squares, bool for_rate) {
  double keys = squares > 0 ? all * all / squares : 0, seen = above / fmax(all, 1) * keys;
  double more = for_rate ? 2 * sqrt(seen) + 3 : sqrt(seen) + 1;
  return keys > 0 ? fmin((seen + more) / keys, 1) : 1;
}

static void fit(struct learned_plan *s, double target, bool sandwiched, bool for_rate) {
  if (for_rate)
    besom__learned_plan_rate(s, target, sandwiched);
  else
    besom__learned_plan_bits(s, target, sandwiched);
}

/*
 * A threshold that no key reaches leaves only the backup filter: every other threshold must be
 * better than that.
 */
static struct learned_plan best(const struct score_histogram *scores, double target,
                                bool sandwiched, bool for_rate) {
  double members = 0, others = 0, members_above = 0, others_above = 0;
  struct learned_plan least = {.bin = SCORE_BINS, .missed = 1, .wrong = 0};
  for (unsigned i = 0; i < SCORE_BINS; i++) {
    members += scores->yes[i];
    others += scores->no[i];
  }
  fit(&least, target, false, for_rate);
  for (unsigned i = SCORE_BINS; --i > 0 && members > 0;) {
    members_above += scores->yes[i];
    others_above += scores->no[i];
    struct learned_plan s = {
        .bin = i,
        .missed = fmax(1 - members_above / members, 0),
        .wrong = cautious_share(others_above, others, scores->no_squares, for_rate)};
    fit(&s, target, sandwiched, for_rate);
    if (for_rate ? s.bits < least.bits : s.fpr < least.fpr) least = s;
  }
  return least;
}

struct learned_plan besom__learned_plan_for_bits(const struct score_histogram *s, double bits,
                                                 bool sandwiched) {
  return best(s, bits, sandwiched, false);
}

struct learned_plan besom__learned_plan_for_rate(const struct score_histogram *s, double rate,
                                                 bool sandwiched) {
  return best(s, rate, sandwiched, true);
}
