#include "workloads/round_adversary.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

static const double swept = 0.01;

rounds rounds_create(const key_stream *strangers, uint64_t n) {
  rounds r = {.queue = allocate(n, sizeof *r.queue), .lied = allocate(n, 1), .n = n};
  strangers->generate(strangers, 0, n, r.queue);
  return r;
}

void rounds_free(rounds *r) {
  free(r->queue);
  free(r->lied);
  *r = (rounds){0};
}

static void keep_liars(rounds *r) {
  uint64_t stay = 0;
  for (uint64_t i = 0; i < r->n; i++)
    if (r->lied[i]) r->queue[stay++] = r->queue[i];
  r->n = stay;
}

void rounds_play(rounds *r, learner *l) {
  memset(r->lied, 0, r->n);
  r->before = r->n;
  r->hits = 0;
  r->played++;
  for (int sub = 0; sub < SUBROUNDS; sub++)
    for (uint64_t i = 0; i < r->n; i++) {
      bool lie = learner_ask(l, r->queue[i]);
      r->lied[i] |= lie;
      r->hits += lie;
    }
  keep_liars(r);
}

bool rounds_swept(const rounds *r, uint64_t members) {
  return (double)r->n <= swept * (double)members;
}

double rounds_rate(const rounds *r) {
  return r->before ? (double)r->hits / ((double)r->before * SUBROUNDS) : 0;
}

double rounds_rate_by_key(const rounds *r) {
  return r->before ? (double)r->n / (double)r->before : 0;
}
