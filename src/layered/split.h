/*
 * How a classifier and Bloom filters share the work (Mitzenmacher, "A model for learned Bloom filters and optimizing by
 * sandwiching", 2018). Keys with a score from the threshold on are answered yes. The others are looked up in a backup
 * filter, which holds the members among them. In the sandwiched form an initial filter that holds all members comes
 * before both.
 */
#ifndef BESOM_LAYERED_SPLIT_H
#define BESOM_LAYERED_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

/* Scores are told apart in steps of 8, those beyond the ends not at all. */
#define SCORE_STEP 8
#define SCORE_BINS 4096
#define SCORE_END (SCORE_STEP * SCORE_BINS / 2)

static inline unsigned score_bin(int32_t score) {
  if (score < -SCORE_END) return 0;
  return score < SCORE_END ? (unsigned)(score + SCORE_END) / SCORE_STEP : SCORE_BINS - 1;
}

/* How members and non-members score. */
struct scores {
  double yes[SCORE_BINS];
  double no[SCORE_BINS]; /* how often they are asked */
  double
      no_squares; /* the sum of the squares of that: tells how many there would be of equal weight */
};

/* The threshold is where bin number `bin` begins, 1 to SCORE_BINS, which no key reaches. */
struct split {
  unsigned bin;
  double missed;       /* share of the members that score less */
  double wrong;        /* share of the non-members that score as much */
  double initial_rate; /* 1: there is no initial filter */
  double backup_rate;
  double fpr;  /* of the whole */
  double bits; /* of both filters, a member */
};

/* What a key of a Bloom filter is taken to need: log2(1 / rate) / ln 2. */
double besom__split_bits_at(double rate);

/* The best rate for so many bits a member, and the fewest bits for a rate. */
struct split besom__split_for_bits(const struct scores *s, double bits, bool sandwiched);
struct split besom__split_for_rate(const struct scores *s, double rate, bool sandwiched);

/* The same for a threshold that is known, from its shares: fills all but these. Bits are INFINITY if the rate is out
 * of reach. */
void besom__split_bits(struct split *s, double bits, bool sandwiched);
void besom__split_rate(struct split *s, double rate, bool sandwiched);

#endif
