#include "harness/fpr_curve.h"

#include <math.h>

/*
 * Popular keys are adapted to at once, so the start has short windows. Then one window per 20th of
 * the queries.
 */
enum { SHORT = 4, LONG = CURVE_WINDOWS - SHORT };
static const double short_ends[SHORT] = {0.001, 0.005, 0.01, 0.02};

/* The share of the queries at which a window ends. */
static double window_end(int window) {
  return window < SHORT ? short_ends[window] : (double)(window - SHORT + 1) / LONG;
}

int fpr_curve_middle(void) {
  return SHORT + LONG / 2;
}

void fpr_curve_add(fpr_curve *c, tested_filter *tested, double reserve, const uint64_t *keys,
                   uint64_t n) {
  uint64_t queried = 0;
  for (int i = 0; i < CURVE_WINDOWS; i++) {
    uint64_t end = i + 1 == CURVE_WINDOWS ? n : (uint64_t)(window_end(i) * (double)n), hits;
    tested_filter_query_all(tested, keys + queried, end - queried, &hits);
    c->hits[i] += hits;
    c->queried[i] += end - queried;
    c->extra_bits[i] += tested_filter_extra_bits(tested, reserve);
    queried = end;
  }
  c->filters++;
  c->reserve_full += tested->reserve_full;
}

void fpr_curve_merge(fpr_curve *into, const fpr_curve *from) {
  for (int i = 0; i < CURVE_WINDOWS; i++) {
    into->hits[i] += from->hits[i];
    into->queried[i] += from->queried[i];
    into->extra_bits[i] += from->extra_bits[i];
  }
  into->filters += from->filters;
  into->reserve_full += from->reserve_full;
}

/* Over windows first to end - 1. */
static double curve_rate(const fpr_curve *c, int first, int end) {
  uint64_t hits = 0, queried = 0;
  for (int i = first; i < end; i++) {
    hits += c->hits[i];
    queried += c->queried[i];
  }
  return queried ? (double)hits / (double)queried : 0;
}

double fpr_curve_last_half(const fpr_curve *c) {
  uint64_t queried = 0;
  for (int i = fpr_curve_middle(); i < CURVE_WINDOWS; i++) queried += c->queried[i];
  return fmax(curve_rate(c, fpr_curve_middle(), CURVE_WINDOWS), 1 / (double)queried);
}

void fpr_curve_report(const fpr_curve *c, int first, int end, report *numbers) {
  uint64_t queried = 0;
  for (int i = 0; i < end; i++) queried += c->queried[i];
  report_cell(numbers, "%llu", (unsigned long long)(queried / c->filters));
  report_cell(numbers, "%.3g", curve_rate(c, first, end));
  report_cell(numbers, "%.6f", c->extra_bits[end - 1] / (double)c->filters);
}
