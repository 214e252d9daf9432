/* A peer in besom-bench micro: its driver and its measurements so far. */
#ifndef BENCH_HARNESS_PEER_CASE_H
#define BENCH_HARNESS_PEER_CASE_H

#include "harness/micro_case.h"
#include "harness/peer_driver.h"

typedef struct peer_case {
  char *name;
  peer_driver driver;
  samples nanoseconds[CALL_STYLES][OPERATIONS]; /* as in micro_case */
  uint64_t negatives, false_positives;          /* over all rounds */
  double bits_per_key;                          /* of the latest round */
} peer_case;

/*
 * Starts the driver of NAME=COMMAND, which must answer within so many seconds. usage_error if the
 * text is not of this form, or NAME is that of a kind or has characters other than letters, digits,
 * '-', '_' and '.'.
 */
void peer_case_create(peer_case *s, const char *text, uint64_t seconds);
void peer_case_free(peer_case *s);

/*
 * Measures the operations that the driver has once, in both call styles, with the keys of that
 * seed: the keys and the order of micro_case_measure. Fails if the driver fails or a member is
 * lost.
 */
void peer_case_measure(peer_case *s, const micro_plan *p, uint64_t seed);

/*
 * The speed of besom divided by that of the peer, the median of the ratios of the rounds; 0 if one
 * of them does not have the operation.
 */
double peer_case_ratio(const peer_case *s, const micro_case *besom, call_style style, operation op);

#endif
