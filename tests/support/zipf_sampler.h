/* zipf_sampler.h - draws ranks from Zipf's law, by a table of cumulative sums. */
#ifndef BESOM_TESTS_ZIPF_SAMPLER_H
#define BESOM_TESTS_ZIPF_SAMPLER_H

#include <stddef.h>

#include "support/keys.h"

typedef struct law_of_zipf {
  double *sums; /* cumulative, of k^-skew */
  size_t n;
  random_stream random;
} law_of_zipf;

law_of_zipf zipf_new(double skew, size_t n);
void zipf_free(law_of_zipf *z);

/* A random rank, from 0. */
size_t zipf_draw(law_of_zipf *z);

#endif
