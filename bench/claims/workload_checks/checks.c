#include "claims/workload_checks/checks.h"

#include <math.h>

fit fit_bins(const uint64_t *seen, const double *expected, size_t bins) {
  const double least = 10;
  fit result = {0};
  double wanted = 0, observed = 0;
  for (size_t bin = 0; bin < bins; bin++) {
    wanted += expected[bin];
    observed += (double)seen[bin];
    if (wanted < least && bin + 1 < bins) continue;
    result.chi_square += (observed - wanted) * (observed - wanted) / fmax(wanted, 1);
    result.bins++;
    wanted = observed = 0;
  }
  return result;
}

fit fit_uniform(const uint64_t *seen, size_t bins) {
  fit result = {.bins = bins};
  double all = 0;
  for (size_t bin = 0; bin < bins; bin++) all += (double)seen[bin];
  for (size_t bin = 0; bin < bins; bin++) {
    double difference = (double)seen[bin] - all / (double)bins;
    result.chi_square += difference * difference / (all / (double)bins);
  }
  return result;
}

bool fits(fit f) {
  double freedom = (double)f.bins - 1;
  return f.chi_square <= freedom + 4 * sqrt(2 * freedom) + 1e-6;
}

/* Exact for the first terms, then by the integral, when adjacent terms hardly differ. */
double sum_powers(double s, uint64_t first, uint64_t end) {
  const uint64_t exact = 1 << 16;
  double sum = 0;
  uint64_t k = first;
  for (; k < end && k < exact; k++) sum += pow((double)k, -s);
  if (k == end) return sum;
  double a = (double)k - 0.5, b = (double)end - 0.5;
  return sum + (s == 1 ? log(b / a) : (pow(b, 1 - s) - pow(a, 1 - s)) / (1 - s));
}

static void report_number(report *numbers, uint64_t n) {
  if (n)
    report_cell(numbers, "%llu", (unsigned long long)n);
  else
    report_cell(numbers, "%s", "");
}

bool report_trial(report *numbers, const trial *t) {
  bool holds = t->right && (!t->fit.bins || fits(t->fit));
  report_cell(numbers, "%s", t->generator);
  if (t->s < 0)
    report_cell(numbers, "%s", "");
  else
    report_cell(numbers, "%g", t->s);
  report_number(numbers, t->universe);
  report_number(numbers, t->samples);
  report_number(numbers, t->fit.bins);
  if (t->fit.bins)
    report_cell(numbers, "%.1f", t->fit.chi_square);
  else
    report_cell(numbers, "%s", "");
  report_cell(numbers, "%s", holds ? "yes" : "no");
  report_cell(numbers, "%s", t->remark ? t->remark : "");
  return holds;
}
