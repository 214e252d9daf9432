/*
 * A claim: a testable sentence about filters, from a paper or about besom itself. One file per
 * claim in this directory; claims.c lists them.
 */
#ifndef BENCH_CLAIMS_CLAIMS_H
#define BENCH_CLAIMS_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/timing.h"
#include "report.h"

/* A factor measured for a sentence of a paper. */
typedef struct measurement {
  const char *sentence;
  double factor;
} measurement;

/*
 * The result of a run. tested, held: our own bars for the experiment, and how many were met.
 * measurements: factors for the sentences of the papers. Initialise with {0}.
 */
typedef struct findings {
  size_t tested, held;
  measurement *measurements;
  size_t measurement_count, measurement_capacity;
} findings;

void finding(findings *f, bool holds);

/*
 * Records a factor for a sentence of a paper, once per seed (counts) or per round (times). The
 * sentence is an id in bench/report/sentences; it must outlive the findings. The factor is oriented
 * as in the paper: above 1 if the direction is the paper's, and larger is more. "The AQF has 100
 * times fewer false positives than the QF" is the factor false positives of qf / of aqf, and is
 * compared with 100. The factor is positive and finite: fails otherwise. If the smaller side
 * counted 0, divide by 1; the factor is then a lower bound.
 */
void add_factor(findings *f, const char *sentence, double factor);

/* The factors more / less of two measurements, round by round. */
void add_ratios(findings *f, const char *sentence, const samples *more, const samples *less);

/* more / less, with less taken as least if it is smaller: a factor of counts. */
double factor_of(double more, double less, double least);

void findings_free(findings *f);

/* "holds" if all parts hold, "does not hold" otherwise, also if nothing was tested. */
const char *verdict_of(const findings *f);

/*
 * A plot of a claim's numbers. Columns are given by name, several separated by commas. A row with
 * an empty cell in a plotted column is not drawn.
 */
typedef struct plot {
  const char *title;
  const char *x, *y; /* one column; one or several */
  /* columns whose values identify the curves, if y is one column; NULL for none */
  const char *series;
  /* a column: one plot per value of it; NULL for one plot */
  const char *panels;
  /* only rows with these values: "span=window", several separated by commas; NULL for all */
  const char *where;
  const char *x_label, *y_label;
  bool log_x, log_y;
  bool bars; /* bars, for an x of words */
  /*
   * A column of "yes", "tie" and others: a map of x and y, with a cell for each pair. The series of
   * the row with "yes" names and colours the cell, those of rows with "tie" are named, too.
   */
  const char *map;
  const char *map_value; /* a column whose number is written into the cells of the map; or NULL */
} plot;

typedef struct claim {
  const char *name;
  const char *title; /* for a reader who knows filters, but not this project */
  /* "adaptiveqf: Figure 5, Table 1; thesis: Figure 6.1", or "besom" for our own */
  const char *source;
  const char *paper;     /* what the source says, in our words; NULL for our own */
  const char *statement; /* what is tested here */
  const char *differs;   /* differences to the original experiment; NULL if none */
  bool timed;            /* the numbers are times: nothing else may run meanwhile */
  /*
   * The report runs the claim with this many seeds, one after the other, for intervals of its
   * factors; 0 for one. A claim that adds its factors per seed itself needs one.
   */
  unsigned seeds;
  unsigned full_seeds; /* the same at full size; 0 for `seeds` */
  const plot *plots;   /* terminated by an entry without a title; NULL for none */
  const char *const *columns;
  size_t column_count;
  /*
   * Writes the numbers, row by row. full: at the size of the paper or near it, instead of a quick
   * size.
   */
  findings (*run)(bool full, report *numbers);
} claim;

extern const claim adapt_or_cache_claim;
extern const claim adversary_claim;
extern const claim any_kind_claim;
extern const claim asf_claim;
extern const claim asf_early_claim;
extern const claim billion_claim;
extern const claim broom_speed_claim;
extern const claim build_threads_claim;
extern const claim building_claim;
extern const claim bulk_load_claim;
extern const claim cache_theory_claim;
extern const claim cache_traces_claim;
extern const claim churn_claim;
extern const claim cuckoo_load_claim;
extern const claim distinct_keys_claim;
extern const claim endless_claim;
extern const claim exaf_speed_claim;
extern const claim extension_bits_claim;
extern const claim firehose_claim;
extern const claim fixed_dataset_claim;
extern const claim growing_claim;
extern const claim guard_latency_claim;
extern const claim guard_speed_claim;
extern const claim guard_writers_claim;
extern const claim learned_claim;
extern const claim learnt_speed_claim;
extern const claim lists_claim;
extern const claim loops_claim;
extern const claim maplet_claim;
extern const claim mapped_claim;
extern const claim merge_claim;
extern const claim no_writer_claim;
extern const claim operations_claim;
extern const claim rate_claim;
extern const claim real_lists_claim;
extern const claim real_rate_claim;
extern const claim real_speed_claim;
extern const claim repeats_claim;
extern const claim reverse_map_claim;
extern const claim rounds_claim;
extern const claim same_space_claim;
extern const claim seed_tail_claim;
extern const claim selector_bits_claim;
extern const claim selectors_claim;
extern const claim serendipity_claim;
extern const claim ski_rental_claim;
extern const claim smallest_groups_claim;
extern const claim smallest_lists_claim;
extern const claim space_claim;
extern const claim stacked_build_claim;
extern const claim stacked_memory_claim;
extern const claim stacked_misspecified_claim;
extern const claim stacked_plan_claim;
extern const claim stacked_proofs_claim;
extern const claim stacked_shift_claim;
extern const claim stacked_speed_claim;
extern const claim stacked_theory_claim;
extern const claim stacked_total_claim;
extern const claim stacked_training_claim;
extern const claim stacked_uniform_claim;
extern const claim store_adversary_claim;
extern const claim store_layouts_claim;
extern const claim store_pauses_claim;
extern const claim store_puts_claim;
extern const claim store_rocksdb_claim;
extern const claim sustained_claim;
extern const claim threads_claim;
extern const claim throughput_claim;
extern const claim tombstones_claim;
extern const claim traces_claim;
extern const claim train_your_filter_claim;
extern const claim who_wins_claim;
extern const claim workloads_claim;
extern const claim yesno_bits_claim;
extern const claim zipf_claim;

/* All claims, terminated by NULL. */
extern const claim *const claims[];

#endif
