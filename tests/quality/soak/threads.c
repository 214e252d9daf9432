/*
 * soak_threads --seed S --amount SECONDS [--on filter|store|guard]: rounds of eight threads.
 * threads.h has what a round is.
 */
#define _GNU_SOURCE /* clock_gettime, threads */
#include "threads.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "batch.h"
#include "support/memory_sink.h"

totals total;

besom_filter *saved_copy(const besom_filter *f) {
  memory_sink saved;
  besom_filter *copy = NULL;
  memory_sink_init(&saved);
  demand(besom_save(f, &saved.api) == BESOM_OK);
  demand(besom_load(saved.data, saved.len, NULL, &copy) == BESOM_OK);
  memory_sink_close(&saved);
  return copy;
}

void run_threads(void *(*work)(void *owner), void *owners, size_t size) {
  pthread_t threads[THREADS];
  for (size_t t = 0; t < THREADS; t++)
    demand(!pthread_create(&threads[t], NULL, work, (char *)owners + t * size));
  for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef void (*round_of)(uint64_t seed);

static round_of find_round(const char *name) {
  static const struct {
    const char *name;
    round_of run;
  } all[] = {{"filter", filter_round}, {"store", store_round}, {"guard", guard_round}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(all[i].name, name)) return all[i].run;
  fputs("--on must be filter, store or guard\n", stderr);
  exit(2);
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--on");
  round_of run = find_round(request.row ? request.row : "filter");
  double begin = now();
  for (uint64_t round = 0; now() - begin < (double)request.amount; round++) {
    run((request.seed << 20) + round);
    add(&total.rounds, 1);
  }
  count counts[] = {{"seconds", (uint64_t)(now() - begin)},
                    {"operations", total.operations},
                    {"adaptations", total.adaptations},
                    {"resizes", total.resizes},
                    {"rekeys", total.rekeys},
                    {"saves", total.saves},
                    {"merges", total.merges},
                    {"batches", total.batches},
                    {"failed_calls", total.failures},
                    {"filters", total.rounds}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}
