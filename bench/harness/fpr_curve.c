#include "harness/fpr_curve.h"

#include <math.h>

/* What is popular is learnt at once, so the beginning is looked at closely; then one for every 20th of the queries. */
enum { SHORT = 4, LONG = CURVE_STRETCHES - SHORT };
static const double short_ends[SHORT] = {0.001, 0.005, 0.01, 0.02};

/* The share of the queries after which a stretch ends. */
static double end_of(int stretch) {
  return stretch < SHORT ? short_ends[stretch] : (double)(stretch - SHORT + 1) / LONG;
}

int curve_middle(void) {
  return SHORT + LONG / 2;
}

void curve_add(curve *c, learner *l, double reserve, const uint64_t *keys, uint64_t n) {
  uint64_t asked = 0;
  for (int i = 0; i < CURVE_STRETCHES; i++) {
    uint64_t end = i + 1 == CURVE_STRETCHES ? n : (uint64_t)(end_of(i) * (double)n), hits;
    learner_ask_all(l, keys + asked, end - asked, &hits);
    c->hits[i] += hits;
    c->asked[i] += end - asked;
    c->extra_bits[i] += learner_extra_bits(l, reserve);
    asked = end;
  }
  c->filters++;
  c->adapt_full += l->adapt_full;
}

/* Over stretches first to end - 1. */
static double curve_rate(const curve *c, int first, int end) {
  uint64_t hits = 0, asked = 0;
  for (int i = first; i < end; i++) {
    hits += c->hits[i];
    asked += c->asked[i];
  }
  return asked ? (double)hits / (double)asked : 0;
}

double curve_last_half(const curve *c) {
  uint64_t asked = 0;
  for (int i = curve_middle(); i < CURVE_STRETCHES; i++) asked += c->asked[i];
  return fmax(curve_rate(c, curve_middle(), CURVE_STRETCHES), 1 / (double)asked);
}

void curve_report(const curve *c, int first, int end, report *numbers) {
  uint64_t asked = 0;
  for (int i = 0; i < end; i++) asked += c->asked[i];
  report_cell(numbers, "%llu", (unsigned long long)(asked / c->filters));
  report_cell(numbers, "%.3g", curve_rate(c, first, end));
  report_cell(numbers, "%.6f", c->extra_bits[end - 1] / (double)c->filters);
}
