/* Zipf's law, drawn by a table of sums. */
#ifndef SUPPORT_LAW_OF_ZIPF_H
#define SUPPORT_LAW_OF_ZIPF_H

#include <stddef.h>

#include "support/keys.h"

typedef struct law_of_zipf {
  double *sums; /* of k^-skew */
  size_t n;
  random_stream random;
} law_of_zipf;

law_of_zipf zipf_new(double skew, size_t n);
void zipf_free(law_of_zipf *z);

/* A rank, from 0. */
size_t zipf_draw(law_of_zipf *z);

#endif
