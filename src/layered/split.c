#include "layered/split.h"

#include <math.h>

#define LN2 0.693147180559945309417
#define LEAST_RATE 0x1p-60

double besom__split_bits_at(double rate) {
  return -log2(rate) / LN2;
}

static double rate_at(double bits) {
  return fmax(exp2(-LN2 * bits), LEAST_RATE);
}

/*
 * The backup filter's rate from which on a further bit is worth as much in the initial filter. It does not depend on
 * how many bits there are.
 */
static double sandwich_rate(const struct split *s) {
  double denied = (1 - s->wrong) * (1 / s->missed - 1);
  return s->wrong < denied ? fmax(s->wrong / denied, LEAST_RATE) : 1;
}

static void rate_of_parts(struct split *s) {
  s->fpr = s->initial_rate * (s->wrong + (1 - s->wrong) * s->backup_rate);
}

void besom__split_bits(struct split *s, double bits, bool sandwiched) {
  s->initial_rate = 1;
  s->backup_rate = s->missed > 0 ? rate_at(bits / s->missed) : LEAST_RATE;
  if (sandwiched && s->missed > 0) {
    double backup_rate = sandwich_rate(s),
           initial_bits = bits - s->missed * besom__split_bits_at(backup_rate);
    if (initial_bits > 0) {
      s->backup_rate = backup_rate;
      s->initial_rate = rate_at(initial_bits);
    }
  }
  s->bits = bits;
  rate_of_parts(s);
}

void besom__split_rate(struct split *s, double rate, bool sandwiched) {
  double backup_rate = sandwiched && s->missed > 0 ? sandwich_rate(s) : 1;
  double inside = s->wrong + (1 - s->wrong) * backup_rate;
  s->initial_rate = 1;
  if (sandwiched && inside > rate) {
    s->initial_rate = fmax(rate / inside, LEAST_RATE);
    s->backup_rate = backup_rate;
  } else {
    s->backup_rate = s->wrong < rate ? (rate - s->wrong) / (1 - s->wrong) : 0;
  }
  s->bits = s->backup_rate > 0 ? besom__split_bits_at(s->initial_rate) +
                                     s->missed * besom__split_bits_at(s->backup_rate)
                               : INFINITY;
  rate_of_parts(s);
}

/*
 * The share of non-members above a threshold, of which only a sample is known. For the best rate it is what was seen, a
 * standard deviation and one key, so that luck with the sample is no reason to choose a threshold. For a rate that must
 * be kept it is what it exceeds in one case of 20 or so: two of these, and three keys (the rule of three).
 */
static double cautious_share(double above, double all, double squares, bool for_rate) {
  double keys = squares > 0 ? all * all / squares : 0, seen = above / fmax(all, 1) * keys;
  double more = for_rate ? 2 * sqrt(seen) + 3 : sqrt(seen) + 1;
  return keys > 0 ? fmin((seen + more) / keys, 1) : 1;
}

static void fit(struct split *s, double wish, bool sandwiched, bool for_rate) {
  if (for_rate)
    besom__split_rate(s, wish, sandwiched);
  else
    besom__split_bits(s, wish, sandwiched);
}

/* A threshold that nobody reaches leaves the backup filter alone: what every other one has to be better than. */
static struct split best(const struct scores *scores, double wish, bool sandwiched, bool for_rate) {
  double members = 0, others = 0, members_above = 0, others_above = 0;
  struct split least = {.bin = SCORE_BINS, .missed = 1, .wrong = 0};
  for (unsigned i = 0; i < SCORE_BINS; i++) {
    members += scores->yes[i];
    others += scores->no[i];
  }
  fit(&least, wish, false, for_rate);
  for (unsigned i = SCORE_BINS; --i > 0 && members > 0;) {
    members_above += scores->yes[i];
    others_above += scores->no[i];
    struct split s = {.bin = i,
                      .missed = fmax(1 - members_above / members, 0),
                      .wrong = cautious_share(others_above, others, scores->no_squares, for_rate)};
    fit(&s, wish, sandwiched, for_rate);
    if (for_rate ? s.bits < least.bits : s.fpr < least.fpr) least = s;
  }
  return least;
}

struct split besom__split_for_bits(const struct scores *s, double bits, bool sandwiched) {
  return best(s, bits, sandwiched, false);
}

struct split besom__split_for_rate(const struct scores *s, double rate, bool sandwiched) {
  return best(s, rate, sandwiched, true);
}
