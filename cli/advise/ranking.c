#include "advise/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Smaller differences are ties: as a share of the faster time, and of the time without a filter. */
static const double negligible = 0.01, negligible_of_all = 1e-5;

static double seconds_of(const outcome *o, double us_per_read) {
  return 1e-6 * us_per_read * (double)o->store_reads + 1e-9 * o->ns_per_query * (double)o->queries;
}

static void average_curves(contender *c) {
  for (size_t k = 0; k < CURVE_POINTS; k++) {
    uint64_t sum = 0;
    for (size_t i = 0; i < c->run_count; i++) sum += c->runs[i].curve[k];
    c->curve[k] = (sum + c->run_count / 2) / c->run_count;
  }
}

void contender_sum_up(contender *c, double us_per_read) {
  double share = 1 / (double)c->run_count;
  average_curves(c);
  for (const outcome *o = c->runs; o < c->runs + c->run_count; o++) {
    double seconds = seconds_of(o, us_per_read);
    c->bits_per_key += share * o->bits_per_key;
    c->store_reads += share * (double)o->store_reads;
    c->false_positives += share * (double)o->false_positives;
    c->repeats += share * (double)o->repeat_false_positives;
    c->ns_per_query += share * o->ns_per_query;
    c->seconds += share * seconds;
    if (o == c->runs || seconds < c->least_seconds) c->least_seconds = seconds;
    if (o == c->runs || seconds > c->most_seconds) c->most_seconds = seconds;
  }
  /* A count of independent false positives has this standard deviation at least. Few replays may
   * happen to be closer to each other. */
  double deviation = 1e-6 * us_per_read * sqrt(c->false_positives);
  c->least_seconds = fmin(c->least_seconds, c->seconds - deviation);
  c->most_seconds = fmax(c->most_seconds, c->seconds + deviation);
}

/* 0: ranked, 1: unfit, 2: failed. */
static int class_of(const contender *c) {
  return c->status != BESOM_OK ? 2 : c->unfit != NULL;
}

static int by_time(const void *a, const void *b) {
  const contender *x = a, *y = b;
  if (class_of(x) != class_of(y)) return class_of(x) - class_of(y);
  return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* What it needs from the application: nothing, a list, reports, both, or the stored keys. */
static int needs_of(const candidate *c) {
  if (c->adaptation == ADAPTS_WITH_STORE) return 4;
  return (c->adaptation == ADAPTS_FROM_NO_LIST) + 2 * takes_reports(c);
}

static int by_preference(const void *a, const void *b) {
  const contender *x = a, *y = b;
  int difference = needs_of(&x->candidate) - needs_of(&y->candidate);
  if (difference) return difference;
  if (x->false_positives != y->false_positives)
    return x->false_positives < y->false_positives ? -1 : 1;
  return by_time(a, b);
}

static bool ties(const contender *leader, const contender *c, double without_filter) {
  return c->least_seconds <= leader->most_seconds ||
         c->seconds <= leader->seconds * (1 + negligible) + without_filter * negligible_of_all;
}

size_t ranking_sort(contender *all, size_t n) {
  size_t ranked = 0, valid = 0;
  const contender *none = ranking_find(all, n, NO_FILTER, NULL);
  double without_filter = none ? none->seconds : 0;
  qsort(all, n, sizeof *all, by_time);
  while (valid < n && class_of(&all[valid]) < 2) valid++;
  while (ranked < n && class_of(&all[ranked]) == 0) ranked++;
  for (size_t first = 0, end; first < ranked; first = end) {
    for (end = first + 1; end < ranked && ties(&all[first], &all[end], without_filter);) end++;
    for (size_t i = first; i < end; i++) {
      all[i].rank = (unsigned)first + 1;
      all[i].tied = end > first + 1;
    }
    qsort(all + first, end - first, sizeof *all, by_preference);
  }
  return valid;
}

const contender *ranking_best_filter(const contender *all, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (all[i].rank && all[i].candidate.form == FILTER) return &all[i];
  return NULL;
}

const contender *ranking_find(const contender *all, size_t n, candidate_form form,
                              const char *kind) {
  for (size_t i = 0; i < n; i++)
    if (all[i].status == BESOM_OK && all[i].candidate.form == form &&
        (!kind || strcmp(all[i].candidate.kind, kind) == 0))
      return &all[i];
  return NULL;
}

const char *contender_name(const contender *c, char name[CONTENDER_NAME_SIZE]) {
  snprintf(name, CONTENDER_NAME_SIZE, "%s%s", c->candidate.kind,
           c->candidate.adaptation == ADAPTS_WITH_STORE ? " with store" : "");
  return name;
}
