/*
 * batch.h - the command line and the result of a part of `make soak` (part.py has the contract).
 */
#ifndef BESOM_SOAK_BATCH_H
#define BESOM_SOAK_BATCH_H

#include <stdint.h>

typedef struct batch {
  uint64_t seed, amount;
  const char *row;  /* the argument of the option that the part calls `row_option`, or NULL */
  uint64_t episode; /* repeats this one only; 0: all */
} batch;

/* Ends the program with 2 if the command line is wrong. */
batch batch_of(int argc, char **argv, const char *row_option);

/*
 * Calls `episode` with the seeds of the batch, one after the other, until *done, which it counts
 * up, is the amount; only once if one episode was requested. If the program aborts, it prints the
 * option that repeats this episode.
 */
void batch_run(batch request, const uint64_t *done, void (*episode)(void *ctx, uint64_t seed),
               void *ctx);

/* A named number of the result. */
typedef struct count {
  const char *name;
  uint64_t n;
} count;

/* Prints the counts as one JSON object. */
void print_counts(const count *counts, int n);

#endif
