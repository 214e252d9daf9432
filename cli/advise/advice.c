#include "advise/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "number_text.h"

/* A filter that saves a smaller share of the time than this is not worth its memory. */
static const double least_saving = 0.1;

static void add(advice *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(advice *a, const char *format, ...) {
  size_t used = strlen(a->text);
  va_list values;
  va_start(values, format);
  vsnprintf(a->text + used, sizeof a->text - used, format, values);
  va_end(values);
}

/* How to use a filter. */
static const char *use_of(const candidate *c) {
  switch (c->adaptation) {
  case ADAPTS_WITH_STORE:
    return "in front of the stored keys (besom db, besom_guard)";
  case ADAPTS_ON_REPORT:
    return "with its false positives reported (besom fix, besom_adapt)";
  case ADAPTS_FROM_NO_LIST:
    return takes_reports(c) ? "built with the queried absent keys as its no list, and with its "
                              "further false positives reported (besom fix)"
                            : "built with the queried absent keys as its no list";
  default:
    return "as it is (nothing is reported to it, and it needs no other list)";
  }
}

static void explain_no_filter(advice *a, const contender *none, const query_log *log,
                              double us_per_read) {
  const contender *best = a->best;
  if (!best) {
    add(a, "No kind of filter that suits this set works with so little memory: try more --bits.");
    return;
  }
  double hits = 100 * (double)log_positive_queries(log) / (double)(log->total - log->training);
  add(a, "A filter is not worth it here. Without one the queries take %.4g s", none->seconds);
  if (best->seconds < none->seconds)
    add(a, ", with the best, %s, %.4g s: it saves %.1f %%", best->candidate.kind, best->seconds,
        100 * (1 - best->seconds / none->seconds));
  else
    add(a, ", with the best, %s, %.4g s", best->candidate.kind, best->seconds);
  if (best->store_reads < (1 - least_saving) * none->store_reads)
    add(a, ". A store read takes only %g us.", us_per_read);
  else
    add(a, ". %.0f %% of the queries are for members: no filter can save these reads.", hits);
}

static void explain_exact_set(advice *a, const contender *exact, uint64_t memory) {
  add(a,
      "A filter is not worth it here. An exact hash set of the keys takes %s bytes (%.0f bits per "
      "key) and has no false positives.",
      grouped(exact->runs[0].bytes).text, exact->bits_per_key);
  if (a->best)
    add(a, " If %s bytes are too much memory, give --memory: the best filter is %s.",
        grouped(memory).text, a->best->candidate.kind);
}

static void name_ties(advice *a, const contender *all, size_t n) {
  enum { NAMED = 5 };
  size_t ties = 0;
  char name[CONTENDER_NAME_SIZE];
  for (size_t i = 0; i < n; i++) {
    if (&all[i] == a->best || all[i].rank != a->best->rank || all[i].candidate.form != FILTER)
      continue;
    if (ties++ < NAMED)
      add(a, "%s %s", ties > 1 ? "," : " As good, within the spread of the replays:",
          contender_name(&all[i], name));
  }
  if (ties > NAMED) add(a, " and %zu more", ties - NAMED);
  if (ties) add(a, ".");
}

/* An exact set that does not fit is named with its size: --memory may be too low. */
static void name_exact_set(advice *a, const contender *exact, uint64_t memory) {
  if (exact->rank > a->best->rank && exact->seconds > a->best->seconds) return;
  add(a,
      " An exact hash set of the keys would be as good, and it has no false positives: it takes %s "
      "bytes, the filter %s. --memory allows %s: give more if there is more.",
      grouped(exact->runs[0].bytes).text, grouped(a->best->runs[0].bytes).text,
      grouped(memory).text);
}

static void explain_filter(advice *a, const contender *all, size_t n, const query_log *log) {
  const contender *best = a->best, *none = ranking_find(all, n, NO_FILTER, NULL),
                  *bloom = ranking_find(all, n, FILTER, "bloom");
  add(a, "Use %s, %s: %.4g s and %s store reads. Without a filter: %.4g s and %s.",
      best->candidate.kind, use_of(&best->candidate), best->seconds,
      grouped((uint64_t)(best->store_reads + 0.5)).text, none->seconds,
      grouped((uint64_t)(none->store_reads + 0.5)).text);
  if (bloom && bloom->rank != best->rank)
    add(a, " bloom: %.4g s and %s.", bloom->seconds,
        grouped((uint64_t)(bloom->store_reads + 0.5)).text);
  name_ties(a, all, n);
  if (!takes_inserts(&best->candidate) && !log->updates)
    add(a, " %s is static: if the set changes, give --updates.", best->candidate.kind);
}

/* It fits, and it is not slower than the best filter, or by less than 1 % of what both save. */
static bool exact_set_is_enough(const contender *exact, const contender *best,
                                const contender *none, uint64_t memory) {
  if (exact->runs[0].bytes > memory) return false;
  return !best || exact->rank <= best->rank ||
         exact->seconds - best->seconds < 0.01 * none->seconds;
}

advice advice_find(const contender *all, size_t n, const query_log *log, uint64_t memory,
                   double us_per_read) {
  advice a = {.best = ranking_best_filter(all, n)};
  const contender *none = ranking_find(all, n, NO_FILTER, NULL),
                  *exact = ranking_find(all, n, EXACT_SET, NULL);
  bool filter_saves = a.best && a.best->seconds <= (1 - least_saving) * none->seconds,
       set_saves = exact->seconds <= (1 - least_saving) * none->seconds;
  if (set_saves && exact_set_is_enough(exact, a.best, none, memory)) {
    a.verdict = USE_EXACT_SET;
    explain_exact_set(&a, exact, memory);
  } else if (!filter_saves) {
    a.verdict = USE_NOTHING;
    explain_no_filter(&a, none, log, us_per_read);
  } else {
    explain_filter(&a, all, n, log);
    name_exact_set(&a, exact, memory);
  }
  return a;
}
