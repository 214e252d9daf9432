/*
 * A claim: a sentence about filters that can be put to the test, of a paper or of besom itself. One file
 * each in this directory; claims.c lists them.
 */
#ifndef BENCH_CLAIMS_CLAIMS_H
#define BENCH_CLAIMS_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "report.h"

/* How many parts of a claim were tested so far, and held. {0} to begin with. */
typedef struct findings {
  size_t tested, held;
} findings;

void finding(findings *f, bool holds);

/* "holds" if all of it does, "holds partly", or "does not hold". */
const char *verdict_of(const findings *f);

/*
 * A picture of a claim's numbers. Columns are called by their names, several of them with commas between; where a
 * text is empty in a row that would be drawn, nothing is.
 */
typedef struct plot {
  const char *title;
  const char *x, *y; /* one column; one or several */
  /* columns whose texts tell the curves apart, if y is one column; NULL for none */
  const char *series;
  /* a column: a picture of its own for each of its texts; NULL for one picture */
  const char *panels;
  /* only rows that have these texts: "span=window", several with commas; NULL for all */
  const char *where;
  const char *x_label, *y_label;
  bool log_x, log_y;
  bool bars; /* for an x of words */
} plot;

typedef struct claim {
  const char *name;
  /* "adaptiveqf: Figure 5, Table 1; thesis: Figure 6.1", or "besom" for our own */
  const char *source;
  const char *paper;     /* what is said there, in our words; NULL for our own */
  const char *statement; /* what is tested here */
  const char *differs;   /* between their experiment and ours; NULL if nothing is */
  bool timed;            /* its numbers are times: nothing else may run meanwhile */
  const plot *plots;     /* the last one has no title; NULL for none */
  const char *const *columns;
  size_t column_count;
  /* Writes its numbers, row by row; full: at the size of the paper, or near it, not a quick one. */
  findings (*run)(bool full, report *numbers);
} claim;

extern const claim adapt_or_cache_claim;
extern const claim adversary_claim;
extern const claim asf_claim;
extern const claim billion_claim;
extern const claim building_claim;
extern const claim bulk_load_claim;
extern const claim cache_traces_claim;
extern const claim churn_claim;
extern const claim cuckoo_load_claim;
extern const claim firehose_claim;
extern const claim learned_claim;
extern const claim learnt_speed_claim;
extern const claim lists_claim;
extern const claim loops_claim;
extern const claim merge_claim;
extern const claim operations_claim;
extern const claim rate_claim;
extern const claim real_lists_claim;
extern const claim real_rate_claim;
extern const claim real_speed_claim;
extern const claim repeats_claim;
extern const claim reverse_map_claim;
extern const claim rounds_claim;
extern const claim same_space_claim;
extern const claim selector_bits_claim;
extern const claim serendipity_claim;
extern const claim space_claim;
extern const claim stacked_build_claim;
extern const claim stacked_memory_claim;
extern const claim stacked_misspecified_claim;
extern const claim stacked_plan_claim;
extern const claim stacked_shift_claim;
extern const claim stacked_speed_claim;
extern const claim stacked_theory_claim;
extern const claim stacked_total_claim;
extern const claim stacked_uniform_claim;
extern const claim store_adversary_claim;
extern const claim store_layouts_claim;
extern const claim store_pauses_claim;
extern const claim store_puts_claim;
extern const claim store_rocksdb_claim;
extern const claim threads_claim;
extern const claim throughput_claim;
extern const claim traces_claim;
extern const claim workloads_claim;
extern const claim zipf_claim;

/* Every claim; ends with NULL. */
extern const claim *const claims[];

#endif
