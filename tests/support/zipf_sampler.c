#include "support/zipf_sampler.h"

#include <math.h>
#include <stdlib.h>

#include "support/heap.h"

zipf_sampler zipf_new(double skew, size_t n) {
  zipf_sampler z = {.sums = heap_array(n, sizeof *z.sums), .n = n, .random = {5}};
  for (size_t i = 0; i < n; i++) z.sums[i] = (i ? z.sums[i - 1] : 0) + pow((double)i + 1, -skew);
  return z;
}

void zipf_free(zipf_sampler *z) {
  free(z->sums);
}

size_t zipf_draw(zipf_sampler *z) {
  double x = (double)(random_next(&z->random) >> 11) * 0x1p-53 * z->sums[z->n - 1];
  size_t least = 0, most = z->n - 1;
  while (least < most) {
    size_t middle = (least + most) / 2;
    if (z->sums[middle] < x)
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}
