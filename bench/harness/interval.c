#include "harness/interval.h"

#include <math.h>

/* The 97.5 % quantile of the t distribution with n degrees of freedom: table, then expansion. */
static double t_quantile(size_t n) {
  static const double first[] = {0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306};
  if (n < sizeof first / sizeof *first) return first[n];
  return 1.95996 + 2.3723 / (double)n + 2.8225 / ((double)n * (double)n);
}

interval interval_of(const samples *s) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < s->count; i++) sum += s->values[i];
  double mean = s->count ? sum / (double)s->count : 0;
  if (s->count < 2) return (interval){mean, mean, mean};
  for (size_t i = 0; i < s->count; i++) squares += (s->values[i] - mean) * (s->values[i] - mean);
  double error = sqrt(squares / (double)(s->count - 1) / (double)s->count);
  double half = t_quantile(s->count - 1) * error;
  return (interval){mean, mean - half, mean + half};
}

void interval_report(interval i, report *numbers) {
  report_cell(numbers, "%.4g", i.mean);
  report_cell(numbers, "%.4g", i.low);
  report_cell(numbers, "%.4g", i.high);
}
