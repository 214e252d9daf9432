/* zipf_sampler.h - draws ranks from Zipf's law, by a table of cumulative sums. */
#ifndef BESOM_TESTS_ZIPF_SAMPLER_H
#define BESOM_TESTS_ZIPF_SAMPLER_H

#include <stddef.h>

#include "support/keys.h"

typedef struct zipf_sampler {
  double *sums; /* cumulative, of k^-skew */
  size_t n;
  random_stream random;
} zipf_sampler;

zipf_sampler zipf_new(double skew, size_t n);
void zipf_free(zipf_sampler *z);

/* A random rank, from 0. */
size_t zipf_draw(zipf_sampler *z);

#endif
