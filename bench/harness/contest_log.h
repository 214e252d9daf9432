/*
 * A log of queries for absent keys, and what designs of contest.h make of it. The first quarter is
 * the sample of trained designs; the others adapt to it. In the second half a share of the queries
 * repeats the false positives that the same filter had in the second quarter: the adversary.
 */
#ifndef BENCH_HARNESS_CONTEST_LOG_H
#define BENCH_HARNESS_CONTEST_LOG_H

#include "harness/contest.h"

typedef struct contest_log {
  text_list *members, *absent; /* of the caller */
  uint32_t *queries;           /* numbers of absent keys */
  size_t n;
  besom_workload *sample; /* the first quarter */
  uint64_t seed;
} contest_log;

/* Takes over `queries`, of allocate. */
contest_log contest_log_of(text_list *members, text_list *absent, uint32_t *queries, size_t n,
                           uint64_t seed);

/* n queries by Zipf popularity. */
contest_log contest_log_draw(text_list *members, text_list *absent, double skew, size_t n,
                             uint64_t seed);
void contest_log_free(contest_log *l);

/*
 * Returns the false positives per query of the second half; raises the largest memory in bits per
 * member. The contestant is created at once and freed at the end.
 */
double contest_play(design d, double bits, double share, const contest_log *l, double *most_bits);

/* Bits of the keys themselves, which a reverse map stores. */
double contest_key_bits(const text_list *l);

#endif
