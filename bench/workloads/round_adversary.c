#include "workloads/round_adversary.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

static const double beaten_share = 0.01;

round_adversary round_adversary_create(const key_stream *absent, uint64_t n) {
  round_adversary r = {.queue = allocate(n, sizeof *r.queue), .erred = allocate(n, 1), .n = n};
  absent->generate(absent, 0, n, r.queue);
  return r;
}

void round_adversary_free(round_adversary *r) {
  free(r->queue);
  free(r->erred);
  *r = (round_adversary){0};
}

static void keep_false_positives(round_adversary *r) {
  uint64_t stay = 0;
  for (uint64_t i = 0; i < r->n; i++)
    if (r->erred[i]) r->queue[stay++] = r->queue[i];
  r->n = stay;
}

void round_adversary_run(round_adversary *r, tested_filter *tested) {
  memset(r->erred, 0, r->n);
  r->before = r->n;
  r->hits = 0;
  r->played++;
  for (int sub = 0; sub < SUBROUNDS; sub++)
    for (uint64_t i = 0; i < r->n; i++) {
      bool false_positive = tested_filter_query(tested, r->queue[i]);
      r->erred[i] |= false_positive;
      r->hits += false_positive;
    }
  keep_false_positives(r);
}

bool round_adversary_beaten(const round_adversary *r, uint64_t members) {
  return (double)r->n <= beaten_share * (double)members;
}

double round_adversary_fpr(const round_adversary *r) {
  return r->before ? (double)r->hits / ((double)r->before * SUBROUNDS) : 0;
}

double round_adversary_fpr_by_key(const round_adversary *r) {
  return r->before ? (double)r->n / (double)r->before : 0;
}
