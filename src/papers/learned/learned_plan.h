/*
 * How a classifier and Bloom filters divide the memory (Mitzenmacher, "A model for learned Bloom
 * filters and optimizing by sandwiching", 2018). Keys with a score of at least the threshold are
 * answered yes. The others are looked up in a backup filter, which holds the members below the
 * threshold. In the sandwiched form an initial filter with all members comes before both.
 */
#ifndef BESOM_LAYERED_LEARNED_PLAN_H
#define BESOM_LAYERED_LEARNED_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Scores are put into bins of 8; those beyond the ends into the first and the last bin. */
#define SCORE_STEP 8
#define SCORE_BINS 4096
#define SCORE_END (SCORE_STEP * SCORE_BINS / 2)

static inline unsigned score_bin(int32_t score) {
  if (score < -SCORE_END) return 0;
  return score < SCORE_END ? (unsigned)(score + SCORE_END) / SCORE_STEP : SCORE_BINS - 1;
}

/* The scores of members and non-members. */
struct score_histogram {
  double yes[SCORE_BINS];
  double no[SCORE_BINS]; /* weighted by query counts */
  double no_squares;     /* sum of the squared weights; gives the effective sample size */
};

/*
 * The threshold is the lower end of bin number `bin`, 1 to SCORE_BINS; no key reaches SCORE_BINS.
 */
struct learned_plan {
  unsigned bin;
  double missed;       /* share of the members below the threshold */
  double wrong;        /* share of the non-members from the threshold on */
  double initial_rate; /* 1: no initial filter */
  double backup_rate;
  double fpr;  /* false-positive rate of the whole */
  double bits; /* bits per key of both filters */
};

/* Bits per key of a Bloom filter in this model: log2(1 / fpr) / ln 2. */
double besom__bloom_bits_per_key(double rate);

/* The lowest rate for so many bits per key; the fewest bits per key for a rate. */
struct learned_plan besom__learned_plan_for_bits(const struct score_histogram *s, double bits,
                                                 bool sandwiched);
struct learned_plan besom__learned_plan_for_rate(const struct score_histogram *s, double rate,
                                                 bool sandwiched);

/*
 * The same for a given threshold: missed and wrong are set, the rest is filled in. bits is INFINITY
 * if the rate cannot be reached.
 */
void besom__learned_plan_bits(struct learned_plan *s, double bits, bool sandwiched);
void besom__learned_plan_rate(struct learned_plan *s, double rate, bool sandwiched);

#endif
